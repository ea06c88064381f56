"""The methods that every loaded model has, and the checks of their arguments."""

from __future__ import annotations

import abc
import dataclasses
import difflib
import unicodedata
from typing import Any, ClassVar, Iterable, NamedTuple, Sequence

import numpy as np

from clwe_jax.align import mining, search
from clwe_jax.api.checks import check_strings, check_texts, check_type
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.encode import MEAN_LAST4, Layer, select_layer
from clwe_jax.evaluate.word_alignment import WordAligner
from clwe_jax.options.evaluators import METHODS as METHODS_OF_WORDS
from clwe_jax.options.section import check_keys, nearest
from clwe_jax.text.frequencies import FILE
from clwe_jax.types import Encoder

_MOST_SEARCHED = 20_000  # frequent words that are searched for a similar spelling


class Neighbour(NamedTuple):
    """A word near another word.

    Attributes:
      word: the word.
      language: its language.
      score: the cosine of their vectors, which a language model centers by language; for static
        vectors the score of the chosen method.
    """

    word: str
    language: str
    score: float


class Translation(NamedTuple):
    """A candidate translation of a word; `score` as for `Neighbour`."""

    word: str
    score: float


class WordLink(NamedTuple):
    """Two words that translate each other.

    Attributes:
      source, target: the words.
      source_place, target_place: their places in their sentences, from 0.
    """

    source: str
    target: str
    source_place: int
    target_place: int


