"""Tables of sentences: rows, means, and words as means of their mapped pieces."""

import numpy as np
import pytest

from clwe_jax.align import sentences as tables
from clwe_jax.align.sentences import WordPieces


def test_rows_follow_the_lengths():
    rows = tables.number_rows([2, 0, 3])
    assert rows.tolist() == [[1, 2, 0], [0, 0, 0], [3, 4, 5]] and rows.dtype == np.int32
    assert tables.number_rows([]).shape == (0, 1)


@pytest.mark.parametrize("part", [2, 65_536])
def test_words_are_the_means_of_their_mapped_pieces(monkeypatch, part):
    monkeypatch.setattr(tables, "_ROWS", part)
    r = np.random.default_rng(0)
    found = tables.sentences([r.normal(size=(n, 3)) for n in (4, 3)])
    pieces = WordPieces(found, np.array([1, 3, 1, 2]), tables.number_rows([2, 2]))
    square = lambda x: np.square(x[:, :2])
    words = pieces.words(square, 2)
    mapped = square(found.words)
    expected = [mapped[0], mapped[1:4].mean(0), mapped[4], mapped[5:7].mean(0)]
    np.testing.assert_allclose(words.words, expected, rtol=1e-5)
    np.testing.assert_allclose(words.of(1), expected[2:], rtol=1e-5)
    np.testing.assert_allclose(found.means(), [found.of(0).mean(0), found.of(1).mean(0)], rtol=1e-5)
    assert found.means().dtype == np.float32
