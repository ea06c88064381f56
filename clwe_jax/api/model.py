"""Use a trained model: vectors of sentences and of words in context, and nearest words.

    from clwe_jax import api

    model = api.load("runs/dict_mlm_50")
    vectors = model.encode(["Die Bank ist geschlossen."], lang="de")
    for word, vector in model.words("The bank is closed.", lang="en"):
        ...
    for word, language, score in model.neighbours("bank", lang="en", to="de"):
        ...

A model with senses also has the methods `senses` and `translate` (see `api.senses`).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from typing import Any, Mapping, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax import options
from clwe_jax.api import senses as sense_api
from clwe_jax.api.base import Loaded, did_you_mean, lacks_counts, near_words, select
from clwe_jax.api.checks import check_strings
from clwe_jax.api.loaded import Neighbour
from clwe_jax.api.nearest import Index, nearest_words
from clwe_jax.api.texts import Texts, texts_of
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import translate
from clwe_jax.encoders.encode import MEAN_LAST4, Layer
from clwe_jax.encoders.model import POOLS, ModelEncoder
from clwe_jax.models.senses.state import SenseState
from clwe_jax.objectives import projected
from clwe_jax.text import frequencies
from clwe_jax.text.base_vocab import Vocabulary
from clwe_jax.text.frequencies import Frequencies
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.training import build, checkpoint, finish, partition
from clwe_jax.types import Generates, Objective, Variables

_SEVERAL = 1_000  # the log names the encoding of at least so many words
_TEXT_BYTES = 4 << 20  # bytes of each language's text that are searched for examples of senses


@dataclasses.dataclass(eq=False, repr=False)
class Model(Loaded):
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

    config: options.Run
    tokenizer: Tokenizer
    objective: Objective
    variables: Variables
    frequent: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    texts: Texts | None = None
    projection: projected.Projected | None = None
    frequencies: Frequencies | None = None
    _indices: dict[tuple[str, Layer], Index] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the model was trained on."""
        return tuple(self.tokenizer.languages)

    @functools.cached_property
    def dim(self) -> int:
        """The number of dimensions of a vector; the first call encodes a text."""
        return self.encode(["a"], self.languages[0]).shape[-1]

    @property
    def vocabulary(self) -> Vocabulary:
        """The word pieces."""
        return self.tokenizer.vocabulary

    def _encode(
        self, texts: Sequence[str], lang: str, layer: Layer | None, pool: str | None
    ) -> np.ndarray | list[np.ndarray]:
        if pool is None:
            return [select(vectors, layer) for vectors in self._encoder.pieces(texts, lang)]
        if pool not in POOLS:
            raise ValueError(
                f"pool={pool!r}: expected 'mean', 'sif', or None for a vector of each piece"
            )
        if pool == "mean":
            return select(self._encoder.sentences(texts, lang), layer)
        if pool not in self._encoder.pools:
            raise lacks_counts(pool)
        return select(self._encoder.pooled(texts, lang)[pool], layer)

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
        self._check_languages(lang=lang)
        check_strings(text=text)
        [(words, vectors)] = self._encoder.in_context([text], lang)
        return list(zip(words, select(vectors, layer)))

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
          The neighbours without the word itself, largest cosine first. A warning in the log says
          that the model does not know the word (see `knows`).

        Raises:
          ValueError: an unknown language, a word without letters, or a run without a list of
            frequent words.
        """
        self._check_languages(lang=lang, to=lang if to is None else to)
        own = dict.fromkeys(self.languages, self)
        return nearest_words(own, word, lang, k, to, layer, method)

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors without context.

        Raises:
          ValueError: an unknown language or layer, or a run without a list of frequent words.
        """
        self._check_languages(lang=lang)
        index = self.index(lang, MEAN_LAST4 if layer is None else layer)
        return Vectors(index.words, index.vectors + index.mean)

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D].

        Raises:
          ValueError: an unknown language or layer, or a word without letters.
        """
        self._check_languages(lang=lang)
        own = self.asked(word, lang)
        return self.encode([own], lang, layer)[0]

    def knows(self, word: str, lang: str) -> bool:
        """See `LoadedModel.knows`; of several words, whether the model knows all."""
        self._check_languages(lang=lang)
        check_strings(word=word)
        frequent = self.frequent.get(lang, ())
        words = self.tokenizer.words(word, lang)
        return bool(words) and all(x in frequent or self._whole(x) for x in words)

    def _whole(self, word: str) -> bool:
        """Whether one piece of the vocabulary is the word."""
        ids = self.vocabulary.encode_word(word)
        return len(ids) == 1 and ids[0] != self.vocabulary.unk_id

    def asked(self, word: str, lang: str) -> str:
        """The normalised word or words; warns of those that the model does not know.

        Raises:
          ValueError: the word has no letters and no digits.
        """
        check_strings(word=word)
        words = self.tokenizer.words(word, lang)
        if not words:
            raise ValueError(f"{word!r} holds no word: give one with letters or digits")
        frequent = self.frequent.get(lang, ())
        for own in words:
            if not self.knows(own, lang):
                logging.warning(
                    "%r is not in the vocabulary (%s): its vector, made of %s, may say little about "
                    "its meaning.%s",
                    own, lang, self._parts(own), did_you_mean(near_words(own, frequent)),
                )  # fmt: skip
        return " ".join(words)

    def _parts(self, word: str) -> str:
        """The parts that an unknown word's vector is made of."""
        if "characters" in self.objective.batch_shapes(1, self.objective.max_length):
            return "its characters"
        pieces = [self.vocabulary.pieces[i] for i in self.vocabulary.encode_word(word)]
        return f"the pieces {' '.join(pieces)}"

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

    def translate_sentence(
        self, text: str, lang: str, to: str, width: int = 5, penalty: float = 1.0
    ) -> str:
        """The translation of a sentence, in normalised words with spaces between them.

        Args:
          text: a sentence.
          lang, to: its language, and that of the translation.
          width: number of beams; 1: greedy search.
          penalty: exponent of the length in a beam's scores, see `models.decode.beam`.

        Raises:
          ValueError: a model that writes no text, an unknown language, or the same one twice.
        """
        self._check_languages(lang=lang, to=to)
        check_strings(text=text)
        if not isinstance(self.objective, Generates):
            return super().translate_sentence(text, lang, to)
        return translate.translate(self._encoder, [text], lang, to, width, penalty, batch_size=1)[0]

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

    def index(self, language: str, layer: Layer) -> Index:
        """The frequent words of a language with their vectors in a layer, computed once."""
        if (language, layer) not in self._indices:
            words = self.frequent.get(language)
            if not words:
                raise ValueError(
                    f"This model has no list of frequent words in {language!r}: the run's folder "
                    "lacks words.json, or the file lacks the language. A model of Hugging Face takes "
                    f"one from you: api.load(DIR, words={{{language!r}: [...]}})"
                )
            if len(words) >= _SEVERAL:
                logging.info("encoding %d words (%s)", len(words), language)
            vectors = select(self._encoder.sentences(words, language), layer)
            mean = vectors.mean(0)
            self._indices[language, layer] = Index(words, vectors - mean, mean)
        return self._indices[language, layer]


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


def _objective(config: options.Run, vocabulary: Vocabulary, translations: Any) -> Objective:
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
