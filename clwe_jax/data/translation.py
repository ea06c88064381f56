"""Batches of sentences and their translations (LASER; C1), and of sentences alone (E10)."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.data.arrays import ArraySource, Arrays, Column
from clwe_jax.data.tasks import Sentences, Translation
from clwe_jax.text import parallel
from clwe_jax.text.corpora import TextCorpus
from clwe_jax.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Sentence pairs or sentences as pieces.

    Attributes:
      columns: those that the objective's `batch_shapes` describes.
      counts: 'pairs/de-en' or 'sentences/de' -> number of rows.
      skipped: kind of fault -> number of pairs or sentences that were left out.
    """

    columns: Arrays
    counts: dict[str, int]
    skipped: dict[str, int]


def targets_of(task: Translation, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages to translate into.

    Raises:
      ValueError: a target that is no language of the run.
    """
    wanted = tuple(name.strip() for name in task.targets.split(",") if name.strip())
    for name in wanted:
        if name not in languages:
            raise ValueError(
                f"config.task.targets={task.targets}: {name!r} is none of config.data.languages="
                f"{','.join(languages)}"
            )
    return wanted or tuple(languages)


def encode(task: Translation, place: str, tokenizer: Tokenizer, length: int) -> Pieces:
    """Reads parallel text and encodes it. A pair with a side longer than a row is left out.

    Args:
      task: the options.
      place: see `parallel.find`.
      tokenizer: the run's tokenizer.
      length: positions of a row.

    Raises:
      ValueError, FileNotFoundError: as of `parallel.find` and `parallel.read`; no direction leads
        to one of the targets, or no pair fits a row.
    """
    languages = tokenizer.languages
    targets = targets_of(task, languages)
    end = tokenizer.vocabulary.sep_id
    inputs, outputs, numbers = [], [], []
    counts: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for files in parallel.find(place, languages, "task.parallel"):
        wanted = [x for x in (files.target, files.source) if x in targets]
        if not wanted:
            continue
        pairs = parallel.read(files)
        skipped |= pairs.skipped
        sides = {}
        for language, texts in ((files.source, pairs.source), (files.target, pairs.target)):
            sides[language] = [
                np.array([*tokenizer.encode(text, language)[0], end], np.int32) for text in texts
            ]
        fits = [max(map(len, both)) <= length for both in zip(*sides.values())]
        if not all(fits):
            what = f"pairs of {files.source}-{files.target} longer than {length} pieces"
            skipped[what] = skipped.get(what, 0) + len(fits) - sum(fits)
        for target in wanted:
            source = files.target if target == files.source else files.source
            kept = [x for x, fit in enumerate(fits) if fit]
            inputs += [sides[source][x] for x in kept]
            outputs += [sides[target][x] for x in kept]
            numbers += [tokenizer.language_id(target)] * len(kept)
            name = f"pairs/{source}-{target}"
            counts[name] = counts.get(name, 0) + len(kept)
    if not inputs:
        raise ValueError(
            f"{place}: no pair leads to config.task.targets={','.join(targets)} and fits rows of "
            f"{length} pieces (config.data.sequence_length)"
        )
    columns = {"inputs": inputs, "targets": outputs, "language_ids": np.array(numbers, np.int32)}
    return _pieces(columns, counts, skipped)


def sentences(task: Sentences, corpus: TextCorpus, tokenizer: Tokenizer, length: int) -> Pieces:
    """Encodes the lines of text files. A sentence longer than a row or without words is left out.

    Args:
      task: the options.
      corpus: the text files.
      tokenizer: the run's tokenizer.
      length: positions of a row.

    Raises:
      ValueError: no sentence of a language fits a row.
    """
    end = tokenizer.vocabulary.sep_id
    inputs, words, numbers = [], [], []
    counts: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for language in corpus.languages:
        lines = itertools.islice(corpus.lines(language), task.most or None)
        found = [tokenizer.encode(line, language) for line in lines]
        kept = [(ids, index) for ids, index in found if 0 < len(ids) < length]
        if len(kept) < len(found):
            what = f"sentences ({language}) without words or longer than {length} pieces"
            skipped[what] = len(found) - len(kept)
        if not kept:
            raise ValueError(
                f"config.data.source: no sentence in {language!r} fits rows of {length} pieces "
                "(config.data.sequence_length)"
            )
        inputs += [np.array([*ids, end], np.int32) for ids, _ in kept]
        words += [np.array([*index, index[-1] + 1], np.int32) for _, index in kept]
        numbers += [tokenizer.language_id(language)] * len(kept)
        counts[f"sentences/{language}"] = len(kept)
    columns = {"inputs": inputs, "words": words, "language_ids": np.array(numbers, np.int32)}
    return _pieces(columns, counts, skipped)


def _pieces(
    columns: Mapping[str, Column], counts: dict[str, int], skipped: dict[str, int]
) -> Pieces:
    for what, count in skipped.items():
        logging.warning("%d %s are left out", count, what)
    return Pieces(Arrays(columns), counts, skipped)


class TranslationSource(ArraySource):
    """Batches of sentence pairs or sentences, shuffled, without end (`types.BatchSource`)."""

    def __init__(self, pieces: Pieces, pad: int, widths: int, batch_size: int, **options: int):
        """Args:
        pieces: the pairs or sentences.
        pad: id of padding.
        widths: number of widths of batches, with equally many rows each.
        batch_size: rows of this host's batches.
        **options: seed, process_index and process_count, see `ArraySource`.
        """
        shares = np.arange(1, widths + 1) / widths
        found = np.ceil(np.quantile(pieces.columns.lengths, shares)).astype(int)
        super().__init__(
            pieces.columns,
            batch_size,
            buckets=sorted(set(found.tolist())),
            padding={"inputs": pad, "targets": pad},
            **options,
        )
        self._pieces = pieces

    def stats(self) -> dict[str, float]:
        """Passes through the data, and the numbers of rows by direction or language and left out."""
        left_out = sum(self._pieces.skipped.values())
        return {**super().stats(), **self._pieces.counts, "left_out": left_out}
