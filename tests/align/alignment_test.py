"""Alignments: what they do to vectors, on disk and with bad input."""

import numpy as np
import pytest
from absl import logging as absl_logging

from clwe_jax import registry
from clwe_jax.align import alignment, preprocess

ALIGNERS = sorted(set(registry.TABLES["aligner"]) - {"adversarial", "self_learning"})


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
    with pytest.raises(ValueError, match=r"bad\.npz is not an alignment"):
        alignment.Alignment.load(path)


def test_another_npz_is_no_alignment(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, vectors=np.zeros(3))
    with pytest.raises(ValueError, match=r"other\.npz is not an alignment"):
        alignment.Alignment.load(path)


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.npz"):
        example()[2].save(tmp_path / "a.pkl")


def test_vectors_of_another_width_are_refused():
    x, y, found = example()
    with pytest.raises(ValueError, match=r"source vectors \[N, 6\]"):
        found.apply(y)
    with pytest.raises(ValueError, match=r"target vectors \[N, 4\]"):
        found.apply_target(x)


def fit(name, source, target, pairs):
    return registry.build("aligner", {"name": name}).fit(source, target, pairs)


def planted(width=8, count=60):
    x = random(count, width)
    return x, (x @ rotation(width)).astype(np.float32), np.stack([np.arange(count)] * 2, 1)


@pytest.mark.parametrize("name", ALIGNERS)
def test_not_a_number_is_refused_with_its_row(name):
    x, y, pairs = planted()
    y[17, 3] = np.nan
    with pytest.raises(ValueError, match=r"1 of the 60 target vectors .* row 17"):
        fit(name, x, y, pairs)
    x[5:7, 0] = np.inf
    with pytest.raises(ValueError, match=r"2 of the 60 source vectors .* row 5"):
        fit(name, x, y, pairs)


@pytest.mark.parametrize("name", ALIGNERS)
def test_equal_vectors_are_refused(name):
    x, y, pairs = planted()
    x[:] = x[0]
    with pytest.raises(ValueError, match="All 60 source vectors are equal"):
        fit(name, x, y, pairs)


@pytest.mark.parametrize("name", ALIGNERS)
@pytest.mark.parametrize("pairs", [None, np.zeros((0, 2), np.int32)])
def test_no_pairs_are_refused_with_advice(name, pairs):
    x, y, _ = planted()
    with pytest.raises(ValueError, match="no pair .* 60 source and 60 target .* self_learning"):
        fit(name, x, y, pairs)


@pytest.mark.parametrize("name", ALIGNERS)
@pytest.mark.parametrize(
    "bad, side", [((60, 0), "source"), ((-1, 0), "source"), ((0, 60), "target")]
)
def test_pairs_out_of_range_are_named(name, bad, side):
    x, y, pairs = planted()
    pairs[9] = bad
    with pytest.raises(ValueError, match=rf"Pair 9 asks for row -?\d+ of the {side}"):
        fit(name, x, y, pairs)


def test_pairs_must_be_pairs_of_integers():
    x, y, pairs = planted()
    with pytest.raises(ValueError, match="integers"):
        fit("procrustes", x, y, pairs.astype(np.float32))
    with pytest.raises(ValueError, match="integers"):
        fit("procrustes", x, y, pairs[:, 0])


@pytest.mark.parametrize("name", sorted(set(ALIGNERS) - {"least_squares", "geomm"}))
def test_unlike_widths_are_refused(name):
    x, y, pairs = planted()
    with pytest.raises(ValueError, match="source 8, target 5"):
        fit(name, x, y[:, :5], pairs)


@pytest.mark.parametrize("shape", [(0, 8), (8,), (60, 0)])
def test_vectors_must_be_a_matrix(shape):
    x, _, pairs = planted()
    with pytest.raises(ValueError, match="matrix"):
        fit("procrustes", x, np.zeros(shape, np.float32), pairs)


@pytest.mark.parametrize("name", ALIGNERS)
def test_warns_of_fewer_words_than_dimensions(name, monkeypatch):
    said = []
    monkeypatch.setattr(absl_logging, "warning", lambda text, *a: said.append(text % a))
    x, y, pairs = planted()
    fit(name, x, y, pairs)
    assert not said
    # 60 pairs, but of 4 words.
    fit(name, x, y, pairs[:4].repeat(15, 0))
    assert len(said) == 1 and "4 different words" in said[0] and "8 dimensions" in said[0]
    assert "under-determined" in said[0]


@pytest.mark.parametrize("name", ALIGNERS)
def test_the_arrays_that_are_given_stay_as_they_are(name):
    x, y, pairs = planted()
    copies = x.copy(), y.copy(), pairs.copy()
    fit(name, x, y, pairs)
    for given, copy in zip((x, y, pairs), copies, strict=True):
        np.testing.assert_array_equal(given, copy)


@pytest.mark.parametrize("name", ALIGNERS)
def test_new_words_of_a_planted_rotation_land_on_their_translations(name):
    x, y, pairs = planted(count=200)
    new = random(50, 8, seed=9)
    found = fit(name, x, y, pairs)
    a, b = found.apply(new), found.apply_target((new @ rotation(8)).astype(np.float32))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert cosine.min() > 0.99
