"""The hashed dropout mask: rate, independence, and nothing that repeats."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import dropout

SEED = jnp.array([123, 456], jnp.uint32)


def mask(seed=SEED, salt=1, shape=(64, 32, 48), rate=0.1):
    return np.asarray(dropout.keep_mask(seed, salt, shape, rate))


def test_mix_is_a_bijection_of_16_bit_slices():
    """Distinct inputs give distinct outputs, also those that differ in high bits alone."""
    low = jnp.arange(1 << 16, dtype=jnp.uint32)
    for x in (low, low << 16):
        assert len(np.unique(np.asarray(dropout.mix(x)))) == 1 << 16


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_rate_overall_and_along_every_axis(rate):
    keep = mask(rate=rate)
    deviation = np.sqrt(rate * (1 - rate))
    assert abs((1 - keep.mean()) - rate) < 5 * deviation / np.sqrt(keep.size)
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        shares = 1 - keep.mean(others)
        count = keep.size / keep.shape[axis]
        assert np.abs(shares - rate).max() < 5 * deviation / np.sqrt(count)


@pytest.mark.parametrize("shift", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (0, 16, 0)])
def test_neighbours_are_independent(shift):
    keep = mask(rate=0.5).astype(np.float64) - 0.5
    moved = np.roll(keep, shift, (0, 1, 2))
    assert abs((keep * moved).mean() * 4) < 5 / np.sqrt(keep.size)


def test_rows_are_not_shifts_of_each_other():
    """The best match of one row's stream within another's is no better than chance."""
    rows = mask(shape=(4, 4096), rate=0.5).astype(np.float64) - 0.5
    spectrum = np.fft.fft(rows)
    for a in range(4):
        for b in range(a):
            match = np.fft.ifft(spectrum[a] * spectrum[b].conj()).real * 4 / 4096
            assert np.abs(match).max() < 6 / np.sqrt(4096)


@pytest.mark.parametrize("other", [dict(seed=SEED + 1), dict(salt=2)])
def test_steps_and_layers_are_independent(other):
    a, b = mask(rate=0.5), mask(rate=0.5, **other)
    assert abs((a == b).mean() - 0.5) < 5 * 0.5 / np.sqrt(a.size)


def test_scales_what_it_keeps():
    x = jnp.full((8, 512), 3.0)
    found = np.asarray(dropout.dropout(x, 0.25, SEED, 0))
    assert set(np.unique(found)) == {0.0, 4.0}


def test_without_seed_or_rate_it_is_the_identity():
    x = jax.random.normal(jax.random.key(0), (4, 4))
    assert dropout.dropout(x, 0.5, None, 0) is x
    assert dropout.dropout(x, 0.0, SEED, 0) is x
