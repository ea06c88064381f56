"""Translate-train and translate-test: labelled rows, translated word by word by a dictionary."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import os
from typing import Any

from absl import logging

from clwe_jax import pocket
from clwe_jax.options.transfer import TransferRun
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.dictionary import glossary
from clwe_jax.text.dictionary.glossary import Glossary
from clwe_jax.text.labelled import Tagged
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.transfer.data import LabelledData, Rows


def translate_rows(config: TransferRun, workdir: str, data: LabelledData) -> LabelledData:
    """The data with the translations that `config.transfer.translate` asks for.

    'train': the training rows of the first training language, translated into every other tested
    language, are training rows too. 'test': the test rows of other languages are translated into
    the first training language. A translated word keeps the label of its word.

    Args:
      workdir: folder of the run, which holds the embedded world's dictionaries.

    Raises:
      ValueError, FileNotFoundError: no dictionary of two languages.
    """
    if not config.transfer.translate:
        return data
    first = data.labelled[0]
    train = config.transfer.translate == "train"
    targets = [language for language in data.tests if language not in data.labelled]
    folder = config.data.dictionaries
    if folder == "pocket":
        folder = os.path.join(workdir, "pocket", "dictionaries")
        pocket.write_dictionaries(folder, [first, *targets])
    dictionary = dictionaries.load(folder, [first, *targets], normalizer=Normalizer())
    counts = _counts(data, data.train[first])
    glossaries = {}
    coverage = {}
    sets = dict(data.train if train else data.tests)
    for language in targets:
        pair = (first, language) if train else (language, first)
        # Counts of the training language choose among translations; for the others there are none.
        lexicon = glossary.of_dictionary(dictionary, *pair, {} if train else counts)
        rows = data.train[first] if train else data.tests[language]
        glossaries[language] = lexicon
        coverage[language] = lexicon.coverage(_sentences(data, rows, lexicon))
        sets[language] = [_translate_row(row, lexicon) for row in rows]
        logging.info(
            "%s: %d words with a translation %s %s; %.0f%% of the running words have one",
            language,
            len(lexicon.entries),
            "from" if train else "into",
            first,
            100 * coverage[language],
        )
    changes: dict[str, Any] = {"train" if train else "tests": sets}
    return dataclasses.replace(data, glossaries=glossaries, coverage=coverage, **changes)


def _counts(data: LabelledData, rows: Rows) -> collections.Counter[str]:
    """The counts of words in lower case."""
    normal = Normalizer()
    segmenter = Segmenter()
    language = data.labelled[0]
    counts: collections.Counter[str] = collections.Counter()
    for row in rows:
        for text in row.words if data.tags else row.texts:
            counts.update(segmenter.words(normal(text, language), language))
    return counts


def _sentences(data: LabelledData, rows: Rows, lexicon: Glossary) -> list[Any]:
    if data.tags:
        return [row.words for row in rows]
    return list(map(lexicon.cut, itertools.chain.from_iterable(row.texts for row in rows)))


def _translate_row(row: Any, lexicon: Glossary) -> Any:
    if isinstance(row, Tagged):
        return row._replace(words=lexicon.words(row.words))
    return row._replace(texts=tuple(map(lexicon.text, row.texts)))
