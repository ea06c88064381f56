"""T + pGA: entailment with the pivots and the order that translations of the tests give (Table 4, B7).

The heads of row T see only those words of a test sentence that are linked to its translation, in the
order of the translation. The paper calls it an upper bound for extraction and reordering; it is none
for rows whose heads have learned from pivots, such as T + E + R, which is above it there.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Callable, Mapping, NamedTuple, Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.align import pivots
from clwe_jax.clcr import data, entailment, steps, vectors
from clwe_jax.clcr.results import Transformed
from clwe_jax.evaluate import agreement
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.pocket import tasks
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.text.labelled import Labelled, scores
from clwe_jax.transfer import data as transfer_data, loaded

BASE = "t"  # the row whose heads are read


class _Linked(NamedTuple):
    """An encoder of texts by their linked words.

    Attributes:
      words: (text, language) -> its words.
      table: vectors of words, [N, D], in a mapped file.
      rows: the words of a text -> the rows of those that are linked, int [n].
    """

    words: Callable[[str, str], list[str]]
    table: np.ndarray
    rows: Mapping[tuple[str, ...], np.ndarray]

    def of_words(
        self,
        sentences: Sequence[Sequence[str]],
        language: str,
        pool: str = "mean",
        reduce: Callable[[np.ndarray], np.ndarray] = np.asarray,
    ) -> list[np.ndarray]:
        """As `features.EncodesWords`."""
        return [reduce(self.table[self.rows[tuple(words)]][:, None]) for words in sentences]


def measured(config: ClcrRun, workdir: str, mapped: Transformed) -> dict[str, float]:
    """The figures of the row; {} where the test rows of both languages are not parallel.

    Args:
      workdir: folder of the CLCR run, which has the finished row T.

    Returns:
      As `entailment.measured`; the target's figures are those of row T.
    """
    languages = source, _ = options.languages(config)
    rows = parallel_tests(config, workdir)
    if not rows:
        return {}
    heads = loaded.load(os.path.join(workdir, entailment.FOLDER, BASE)).predictor
    encoder = _Linked(heads.source.encoder.words, *_linked_words(config, workdir, mapped, rows))
    source_of = dataclasses.replace(heads.source, encoder=encoder, folder=workdir)
    heads = dataclasses.replace(heads, source=source_of)
    gold, texts = [row.label for row, _ in rows], [row.texts for row, _ in rows]
    right = [scores.accuracy(gold, x) for x in heads.label_texts(texts, source)]
    figures = entailment.row_figures(workdir, BASE)
    figures |= agreement.named_interval(f"xnli/{source}/acc", right)
    return entailment.figures(languages, entailment.ALIGNED, figures)


def parallel_tests(config: ClcrRun, workdir: str) -> list[tuple[Labelled, tuple[str, ...]]]:
    """The source's test rows with their texts in the target's language.

    Rows of files are parallel line by line, as XNLI's are: as many in both languages, with the same
    labels. Where they are not, [] is returned and a line says so.
    """
    source, target = options.languages(config)
    row = entailment.row_config(config, workdir, BASE)
    settings = row.transfer
    if not settings.tests:
        pairs = tasks.translated_pairs(
            source, target, "test", settings.embedded_tests, row.seed, tasks.DOMAINS
        )
        return [(Labelled(texts, label), other) for texts, other, label in pairs]
    tests = transfer_data.read(row).tests
    own, other = tests.get(source, ()), tests.get(target, ())
    if [x.label for x in own] != [x.label for x in other]:
        logging.warning(
            "T + pGA is left out: it needs parallel test rows, as XNLI's are, and those of %s and %s in "
            "%s differ in number or labels (%d and %d rows)",
            source, target, settings.tests, len(own), len(other),
        )  # fmt: skip
        return []
    return [(x, y.texts) for x, y in zip(own, other)]


def _linked_words(
    config: ClcrRun,
    workdir: str,
    mapped: Transformed,
    rows: Sequence[tuple[Labelled, tuple[str, ...]]],
) -> tuple[np.ndarray, dict[tuple[str, ...], np.ndarray]]:
    """The mapped vectors of the source's words, and for each source text its words -> the rows of the
    linked ones, in the order of the translation. A text without a link keeps its nearest word."""
    texts = {own: other for row, pair in rows for own, other in zip(row.texts, pair)}
    models = mapped.models.items()
    cut = [
        Linked(
            *(model.tokenizer.words(text, language) for text, (language, model) in zip(pair, models)),
            frozenset(), frozenset(),
        )
        for pair in texts.items()
    ]  # fmt: skip
    sides = data.both_sides(mapped.models, mapped.spaces, cut, workdir)
    views = vectors.views(mapped.maps[steps.MAIN], sides, vectors.files(workdir))
    distances = steps.distances(views, config.clcr.contrast, config.seed)
    table, linked = views.common(0), {}
    for number, (row, x) in enumerate(zip(cut, distances)):
        links = pivots.links(x, mapped.threshold)
        if x.size and not links.any():
            links[np.unravel_index(x.argmin(), x.shape)] = True
        places, ranks = pivots.orders(links)
        own = table.rows[number]
        linked[tuple(row.source)] = own[own > 0][places[np.argsort(ranks)]]  # row 0 is padding
    return table.vectors, linked
