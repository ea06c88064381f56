"""Batches of sentences and their translations (LASER; C1), and of sentences alone (E10)."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.data.arrays import ArraySource, Arrays, Column
from clwe_jax.options.tasks import Sentences, Translation
from clwe_jax.text.corpus import corpora, parallel
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.vocab.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class TranslationPieces:
    """Sentence pairs or sentences as pieces.

    Attributes:
      columns: those that the objective's `batch_shapes` describes.
      groups: direction or language of each row, 'pairs/de-en' or 'sentences/de'.
      counts: group -> number of rows.
      skipped: kind of fault -> number of pairs or sentences that were left out.
    """

    columns: Arrays
    groups: np.ndarray
    counts: dict[str, int]
    skipped: dict[str, int]


def targets_of(task: Translation, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages to translate into.

    Raises:
      ValueError: a target that is no language of the run.
    """
    targets = tuple(name.strip() for name in task.targets.split(",") if name.strip())
    for name in targets:
        if name not in languages:
            raise ValueError(
                f"config.task.targets={task.targets}: {name!r} is none of config.data.languages="
                f"{','.join(languages)}"
            )
    return targets or tuple(languages)


def encode(task: Translation, place: str, tokenizer: Tokenizer, length: int) -> TranslationPieces:
    """Reads parallel text and encodes it. A pair with a side that is longer than a row or has
    no words is left out.

    Raises:
      ValueError, FileNotFoundError: as of `parallel.find` and `parallel.read`; no direction leads
        to one of the targets, or no pair fits a row.
    """
    languages = tokenizer.languages
    targets = targets_of(task, languages)
    end = tokenizer.vocabulary.sep_id
    inputs = []
    outputs = []
    sources = []
    numbers = []
    groups: list[str] = []
    skipped: dict[str, int] = {}
    reader = parallel.Reader()
    for files in parallel.find(place, languages, "task.parallel"):
        pair_targets = [x for x in (files.target, files.source) if x in targets]
        if not pair_targets:
            continue
        pairs = reader.read(files)
        skipped |= pairs.skipped
        sides = {}
        for language, texts in ((files.source, pairs.source), (files.target, pairs.target)):
            sides[language] = [
                np.array([*tokenizer.encode(text, language)[0], end], np.int32) for text in texts
            ]
        # A side without words is its end alone.
        is_short = [all(1 < len(side) <= length for side in pair) for pair in zip(*sides.values())]
        if not all(is_short):
            kind = f"pairs of {files.source}-{files.target} without words or longer than {length} pieces"
            skipped[kind] = skipped.get(kind, 0) + len(is_short) - sum(is_short)
        for target in pair_targets:
            source = files.target if target == files.source else files.source
            pair_rows = [x for x, fit in enumerate(is_short) if fit]
            inputs += [sides[source][x] for x in pair_rows]
            outputs += [sides[target][x] for x in pair_rows]
            sources += [tokenizer.language_id(source)] * len(pair_rows)
            numbers += [tokenizer.language_id(target)] * len(pair_rows)
            groups += [f"pairs/{source}-{target}"] * len(pair_rows)
    if not inputs:
        raise ValueError(
            f"{place}: no pair leads to config.task.targets={','.join(targets)} and fits rows of "
            f"{length} pieces (config.data.sequence_length)"
        )
    columns = {
        "inputs": inputs,
        "targets": outputs,
        "source_language_ids": np.array(sources, np.int32),
        "language_ids": np.array(numbers, np.int32),
    }
    return _pieces(columns, groups, skipped)


