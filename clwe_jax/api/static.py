"""Use static vectors: translations, neighbours and vectors of words.

    from clwe_jax import api

    model = api.load("runs/joint_align")
    model.translate_word("Haus", "de", "en", k=5)
    model.neighbours("house", "en", k=10)
    model.vectors("de")

The training text is not needed.
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Mapping, NamedTuple

import numpy as np

from clwe_jax import atomic
from clwe_jax.align import csls
from clwe_jax.align.alignment import Alignment
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate.static_encoder import StaticEncoder
from clwe_jax.registry import nearest
from clwe_jax.text import frequencies
from clwe_jax.text.frequencies import Frequencies
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.words import Segmenter

METHODS = {
    "nn": "cosine",
    "cosine": "cosine",
    "csls": "csls",
    "inverted_softmax": "inverted_softmax",
}
_DESCRIPTION = "spaces.json"
_RAW = "spaces"
_ALIGNMENTS = "alignments"


class Translation(NamedTuple):
    """A candidate translation of a word; a larger `score` of the retrieval method is nearer."""

    word: str
    score: float


class Neighbour(NamedTuple):
    """A word near another word; `score` is their cosine."""

    word: str
    language: str
    score: float


@dataclasses.dataclass(frozen=True, eq=False)
class StaticModel:
    """The vectors of several languages and the maps between their spaces.

    Attributes:
      raw: language -> its vectors before alignment, most frequent word first.
      shared: language -> the words that it shares with the hub, which its map does not move
        (joint-align, section 3.3); empty where each language was trained alone.
      alignments: language -> its map to the hub's space; no entry for the hub, and none at all
        without refinement, because joint training yields one space.
      hub: the language whose space the other languages are mapped to.
      normalizer: the normalizer of words.
      frequencies: counts of the words of the run's text, for the pooling 'sif'; None where no text
        was read.
    """

    raw: Mapping[str, Vectors]
    shared: Mapping[str, frozenset[str]]
    alignments: Mapping[str, Alignment]
    hub: str
    normalizer: Normalizer = Normalizer()
    frequencies: Frequencies | None = None
    # Spaces that were computed so far.
    _hub_spaces: dict[str, Vectors] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )
    _common_spaces: dict[str, tuple[Vectors, Vectors]] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages with vectors."""
        return tuple(self.raw)

    def vectors(self, language: str) -> Vectors:
        """All words of a language, most frequent first, in the hub's space.

        Raises:
          ValueError: a language without vectors.
        """
        return self._in_hub(self._checked(language))

    def vector(self, word: str, language: str) -> np.ndarray:
        """The vector of a word in the hub's space: float32 [D].

        Raises:
          KeyError: the word has no vector.
        """
        vectors = self.vectors(language)
        return vectors.vectors[self._row(word, language, vectors)]

    def space(self, source: str, target: str) -> tuple[Vectors, Vectors]:
        """The vectors of two languages in the space where their aligner compares them.

        Raises:
          ValueError: a language without vectors.
        """
        for language in (source, target):
            self._checked(language)
        if source == target:
            return self.raw[source], self.raw[source]
        for language, other in ((source, target), (target, source)):
            if other == self.hub and language in self.alignments:
                mapped, hub = self._common(language)
                return (mapped, hub) if language == source else (hub, mapped)
        return self._in_hub(source), self._in_hub(target)

    def translate_word(
        self, word: str, source: str, target: str, k: int = 5, method: str = "csls"
    ) -> list[Translation]:
        """The words of the target language nearest to a word, best first.

        Args:
          word: a word of the source language, in any case if the run lower-cased its text.
          source: the language of the word.
          target: the language of the translations.
          k: maximum number of translations.
          method: 'csls', 'nn' or 'inverted_softmax'.

        Raises:
          KeyError: the word has no vector; the message names a similar word.
          ValueError: an unknown language or method.
        """
        if method not in METHODS:
            raise ValueError(f"There is no method {method!r}. {nearest(method, METHODS)}")
        x, y = self.space(source, target)
        row = self._row(word, source, x)
        found, scores = csls.nearest(
            x.vectors[row : row + 1],
            y.vectors,
            min(k, len(y.words)),
            METHODS[method],
            pool=x.vectors,
        )
        return [
            Translation(y.words[place], float(score))
            for place, score in zip(np.asarray(found)[0], np.asarray(scores)[0])
        ]

    def neighbours(
        self, word: str, language: str, k: int = 10, to: str | None = None
    ) -> list[Neighbour]:
        """The words nearest to a word by cosine, the word itself left out.

        Args:
          word: a word.
          language: its language.
          k: maximum number of neighbours.
          to: the language to search; None: all languages.

        Raises:
          KeyError: the word has no vector.
          ValueError: an unknown language.
        """
        found: list[Neighbour] = []
        for other in self.languages if to is None else (to,):
            x, y = self.space(language, other)
            row = self._row(word, language, x)
            most = min(k + 1, len(y.words))
            places, scores = csls.nearest(x.vectors[row : row + 1], y.vectors, most, "cosine")
            near = [
                Neighbour(y.words[place], other, float(score))
                for place, score in zip(np.asarray(places)[0], np.asarray(scores)[0])
                if other != language or place != row
            ]
            found += near[:k]
        return sorted(found, key=lambda near: -near.score)[:k]

    def encoder(self) -> StaticEncoder:
        """The vectors as an encoder of text (`types.Encoder`).

        Text is cut into words at spaces; in scripts without spaces, by longest match of words with
        vectors. A word without a vector is lower-cased.
        """
        segmenter = Segmenter({name: found.words for name, found in self.raw.items()})

        def split(text: str, language: str) -> list[str]:
            index = self.raw[self._checked(language)].index
            words = segmenter.words(self.normalizer(text, language), language)
            return [word if word in index else word.lower() for word in words]

        return StaticEncoder(self, split, frequencies=self.frequencies)

    def save(self, workdir: str) -> None:
        """Writes spaces/{lang}.npz, alignments/{lang}-{hub}.npz, counts.json, then spaces.json."""
        for folder in (_RAW, _ALIGNMENTS):
            os.makedirs(os.path.join(workdir, folder), exist_ok=True)
        for language, vectors in self.raw.items():
            vectors.save(os.path.join(workdir, _RAW, f"{language}.npz"))
        for language, alignment in self.alignments.items():
            alignment.save(os.path.join(workdir, _ALIGNMENTS, f"{language}-{self.hub}.npz"))
        if self.frequencies is not None:
            self.frequencies.save(workdir)
        description: dict[str, Any] = {
            "languages": list(self.languages),
            "hub": self.hub,
            "aligned": sorted(self.alignments),
            "shared": {language: sorted(words) for language, words in self.shared.items()},
            "lower_case": self.normalizer.lower_case,
            "simplify_chinese": self.normalizer.simplify_chinese,
        }
        path = os.path.join(workdir, _DESCRIPTION)
        atomic.write_json(path, description, indent=None)

    def _checked(self, language: str) -> str:
        if language not in self.raw:
            raise ValueError(f"There are no vectors in {language!r}. {nearest(language, self.raw)}")
        return language

    def _row(self, word: str, language: str, vectors: Vectors) -> int:
        for spelled in (word, self.normalizer(word, language)):
            if spelled in vectors.index:
                return vectors.index[spelled]
        raise KeyError(
            f"{word!r} has no vector in {language!r}. {nearest(word, vectors.words[:20_000])}"
        )

    def _in_hub(self, language: str) -> Vectors:
        """The language's vectors in the hub's space, in which shared words keep their vectors."""
        if language not in self._hub_spaces:
            vectors = self.raw[language]
            if language in self.alignments:
                mapped = self.alignments[language].to_target_space(vectors.vectors)
                vectors = self._replaced(language, mapped, vectors.vectors)
            self._hub_spaces[language] = vectors
        return self._hub_spaces[language]

    def _common(self, language: str) -> tuple[Vectors, Vectors]:
        """The language and the hub in the aligner's space; shared words move with the hub."""
        if language not in self._common_spaces:
            alignment, vectors = self.alignments[language], self.raw[language]
            mapped = alignment.apply(vectors.vectors)
            untouched = None
            if self.shared.get(language):
                untouched = alignment.apply_target(vectors.vectors)
            hub = self.raw[self.hub]
            self._common_spaces[language] = (
                self._replaced(language, mapped, untouched),
                dataclasses.replace(hub, vectors=alignment.apply_target(hub.vectors)),
            )
        return self._common_spaces[language]

    def _replaced(self, language: str, own: np.ndarray, common: np.ndarray | None) -> Vectors:
        """The language with the vectors `own` [N, K], and `common` [N, K] for shared words."""
        vectors, shared = self.raw[language], self.shared.get(language)
        if shared and common is not None:
            here = np.fromiter((word in shared for word in vectors.words), bool, len(own))
            own = np.where(here[:, None], common, own)
        return dataclasses.replace(vectors, vectors=own)


def load(workdir: str | os.PathLike[str], step: int | None = None) -> StaticModel:
    """The static vectors in a run's folder; see `api.load`.

    Args:
      workdir: the run's folder.
      step: ignored; the vectors have one state.

    Raises:
      FileNotFoundError: the folder holds no vectors, or its run has not written them yet.
      ValueError: a damaged file.
    """
    workdir = os.fspath(workdir)
    path = os.path.join(workdir, _DESCRIPTION)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no aligned vectors: it lacks {_DESCRIPTION}. Start the run again "
            f"with the same command, which resumes it: --workdir={workdir}"
        )
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}. Delete it and run again") from error
    hub = found["hub"]
    return StaticModel(
        raw={
            language: Vectors.load(os.path.join(workdir, _RAW, f"{language}.npz"))
            for language in found["languages"]
        },
        shared={language: frozenset(words) for language, words in found["shared"].items()},
        alignments={
            language: Alignment.load(os.path.join(workdir, _ALIGNMENTS, f"{language}-{hub}.npz"))
            for language in found["aligned"]
        },
        hub=hub,
        normalizer=Normalizer(found["lower_case"], found["simplify_chinese"]),
        frequencies=frequencies.load(workdir),
    )
