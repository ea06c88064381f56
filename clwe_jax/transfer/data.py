"""The labelled data of a transfer run: training, development and test rows by language."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import os
from typing import Any, Iterable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.options.transfer import TransferRun
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.dictionary.glossary import Glossary
from clwe_jax.text.labelled import Examples, Task
from clwe_jax.text.words.languages import name_in

Rows = Sequence[Any]  # Tagged, Labelled or Spanned
_DEV_SHARE = 10  # one of so many training rows is a development row, where no file is given
_MIN_DEV = 20


@dataclasses.dataclass(frozen=True)
class LabelledData:
    """Rows with labels.

    Attributes:
      train, dev, tests: language -> rows.
      labels: the labels of the training rows; of names in IOB2, B- and I- of every kind.
      skipped: reason -> number of rows or tags.
      files: 'train de', 'test fr', ... -> (path, size, time), for the records of what is kept.
      labelled: the languages whose training labels are gold; with config.transfer.translate=train,
        `train` also has translations of their rows.
      glossaries: with config.transfer.translate, language -> the words that translate from it
        ('test') or into it ('train').
      coverage: language -> the share of the running words that its glossary translated.
    """

    task: Task
    train: Mapping[str, Rows]
    dev: Mapping[str, Rows]
    tests: Mapping[str, Rows]
    labels: tuple[str, ...]
    skipped: Mapping[str, int]
    files: Mapping[str, Any]
    labelled: tuple[str, ...]
    glossaries: Mapping[str, Glossary] = dataclasses.field(default_factory=dict)
    coverage: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def made_with(self) -> dict[str, Any]:
        """The files and translations of the rows, for the records of what is kept."""
        translated = {x: glossary.fingerprint() for x, glossary in self.glossaries.items()}
        return {"files": dict(self.files), "translated": translated}

    @property
    def tags(self) -> bool:
        """Whether words have labels."""
        return self.task.kind == "tags"

    @property
    def spans(self) -> bool:
        """Whether spans of sentences have labels."""
        return self.task.kind == "spans"

    def text_language(self, language: str, split: str = "test") -> str:
        """The language in which the rows of a language are written: translated, another one."""
        glossary = self.glossaries.get(language) if split == "test" else None
        return glossary.target if glossary and glossary.source == language else language

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the encoder reads."""
        return tuple(dict.fromkeys([*self.train, *self.dev, *map(self.text_language, self.tests)]))

    def gold(self, rows: Rows) -> list[Any]:
        """The labels of rows: the tags of each sentence, a label, or the labels of each row."""
        if self.spans:
            return [row.labels for row in rows]
        return [row.tags if self.tags else row.label for row in rows]

    def inputs(self, rows: Rows) -> list[Any]:
        """The words of each sentence, the texts of each row, or words and spans."""
        if self.spans:
            return [(row.words, row.spans) for row in rows]
        return [row.words if self.tags else row.texts for row in rows]

    def texts(self, rows: Rows) -> list[str]:
        """The rows as text, words with spaces between them."""
        return [" ".join(row.texts if self.task.kind == "texts" else row.words) for row in rows]

    def items(self, rows: Rows) -> np.ndarray:
        """The place of the first row with each row's sentence, of pairs with its first text, int [N]."""
        places: dict[Any, int] = {}
        keys = (row.texts[0] if self.task.kind == "texts" else row.words for row in rows)
        return np.array([places.setdefault(key, place) for place, key in enumerate(keys)], int)

    def majority(self, language: str) -> float:
        """The accuracy in a language of always answering the training rows' most frequent label."""
        counts = collections.Counter(_every_label(self.task, self.train.values()))
        [(label, _)] = counts.most_common(1)
        gold = self.gold(self.tests[language])
        answers = [[label] * len(tags) for tags in gold] if self.tags else [label] * len(gold)
        return self.task.score(gold, answers)["acc"]

    def label_ids(self, rows: Rows) -> list[Any]:
        """The labels of rows as numbers; of spans 0 or 1 for each label."""
        index = {label: number for number, label in enumerate(self.labels)}
        if self.spans:
            return [[int(label in row.labels) for label in self.labels] for row in rows]
        if self.tags:
            return [[index[tag] for tag in row.tags] for row in rows]
        return [index[row.label] for row in rows]


