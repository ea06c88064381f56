"""Labelled texts: inference, paraphrases, topics and sentiment.

The columns of the published files:

    premise  hypothesis  label                   XNLI; also its original file of all languages
    id  sentence1  sentence2  label              PAWS-X
    CCAT  text                                   MLDoc (needs Reuters' text)
    index_id  category  text                     SIB-200
    pos  summary  text                           CLS-10 (Webis), or its XML with <rating>
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Mapping, NamedTuple, Sequence
from xml.etree import ElementTree

from clwe_jax.pocket import tasks as pocket
from clwe_jax.text.labelled import Examples, Labelled, folders, scores, tables
from clwe_jax.text.lines import fault, read_text
from clwe_jax.text.words.languages import find_name

_NOT_TRANSLATED = "NS"  # PAWS-X's mark of a sentence that was not translated


class _Format(NamedTuple):
    """A task's files: columns where the file does not name them, labels, and their other names."""

    order: Mapping[str, int]
    expected: str
    labels: tuple[str, ...] = ()
    also: Mapping[str, str] = {}


_PAIR = {"first": 0, "second": 1, "label": 2}
_XNLI = _Format(
    _PAIR,
    "premise, hypothesis, label",
    ("contradiction", "entailment", "neutral"),
    {"contradictory": "contradiction"},
)
_PAWSX = _Format(
    _PAIR,
    "sentence1, sentence2, label",
    ("different", "paraphrase"),
    {"0": "different", "1": "paraphrase", "different_meaning": "different"},
)
_MLDOC = _Format({"label": 0, "first": 1}, "label, text", ("CCAT", "ECAT", "GCAT", "MCAT"))
_SIB = _Format(
    {"label": 1, "first": 2},
    "index_id, category, text",
    ("entertainment", "geography", "health", "politics", "science/technology", "sports", "travel"),
)
_CLS = _Format(
    {"label": 0, "second": 1, "first": 2},
    "label, summary, text",
    ("neg", "pos"),
    {"negative": "neg", "positive": "pos"},
)


@dataclasses.dataclass(frozen=True)
class _Texts:
    """A task of texts with a label.

    Attributes:
      domains: domains of the embedded world, with commas between them; '' for the laptop's eight.
    """

    domains: str = ""

    name = ""
    title = ""
    kind = "texts"
    texts = 1
    metric = "acc"
    embedded = True
    format = _MLDOC
    counts = staticmethod(scores.row_counts)

    def read(self, path: str, language: str) -> Examples:
        skip_counts: collections.Counter[str] = collections.Counter()
        cells = self._cells(path)
        codes = {row.cells["language"] for row in cells if "language" in row.cells}
        code = find_name(language, codes)  # the table's own
        if codes and not code:
            raise ValueError(
                f"{path} has no row of the language {language!r}; it has {', '.join(sorted(codes))}"
            )
        rows = []
        for row in cells:
            if row.cells.get("language", "") == code:
                example = self._row(path, row, skip_counts)
                rows += [example] if example else []
        if not rows:
            raise ValueError(f"{path} has no row with text and a label: {dict(skip_counts)}")
        return Examples(tuple(rows), dict(skip_counts))

    def _cells(self, path: str) -> list[tables.Cells]:
        return tables.read(path, self.format.order, self.format.expected)

    def _row(self, path, row, skipped) -> Labelled | None:
        label = self._label(path, row)
        texts = self._parts(row.cells)
        if label == "-":  # XNLI's mark of no majority
            skipped["no agreed label (-)"] += 1
        elif not all(texts):
            skipped["an empty text"] += 1
        elif _NOT_TRANSLATED in texts:
            skipped[f"not translated ({_NOT_TRANSLATED})"] += 1
        else:
            return Labelled(texts, label)
        return None

    def _parts(self, cells: Mapping[str, str]) -> tuple[str, ...]:
        return (cells["first"], cells["second"]) if self.texts == 2 else (cells["first"],)

    def _label(self, path: str, row: tables.Cells) -> str:
        label = row.cells["label"]
        label = self.format.also.get(label, label)
        if label not in self.format.labels and label != "-":
            labels = ", ".join((*self.format.labels, *self.format.also))
            expected = f"expected one of {labels} ({self.format.expected})"
            fault(path, row.number, f"{label!r} is no label of {self.name}: {expected}")
        return label

    def files(self, directory: str) -> dict[str, str]:
        """As `Task.files`; one file of several languages stands for each of them."""
        try:
            return folders.find(directory)
        except ValueError:
            files = folders.find_shared_files(directory, tables.languages)
            if not files:
                raise
            return files

    def generate(self, language: str, split: str, rows: int, seed: int) -> Examples:
        pairs = pocket.TEXTS[self.name](
            language, split, rows, seed, pocket.join_domains(self.domains)
        )
        return Examples(tuple(Labelled(texts, label) for texts, label in pairs))

    def score(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
        """{'acc'}: the share of right labels."""
        return {"acc": scores.accuracy(self.counts(gold, predicted))}


class Xnli(_Texts):
    """Natural language inference (Conneau et al. 2018): entailment, neutral or contradiction."""

    name = "xnli"
    title = "Entailment"
    texts = 2
    format = _XNLI


class PawsX(_Texts):
    """Paraphrases (Yang et al. 2019): 'paraphrase' (1 in the files) or 'different' (0)."""

    name = "pawsx"
    title = "Paraphrases"
    texts = 2
    format = _PAWSX


class MlDoc(_Texts):
    """Topics of Reuters' news (Schwenk and Li 2018): CCAT, ECAT, GCAT, MCAT."""

    name = "mldoc"
    title = "Topics of news"
    format = _MLDOC


class Topics(_Texts):
    """Seven topics of sentences (SIB-200, Adelani et al. 2024)."""

    name = "topics"
    title = "Topics"
    format = _SIB


class Sentiment(_Texts):
    """Opinions in reviews of Amazon (CLS-10, Prettenhofer and Stein 2010): pos or neg."""

    name = "sentiment"
    title = "Opinions"
    format = _CLS

    def _cells(self, path: str) -> list[tables.Cells]:
        text = read_text(path)
        return _reviews(path, text) if text.lstrip().startswith("<") else super()._cells(path)

    def _parts(self, cells: Mapping[str, str]) -> tuple[str, ...]:
        return (" ".join(filter(None, (cells.get("second", ""), cells["first"]))),)


def _reviews(path: str, text: str) -> list[tables.Cells]:
    """The <item>s of CLS-10's XML: more than three stars are 'pos', fewer 'neg', three '-'."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        fault(path, error.position[0], f"not XML: {error}")
    reviews = []
    for number, item in enumerate(root.iter("item"), 1):
        rating = item.findtext("rating", "")
        try:
            stars = float(rating)
        except ValueError:
            raise ValueError(
                f"{path}: item {number}: <rating>{rating}</rating> is no number"
            ) from None
        label = "pos" if stars > 3 else "neg" if stars < 3 else "-"
        cells = {
            "label": label,
            "first": " ".join(item.findtext("text", "").split()),
            "second": " ".join(item.findtext("summary", "").split()),
        }
        reviews.append(tables.Cells(number, cells))
    return reviews
