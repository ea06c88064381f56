"""Rows of pieces for fine-tuning: sentences and pairs that are longer than a row."""

import numpy as np
import pytest

from clwe_jax.encoders import piece_rows
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter


@pytest.fixture(scope="module")
def tokenizer():
    pieces = [*SPECIALS, "a", "b", "##a", "##b"]
    return Tokenizer(("en", "de"), Normalizer(), Segmenter(), WordPieceVocabulary(pieces))


def read(tokenizer, ids):
    return "".join(tokenizer.vocabulary.pieces[i] if i >= len(SPECIALS) else "|" for i in ids)


def test_a_sentence_longer_than_a_row_goes_on_in_the_next(tokenizer):
    rows = piece_rows.of_sentences(tokenizer, [["a", "ab", "b"], ["b"]], "de", 5)
    assert [read(tokenizer, ids) for ids in rows.columns["inputs"]] == ["|aa##b|", "|b|", "|b|"]
    assert rows.places == [(0, 0), (0, 2), (1, 0)] and not rows.cut
    assert [x.tolist() for x in rows.columns["words"]] == [[1, 2], [1], [1]]
    assert {int(x) for row in rows.columns["language_ids"] for x in row} == {1}


def test_words_longer_than_a_row_lose_their_end_and_are_counted(tokenizer):
    rows = piece_rows.of_sentences(tokenizer, [["abab", "b"]], "en", 4)
    assert [read(tokenizer, ids) for ids in rows.columns["inputs"]] == ["|a##b|", "|b|"]
    assert rows.cut == {"words longer than a row": 1}


def test_the_longer_text_of_a_pair_loses_pieces_first(tokenizer):
    rows = piece_rows.of_texts(tokenizer, [("a b a b", "b"), ("a", "b")], "en", 6, types=True)
    assert [read(tokenizer, ids) for ids in rows.columns["inputs"]] == ["|ab|b|", "|a|b|"]
    assert rows.cut == {"texts longer than a row": 1}
    assert rows.columns["type_ids"][1].tolist() == [0, 0, 0, 1, 1]


def test_batches_hold_every_row_once(tokenizer):
    texts = [("a " * n,) for n in (1, 20, 3)]
    rows = piece_rows.of_texts(tokenizer, texts, "en", 24)
    seen = []
    for places, batch in piece_rows.batches(rows, tokenizer, 2, 24):
        for line, place in enumerate(places):
            ids = rows.columns["inputs"][place]
            assert np.array_equal(batch["inputs"][line, : len(ids)], ids)
            assert (batch["segment_ids"][line] > 0).sum() == len(ids)
            seen.append(place)
    assert sorted(seen) == [0, 1, 2]
