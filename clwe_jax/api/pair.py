"""Two monolingual models in one space: ELMo with projection (A10, A13)."""

from __future__ import annotations

import dataclasses
import os
from typing import Mapping, Sequence

import numpy as np

from clwe_jax import config as options
from clwe_jax import registry
from clwe_jax.api import model as models
from clwe_jax.api.model import Model, Neighbour
from clwe_jax.evaluate.encode import Layer
from clwe_jax.evaluate.pair_encoder import PairEncoder
from clwe_jax.objectives import projected


@dataclasses.dataclass(frozen=True, eq=False)
class PairModel:
    """Monolingual models, each of which encodes its own language.

    Attributes:
      models: language -> its model. The first model's space is the common one, to which the other
        model's `projection` maps.
    """

    models: Mapping[str, Model]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the models."""
        return tuple(self.models)

    def encode(
        self, texts: Sequence[str], lang: str, layer: Layer | None = None, pool: str | None = "mean"
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of sentences in the common space; see `Model.encode`."""
        return self._of(lang).encode(texts, lang, layer, pool)

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector in context; see `Model.words`."""
        return self._of(lang).words(text, lang, layer)

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
        for language in (lang, to or lang):
            self._of(language)
        return models.nearest_words(self.models, word, lang, k, to, layer, method)

    def similarity(
        self, a: str, b: str, lang: str, lang_b: str | None = None, layer: Layer | None = None
    ) -> float:
        """The cosine of two sentences (or words); see `Model.similarity`."""
        return models.similarity(self, a, b, lang, lang_b, layer)

    def encoder(self) -> PairEncoder:
        """The models as one encoder of text (`types.Encoder`)."""
        return PairEncoder({language: model.encoder() for language, model in self.models.items()})

    def _of(self, language: str) -> Model:
        if language not in self.models:
            known = registry.nearest(language, self.models)
            raise ValueError(f"{language!r} is not a language of these models. {known}")
        return self.models[language]


def load(workdir: str, step: int | None = None) -> PairModel:
    """The two models of a projected pair; see `api.load`.

    Args:
      workdir: the folder of the projection.
      step: training step of both models' checkpoints; None: the newest readable ones.
    """
    settings = options.read_config(workdir).projection
    target, source = (models.load(run, step) for run in (settings.target, settings.source))
    path = os.path.join(workdir, projected.FILE)
    projection = projected.load(path, source.objective, source.tokenizer.language_id)
    source = dataclasses.replace(source, projection=projection)
    return PairModel({model.languages[0]: model for model in (target, source)})
