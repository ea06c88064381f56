"""Use a trained model: vectors of sentences and of words in context, and nearest words.

    from clwe_jax import api

    model = api.load("runs/dict_mlm_50")
    vectors = model.encode(["Die Bank ist geschlossen."], lang="de")
    for word, vector in model.words("The bank is closed.", lang="en"):
        ...
    for word, language, score in model.neighbours("bank", lang="en", to="de"):
        ...

A model with senses also has the methods `senses` and `translate` (see `api.senses`); static vectors
have the methods `translate_word`, `neighbours` and `vectors` (see `api.static`).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from typing import Any, Mapping, NamedTuple, Sequence

from absl import logging
import jax
from ml_collections import ConfigDict
import numpy as np

from clwe_jax import config as options
from clwe_jax.api import senses as sense_api
from clwe_jax.api.texts import Texts, texts_of
from clwe_jax.align import csls, search
from clwe_jax.evaluate.encode import MEAN_LAST4, Layer, select_layer
from clwe_jax.evaluate.model_encoder import POOLS, ModelEncoder
from clwe_jax.models.senses.state import SenseState
from clwe_jax.objectives import projected
from clwe_jax.text import frequencies
from clwe_jax.text.frequencies import FILE, Frequencies
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.text.base_vocab import Vocabulary
from clwe_jax.training import build, checkpoint, finish, partition
from clwe_jax.types import Objective, Variables

_SEVERAL = 1_000  # the log names the encoding of at least so many words
_TEXT_BYTES = 4 << 20  # bytes of each language's text that are searched for examples of senses


class Neighbour(NamedTuple):
    """A word near another word; `score` is the cosine of their vectors, centered by language."""

    word: str
    language: str
    score: float


@dataclasses.dataclass(eq=False)
class Model:
    """A trained model with its tokenizer.

    Attributes:
      config: the run's config.
      tokenizer: the run's tokenizer.
      objective: the run's objective with its model, without projection.
      variables: the parameters; 'senses' and 'translations' where the model has them.
      frequent: language -> the frequent words that `neighbours` and `senses` search.
      texts: language -> lines of text, for examples of senses; None for a run without text.
      projection: the objective with the maps of a projected run; None for other runs.
      frequencies: counts of the words of the run's text, which the pooling 'sif' needs; None where
        the run has kept none.
    """

    config: ConfigDict
    tokenizer: Tokenizer
    objective: Objective
    variables: Variables
    frequent: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    texts: Texts | None = None
    projection: projected.Projected | None = None
    frequencies: Frequencies | None = None
    _indices: dict[tuple[str, Layer], _Index] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the model was trained on."""
        return tuple(self.tokenizer.languages)

    @property
    def vocabulary(self) -> Vocabulary:
        """The word pieces."""
        return self.tokenizer.vocabulary

    def encode(
        self,
        texts: Sequence[str],
        lang: str,
        layer: Layer | None = None,
        pool: str | None = "mean",
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of sentences. A sentence longer than the model's rows is cut, with a warning.

        Args:
          texts: sentences.
          lang: their language.
          layer: number of a layer, 0 for the embeddings; 'mean_last4' (or None): the mean over the
            last four layers; 'all': the vectors of all layers.
          pool: 'mean': one vector for each sentence, the mean over its pieces; 'sif': the mean in
            which a piece weighs a / (a + p), with a = 1e-3 and p its share in the run's text, often
            better for retrieval; None: one vector for each piece.

        Returns:
          float32 [N, D]; with pool=None a list of [pieces, D]. With layer='all' the last axis [D]
          becomes [layers + 1, D].

        Raises:
          ValueError: an unknown language (the nearest one is named), layer or kind of pooling, or
            'sif' for a run that has kept no counts of words.
        """
        _check_list(texts)
        if pool is None:
            return [_select(vectors, layer) for vectors in self._encoder.pieces(texts, lang)]
        if pool not in POOLS:
            raise ValueError(
                f"pool={pool!r}: expected 'mean', 'sif', or None for a vector of each piece"
            )
        if pool == "mean":
            return _select(self._encoder.sentences(texts, lang), layer)
        if pool not in self._encoder.pools:
            raise ValueError(
                f"pool={pool!r}: this run has kept no counts of words (WORKDIR/{FILE}), as it is "
                "older than they are or its text is in no files: pool='mean'"
            )
        return _select(self._encoder.pooled(texts, lang)[pool], layer)

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector in context: the mean over its pieces.

        A text longer than the model's rows is read in parts; nothing is left out.

        Args:
          text: a text of any length.
          lang: its language.
          layer: as for `encode`.

        Returns:
          Pairs of a normalised word and its vector, float32 [D] (with layer='all' [layers + 1, D]).

        Raises:
          ValueError: an unknown language or layer.
        """
        [(words, vectors)] = self._encoder.in_context([text], lang)
        return list(zip(words, _select(vectors, layer)))

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str = "csls",
    ) -> list[Neighbour]:
        """The words nearest to a word, among the frequent words of each language.

        Every word is encoded without context. The mean vector of its language, which would outweigh
        the meaning, is subtracted. The first call for a language encodes its frequent words.

        Args:
          word: a word, or several words, which are averaged.
          lang: its language.
          k: maximum number of neighbours.
          to: the language to search; None: all languages.
          layer: as for `encode`.
          method: 'csls' or 'cosine', the similarity by which the neighbours are chosen.

        Returns:
          The neighbours without the word itself, largest cosine first.

        Raises:
          ValueError: an unknown language, a word without letters, or a run without a list of
            frequent words.
        """
        for language in (lang, to or lang):
            self.tokenizer.language_id(language)
        own = dict.fromkeys(self.languages, self)
        return nearest_words(own, word, lang, k, to, layer, method)

    def similarity(
        self, a: str, b: str, lang: str, lang_b: str | None = None, layer: Layer | None = None
    ) -> float:
        """The cosine of two sentences (or words), `b` in the language `lang_b` (None: the same).

        Compare it only with pairs of the same two languages, because every vector contains the mean
        of its language.
        """
        return similarity(self, a, b, lang, lang_b, layer)

    def senses(
        self,
        word: str,
        lang: str,
        context: str | None = None,
        k: int = 5,
        direction: str | None = None,
        examples: int = 3,
    ) -> list[sense_api.Sense] | sense_api.Sense:
        """The senses of a word, or its sense in a context.

        Args:
          word: one word of the vocabulary.
          lang: its language.
          context: a text that contains the word; None: all senses of the word are returned.
          k: number of nearest senses in each language.
          direction: 'forward' or 'backward' for a bidirectional model, whose directions have
            separate senses; None: both, or in a context the direction with the larger margin.
          examples: number of lines for each sense, if the run's text is found; 0: no text is read,
            and senses have no translations. Ignored in a context.

        Returns:
          The enabled senses, by direction, the most used ones first; with a context one of them.

        Raises:
          ValueError: a model without senses, an unknown language or direction, a word that is not
            in the vocabulary or not in the context.
        """
        if context is not None:
            return self.sense_view.pick(word, lang, context, k, direction)
        found = self.sense_view.all(word, lang, k, direction, examples)
        return [sense for sense in found if sense.enabled]

    def translate(
        self, word: str, context: str, to: str, lang: str | None = None
    ) -> sense_api.Translated:
        """The translation of a word in a context; see `sense_api.SenseView.translate`."""
        return self.sense_view.translate(word, context, to, lang)

    @functools.cached_property
    def sense_view(self) -> sense_api.SenseView:
        """The model's senses; ValueError for a model without senses."""
        return sense_api.SenseView(
            self.objective, self.tokenizer, self.variables, self.frequent, self.texts
        )

    def encoder(self) -> ModelEncoder:
        """The model as an encoder of text (`types.Encoder`)."""
        return ModelEncoder(
            self.projection or self.objective, self.tokenizer, self.variables,
            frequencies=self.frequencies,
        )  # fmt: skip

    @functools.cached_property
    def _encoder(self) -> ModelEncoder:
        return self.encoder()

    def _index(self, language: str, layer: Layer) -> "_Index":
        if (language, layer) not in self._indices:
            words = self.frequent.get(language)
            if not words:
                raise ValueError(
                    f"This run has no list of frequent words in {language!r}: its folder lacks "
                    "words.json, or the file lacks the language"
                )
            if len(words) >= _SEVERAL:
                logging.info("encoding %d words (%s)", len(words), language)
            vectors = _select(self._encoder.sentences(words, language), layer)
            mean = vectors.mean(0)
            self._indices[language, layer] = _Index(words, vectors - mean, mean)
        return self._indices[language, layer]


