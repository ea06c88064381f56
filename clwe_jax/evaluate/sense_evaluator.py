"""Measures senses, translations and representations of words whose concepts are known."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any, Iterator, Mapping, Sequence

import jax
import numpy as np
from absl import logging

from clwe_jax import pocket
from clwe_jax.align import search
from clwe_jax.encoders import senses as sense_encoder
from clwe_jax.encoders.characters import encoder_of, reads_characters
from clwe_jax.encoders.encode import RowEncoder
from clwe_jax.encoders.protocols import HasObjective
from clwe_jax.encoders.senses import SenseEncoder, WordInContext
from clwe_jax.encoders.sharded_call import ShardedCall
from clwe_jax.evaluate import sense_scores as scores
from clwe_jax.evaluate.context import Context, language_model
from clwe_jax.models.senses import selection, translation
from clwe_jax.models.senses.state import SenseState, statistics
from clwe_jax.options.evaluators import SensesEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.pocket import gold
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.report.headline import Headline
from clwe_jax.types import Array, Objective, Variables

_SEED = 0  # of the sentences: equal for all runs, as those of other test sets

Word = tuple[str, str]  # language, word


@dataclasses.dataclass(frozen=True)
class Occurrence:
    """An occurrence of an ambiguous word in a sentence.

    Attributes:
      word: language and word.
      meant: concept of the occurrence.
      words: words of the sentence.
      sentence: number of the sentence.
      place: index of the word in the sentence.
    """

    word: Word
    meant: str
    words: Sequence[str]
    sentence: int
    place: int


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SenseEvaluator(ByIdentity, SensesEvaluation):
    """Purity of the assigned senses, and accuracy of the chosen translations' senses (A4, A8).

    The data are held-out sentences of the embedded world, where the concept of every ambiguous word
    is known.
    """

    headlines = (
        Headline("senses/nearest", "Senses by the nearest mean representation"),
        Headline("senses/purity", "Purity of the assigned senses"),
    )

    context: Context
    # The measurements of the latest objective; empty before the first run.
    _measured: list[SenseFigures] = dataclasses.field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        option = self.context.option(self.name, "data")
        if self.data not in ("pocket", ""):
            raise ValueError(
                f"{option}={self.data!r}: expected 'pocket', whose senses are "
                "known, or '' to leave the evaluation out"
            )
        absent = [name for name in self.context.languages if name not in pocket.LANGUAGES]
        if self.data and absent:
            raise ValueError(
                f"{option}='pocket': the embedded world does not speak {', '.join(absent)}. "
                f"--{option}='' leaves the evaluation out"
            )

    def run(self, model: HasObjective) -> Iterator[tuple[str, float]]:
        """Yields the figures of `SenseFigures.run`.

        Raises:
          ValueError: a model without an objective.
        """
        model = language_model(model, "senses")
        # Evaluations of one objective share the sentences and the compiled programs.
        if not self._measured or self._measured[0].objective is not model.objective:
            self._measured[:] = [SenseFigures(self, model.objective, model.tokenizer)]
        yield from self._measured[0].run(model.variables)


@dataclasses.dataclass(frozen=True, eq=False)
class SenseFigures:
    """The measurements of a `SenseEvaluator` for one objective."""

    options: SenseEvaluator
    objective: Objective  # with senses (`types.HasSenses`)
    tokenizer: Tokenizer

    def run(self, variables: Variables) -> Iterator[tuple[str, float]]:
        """Yields metrics, as fractions unless they are counts or nats:

        senses/{direction}/{metric}: `SenseScores` of the ambiguous words, and
          `models.senses.state.statistics` of all words.
        senses/{metric}: means of these over directions; senses/{language}/purity.
        senses/{direction}/translation_{metric}: `TranslationScores`; senses/translation_{metric}.
        senses/both/translation_{metric}: the same for the translation with the largest mean of the
          directions' cosines, and its sense with the largest cosine of any direction;
          senses/{language}/translation_{metric}: the same for the words of a language.
        senses/nearest/layer{k}: accuracy of the nearest mean representation of a word's concepts,
          with means over one half of the sentences and predictions for the other half.
        senses/nearest: accuracy of the best layer; senses/{direction}/nearest: accuracy of the best
          layer of one of several directions. It does not bound purity, because several senses can
          have one concept.
        """
        by_metric: dict[str, list[float]] = {}
        words = [x.word for x in self._occurrences]
        meant = [x.meant for x in self._occurrences]
        hidden_states = self._read(variables)
        # The input of sense selection may be the word's own unmasked representation.
        is_own = reads_characters(self.objective) and self.objective.sense_input == "own"
        vectors = hidden_states[:, -1] if is_own else self._inputs(variables, self._occurrences)
        states = variables.get("senses", {})
        choices: dict[str, tuple[np.ndarray, dict]] = {}  # cosines, meanings of slots
        numbers = self._ids(self._occurrences)
        labelled = None
        if "translations" in variables and states:
            labelled = self._inputs(variables, self._labelled_occurrences)
            number = self.tokenizer.language_id
            languages = np.array([number(x.word[0]) for x in self._occurrences])
            ids, language_ids = _candidates(variables["translations"]["ids"], numbers, languages)
        for direction, part in self.objective.directions.items():
            state = states.get(direction)
            h = vectors[:, part]
            slots = np.zeros(len(words), np.int32)
            if state is not None:
                slots = np.asarray(_assign(state, {"words": numbers, "h": h}))
            sense_scores = scores.score(words, slots, meant)
            figures = sense_scores.metrics()
            if state is not None:
                in_use = jax.device_get(_statistics(state, {}))
                figures.update({name: float(value) for name, value in in_use.items()})
            if labelled is not None:
                slot_meanings = self._meanings(state, labelled[:, part])
                batch = {"ids": ids, "into": language_ids, "h": h}
                cosines = _translate(state, batch, config=self.objective.senses)
                choices[direction] = np.asarray(cosines), slot_meanings
                choice = {direction: choices[direction]}
                figures.update(self._translations(ids, language_ids, choice))
            for name, value in figures.items():
                by_metric.setdefault(name, []).append(value)
                yield f"senses/{direction}/{name}", value
            for language in self.tokenizer.languages:
                words_of_language = [w for w in sense_scores.by_word if w[0] == language]
                if words_of_language:
                    counts = np.array([words.count(w) for w in words_of_language])
                    values = np.array([sense_scores.by_word[w] for w in words_of_language])
                    value = float(counts @ values / counts.sum())
                    by_metric.setdefault(f"{language}/purity", []).append(value)
        for name, values in by_metric.items():
            yield f"senses/{name}", float(np.mean(values))
        if len(choices) > 1:
            for name, value in self._translations(ids, language_ids, choices).items():
                yield f"senses/both/{name}", value
        if choices:
            for language in self.tokenizer.languages:
                for name, value in self._translations(ids, language_ids, choices, language).items():
                    yield f"senses/{language}/{name}", value
        yield from self._nearest(hidden_states, words, meant)

    def _meanings(self, state: SenseState, h: np.ndarray) -> dict[tuple[Word, int], str]:
        """The meanings of one direction's senses, from the labelled occurrences."""
        slots = np.asarray(_assign(state, {"words": self._ids(self._labelled_occurrences), "h": h}))
        words = [x.word for x in self._labelled_occurrences]
        return scores.meanings(words, slots, [x.meant for x in self._labelled_occurrences])

    def _translations(
        self,
        ids: np.ndarray,
        language_ids: np.ndarray,
        choices: Mapping[str, tuple[np.ndarray, dict]],
        language: str | None = None,
    ) -> dict[str, float]:
        """Scores of the best translations by the cosines of one or more directions.

        Args:
          ids, language_ids: ids of the translations and of their languages, int [N, T].
          choices: direction -> cosines [N, T, S] and the meanings of its slots.
          language: language of the scored words; None: all languages.

        Returns:
          Metric -> figure; empty where no such word has a translation, of a language with a warning.
        """
        cosines = np.stack([fit for fit, _ in choices.values()], 1)  # [N, directions, T, S]
        # Of a translation the best sense by direction, [N, directions, T], and their mean: [N].
        best = cosines.max(-1).mean(1).argmax(-1)
        # [N, directions, S]
        of_best = np.take_along_axis(cosines, best[:, None, None, None], 2)[:, :, 0]
        sense = of_best.reshape(len(ids), -1).argmax(-1)  # direction and slot as one number
        pieces = self.tokenizer.vocabulary.pieces
        languages = self.tokenizer.languages
        candidates = [
            [(languages[to], pieces[number]) for number, to in zip(*row) if number >= 0]
            for row in zip(ids, language_ids)
        ]
        translations = [
            (options[word], int(slot)) if options else None
            for options, word, slot in zip(candidates, best, sense)
        ]
        slots = cosines.shape[-1]
        # Directions are numbered as in `sense`, slots within them.
        slot_meanings = {}
        for number, (_, meanings) in enumerate(choices.values()):
            for (word, slot), concept in meanings.items():
                slot_meanings[word, number * slots + slot] = concept
        meant = [x.meant if language in (None, x.word[0]) else None for x in self._occurrences]
        accuracies = scores.score_translations(
            translations, meant, self._concepts, self._only, slot_meanings, candidates
        )
        if accuracies is None:
            if language:
                logging.warning(
                    "senses of %s: no translation is scored: the dictionary covers no ambiguous word",
                    language,
                )
            return {}
        return {
            f"translation_{name}": float(x) for name, x in dataclasses.asdict(accuracies).items()
        }

    def _nearest(
        self, vectors: np.ndarray, words: list[Word], meant: list[str]
    ) -> Iterator[tuple[str, float]]:
        """Accuracies of the nearest mean representation of a word's concepts."""
        half = np.array([x.sentence % 2 == 0 for x in self._occurrences])
        directions = self.objective.directions if len(self.objective.directions) > 1 else {}
        for name, part in {"": slice(None), **directions}.items():
            best = 0.0
            for layer in range(vectors.shape[1]):
                unit = np.asarray(search.unit(vectors[:, layer, part]))
                hits, total = nearest_sense(unit, words, meant, half)
                if not total:
                    return
                if not name:
                    yield f"senses/nearest/layer{layer}", hits / total
                best = max(best, hits / total)
            yield f"senses/{name}/nearest" if name else "senses/nearest", best

    @property
    def _domains(self) -> Sequence[str]:
        return self.options.context.domains

    @functools.cached_property
    def _gold(self) -> list[gold.GoldSentence]:
        count = self.options.sentences
        return gold.gold_sentences(
            self.tokenizer.languages, self._domains, _SEED, count, self.tokenizer
        )

    @functools.cached_property
    def _occurrences(self) -> list[Occurrence]:
        return self._occurrences_in(self._gold)

    @functools.cached_property
    def _labelled_occurrences(self) -> list[Occurrence]:
        """The occurrences that label the meanings of senses."""
        options = self._domains, _SEED, self.options.labelled, self.tokenizer
        languages = self.tokenizer.languages
        labelled = (gold.occurrences(language, *options) for language in languages)
        return self._occurrences_in(list(itertools.chain.from_iterable(labelled)))

    def _occurrences_in(self, sentences: Sequence[gold.GoldSentence]) -> list[Occurrence]:
        room = self._encoder.max_length - 2
        occurrences = []
        for number, sentence in enumerate(sentences):
            senses = zip(sentence.words[:room], sentence.senses)
            occurrences += [
                Occurrence((sentence.language, word), sense, sentence.words, number, place)
                for place, (word, sense) in enumerate(senses)
                if sense is not None
            ]
        return occurrences

    def _ids(self, occurrences: Sequence[Occurrence]) -> np.ndarray:
        vocabulary = self.tokenizer.vocabulary
        return np.array([vocabulary.id(x.word[1]) for x in occurrences], np.int32)

    @functools.cached_property
    def _concepts(self) -> Mapping[Word, tuple[str, ...]]:
        concepts_of = {}
        for language in self.tokenizer.languages:
            for word, concepts in pocket.concepts(language).items():
                concepts_of[language, word] = concepts
        return concepts_of

    @functools.cached_property
    def _only(self) -> Mapping[Word, str]:
        """The concepts of the words that have a single concept in text about the domains."""
        only = {word: names[0] for word, names in self._concepts.items() if len(names) == 1}
        for language in self.tokenizer.languages:
            for word, shares in gold.shares(language, tuple(self._domains)).items():
                if len(shares) == 1:
                    only[language, word] = next(iter(shares))
        return only

    @functools.cached_property
    def _encoder(self) -> RowEncoder:
        return encoder_of(self.objective, self.tokenizer, batch_size=self.options.batch_size)

    @functools.cached_property
    def _sense_encoder(self) -> SenseEncoder:
        return SenseEncoder(self.objective, self.tokenizer, self.options.batch_size)

    def _inputs(self, variables: Variables, occurrences: Sequence[Occurrence]) -> np.ndarray:
        """The inputs of sense selection, float32 [N, D]."""
        return self._sense_encoder.encode(variables, _places(occurrences))

    def _read(self, variables: Variables) -> np.ndarray:
        """The words' unmasked representations, float32 [N, layers + 1, D]."""
        rows = sense_encoder.rows(self._encoder, _places(self._occurrences))
        return np.stack([word_vectors[0] for word_vectors in self._encoder.means(variables, rows)])


