"""Sentence retrieval as in the papers' Tatoeba experiments (DICT-MLM, section 3; XTREME).

A sentence is right when the nearest sentence of the other language is its translation. Both directions of a
pair of languages are measured: from its source to its target, and back.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Iterator, Sequence

from absl import logging
import numpy as np

from clwe_jax.align import both_sides, csls
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS, select_layer
from clwe_jax.encoders.protocols import HasCoverage, Encoder, Pools, Truncates
from clwe_jax.evaluate import retrieval_page
from clwe_jax.evaluate.agreement import Outcomes, number_texts
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.statistics import wilson_interval
from clwe_jax.models.pooling import last_layers
from clwe_jax.options.evaluators import RetrievalEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.corpus import parallel
from clwe_jax.text.corpus.frequencies import SIF
from clwe_jax.text.corpus.repeats import drop_repeats

# Endings of a metric's name, one for each score that the papers compare: '' is the cosine itself, the others
# are those of `nearest_is_translation`.
_ENDINGS = ("", "_centered", "_csls")
# CSLS of `mean`, by each way of pooling, is also measured with fewer neighbours than the papers' ten: a sentence has
# one translation, and its tenth neighbour says little. It has no interval and no test of significance.
_FEW_NEIGHBOURS = 3
_CSLS_OF_FEW = f"_csls_k{_FEW_NEIGHBOURS}"
_SIF = f"retrieval/{SIF}"  # prefix of the metrics of a language model's sentences by SIF


def nearest_is_translation(
    source: np.ndarray, target: np.ndarray, neighbourhoods: Sequence[int] = (10,)
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Whether the nearest row on the other side is the translation: the row of the same number.

    Args:
      source, target: [N, D].
      neighbourhoods: numbers of neighbours; CSLS is computed with each.

    Returns:
      Ending of a metric's name -> bool [N] for the sources and bool [N] for the targets. '': by
      cosine; '_centered': by cosine after subtraction of each side's mean; '_csls': by CSLS with the
      first number of neighbours; '_csls_k3', ...: by CSLS with each further number. A pair with zeros is never right.

    Raises:
      ValueError: a value that is not finite, or sides with different numbers of rows.
    """
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source rows, but {len(target)} rows of their translations")
    csls.check_finite(source)
    csls.check_finite(target)
    # By cosine, then by each CSLS: the nearest target of each source, and the nearest source of each target.
    plain, *by_csls = both_sides.best(source, target, neighbourhoods)
    # The cosine of two sentences depends on the means of their languages, too: centering removes that part.
    [centered] = both_sides.best(source - source.mean(0), target - target.mean(0))
    csls_endings = ["_csls", *(f"_csls_k{count}" for count in neighbourhoods[1:])]
    nearest = {"": plain, "_centered": centered, **dict(zip(csls_endings, by_csls))}
    # A sentence without a vector finds nothing and is not found: its zeros are as near to all as to its translation.
    rows = np.where(source.any(1) & target.any(1), np.arange(len(source)), -1)
    return {
        ending: (of_source == rows, of_target == rows)
        for ending, (of_source, of_target) in nearest.items()
    }