def sentences(
    task: Sentences, corpus: TextCorpus, tokenizer: Tokenizer, length: int
) -> TranslationPieces:
    """Encodes the lines of text files. A sentence longer than a row or without words is left out.

    Raises:
      ValueError: no sentence of a language fits a row.
    """
    end = tokenizer.vocabulary.sep_id
    inputs = []
    words = []
    numbers = []
    groups: list[str] = []
    skipped: dict[str, int] = {}
    for language in corpus.languages:
        lines = itertools.islice(corpus.lines(language), task.max_sentences or None)
        encoded = [tokenizer.encode(line, language) for line in lines]
        short_lines = [(ids, index) for ids, index in encoded if 0 < len(ids) < length]
        if len(short_lines) < len(encoded):
            kind = f"sentences ({language}) without words or longer than {length} pieces"
            skipped[kind] = len(encoded) - len(short_lines)
        if not short_lines:
            raise ValueError(
                f"config.data.source: no sentence in {language!r} fits rows of {length} pieces "
                "(config.data.sequence_length)"
            )
        inputs += [np.array([*ids, end], np.int32) for ids, _ in short_lines]
        # The end is a word of its own.
        words += [np.array([*index, index[-1] + 1], np.int32) for _, index in short_lines]
        numbers += [tokenizer.language_id(language)] * len(short_lines)
        groups += [f"sentences/{language}"] * len(short_lines)
    columns = {"inputs": inputs, "words": words, "language_ids": np.array(numbers, np.int32)}
    return _pieces(columns, groups, skipped)


def _pieces(
    columns: Mapping[str, Column], groups: Sequence[str], skipped: dict[str, int]
) -> TranslationPieces:
    for kind, count in skipped.items():
        logging.warning("%d %s are left out", count, kind)
    return TranslationPieces(
        Arrays(columns), np.array(groups), collections.Counter(groups), skipped
    )


def epoch(pieces: TranslationPieces, temperature: float) -> np.ndarray:
    """The rows of an epoch, int64 [N]: all of them, those of small groups more than once.

    A group's share of the pieces is proportional to (its pieces / all pieces)^(1 / temperature), as
    in every other task. Rows are repeated equally often, up to one, evenly spread over the group.

    Args:
      temperature: 1: each row once; more: the groups are more equal; below 1: less.

    Raises:
      ValueError: a temperature that is not positive.
    """
    lengths = pieces.columns.lengths
    group_rows = []
    places = {group: np.flatnonzero(pieces.groups == group) for group in pieces.counts}
    sizes = {group: float(lengths[rows].sum()) for group, rows in places.items()}
    shares = corpora.temperature_shares(sizes, temperature)
    times = {group: shares[group] / sizes[group] for group in places}
    for group, rows in places.items():
        total = round(len(rows) * times[group] / min(times.values()))
        group_rows.append(rows[np.arange(total) * len(rows) // total])
    return np.concatenate(group_rows)


@dataclasses.dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of a table, as a `RowReader`."""

    columns: Arrays
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, indices: np.ndarray) -> Mapping[str, Column]:
        return self.columns.rows(self.places[indices])


class TranslationSource(ArraySource):
    """Batches of sentence pairs or sentences, shuffled, without end (`types.BatchSource`)."""

    def __init__(
        self,
        pieces: TranslationPieces,
        pad: int,
        widths: int,
        batch_size: int,
        temperature: float = 1.0,
        **options: int,
    ):
        """Args:
        widths: number of widths of batches, with equally many rows each.
        batch_size: rows of this host's batches.
        temperature: of the sampling of directions or languages; 1 keeps their proportions.
        **options: seed, process_index and process_count of `ArraySource`.
        """
        shares = np.arange(1, widths + 1) / widths
        places = epoch(pieces, temperature)
        lengths = pieces.columns.lengths[places]
        # Quantiles, so that each width has equally many rows.
        bounds = np.ceil(np.quantile(lengths, shares)).astype(int)
        super().__init__(
            _Rows(pieces.columns, places),
            batch_size,
            lengths=lengths,
            fingerprint=f"{pieces.columns.fingerprint} {temperature:g}",
            buckets=sorted(set(bounds.tolist())),
            padding={"inputs": pad, "targets": pad},
            **options,
        )
        self._pieces = pieces

    def stats(self) -> dict[str, float]:
        """Passes through the data, and the numbers of rows by direction or language and left out."""
        left_out = sum(self._pieces.skipped.values())
        return {**super().stats(), **self._pieces.counts, "left_out": left_out}
