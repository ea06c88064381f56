"""Use two encoders beside each other: a downloaded one, and vectors of a dictionary.

    from clwe_jax import api

    model = api.load("hf:e5+run:runs/eu", languages=["eu", "en"])
    model.mine(basque, "eu", english, "en")

Text is cut into words as the first encoder cuts it.
"""

from __future__ import annotations

import functools
from typing import Sequence

import numpy as np

from clwe_jax.api.base import Loaded
from clwe_jax.encoders.beside import BesideEncoder, BesideModels
from clwe_jax.encoders.checks import check_strings
from clwe_jax.encoders.encode import Layer, select


class BesideModel(BesideModels, Loaded):
    """Two encoders beside each other; see `BesideModels` for its attributes."""

    lacking = "have no method {method!r}: api.load of one of the two, without the other, has it"

    @functools.cached_property
    def _both(self) -> BesideEncoder:
        return self.encoder()

    @functools.cached_property
    def dim(self) -> int:
        """The number of dimensions of a vector, of both; the first call encodes a text."""
        return self.encode(["a"], self.languages[0]).shape[-1]

    def _encode(
        self,
        texts: Sequence[str],
        lang: str,
        layer: Layer | None,
        pool: str | None,
        batch_size: int,
    ) -> np.ndarray | list[np.ndarray]:
        del batch_size
        if pool is None:
            return [select(vectors, layer) for _, vectors in self._both.in_context(texts, lang)]
        if pool != "mean":
            raise ValueError(f"pool={pool!r}: expected 'mean', or None for a vector of each word")
        return select(self._both.sentences(texts, lang), layer)

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector of both, in context; see `Model.words`."""
        self._check_languages(lang=lang)
        check_strings(text=text)
        [(words, vectors)] = self._both.in_context([text], lang)
        return list(zip(words, select(vectors, layer)))

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, of both: float32 [D]."""
        self._check_languages(lang=lang)
        check_strings(word=word)
        [vectors] = self._both.of_words([[word]], lang)
        return select(vectors, layer)[0]
