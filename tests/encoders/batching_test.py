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


def test_texts_share_rows_of_few_widths():
    lengths = [5, 40, 3, 9, 4, 16, 2]
    rows = list(batching.pack(lengths, 16, 48, 1))
    assert rows == [(48, [1, 0, 2]), (16, [5]), (16, [3, 4, 6])]
    assert list(batching.pack([2] * 5, 16, 48, 8)) == [(16, [4, 3]), (16, [2, 1]), (16, [0])]
    assert list(batching.spots([[(5, 1), (3, 2)], [(2, 1)]])) == [
        batching.Spot(0, 0, 1, 0),
        batching.Spot(0, 5, 2, 1),
        batching.Spot(1, 0, 1, 0),
    ]
