"""Sentence retrieval as in the papers' Tatoeba experiments (DICT-MLM, section 3; XTREME).

Both sides of a set of sentence pairs are mean-pooled at every layer; a source sentence is right
when its nearest target sentence is its translation.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Iterator

from absl import logging
import numpy as np

from clwe_jax.align import csls
from clwe_jax.evaluate import pairs
from clwe_jax.evaluate.encode import Encoder, last_layers
from clwe_jax.evaluate.statistics import wilson_interval
from clwe_jax.evaluate.spelled import encoder_of
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables

# How sentences are compared -> what the metric's name ends in.
SUFFIXES = {"cosine": "", "centered": "_centered", "csls": "_csls"}


def matches(
    source: np.ndarray, target: np.ndarray, how: str, neighbourhood: int = 10
) -> np.ndarray:
    """Whether the nearest target of source n is target n.

    Args:
      source, target: [N, D].
      how: 'cosine'; 'centered', the cosine after the mean of each side is taken away; 'csls'.
      neighbourhood: of CSLS.

    Returns:
      bool [N].
    """
    if how == "centered":
        source, target = source - source.mean(0), target - target.mean(0)
    method = "csls" if how == "csls" else "cosine"
    found, _ = csls.nearest(source, target, 1, method, neighbourhood=neighbourhood)
    return np.asarray(found)[:, 0] == np.arange(len(source))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class RetrievalEvaluator:
    """Accuracy of sentence retrieval by layer and language pair, in the files' direction.

    Attributes:
      every_steps: how often in training; 0: at its end only.
      data: a folder of sentence pairs; see `pairs.find`.
      max_sentences: of each pair, from the beginning; 0: all.
      batch_size: sentences encoded at once.
      max_length: pieces of a sentence, [CLS] and [SEP] included; 0: as the model.
      neighbourhood: of CSLS.
      objective: the model, by `objective.encode`.
      tokenizer: the run's.
    """

    every_steps: int = 0
    data: str = ""
    max_sentences: int = 1000
    batch_size: int = 64
    max_length: int = 0
    neighbourhood: int = 10
    objective: Objective
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        _ = self._pairs  # what is wrong with the folder is said before training starts

    def run(self, variables: Variables) -> Iterator[tuple[str, float]]:
        """Yields, as fractions, with '' (cosine), '_centered' and '_csls' in place of *:

        retrieval/{src}-{trg}/layer{k}/acc@1*: layer 0 is the embedding output.
        retrieval/{src}-{trg}/mean_last4*: the mean of the accuracies of the last four transformer
          layers (all where there are fewer); *_low and *_high: its 95% interval.
        retrieval/layer{k}/acc@1*, retrieval/mean_last4*: means over the pairs.
        retrieval/cut: the share of sentences that were too long for the model.
        """
        totals: dict[str, list[float]] = {}
        seen, cut = self._encoder.seen.total(), self._encoder.cut.total()
        last: tuple[str, list[str]] | None = None
        for pair, source, target in self._pairs:
            x = self._encoder.sentences(variables, source, pair.source)
            if (pair.target, target) != last:  # all pairs may share their English side
                y = self._encoder.sentences(variables, target, pair.target)
                last = pair.target, target
            for metric, value in self._measure(x, y):
                yield f"retrieval/{pair.name}/{metric}", value
                if not metric.endswith(("_low", "_high")):
                    totals.setdefault(metric, []).append(value)
        for metric, values in totals.items():
            yield f"retrieval/{metric}", float(np.mean(values))
        seen, cut = self._encoder.seen.total() - seen, self._encoder.cut.total() - cut
        if seen:
            yield "retrieval/cut", cut / seen

    def _measure(self, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, float]]:
        layers = x.shape[1]
        for how, suffix in SUFFIXES.items():
            shares = []
            for layer in range(layers):
                found = matches(x[:, layer], y[:, layer], how, self.neighbourhood)
                shares.append(float(found.mean()))
                yield f"layer{layer}/acc@1{suffix}", shares[-1]
            mean = float(np.mean([shares[layer] for layer in last_layers(layers - 1)]))
            low, high = wilson_interval(mean, len(x))
            yield f"mean_last4{suffix}", mean
            yield f"mean_last4{suffix}_low", low
            yield f"mean_last4{suffix}_high", high

    @functools.cached_property
    def _pairs(self) -> list[tuple[pairs.PairFiles, list[str], list[str]]]:
        """Each pair with its source and target sentences, read once."""
        found = pairs.find(self.data, self.tokenizer.languages)
        if not found:
            logging.warning(
                "%s: retrieval is left out; none of its pairs is of two of the languages %s",
                self.data, ", ".join(self.tokenizer.languages),
            )  # fmt: skip
        return [(pair, *pairs.read(pair, self.max_sentences)) for pair in found]

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return encoder_of(self.objective, self.tokenizer, self.max_length, self.batch_size)