# `ByIdentity`: eq=False alone would keep the equality of the options.
@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SentenceRetrieval(ByIdentity, RetrievalEvaluation):
    """Accuracy of sentence retrieval by language pair, for any encoder.

    `headlines`, `section` and `describe_tests` are what the report shows of it.

    Attributes:
      context: the run that is measured.
      outcomes: path of a metric of sentence vectors, such as 'retrieval/de-en/mean_csls' -> whether each
        sentence found its translation in the last run, for tests of significance.
    """

    headlines = retrieval_page.HEADLINES
    section = staticmethod(retrieval_page.section)
    describe_tests = staticmethod(retrieval_page.describe_tests)

    context: Context
    outcomes: dict[str, Outcomes] = dataclasses.field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_data:
            _ = self._pairs  # reads the files, so that an error in them is raised before training

    @property
    def texts(self) -> dict[str, list[str]]:
        """language -> its test sentences, each once; the report of given pairs counts which words the text has."""
        texts: dict[str, dict[str, None]] = {}
        for pair, source, target in self._pairs if self.has_data else ():
            texts.setdefault(pair.source, {}).update(dict.fromkeys(source))
            texts.setdefault(pair.target, {}).update(dict.fromkeys(target))
        return {language: list(sentences) for language, sentences in texts.items()}

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields metrics as fractions. A star is an ending: '' (cosine), '_centered' or '_csls'.

        `mean` is one accuracy: a sentence's vector is the mean of its vectors in the last four layers.
        `mean_last4` is the mean of four accuracies, one of each of the last four layers. Both have a 95% interval,
        whose ends are further metrics, *_low and *_high.

        retrieval/{src}-{trg}/chance: one over the number of sentences.
        retrieval/{src}-{trg}/mean*: accuracy with the encoder's own sentence vector (of several layers the
          mean of the last four), in both directions.
        retrieval/{src}-{trg}/mean_csls_k3: the same by CSLS over three neighbours.
        retrieval/{src}-{trg}/coverage: the share of the source's running words that have a vector,
          for encoders that cover some words only.
        retrieval/{src}-{trg}/layer{k}/acc@1*: accuracy of every layer, if the encoder has several, from
          the source to the target of a pair only; layer 0 is the embedding output.
        retrieval/{src}-{trg}/mean_last4*: the mean of the accuracies of the last four layers (of
          layers 1, 2, ... if there are fewer), in the same direction.
        retrieval/mean*, retrieval/mean_csls_k3, retrieval/layer{k}/acc@1*, retrieval/mean_last4*,
          retrieval/chance: these figures, averaged over the pairs.
        retrieval/sif/...: the same figures of a language model's sentences whose words are weighted by SIF, as in
          `Model.encode`, if it knows how often words occur. Static vectors weigh their words in `retrieval/mean`.
        retrieval/cut: the share of sentences that were too long for the model.
        """
        # Metric without its pair of languages -> the values of all pairs.
        by_metric: dict[str, list[float]] = {}
        self.outcomes.clear()
        # The encoder's counts also include the sentences of earlier runs.
        counts_before = _count_sentences(model)
        # (view, language, texts) of the last target side. The next pair often has the same one, such as the
        # same English sentences; then their vectors are not computed again, if `view` is `model` itself.
        last_target = None
        for pair, source, target in self._pairs:
            # The encoder in the space of this pair: `model` itself, or with the pair's own map.
            view = model.pairwise_space(pair.source, pair.target)
            sources = _encode_by_pool(view, source, pair.source)
            if last_target != (view, pair.target, target):
                last_target = view, pair.target, target
                targets = _encode_by_pool(view, target, pair.target)
            # Equal numbers mark one sentence in several pairs of languages: its results are not independent, which
            # tests of significance need to know. The English side is numbered; without one, the source.
            items = number_texts(target if pair.target == "en" else source)
            for prefix, vectors in sources.items():
                figures = self._measure_pair(pair, prefix, vectors, targets[prefix], items)
                for direction, metric, value in figures:
                    yield f"{prefix}/{direction}/{metric}", value
                    if not metric.endswith(("_low", "_high")):
                        by_metric.setdefault(f"{prefix}/{metric}", []).append(value)
            if isinstance(view, HasCoverage):
                sides = (source, pair.source), (target, pair.target)
                for direction, side in zip(_directions(pair), sides):
                    yield f"retrieval/{direction}/coverage", view.coverage(*side)
            for direction in _directions(pair):
                yield f"retrieval/{direction}/chance", 1 / len(source)
            by_metric.setdefault("retrieval/chance", []).append(1 / len(source))
        for metric, values in by_metric.items():
            yield metric, float(np.mean(values))
        encoded_count, cut_count = _count_sentences(model) - counts_before
        if encoded_count:
            yield "retrieval/cut", float(cut_count / encoded_count)
        can_weigh = isinstance(model, Pools) and model.pools != ("own",)
        if last_target is not None and can_weigh and _SIF not in targets:
            logging.info("Retrieval without SIF: the model has no counts of its words")

    def _measure_pair(
        self, pair: parallel.Bitext, prefix: str, x: np.ndarray, y: np.ndarray, items: np.ndarray
    ) -> Iterator[tuple[str, str, float]]:
        """(direction, metric, value) of a pair by one way of pooling; x and y are [N, layers, D]."""
        for metric, value in self._measure_layers(x, y):
            yield pair.name, metric, value
        # For `mean`: vectors are averaged. `mean_last4`, of `_measure_layers`, averages accuracies.
        x = select_layer(x, MEAN_OF_LAST_LAYERS)
        y = select_layer(y, MEAN_OF_LAST_LAYERS)
        is_right = nearest_is_translation(x, y, (self.neighbourhood, _FEW_NEIGHBOURS))
        for side, direction in enumerate(_directions(pair)):
            for ending in _ENDINGS:
                outcomes = Outcomes(is_right[ending][side], items)
                self.outcomes[f"{prefix}/{direction}/mean{ending}"] = outcomes
                accuracy = float(outcomes.right.mean())
                for metric, value in _with_interval(f"mean{ending}", accuracy, len(x)):
                    yield direction, metric, value
            yield direction, f"mean{_CSLS_OF_FEW}", float(is_right[_CSLS_OF_FEW][side].mean())

    def _measure_layers(self, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, float]]:
        """The accuracy of each layer from source to target, and the mean of the last four, without layer 0."""
        layers = x.shape[1]
        if layers == 1:
            return  # the only layer is the encoder's own sentence vector
        by_layer = [
            nearest_is_translation(x[:, k], y[:, k], (self.neighbourhood,)) for k in range(layers)
        ]
        for ending in _ENDINGS:
            accuracies = [float(right[ending][0].mean()) for right in by_layer]
            for layer, accuracy in enumerate(accuracies):
                yield f"layer{layer}/acc@1{ending}", accuracy
            mean = float(np.mean([accuracies[layer] for layer in last_layers(layers - 1)]))
            # The interval is that of N sentences, not of 4 N: layers on one sentence are not independent.
            yield from _with_interval(f"mean_last4{ending}", mean, len(x))

    @functools.cached_property
    def _pairs(self) -> list[tuple[parallel.Bitext, list[str], list[str]]]:
        """Each pair of languages with its source and target sentences, without repeated ones."""
        sentence_pairs = self.context.read_pairs(self.data, self.name, self.max_sentences)
        return [
            (bitext, *drop_repeats(lines.source, lines.target, bitext.paths[0]))
            for bitext, lines in sentence_pairs
        ]


def _directions(pair: parallel.Bitext) -> tuple[str, str]:
    """The names of a pair's directions in metrics, such as 'de-en' and 'en-de'."""
    return pair.name, f"{pair.target}-{pair.source}"


def _encode_by_pool(model: Encoder, texts: Sequence[str], language: str) -> dict[str, np.ndarray]:
    """Prefix of metrics -> sentence vectors, float32 [N, layers, D], by each way of pooling words."""
    if not isinstance(model, Pools):
        return {"retrieval": model.sentences(texts, language)}
    # By its own pooling and, with counts of words, by SIF.
    by_pool = model.pool_in_all_ways(texts, language)
    return {_SIF if pool == SIF else "retrieval": vectors for pool, vectors in by_pool.items()}


def _with_interval(name: str, share: float, count: int) -> list[tuple[str, float]]:
    low, high = wilson_interval(share, count)
    return [(name, share), (f"{name}_low", low), (f"{name}_high", high)]


def _count_sentences(model: Encoder) -> np.ndarray:
    """The numbers of sentences that the encoder has encoded and has cut so far, int [2]."""
    if not isinstance(model, Truncates):
        return np.zeros(2, int)
    return np.array([sum(model.encoded_counts.values()), sum(model.cut_counts.values())])
