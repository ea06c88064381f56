"""Links of words, mining and alignment of the sentences of two texts, by a model's vectors."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Sequence

import numpy as np

from clwe_jax.align import documents, mining
from clwe_jax.align.documents import Bead
from clwe_jax.api.answers import WORDS, WordLink
from clwe_jax.encoders.checks import check_strings, check_texts
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate import tokens
from clwe_jax.evaluate.word_alignment import WordAligner
from clwe_jax.options.evaluators import METHODS
from clwe_jax.options.section import check_keys, nearest
from clwe_jax.text.corpus.repeats import find_distinct

Encode = Callable[[Sequence[str], str], np.ndarray]  # texts, language -> float32 [N, D]


def link_words(
    encoder: Encoder,
    sources: Sequence[str] | Sequence[Sequence[str]],
    targets: Sequence[str] | Sequence[Sequence[str]],
    languages: tuple[str, str],
    layers: int | str,
    words: str = "own",
    **options: Any,
) -> list[list[WordLink]]:
    """`Model.align_all` for known languages.

    Raises:
      ValueError: an unknown option or method, or sides that are no lists of as many sentences.
    """
    between_spaces = takes_spaces(words)
    check_keys([x.name for x in dataclasses.fields(WordAligner)], options, "align")
    if options.get("method", METHODS[0]) not in METHODS:
        raise ValueError(
            f"There is no method {options['method']!r}. {nearest(str(options['method']), METHODS)}"
        )
    if isinstance(sources, str) or isinstance(targets, str) or len(sources) != len(targets):
        raise ValueError(
            "sources, targets: expected two lists of sentences, each with its translation"
        )
    sides: list[list[Sequence[str]]] = []
    for name, texts, language in zip(("source", "target"), (sources, targets), languages):
        if between_spaces:
            texts = [x.split() if isinstance(x, str) else x for x in texts]
        sentences = [encoder.words(x, language) if isinstance(x, str) else list(x) for x in texts]
        for sentence in sentences:
            check_strings(**{f"{name}[{place}]": word for place, word in enumerate(sentence)})
        sides.append(sentences)
    aligner = WordAligner(layers=layers, **options)
    if between_spaces:
        linked = tokens.align(aligner, encoder, *sides, languages)
    else:
        linked = aligner.align(encoder, *sides, languages)
    return [
        [WordLink(left[i], right[j], int(i), int(j)) for i, j in np.argwhere(links)]
        for left, right, links in zip(*sides, linked, strict=True)
    ]


def takes_spaces(words: str) -> bool:
    """Whether words are those between spaces, and not those that a model cuts.

    Raises:
      ValueError: neither 'spaces' nor 'own'.
    """
    if words not in WORDS:
        raise ValueError(f"words={words!r}: expected {' or '.join(map(repr, WORDS))}")
    return words == "spaces"


def mine(
    encode: Encode, texts: Sequence[str], lang: str, others: Sequence[str], to: str, least: float
) -> list[tuple[int, int, float]]:
    """`Model.mine`, by the vectors that `encode` makes."""
    sides = _check_both(texts, others)
    rows = [find_distinct(side) for side in sides]
    source = [sides[0][row] for row in rows[0]]
    target = [sides[1][row] for row in rows[1]]
    mined = mining.mine(encode(source, lang), encode(target, to))
    places = zip(rows[0][mined.source], rows[1][mined.target], mined.scores)
    return [(int(i), int(j), float(x)) for i, j, x in places if x >= least]


def align_documents(
    encode: Encode, texts: Sequence[str], lang: str, others: Sequence[str], to: str
) -> list[Bead]:
    """`Model.align_documents`, by the vectors that `encode` makes."""
    sides = _check_both(texts, others)
    source, target = (_encode_windows(encode, *x) for x in zip(sides, (lang, to)))
    lengths, other_lengths = (np.array([len(line) for line in lines]) for lines in sides)
    return documents.align(source, target, (lengths, other_lengths))


def _check_both(texts: Sequence[str], others: Sequence[str]) -> tuple[list[str], list[str]]:
    sides = check_texts(texts), check_texts(others)
    if not all(sides):
        raise ValueError("texts, others: expected sentences on both sides")
    return sides


def _encode_windows(encode: Encode, lines: Sequence[str], lang: str) -> list[np.ndarray]:
    """The vectors of every one, two and three neighbouring lines joined."""
    windows = []
    for size in range(1, min(documents.MOST_LINES, len(lines)) + 1):
        starts = range(len(lines) - size + 1)
        windows.append(encode([" ".join(lines[i : i + size]) for i in starts], lang))
    return windows
