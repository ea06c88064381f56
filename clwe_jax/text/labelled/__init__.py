"""Labelled text: tagged sentences, labelled texts and labelled spans, and the tasks that read and score them.

The tasks are classes of the modules of this folder, by name in the registry's table
'transfer_task'. None imports jax or TensorFlow.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple, Protocol, Sequence

import numpy as np


class Tagged(NamedTuple):
    """A sentence with one tag a word; the words are the file's own, never segmented again.

    Attributes:
      tags: named entities in IOB2 ('B-PER', 'I-PER', 'O'), or universal parts of speech.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]


class Labelled(NamedTuple):
    """One text, or a pair of texts, with one label.

    Attributes:
      label: one of the task's labels.
    """

    texts: tuple[str, ...]
    label: str


class Spanned(NamedTuple):
    """One span of a sentence, or a pair of spans, with labels.

    Attributes:
      spans: one or two, each (first word, word after the last one).
      labels: distinct and sorted; of most tasks one.
    """

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Examples:
    """The rows of a file or of the embedded world.

    Attributes:
      rows: all of one kind.
      skipped: reason -> number of rows (or repaired tags) that the reason concerns.
    """

    rows: tuple[Tagged, ...] | tuple[Labelled, ...] | tuple[Spanned, ...]
    skipped: Mapping[str, int] = dataclasses.field(default_factory=dict)


class Task(Protocol):
    """A task with labels, which a model learns in one language and is tested on in others.

    Attributes:
      name: the beginning of the figures' paths: ner/{lang}/f1, xnli/{lang}/acc.
      title: its name for a reader of the report.
      kind: 'tags' (rows are `Tagged`), 'texts' (`Labelled`) or 'spans' (`Spanned`).
      texts: number of texts or spans of a row: 1 or 2; 0 for tags.
      embedded: whether the embedded world has rows.
      metric: the key of `score` that chooses models and stands in zero_shot/{task}/mean_{metric}.
    """

    name: str
    title: str
    kind: str
    texts: int
    metric: str
    embedded: bool

    def read(self, path: str, language: str) -> Examples:
        """The rows of a file in one of the task's published formats; `.gz` is unpacked.

        Args:
          language: the language to read where a file holds several.

        Raises:
          ValueError: a wrong line, with its file and number; or no rows.
        """

    def files(self, directory: str) -> dict[str, str]:
        """Language -> its test file in a folder.

        Raises:
          ValueError: the folder has no such file, or two of one language.
        """

    def generate(self, language: str, split: str, rows: int, seed: int) -> Examples:
        """Rows of the embedded world, the same for the same arguments.

        Args:
          language: one of the embedded world's languages.
          split: 'train', 'dev' or 'test'; the last two have words and templates of their own.

        Raises:
          ValueError: an unknown language or split, or no rows of the task in the language.
        """

    def score(self, gold: Sequence, predicted: Sequence) -> dict[str, float]:
        """Fractions by name, of which `metric` is one.

        Args:
          gold: for tags, a sequence of tags a sentence; for texts, a label a row; for spans, a
            sequence of distinct labels a row.
          predicted: the same shape.

        Raises:
          ValueError: the shapes differ.
        """

    def counts(self, gold: Sequence, predicted: Sequence) -> np.ndarray:
        """The counts of each row from which F1 or accuracy follows, int64 [N, 3]: right, gold, predicted.

        Arguments as of `score`.
        """
