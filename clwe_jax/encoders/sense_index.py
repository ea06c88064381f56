"""The senses of a model's words as arrays: uses, neighbours and cosines with contexts."""

from __future__ import annotations

import dataclasses
import functools
from typing import Iterable, Mapping, NamedTuple, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax.align import search
from clwe_jax.encoders.senses import SenseEncoder, WordInContext
from clwe_jax.models.senses import selection, translation
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import WordVocabulary
from clwe_jax.types import Objective, Variables

_TINY = 1e-12
_MIN_USES = 50  # least uses of an ambiguous word in a direction
_cosines = jax.jit(selection.cosines)
_translation_cosines = jax.jit(translation.cosines, static_argnames="config")


class NearSense(NamedTuple):
    """A neighbour of a sense; `score` is the cosine of their sense vectors."""

    word: str
    language: str
    sense: int
    score: float

    @property
    def label(self) -> str:
        """The label of the paper's figures: 'bank_1'."""
        return f"{self.word}_{self.sense}"


class Usage(NamedTuple):
    """The uses of a word's senses.

    Attributes:
      slots: slots of the senses, int [S]; during the warm-up only the warm-up's own slot.
      uses: uses since the senses were seeded, int [S]; 0 for removed senses.
      shares: shares of the word's latest uses, float [S].
      enabled: bool [S].
    """

    slots: np.ndarray
    uses: np.ndarray
    shares: np.ndarray
    enabled: np.ndarray


def shares(uses: np.ndarray, latest: np.ndarray) -> np.ndarray:
    """Shares [..., S] of a word's latest uses; all uses since the seeding count as one more use.

    A sense that had all the early uses thus does not hide the senses that occur now.

    Args:
      uses: uses of the enabled senses since they were seeded, int [..., S].
      latest: latest uses (`SenseState.counts` of all languages), int [..., S].
    """
    early_shares = uses / np.maximum(uses.sum(-1, keepdims=True), 1)
    weights = latest + early_shares
    return weights / np.maximum(weights.sum(-1, keepdims=True), _TINY)