class Loaded(abc.ABC):
    """A loaded model. A method that a kind of model lacks raises a ValueError that names others.

    Attributes:
      kind: name, in the plural, of a kind of model that has no senses.
    """

    kind: ClassVar[str]

    @property
    @abc.abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages of the model."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shown(self.languages)})"

    def __getstate__(self) -> dict[str, Any]:
        """The fields that a copy in another process gets; the others are computed again."""
        return {x.name: x.default_factory() if not x.init else getattr(self, x.name)
                for x in dataclasses.fields(self)}  # fmt: skip

    def encode(
        self,
        texts: Iterable[str],
        lang: str,
        layer: Layer | None = None,
        pool: str | None = "mean",
        normalize: bool = False,
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of sentences. A sentence longer than the model's rows is cut, with a warning.

        Args:
          texts: sentences.
          lang: their language.
          layer: number of a layer, 0 for the embeddings; 'mean_last4' (or None): the mean over the
            last four layers; 'all': the vectors of all layers. Static vectors have the layer 0.
          pool: 'mean': one vector for each sentence, the mean over its pieces (static vectors: over
            its words with a vector; zeros where it has none); 'sif': the mean in which a piece
            weighs a / (a + p), with a = 1e-3 and p its share in the run's text, often better for
            retrieval; None: one vector for each piece (or word with a vector).
          normalize: whether vectors have length 1, so that inner products are cosines.

        Returns:
          float32 [N, D]; with pool=None a list of [pieces, D]. With layer='all' the last axis [D]
          becomes [layers + 1, D].

        Raises:
          ValueError: an unknown language (the nearest one is named), layer or kind of pooling, or
            'sif' for a run that has kept no counts of words.
        """
        self._check_languages(lang=lang)
        found = self._encode(check_texts(texts), lang, layer, pool)
        if not normalize:
            return found
        if pool is None:
            return [np.asarray(search.unit(vectors)) for vectors in found]
        return np.asarray(search.unit(found))

    @abc.abstractmethod
    def _encode(
        self, texts: Sequence[str], lang: str, layer: Layer | None, pool: str | None
    ) -> np.ndarray | list[np.ndarray]:
        """`encode` for checked sentences and a known language."""

    @abc.abstractmethod
    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector; see `Model.words`."""

    @abc.abstractmethod
    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str = "csls",
    ) -> list[Neighbour]:
        """The words nearest to a word; see `Model.neighbours`."""

    @abc.abstractmethod
    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors, most frequent first."""

    @abc.abstractmethod
    def knows(self, word: str, lang: str) -> bool:
        """Whether the model has learned a word as such: it is frequent or in the vocabulary.

        A language model encodes every other word from its pieces or characters.

        Raises:
          ValueError: an unknown language or an argument of a wrong type.
        """

    @abc.abstractmethod
    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D].

        Raises:
          ValueError: an unknown language or layer; for static vectors, a word without a vector.
        """

    @abc.abstractmethod
    def encoder(self) -> Encoder:
        """The model as an encoder of text (`types.Encoder`)."""

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
          **options: the other fields of `word_alignment.WordAligner`: method='itermax', ...

        Returns:
          The links by their places; a word may have none or several.

        Raises:
          ValueError: an unknown language, option or layer.
        """
        self._check_languages(lang=lang, to=to)
        known = [x.name for x in dataclasses.fields(WordAligner)]
        check_keys(known, options, "align")
        if options.get("method", METHODS_OF_WORDS[0]) not in METHODS_OF_WORDS:
            raise ValueError(
                f"There is no method {options['method']!r}. "
                f"{nearest(str(options['method']), METHODS_OF_WORDS)}"
            )
        model = self.encoder()
        texts: list[list[str]] = []
        for name, text, code in (("source", source, lang), ("target", target, to)):
            words = model.words(text, code) if isinstance(text, str) else list(text)
            check_strings(**{f"{name}[{place}]": word for place, word in enumerate(words)})
            texts.append(words)
        aligner = WordAligner(layers=layers, **options)
        [found] = aligner.align(model, [texts[0]], [texts[1]], (lang, to))
        return [
            WordLink(texts[0][i], texts[1][j], int(i), int(j)) for i, j in np.argwhere(found)
        ]

    def similarity(
        self, a: str, b: str, lang: str, to: str | None = None, layer: Layer | None = None
    ) -> float:
        """The cosine of two sentences (or words), `b` in the language `to` (None: the same).

        Compare it only with pairs of the same two languages, because a language model's vectors
        contain the mean of their language.
        """
        to = lang if to is None else to
        self._check_languages(lang=lang, to=to)
        check_strings(a=a, b=b)
        x, y = (self.encode([t], x, layer, normalize=True)[0] for t, x in ((a, lang), (b, to)))
        return float(x @ y)

    def translate_word(
        self, word: str, lang: str, to: str, k: int = 5, method: str = "csls"
    ) -> list[Translation]:
        """The words of another language nearest to a word, without context, best first.

        Args:
          word: a word.
          lang: its language.
          to: the language of the translations.
          k: maximum number of translations.
          method: 'csls', 'cosine' (or 'nn') or 'inverted_softmax'.

        Raises:
          ValueError: an unknown language or method, a word without a vector, or `to` is `lang`.
        """
        self._check_languages(lang=lang, to=to)
        check_strings(word=word)
        if lang == to:
            others = ", ".join(language for language in self.languages if language != lang)
            raise ValueError(
                f"to={to!r} is the word's own language: name another one of {others}, or call "
                f"neighbours({word!r}, lang={lang!r})"
            )
        found = self.neighbours(word, lang, k, to, method=method)
        return [Translation(near.word, near.score) for near in found]

    def senses(self, word: str, lang: str, context: str | None = None, **options: Any) -> Any:
        """The senses of a word, or its sense in a context; see `Model.senses`."""
        raise self._lacks("senses")

    def translate(self, word: str, context: str, to: str, lang: str | None = None) -> Any:
        """The translation of a word in a context; see `Model.translate`."""
        raise self._lacks("translate")

    def sentence_vectors(self, texts: Sequence[str], lang: str) -> np.ndarray:
        """The encoder's own vectors of sentences, float32 [N, D]; see `Model.sentence_vectors`."""
        return self.encode(texts, lang)

    def mine(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str, least: float = 1.05
    ) -> list[tuple[int, int, float]]:
        """The translations among the texts of two languages, by margin; see `align.mining`.

        Args:
          texts, lang: sentences and their language.
          others, to: sentences among which the translations are searched, and their language.
          least: smallest margin of a pair.

        Returns:
          Places of a text and of its translation, and their margin, the best first.

        Raises:
          ValueError: an unknown language, or no sentences.
        """
        given = check_texts(texts), check_texts(others)
        if not all(given):
            raise ValueError("texts, others: expected sentences on both sides")
        found = mining.mine(
            self.sentence_vectors(given[0], lang), self.sentence_vectors(given[1], to)
        )
        return [(int(i), int(j), float(x)) for i, j, x in zip(*found) if x >= least]

    def translate_sentence(self, text: str, lang: str, to: str, **options: Any) -> str:
        """The translation of a sentence; see `Model.translate_sentence`."""
        raise ValueError(
            "This model writes no text, which the method 'translate_sentence' needs: "
            "configs/laser.py trains a model that translates"
        )

    def tag(self, texts: Sequence[str], lang: str) -> Any:
        """The labels of words; see `TransferModel.tag`."""
        raise _lacks_labels("tag", "ner_bilstm_crf")

    def classify(self, texts: Sequence[Any], lang: str) -> Any:
        """The labels of texts; see `TransferModel.classify`."""
        raise _lacks_labels("classify", "classify_topics")

    def _lacks(self, method: str) -> ValueError:
        return ValueError(
            f"{self.kind} have no senses, which the method {method!r} needs: "
            "neighbours(word, lang=...) and translate_word(word, lang=..., to=...) work without "
            "senses; configs/bi_saelmo_context.py trains a model that has them"
        )

    def _check_languages(self, **codes: Any) -> None:
        """Raises ValueError, which names the argument, unless each is a language of the model."""
        for name, code in codes.items():
            check_type(name, code, str, "the code of a language, such as 'en'")
            if code not in self.languages:
                raise ValueError(
                    f"{name}={code!r} is not a language of this model. "
                    f"{nearest(code, self.languages)}"
                )