def read(config: TransferRun) -> LabelledData:
    """The labelled data of `config.transfer`, before any translation.

    Raises:
      ValueError, FileNotFoundError: files that are absent or wrong, or labels that do not fit.
    """
    settings = config.transfer
    task = labelled_files.task_of(settings)
    read_rows = _rows_of_files if labelled_files.has_files(settings.train) else _embedded_rows
    train, dev, tests, skip_counts, files = read_rows(config, task)
    if settings.lower_case:
        train, dev, tests = map(_lower_rows, (train, dev, tests))
    labels = _labels(task, train)
    skip_counts = collections.Counter(skip_counts)
    for name, rows in (("development", dev), ("test", tests)):
        for language, language_rows in rows.items():
            _check_labels(task, labels, language_rows, f"{name} set ({language})", skip_counts)
    label_set = set(labels)
    clean = {}
    for language, rows in dev.items():
        kept = [row for row in rows if label_set.issuperset(_labels_of(task, row))]
        clean |= {language: kept} if kept else {}
    if not clean:
        raise ValueError(
            "config.transfer.dev: no development row has only labels of the training rows; give a "
            "file of the same task: --config.transfer.dev=en:FILE"
        )
    return LabelledData(task, train, clean, tests, labels, dict(skip_counts), files, tuple(train))


def _lower_rows(sets: Mapping[str, Rows]) -> dict[str, Rows]:
    """Tagged rows with their words in lower case."""
    lowered = {}
    for language, rows in sets.items():
        lowered[language] = [row._replace(words=tuple(map(str.lower, row.words))) for row in rows]
    return lowered


def _embedded_rows(config: TransferRun, task: Task):
    """Rows of the embedded world."""
    settings = config.transfer
    seed = config.seed
    train_languages = labelled_files.training_languages(settings.train)
    limits = labelled_files.limits(settings.rows, train_languages, 1)
    skip_counts: collections.Counter[str] = collections.Counter()

    def rows(language: str, split: str, count: int) -> Rows:
        examples = task.generate(language, split, count, seed)
        skip_counts.update(examples.skipped)
        return examples.rows

    full_count = settings.embedded_rows
    train = {x: rows(x, "train", _count(limits[x], full_count)) for x in train_languages}
    dev = {x: rows(x, "dev", settings.embedded_tests) for x in train_languages}
    tests = {x: rows(x, "test", settings.embedded_tests) for x in options.languages(config)}
    return train, dev, tests, skip_counts, {"embedded": [settings.rows, seed]}


def _rows_of_files(config: TransferRun, task: Task):
    settings = config.transfer
    places = labelled_files.pairs(settings.train, "transfer.train")
    limits = labelled_files.limits(settings.rows, tuple(places), 0)
    skip_counts: collections.Counter[str] = collections.Counter()
    files: dict[str, Any] = {}

    def rows(language: str, path: str, use: str) -> Rows:
        file_path = path
        if path.startswith(labelled_files.PREFIX):
            from clwe_jax.data.graph import tfds_sets  # TensorFlow, which files do not need

            path = tfds_sets.labelled_rows(path, language, use, config.data.tfds_dir)
            file_path = path.origin
        files[f"{use} {language}"] = [path, os.path.getsize(file_path), os.path.getmtime(file_path)]
        examples: Examples = task.read(path, language)
        for reason, count in examples.skipped.items():
            skip_counts[f"{os.path.basename(path)}: {reason}"] += count
        return examples.rows

    train = {x: _part(rows(x, path, "train"), limits[x], config.seed) for x, path in places.items()}
    dev_files = labelled_files.pairs(settings.dev, "transfer.dev")
    dev = {x: rows(x, path, "dev") for x, path in dev_files.items()}
    if not dev:
        for language, language_rows in train.items():
            dev[language], train[language] = _split(task, language_rows, config.seed)
            logging.info(
                "config.transfer.dev is empty: %d of %d training rows (%s) are development rows",
                len(dev[language]),
                len(language_rows),
                language,
            )
    languages = options.languages(config)
    if settings.tests.startswith(labelled_files.PREFIX):
        paths = dict.fromkeys(languages, settings.tests)
    else:
        paths = {name_in(x, languages): path for x, path in task.files(settings.tests).items()}
    test_languages = [x for x in languages if x in paths]
    if not test_languages:
        raise ValueError(
            f"config.transfer.tests={settings.tests} has files of {', '.join(sorted(paths))}, none "
            f"of config.data.languages={config.data.languages}. A file whose name says another "
            f"language: cp {next(iter(paths.values()))} DIR/{languages[0]}.test.tsv, and "
            "--config.transfer.tests=DIR"
        )
    for language in languages:
        if language not in paths:
            logging.warning("%s has no test file of %r", settings.tests, language)
    limit = settings.test_rows or None
    tests = {x: rows(x, paths[x], "test")[:limit] for x in test_languages}
    return train, dev, tests, skip_counts, files


