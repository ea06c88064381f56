"""The words of a dictionary and of a text, what connects them, and the vectors that follow from it.

A word of the hub language (English, where the dictionary has it) has a random direction, at right
angles to as many others as there are dimensions; a word of
another language is the mean of its translations into the hub language. Frequent translations weigh
more, synonyms of the hub language approach each other, a string that the texts of several languages
have is one word, and a word that the dictionary lacks follows from its n-grams (`ngrams`): mostly it
is another form of a known word. CountedLinks that were counted in translated sentences (`embeddings.mining`)
add to the dictionary. The method is this project's own.
"""

from __future__ import annotations

import collections
import functools
import itertools
from typing import Callable, Mapping, NamedTuple, Sequence

import numpy as np
from scipy import sparse

from clwe_jax.embeddings import beginnings, dictionary_graph, dictionary_vectors
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.ngrams import Ngrams, Regression
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.embeddings import WordsOptions
from clwe_jax.text.words import respelling
from clwe_jax.text.corpus.frequencies import sif_weights
from clwe_jax.text.dictionary.merged import Dictionary

SPELLING_LENGTH = 0.6  # of a word's n-grams, beside the dictionary's part, which is 1
GUESSED_LENGTH = 0.7  # of the vector of a word that follows from the spelling of known words


class CountedLinks(NamedTuple):
    """Counted links between the words of two languages.

    Attributes:
      source, target: the words of each link; no pair occurs twice.
      counts: float32, how often they were linked.
    """

    source: Sequence[str]
    target: Sequence[str]
    counts: np.ndarray


class FixedHub(NamedTuple):
    """Vectors of the hub of a finished space, which other languages are added to.

    Attributes:
      language: the hub.
      vectors: of the hub's words, the dictionary's part, [words, W].
      ngrams: the weights of n-grams.
      regression: from n-grams onto these vectors, the prior of other languages.
    """

    language: str
    vectors: Vectors
    ngrams: Ngrams
    regression: Regression


