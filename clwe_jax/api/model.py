"""A loaded model of any kind, with the methods of all."""

from __future__ import annotations

import functools
from typing import Any, Iterable, Sequence, overload

import numpy as np

from clwe_jax import terminal
from clwe_jax.align import search
from clwe_jax.align.documents import Bead
from clwe_jax.api import two_texts
from clwe_jax.api.answers import WordTranslation, WordLink
from clwe_jax.api.capabilities import Capabilities
from clwe_jax.api.special import SpecialMethods
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import loaded as kinds
from clwe_jax.encoders.checks import check_count, check_strings, check_texts
from clwe_jax.encoders.encode import Layer, select
from clwe_jax.encoders.nearest import Neighbour
from clwe_jax.text.vocab.tokenizer import Tokenizer


class Model(SpecialMethods):
    """A model that `api.load` returns: language models, static vectors, pairs of models, labellers.

    All have the same methods. One that a kind of model lacks raises a ValueError that names another
    method, or the config that trains a model which has it.

    Attributes:
      loaded: the model's data: an `encoders.language_model.LanguageModel`,
        `encoders.spaces.StaticSpaces`, `encoders.pair.PairModels`, ..., or a
        `transfer.loaded.TrainedLabeller`.
      languages: the languages of the model.
      tokenizer: cuts text into the model's pieces; None for static vectors and several models.
    """

    def __init__(self, loaded: kinds.LoadedEncoder | kinds.LabelsText):
        self.loaded = loaded
        self.languages: tuple[str, ...] = loaded.languages
        self.tokenizer: Tokenizer | None = loaded.tokenizer
        self._can = Capabilities(loaded)  # checks what the kind of model can do

    def __repr__(self) -> str:
        return f"Model({self.loaded!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """The data; what was computed is computed again in another process."""
        return Model, (self.loaded,)

    @functools.cached_property
    def dim(self) -> int:
        """The number of dimensions of a vector; the first call encodes a text."""
        self._can.need(kinds.LoadedEncoder, "dim")
        return self.encode(["a"], self.languages[0]).shape[-1]

    def encoder(self) -> kinds.PoolsTexts:
        """A new encoder of text to vectors by layer (`protocols.Encoder`), which evaluators take."""
        return self._can.need(kinds.LoadedEncoder, "encoder").encoder()

    @overload
    def encode(
        self,
        texts: Iterable[str],
        lang: str,
        layer: Layer | None = ...,
        pool: str = ...,
        normalize: bool = ...,
        batch_size: int = ...,
        show_progress: bool | None = ...,
    ) -> np.ndarray: ...
    @overload
    def encode(
        self,
        texts: Iterable[str],
        lang: str,
        layer: Layer | None = ...,
        *,
        pool: None,
        normalize: bool = ...,
        batch_size: int = ...,
        show_progress: bool | None = ...,
    ) -> list[np.ndarray]: ...
    def encode(
        self,
        texts: Iterable[str],
        lang: str,
        layer: Layer | None = None,
        pool: str | None = "own",
        normalize: bool = False,
        batch_size: int = kinds.BATCH,
        show_progress: bool | None = None,
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of sentences. A sentence longer than the model's rows is cut, with a warning.

        Args:
          texts, lang: sentences and their language.
          layer: a layer's number, 0 for the embeddings; 'mean_last4', the mean over the last four; 'all', the
            vectors of all layers. None: with pool='own' the layer that the folder of a downloaded model
            names, else 'mean_last4'. Static vectors are layer 0.
          pool: how the vectors of a sentence's pieces (of its words, for static vectors) become one. 'own':
            as the folder of a downloaded model says, if `layer` is None; for a run that has counted the words
            of its text 'sif' of a language model and 'information' of static vectors; else 'mean'. 'mean':
            their mean, or the model's own pooling. 'sif' and 'information': their mean with the weights
            a / (a + p), a = .001, or (-log p)^1.5, where p is the share of a word in the text. None: a vector for each piece (or word) is returned.
          normalize: whether vectors get length 1, so that `x @ y.T` holds cosines.
          batch_size: rows that a language model computes at once.
          show_progress: whether a line on stderr shows how many texts are done; None: on a terminal.

        Returns:
          float32 [N, D]; with pool=None a list of [pieces, D]. With layer='all' the last axis [D]
          becomes [1 + layers, D], the embeddings first.

        Raises:
          ValueError: an unknown language (the nearest one is named), layer or kind of pooling, or
            weights for a run that has kept no counts of words.
        """
        check_count(batch_size=batch_size)
        is_own_pool = layer is None and pool == "own"
        encoder = self._can.encoder("encode", batch_size, is_own_pool, lang=lang)
        reduce = functools.partial(select, layer=layer)
        with terminal.progress(show_progress):
            encoded = encoder.pool_texts(check_texts(texts), lang, pool, reduce)
        if normalize and pool is None:
            return [np.asarray(search.unit(vectors)) for vectors in encoded]
        return np.asarray(search.unit(encoded)) if normalize else encoded

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector in context.

        A language model's is the mean over the word's pieces; zeros for a word without a static vector.

        Args:
          text, lang: a text of any length, and its language.
          layer: as for `encode`.

        Returns:
          Pairs of a normalised word and its vector, float32 [D] (with layer='all' [layers + 1, D]).

        Raises:
          ValueError: an unknown language or layer.
        """
        encoder = self._can.encoder("words", lang=lang)
        check_strings(text=text)
        [(words, vectors)] = encoder.in_context([text], lang)
        return list(zip(words, select(vectors, layer)))

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors without context, most frequent first.

        Raises:
          ValueError: an unknown language or layer, or a run without a list of frequent words.
        """
        return self._can.need(kinds.LoadedEncoder, "vectors", lang=lang).vectors(lang, layer)

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D].

        A word that static vectors lack has one from its spelling where the run trained such vectors.

        Raises:
          ValueError: an unknown language or layer, a word without a static vector (the message
            names similar ones) or, for a language model, without letters.
        """
        return self._can.need(kinds.LoadedEncoder, "vector", lang=lang).vector(word, lang, layer)

    def knows(self, word: str, lang: str) -> bool:
        """Whether the model has learned a word as such: it is frequent or in the vocabulary."""
        return self._can.need(kinds.SearchesWords, "knows", lang=lang).knows(word, lang)

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str | None = None,
    ) -> list[Neighbour]:
        """The words nearest to a word without context, among the frequent words of each language.

        A static run gives a word's entries in its training dictionary first. The first call is slow.

        Args:
          word, lang: a word (for a language model also several, which are averaged), its language.
          k: maximum number of neighbours.
          to: the language to search; None: all languages.
          layer: as for `encode`, without 'all'.
          method: 'csls', 'cosine' or 'inverted_softmax'. None: scores are cosines, which alone are comparable
            between languages; a language model chooses the words of each language by 'csls'.

        Returns:
          The neighbours without the word itself, the best first. A warning in the log says that a
          language model does not know the word, as `knows` does.

        Raises:
          ValueError: an unknown language, method or layer, a word without letters or without a static
            vector, or a run without a list of frequent words.
        """
        searched_lang = lang if to is None else to
        loaded = self._can.need(kinds.SearchesWords, "neighbours", lang=lang, to=searched_lang)
        options = {} if method is None else {"method": method}  # else the kind's own default
        return loaded.neighbours(word, lang, k, to, layer, **options)

    def translate(
        self,
        word: str,
        lang: str | None = None,
        to: str | None = None,
        k: int = 5,
        method: str = "csls",
    ) -> list[WordTranslation]:
        """The words of another language nearest to a word, best first.

        `translate_in_context` chooses by the senses of the word, and `translate_sentence` writes a sentence, where
        the model can. A score of 'csls' is twice the cosine, less the mean cosines of both words with their ten
        nearest ones: it may be below 0.

        Args:
          lang, to: the word's language, and that of the translations. Give both: a message lists the languages.
          k: maximum number of translations.
          method: 'csls', 'cosine' (or 'nn') or 'inverted_softmax'.

        Raises:
          ValueError: a missing or unknown language, an unknown method, a word without a vector, or `to` is `lang`.
        """
        self._can.need(kinds.SearchesWords, "translate", lang=lang, to=to)
        check_strings(word=word)
        if lang == to:
            others = ", ".join(x for x in self.languages if x != lang)
            raise ValueError(
                f"to={to!r} is the word's own language: name another one of {others}, or call "
                f"neighbours({word!r}, lang={lang!r})"
            )
        neighbours = self.neighbours(word, lang, k, to, method=method)
        return [WordTranslation(near.word, near.score) for near in neighbours]

    def similarity(
        self, a: str, b: str, lang: str, to: str | None = None, layer: Layer | None = None
    ) -> float:
        """The cosine of two sentences (or words), `b` in the language `to` (None: the same).

        Compare it only with pairs of the same two languages, because a language model's vectors
        contain the mean of their language.
        """
        to = lang if to is None else to
        self._can.encoder("similarity", lang=lang, to=to)
        check_strings(a=a, b=b)
        [x] = self.encode([a], lang, layer, normalize=True)
        [y] = self.encode([b], to, layer, normalize=True)
        return float(x @ y)

    def align(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str],
        lang: str,
        to: str,
        layers: int | str = "",
        **options: Any,
    ) -> list[WordLink]:
        """The words of a sentence with their translations in a translation of it.

        Args:
          source, target: the sentences, which are cut into words as the model cuts text; or sequences
            of words, which are not cut.
          lang, to: their languages.
          layers: a layer's number, a range such as '5-7', 'mean_last4'; '': the layer at two thirds
            of the depth.
          **options: the other fields of `word_alignment.WordAligner`: method='itermax', ...; and
            words='spaces', with which a sentence's words are those between its spaces: each has the
            links of the words that the model finds in it.

        Returns:
          The links by their places; a word may have none or several.

        Raises:
          ValueError: an unknown language, option or layer.
        """
        return self.align_all([source], [target], lang, to, layers, **options)[0]

    def align_all(
        self,
        sources: Sequence[str] | Sequence[Sequence[str]],
        targets: Sequence[str] | Sequence[Sequence[str]],
        lang: str,
        to: str,
        layers: int | str = "",
        **options: Any,
    ) -> list[list[WordLink]]:
        """The links of many pairs of sentences, which are encoded together; arguments as of `align`.

        Raises:
          ValueError: as of `align`, or other numbers of sources and targets.
        """
        encoder = self._can.encoder("align", lang=lang, to=to)
        return two_texts.link_words(encoder, sources, targets, (lang, to), layers, **options)

    def mine(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str, least: float = 1.05
    ) -> list[tuple[int, int, float]]:
        """The translations among the texts of two languages, by the ratio margin.

        The margin is a pair's cosine over the mean cosine of both texts with their nearest ones
        (Artetxe and Schwenk 2019b, section 3).
        Texts that differ in case, punctuation, white space or a leading number of a list ('2. ') alone count once.

        Args:
          texts, lang, others, to: the sentences of two languages, and their languages.
          least: smallest margin of a pair.

        Returns:
          Places of a text and of its translation, and their margin, the best first; of equal texts
          the place of the first.

        Raises:
          ValueError: an unknown language, or no sentences.
        """
        self._can.encoder("mine", lang=lang, to=to)
        return two_texts.mine(self.encode, texts, lang, others, to, least)

    def align_documents(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str
    ) -> list[Bead]:
        """The sentences of two documents that translate each other, in their order.

        Up to three sentences may translate one, and two two; others have no translation (Vecalign;
        Thompson and Koehn 2019).

        Args:
          texts, lang, others, to: the sentences of two documents in their order, and their languages.

        Returns:
          Places of the texts and of their translations, ranges, and the score of each bead.

        Raises:
          ValueError: an unknown language, or no sentences.
        """
        self._can.encoder("align_documents", lang=lang, to=to)
        return two_texts.align_documents(self.encode, texts, lang, others, to)
