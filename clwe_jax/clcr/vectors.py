"""The vectors of a CLCR run: in mapped files, so that the memory holds a few sentences of any number."""

from __future__ import annotations

import tempfile
from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.align import attention_matching
from clwe_jax.align.pivots import Mapped
from clwe_jax.align.sentences import Allocate, WordPieces, TableSentences, number_rows
from clwe_jax.encoders.clcr_models import Space
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.part_rows import PartRows

SENTENCES = 512  # sentences that are encoded at once
_ROWS = 65_536  # pieces whose space is changed at once


def files(folder: str | None) -> Allocate:
    """Makes arrays in temporary files of a folder (None: the system's); they vanish with the arrays."""

    def allocate(shape: tuple[int, int]) -> np.ndarray:
        file = tempfile.TemporaryFile(dir=folder)
        # An empty file cannot be mapped: a table without rows has one that is cut off.
        return np.memmap(file, np.float32, "w+", shape=(max(1, shape[0]), shape[1]))[: shape[0]]

    return allocate


def encode_pieces(
    model: LanguageModel,
    language: str,
    words: Sequence[Sequence[str]],
    layers: Sequence[int],
    folder: str | None = None,
) -> WordPieces:
    """The pieces of the words of sentences, with the mean of some layers as their vectors.

    Args:
      folder: of the file of vectors; None: the system's folder of temporary files.
    """
    encoder = model.encoder()
    counts = [np.zeros(0, np.int32)]
    lengths = []
    width = encoder.shape[1]
    table = PartRows(folder or tempfile.gettempdir())
    # Row 0 is padding (`TableSentences`).
    table.add(np.zeros((1, width), np.float32))
    for start in range(0, len(words), SENTENCES):
        for vectors, owners in encoder.pieces_of_words(words[start : start + SENTENCES], language):
            table.add(vectors[:, list(layers)].mean(1).astype(np.float32))
            # Owners are numbered within a sentence: the number of pieces of each of its words.
            counts.append(np.bincount(owners))
            lengths.append(len(owners))
    rows = number_rows([len(x) for x in words])
    return WordPieces(
        TableSentences(table.together(), number_rows(lengths)),
        np.concatenate(counts).astype(np.int32),
        rows,
    )


def into_space(pieces: WordPieces, space: Space) -> WordPieces:
    """Changes the vectors to those in a space, in their place; returns the pieces."""
    for start in range(0, len(pieces.table.words), _ROWS):
        part = slice(start, start + _ROWS)
        pieces.table.words[part] = space.whitening.apply(np.asarray(pieces.table.words[part]))
    return pieces


class Views(NamedTuple):
    """The words of parallel sentences in both spaces.

    Attributes:
      unmapped: the source's words in the source's space, the target's in the target's.
      mapped: the source's words in the target's space, the target's in the source's.
    """

    unmapped: tuple[TableSentences, TableSentences]
    mapped: tuple[TableSentences, TableSentences]

    @property
    def in_both_spaces(self) -> tuple[Sequence[Mapped], Sequence[Mapped]]:
        """The words of each sentence in both spaces, of the source and of the target."""
        source, target = map(attention_matching.in_both_spaces, self.unmapped, self.mapped)
        return source, target

    def common(self, side: int) -> TableSentences:
        """The words of the source (0) or of the target (1) in the target's space."""
        return self.unmapped[1] if side else self.mapped[0]


def views(
    maps: Sequence[attention_matching.Match], sides: Sequence[WordPieces], allocate: Allocate
) -> Views:
    """The words of both sides in both spaces: of each, the mean of its mapped pieces.

    Args:
      maps: from the source to the target, and the reverse.
      allocate: makes the tables.
    """
    unmapped = [side.words(allocate=allocate) for side in sides]
    mapped = [side.words(match.apply, match.width, allocate) for side, match in zip(sides, maps)]
    return Views((unmapped[0], unmapped[1]), (mapped[0], mapped[1]))
