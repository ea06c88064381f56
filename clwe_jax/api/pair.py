"""Two monolingual models in one space: ELMo with projection (A10, A13)."""

from __future__ import annotations

import dataclasses
import os
from typing import Mapping, Sequence

import numpy as np

from clwe_jax import options
from clwe_jax.api import model as models
from clwe_jax.api.base import Loaded
from clwe_jax.api.loaded import Neighbour
from clwe_jax.api.model import Model
from clwe_jax.api.nearest import nearest_words
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.encode import Layer
from clwe_jax.encoders.pair import PairEncoder
from clwe_jax.objectives import projected


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PairModel(Loaded):
    """Monolingual models, each of which encodes its own language.

    Attributes:
      models: language -> its model. The first model's space is the common one, to which the other
        model's `projection` maps.
    """

    models: Mapping[str, Model]
    described = "Projected pairs of models"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the models."""
        return tuple(self.models)

    @property
    def dim(self) -> int:
        """The number of dimensions of a vector in the common space."""
        return next(iter(self.models.values())).dim

    def _encode(
        self, texts: Sequence[str], lang: str, layer: Layer | None, pool: str | None
    ) -> np.ndarray | list[np.ndarray]:
        return self.models[lang].encode(texts, lang, layer, pool)

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

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language in the common space; see `Model.vectors`."""
        self._check_languages(lang=lang)
        return self.models[lang].vectors(lang, layer)

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word in the common space; see `Model.vector`."""
        self._check_languages(lang=lang)
        return self.models[lang].vector(word, lang, layer)

    def knows(self, word: str, lang: str) -> bool:
        """Whether the language's model knows a word; see `Model.knows`."""
        self._check_languages(lang=lang)
        return self.models[lang].knows(word, lang)

    def encoder(self) -> PairEncoder:
        """The models as one encoder of text (`types.Encoder`)."""
        return PairEncoder({language: model.encoder() for language, model in self.models.items()})


def load(workdir: str, step: int | None = None) -> PairModel:
    """The two models of a projected pair; see `api.load`.

    Args:
      workdir: the folder of the projection.
      step: training step of both models' checkpoints; None: the newest readable ones.
    """
    settings = options.read_config(workdir).projection
    places = (options.placed(run, workdir) for run in (settings.target, settings.source))
    target, source = (models.load(run, step) for run in places)
    path = os.path.join(workdir, projected.FILE)
    projection = projected.load(path, source.objective, source.tokenizer.language_id)
    source = dataclasses.replace(source, projection=projection)
    return PairModel({model.languages[0]: model for model in (target, source)})
