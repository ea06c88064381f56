"""Monolingual models in one space, and their one encoder: ELMo with projection (A10, A13)."""

from __future__ import annotations

import collections
import dataclasses
import os
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax import options
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import language_model
from clwe_jax.encoders.checks import choose_pool
from clwe_jax.encoders.encode import Layer, Reduce, WordLists
from clwe_jax.encoders.language_model import LanguageModel, nearest_words
from clwe_jax.encoders.loaded import BATCH, LoadedEncoder
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.nearest import Neighbour
from clwe_jax.encoders.protocols import WordSample, WordSpace
from clwe_jax.objectives import projected
from clwe_jax.text.words.words import Segmenter


class PairEncoder:
    """One encoder for each language, in a space that all share (`loaded.PoolsTexts`)."""

    def __init__(self, encoders: Mapping[str, ModelEncoder]):
        """`encoders`: language -> its encoder; all have the same numbers of layers and dimensions."""
        self._encoders = dict(encoders)
        self.languages = tuple(self._encoders)

    @property
    def layers(self) -> int:
        """The models' layers and the embedding output."""
        return next(iter(self._encoders.values())).layers

    @property
    def encoded_counts(self) -> Mapping[str, int]:
        return sum((x.encoded_counts for x in self._encoders.values()), collections.Counter())

    @property
    def cut_counts(self) -> Mapping[str, int]:
        return sum((x.cut_counts for x in self._encoders.values()), collections.Counter())

    def _find(self, language: str) -> ModelEncoder:
        if language not in self._encoders:
            raise ValueError(
                f"the language {language!r} is not in this space: its languages are "
                f"{', '.join(self.languages)}"
            )
        return self._encoders[language]

    def pairwise_space(self, source: str, target: str) -> PairEncoder:
        """The encoder itself: its languages share one space."""
        return self

    def words(self, text: str, language: str) -> list[str]:
        return self._find(language).words(text, language)

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        return self._find(language).sentences(texts, language)

    @property
    def pools(self) -> tuple[str, ...]:
        """The ways of pooling that all encoders know."""
        return min((x.pools for x in self._encoders.values()), key=len)

    def pool_in_all_ways(self, texts: Sequence[str], language: str) -> dict[str, np.ndarray]:
        by_pool = self._find(language).pool_in_all_ways(texts, language)
        return {pool: by_pool[pool] for pool in self.pools}

    def pool_texts(
        self, texts: Sequence[str], language: str, pool: str | None, reduce: Reduce = np.asarray
    ) -> np.ndarray | list[np.ndarray]:
        # Languages that are compared are pooled alike, also where one model alone has counts of words.
        pool = choose_pool(pool, "piece", self.pools)
        return self._find(language).pool_texts(texts, language, pool, reduce)

    def in_context(self, texts: Sequence[str], language: str) -> list[tuple[list[str], np.ndarray]]:
        return self._find(language).in_context(texts, language)

    def of_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[np.ndarray]:
        return self._find(language).of_words(sentences, language, pool, reduce)

    def pieces_of_words(
        self, sentences: WordLists, language: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        return self._find(language).pieces_of_words(sentences, language)

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        return self._find(language).vocabulary(language, wanted, sample)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PairModels(LoadedEncoder):
    """Monolingual models, each of which encodes its own language.

    Attributes:
      models: language -> its model. The first model's space is the common one, to which the other
        model's `projection` maps.
    """

    models: Mapping[str, LanguageModel]
    kind_name = "Projected pairs of models"
    tokenizer = None

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the models."""
        return tuple(self.models)

    def segmenter(self, lang: str) -> Segmenter:
        return self.models[lang].segmenter(lang)

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language in the common space."""
        return self.models[lang].vectors(lang, layer)

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word in the common space."""
        return self.models[lang].vector(word, lang, layer)

    def knows(self, word: str, lang: str) -> bool:
        """Whether the language's model knows a word."""
        return self.models[lang].knows(word, lang)

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str | None = None,
    ) -> list[Neighbour]:
        """The words nearest to a word in the common space."""
        return nearest_words(self.models, word, lang, k, to, layer, method)

    def encoder(self, batch_size: int = BATCH) -> PairEncoder:
        """The models as one encoder of text."""
        return PairEncoder({x: model.encoder(batch_size) for x, model in self.models.items()})


def load(workdir: str, step: int | None = None, open_run: Any = None) -> PairModels:
    """The two models of a projected pair.

    Args:
      workdir: the folder of the projection.
      step: training step of both models' checkpoints; None: the newest readable ones.
      open_run: not used; a pair names two runs.
    """
    del open_run
    settings = options.read_config(workdir).projection
    places = (options.resolve_path(run, workdir) for run in (settings.target, settings.source))
    target, source = (language_model.load(run, step) for run in places)
    path = os.path.join(workdir, projected.FILE)
    projection = projected.load(path, source.objective, source.tokenizer.language_id)
    source = dataclasses.replace(source, projection=projection)
    return PairModels({model.languages[0]: model for model in (target, source)})