@dataclasses.dataclass(frozen=True, eq=False)
class FrequentSenses:
    """The used senses of the listed words, among which neighbours are searched.

    Attributes:
      ids, slots: word id and slot of each sense, int [N].
      uses, shares: as in `Usage`, [N].
      vectors: unit sense vectors, float32 [N, d].
    """

    ids: np.ndarray
    slots: np.ndarray
    uses: np.ndarray
    shares: np.ndarray
    vectors: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class SenseIndex:
    """The senses of a model's words.

    Attributes:
      objective: objective with senses (`types.HasSenses`).
      tokenizer: the run's tokenizer of whole words.
      variables: the model's variables, with the collection 'senses'.
      frequent: language -> its listed words, among which neighbours are searched; a model of one
        language without such a list searches among all words.

    Raises:
      ValueError: a model without senses, or a model of pieces.
    """

    objective: Objective
    tokenizer: Tokenizer
    variables: Variables
    frequent: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        if not self.variables.get("senses"):
            raise ValueError(
                "This model has no senses: it was trained without senses, or with "
                "config.objective.senses.senses=1. Train a model with --config=configs/saelmo.py"
            )
        if not isinstance(self.tokenizer.vocabulary, WordVocabulary):
            raise ValueError(
                "Senses need a vocabulary of whole words; this model has a vocabulary of pieces "
                f"({self.tokenizer.vocabulary.kind})"
            )

    @property
    def directions(self) -> tuple[str, ...]:
        """The names of the sense states."""
        return tuple(self.objective.directions)

    @property
    def _first(self) -> int:
        """The slot of sense 1; the warm-up's own slot, if any, precedes it."""
        config = self.objective.senses
        return config.slots - config.senses

    def number(self, slot: int) -> int:
        """The number of a slot's sense, from 1; 0 is the warm-up's own slot."""
        return int(slot) - self._first + 1

    def warm(self, direction: str) -> bool:
        """Whether the warm-up has not ended; during the warm-up every word has one sense."""
        return bool(self.variables["senses"][direction].warm)

    def usage(self, direction: str, number: int) -> Usage:
        """The uses of the senses of the word with the id `number`."""
        rows = self._state_rows(direction, np.array([number]), "total", "counts", "enabled")
        uses, latest, enabled = (x[0] for x in rows)
        latest = latest.sum(-1)
        slots = np.arange(self._first, len(uses))
        if self.warm(direction):
            slots = np.flatnonzero(enabled)
        uses, latest = (np.where(enabled, x, 0)[slots] for x in (uses, latest))
        return Usage(slots, uses, shares(uses, latest), enabled[slots])

    def census(self, direction: str) -> dict[str, int]:
        """Numbers of listed words and of their used, unused and removed senses."""
        ids = np.flatnonzero(np.any(list(self.members.values()), axis=0))
        uses, enabled = self._state_rows(direction, ids, "total", "enabled")
        uses = uses[:, self._first :]
        enabled = enabled[:, self._first :]
        return {
            "words": len(ids),
            "used": int((enabled & (uses > 0)).sum()),
            "unused": int((enabled & (uses == 0)).sum()),
            "removed": 0 if self.warm(direction) else int((~enabled).sum()),
        }

    def most_ambiguous(self, language: str, count: int) -> list[str]:
        """At most `count` listed words of a language whose uses are spread most evenly over their senses."""
        size = len(self.tokenizer.vocabulary)
        spread = np.zeros(size)
        for senses in self.frequent_senses.values():
            entropy = -senses.shares * np.log(np.maximum(senses.shares, _TINY))
            uses = np.bincount(senses.ids, senses.uses, size)
            spread += np.where(uses >= _MIN_USES, np.bincount(senses.ids, entropy, size), 0.0)
        spread *= self.members[language]
        order = np.argsort(-spread, kind="stable")[:count]
        pieces = self.tokenizer.vocabulary.pieces
        return [pieces[number] for number in order if spread[number] > 0]

    def near(self, direction: str, number: int, slot: int, k: int) -> tuple[NearSense, ...]:
        """The nearest used senses by the cosine of sense vectors, one sense of each other word.

        Args:
          direction: name of the sense state.
          number, slot: word id and slot of the sense.
          k: number of words of each language.
        """
        senses = self.frequent_senses[direction]
        query = search.unit(self._vectors(direction, np.array([number])))[0, slot]
        scores = senses.vectors @ np.asarray(query)
        pieces = self.tokenizer.vocabulary.pieces
        near = []
        for language, member in self.members.items():
            places = np.flatnonzero(member[senses.ids] & (senses.ids != number))
            places = places[np.argsort(-scores[places], kind="stable")]
            # Of each word its nearest sense; sorting restores the order of the scores.
            _, firsts = np.unique(senses.ids[places], return_index=True)
            for place in places[np.sort(firsts)[:k]]:
                word = pieces[senses.ids[place]]
                sense = self.number(senses.slots[place])
                near.append(NearSense(word, language, sense, float(scores[place])))
        return tuple(near)

    def vectors(self, direction: str, senses: Iterable[tuple[str, int]]) -> np.ndarray:
        """Unit sense vectors of (word, sense number) pairs, float32 [N, d]."""
        senses = list(senses)
        ids = np.array([self.tokenizer.vocabulary.id(word) for word, _ in senses], np.int64)
        slots = np.array([number for _, number in senses], np.int64) - 1 + self._first
        return np.asarray(search.unit(self._vectors(direction, ids)[np.arange(len(ids)), slots]))

    def cosines(self, direction: str, ids: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """The projected cosines of representations with the centers of words (Algorithm 1).

        Args:
          direction: name of the sense state.
          ids: word ids, int [K].
          vectors: representations from `represent`, [N, D].

        Returns:
          float32 [N, K, S], -inf where disabled.
        """
        state, ids, inputs, count = self._batch(direction, ids, vectors)
        return np.asarray(_cosines(state, ids, inputs))[:count]

    def translations(
        self, direction: str, candidates: np.ndarray, to: str, vectors: np.ndarray
    ) -> np.ndarray:
        """The projected cosines of a word in contexts with its translations' senses.

        Args:
          direction: name of the sense state.
          candidates: ids of the word's translations into the language `to`, int [T].
          to: language of the translations.
          vectors: the word's representations from `represent`, [N, D].

        Returns:
          float32 [N, T, S], -inf for senses that do not take part (`translation.cosines`).
        """
        state, ids, inputs, count = self._batch(direction, candidates, vectors)
        language_ids = np.full(len(inputs), self.tokenizer.language_id(to))
        cosines = _translation_cosines(state, self.objective.senses, ids, language_ids, inputs)
        return np.asarray(cosines)[:count]

    def _batch(self, direction: str, ids: np.ndarray, vectors: np.ndarray):
        """The state, padded ids [M, K] and representations [M, d] of a direction; the rows N."""
        inputs = vectors[:, self.objective.directions[direction]]
        count = len(inputs)
        size = 1 << (count - 1).bit_length()  # few sizes compile few programs
        inputs = np.pad(inputs, ((0, size - count), (0, 0)))
        state = self.variables["senses"][direction]
        return state, np.broadcast_to(ids, (size, len(ids))), inputs, count

    def represent(self, words: Sequence[WordInContext]) -> np.ndarray:
        """Inputs of sense selection for words in sentences, float32 [N, D]."""
        return self._encoder.encode(self.variables, words)

    @functools.cached_property
    def _encoder(self) -> SenseEncoder:
        return SenseEncoder(self.objective, self.tokenizer)

    @functools.cached_property
    def members(self) -> dict[str, np.ndarray]:
        """Language -> its listed words, bool [V]; all words of a single language without a list."""
        vocabulary = self.tokenizer.vocabulary
        languages = self.tokenizer.languages
        members = {}
        for language in languages:
            member = np.zeros(len(vocabulary), np.bool_)
            words = self.frequent.get(language)
            if words:
                member[[vocabulary.words[x] for x in words if x in vocabulary.words]] = True
            elif len(languages) == 1:
                member[list(vocabulary.words.values())] = True
            else:
                logging.warning(
                    "WORKDIR/words.json has no list of frequent words in %r: no word of that "
                    "language is among the neighbours of senses",
                    language,
                )
            members[language] = member
        return members

    @functools.cached_property
    def frequent_senses(self) -> dict[str, FrequentSenses]:
        """Direction -> the used senses of the listed words."""
        ids = np.flatnonzero(np.any(list(self.members.values()), axis=0))
        by_direction = {}
        for name in self.directions:
            uses, latest, enabled = self._state_rows(name, ids, "total", "counts", "enabled")
            uses, latest = (np.where(enabled, x, 0) for x in (uses, latest.sum(-1)))
            words, slots = np.nonzero(uses)
            vectors = np.asarray(search.unit(self._vectors(name, ids)[words, slots]))
            slot_uses = uses[words, slots]
            share = shares(uses, latest)[words, slots]
            by_direction[name] = FrequentSenses(ids[words], slots, slot_uses, share, vectors)
        return by_direction

    def _state_rows(self, direction: str, ids: np.ndarray, *names: str) -> list[np.ndarray]:
        """The rows of words in arrays of the state; only these rows leave the device."""
        state = self.variables["senses"][direction]
        return [np.asarray(jax.device_get(getattr(state, name)[ids])) for name in names]

    def _vectors(self, direction: str, ids: np.ndarray) -> np.ndarray:
        """The sense vectors of words, float32 [N, S, d]."""
        return np.asarray(self.objective.sense_vectors(self.variables, direction, ids))
