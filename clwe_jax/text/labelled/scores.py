"""Scores of predicted labels: F1 of entities and of sets of labels, and accuracy.

The counts of a row are its right, gold and predicted items: entities, labels, words, or the row itself.
F1 over rows is 2 right / (gold + predicted), which is accuracy where both numbers are equal.
"""

from __future__ import annotations

from typing import Collection, Sequence

import numpy as np

from clwe_jax.text.labelled.entities import entities

Tags = Sequence[Sequence[str]]


def entity_counts(gold: Tags, predicted: Tags) -> np.ndarray:
    """The counts of entities of each sentence, int64 [N, 3]: right (type, first and last word), gold, predicted.

    Raises:
      ValueError: the sentences differ in number or length.
    """
    _check_tags(gold, predicted)
    sides = ((set(entities(a)), set(entities(b))) for a, b in zip(gold, predicted))
    return _counts([(len(a & b), len(a), len(b)) for a, b in sides])


def label_counts(
    gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]]
) -> np.ndarray:
    """The counts of distinct labels of each row, int64 [N, 3]: right, gold, predicted (Tenney et al. 2019, 3.2)."""
    _check_number(gold, predicted)
    return _counts([(len(set(a) & set(b)), len(a), len(b)) for a, b in zip(gold, predicted)])


def tag_counts(gold: Tags, predicted: Tags) -> np.ndarray:
    """The counts of words of each sentence, int64 [N, 3]: right, gold, predicted."""
    _check_tags(gold, predicted)
    rights = (sum(x == y for x, y in zip(a, b)) for a, b in zip(gold, predicted))
    return _counts([(right, len(tags), len(tags)) for right, tags in zip(rights, gold)])


def row_counts(gold: Sequence[str], predicted: Sequence[str]) -> np.ndarray:
    """The counts of each row, which has one label, int64 [N, 3]: right, gold, predicted."""
    _check_number(gold, predicted)
    return _counts([(int(a == b), 1, 1) for a, b in zip(gold, predicted)])


def _counts(rows: Sequence[tuple[int, int, int]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), 3)


def f1(counts: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 over all rows (micro average, as seqeval's); figures without a label are 0.

    Args:
      counts: right, gold and predicted labels of each row, int64 [N, 3].
    """
    right, gold, predicted = counts.sum(0).tolist()
    precision = right / predicted if predicted else 0.0
    recall = right / gold if gold else 0.0
    total = precision + recall
    score = 2 * precision * recall / total if total else 0.0
    return {"f1": score, "precision": precision, "recall": recall}


def accuracy(counts: np.ndarray) -> float:
    """The share of words or rows whose only label is right."""
    return f1(counts)["recall"]


def _check_tags(gold: Tags, predicted: Tags) -> None:
    _check_number(gold, predicted)
    for row, (tags, guess) in enumerate(zip(gold, predicted)):
        if len(tags) != len(guess):
            raise ValueError(f"sentence {row}: {len(tags)} words, but {len(guess)} predicted tags")


def _check_number(gold: Sequence, predicted: Sequence) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} rows, but predictions for {len(predicted)}")