@dataclasses.dataclass(frozen=True)
class _Index:
    """W words of a language, their centered vectors [W, D], and the subtracted mean [D]."""

    words: Sequence[str]
    vectors: np.ndarray
    mean: np.ndarray


def nearest_words(
    models: Mapping[str, Model],
    word: str,
    lang: str,
    k: int,
    to: str | None,
    layer: Layer | None,
    method: str,
) -> list[Neighbour]:
    """`Model.neighbours` for models whose vectors lie in one space.

    Args:
      models: language -> the model that encodes it.
      word, lang, k, to, layer, method: as for `Model.neighbours`.

    Raises:
      ValueError: as for `Model.neighbours`.
    """
    layer = MEAN_LAST4 if layer is None else layer
    own = " ".join(models[lang].tokenizer.words(word, lang))
    if not own:
        raise ValueError(f"{word!r} holds no word: give one with letters or digits")
    here = models[lang]._index(lang, layer)
    query = models[lang].encode([own], lang, layer) - here.mean
    found = []
    for language in models if to is None else (to,):
        if to is None and not models[language].frequent.get(language):
            continue
        there = models[language]._index(language, layer)
        most = min(k + 1, len(there.words))  # one more: the word itself may be among them
        places, _ = csls.nearest(query, there.vectors, most, method, pool=there.vectors)
        places = np.asarray(places)[0]
        cosines = np.asarray(search.unit(there.vectors[places]) @ search.unit(query)[0])
        near = [
            Neighbour(there.words[place], language, float(cosine))
            for place, cosine in zip(places, cosines)
            if (there.words[place], language) != (own, lang)
        ]
        found += near[:k]
    return sorted(found, key=lambda near: -near.score)[:k]


