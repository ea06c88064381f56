"""The methods that every loaded model has, with their arguments; imports neither jax nor SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Iterable, NamedTuple, Sequence, overload

if TYPE_CHECKING:
    import numpy as np

    from clwe_jax.align.documents import Bead
    from clwe_jax.embeddings.vectors import Vectors
    from clwe_jax.encoders.nearest import Neighbour

Layer = int | str  # a layer's number (0: the embeddings), 'mean_last4' or 'all'


WORDS = ("spaces", "own")  # words of a text: what stands between spaces, or what the model cuts


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


class LoadedModel:
    """A model that `api.load` returns, of any kind: all have the same methods.

    A method that a kind of model lacks raises a ValueError that names another method, or the config
    that trains a model which has it.
    """

    # Names, in the plural, of this kind, for messages.
    described: ClassVar[str] = "Models of this kind"
    # The end of the message of a method that this kind lacks, unless `_LACKS` has one.
    lacking: ClassVar[str] = "have no method {method!r}"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the model."""
        raise self._lacks("languages")

    @property
    def dim(self) -> int:
        """The number of dimensions of a vector."""
        raise self._lacks("dim")

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
        pool: str | None = "mean",
        normalize: bool = False,
        batch_size: int = 64,
        show_progress: bool | None = None,
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
          batch_size: rows that a language model computes at once; static vectors have no such rows.
          show_progress: whether a line on stderr shows how many texts are done; None: on a terminal.

        Returns:
          float32 [N, D]; with pool=None a list of [pieces, D]. With layer='all' the last axis [D]
          becomes [layers + 1, D].

        Raises:
          ValueError: an unknown language (the nearest one is named), layer or kind of pooling, or
            'sif' for a run that has kept no counts of words.
        """
        raise self._lacks("encode")

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector; see `Model.words`."""
        raise self._lacks("words")

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
        raise self._lacks("neighbours")

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors, most frequent first."""
        raise self._lacks("vectors")

    def knows(self, word: str, lang: str) -> bool:
        """Whether the model has learned a word as such: it is frequent or in the vocabulary.

        A language model encodes every other word from its pieces or characters.

        Raises:
          ValueError: an unknown language or an argument of a wrong type.
        """
        raise self._lacks("knows")

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D].

        Raises:
          ValueError: an unknown language or layer; for static vectors, a word without a vector.
        """
        raise self._lacks("vector")

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
        raise self._lacks("align")

    def align_all(
        self,
        sources: Sequence[str] | Sequence[Sequence[str]],
        targets: Sequence[str] | Sequence[Sequence[str]],
        lang: str,
        to: str,
        layers: int | str = "",
        **options: Any,
    ) -> list[list[WordLink]]:
        """The links of many pairs of sentences, which are encoded together; see `align`."""
        raise self._lacks("align_all")

    def similarity(
        self, a: str, b: str, lang: str, to: str | None = None, layer: Layer | None = None
    ) -> float:
        """The cosine of two sentences (or words), `b` in the language `to` (None: the same).

        Compare it only with pairs of the same two languages, because a language model's vectors
        contain the mean of their language.
        """
        raise self._lacks("similarity")

    def translate_word(
        self, word: str, lang: str, to: str, k: int = 5, method: str = "csls"
    ) -> list[Translation]:
        """The words of another language nearest to a word, without context, best first.

        Args:
          lang: the word's language.
          to: the language of the translations.
          k: maximum number of translations.
          method: 'csls', 'cosine' (or 'nn') or 'inverted_softmax'.

        Raises:
          ValueError: an unknown language or method, a word without a vector, or `to` is `lang`.
        """
        raise self._lacks("translate_word")

    def mine(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str, least: float = 1.05
    ) -> list[tuple[int, int, float]]:
        """The translations among the texts of two languages, by margin; see `align.mining`.

        Texts that differ in case or white space alone count once.

        Args:
          texts, lang: sentences and their language.
          others, to: sentences among which the translations are searched, and their language.
          least: smallest margin of a pair.

        Returns:
          Places of a text and of its translation, and their margin, the best first; of equal texts
          the place of the first.

        Raises:
          ValueError: an unknown language, or no sentences.
        """
        raise self._lacks("mine")

    def align_documents(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str
    ) -> list[Bead]:
        """The sentences of two documents that translate each other, in their order.

        Up to three sentences of one side may translate one of the other, and two two; others have no
        translation. See `align.documents`.

        Args:
          texts, lang: the sentences of a document, in order, and their language.
          others, to: those of the other document, and their language.

        Returns:
          Places of the texts and of their translations, ranges, and the score of each bead.

        Raises:
          ValueError: an unknown language, or no sentences.
        """
        raise self._lacks("align_documents")

    def sentence_vectors(self, texts: Sequence[str], lang: str) -> np.ndarray:
        """The encoder's own vectors of sentences, float32 [N, D]; see `Model.sentence_vectors`."""
        raise self._lacks("sentence_vectors")

    def senses(self, word: str, lang: str, context: str | None = None, **options: Any) -> Any:
        """The senses of a word, or its sense in a context; see `Model.senses`."""
        raise self._lacks("senses")

    def translate(self, word: str, context: str, to: str, lang: str | None = None) -> Any:
        """The translation of a word in a context; see `Model.translate`."""
        raise self._lacks("translate")

    def translate_sentence(self, text: str, lang: str, to: str, **options: Any) -> str:
        """The translation of a sentence; see `Model.translate_sentence`."""
        raise self._lacks("translate_sentence")

    def tag(self, texts: Sequence[str], lang: str) -> list[list[tuple[str, str]]]:
        """The labels of words; see `TransferModel.tag`."""
        raise self._lacks("tag")

    def classify(self, texts: Sequence[Any], lang: str) -> list[str]:
        """The labels of texts; see `TransferModel.classify`."""
        raise self._lacks("classify")

    def label_spans(
        self, rows: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], lang: str
    ) -> list[tuple[str, ...]]:
        """The labels of spans; see `TransferModel.label_spans`."""
        raise self._lacks("label_spans")

    def _lacks(self, method: str) -> ValueError:
        """The error of a method that this kind of model lacks."""
        return ValueError(
            f"{self.described} {_LACKS.get(method, self.lacking).format(method=method)}"
        )


_SENSES = (
    "have no senses, which the method {method!r} needs: neighbours(word, lang=...) and "
    "translate_word(word, lang=..., to=...) work without senses; configs/bi_saelmo_context.py trains a "
    "model that has them"
)
_LABELS = (
    "have learned no labels, which the method {method!r} needs: train a head on it with "
    "--config=configs/%s.py --config.encoder=run:DIR, then load that run"
)
# Method -> the end of the message of models without it.
_LACKS = {
    "senses": _SENSES,
    "translate": _SENSES,
    "translate_sentence": (
        "write no text, which the method {method!r} needs: configs/laser.py trains a model that "
        "translates"
    ),
    "tag": _LABELS % "ner_bilstm_crf",
    "classify": _LABELS % "classify_topics",
    "label_spans": _LABELS % "edge_probing",
}
