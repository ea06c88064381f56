"""Links of words: each method against a loop over its definition, and properties."""

import numpy as np
import pytest

from clwe_jax.align import word_links

SHAPES = ((1, 1), (1, 4), (3, 3), (5, 4), (4, 7))


def draws():
    rng = np.random.default_rng(0)
    for shape in SHAPES * 8:
        yield rng.uniform(-1, 1, shape)


def best(values, allowed):
    """Mutual argmax among allowed pairs with positive values, by definition."""
    found = set()
    for i, j in np.ndindex(values.shape):
        row = max(range(values.shape[1]), key=lambda k: values[i, k])
        column = max(range(values.shape[0]), key=lambda k: values[k, j])
        if (row, column) == (j, i) and allowed(i, j):
            found.add((i, j))
    return found


def as_set(links):
    return set(zip(*(x.tolist() for x in np.nonzero(links))))


def test_mutual_argmax_equals_its_definition():
    for values in draws():
        assert as_set(word_links.mutual_argmax(values)) == best(values, lambda i, j: True)
    assert word_links.mutual_argmax(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("rounds, discount", [(1, 0.9), (2, 0.9), (3, 0.5), (9, 1.0)])
def test_itermax_equals_its_definition(rounds, discount):
    for values in draws():
        m, n = values.shape
        expected = best(values, lambda i, j: True)
        for _ in range(rounds - 1):
            left, right = {i for i, _ in expected}, {j for _, j in expected}
            if len(left) == m or len(right) == n:
                break
            weight = lambda i, j: (1, discount, 0)[(i in left) + (j in right)]
            now = np.array(
                [[(1 + values[i, j]) / 2 * weight(i, j) for j in range(n)] for i in range(m)]
            )
            expected |= best(now, lambda i, j: weight(i, j) > 0)
        assert as_set(word_links.itermax(values, rounds, discount)) == expected


def test_further_rounds_only_add_links():
    for values in draws():
        found = [as_set(word_links.itermax(values, rounds)) for rounds in (1, 2, 3)]
        assert found[0] <= found[1] <= found[2]
    values = np.array([[1.0, 0.9, -1], [0.9, 0.5, -1], [-1, -1, -0.9]])
    # In the second round both ones' own words are taken: 0.95 * 0.9 is above 0.75, that of (1, 1).
    assert as_set(word_links.itermax(values)) == {(0, 0), (2, 2), (0, 1), (1, 0)}


@pytest.mark.parametrize("threshold", [0.001, 0.2, 0.6])
def test_softmax_intersection_equals_its_definition(threshold):
    for values in draws():
        scores = 6 * values
        expected = {
            (i, j)
            for i, j in np.ndindex(scores.shape)
            if np.exp(scores[i, j]) / np.exp(scores[i]).sum() > threshold
            and np.exp(scores[i, j]) / np.exp(scores[:, j]).sum() > threshold
        }
        assert as_set(word_links.softmax_intersection(scores, threshold)) == expected
    large = word_links.softmax_intersection(np.array([[1e4, 0.0], [0.0, 1e4]]), threshold)
    np.testing.assert_array_equal(large, np.eye(2, dtype=bool))


def test_methods_do_not_depend_on_the_direction():
    for values in draws():
        for method in (
            word_links.mutual_argmax,
            word_links.itermax,
            lambda x: word_links.softmax_intersection(x, 0.3),
        ):
            np.testing.assert_array_equal(method(values).T, method(values.T))


def test_cosines():
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(
        word_links.cosines(x, np.array([[4.0, 3.0]])), [[0.96], [0.0]], rtol=1e-6
    )


def test_words_are_linked_where_any_piece_is():
    links = np.zeros((4, 3), bool)
    links[1, 0] = links[2, 2] = links[3, 2] = True
    found = word_links.from_pieces(links, np.array([0, 0, 1, 2]), np.array([0, 1, 1]))
    np.testing.assert_array_equal(found, [[True, False], [False, True], [False, True]])
    assert word_links.from_pieces(np.zeros((0, 2), bool), [], [0, 1]).shape == (0, 2)