def _lacks_labels(method: str, config: str) -> ValueError:
    return ValueError(
        f"This model has learned no labels, which the method {method!r} needs: train a head on it "
        f"with --config=configs/{config}.py --config.encoder=run:DIR, then load that run"
    )


def shown(languages: Sequence[str], most: int = 8) -> str:
    """'en, de, fr', for one line; of many languages the first ones and their number."""
    if len(languages) <= most:
        return ", ".join(languages)
    return f"{', '.join(languages[:most])}, ... {len(languages)} languages"


def select(vectors: np.ndarray, layer: Layer | None) -> np.ndarray:
    """The vectors of a layer, from [..., layers + 1, D]; all of them for the layer 'all'."""
    if isinstance(layer, str) and layer == "all":
        return vectors
    return select_layer(vectors, MEAN_LAST4 if layer is None else layer)


def near_words(word: str, words: Sequence[str], most: int = 3) -> list[str]:
    """The words that are spelled most like a word, the same letters without accents first.

    Args:
      word: a word.
      words: the candidates, most frequent first.
      most: maximum number of words.
    """
    folded = _folded(word)
    same = [other for other in words if _folded(other) == folded and other != word]
    frequent: dict[str, str] = {}
    for other in words[:_MOST_SEARCHED]:
        frequent.setdefault(_folded(other), other)
    close = difflib.get_close_matches(folded, frequent, most, 0.7)
    return list(dict.fromkeys([*same, *(frequent[x] for x in close if frequent[x] != word)]))[:most]


def lacks_counts(pool: str) -> ValueError:
    """The error for a pooling that needs counts of words, which the run has not kept."""
    return ValueError(
        f"pool={pool!r}: this run has kept no counts of words (WORKDIR/{FILE}), because it is older "
        "than they are or its text is in no files: pool='mean'"
    )


def did_you_mean(words: Sequence[str]) -> str:
    """' Did you mean X, Y?', the end of a message; '' without words."""
    return f" Did you mean {', '.join(map(repr, words))}?" if words else ""


def _folded(word: str) -> str:
    """A word in lower case without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(x for x in parts if not unicodedata.combining(x))
