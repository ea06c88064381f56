"""The results of a transfer run's stages, and its figures."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax.encoders.features import FeatureReader, PieceTable, FeatureTable
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.evaluate import agreement
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.labeller import Frozen, Labels

Predicted = Mapping[str, Sequence[Labels]]  # language -> the labels by each seed
Scores = Mapping[str, Sequence[Mapping[str, float]]]  # language -> of each seed, metric -> value


@dataclasses.dataclass(frozen=True, eq=False)
class OpenedEncoder:
    """The encoder of the labelled rows.

    Attributes:
      reader: makes the features; in mode tune, the pretrained model.
      made_with: facts of the encoder, for the records of what is kept.
      coverage: language -> share of the running words of its test rows that have a vector.
    """

    reader: FeatureReader | PieceTable | LanguageModel
    made_with: Mapping[str, Any]
    initial: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    coverage: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Features:
    """The features of all rows.

    Attributes:
      tables: (split, language), such as ('train', 'de') -> features.
      centers: language -> its mean feature, [layers, D], with config.transfer.center.
    """

    tables: Mapping[tuple[str, str], FeatureTable]
    centers: Mapping[str, np.ndarray] | None


class Trial(NamedTuple):
    """A trial: option -> value, and the development figure of one head."""

    values: Mapping[str, float]
    figure: float


@dataclasses.dataclass(frozen=True, eq=False)
class Layer:
    """The trained heads on one layer, or on a mix of layers.

    Attributes:
      name: '' or 'layer3'.
      layers: the layers of the features that they read.
      predictor: the heads.
      facts: 'history' and 'losses' [epochs][seeds], 'best' [seeds], 'rows', 'seconds', 'cut'; and
        'all_seconds', which counts compilation and development sets too.
    """

    name: str
    layers: slice
    predictor: Frozen
    facts: Mapping[str, Any]

    @property
    def development(self) -> np.ndarray:
        """The development figure of each seed, at its best epoch."""
        return np.max(self.facts["history"], axis=0)


@dataclasses.dataclass(frozen=True, eq=False)
class Training:
    """The trained heads or parameters, with the course of their training.

    Attributes:
      histories: for each seed epoch, or in mode tune step -> development figure.
      cut: reason -> number of training rows that lost their end.
      speed: metric path -> time or rate of the training.
      chosen: name of the layer with the best development figure, that of `histories`.
      layers: the heads; () in mode tune, whose parameters are in the run's folder.
      trials: those of the search.
    """

    histories: Sequence[Mapping[int, float]]
    cut: Mapping[str, int]
    speed: Mapping[str, float]
    chosen: str = ""
    layers: Sequence[Layer] = ()
    trials: Sequence[Trial] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Tested:
    """The predictions of the test rows.

    Attributes:
      labels: layer -> language -> for each seed the labels.
      scores: layer -> their scores.
      cut: reason -> number of test rows that lost their end.
    """

    labels: Mapping[str, Predicted]
    scores: Mapping[str, Scores]
    cut: Mapping[str, int]


def scores(data: LabelledData, predicted: Predicted) -> Scores:
    """The scores of predictions of the test rows."""
    gold = {language: data.gold(data.tests[language]) for language in predicted}
    return {x: [data.task.score(gold[x], mine) for mine in seeds] for x, seeds in predicted.items()}


def figures(
    data: LabelledData, encoder: OpenedEncoder, training: Training, tested: Tested
) -> dict[str, float]:
    """The figures of a finished run."""
    task = data.task
    result = {}
    for layer, by_language in tested.scores.items():
        result |= _score_figures(data, by_language, f"{layer}/" if layer else "")
    result |= _score_figures(data, tested.scores[training.chosen])
    if task.metric == "acc":
        result |= {f"{task.name}/{x}/majority": data.majority(x) for x in data.tests}
    result |= {f"data/coverage/{x}": share for x, share in encoder.coverage.items()}
    result |= {f"data/translated/{x}": share for x, share in data.coverage.items()}
    best = [max(history.values()) for history in training.histories]
    return {**result, f"transfer/dev_{task.metric}": float(np.mean(best)), **training.speed}


def _score_figures(data: LabelledData, by_language: Scores, layer: str = "") -> dict[str, float]:
    """The figures of the heads on a layer, under names with or without it."""
    task = data.task.name
    metric = data.task.metric
    result = {}
    for language, seeds in by_language.items():
        for name in seeds[0]:
            values = [score[name] for score in seeds]
            result |= agreement.named_interval(f"{task}/{language}/{layer}{name}", values)
    others = [language for language in by_language if language not in data.labelled]
    if others:
        means = np.mean([[score[metric] for score in by_language[x]] for x in others], axis=0)
        result |= agreement.named_interval(f"zero_shot/{task}/{layer}mean_{metric}", means)
    return result
