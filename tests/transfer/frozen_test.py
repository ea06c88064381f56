"""The widths of a transfer run's batches."""

import numpy as np
import pytest

from clwe_jax.transfer import frozen


@pytest.mark.parametrize(
    "lengths, expected",
    [
        ([5] * 40 + [20] * 40, [8, 24]),
        ([5] * 3 + [20] * 40, [24]),  # too few short rows for batches of their own
        ([5] * 40 + [12] * 40 + [20] * 40, [8, 12, 24]),
        ([30], [32]),
    ],
)
def test_a_width_is_used_where_it_fills_batches(lengths, expected):
    rows = [np.zeros(n, np.int32) for n in lengths]
    assert frozen.widths({"words": rows, "gold": rows}, 4) == expected


def test_the_longer_text_of_a_pair_counts():
    short, long = [np.zeros(3, np.int32)] * 40, [np.zeros(20, np.int32)] * 40
    assert frozen.widths({"words": short, "words_b": long}, 4) == [24]
