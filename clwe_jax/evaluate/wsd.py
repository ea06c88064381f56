"""Word sense disambiguation by nearest neighbours (Raganato et al. 2017; Peters et al. 2018).

A sense is the mean of the contextual representations of its occurrences in annotated text. A test
instance gets the sense with the largest cosine, either among all senses or among the senses of its
lemma and part of speech. In the second case a lemma that is not in the annotated text gets its
first sense in WordNet (multi-sense cross-lingual alignment, section 4.1 and Table 2).
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.encoders.batching import Row
from clwe_jax.encoders.characters import encoder_of
from clwe_jax.encoders.protocols import HasObjective
from clwe_jax.evaluate.context import Context, language_model
from clwe_jax.evaluate.wsd_files import AnnotatedCorpus, first_senses, read
from clwe_jax.options.evaluators import WsdEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.unpacking import list_folder, strip_compression
from clwe_jax.report.headline import Headline

# Sentences as lists of words -> [words, layers, D] of each sentence, without words that were cut.
WordEncoder = Callable[[Sequence[Sequence[str]]], Iterable[np.ndarray]]

_AT_ONCE = 512  # sentences encoded, and test instances compared with all senses, at once
_ROUNDS = 1_000  # resamplings of the bootstrap


def instance_vectors(corpus: AnnotatedCorpus, encode: WordEncoder) -> Iterator[np.ndarray | None]:
    """Yields the mean [layers, D] over the words of each instance; None if they were cut off.

    Raises:
      ValueError: the encoder returned a different number of sentences.
    """
    instances = iter(corpus.instances)
    instance = next(instances, None)
    number = -1
    for number, words in enumerate(encode(corpus.sentences)):
        while instance is not None and instance.sentence == number:
            instance_words = np.asarray(words[instance.start : instance.stop], np.float32)
            yield instance_words.mean(0) if len(instance_words) else None
            instance = next(instances, None)
    if number + 1 != len(corpus.sentences):
        raise ValueError(
            f"{corpus.name}: the encoder returned {number + 1} sentences, expected "
            f"{len(corpus.sentences)}"
        )


@dataclasses.dataclass(frozen=True)
class SenseVectors:
    """The senses of annotated text.

    Attributes:
      keys: K sense keys.
      vectors: unit mean representations, float32 [layers, K, D].
      lemmas: (lemma, part of speech) -> rows of its senses.
      counts: numbers of occurrences, int [K].
    """

    keys: list[str]
    vectors: np.ndarray
    lemmas: dict[tuple[str, str], list[int]]
    counts: np.ndarray


def train(corpus: AnnotatedCorpus, encode: WordEncoder) -> SenseVectors:
    """The mean representation of every sense of annotated text.

    An instance with several keys counts for each of them.

    Raises:
      ValueError: no instance has a key and a representation.
    """
    sums: dict[str, np.ndarray] = {}
    counts: collections.Counter[str] = collections.Counter()
    lemmas: dict[tuple[str, str], dict[str, None]] = {}
    cut_count = 0
    for instance, vector in zip(corpus.instances, instance_vectors(corpus, encode), strict=True):
        if vector is None:
            cut_count += 1
            continue
        for key in instance.keys:
            if key in sums:
                sums[key] += vector
            else:
                sums[key] = vector.astype(np.float64)
            counts[key] += 1
            lemmas.setdefault((instance.lemma, instance.pos), {})[key] = None
    if not sums:
        raise ValueError(
            f"{corpus.name} has no sense-annotated word that the encoder reads: set "
            "the evaluation's option `training` to annotated text"
        )
    if cut_count:
        logging.warning(
            "%s: %d of %d instances are left out: they stand beyond the encoder's longest sentence",
            corpus.name,
            cut_count,
            len(corpus.instances),
        )
    keys = list(sums)
    rows = {key: row for row, key in enumerate(keys)}
    # Sums serve as means, because the vectors are normalised.
    vectors = np.stack([sums[key] for key in keys], axis=1).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return SenseVectors(
        keys=keys,
        vectors=vectors,
        lemmas={lemma: [rows[key] for key in lemma_keys] for lemma, lemma_keys in lemmas.items()},
        counts=np.array([counts[key] for key in keys]),
    )


def predict(
    senses: SenseVectors,
    corpus: AnnotatedCorpus,
    encode: WordEncoder,
    first: Mapping[tuple[str, str], str],
) -> tuple[list[list[str | None]], list[list[str | None]], int]:
    """The nearest sense of every instance, in every layer.

    Args:
      senses: the result of `train`.
      corpus: text to annotate.
      first: (lemma, part of speech) -> first sense, for lemmas that are not in `senses` and for
        instances without a representation.

    Returns:
      Keys [layers][instances] of the nearest of all senses; the same of the nearest sense of the
      lemma, None for an unknown lemma; the number of instances that got the first sense.
    """
    vectors = list(instance_vectors(corpus, encode))
    encoded = [row for row, vector in enumerate(vectors) if vector is not None]
    layers = senses.vectors.shape[0]
    fallback = [first.get((i.lemma, i.pos)) for i in corpus.instances]
    everywhere = [list(fallback) for _ in range(layers)]
    restricted = [list(fallback) for _ in range(layers)]
    senses_of = [senses.lemmas.get((i.lemma, i.pos)) for i in corpus.instances]
    for start in range(0, len(encoded), _AT_ONCE):
        part = encoded[start : start + _AT_ONCE]
        for layer in range(layers):
            # Not of unit length: a query's length does not change which sense is nearest.
            queries = np.stack([vectors[row][layer] for row in part])
            scores = queries @ senses.vectors[layer].T
            for row, score in zip(part, scores, strict=True):
                everywhere[layer][row] = senses.keys[int(score.argmax())]
                if senses_of[row]:
                    best = senses_of[row][int(score[senses_of[row]].argmax())]
                    restricted[layer][row] = senses.keys[best]
    with_vector = set(encoded)
    backed_off = sum(not senses_of[row] or row not in with_vector for row in range(len(vectors)))
    return everywhere, restricted, backed_off


def f1(predicted: Sequence[str | None], gold: Sequence[Sequence[str]]) -> float:
    """F1 of the precision over answered instances and the recall over all instances.

    Args:
      predicted: key of each instance; None: no answer.
      gold: right keys of each instance.
    """
    right = sum(key in keys for key, keys in zip(predicted, gold, strict=True))
    answered = sum(key is not None for key in predicted)
    # 2PR / (P + R) with P = right / answered and R = right / len(gold).
    return 2 * right / (answered + len(gold))


def f1_interval(
    predicted: Sequence[str | None], gold: Sequence[Sequence[str]]
) -> tuple[float, float]:
    """The 95% percentile interval of `f1` over resamplings of the instances (Efron 1979)."""
    is_right = np.array([key in keys for key, keys in zip(predicted, gold, strict=True)])
    answered = np.array([key is not None for key in predicted])
    draw = np.random.default_rng(0)
    samples = np.empty(_ROUNDS)
    for index in range(_ROUNDS):
        rows = draw.integers(0, len(gold), len(gold))
        samples[index] = 2 * is_right[rows].sum() / (answered[rows].sum() + len(gold))
    low, high = np.quantile(samples, [0.025, 0.975])
    return float(low), float(high)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordSenseDisambiguation(ByIdentity, WsdEvaluation):
    """Table 2: senses learned from annotated text (A14), and predicted in the test sets."""

    headlines = (Headline("wsd/mean/f1", "Word sense disambiguation, F1"),)

    context: Context

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.has_data:
            return
        # What is missing is named before training starts.
        expected = {
            "training": "annotated text NAME.data.xml",
            "wordnet": "a table of senses, or ''",
        }
        for field, what in expected.items():
            path = getattr(self, field)
            if path and not os.path.isfile(path):
                option = self.context.option(self.name, field)
                raise FileNotFoundError(f"There is no file {option}={path!r}: expected {what}")
        for path in (self.training, *self._sets):
            read(path, max_sentences=1)
        if self.wordnet:
            _ = self._first_senses
        if self.context.tokenizer is not None:
            self.context.tokenizer.language_id(self.language)

    @property
    def _sets(self) -> list[str]:
        """The annotated files of the folder of tests, sorted by name."""
        listed = list_folder(self.tests) if os.path.isdir(self.tests) else []
        names = [name for name in listed if strip_compression(name).endswith(".data.xml")]
        if not names:
            raise FileNotFoundError(
                f"{self.context.option(self.name, 'tests')}={self.tests!r}: expected a folder with files "
                "NAME.data.xml and NAME.gold.key.txt"
            )
        return [os.path.join(self.tests, name) for name in names]

    @functools.cached_property
    def _first_senses(self) -> dict[tuple[str, str], str]:
        return first_senses(self.wordnet)

    @property
    def has_data(self) -> bool:
        """Whether annotated text is named."""
        return bool(self.training)

    def run(self, model: HasObjective) -> Iterator[tuple[str, float]]:
        """Yields the figures of `measure`.

        Raises:
          ValueError: a model without an objective.
        """
        model = language_model(model, "wsd")
        yield from self.measure(lambda sentences: self._encode(model, sentences))

    def _encode(
        self, model: HasObjective, sentences: Sequence[Sequence[str]]
    ) -> Iterator[np.ndarray]:
        """Yields [words, layers + 1, D] of each sentence of given words, normalised one by one."""
        encoder = encoder_of(model.objective, model.tokenizer, batch_size=self.batch_size)
        number = model.tokenizer.language_id(self.language)
        room = encoder.max_length - 2
        normalise = model.tokenizer.normalizer
        variables = model.variables
        shape = encoder.shape(variables)
        for start in range(0, len(sentences), _AT_ONCE):
            rows = []
            for words in sentences[start : start + _AT_ONCE]:
                # A word that is normalised to nothing stays: instances name words by their places.
                normalised = [normalise(word, self.language) or word for word in words]
                ids, groups = encoder.tokenizer.encode_words(normalised)
                rows.append(Row(ids[:room], groups[:room], number))
            for row, vectors in zip(rows, encoder.means(variables, rows)):
                yield vectors if len(row.ids) else np.zeros((0, *shape), np.float32)

    def measure(self, encode: WordEncoder) -> Iterator[tuple[str, float]]:
        """Yields metrics, as fractions, for each set and for 'mean', the mean over the sets:

        wsd/{set}/layer{k}/f1: nearest sense of the lemma, with back-off to the first sense.
        wsd/{set}/layer{k}/f1_all: nearest of all senses.
        wsd/{set}/f1, wsd/{set}/f1_all: figure of the layer that is best on the development set by
          the same metric; with _low and _high, the ends of the 95% interval (not for 'mean').
        wsd/{set}/first_sense: F1 of the first sense alone; wsd/{set}/back_off: share of instances
          that got the first sense.
        wsd/layer: the selected layer for f1; wsd/senses: number of learned senses.
        """
        corpus = read(self.training, max_sentences=self.max_sentences)
        senses = train(corpus, encode)
        yield "wsd/senses", float(len(senses.keys))
        first_sense = self._first_senses if self.wordnet else _most_frequent(senses)
        # kind -> set -> [layers]
        scores: dict[str, dict[str, list[float]]] = {"f1": {}, "f1_all": {}}
        answers: dict[tuple[str, str], tuple[list[list[str | None]], list[Sequence[str]]]] = {}
        singles: dict[str, dict[str, float]] = {"first_sense": {}, "back_off": {}}
        for path in self._sets:
            test = read(path)
            gold = [instance.keys for instance in test.instances]
            everywhere, restricted, backed_off = predict(senses, test, encode, first_sense)
            for kind, by_layer in (("f1", restricted), ("f1_all", everywhere)):
                scores[kind][test.name] = [f1(layer, gold) for layer in by_layer]
                answers[kind, test.name] = by_layer, gold
            of_lemma = [first_sense.get((i.lemma, i.pos)) for i in test.instances]
            singles["first_sense"][test.name] = f1(of_lemma, gold)
            singles["back_off"][test.name] = backed_off / len(gold)
        for kind, by_set in scores.items():
            # The test sets choose the layer only where the development set is not among them.
            judges = [self.development] if self.development in by_set else list(by_set)
            best = int(np.mean([by_set[name] for name in judges], axis=0).argmax())
            if kind == "f1":
                yield "wsd/layer", float(best)
            for name, layers in by_set.items():
                yield from (
                    (f"wsd/{name}/layer{k}/{kind}", value) for k, value in enumerate(layers)
                )
                yield f"wsd/{name}/{kind}", layers[best]
                by_layer, gold = answers[kind, name]
                low, high = f1_interval(by_layer[best], gold)
                yield f"wsd/{name}/{kind}_low", low
                yield f"wsd/{name}/{kind}_high", high
            means = np.mean(list(by_set.values()), axis=0)
            yield from ((f"wsd/mean/layer{k}/{kind}", float(v)) for k, v in enumerate(means))
            yield f"wsd/mean/{kind}", float(means[best])
        for kind, values in singles.items():
            yield from ((f"wsd/{name}/{kind}", value) for name, value in values.items())
            yield f"wsd/mean/{kind}", float(np.mean(list(values.values())))


def _most_frequent(senses: SenseVectors) -> dict[tuple[str, str], str]:
    return {
        lemma: senses.keys[rows[int(senses.counts[rows].argmax())]]
        for lemma, rows in senses.lemmas.items()
    }
