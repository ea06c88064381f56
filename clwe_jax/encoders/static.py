"""Static word vectors as an encoder."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Callable, Container, Iterable, Mapping, Protocol, Sequence

import numpy as np
from scipy import sparse

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.checks import choose_pool
from clwe_jax.encoders.encode import Reduce, WordLists
from clwe_jax.encoders.protocols import WordSample, WordSpace
from clwe_jax.text.corpus.frequencies import INFORMATION, Frequencies

_MARKS = "'·"  # inside words


class VectorSpaces(Protocol):
    """Vectors of several languages, such as `spaces.StaticSpaces`."""

    languages: tuple[str, ...]

    def common_vectors(self, language: str) -> Vectors:
        """The words of a language in the common space, most frequent first; float32, or a narrower type
        of which rows become float32 (float16, `embeddings.packed`)."""

    def space(self, source: str, target: str) -> tuple[Vectors, Vectors]:
        """The words of two languages in the space where their aligner compares them, as `common_vectors`."""


@dataclasses.dataclass(frozen=True, eq=False)
class StaticEncoder:
    """Static vectors: a sentence is the weighted mean of its words' vectors (`loaded.PoolsTexts`).

    A word weighs its information, -log p, to the power 1.5, by its share p of the run's text. All words weigh the same
    where the counts are not known.

    Attributes:
      spaces: vectors of all languages.
      split: (text, language) -> the text's words, spelled as the vectors' words.
      pair: language -> its vectors in the space of two languages, as `pairwise_space` sets it; None: the space of all.
      frequencies: counts of words in the run's text; None where they are not known.
      spell_words: (words, language) -> vectors of words that have none, float32 [words, D]; None: there are no such
        vectors. They are given where no map separates the languages, so that they fit the vectors of `pair` too.
      as_words: vectors of words -> those by which single words are compared, in which guesses from spelling
        are shorter, float32 [words, D] (`ngrams.Spelling.as_words`).
    """

    spaces: VectorSpaces
    split: Callable[[str, str], Sequence[str]]
    pair: Mapping[str, Vectors] | None = None
    frequencies: Frequencies | None = None
    spell_words: Callable[[Sequence[str], str], np.ndarray] | None = None
    as_words: Callable[[np.ndarray], np.ndarray] = lambda rows: np.asarray(rows, np.float32)
    layers = 1

    @property
    def sentence_reading(self) -> str:
        """How a sentence's vector is made (`encode.SaysReading`)."""
        weighted = ", weighted by their information" if self.frequencies is not None else ""
        return f"the mean of the words{weighted}"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have vectors."""
        return tuple(self.spaces.languages if self.pair is None else self.pair)

    def pairwise_space(self, source: str, target: str) -> StaticEncoder:
        """The encoder of two languages in the space where their aligner compares them."""
        pair = dict(zip((source, target), self.spaces.space(source, target)))
        return dataclasses.replace(self, pair=pair)

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text."""
        return list(self.split(text, language))

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, 1, D]: as `pool_texts` by the pool 'own'; a text without a known word has zeros."""
        return self.pool_texts(texts, language, "own")

    def pool_texts(
        self, texts: Sequence[str], language: str, pool: str | None, reduce: Reduce = np.asarray
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of texts by a pool; words without a vector are left out."""
        pool = choose_pool(pool, "word", [] if self.frequencies is None else [INFORMATION])
        sentences = [self.words(text, language) for text in texts]
        vectors = self._take_words(sentences, language)
        if pool is None:
            rows = [vectors.rows(words) for words in sentences]
            parts = [np.asarray(vectors.vectors[x[x >= 0]], np.float32) for x in rows]
            return [reduce(part[:, None]) for part in parts]
        weights = {} if pool == "mean" else self.frequencies.word_weights(language, INFORMATION)
        return reduce(weighted_means(sentences, vectors, weights)[:, None])

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector, their own or by their spelling."""
        sentences = [self.words(text, language) for text in texts]
        index = self._take_words(sentences, language).index
        has_vector = [word in index for word in itertools.chain.from_iterable(sentences)]
        return sum(has_vector) / max(1, len(has_vector))

    def in_context(self, texts: Sequence[str], language: str) -> list[tuple[list[str], np.ndarray]]:
        """The words of each text with their vectors; those without one have zeros."""
        sentences = [self.words(text, language) for text in texts]
        texts_in_context = []
        vectors = self._take_words(sentences, language)
        for words in sentences:
            rows = vectors.rows(words)
            word_vectors = np.zeros((len(words), vectors.dim), np.float32)
            word_vectors[rows >= 0] = vectors.vectors[rows[rows >= 0]]
            texts_in_context.append((words, word_vectors[:, None]))
        return texts_in_context

    def of_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[np.ndarray]:
        """The vectors of given words, zeros for a word without one; `pool` has no effect.

        A word that has no vector as it is written is the mean of the words that `split` finds in it.
        No vector is guessed from spelling here: labels of single words lose by it, or gain nothing.
        """
        places = {word: n for n, word in enumerate(dict.fromkeys(itertools.chain(*sentences)))}
        vectors = self._means(list(places), language, np.asarray)
        return [reduce(vectors[[places[x] for x in words]][:, None]) for words in sentences]

    def compared_words(self, words: Sequence[str], language: str) -> np.ndarray:
        """Vectors by which single words are compared; zeros for a word without one."""
        return self._means(words, language, self.as_words)[:, None]

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """The first `sample.max_words` words of a language, and the wanted ones among the others."""
        vectors = self._vectors(language)
        frequent = len(vectors.top(sample.max_words))
        # An unknown word has the row -1, which the comparison below leaves out too.
        rows = np.unique(vectors.rows(wanted))
        rows = np.concatenate([np.arange(frequent), rows[rows >= frequent]])
        subset = vectors.take(rows)
        compared = self.as_words(subset.vectors)[:, None]
        return WordSpace(subset.words, compared, frequent, keys=subset.keys or ())

    def _means(
        self, words: Sequence[str], language: str, change: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The mean of the vectors of each word's parts, after `change`: float32 [words, D].

        A word that has a vector as it is written is its only part; a word without parts has zeros.
        """
        vectors = self._vectors(language)
        means = np.zeros((len(words), vectors.dim), np.float32)
        for place, word in enumerate(words):
            parts = [word] if word in vectors.index else self.words(word, language)
            rows = [vectors.index[part] for part in parts if part in vectors.index]
            if rows:
                means[place] = change(vectors.vectors[rows]).mean(0, dtype=np.float32)
        return means

    def _take_words(self, sentences: Iterable[Sequence[str]], language: str) -> Vectors:
        """The vectors of the sentences' words, those from their spelling with them."""
        vectors = self._vectors(language)
        if self.spell_words is None:
            return vectors
        words = itertools.chain.from_iterable(sentences)
        return add_spelled(vectors, words, lambda unknown: self.spell_words(unknown, language))

    def _vectors(self, language: str) -> Vectors:
        return self.spaces.common_vectors(language) if self.pair is None else self.pair[language]


