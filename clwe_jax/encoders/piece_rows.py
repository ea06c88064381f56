"""Labelled words and texts as rows of pieces, for models that are fine-tuned."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Iterator, Sequence

import numpy as np

from clwe_jax.encoders import batching
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Batch


@dataclasses.dataclass(frozen=True)
class PieceRows:
    """Rows of pieces, [CLS] and [SEP] included.

    Attributes:
      columns: ragged columns: inputs, positions, segment_ids, language_ids; where words have labels,
        'words', the positions of their first pieces, and 'starts', 1 at the first word of a sentence;
        'type_ids' where wanted.
      places: for each row the number of its sentence or text, and of its first word.
      cut: reason -> number of rows that lost their end.
    """

    columns: dict[str, list[Any]]
    places: list[tuple[int, int]]
    cut: collections.Counter[str]


def of_sentences(
    tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], language: str, length: int
) -> PieceRows:
    """Sentences of given words; a longer one goes on in the next row.

    Args:
      length: longest row, in pieces.
    """
    rows = _Maker(tokenizer, language)
    # [CLS] and [SEP] take two positions, and the first piece stands behind [CLS].
    room = length - 2
    for number, words in enumerate(sentences):
        ids: list[int] = []
        firsts: list[int] = []
        start = 0
        for place, word in enumerate(words):
            pieces = tokenizer.encode_given(word, language)
            if len(pieces) > room:
                pieces = pieces[:room]
                rows.cut["words longer than a row"] += 1
            if len(ids) + len(pieces) > room:
                rows.add([ids], (number, start), firsts)
                ids = []
                firsts = []
                start = place
            firsts.append(len(ids) + 1)
            ids = ids + pieces
        rows.add([ids], (number, start), firsts)
    return PieceRows(rows.columns, rows.places, rows.cut)


def of_texts(
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[str]],
    language: str,
    length: int,
    types: bool = False,
) -> PieceRows:
    """Rows of one text, or of two with a [SEP] between them.

    Args:
      length: most pieces of a row; of a pair that is too long, the longer text loses pieces first.
      types: whether to number the texts of a pair, 0 and 1, in 'type_ids'.
    """
    rows = _Maker(tokenizer, language)
    for number, row in enumerate(texts):
        parts = [tokenizer.encode(text, language)[0] for text in row]
        # [CLS], and a [SEP] after each text.
        room = length - 1 - len(parts)
        if sum(map(len, parts)) > room:
            rows.cut["texts longer than a row"] += 1
        while sum(map(len, parts)) > room:
            max(parts, key=len).pop()
        rows.add(parts, (number, 0), None, types)
    return PieceRows(rows.columns, rows.places, rows.cut)


class _Maker:
    """Adds rows to columns."""

    def __init__(self, tokenizer: Tokenizer, language: str):
        self._vocabulary = tokenizer.vocabulary
        self._language = tokenizer.language_id(language)
        self.columns: dict[str, list[Any]] = {}
        self.places: list[tuple[int, int]] = []
        self.cut: collections.Counter[str] = collections.Counter()

    def add(
        self,
        parts: Sequence[Sequence[int]],
        place: tuple[int, int],
        words: Sequence[int] | None,
        types: bool = False,
    ) -> None:
        """Adds one row of texts; `words` are the positions of first pieces."""
        ids = [self._vocabulary.cls_id]
        kinds = [0]
        for kind, part in enumerate(parts):
            ids += [*part, self._vocabulary.sep_id]
            kinds += [kind] * (len(part) + 1)
        row = {
            "inputs": ids,
            "positions": np.arange(len(ids)),
            "segment_ids": self._vocabulary.real_places(len(ids)),
            "language_ids": np.full(len(ids), self._language),
        }
        if words is not None:
            row["words"] = words
            row["starts"] = np.arange(place[1], place[1] + len(words)) == 0
        if types:
            row["type_ids"] = kinds
        for key, value in row.items():
            self.columns.setdefault(key, []).append(np.asarray(value, np.int64))
        self.places.append(place)


def list_padding(tokenizer: Tokenizer) -> dict[str, float]:
    """Key of a column -> the value beyond a row's end, where it is not 0."""
    return {"inputs": tokenizer.vocabulary.pad_id, "gold": -1}


def batches(
    rows: PieceRows, tokenizer: Tokenizer, size: int, longest: int, shortest: int = 16
) -> Iterator[tuple[list[int], Batch]]:
    """Batches of all rows, for predictions: pairs of the rows' numbers and a batch; few shapes.

    Args:
      size: rows of a batch.
      longest: length of the model's longest row.
      shortest: width of the narrowest batch.
    """
    widths = [batching.width(len(ids), shortest, longest) for ids in rows.columns["inputs"]]
    values = list_padding(tokenizer)
    for width, places in batching.group_rows(widths, size):
        batch = {}
        for key, column in rows.columns.items():
            batch[key] = np.full((size, width), values.get(key, 0), np.int32)
            for line, place in enumerate(places):
                batch[key][line, : len(column[place])] = column[place]
        yield places, batch
