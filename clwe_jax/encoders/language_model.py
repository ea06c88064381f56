"""A language model with its tokenizer, as a run's folder or another program's weights hold it."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Mapping, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax import atomic, options
from clwe_jax.align import search
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.checks import check_search, check_strings
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS, Layer, by_layer, select
from clwe_jax.encoders.loaded import BATCH, LoadedEncoder
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.nearest import Index, Neighbour
from clwe_jax.encoders.reading import Reading, ReadingEncoder
from clwe_jax.encoders.sense_view import SenseView
from clwe_jax.encoders.texts import Texts, texts_of
from clwe_jax.models import laser
from clwe_jax.models.senses.state import SenseState
from clwe_jax.objectives import projected
from clwe_jax.text.corpus import frequencies
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.words import spellings
from clwe_jax.text.words.spellings import Spellings
from clwe_jax.text.words.similar_words import did_you_mean, near_words
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, checkpoint, finish, partition
from clwe_jax.types import Objective, Variables

_SEVERAL = 1_000  # the log names the encoding of at least so many words
_TEXT_BYTES = 4 << 20  # bytes of each language's text that are searched for examples of senses


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LanguageModel(LoadedEncoder):
    """A trained model with its tokenizer.

    Attributes:
      config: the run's config.
      tokenizer: the run's tokenizer.
      objective: the run's objective with its model, without projection.
      variables: the parameters; 'senses', 'translations' and 'labels' where the model has them.
      frequent: language -> the frequent words that `neighbours` and `senses` search.
      texts: language -> lines of text, for examples of senses; None for a run without text.
      projection: the objective with the maps of a projected run; None for other runs.
      frequencies: counts of the words of the run's text, which the pool 'sif' needs; None where
        the run has kept none.
      spellings: how words are written that differ from their keys.
      reading: how the authors of a downloaded model make a sentence's vector, where they say it.
    """

    config: options.Run
    tokenizer: Tokenizer
    objective: Objective
    variables: Variables
    frequent: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    texts: Texts | None = None
    projection: projected.Projected | None = None
    frequencies: Frequencies | None = None
    spellings: Spellings = dataclasses.field(default_factory=dict)
    reading: Reading | None = None
    kind_name = "Language models"
    _indices: dict[tuple[str, Layer | None], Index] = dataclasses.field(
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

    @property
    def tunable(self) -> bool:
        """Whether the backbone can be fine-tuned: that of a masked language model, or LASER's."""
        masked = "segment_ids" in self.objective.batch_shapes(1, 8)
        return masked or isinstance(self.objective.model, laser.LaserEncoder)

    def segmenter(self, lang: str) -> Segmenter:
        return self.tokenizer.segmenter

    def with_parameters(self, params: Mapping[str, Any]) -> LanguageModel:
        """The model with other parameters."""
        return dataclasses.replace(self, variables={**self.variables, "params": params})

    def encoder(self, batch_size: int = BATCH) -> ModelEncoder:
        """The model as an encoder of text, which computes `batch_size` rows at once."""
        parts = self.projection or self.objective, self.tokenizer, self.variables
        if self.reading is not None:
            return ReadingEncoder(*parts, reading=self.reading, batch_size=batch_size)
        return ModelEncoder(*parts, frequencies=self.frequencies, batch_size=batch_size)

    @functools.cached_property
    def _encoder(self) -> ModelEncoder:
        return self.encoder()

    @functools.cached_property
    def _layer_encoder(self) -> ModelEncoder:
        return by_layer(self._encoder)

    def sentences(self, texts: Sequence[str], lang: str, layer: Layer | None) -> np.ndarray:
        """Vectors of sentences in a layer, float32 [N, D]."""
        encoder = self._encoder if layer is None else self._layer_encoder
        return encoder.sentences(texts, lang, functools.partial(select, layer=layer))

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors without context."""
        index = self.index(lang, layer)
        # The index is centered for its search; users get the vectors of `encode`.
        return Vectors(index.words, index.vectors + index.mean).with_spellings(index.spellings)

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D]; ValueError for one without letters."""
        return self.sentences([self.normalised_word(word, lang)], lang, layer)[0]

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str | None = None,
    ) -> list[Neighbour]:
        """The words nearest to a word, or to the mean of several; without a method by CSLS, largest cosine first.

        Every word is encoded without context. The mean vector of its language, which would outweigh
        the meaning, is subtracted. The first call for a language encodes its frequent words; a warning
        in the log says that the model does not know the word.

        Raises:
          ValueError: a word without letters, or a run without a list of frequent words.
        """
        models = dict.fromkeys(self.languages, self)
        return nearest_words(models, word, lang, k, to, layer, method)

    def index(self, language: str, layer: Layer | None) -> Index:
        """The frequent words of a language with their vectors in a layer, computed once.

        Raises:
          ValueError: the model has no list of frequent words in the language.
        """
        if (language, layer) not in self._indices:
            words = self.frequent.get(language)
            if not words:
                raise ValueError(
                    f"This model has no list of frequent words in {language!r}: a run needs it in "
                    "words.json, and a model of Hugging Face takes "
                    f"api.load(DIR, words={{{language!r}: [...]}})"
                )
            if len(words) >= _SEVERAL:
                logging.info("encoding %d words (%s)", len(words), language)
            vectors = self.sentences(words, language, layer)
            mean = vectors.mean(0)
            spelled = self.spellings.get(language, {})
            self._indices[language, layer] = Index(words, vectors - mean, mean, spelled)
        return self._indices[language, layer]

    def knows(self, word: str, lang: str) -> bool:
        """Whether the model has learned a word as such, a frequent or whole one; of several words, all."""
        check_strings(word=word)
        frequent = self.frequent.get(lang, ())
        words = self.tokenizer.words(word, lang)
        return bool(words) and all(x in frequent or self.vocabulary.is_piece(x) for x in words)

    def normalised_word(self, word: str, lang: str) -> str:
        """The normalised word or words; warns of those that the model does not know.

        Raises:
          ValueError: the word has no letters and no digits.
        """
        check_strings(word=word)
        words = self.tokenizer.words(word, lang)
        if not words:
            raise ValueError(f"{word!r} holds no word: give one with letters or digits")
        frequent = self.frequent.get(lang, ())
        for part in words:
            if not self.knows(part, lang):
                logging.warning(
                    "%r is not in the vocabulary (%s): its vector, made of %s, may say little about "
                    "its meaning.%s",
                    part,
                    lang,
                    self._parts(part),
                    did_you_mean(near_words(part, frequent)),
                )
        return " ".join(words)

    def _parts(self, word: str) -> str:
        """The parts that an unknown word's vector is made of."""
        if "characters" in self.objective.batch_shapes(1, self.objective.max_length):
            return "its characters"
        pieces = [self.vocabulary.pieces[i] for i in self.vocabulary.encode_word(word)]
        return f"the pieces {' '.join(pieces)}"

    def open_senses(self) -> SenseView:
        """The model's senses; ValueError for a model without senses."""
        return SenseView(self.objective, self.tokenizer, self.variables, self.frequent, self.texts)


