"""Packed vectors keep directions, zeros and lengths, and files hold a tenth of float32."""

import os

import numpy as np
import pytest

from clwe_jax.embeddings import vectors as stored
from clwe_jax.embeddings.packed import Packed
from clwe_jax.embeddings.vectors import Vectors


def drawn(count, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


@pytest.mark.parametrize("dim", [1, 4, 5, 12, 301])
def test_numbers_are_the_nearest_of_nine_levels(dim):
    """Against a slow reading of the codes, digit by digit."""
    packed = Packed.of(drawn(70, dim))
    expected = np.zeros((70, dim))
    for row in range(70):
        for column in range(dim):
            digit = int(packed.codes[row, column // 5]) // 9 ** (column % 5) % 9 - 4
            expected[row, column] = digit * packed.steps[row] * packed.scales[column]
    np.testing.assert_allclose(np.asarray(packed), expected, rtol=1e-5)
    assert packed.shape == (70, dim) and len(packed) == 70


def test_the_error_is_the_one_that_is_named():
    x = drawn(400, 1000) * np.repeat([1, 7, 0.1], [500, 300, 200]).astype(np.float32)
    x *= np.linspace(0.1, 3, 400, dtype=np.float32)[:, None]
    found = np.asarray(Packed.of(x))
    errors = np.linalg.norm(found - x, axis=1) / np.linalg.norm(x, axis=1)
    assert 0.15 < errors.mean() < 0.19 and errors.max() < 0.22

    def cosines(y):
        y = y / np.linalg.norm(y, axis=1)[:, None]
        return y @ y.T

    # Of columns of equal length, the error is independent of the vectors.
    x = drawn(400, 1000)
    change = cosines(np.asarray(Packed.of(x))) - cosines(x)
    assert change[~np.eye(400, dtype=bool)].std() < 0.0085
    # Near vectors are less near: the errors of two vectors are independent.
    near = x + 0.4 * np.random.default_rng(3).standard_normal(x.shape).astype(np.float32)
    both = [
        np.concatenate([x, near]),
        np.concatenate([np.asarray(Packed.of(y)) for y in (x, near)]),
    ]
    before, after = (np.diagonal(cosines(y), 400).mean() for y in both)
    assert 0.965 < after / before < 0.975


def test_zeros_stay_zeros():
    x = drawn(60, 40)
    x[7] = 0
    x[:, 9] = 0
    x[10:20, 20:] = 0
    found = np.asarray(Packed.of(x))
    np.testing.assert_array_equal(found[x == 0], 0)
    # Half a row of zeros does not make the rest coarser.
    own = np.linalg.norm(found - x, axis=1) / np.maximum(np.linalg.norm(x, axis=1), 1e-9)
    assert own[10:20].mean() < 1.3 * own[30:].mean()


@pytest.mark.parametrize(
    "rows", [3, -1, slice(2, 40, 3), [5, 1, 1], np.zeros(0, int), np.arange(50) > 20]
)
def test_rows_are_those_of_the_whole(rows):
    packed = Packed.of(drawn(50, 12))
    np.testing.assert_array_equal(packed[rows], np.asarray(packed)[rows])


def test_a_file_maps_the_codes_and_is_small(tmp_path):
    words, path = [f"w{n}" for n in range(3000)], str(tmp_path / "x.npz")
    x = drawn(3000, 300)
    Vectors(words, Packed.of(x), np.arange(3000)).save(path)
    assert os.path.getsize(path) < 4 * x.size / 8
    found, _ = stored.load(path, narrow=True)
    assert isinstance(found.vectors, Packed) and found.words == words
    assert isinstance(found.vectors.codes.base, np.memmap)
    np.testing.assert_array_equal(np.asarray(found.vectors), np.asarray(Packed.of(x)))
    wide = Vectors.load(path)
    assert wide.vectors.dtype == np.float32 and isinstance(wide.vectors, np.ndarray)
    np.testing.assert_array_equal(wide.vectors, np.asarray(found.vectors))


def test_a_damaged_file_is_named(tmp_path):
    path = str(tmp_path / "x.npz")
    np.savez(
        path,
        codes=np.zeros((3, 2), np.uint16),
        steps=np.zeros(2, np.float32),
        scales=np.zeros(9),
        blob=np.zeros(0, np.uint8),
        offsets=np.zeros(4, np.int64),
    )
    with pytest.raises(ValueError, match="x.npz is damaged"):
        stored.load(path, narrow=True)
