"""The senses of a model's words as arrays: which are used, which are near, which fits a context."""

from __future__ import annotations

import dataclasses
import functools
from typing import Iterable, Mapping, NamedTuple, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax.align import search
from clwe_jax.evaluate.telling import Asked, Teller
from clwe_jax.models import sense_translation
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.text.word_vocab import WordVocabulary
from clwe_jax.types import Objective, Variables

_TINY = 1e-12
_translate = jax.jit(sense_translation.cosines, static_argnames="config")


class NearSense(NamedTuple):
    """A sense near another one; `score` is the cosine of their sense vectors."""

    word: str
    language: str
    sense: int
    score: float

    @property
    def label(self) -> str:
        """As the paper's figures have it: 'bank_1'."""
        return f"{self.word}_{self.sense}"


class Usage(NamedTuple):
    """How a word's senses were used.

    Attributes:
      slots: int [S], in the sense state; the warm-up's own is one of them only during it.
      uses: int [S], since the senses were seeded; 0 for removed ones.
      shares: float [S], of the word's latest uses; see `shares`.
      enabled: bool [S].
    """

    slots: np.ndarray
    uses: np.ndarray
    shares: np.ndarray
    enabled: np.ndarray


def shares(uses: np.ndarray, latest: np.ndarray) -> np.ndarray:
    """Shares [..., S] of a word's latest uses, where all that came before count as one use.

    A sense that took everything long ago would else hide the ones that occur now.

    Args:
      uses: int [..., S], of the enabled senses since they were seeded.
      latest: int [..., S], of them the latest (`SenseState.counts`, of all languages).
    """
    before = uses / np.maximum(uses.sum(-1, keepdims=True), 1)
    weights = latest + before
    return weights / np.maximum(weights.sum(-1, keepdims=True), _TINY)