def nearest_words(
    models: Mapping[str, LanguageModel],
    word: str,
    lang: str,
    k: int,
    to: str | None,
    layer: Layer | None,
    method: str | None,
) -> list[Neighbour]:
    """`LanguageModel.neighbours` for models whose vectors lie in one space.

    Args:
      models: language -> the model that encodes it.

    Raises:
      ValueError: layer='all', or a word or a language that the model does not know.
    """
    searched = check_search(k, "csls" if method is None else method)
    if layer == "all":
        raise ValueError(
            f"layer='all': neighbours are one layer's, by its number or {MEAN_OF_LAST_LAYERS!r}"
        )
    normalised = models[lang].normalised_word(word, lang)
    start = models[lang].index(lang, layer)
    query = models[lang].sentences([normalised], lang, layer) - start.mean
    neighbours = []
    for language in models if to is None else (to,):
        if to is None and not models[language].frequent.get(language):
            continue
        index = models[language].index(language, layer)
        count = min(k + 1, len(index.words))  # one more: the word itself may be among them
        places, scores = index.retriever(searched).nearest(query[0], count)
        if method is None:  # languages are compared, which the scores of CSLS are not made for
            scores = np.asarray(search.unit(index.vectors[places]) @ search.unit(query)[0])
        near = [
            Neighbour(index.spelling_of(index.words[place]), language, float(score))
            for place, score in zip(places, scores)
            if (index.words[place], language) != (normalised, lang)
        ]
        neighbours += near[:k]
    return sorted(neighbours, key=lambda near: -near.score)[:k]


def load(workdir: str, step: int | None = None, open_run: Any = None) -> LanguageModel:
    """The language model in a run's folder; `step` as for `api.load`, `open_run` has no effect."""
    del open_run
    config = options.read_config(workdir)
    tokenizer = Tokenizer.load(os.path.join(workdir, "vocab"))
    vocabulary = tokenizer.vocabulary
    # The checkpoint has the translations; parameters have the same shapes for any number of them.
    target = _abstract_params(_objective(config, vocabulary, np.full((1, 1, 1), -1)))
    # A step is the pretraining's; without one, the final parameters are loaded.
    folder = finish.final_folder(workdir) if step is None else workdir
    collections = ("senses", "translations", "labels")
    variables, meta = checkpoint.restore_variables(folder, target, step, collections)
    expected = {"vocabulary": vocabulary.fingerprint()}
    checkpoint.check_match(meta, variables["params"], expected, os.path.join(folder, "checkpoints"))
    translations = None
    if "senses" in variables:
        variables["senses"] = {
            # The checkpoint of a state without samples has no such array.
            name: SenseState(**{"sample": None, **arrays})
            for name, arrays in variables["senses"].items()
        }
    if "translations" in variables:
        translations = np.asarray(variables["translations"]["ids"])[: len(vocabulary)]
    labels = None
    if "labels" in variables:
        labels = LabelTable(**{x: np.asarray(y) for x, y in variables["labels"].items()})
    objective = _objective(config, vocabulary, translations, labels)
    maps = os.path.join(workdir, projected.FILE)
    projection = None
    if os.path.exists(maps):
        projection = projected.load(maps, objective, tokenizer.language_id)
    frequent = {}
    if os.path.exists(os.path.join(workdir, "words.json")):
        frequent = atomic.read_json(os.path.join(workdir, "words.json"))
    texts = texts_of(config.data.source, workdir, tokenizer.languages, _TEXT_BYTES)
    return LanguageModel(
        config,
        tokenizer,
        objective,
        variables,
        frequent,
        texts,
        projection,
        frequencies.load(workdir),
        spellings.load(workdir),
    )


def _objective(
    config: options.Run, vocabulary: Vocabulary, translations: Any, labels: LabelTable | None = None
) -> Objective:
    size = len(vocabulary.pieces)
    return build.build_objective(
        config, size, vocabulary.size, translations, vocabulary.specials, labels
    )


def _abstract_params(objective: Objective) -> Any:
    """Shapes and types of the parameters, placed on the first local device."""
    batch = objective.batch_shapes(1, objective.max_length)
    variables = jax.eval_shape(objective.init, jax.random.key(0), batch)
    # The shardings of the checkpoint name the training's devices, which may be absent here.
    place = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place),
        partition.unbox(variables["params"]),
    )
