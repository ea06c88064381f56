"""Use static vectors: translations, neighbours and vectors of words.

    from clwe_jax import api

    model = api.load("runs/joint_align")
    model.translate_word("Haus", lang="de", to="en", k=5)
    model.neighbours("house", lang="en", k=10)
    model.vectors(lang="de")

The training text is not needed.
"""

from __future__ import annotations

import itertools
from typing import Sequence

import numpy as np

from clwe_jax.api.base import Loaded, lacks_counts
from clwe_jax.encoders.checks import check_strings
from clwe_jax.encoders.encode import Layer, select
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.encoders.static import weighted_means, with_spelled


class StaticModel(StaticSpaces, Loaded):
    """The vectors of several languages in one space; see `StaticSpaces` for its attributes."""

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word in the hub's space: float32 [D].

        A word that the model lacks has a vector from its spelling where the run trained such vectors.
        `neighbours` shortens guesses from spelling before it compares words; this vector has the whole.

        Raises:
          ValueError: the word has no vector; the message names similar words.
        """
        self._check_languages(lang=lang)
        # Raises for a layer that static vectors lack; nothing below reads the option.
        select(np.zeros((1, 1)), layer)
        return self._vector(word, lang, self.stored(lang))

    def _encode(
        self,
        texts: Sequence[str],
        lang: str,
        layer: Layer | None,
        pool: str | None,
        batch_size: int,
    ) -> np.ndarray | list[np.ndarray]:
        del batch_size
        if pool not in ("mean", "sif", None):
            raise ValueError(
                f"pool={pool!r}: expected 'mean', 'sif', or None for a vector of each word"
            )
        if pool == "sif" and self.frequencies is None:
            raise lacks_counts(pool)
        vectors = self.stored(lang)
        cut = self._cut(texts, lang)
        if self._spells(lang):
            vectors = with_spelled(
                vectors, itertools.chain(*cut), lambda words: self.spelling.vectors(words, lang)
            )
        if pool is None:
            rows = [vectors.rows(words) for words in cut]
            found = [np.asarray(vectors.vectors[some[some >= 0]], np.float32) for some in rows]
            return [select(some[:, None], layer) for some in found]
        weights = self.frequencies.word_weights(lang) if pool == "sif" else {}
        return select(weighted_means(cut, vectors, weights)[:, None], layer)

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector; zeros for a word without one.

        Raises:
          ValueError: an unknown language, or a layer other than 0.
        """
        self._check_languages(lang=lang)
        check_strings(text=text)
        [(words, vectors)] = self.encoder().in_context([text], lang)
        return list(zip(words, select(vectors, layer)))