@dataclasses.dataclass(frozen=True, eq=False)
class Listed:
    """The used senses of the words that near senses are searched among: [N] each.

    Attributes:
      ids, slots: of the sense.
      uses, shares: as of `Usage`.
      vectors: float32 [N, d], of length 1.
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
      objective: with `directions`, `senses` and `sense_vectors`.
      tokenizer: the run's, of whole words.
      variables: with the collection 'senses'.
      frequent: words of each language; near senses are searched among them. Where a model of one
        language has none, among all.
    """

    objective: Objective
    tokenizer: Tokenizer
    variables: Variables
    frequent: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        if not self.variables.get("senses"):
            raise ValueError(
                "This model has no senses: it was trained without, or with "
                "config.objective.senses.senses=1. Train one with --config=configs/saelmo.py"
            )
        if not isinstance(self.tokenizer.vocabulary, WordVocabulary):
            raise ValueError(
                "Senses are those of whole words, and this model's vocabulary is one of pieces "
                f"({self.tokenizer.vocabulary.kind})"
            )

    @property
    def directions(self) -> tuple[str, ...]:
        """The names of the sense states."""
        return tuple(self.objective.directions)

    @property
    def _first(self) -> int:
        """The slot of sense 1: the warm-up's own slot, where there is one, comes before it."""
        config = self.objective.senses
        return config.slots - config.senses

    def number(self, slot: int) -> int:
        """A sense's number, from 1; 0 is the warm-up's own slot."""
        return int(slot) - self._first + 1

    def warm(self, direction: str) -> bool:
        """Whether the senses are still to be seeded: every word has one."""
        return bool(self.variables["senses"][direction].warm)

    def usage(self, direction: str, number: int) -> Usage:
        """How the senses of the word with this id were used."""
        rows = self._state_rows(direction, np.array([number]), "total", "counts", "enabled")
        uses, latest, enabled = (x[0] for x in rows)
        latest = latest.sum(-1)
        slots = np.arange(self._first, len(uses))
        if self.warm(direction):
            slots = np.flatnonzero(enabled)
        uses, latest = (np.where(enabled, x, 0)[slots] for x in (uses, latest))
        return Usage(slots, uses, shares(uses, latest), enabled[slots])

    def census(self, direction: str) -> dict[str, int]:
        """Of the listed words: how many, and their senses in use, never used, and removed."""
        ids = np.flatnonzero(np.any(list(self.members.values()), axis=0))
        uses, enabled = self._state_rows(direction, ids, "total", "enabled")
        uses, enabled = uses[:, self._first :], enabled[:, self._first :]
        return {
            "words": len(ids),
            "used": int((enabled & (uses > 0)).sum()),
            "unused": int((enabled & (uses == 0)).sum()),
            "removed": 0 if self.warm(direction) else int((~enabled).sum()),
        }

    def most_ambiguous(self, most: int, least_uses: int = 50) -> list[str]:
        """The listed words whose uses are spread most evenly over senses, in all directions.

        Args:
          most: how many words.
          least_uses: of a word; words of fewer are left out.
        """
        size = len(self.tokenizer.vocabulary)
        spread = np.zeros(size)
        for listed in self.listed.values():
            entropy = -listed.shares * np.log(np.maximum(listed.shares, _TINY))
            uses = np.bincount(listed.ids, listed.uses, size)
            spread += np.where(uses >= least_uses, np.bincount(listed.ids, entropy, size), 0.0)
        order = np.argsort(-spread, kind="stable")[:most]
        pieces = self.tokenizer.vocabulary.pieces
        return [pieces[number] for number in order if spread[number] > 0]

    def near(self, direction: str, number: int, slot: int, k: int) -> tuple[NearSense, ...]:
        """The nearest senses by the cosine of the sense vectors: the best one of each other word.

        Args:
          direction: the sense state.
          number, slot: the sense.
          k: words of each language; senses that were never used are none of them.
        """
        listed = self.listed[direction]
        query = search.unit(self._vectors(direction, np.array([number])))[0, slot]
        scores = listed.vectors @ np.asarray(query)
        pieces = self.tokenizer.vocabulary.pieces
        found = []
        for language, member in self.members.items():
            places = np.flatnonzero(member[listed.ids] & (listed.ids != number))
            places = places[np.argsort(-scores[places], kind="stable")]
            _, firsts = np.unique(listed.ids[places], return_index=True)
            for place in places[np.sort(firsts)[:k]]:
                word, sense = pieces[listed.ids[place]], self.number(listed.slots[place])
                found.append(NearSense(word, language, sense, float(scores[place])))
        return tuple(found)

    def vectors(self, direction: str, senses: Iterable[tuple[str, int]]) -> np.ndarray:
        """float32 [N, d], the sense vectors of (word, number), of length 1."""
        senses = list(senses)
        ids = np.array([self.tokenizer.vocabulary.id(word) for word, _ in senses], np.int64)
        slots = np.array([number for _, number in senses], np.int64) - 1 + self._first
        return np.asarray(search.unit(self._vectors(direction, ids)[np.arange(len(ids)), slots]))

    def cosines(self, direction: str, ids: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """How well representations fit the centers of words, both projected (Algorithm 1).

        Args:
          direction: the sense state.
          ids: int [K], words.
          vectors: [N, D], from `represent`.

        Returns:
          float32 [N, K, S], -inf where disabled.
        """
        projected, enabled = self._state_rows(direction, ids, "projected", "enabled")
        projection = jax.device_get(self.variables["senses"][direction].projection)
        own = vectors[:, self.objective.directions[direction]] @ np.asarray(projection)
        own /= np.maximum(np.linalg.norm(own, axis=-1, keepdims=True), _TINY)
        norms = np.maximum(np.linalg.norm(projected, axis=-1), _TINY)
        cosines = np.einsum("ksp,np->nks", projected, own) / norms
        return np.where(enabled, cosines, -np.inf)

    def translations(
        self,
        direction: str,
        candidates: np.ndarray,
        to: str,
        vectors: np.ndarray,
    ) -> np.ndarray:
        """How well a word in contexts fits its translations: `sense_translation.cosines`.

        Args:
          direction: the sense state.
          candidates: int [T], its translations into the language `to`.
          vectors: [N, D], from `represent`.

        Returns:
          float32 [N, T, S], -inf where there is none.
        """
        own = vectors[:, self.objective.directions[direction]]
        count = len(own)
        size = 1 << (count - 1).bit_length()  # few sizes, few programs
        found = _translate(
            self.variables["senses"][direction],
            self.objective.senses,
            np.broadcast_to(candidates, (size, len(candidates))),
            np.full(size, self.tokenizer.language_id(to)),
            np.pad(own, ((0, size - count), (0, 0))),
        )
        return np.asarray(found)[:count]

    def represent(self, asked: Sequence[Asked]) -> np.ndarray:
        """What tells the senses of words in sentences, float32 [N, D]."""
        return self._teller(self.variables, asked)

    @functools.cached_property
    def _teller(self) -> Teller:
        return Teller(self.objective, self.tokenizer)

    @functools.cached_property
    def members(self) -> dict[str, np.ndarray]:
        """A language: bool [V], the words of its list; all words where there is one language."""
        vocabulary, languages = self.tokenizer.vocabulary, self.tokenizer.languages
        found = {}
        for language in languages:
            member = np.zeros(len(vocabulary), np.bool_)
            words = self.frequent.get(language)
            if words:
                member[[vocabulary.words[x] for x in words if x in vocabulary.words]] = True
            elif len(languages) == 1:
                member[list(vocabulary.words.values())] = True
            else:
                logging.warning(
                    "This run has no list of frequent words in %r (WORKDIR/words.json): no near "
                    "senses of that language are found",
                    language,
                )
            found[language] = member
        return found

    @functools.cached_property
    def listed(self) -> dict[str, Listed]:
        """The used senses of the listed words, for each direction."""
        ids = np.flatnonzero(np.any(list(self.members.values()), axis=0))
        found = {}
        for name in self.directions:
            uses, latest, enabled = self._state_rows(name, ids, "total", "counts", "enabled")
            uses, latest = (np.where(enabled, x, 0) for x in (uses, latest.sum(-1)))
            words, slots = np.nonzero(uses)
            vectors = np.asarray(search.unit(self._vectors(name, ids)[words, slots]))
            used, share = uses[words, slots], shares(uses, latest)[words, slots]
            found[name] = Listed(ids[words], slots, used, share, vectors)
        return found

    def _state_rows(self, direction: str, ids: np.ndarray, *names: str) -> list[np.ndarray]:
        """Rows of arrays of the state; no array is fetched as a whole."""
        state = self.variables["senses"][direction]
        return [np.asarray(jax.device_get(getattr(state, name)[ids])) for name in names]

    def _vectors(self, direction: str, ids: np.ndarray) -> np.ndarray:
        """float32 [N, S, d]."""
        return np.asarray(self.objective.sense_vectors(self.variables, direction, ids))
