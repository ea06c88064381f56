"""Unit length, centering and both in turns, against their definitions."""

import numpy as np
import pytest

from clwe_jax.align import preprocess


def vectors(count=50, width=7, seed=0):
    r = np.random.RandomState(seed)
    return (r.standard_normal((count, width)) * r.gamma(2, size=(count, 1)) + 0.5).astype("f4")


def numpy_steps(x, steps):
    x = x.astype(np.float64)
    for step in steps:
        x = x / np.linalg.norm(x, axis=1, keepdims=True) if step == "unit" else x - x.mean(0)
    return x


@pytest.mark.parametrize("steps", [(), ("unit",), ("center",), ("unit", "center", "unit")])
def test_equals_numpy(steps, monkeypatch):
    monkeypatch.setattr(preprocess, "_ROWS", 16)  # several pieces, the last one shorter
    x = vectors()
    done, learned = preprocess.fit(x, steps)
    np.testing.assert_allclose(done, numpy_steps(x, steps), atol=1e-6)
    np.testing.assert_array_equal(learned.apply(x), done)


def test_iterative_ends_with_unit_length_and_mean_zero():
    done, _ = preprocess.fit(vectors(300), ("iterative",))
    np.testing.assert_allclose(done.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(done, axis=1), 1, atol=1e-3)
    once, _ = preprocess.fit(vectors(300), ("unit", "center"))
    assert np.abs(np.linalg.norm(once, axis=1) - 1).max() > 0.02


def test_new_words_get_the_mean_that_was_learned():
    x, new = vectors(), vectors(5, seed=1)
    _, learned = preprocess.fit(x, ("unit", "center"))
    unit = new / np.linalg.norm(new, axis=1, keepdims=True)
    mean = (x / np.linalg.norm(x, axis=1, keepdims=True)).mean(0)
    np.testing.assert_allclose(learned.apply(new), unit - mean, atol=1e-6)


def test_undo_gives_centered_vectors_back():
    x = vectors()
    done, learned = preprocess.fit(x, ("center",))
    np.testing.assert_allclose(learned.undo(done), x, atol=1e-5)


def test_zeros_tiny_and_huge_rows():
    x = vectors()
    x[0], x[1], x[2] = 0, x[1] * 1e-30, x[2] * 1e30
    done, _ = preprocess.fit(x, ("unit",))
    assert (done[0] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(done[1:], axis=1), 1, rtol=1e-5)


def test_leaves_its_argument_alone():
    x = vectors()
    copy = x.copy()
    _, learned = preprocess.fit(x, ("iterative",))
    learned.apply(x)
    learned.undo(x)
    np.testing.assert_array_equal(x, copy)


def test_unknown_steps_are_named():
    with pytest.raises(ValueError, match=r"'centre'\. Did you mean 'center'\?"):
        preprocess.fit(vectors(), ("unit", "centre"))


def test_one_name_need_not_be_a_tuple():
    assert preprocess.expand("unit") == ("unit",)
