"""The words of a dictionary and of a text, what connects them, and the vectors that follow from it.

A word of the hub language (English, where the dictionary has it) has a random direction, at right
angles to as many others as there are dimensions; a word of
another language is the mean of its translations into the hub language. Frequent translations weigh
more, synonyms of the hub language approach each other, a string that the texts of several languages
have is one word, and a word that the dictionary lacks follows from its n-grams (`ngrams`): mostly it
is another form of a known word. Links that were counted in translated sentences (`embeddings.mining`)
add to the dictionary. The method is this project's own.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Callable, Mapping, NamedTuple, Sequence

import numpy as np
from scipy import sparse

from clwe_jax.embeddings import beginnings, dictionary_graph, dictionary_vectors
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.ngrams import Ngrams, Regression
from clwe_jax.options.static import WordsOptions
from clwe_jax.text import respelling
from clwe_jax.text.frequencies import sif_weights
from clwe_jax.text.merged import Dictionary

_SAME = 0.6  # length of the vector of a string that several languages share
GUESSED_LENGTH = 0.7  # of the vector of a word that follows from the spelling of known words
_KNOWN = 3.0  # links of a word that weigh as much as its entry in the dictionary
_GUESSED = 1.0  # links that weigh as much as a vector that follows from spelling


class Links(NamedTuple):
    """Counted links between the words of two languages.

    Attributes:
      source, target: the words of each link; no pair occurs twice.
      counts: float32, how often they were linked.
    """

    source: Sequence[str]
    target: Sequence[str]
    counts: np.ndarray


class WordGraph:
    """The words of a dictionary and of a text, and what connects them.

    Attributes:
      hub: the language whose words have random directions.
      words: language -> words of the dictionary in its order, then the other words of the text.
      index: language -> word -> its row.
      counts: language of a text -> word -> occurrences.
      options: see `WordsOptions`.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        counts: Mapping[str, Mapping[str, int]],
        options: WordsOptions = WordsOptions(),
        meanings: Callable[[Sequence[str]], np.ndarray] | None = None,
    ):
        """Args:
        dictionary: merged dictionary; entries in another script than the text's are also read in that
          of the text (`text.respelling`).
        counts: language -> word of its text -> occurrences.
        options: see `WordsOptions`.
        meanings: words of the hub -> their vectors by another model, float32 [words, M] of unit
          length or zeros, which stand behind the random directions; None: no such part.
        """
        self.hub = dictionary_vectors.hub(dictionary)
        dictionary = respelling.respelled(dictionary, counts)
        self._dictionary, self.counts, self.options = dictionary, counts, options
        self._meanings_of = meanings
        self.words: dict[str, list[str]] = {}
        self._known: dict[str, int] = {}  # language -> number of words of the dictionary
        self._alike_kept: dict[str, sparse.csr_matrix] = {}
        self._starts = dict(zip(dictionary.languages, dictionary.language_splits.tolist()))
        for language in dict.fromkeys([self.hub, *dictionary.languages, *counts]):
            known = dictionary.language_words(language)
            names = set(known)
            others = [word for word in counts.get(language, ()) if word not in names]
            self.words[language], self._known[language] = [*known, *others], len(known)
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
        return Ngrams.of(word for words in self.words.values() for word in words)

    @functools.cached_property
    def meanings(self) -> np.ndarray:
        """The vectors of the hub's words by another model, float32 [words, M]; M may be 0."""
        words = self.words[self.hub]
        if self._meanings_of is None:
            return np.zeros((len(words), 0), np.float32)
        return self._meanings_of(words) * np.float32(self.options.meaning_length)

    def known(self, language: str) -> list[str]:
        """The words of the dictionary."""
        return self.words[language][: self._known[language]]

    def guesses(
        self, language: str, rows: np.ndarray, prior: Regression | None = None
    ) -> np.ndarray:
        """The vectors of the words that the dictionary lacks, from those of its words.

        Args:
          language: a language.
          rows: vectors of the dictionary's words, float32 [known, dim].
          prior: the hub's regression, for another language.
        """
        if self.options.unknown == "beginnings":
            return unit(self._alike(language) @ rows) * np.float32(GUESSED_LENGTH)
        others = self.words[language][self._known[language] :]
        found = self.regression(language, rows, prior).vectors(self.ngrams, others)
        return found * np.float32(GUESSED_LENGTH)

    def regression(
        self, language: str, rows: np.ndarray, prior: Regression | None = None
    ) -> Regression:
        """The regression from n-grams onto the vectors of the dictionary's words; see `guesses`."""
        words, counts = self.known(language), self.counts.get(language, {})
        order = np.argsort([-counts.get(word, 0) for word in words], kind="stable")
        words = [words[i] for i in order.tolist()]
        return Regression.fit(self.ngrams, words, rows[order], prior)

    @functools.cached_property
    def parts(self) -> sparse.csr_matrix:
        """The words of each phrase of the hub, by their weights: float32 [known, known]."""
        known, counts = self.known(self.hub), self.counts.get(self.hub, {})
        index, total = self.index[self.hub], max(1, sum(counts.values()))
        places, columns, weights = [], [], []
        for row, phrase in enumerate(known if self.options.phrases else ()):
            words = [x for x in phrase.split(" ") if index.get(x, len(known)) < len(known)]
            if " " in phrase and words:
                places += [row] * len(words)
                columns += [index[word] for word in words]
                weights += [sif_weights(counts.get(word, 0) / total) for word in words]
        shape = (len(known),) * 2
        return sparse.csr_matrix((np.array(weights, np.float32), (places, columns)), shape)

    @functools.cached_property
    def _strings(self) -> dict[str, int]:
        """The strings of several languages' texts -> their numbers."""
        strings = collections.Counter(word for words in self.counts.values() for word in words)
        same = sorted(word for word, languages in strings.items() if languages > 1)
        return {word: number for number, word in enumerate(same)}

    @functools.cached_property
    def _hub_strings(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of strings that are entries of the hub, and the rows of these, int [strings]."""
        rows = [self.index[self.hub].get(word, self._known[self.hub]) for word in self._strings]
        found = np.array(rows, np.int64)
        numbers = np.flatnonzero(found < self._known[self.hub])
        return numbers, found[numbers]

    def _string_numbers(self, language: str) -> np.ndarray:
        """The number of each word's string in `_strings`, of the words that the dictionary lacks; -1
        for strings of one language's text."""
        others = self.words[language][self._known[language] :]
        return np.array([self._strings.get(word, -1) for word in others], np.int64)

    def _span(self, language: str) -> slice:
        """The entries of a language in the dictionary."""
        start = self._starts.get(language, 0)
        return slice(start, start + self._known.get(language, 0))

    def _alike(self, language: str) -> sparse.csr_matrix:
        """Weights of the dictionary's words that begin like each other word of the text."""
        if language not in self._alike_kept:
            known = self._known[language]
            words, counts = self.words[language], self.counts.get(language, {})
            self._alike_kept[language] = beginnings.alike(words[known:], words[:known], counts)
        return self._alike_kept[language]

    def rows(
        self, dim: int, seed: int, links: Mapping[tuple[str, str], Links] | None = None
    ) -> Rows:
        """The vectors of all words.

        Args:
          dim: width of a vector.
          seed: of the random directions.
          links: counted links by pair of languages; those with the hub name it second.
        """
        matrices = {
            (a, b): sparse.csr_matrix(
                (
                    np.asarray(found.counts, np.float32),
                    (
                        [self.index[a][word] for word in found.source],
                        [self.index[b][word] for word in found.target],
                    ),
                ),
                (len(self.words[a]), len(self.words[b])),
            )
            for (a, b), found in (links or {}).items()
        }
        return Rows(self, dim, seed, matrices)


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Vectors of the words of a graph, made when they are asked for.

    Attributes:
      graph: the words.
      dim, seed, links: as of `WordGraph.rows`; the links are matrices [words, words].
    """

    graph: WordGraph
    dim: int
    seed: int
    links: Mapping[tuple[str, str], sparse.csr_matrix]

    @property
    def width(self) -> int:
        """Of a vector: the random dimensions and those of `WordGraph.meanings`."""
        return self.dim + self.graph.meanings.shape[1]

    def of(self, language: str) -> np.ndarray:
        """The vectors of a language's words, float32 [words, width]: of unit length, shorter for
        words without translation, zeros for words that nothing connects."""
        if language == self.graph.hub:
            return self._hub
        rows = self._seeds(language, self._hub)
        linked, sums = self._linked(language)
        known = linked < self.graph._known[language]
        prior = np.where(known, _KNOWN, _GUESSED).astype(np.float32)[:, None]
        rows[linked] = unit(prior * rows[linked] + sums)
        return rows

    def _linked(self, language: str) -> tuple[np.ndarray, np.ndarray]:
        """The words that have links, and the sums of the linked words' vectors."""
        matrices = {
            b if language == a else a: matrix if language == a else matrix.T.tocsr()
            for (a, b), matrix in self.links.items()
            if language in (a, b)
        }
        counts = sum(matrix.getnnz(1) for matrix in matrices.values())
        linked = np.flatnonzero(counts) if matrices else np.zeros(0, np.int64)
        sums = np.zeros((len(linked), self.width), np.float32)
        for other, matrix in matrices.items():
            if other == self.graph.hub:
                sums += matrix[linked] @ self._hub
            else:
                words = np.unique(matrix.indices)
                # One step is enough: vectors of the other language without what third ones add.
                sums += matrix[linked][:, words] @ self._entries(other, self._hub, words)
        return linked, sums

    @functools.cached_property
    def _draws(self) -> np.ndarray:
        """The directions of strings that several languages share, float32 [strings, dim]."""
        return _random(len(self.graph._strings), self.dim, self.seed + 1)

    @functools.cached_property
    def _directions(self) -> np.ndarray:
        """The same for other languages than the hub, whose entries have their vector: [strings, width]."""
        directions = np.zeros((len(self._draws), self.width), np.float32)
        directions[:, : self.dim] = self._draws
        numbers, entries = self.graph._hub_strings
        directions[numbers] = self._hub[entries]
        return directions

    def _start(self) -> np.ndarray:
        """The directions of the hub's words, float32 [words, dim]."""
        graph, hub = self.graph, self.graph.hub
        known, places = graph._known[hub], graph._string_numbers(hub)
        rows = np.empty((known + len(places), self.width), np.float32)
        drawn, meant = rows[:, : self.dim], rows[:, self.dim :]
        drawn[:known] = _random(known, self.dim, self.seed)
        drawn[known:] = _random(len(places), self.dim, self.seed + 2)
        drawn[known:][places >= 0] = self._draws[places[places >= 0]]
        meant[:] = graph.meanings
        phrases = np.flatnonzero(graph.parts.getnnz(1))
        rows[phrases] = unit(graph.parts[phrases] @ rows[:known])
        return unit(rows)

    @functools.cached_property
    def _hub(self) -> np.ndarray:
        """The vectors of the hub's words, after synonyms have approached each other."""
        graph, hub = self.graph, self.graph.hub
        known, span = graph._known[hub], graph._span(hub)
        # A hub word's synonyms: from the word to its translations, and back from these.
        start = self._start()
        back = np.zeros_like(start)
        translated = np.arange(len(back)) < known
        for language in graph.words:
            if language == hub:
                continue
            own, linked = graph._span(language), self.links.get((language, hub))
            words = np.arange(graph._known[language])
            if linked is not None:
                words = np.union1d(words, np.flatnonzero(linked.getnnz(1)))
            near = self._entries(language, start, words)
            back[:known] += graph._graph[span, own] @ near[: graph._known[language]]
            if linked is not None:
                matrix = linked[words].T.tocsr()
                back += matrix @ near
                translated |= matrix.getnnz(1) > 0
        start += unit(back)
        rows = unit(start)
        others = ~translated
        if others.any():
            guessed = graph.guesses(hub, rows[:known])
            meant = np.abs(start[known:, self.dim :]).max(1, initial=0) > 0
            guessed[meant, self.dim :] = start[known:][meant, self.dim :]  # no guess is needed
            self._add_strings(hub, guessed)
            rows[others] = guessed[others[known:]]
        return rows

    @functools.cached_property
    def hub_regression(self) -> Regression | None:
        """The regression onto the hub's vectors, the other languages' prior; None: they have none."""
        graph, hub = self.graph, self.graph.hub
        if graph.options.unknown != "ngrams" or not graph.options.loans:
            return None
        return graph.regression(hub, self._hub[: graph._known[hub]])

    def _seeds(self, language: str, hub_rows: np.ndarray) -> np.ndarray:
        """The vectors of a language's words by dictionary and spelling, without counted links."""
        graph = self.graph
        span, known = graph._span(language), graph._known[language]
        rows = np.empty((len(graph.words[language]), self.width), np.float32)
        rows[:known] = self._translations(np.arange(span.start, span.stop), hub_rows)
        rows[known:] = graph.guesses(language, rows[:known], self.hub_regression)
        self._add_strings(language, rows[known:])
        return rows

    def _add_strings(self, language: str, rows: np.ndarray) -> None:
        """Adds the shared string of each word that the dictionary lacks, as a vector of length
        `_SAME`, to the words' vectors in place: its own direction, or the vector of the hub's entry."""
        places = self.graph._string_numbers(language)
        shared = np.flatnonzero(places >= 0)
        directions = self._draws if language == self.graph.hub else self._directions
        rows[shared, : directions.shape[1]] += directions[places[shared]] * np.float32(_SAME)

    def _entries(self, language: str, hub_rows: np.ndarray, words: np.ndarray) -> np.ndarray:
        """The unit vectors of some words, in rising order, by direct translations and links."""
        graph = self.graph
        known, rows = graph._known[language], np.zeros((len(words), self.width), np.float32)
        own, span = words[words < known] + graph._span(language).start, graph._span(graph.hub)
        rows[: len(own)] = unit(graph._graph[own, span] @ hub_rows[: graph._known[graph.hub]])
        matrix = self.links.get((language, graph.hub))
        return rows if matrix is None else unit(_KNOWN * rows + matrix[words] @ hub_rows)

    def _translations(self, entries: np.ndarray, hub_rows: np.ndarray) -> np.ndarray:
        """The unit means of the dictionary's entries: of their translations into the hub language,
        or, where there are none, of the translations that are nearest to it."""
        graph, span = self.graph, self.graph._span(self.graph.hub)
        rows = np.zeros((len(entries), self.width), np.float32)
        depth = graph._depth[entries]
        direct = depth == 1
        means = graph._graph[entries[direct], span] @ hub_rows[: graph._known[graph.hub]]
        rows[direct] = unit(means)
        far = depth > 1
        if far.any():
            ahead = graph._graph[entries[far]].astype(bool).astype(np.float32)
            nearer = np.unique(ahead.indices)
            nearer = nearer[graph._depth[nearer] < graph._depth[entries[far]].max()]
            # Of words at several depths, each takes those before its own.
            there = self._translations(nearer, hub_rows)
            for level in np.unique(depth[far]):
                chosen = depth[far] == level
                before = graph._depth[nearer] < level
                sums = ahead[chosen][:, nearer[before]] @ there[before]
                rows[np.flatnonzero(far)[chosen]] = unit(sums)
        return rows


def _random(count: int, dim: int, seed: int) -> np.ndarray:
    """Random directions, float32 [count, dim]: at right angles in blocks of `dim`, since words of chance
    likeness are the noise of retrieval."""
    draws = np.random.default_rng(seed).standard_normal((count, dim), np.float32)
    for start in range(0, count, dim):
        block = draws[start : start + dim]
        block[:] = np.linalg.qr(block.T)[0].T
    return draws
