"""Every aligner of the registry with bad vectors and dictionaries, and on a planted rotation."""

import numpy as np
import pytest
from absl import logging

from clwe_jax import registry

SUPERVISED = {
    "procrustes": {},
    "least_squares": {},
    "rcsls": {"iterations": 3},
    "geomm": {},
    "contrastive": {"epochs": 3, "start_options": {"iterations": 3}},
    "self_learning": {"self_learning": False},
}
OTHERS = {"adversarial": {"epochs": 1, "epoch_size": 32, "hidden": 4, "refinements": 0}}
ALL = SUPERVISED | OTHERS
COUNT, WIDTH = 60, 8


def fit(name, source, target, pairs):
    return registry.lookup("aligner", name)(**ALL[name]).fit(source, target, pairs)


def rotation():
    return np.linalg.qr(np.random.RandomState(1).standard_normal((WIDTH, WIDTH)))[0]


def planted(count=COUNT):
    x = np.random.RandomState(0).standard_normal((count, WIDTH)).astype("f4")
    return x, (x @ rotation()).astype("f4"), np.stack([np.arange(count)] * 2, 1)


def test_all_are_here():
    assert set(ALL) == set(registry.TABLES["aligner"])


@pytest.mark.parametrize("name", ALL)
def test_entries_that_are_not_finite_are_refused_with_their_row(name):
    x, y, pairs = planted()
    y[17, 3] = np.nan
    with pytest.raises(ValueError, match=r"1 of .*target.* row 17"):
        fit(name, x, y, pairs)
    x[5:7, 0] = np.inf
    with pytest.raises(ValueError, match=r"2 of .*source.* row 5"):
        fit(name, x, y, pairs)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("side", ["source", "target"])
def test_equal_vectors_are_refused(name, side):
    given = dict(zip(("source", "target", "pairs"), planted(), strict=True))
    given[side][:] = given[side][0]
    with pytest.raises(ValueError, match=f"All 60 {side} vectors"):
        fit(name, **given)


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("pairs", [None, np.zeros((0, 2), np.int32)])
def test_no_pairs_are_refused_with_advice(name, pairs):
    x, y, _ = planted()
    with pytest.raises(ValueError, match="no pair .* 60 source and 60 target .* self_learning"):
        fit(name, x, y, pairs)


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize(
    "bad, side", [((60, 0), "source"), ((-1, 0), "source"), ((0, 60), "target")]
)
def test_pairs_out_of_range_are_named(name, bad, side):
    x, y, pairs = planted()
    pairs[9] = bad
    with pytest.raises(ValueError, match=rf"Pair 9 names row -?\d+ of the {side}"):
        fit(name, x, y, pairs)


def test_pairs_must_be_pairs_of_integers():
    x, y, pairs = planted()
    for bad in (pairs.astype("f4"), pairs[:, 0]):
        with pytest.raises(ValueError, match="integers"):
            fit("procrustes", x, y, bad)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"least_squares", "geomm"}))
def test_different_widths_are_refused(name):
    x, y, pairs = planted()
    with pytest.raises(ValueError, match="source 8, target 5"):
        fit(name, x, y[:, :5], pairs)


@pytest.mark.parametrize("shape", [(0, WIDTH), (WIDTH,), (COUNT, 0)])
def test_vectors_must_be_a_matrix(shape):
    x, _, pairs = planted()
    with pytest.raises(ValueError, match="matrix"):
        fit("procrustes", x, np.zeros(shape, "f4"), pairs)


@pytest.mark.parametrize("name", SUPERVISED)
def test_fewer_words_than_dimensions_warn(name, monkeypatch):
    said = []
    monkeypatch.setattr(logging, "warning", lambda text, *args: said.append(text % args))
    x, y, pairs = planted()
    fit(name, x, y, pairs)
    assert not said
    # 60 pairs, but of 4 words.
    found = fit(name, x, y, pairs[:4].repeat(15, 0))
    assert len(said) == 1 and "8 dimensions" in said[0]
    # It is not the dictionary that is small, but what of it has vectors.
    assert "60 pairs" in said[0] and " only 4 " in said[0]
    assert "under-determined" in said[0] and np.isfinite(found.source_map).all()


@pytest.mark.parametrize("name", ALL)
def test_the_given_arrays_do_not_change(name):
    given = planted()
    fit(name, *given)
    for array, copy in zip(given, planted(), strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("name", SUPERVISED)
def test_new_words_of_a_planted_rotation_land_on_their_translations(name):
    found = fit(name, *planted(200))
    new = np.random.RandomState(9).standard_normal((50, WIDTH)).astype("f4")
    a, b = found.apply(new), found.apply_target((new @ rotation()).astype("f4"))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert cosine.min() > 0.99
