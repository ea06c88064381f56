"""Examples from a whole list: the first, the last, and evenly between."""

import pytest

from clwe_jax.text.spread import spread


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 150, 199, 200, 1_000])
def test_items_are_from_the_whole_list(size):
    found = spread(range(size), 100)
    assert len(found) == min(size, 100) and found == sorted(set(found))
    if size:
        assert (found[0], found[-1]) == (0, size - 1)
    gaps = {b - a for a, b in zip(found, found[1:])}
    assert not gaps or max(gaps) - min(gaps) <= 1
    assert spread([1, 2, 3], 1) == [1] and spread([1, 2], 0) == []
