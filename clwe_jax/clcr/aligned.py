"""T + pGA: entailment with the pivots and the order that translations of the tests give (Table 4, B7).

The heads of row T see only those words of a test sentence that are linked to its translation, in the
order of the translation. The paper calls it an upper bound for extraction and reordering; it is none
for rows whose heads have learned from pivots, such as T + E + R, which is above it there.
"""

from __future__ import annotations

import itertools
import os
from typing import Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.align import pivots
from clwe_jax.clcr import data, entailment, steps, vectors
from clwe_jax.clcr.results import TransformResult
from clwe_jax.encoders.features import FeatureTable
from clwe_jax.evaluate import agreement
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.pocket import tasks
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.text.labelled import Labelled, scores
from clwe_jax.transfer import data as transfer_data, loaded

BASE = "t"  # the row whose heads are read


def measure_aligned(config: ClcrRun, workdir: str, mapped: TransformResult) -> dict[str, float]:
    """The figures of the row; {} where the test rows of both languages are not parallel.

    Args:
      workdir: folder of the CLCR run, which has the finished row T.

    Returns:
      As `entailment.measure_entailment`; the target's figures are those of row T.
    """
    languages = source, _ = options.languages(config)
    rows = parallel_tests(config, workdir)
    if not rows:
        return {}
    heads = loaded.load(os.path.join(workdir, entailment.FOLDER, BASE)).predictor
    table = heads.subtract_center(_linked_words(config, workdir, mapped, rows), source)
    gold = [row.label for row, _ in rows]
    accuracies = [
        scores.accuracy(scores.row_counts(gold, x)) for x in heads.label_table(table, heads.params)
    ]
    figures = entailment.row_figures(workdir, BASE)
    figures |= agreement.named_interval(f"xnli/{source}/acc", accuracies)
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
        return [(Labelled(texts, label), target_rows) for texts, target_rows, label in pairs]
    tests = transfer_data.read(row).tests
    source_rows = tests.get(source, ())
    target_rows = tests.get(target, ())
    if [x.label for x in source_rows] != [x.label for x in target_rows]:
        logging.warning(
            "T + pGA is left out: it needs parallel test rows, as XNLI's are, and those of %s and %s in "
            "%s differ in number or labels (%d and %d rows)",
            source,
            target,
            settings.tests,
            len(source_rows),
            len(target_rows),
        )
        return []
    return [(x, y.texts) for x, y in zip(source_rows, target_rows)]


def _linked_words(
    config: ClcrRun,
    workdir: str,
    mapped: TransformResult,
    rows: Sequence[tuple[Labelled, tuple[str, ...]]],
) -> FeatureTable:
    """The mapped vectors of the source's words as features: of each text the linked words, in the order
    of the row's translation. A text without a link keeps its nearest word."""
    translated = [list(zip(row.texts, others)) for row, others in rows]
    pairs = list(dict.fromkeys(itertools.chain.from_iterable(translated)))
    models = mapped.models.items()
    sentences = []
    for pair in pairs:
        source, target = [
            model.tokenizer.words(text, language) for text, (language, model) in zip(pair, models)
        ]
        sentences.append(Linked(source, target, frozenset(), frozenset()))
    sides = data.both_sides(mapped.models, mapped.spaces, sentences, workdir)
    views = vectors.views(mapped.maps[steps.MAIN], sides, vectors.files(workdir))
    distances = steps.distances(views, config.clcr.contrast, config.seed)
    words = views.common(0)
    linked = {}
    for number, (pair, x) in enumerate(zip(pairs, distances)):
        links = pivots.links(x, mapped.threshold)
        if x.size and not links.any():
            links[np.unravel_index(x.argmin(), x.shape)] = True
        places, ranks = pivots.orders(links)
        word_rows = words.rows[number]
        linked[pair] = word_rows[word_rows > 0][places[np.argsort(ranks)]]  # row 0 is padding
    return FeatureTable(
        words.vectors[:, None], [[linked[pair] for pair in row] for row in translated]
    )
