"""Batches of few shapes."""

from clwe_jax.encoders import batching


def test_widths_are_powers_of_two_between_the_bounds():
    assert [batching.width(x, 8, 48) for x in (1, 8, 9, 16, 17, 40, 99)] == [
        8,
        8,
        16,
        16,
        32,
        48,
        48,
    ]


def test_a_width_between_two_is_used_where_rows_are_many():
    lengths = [3, 9, 12, 12, 13, 20, 40]
    assert batching.widths(lengths, 8, 4, 48) == [8, 16, 16, 16, 16, 32, 48]
    assert batching.widths(lengths, 8, 3, 48) == [8, 12, 12, 12, 16, 32, 48]
    assert batching.widths(lengths, 8, 4) == [8, 16, 16, 16, 16, 32, 64]
    assert batching.widths([], 8, 1) == []


def test_rows_of_equal_keys_stand_together():
    keys = [16, 8, 16, 16, 8]
    assert list(batching.group_rows(keys, 2)) == [(8, [1, 4]), (16, [0, 2]), (16, [3])]
    assert list(batching.group_rows([(8, 2), (8, 1)], 4)) == [((8, 1), [1]), ((8, 2), [0])]