class WordGraph:
    """The words of a dictionary and of a text, and what connects them.

    Attributes:
      hub: the language whose words have random directions.
      words: language -> words of the dictionary in its order, then the other words of the text.
      index: language -> word -> its row.
      counts: language of a text -> word -> occurrences.
      dictionary: as it was given.
      fixed: the hub's vectors, where they are given.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        counts: Mapping[str, Mapping[str, int]],
        options: WordsOptions = WordsOptions(),
        meanings: Callable[[Sequence[str]], np.ndarray] | None = None,
        fixed: FixedHub | None = None,
    ):
        """Args:
        dictionary: merged dictionary; entries in another script than the text's are also read in that
          of the text (`text.words.respelling`).
        counts: language -> word of its text -> occurrences.
        meanings: words of the hub -> their vectors by another model, float32 [words, M] of unit
          length or zeros, which stand behind the random directions; None: no such part.
        fixed: vectors of the hub that stay as they are; its other words are new beside them. None: the
          dictionary chooses a hub.
        """
        self.hub = fixed.language if fixed else dictionary_vectors.hub(dictionary)
        self.dictionary = dictionary
        dictionary = respelling.respell_entries(dictionary, counts)
        self._dictionary = dictionary
        self.counts = counts
        self.options = options
        self._meanings_of = meanings
        self.fixed = fixed
        self.words: dict[str, list[str]] = {}
        self._known: dict[str, int] = {}  # language -> number of words of the dictionary
        self._alike_kept: dict[str, sparse.csr_matrix] = {}
        self._starts = dict(zip(dictionary.languages, dictionary.language_splits.tolist()))
        for language in dict.fromkeys([self.hub, *dictionary.languages, *counts]):
            entries = dictionary.language_words(language)
            names = set(entries)
            new_words = [word for word in counts.get(language, ()) if word not in names]
            self.words[language] = [*entries, *new_words]
            self._known[language] = len(entries)
        self.index = {
            language: {word: row for row, word in enumerate(words)}
            for language, words in self.words.items()
        }

    @functools.cached_property
    def _graph(self) -> sparse.csr_matrix:
        """Weight of every translation of every entry: [entries, entries]."""
        return dictionary_graph.translations(self._dictionary, self.counts)

    @functools.cached_property
    def _depth(self) -> np.ndarray:
        """Number of translations from each entry to the hub: int [entries]; -1 without a way."""
        return dictionary_graph.depths(self._graph, self._span(self.hub))

    @functools.cached_property
    def ngrams(self) -> Ngrams:
        """The n-grams of all words."""
        if self.fixed:
            return self.fixed.ngrams
        return Ngrams.of(itertools.chain.from_iterable(self.words.values()))

    @functools.cached_property
    def meanings(self) -> np.ndarray:
        """The vectors of the hub's words by another model, float32 [words, M]; M may be 0."""
        words = self.words[self.hub]
        if self._meanings_of is None:
            return np.zeros((len(words), 0), np.float32)
        return self._meanings_of(words) * np.float32(self.options.meaning_length)

    def known_words(self, language: str) -> list[str]:
        """The words of the dictionary."""
        return self.words[language][: self._known[language]]

    def guesses(
        self, language: str, rows: np.ndarray, prior: Regression | None = None
    ) -> tuple[np.ndarray, Regression | None]:
        """The vectors of the words that the dictionary lacks, from those of its words, and the regression
        that gave them; None for beginnings.

        Args:
          rows: vectors of the dictionary's words, float32 [known, dim].
          prior: the hub's regression, for another language.
        """
        if self.options.unknown == "beginnings":
            return unit(self._alike(language) @ rows) * np.float32(GUESSED_LENGTH), None
        new_words = self.words[language][self._known[language] :]
        fitted = self.regression(language, rows, prior)
        guessed = fitted.vectors(self.ngrams, new_words)
        guessed *= np.float32(GUESSED_LENGTH)
        return guessed, fitted

    def regression(
        self, language: str, rows: np.ndarray, prior: Regression | None = None
    ) -> Regression:
        """The regression from n-grams onto the vectors of the dictionary's words."""
        words = self.known_words(language)
        counts = self.counts.get(language, {})
        order = np.argsort([-counts.get(word, 0) for word in words], kind="stable")
        words = [words[i] for i in order.tolist()]
        return Regression.fit(self.ngrams, words, rows[order], prior)

    @functools.cached_property
    def parts(self) -> sparse.csr_matrix:
        """The words of each phrase of the hub, by their weights: float32 [known, known]."""
        entries = self.known_words(self.hub)
        counts = self.counts.get(self.hub, {})
        index = self.index[self.hub]
        total = max(1, sum(counts.values()))
        places = []
        columns = []
        weights = []
        for row, phrase in enumerate(entries if self.options.phrases else ()):
            words = [x for x in phrase.split(" ") if index.get(x, len(entries)) < len(entries)]
            if " " in phrase and words:
                places += [row] * len(words)
                columns += [index[word] for word in words]
                weights += [sif_weights(counts.get(word, 0), total) for word in words]
        shape = (len(entries),) * 2
        return sparse.csr_matrix((np.array(weights, np.float32), (places, columns)), shape)

    @functools.cached_property
    def _strings(self) -> dict[str, int]:
        """The strings of several languages' texts -> their numbers."""
        strings = collections.Counter(itertools.chain.from_iterable(self.counts.values()))
        # In sorted order a string has the same number in whatever order the languages come.
        shared_strings = sorted(word for word, languages in strings.items() if languages > 1)
        return {word: number for number, word in enumerate(shared_strings)}

    @functools.cached_property
    def _hub_strings(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of strings that a fixed hub has without an entry, and their rows, int [strings]."""
        entries = self._fixed_rows >= 0
        index = self.index[self.hub]
        if self.fixed:
            old = set(self.fixed.regression.words)  # the entries that the finished run had
            entries &= np.array([word not in old for word in self.words[self.hub]], np.bool_)
        rows = np.array([index.get(word, -1) for word in self._strings], np.int64)
        numbers = np.flatnonzero((rows >= 0) & entries[rows])
        return numbers, rows[numbers]

    @functools.cached_property
    def _fixed_rows(self) -> np.ndarray:
        """The row of each of the hub's words among the fixed vectors, int [words]; -1: it is new."""
        words = self.words[self.hub]
        return self.fixed.vectors.rows(words) if self.fixed else np.full(len(words), -1)

    def _string_numbers(self, language: str) -> np.ndarray:
        """The number of each word's string in `_strings`, of the words that the dictionary lacks; -1
        for strings of one language's text."""
        new_words = self.words[language][self._known[language] :]
        return np.array([self._strings.get(word, -1) for word in new_words], np.int64)

    def _span(self, language: str) -> slice:
        """The entries of a language in the dictionary."""
        start = self._starts.get(language, 0)
        return slice(start, start + self._known.get(language, 0))

    def _alike(self, language: str) -> sparse.csr_matrix:
        """Weights of the dictionary's words that begin like each other word of the text."""
        if language not in self._alike_kept:
            count = self._known[language]
            words = self.words[language]
            counts = self.counts.get(language, {})
            self._alike_kept[language] = beginnings.alike(words[count:], words[:count], counts)
        return self._alike_kept[language]