def _places(occurrences: Sequence[Occurrence]) -> list[WordInContext]:
    return [WordInContext(x.words, x.place, x.word[0]) for x in occurrences]


def _candidates(
    translations: Array, numbers: np.ndarray, languages: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The translations of words into all other languages.

    Args:
      translations: word ids, int [V, L, T], padded with -1.
      numbers, languages: word ids and language ids, int [N].

    Returns:
      Translations, int [N, T], padded with -1; their languages, int [N, T].
    """
    ids = np.array(_rows(translations, {"rows": numbers}))  # [N, L, T]
    ids[np.arange(len(ids)), languages] = -1
    language_ids = np.broadcast_to(np.arange(ids.shape[1])[:, None], ids.shape)
    language_ids = language_ids.reshape(len(ids), -1)
    ids = ids.reshape(len(ids), -1)
    # Padding goes to the end: a place in a row is one in its list of real candidates too.
    order = np.argsort(ids < 0, axis=1, kind="stable")
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(language_ids, order, axis=1)


def nearest_sense(
    vectors: np.ndarray, words: Sequence[Any], meant: Sequence[Any], is_labelled: np.ndarray
) -> tuple[int, int]:
    """Predicts concepts by the nearest mean vector of a word's concepts.

    Args:
      vectors: unit vectors, [N, D].
      words, meant: word and concept of each occurrence.
      is_labelled: bool [N], the averaged occurrences; the concepts of the others are predicted if their
        word has a mean.

    Returns:
      The number of right predictions and the number of predictions.
    """
    sums: dict[Any, dict[Any, np.ndarray]] = {}
    for vector, word, sense, has_label in zip(vectors, words, meant, is_labelled):
        if has_label:
            of_word = sums.setdefault(word, {})
            of_word[sense] = of_word.get(sense, 0) + vector
    hits = total = 0
    for vector, word, sense, has_label in zip(vectors, words, meant, is_labelled):
        if has_label or word not in sums:
            continue
        senses_of = list(sums[word])
        means = np.stack([sums[word][name] for name in senses_of])
        means /= np.linalg.norm(means, axis=1, keepdims=True) + 1e-12
        hits += senses_of[int((means @ vector).argmax())] == sense
        total += 1
    return hits, total


_assign = ShardedCall(lambda state, batch: selection.assign(state, batch["words"], batch["h"]))
_translate = ShardedCall(
    lambda state, batch, config: translation.cosines(
        state, config, batch["ids"], batch["into"], batch["h"]
    ),
    static_argnames=("config",),
)
_statistics = ShardedCall(lambda state, _: statistics(state))
_rows = ShardedCall(lambda table, batch: table[batch["rows"]])
