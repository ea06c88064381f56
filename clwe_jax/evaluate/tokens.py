"""Links of the tokens between spaces, from the links of the words that a model finds in them."""

from __future__ import annotations

import functools
from typing import Iterator, Sequence

import numpy as np

from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate.word_alignment import WordAligner
from clwe_jax.text.words.characters import has_letter_or_digit


def align(
    aligner: WordAligner,
    model: Encoder,
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    languages: tuple[str, str],
) -> Iterator[np.ndarray]:
    """Yields the links of each pair of sentences in tokens, bool [source tokens, target tokens]."""
    left = _cut(model, source, languages[0])
    right = _cut(model, target, languages[1])
    links = aligner.align(model, [x for x, _ in left], [x for x, _ in right], languages)
    for a, b, (_, of_a), (_, of_b), linked in zip(source, target, left, right, links):
        token_links = np.zeros((len(a), len(b)), bool)
        i, j = np.nonzero(linked)
        token_links[of_a[i], of_b[j]] = True
        yield token_links


def _cut(
    model: Encoder, sentences: Sequence[Sequence[str]], language: str
) -> list[tuple[list[str], np.ndarray]]:
    """The words of each sentence's tokens, and the place of each word's token."""

    @functools.cache
    def words_of(token: str) -> list[str]:
        words = model.words(token, language)
        # The hyphen of e-mail is no translation of another compound's.
        return [word for word in words if has_letter_or_digit(word)] or words

    rows = []
    for tokens in sentences:
        words = []
        for place, token in enumerate(tokens):
            words += [(place, word) for word in words_of(token)]
        rows.append(([word for _, word in words], np.array([place for place, _ in words], int)))
    return rows