def _split(task: Task, rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """A tenth of the rows at random, 20 at least and half at most, and the others; spans of one sentence stay together."""
    groups: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row.words if task.kind == "spans" else place, []).append(place)
    places = list(groups.values())
    count = min(len(rows) // 2, max(_MIN_DEV, len(rows) // _DEV_SHARE))
    dev_places: set[int] = set()
    # The second number keeps this draw independent of the other draws from the seed.
    for number in np.random.default_rng([seed, 7]).permutation(len(places)):
        if len(dev_places) >= count:
            break
        dev_places.update(places[number])
    dev = [row for place, row in enumerate(rows) if place in dev_places]
    return dev, [row for place, row in enumerate(rows) if place not in dev_places]


def _count(limit: float, rows: int) -> int:
    """A number of rows: above 1 the limit, up to 1 a share of them, but one at least; 0: all."""
    if not limit:
        return rows
    return int(limit) if limit > 1 else max(1, round(limit * rows))


def _part(rows: Rows, limit: float, seed: int) -> Rows:
    """Some of the rows at random, in their order; the limit as of `_count`."""
    count = _count(limit, len(rows))
    if count >= len(rows):
        return rows
    order = np.random.default_rng([seed, 8]).permutation(len(rows))
    return [rows[i] for i in sorted(order[:count])]


def _labels_of(task: Task, row: Any) -> tuple[str, ...]:
    if task.kind == "spans":
        return row.labels
    return row.tags if task.kind == "tags" else (row.label,)


def _every_label(task: Task, sets: Iterable[Rows]) -> Iterator[str]:
    """The labels of all rows, one after the other."""
    for row in itertools.chain.from_iterable(sets):
        yield from _labels_of(task, row)


def _labels(task: Task, train: Mapping[str, Rows]) -> tuple[str, ...]:
    labels = set(_every_label(task, train.values()))
    if task.metric == "f1" and task.kind == "tags":
        kinds = {tag[2:] for tag in labels if tag[:2] in ("B-", "I-")}
        labels |= {f"B-{x}" for x in kinds} | {f"I-{x}" for x in kinds} | {"O"}
    if len(labels) < 2:
        raise ValueError(
            f"config.transfer.train: all rows have the label {next(iter(labels), '')!r}; a head "
            "learns two labels or more"
        )
    return tuple(sorted(labels))


def _check_labels(
    task: Task, labels: Sequence[str], rows: Rows, where: str, skipped: collections.Counter[str]
) -> None:
    """Counts labels that the head does not know; raises ValueError where it knows none."""
    counts = collections.Counter(_every_label(task, [rows]))
    names = {label for label in counts if label != "O"}
    strange = sorted(names - set(labels))
    if names and not names & set(labels):
        raise ValueError(
            f"The {where} has the labels {', '.join(strange[:8])}, and the training rows have "
            f"{', '.join(labels[:8])}: give files of one task, not of different tasks or tag sets"
        )
    if strange:
        count = sum(counts[label] for label in strange)
        skipped[f"{where}: labels that the training rows lack ({', '.join(strange[:4])})"] = count
        logging.warning(
            "The %s has %d labels that the training rows lack (%s): in test rows they count as "
            "errors, and development rows with them are left out",
            where,
            count,
            ", ".join(strange[:8]),
        )