def similarity(
    model: Any, a: str, b: str, lang: str, lang_b: str | None, layer: Layer | None
) -> float:
    """`Model.similarity` for every `model` with a method `encode`."""
    x, y = (model.encode([t], x, layer)[0] for t, x in ((a, lang), (b, lang_b or lang)))
    return float(search.unit(x) @ search.unit(y))


def load(workdir: str, step: int | None = None) -> Model:
    """The language model in a run's folder; see `api.load`."""
    config = options.read_config(workdir)
    tokenizer = Tokenizer.load(os.path.join(workdir, "vocab"))
    vocabulary = tokenizer.vocabulary
    # The checkpoint has the translations; parameters have the same shapes for any number of them.
    target = _abstract_params(_objective(config, vocabulary, np.full((1, 1, 1), -1)))
    # A step is the pretraining's; without one, the final parameters are loaded.
    folder = finish.final_folder(workdir) if step is None else workdir
    variables, meta = checkpoint.restore_variables(
        folder, target, step, ("senses", "translations")
    )
    expected = {"vocabulary": vocabulary.fingerprint()}
    checkpoint.check_match(
        meta, variables["params"], expected, os.path.join(folder, "checkpoints")
    )
    translations = None
    if "senses" in variables:
        variables["senses"] = {
            name: SenseState(**{"sample": None, **found})
            for name, found in variables["senses"].items()
        }
    if "translations" in variables:
        translations = np.asarray(variables["translations"]["ids"])[: len(vocabulary)]
    objective = _objective(config, vocabulary, translations)
    maps = os.path.join(workdir, projected.FILE)
    projection = None
    if os.path.exists(maps):
        projection = projected.load(maps, objective, tokenizer.language_id)
    frequent = {}
    if os.path.exists(os.path.join(workdir, "words.json")):
        with open(os.path.join(workdir, "words.json"), encoding="utf-8") as file:
            frequent = json.load(file)
    texts = texts_of(config.data.source, workdir, tokenizer.languages, _TEXT_BYTES)
    return Model(
        config, tokenizer, objective, variables, frequent, texts, projection,
        frequencies.load(workdir),
    )  # fmt: skip


def _objective(config: ConfigDict, vocabulary: Vocabulary, translations: Any) -> Objective:
    return build.build_objective(
        config, len(vocabulary.pieces), vocabulary.size, translations, vocabulary.specials
    )


def _abstract_params(objective: Objective) -> Any:
    """Shapes and types of the parameters, placed on the first local device."""
    batch = objective.batch_shapes(1, objective.max_length)
    variables = jax.eval_shape(objective.init, jax.random.key(0), batch)
    place = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place),
        partition.unbox(variables["params"]),
    )


def _select(vectors: np.ndarray, layer: Layer | None) -> np.ndarray:
    if layer == "all":
        return vectors
    return select_layer(vectors, MEAN_LAST4 if layer is None else layer)


def _check_list(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise ValueError("texts: expected a list of sentences, got one string; write [text]")