@dataclasses.dataclass(frozen=True)
class SpellingCache:
    """Vectors of words by their spelling, which keeps those of the last words of each language.

    An evaluation asks for the same sentences, or nearly the same, with every other language.

    Attributes:
      make: (words, language) -> vectors, float32 [words, D].
    """

    make: Callable[[Sequence[str], str], np.ndarray]
    _last: dict[str, dict[str, np.ndarray]] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    def __call__(self, words: Sequence[str], language: str) -> np.ndarray:
        """float32 [words, D], of one word at least."""
        word_vectors = self._last.get(language, {})
        new_words = [word for word in words if word not in word_vectors]
        if new_words:
            word_vectors = word_vectors | dict(zip(new_words, self.make(new_words, language)))
        self._last[language] = {word: word_vectors[word] for word in words}
        return np.stack([word_vectors[word] for word in words])


def known_parts(word: str, index: Container[str]) -> list[str]:
    """A word of text, as the vectors have it: as it is, in small letters, or cut at the marks inside it.

    Files of other programs may have "don" and "t" for don't.
    """
    small = word if word in index else word.lower()
    if small in index or not any(mark in word for mark in _MARKS):
        return [small]
    parts = (part if part in index else part.lower() for part in re.split(f"([{_MARKS}])", word))
    parts = [part for part in parts if part]
    any_known = any(part in index for part in parts if part not in _MARKS)
    return parts if any_known else [small]


def add_spelled(
    vectors: Vectors, words: Iterable[str], spell: Callable[[Sequence[str]], np.ndarray]
) -> Vectors:
    """The vectors of these words alone, in the order of strings: their own, or that of `spell`.

    Words that `spell` knows nothing of, for which it has zeros, are left out.
    """
    words = sorted(set(words))
    vector_rows = vectors.rows(words)
    rows = np.zeros((len(words), vectors.dim), np.float32)
    rows[vector_rows >= 0] = vectors.vectors[vector_rows[vector_rows >= 0]]
    missing_rows = np.flatnonzero(vector_rows < 0)
    if len(missing_rows):
        rows[missing_rows] = spell([words[place] for place in missing_rows.tolist()])
    has_vector = (vector_rows >= 0) | rows.any(1)
    return Vectors([word for word, kept in zip(words, has_vector) if kept], rows[has_vector])


def weighted_means(
    sentences: WordLists, vectors: Vectors, weights: Mapping[str, float]
) -> np.ndarray:
    """The weighted mean of the vectors of each sentence's words.

    Args:
      sentences: N lists of words.
      vectors: vectors of the language, [V, D]; words without a vector are ignored.
      weights: word -> weight; a word that is absent weighs 1.

    Returns:
      float32 [N, D]: the unweighted mean where all weights are 0, zeros for a sentence without a
      known word.
    """
    rows = vectors.rows(itertools.chain.from_iterable(sentences))
    has_vector = rows >= 0
    weight = np.ones(len(rows), np.float32)
    if weights:
        words = itertools.chain.from_iterable(sentences)
        weight = np.fromiter((weights.get(word, 1.0) for word in words), np.float32, len(rows))
    # The sentence of each known word, rising: the order that the sparse matrix needs.
    lines = np.repeat(np.arange(len(sentences)), list(map(len, sentences)))[has_vector]
    rows = rows[has_vector]
    weight = weight[has_vector]
    totals = np.bincount(lines, weight, len(sentences))
    weight = np.where(totals[lines] > 0, weight, 1)
    totals = np.where(totals > 0, totals, np.bincount(lines, minlength=len(sentences)))
    used_rows, columns = np.unique(rows, return_inverse=True)
    splits = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=len(sentences)))])
    shares = (weight / totals[lines]).astype(np.float32)
    # [N, used words]: rows of a narrower type become float32 only where they are used.
    matrix = sparse.csr_matrix((shares, columns, splits), (len(sentences), len(used_rows)))
    return matrix @ np.asarray(vectors.vectors[used_rows], np.float32)
