"""What every aligner of the registry does with bad vectors and dictionaries."""

import numpy as np
import pytest
from absl import logging

from clwe_jax import registry

SUPERVISED = {
    "procrustes": {},
    "least_squares": {},
    "rcsls": {"iterations": 1},
    "geomm": {},
    "self_learning": {"self_learning": False},
}
OTHERS = {"adversarial": {"epochs": 1, "epoch_size": 32, "hidden": 4, "refinements": 0}}
ALL = SUPERVISED | OTHERS


def build(name):
    return registry.lookup("aligner", name)(**ALL[name])


def vectors(count=40, width=6, seed=0):
    return np.random.RandomState(seed).standard_normal((count, width)).astype("f4")


def diagonal(count):
    return np.stack([np.arange(count)] * 2, 1)


def test_all_are_here():
    assert set(ALL) == set(registry.TABLES["aligner"])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("side", [0, 1])
def test_all_equal_vectors(name, side):
    given = [vectors(), vectors(seed=1)]
    given[side] = np.ones_like(given[side])
    with pytest.raises(ValueError, match="vectors are equal"):
        build(name).fit(*given, diagonal(20))


@pytest.mark.parametrize("name", ALL)
def test_vectors_that_are_not_finite(name):
    bad = vectors()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        build(name).fit(bad, vectors(seed=1), diagonal(20))


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("pairs", [None, np.zeros((0, 2), int)])
def test_no_pairs(name, pairs):
    with pytest.raises(ValueError, match="learns from a dictionary"):
        build(name).fit(vectors(), vectors(seed=1), pairs)


@pytest.mark.parametrize("name", SUPERVISED)
def test_fewer_pairs_than_dimensions_warn(name, monkeypatch):
    said = []
    monkeypatch.setattr(logging, "warning", lambda text, *args: said.append(text % args))
    found = build(name).fit(vectors(), vectors(seed=1), diagonal(4))
    assert any("under-determined" in line for line in said)
    assert np.isfinite(found.source_map).all()
    said.clear()
    build(name).fit(vectors(), vectors(seed=1), diagonal(20))
    assert not said


@pytest.mark.parametrize("name", SUPERVISED)
def test_rows_that_do_not_exist(name):
    with pytest.raises(ValueError, match="row 40"):
        build(name).fit(vectors(), vectors(seed=1), np.array([[0, 0], [3, 40]]))


@pytest.mark.parametrize("name", ["procrustes", "rcsls", "self_learning", "adversarial"])
def test_unlike_widths(name):
    with pytest.raises(ValueError, match="differ in width"):
        build(name).fit(vectors(), vectors(width=5), diagonal(20))
