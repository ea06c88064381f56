"""Sentence retrieval as in the papers' Tatoeba experiments (DICT-MLM, section 3; XTREME).

A source sentence is right when its nearest target sentence is its translation.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Iterator, Sequence

from absl import logging
import numpy as np

from clwe_jax.align import both_sides, csls
from clwe_jax.encoders.encode import MEAN_LAST4, select_layer
from clwe_jax.evaluate import retrieval_page
from clwe_jax.evaluate.agreement import Outcomes, number_texts
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.statistics import wilson_interval
from clwe_jax.models.pooling import last_layers
from clwe_jax.options.evaluators import RetrievalEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.corpus import parallel
from clwe_jax.text.corpus.repeats import drop_repeats
from clwe_jax.types import Covers, Encoder, Pools, Truncates

# Neighbours of a further CSLS figure: a sentence has one translation among its candidates, and the ten
# nearest of the papers reach far beyond it.
_FEW_NEIGHBOURS = 3
# Suffixes of metrics: of the papers' comparisons, and of that one.
_COMPARED = ("", "_centered", "_csls")
_FEW = f"_csls_k{_FEW_NEIGHBOURS}"
SIF = "retrieval/sif"  # beginning of the metrics of sentences pooled by SIF


def matches(
    source: np.ndarray, target: np.ndarray, neighbourhoods: Sequence[int] = (10,)
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Whether the nearest target of source n is target n, and the reverse.

    Args:
      source, target: [N, D].
      neighbourhoods: numbers of neighbours that CSLS averages over.

    Returns:
      Suffix of a metric -> bool [N] of the sources and bool [N] of the targets. '': by cosine;
      '_centered': after subtraction of each side's mean; '_csls': over the first number of
      neighbours; '_csls_k3': over three, if that is a further number.

    Raises:
      ValueError: a value that is not finite.
    """
    csls.check_finite(source)
    csls.check_finite(target)
    plain, *by_csls = both_sides.best(source, target, neighbourhoods)
    # The mean vector of a language outweighs the meaning where the languages lie apart.
    [centered] = both_sides.best(source - source.mean(0), target - target.mean(0))
    suffixes = ["_csls", *(f"_csls_k{count}" for count in neighbourhoods[1:])]
    nearest = {"": plain, "_centered": centered, **dict(zip(suffixes, by_csls))}
    own = np.arange(len(source))
    return {suffix: (ahead == own, back == own) for suffix, (ahead, back) in nearest.items()}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SentenceRetrieval(ByIdentity, RetrievalEvaluation):
    """Accuracy of sentence retrieval by language pair, for any encoder.

    Attributes:
      outcomes: of the last run, path of a metric mean* -> whether each source sentence is right, [N];
        pairs of one English sentence share its number.
    """

    headlines = retrieval_page.HEADLINES
    section = staticmethod(retrieval_page.section)
    describe_tests = staticmethod(retrieval_page.describe_tests)

    context: Context
    outcomes: dict[str, Outcomes] = dataclasses.field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_data:
            _ = self._pairs  # an error in the folder is raised before training starts

    @property
    def has_data(self) -> bool:
        """Whether parallel text is named."""
        return bool(self.data)

    @property
    def texts(self) -> dict[str, list[str]]:
        """language -> the sentences of all its pairs."""
        found: dict[str, list[str]] = {}
        for pair, source, target in self._pairs if self.has_data else ():
            for language, some in ((pair.source, source), (pair.target, target)):
                found.setdefault(language, []).extend(some)
        return found

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields metrics as fractions; * is '' (cosine), '_centered' or '_csls':

        retrieval/{src}-{trg}/chance: one over the number of sentences.
        retrieval/{src}-{trg}/mean*: accuracy with the encoder's own sentence vector (for several
          layers the mean of the last four layers' vectors), in both directions; *_low and *_high:
          its 95% interval.
        retrieval/{src}-{trg}/mean_csls_k3: the same by CSLS over three neighbours.
        retrieval/{src}-{trg}/coverage: the share of the source's running words that have a vector,
          for encoders that cover some words only.
        retrieval/{src}-{trg}/layer{k}/acc@1*: accuracy of every layer, where a model has several,
          in the files' direction; layer 0 is the embedding output.
        retrieval/{src}-{trg}/mean_last4*: the mean of the accuracies of the last four layers (of
          all layers where there are fewer), in the files' direction; *_low and *_high: its 95%
          interval.
        retrieval/mean*, retrieval/layer{k}/acc@1*, retrieval/mean_last4*, retrieval/chance: means
          over the pairs.
        retrieval/sif/...: the same figures of sentences whose words are weighted by SIF,
          for encoders that know how often words occur.
        retrieval/cut: the share of sentences that were too long for the model.
        """
        totals: dict[str, list[float]] = {}
        self.outcomes.clear()
        # The encoder counts all its sentences, those of earlier runs too.
        counts = _lengths(model)
        last = None  # many pairs share their English side
        for pair, source, target in self._pairs:
            view = model.pairwise_space(pair.source, pair.target)
            x = _encode_pools(view, source, pair.source)
            if last is None or last[:3] != (view, pair.target, target):
                last = view, pair.target, target, _encode_pools(view, target, pair.target)
            y = last[3]
            items = number_texts(target if pair.target == "en" else source)
            for prefix in x:
                for name, value in self._measure_pair(pair, prefix, x[prefix], y[prefix], items):
                    yield f"{prefix}/{name}", value
                    if not name.endswith(("_low", "_high")):
                        metric = name.split("/", 1)[1]
                        totals.setdefault(f"{prefix}/{metric}", []).append(value)
            if isinstance(view, Covers):
                for language, other, texts in (
                    (pair.source, pair.target, source),
                    (pair.target, pair.source, target),
                ):
                    share = view.coverage(texts, language)
                    yield f"retrieval/{language}-{other}/coverage", share
            for name in (pair.name, f"{pair.target}-{pair.source}"):
                yield f"retrieval/{name}/chance", 1 / len(source)
            totals.setdefault("retrieval/chance", []).append(1 / len(source))
        for metric, values in totals.items():
            yield metric, float(np.mean(values))
        seen, cut = _lengths(model) - counts
        if seen:
            yield "retrieval/cut", float(cut / seen)
        if last is not None and SIF not in last[3]:
            logging.info("Retrieval without SIF pooling: the run keeps no counts of its words")

    def _measure_pair(
        self, pair: parallel.Bitext, prefix: str, x: np.ndarray, y: np.ndarray, items: np.ndarray
    ) -> Iterator[tuple[str, float]]:
        """The figures of a pair by one way of pooling."""
        for name, value in self._by_layer(x, y):
            yield f"{pair.name}/{name}", value
        own = select_layer(x, MEAN_LAST4), select_layer(y, MEAN_LAST4)
        found = matches(*own, (self.neighbourhood, _FEW_NEIGHBOURS))
        for place, name in enumerate((pair.name, f"{pair.target}-{pair.source}")):
            for suffix in _COMPARED:
                right = found[suffix][place]
                self.outcomes[f"{prefix}/{name}/mean{suffix}"] = Outcomes(right, items)
                yield from _with_interval(f"{name}/mean{suffix}", float(right.mean()), len(right))
            yield f"{name}/mean{_FEW}", float(found[_FEW][place].mean())

    def _by_layer(self, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, float]]:
        layers = x.shape[1]
        if layers == 1:
            return  # the only layer is the encoder's own sentence vector
        found = [
            matches(x[:, layer], y[:, layer], (self.neighbourhood,)) for layer in range(layers)
        ]
        for suffix in _COMPARED:
            shares = [float(right[suffix][0].mean()) for right in found]
            for layer, share in enumerate(shares):
                yield f"layer{layer}/acc@1{suffix}", share
            mean = float(np.mean([shares[layer] for layer in last_layers(layers - 1)]))
            yield from _with_interval(f"mean_last4{suffix}", mean, len(x))

    @functools.cached_property
    def _pairs(self) -> list[tuple[parallel.Bitext, list[str], list[str]]]:
        """Each pair with its source and target sentences, read once."""
        languages = self.context.languages
        pairs = parallel.test_pairs(self.data, languages, "evals.retrieval.data")
        if not pairs:
            logging.warning(
                "%s: retrieval is left out: no pair has both languages among %s",
                self.data,
                ", ".join(languages),
            )
        reader = parallel.Reader()
        texts = [reader.read(pair, self.max_sentences) for pair in pairs]
        return [
            (pair, *drop_repeats(both.source, both.target, pair.paths[0]))
            for pair, both in zip(pairs, texts)
        ]


def _encode_pools(model: Encoder, texts: Sequence[str], language: str) -> dict[str, np.ndarray]:
    """Beginning of the metrics' names -> float32 [N, layers, D], by every pool of the encoder."""
    if not isinstance(model, Pools):
        return {"retrieval": model.sentences(texts, language)}
    by_pool = model.pooled(texts, language)
    return {SIF if pool == "sif" else "retrieval": vectors for pool, vectors in by_pool.items()}


def _with_interval(name: str, share: float, count: int) -> list[tuple[str, float]]:
    low, high = wilson_interval(share, count)
    return [(name, share), (f"{name}_low", low), (f"{name}_high", high)]


def _lengths(model: Encoder) -> np.ndarray:
    """The numbers of sentences that the encoder has seen and has cut, int [2]."""
    if not isinstance(model, Truncates):
        return np.zeros(2, int)
    return np.array([sum(model.seen.values()), sum(model.cut.values())])
