"""Scores of predicted labels: F1 of entities and of sets of labels, accuracy, and Spearman's rank correlation."""

from __future__ import annotations

from typing import Collection, Sequence

from clwe_jax.text.labelled.entities import entities

Tags = Sequence[Sequence[str]]


def entity_f1(gold: Tags, predicted: Tags) -> dict[str, float]:
    """Precision, recall and F1 of entities over all sentences, as seqeval's micro average.

    An entity is right where type, first and last word are. Without any entity a figure is 0.

    Raises:
      ValueError: the sentences differ in number or length.
    """
    _check_tags(gold, predicted)
    wanted, found = set(entities(_joined(gold))), set(entities(_joined(predicted)))
    return _f1(len(wanted & found), len(wanted), len(found))


def label_f1(gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]]) -> dict[str, float]:
    """Precision, recall and F1 of the labels of all rows (micro average; Tenney et al. 2019, 3.2).

    A predicted label is right where its row has it. Without any label a figure is 0.

    Args:
      gold, predicted: the distinct labels of each row, perhaps none.

    Raises:
      ValueError: the numbers of rows differ.
    """
    _check_number(gold, predicted)
    right = sum(len(set(a) & set(b)) for a, b in zip(gold, predicted))
    return _f1(right, sum(map(len, gold)), sum(map(len, predicted)))


def _f1(right: int, wanted: int, found: int) -> dict[str, float]:
    precision = right / found if found else 0.0
    recall = right / wanted if wanted else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"f1": f1, "precision": precision, "recall": recall}


def tag_accuracy(gold: Tags, predicted: Tags) -> float:
    """The share of words whose tag is right; 0 without words.

    Raises:
      ValueError: the sentences differ in number or length.
    """
    _check_tags(gold, predicted)
    right = sum(a == b for tags, guess in zip(gold, predicted) for a, b in zip(tags, guess))
    return right / max(1, sum(map(len, gold)))


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """The share of rows whose label is right; 0 without rows.

    Raises:
      ValueError: the numbers of labels differ.
    """
    _check_number(gold, predicted)
    return sum(a == b for a, b in zip(gold, predicted)) / max(1, len(gold))


def spearman(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """Spearman's rank correlation of numbers as text; 0 where either side is constant.

    Raises:
      ValueError: the numbers of values differ, or a value is no number.
    """
    from scipy import stats  # takes half a second, and only this score needs it

    _check_number(gold, predicted)
    x, y = [float(value) for value in gold], [float(value) for value in predicted]
    if len(set(x)) < 2 or len(set(y)) < 2:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)


def _joined(sentences: Tags) -> list[str]:
    """All tags with O after each sentence; seqeval, too, finds the entities of all at once."""
    return [tag for sentence in sentences for tag in (*sentence, "O")]


def _check_tags(gold: Tags, predicted: Tags) -> None:
    _check_number(gold, predicted)
    for row, (tags, guess) in enumerate(zip(gold, predicted)):
        if len(tags) != len(guess):
            raise ValueError(f"sentence {row}: {len(tags)} words, but {len(guess)} predicted tags")


def _check_number(gold: Sequence, predicted: Sequence) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} rows, but predictions for {len(predicted)}")
