"""Batches of few shapes."""

from clwe_jax.encoders import batching


def test_widths_are_powers_of_two_between_the_bounds():
    assert [batching.width(x, 8, 48) for x in (1, 8, 9, 16, 17, 40, 99)] == [8, 8, 16, 16, 32, 48, 48]


def test_rows_of_equal_keys_stand_together():
    keys = [16, 8, 16, 16, 8]
    assert list(batching.grouped(keys, 2)) == [(8, [1, 4]), (16, [0, 2]), (16, [3])]
    assert list(batching.grouped([(8, 2), (8, 1)], 4)) == [((8, 1), [1]), ((8, 2), [0])]
