"""Bilingual lexicon induction (joint-align, section 4.1; MUSE; Schuster et al. 2019).

A source word of a test dictionary is right when one of its translations is among the nearest words
of the target language. Every figure has two versions. One is over all source words: a word without
a vector is predicted to be its own translation, and a word without a translation among the
candidates is wrong (joint-align, appendix B). The other is over the covered words, as in MUSE's
script.
"""

from __future__ import annotations

import itertools
import collections
import dataclasses
import functools
from typing import Any, Iterator, Mapping

from absl import logging
import numpy as np

from clwe_jax.align import csls, ranks
from clwe_jax.encoders.encode import Layer, select_layer
from clwe_jax.encoders.protocols import Encoder, WordSample, WordSpace
from clwe_jax.evaluate import bli_page, tags
from clwe_jax.evaluate.agreement import Outcomes, key_texts, number_texts
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.induced import TOPS, WordInduction, Places, precision
from clwe_jax.options import section
from clwe_jax.options.evaluators import BliEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.dictionary import test_dictionaries
from clwe_jax.text.dictionary.test_dictionaries import TestSet

# Method -> suffix of its metrics; method -> name of its retrieval.
SUFFIXES = {"nn": "", "csls": "_csls", "inverted_softmax": "_softmax"}
_RETRIEVAL = {"nn": "cosine", "csls": "csls", "inverted_softmax": "inverted_softmax"}
_LAYER_TOPS = (1, 5)  # the k of every layer's P@k
_DEPTH = max(TOPS)  # nearest words retrieved for each source word


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class LexiconInduction(ByIdentity, BliEvaluation):
    """P@k on test dictionaries, for the words of any encoder.

    The candidates are the frequent words of the target language; words of the test dictionary are
    never added to them.

    Attributes:
      details: one row for each source word of the last run, as a table of errors shows it.
      outcomes: of the last run, path of a metric p@1* or p@1*_distinct -> whether each of its source
        words is right, [W]; words of one English word share its number.
    """

    headlines = bli_page.HEADLINES
    section = staticmethod(bli_page.section)
    describe_tests = staticmethod(bli_page.describe_tests)

    context: Context
    outcomes: dict[str, Outcomes] = dataclasses.field(default_factory=dict, init=False)
    details: list[Mapping[str, Any]] = dataclasses.field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for method in self._methods:
            if method not in SUFFIXES:
                raise ValueError(
                    f"{self.context.option(self.name, 'methods')}={self.methods!r}: unknown method "
                    f"{method!r}. {section.nearest(method, SUFFIXES)}"
                )
        if not self._methods:
            option = self.context.option(self.name, "methods")
            raise ValueError(f"{option} is empty. Known: {', '.join(SUFFIXES)}")
        if self.context.layers is not None:
            try:
                select_layer(np.zeros((self.context.layers, 1)), self.layer)
            except ValueError as error:
                raise ValueError(self.context.option(self.name, str(error))) from error
        if self.has_data:
            _ = self._tests  # an error in the folder is raised before training starts

    @functools.cached_property
    def _methods(self) -> list[str]:
        return [name.strip() for name in self.methods.split(",") if name.strip()]

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields bli/{src}-{trg}/{metric} as fractions. A star is a score: '' (cosine), '_csls' or '_softmax'.

        p@1*, p@5*, p@10*, mrr*: over all source words. A source word without a vector is predicted
          to be its own translation. mrr counts a translation beyond the ten nearest words as 0.
        ...*_covered: over the words that have a vector and a translation among the candidates.
        ...*_distinct, *_distinct_covered: without the pairs of the test dictionary whose two words
          are the same string.
        p@1*_low, p@1*_high, ...: 95% intervals over words (`statistics.wilson_interval`).
        coverage, coverage_distinct: shares of covered words; words, words_distinct: numbers of
          words; pairs: number of pairs; oov: share of source words without a vector; isolated: share of
          source words that do not occur in the text sample and were encoded alone (contextual words only).
        chance: one over the number of candidates.
        frequency/{first}-{last}/p@1*, .../words: figures by frequency rank.
        tag/{tag}/p@1*, .../words: figures by part of speech.
        layer{k}/p@1*, layer{k}/p@5*: figures of every layer, where a model has several.

        It also yields bli/{metric}, the mean over the pairs, of figures that every pair has.
        """
        self.details.clear()
        self.outcomes.clear()
        shared = csls.SharedProducts([_RETRIEVAL[method] for method in self._methods])
        limits = self.occurrences, self.min_count, self.max_words or None
        sample = WordSample(self.context.sample, *limits)
        figures: dict[str, float] = {}
        spaces: dict[str, tuple[Encoder, WordSpace]] = {}
        empty = []
        for place, test in enumerate(self._tests):
            view = model.pairwise_space(test.source, test.target)
            for language in (test.source, test.target):
                # Another view is another space: static vectors may have one for each pair.
                if language not in spaces or spaces[language][0] is not view:
                    spaces[language] = view, self._space(view, language, sample)
            source = spaces[test.source][1]
            target = spaces[test.target][1]
            if source.frequent_count and target.frequent_count:
                for metric, value in self._measure(test, source, target, shared):
                    figures[f"bli/{test.name}/{metric}"] = value
                    yield f"bli/{test.name}/{metric}", value
            else:
                empty.append(test.name)
            # Vectors of a language that no later test needs leave the memory.
            later: set[str] = set()
            for later_test in self._tests[place + 1 :]:
                later |= {later_test.source, later_test.target}
            spaces = {language: space for language, space in spaces.items() if language in later}
        if empty:
            logging.warning(
                "%s: left out, as the text sample has no words that occur %d times in one of the "
                "languages: %s",
                self.data,
                self.min_count,
                ", ".join(empty),
            )
        yield from means(figures).items()

    def _space(self, model: Encoder, language: str, sample: WordSample) -> WordSpace:
        # The words of all its tests, so that one space serves them.
        words = set().union(*(t.entries for t in self._tests if t.source == language))
        return model.vocabulary(language, sorted(words), sample)

    def _measure(
        self, test: TestSet, source: WordSpace, target: WordSpace, shared: csls.SharedProducts
    ) -> Iterator[tuple[str, float]]:
        tags_of: Mapping[str, str] = {}
        if self.tags:
            option = self.context.option(self.name, "tags")
            tags_of = tags.read(self.tags, test.source, self.context.normalizer, option)
        induced = WordInduction(test, source, target, tags_of)
        all_places = None
        items = number_texts(_shared_words(test))
        # Systems spell words in their own ways.
        keys = key_texts(map(str.casefold, test.entries))
        for method in self._methods:
            places = self._places(method, induced, source, target, self.layer, shared)
            if all_places is None or method == "csls":
                all_places = places.all
            path = f"bli/{test.name}/p@1{SUFFIXES[method]}"
            self.outcomes[path] = Outcomes(places.all == 1, items, keys)
            distinct = induced.has_other_spelling
            if distinct.any():
                is_right = places.distinct[distinct] == 1
                found = Outcomes(is_right, items[distinct], keys[distinct])
                self.outcomes[f"{path}_distinct"] = found
            yield from induced.figures(SUFFIXES[method], places)
        yield from induced.counts()
        yield "chance", 1 / target.frequent_count
        layers = source.vectors.shape[1]
        for layer in range(layers) if layers > 1 else ():
            for method in self._methods:
                places = self._places(method, induced, source, target, layer, shared)
                for top in _LAYER_TOPS:
                    yield f"layer{layer}/p@{top}{SUFFIXES[method]}", precision(places.all, top)
        self.details.extend(induced.rows(*self._find_nearest(induced, source, target), all_places))

    def _places(
        self,
        method: str,
        induced: WordInduction,
        source: WordSpace,
        target: WordSpace,
        layer: Layer,
        shared: csls.SharedProducts,
    ) -> Places:
        """The places of the right candidates by a method."""
        lines, answers = induced.questions
        queries = select_layer(source.vectors, layer)
        ranked = ranks.ranks_of_answers(
            queries[induced.source_rows[induced.has_vector][lines]],
            select_layer(target.vectors[: target.frequent_count], layer),
            answers,
            min(_DEPTH, target.frequent_count),
            _RETRIEVAL[method],
            pool=queries[: source.frequent_count],
            neighbourhood=self.neighbourhood,
            beta=self.beta,
            shared=shared,
        )
        return induced.places(ranked)

    def _find_nearest(
        self, induced: WordInduction, source: WordSpace, target: WordSpace
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nearest candidates, by cosine, of the source words that have a vector, and their scores."""
        depth = min(_DEPTH, target.frequent_count)
        rows = induced.source_rows[induced.has_vector]
        if not len(rows):
            return np.zeros((0, depth), int), np.zeros((0, depth), np.float32)
        indices, scores = csls.nearest(
            select_layer(source.vectors, self.layer)[rows],
            select_layer(target.vectors[: target.frequent_count], self.layer),
            depth,
        )
        return np.asarray(indices), np.asarray(scores)

    @functools.cached_property
    def _tests(self) -> list[TestSet]:
        """The test sets; without `context.pairs`, sets that share a language follow each other."""
        context = self.context
        option = context.option(self.name, "data")
        tests = test_dictionaries.find(
            self.data, context.languages, context.normalizer, context.pairs, option
        )
        if context.pairs:
            return tests
        uses = collections.Counter(itertools.chain(*((t.source, t.target) for t in tests)))

        def order(test: TestSet) -> tuple[list[str], str]:
            shared = sorted((test.source, test.target), key=lambda lang: (-uses[lang], lang))
            return shared, test.name

        return sorted(tests, key=order)


def _shared_words(test: TestSet) -> Iterator[str]:
    """The English word of each source word, by which test sets of several languages depend on each other."""
    for word, gold in test.entries.items():
        yield min(gold) if test.target == "en" and gold else word


def means(figures: Mapping[str, float]) -> dict[str, float]:
    """'bli/{metric}' -> the mean of 'bli/{pair}/{metric}' over the pairs, if every pair has it.

    Intervals, counts, layers and groups of words are left out.
    """
    pairs = set()
    by_metric = collections.defaultdict(list)
    for name, value in figures.items():
        _, pair, metric = name.split("/", 2)
        pairs.add(pair)
        is_left_out = metric.startswith(("words", "pairs")) or metric.endswith(("_low", "_high"))
        if "/" not in metric and not is_left_out:
            by_metric[f"bli/{metric}"].append(value)
    return {
        m: float(np.mean(values)) for m, values in by_metric.items() if len(values) == len(pairs)
    }
