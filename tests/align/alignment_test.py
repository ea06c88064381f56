"""Alignments: their effect on vectors, their files, bad input."""

import numpy as np
import pytest

from clwe_jax.align import alignment, preprocess


def random(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def rotation(width, seed=1):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((width, width)))[0]


def example(target_map=True):
    x, y = random(40, 6) + 1, random(30, 4, seed=1) - 2
    _, source_steps = preprocess.fit(x, ("unit", "center", "unit"))
    _, target_steps = preprocess.fit(y, ("unit", "center"))
    maps = (random(6, 5), random(4, 5, seed=2)) if target_map else (random(6, 4), None)
    return x, y, alignment.Alignment(*maps, source_steps, target_steps, {"loss": [1.0, 0.5]})


def test_maps_follow_preprocessing():
    x, y, found = example()
    np.testing.assert_allclose(
        found.apply(x), found.source_steps.apply(x) @ found.source_map, atol=1e-6
    )
    np.testing.assert_allclose(
        found.apply_target(y), found.target_steps.apply(y) @ found.target_map, atol=1e-6
    )


def test_target_stays_where_no_map_moves_it():
    _, y, found = example(target_map=False)
    np.testing.assert_array_equal(found.apply_target(y), found.target_steps.apply(y))


@pytest.mark.parametrize("target_map", [True, False])
def test_saved_and_loaded_is_the_same(tmp_path, target_map):
    x, y, found = example(target_map)
    path = tmp_path / "new" / "a.npz"
    found.save(path)
    again = alignment.Alignment.load(path)
    np.testing.assert_array_equal(found.apply(x), again.apply(x))
    np.testing.assert_array_equal(found.apply_target(y), again.apply_target(y))
    np.testing.assert_array_equal(found.to_target_space(x), again.to_target_space(x))
    assert again.info == found.info
    assert [file.name for file in path.parent.iterdir()] == ["a.npz"]


def test_source_lands_on_the_untouched_target():
    # A source that is the rotated target, preprocessed and mapped by matrices that are no identity.
    y = 3 * random(200, 8) + 1
    y_done, target_steps = preprocess.fit(y, ("center",))
    turn = rotation(8)
    x = y @ turn
    x_done, source_steps = preprocess.fit(x, ("center",))
    target_map = random(8, 8, seed=4)
    source_map = (turn.T @ target_map).astype(np.float32)
    found = alignment.Alignment(source_map, target_map, source_steps, target_steps)
    np.testing.assert_allclose(found.apply(x), found.apply_target(y), atol=1e-4)
    np.testing.assert_allclose(found.to_target_space(x), y, atol=1e-3)


def test_unit_length_is_given_back_on_average():
    y = 7 * random(300, 8) + 20
    _, steps = preprocess.fit(y, ("unit", "center", "unit"))
    found = alignment.Alignment(np.eye(8, dtype=np.float32), None, steps, steps)
    back = found.to_target_space(y)
    cosine = (back * y).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(y, axis=1)
    assert cosine.min() > 0.95
    ratio = np.linalg.norm(back, axis=1).mean() / np.linalg.norm(y, axis=1).mean()
    np.testing.assert_allclose(ratio, 1, atol=0.02)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut"])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        alignment.Alignment.load(path)


def test_a_single_array_is_no_alignment(tmp_path):
    path = tmp_path / "array.npz"
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match=r"array\.npz"):
        alignment.Alignment.load(path)


def test_another_npz_is_no_alignment(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, vectors=np.zeros(3))
    with pytest.raises(ValueError, match=r"other\.npz"):
        alignment.Alignment.load(path)


def test_vectors_of_another_width_are_refused():
    x, y, found = example()
    with pytest.raises(ValueError, match=r"source vectors \[N, 6\]"):
        found.apply(y)
    with pytest.raises(ValueError, match=r"target vectors \[N, 4\]"):
        found.apply_target(x)
