"""Trained labellers: given words or texts in, labels out, for every seed of a run."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Mapping, Protocol, Sequence

import jax
import numpy as np

from clwe_jax import terminal
from clwe_jax.encoders import features, piece_rows
from clwe_jax.encoders.features import FeatureReader, PieceTable, FeatureTable
from clwe_jax.encoders.sharded_call import ShardedCall
from clwe_jax.models import labelling
from clwe_jax.models.labelling import Labeller
from clwe_jax.objectives.labelling import LabellingObjective
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Array, Variables

_ROWS = 64  # rows that are labelled at once
# For each row of words its labels, tuple[str, ...]; for each row of spans its labels, of which there
# may be none; for each text one label.
Labels = list[Any]


class Labellers(Protocol):
    """Labellers of several seeds."""

    def label_sentences(self, sentences: Sequence[Sequence[str]], language: str) -> list[Labels]:
        """For each seed the labels of each sentence's words."""

    def label_texts(self, texts: Sequence[Sequence[str]], language: str) -> list[Labels]:
        """For each seed the label of each row of one or two texts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Frozen:
    """Heads on features that do not change (`Labellers`).

    Attributes:
      source: makes the features.
      labeller: the embedder and the head.
      params: parameters; the first axis is the seeds.
      labels: name of each label.
      centers: language -> the vector that is subtracted from its features, [layers, D]; None:
        nothing is subtracted.
    """

    source: FeatureReader | PieceTable
    labeller: Labeller
    params: Any
    labels: Sequence[str]
    centers: Mapping[str, np.ndarray] | None = None

    def label_sentences(self, sentences: Sequence[Sequence[str]], language: str) -> list[Labels]:
        table = self.subtract_center(self.source.of_sentences(sentences, language), language)
        return self.label_table(table, self.params)

    def label_texts(self, texts: Sequence[Sequence[str]], language: str) -> list[Labels]:
        table = self.subtract_center(self.source.of_texts(texts, language), language)
        return self.label_table(table, self.params)

    def label_spans(
        self, rows: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], language: str
    ) -> list[Labels]:
        """For each seed the labels of each row of words and spans."""
        table = self.subtract_center(features.span_table(self.source, rows, language), language)
        return self.label_table(table, self.params)

    def subtract_center(self, table: FeatureTable, language: str) -> FeatureTable:
        """The features without the language's mean, where the run subtracts it.

        Raises:
          ValueError: the run has no mean of the language.
        """
        if self.centers is None:
            return table
        if language not in self.centers:
            raise ValueError(
                f"config.transfer.center=True: the run has features of "
                f"{', '.join(sorted(self.centers))} and no mean of {language!r}"
            )
        return features.center_table(table, self.centers[language])

    def label_table(self, table: FeatureTable, params: Any) -> list[Labels]:
        """For each seed the labels of each row of a table."""
        members = len(jax.tree.leaves(params)[0])
        labels: list[Labels] = [[None] * len(table.rows) for _ in range(members)]
        several = self.labeller.labelling.head.options.ending == "sigmoid"
        program = _frozen_program(self.labeller)
        for places, batch in features.batches(table, _ROWS):
            # Only the batch's rows of a table, which may be a mapped file, go to the device.
            values, batch = labelling.local(table.values, batch)
            # Labels of words [members, B, W], of texts [members, B], of spans [members, B, K].
            best = np.asarray(program(params, values, batch))
            for line, place in enumerate(places):
                for member in range(members):
                    mine = best[member, line]
                    if several:
                        mine = tuple(self.labels[i] for i in np.flatnonzero(mine))
                    elif mine.ndim:
                        mine = tuple(self.labels[i] for i in mine[: len(table.rows[place][0])])
                    else:
                        mine = self.labels[int(mine)]
                    labels[member][place] = mine
        return labels


@dataclasses.dataclass(frozen=True, eq=False)
class TunedLabellers:
    """Fine-tuned models (`Labellers`).

    Attributes:
      objective: the model.
      variables: of each seed.
      labels: name of each label.
      length: longest row, in pieces.
    """

    objective: LabellingObjective
    tokenizer: Tokenizer
    variables: Sequence[Variables]
    labels: Sequence[str]
    length: int
    types: bool = False

    def label_sentences(self, sentences: Sequence[Sequence[str]], language: str) -> list[Labels]:
        rows = piece_rows.of_sentences(self.tokenizer, sentences, language, self.length)
        labels: list[Labels] = [[() for _ in sentences] for _ in self.variables]
        parts = sorted(self._best(rows), key=lambda part: rows.places[part[1]])
        for member, place, best in parts:  # the rows of a sentence in their order
            count = len(rows.columns["words"][place])
            number = rows.places[place][0]
            labels[member][number] += tuple(self.labels[i] for i in best[:count])
        return labels

    def label_texts(self, texts: Sequence[Sequence[str]], language: str) -> list[Labels]:
        rows = piece_rows.of_texts(self.tokenizer, texts, language, self.length, self.types)
        labels: list[Labels] = [[None] * len(texts) for _ in self.variables]
        for member, place, best in self._best(rows):
            labels[member][place] = self.labels[int(best)]
        return labels

    def _best(self, rows: piece_rows.PieceRows) -> list[tuple[int, int, np.ndarray]]:
        """Triples of a seed's place, a row and its best labels."""
        triples = []
        program = _tuned_program(self.objective)
        batches = list(piece_rows.batches(rows, self.tokenizer, _ROWS, self.length))
        with terminal.task("batches", len(batches) * len(self.variables)) as advance:
            for member, variables in enumerate(self.variables):
                for places, batch in batches:
                    best = np.asarray(program(variables, batch))
                    triples += [(member, place, best[line]) for line, place in enumerate(places)]
                    advance(1)
        return triples


@functools.lru_cache(maxsize=4)  # the predictors of one model share the compiled programs
def _tuned_program(objective: LabellingObjective) -> ShardedCall:
    return ShardedCall(objective.best)


@functools.lru_cache(maxsize=4)
def _frozen_program(labeller: Labeller) -> Callable[..., Array]:
    def best(params, values, batch):
        def one(params):
            return labeller.apply({"params": params}, values, batch, method=Labeller.best)

        # As in `training.heads.step`.
        return jax.lax.map(one, params) if jax.default_backend() == "cpu" else jax.vmap(one)(params)

    return jax.jit(best)
