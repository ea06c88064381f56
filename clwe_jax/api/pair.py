"""Several language models in one space, such as ELMo with projection (A10, A13)."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Self, Sequence

import numpy as np

from clwe_jax.api.base import Loaded
from clwe_jax.api.model import Model
from clwe_jax.encoders.encode import Layer
from clwe_jax.encoders.nearest import Neighbour, nearest_words
from clwe_jax.encoders.pair import PairModels


class PairModel(PairModels, Loaded):
    """Language models, each of which encodes its own language; `models` are their `Model`s."""

    models: Mapping[str, Model]

    @classmethod
    def of(cls, loaded: PairModels) -> Self:
        models = {language: Model.of(model) for language, model in loaded.models.items()}
        return super().of(dataclasses.replace(loaded, models=models))

    @property
    def dim(self) -> int:
        """The number of dimensions of a vector in the common space."""
        return next(iter(self.models.values())).dim

    def _encode(
        self,
        texts: Sequence[str],
        lang: str,
        layer: Layer | None,
        pool: str | None,
        batch_size: int,
    ) -> np.ndarray | list[np.ndarray]:
        return self.models[lang].encode(texts, lang, layer, pool, batch_size=batch_size)

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector in context; see `Model.words`."""
        self._check_languages(lang=lang)
        return self.models[lang].words(text, lang, layer)

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str = "csls",
    ) -> list[Neighbour]:
        """The words nearest to a word, in the common space; see `Model.neighbours`."""
        self._check_languages(lang=lang, to=lang if to is None else to)
        return nearest_words(self.models, word, lang, k, to, layer, method)

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word in the common space; see `Model.vector`."""
        self._check_languages(lang=lang)
        return self.models[lang].vector(word, lang, layer)

    def knows(self, word: str, lang: str) -> bool:
        """Whether the language's model knows a word; see `Model.knows`."""
        self._check_languages(lang=lang)
        return self.models[lang].knows(word, lang)
