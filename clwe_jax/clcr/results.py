"""The results of the stages of a CLCR run."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax.clcr.steps import Curve, Extraction, Maps, Order, OrderPredictors
from clwe_jax.clcr.vectors import Views
from clwe_jax.encoders.clcr_models import Space
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.text.corpus.alignment_files import Linked


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """Training or test sentences.

    Attributes:
      rows: the words of both sides.
      gold: whether the rows have gold links.
      words: their vectors in both spaces, by the final models and maps.
      links: the pivots of each sentence pair, bool [M, N].
    """

    rows: Sequence[Linked]
    gold: bool
    words: Views
    links: Sequence[np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class TransformResult:
    """The result of the stage 'transform'.

    Attributes:
      made_with: what all results that the run keeps depend on.
      models: language -> its model, after the fine-tuning.
      spaces: language -> the vectors of its model that are mapped.
      maps: row of Table 1 -> its maps.
      phases: language -> the history of its model's fine-tuning in each round.
      threshold: the largest distance of a pivot.
      train, test: the sentences.
      curve: the pivots of the test sentences by their threshold, where these have gold links.
      figures: metric path -> value.
    """

    made_with: Mapping[str, Any]
    models: Mapping[str, LanguageModel]
    spaces: Mapping[str, Space]
    maps: Mapping[str, Maps]
    phases: Mapping[str, Sequence[np.ndarray]]
    threshold: float
    train: Split
    test: Split
    curve: Curve | None
    figures: Mapping[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Extracted:
    """The result of the stage 'extract': language -> its predictors of pivots, and the figures."""

    predictors: Mapping[str, Extraction]
    figures: Mapping[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Reordered:
    """The result of the stage 'reorder'.

    Attributes:
      moved: the side that is reordered, 0 the source.
      predictors: of its orders.
      orders: the orders of the test sentences: those of gold links, or without these of pivots.
      figures: metric path -> value.
    """

    moved: int
    predictors: OrderPredictors
    orders: Sequence[Order]
    figures: Mapping[str, float]
