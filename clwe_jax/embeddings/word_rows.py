"""The vectors of a word graph's words: directions, synonyms, translations, guesses and links."""

from __future__ import annotations

import dataclasses
import functools
from typing import Mapping
import zlib

import numpy as np
from scipy import sparse

from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.ngrams import Regression
from clwe_jax.embeddings.word_graph import CountedLinks, WordGraph

_SAME = 0.6  # length of the vector of a string that several languages share
_KNOWN = 3.0  # links of a word that weigh as much as its entry in the dictionary
_BLOCK = 10_000  # rows that are computed at once
# As three links, guesses lose 3 and 13 points of German induction (docs/lessons.md).
_GUESSED = 1.0  # links that weigh as much as a vector that follows from spelling


def rows(
    graph: WordGraph,
    dim: int,
    seed: int,
    links: Mapping[tuple[str, str], CountedLinks] | None = None,
) -> WordRows:
    """The vectors of all words.

    Args:
      graph: the words.
      dim: width of a vector; that of a fixed hub where there is one.
      seed: of the random directions.
      links: counted links by pair of languages; those with the hub name it second.
    """
    dim = graph.fixed.vectors.dim if graph.fixed else dim
    matrices = {}
    for (a, b), pair_links in (links or {}).items():
        counts = np.asarray(pair_links.counts, np.float32)
        sources = [graph.index[a][word] for word in pair_links.source]
        targets = [graph.index[b][word] for word in pair_links.target]
        shape = len(graph.words[a]), len(graph.words[b])
        matrices[a, b] = sparse.csr_matrix((counts, (sources, targets)), shape)
    return WordRows(graph, dim, seed, matrices)


@dataclasses.dataclass(frozen=True, eq=False)
class WordRows:
    """Vectors of the words of a graph, made when they are asked for.

    Attributes:
      graph: the words.
      dim, seed, links: as of `rows`; the links are matrices [words, words].
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
        rows = np.empty((len(self.graph.words[language]), self.width), np.float32)
        count = self.graph._known[language]
        rows[:count] = self._seeds(language)
        rows[count:], _ = self.graph.guesses(language, rows[:count], self.hub_regression)
        self._add_strings(language, rows[count:])
        return self._with_links(language, rows)

    def of_entries(self, language: str) -> np.ndarray:
        """The vectors of the dictionary's words alone, float32 [known, width]."""
        if language == self.graph.hub:
            return self._hub[: self.graph._known[language]]
        return self._with_links(language, self._seeds(language))

    def _with_links(self, language: str, rows: np.ndarray) -> np.ndarray:
        """The vectors of a language's first words, to which their links are added in place."""
        linked, sums = self._sum_links(language, len(rows))
        has_entry = linked < self.graph._known[language]
        prior = np.where(has_entry, _KNOWN, _GUESSED).astype(np.float32)[:, None]
        # The vector that a word has without links counts as so many links.
        sums += prior * rows[linked]
        rows[linked] = unit(sums, sums)
        return rows

    def _sum_links(self, language: str, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Those of the first `count` words that have links, and the sums of the linked words' vectors."""
        matrices = {}
        for (a, b), matrix in self.links.items():
            if language == a:
                matrices[b] = matrix
            elif language == b:
                matrices[a] = matrix.T.tocsr()
        counts = sum(matrix.getnnz(1) for matrix in matrices.values())
        linked = np.flatnonzero(counts[:count]) if matrices else np.zeros(0, np.int64)
        sums = np.zeros((len(linked), self.width), np.float32)
        for other_language, matrix in matrices.items():
            if other_language == self.graph.hub:
                sums += matrix[linked] @ self._hub
            else:
                words = np.unique(matrix.indices)
                # One step is enough: vectors of the other language without what third ones add.
                sums += matrix[linked][:, words] @ self._entries(other_language, self._hub, words)
        return linked, sums

    @functools.cached_property
    def _draws(self) -> np.ndarray:
        """The directions of strings that several languages share, float32 [strings, dim]."""
        return self._draw_directions(len(self.graph._strings), 1)

    def _draw_directions(self, count: int, number: int) -> np.ndarray:
        """Random directions, float32 [count, dim]; those beside a fixed hub are others than its own."""
        seed = [self.seed + number]
        if self.graph.fixed:
            # Runs that add other languages to one hub draw other directions.
            seed.append(zlib.crc32(",".join(self.graph.words).encode()))
        return _random(count, self.dim, seed if len(seed) > 1 else seed[0])

    @functools.cached_property
    def _directions(self) -> np.ndarray:
        """The same for other languages than a fixed hub, whose words have their vector: [strings, width]."""
        directions = np.zeros((len(self._draws), self.width), np.float32)
        directions[:, : self.dim] = self._draws
        numbers, entries = self.graph._hub_strings
        directions[numbers] = self._hub[entries]
        return directions

    def _start(self) -> np.ndarray:
        """The directions of the hub's words, float32 [words, dim]."""
        graph = self.graph
        hub = self.graph.hub
        count = graph._known[hub]
        places = graph._string_numbers(hub)
        rows = np.empty((count + len(places), self.width), np.float32)
        directions = rows[:, : self.dim]
        meant = rows[:, self.dim :]
        directions[:count] = self._draw_directions(count, 0)
        directions[count:] = self._draw_directions(len(places), 2)
        # A string of several texts has one direction in all of them.
        directions[count:][places >= 0] = self._draws[places[places >= 0]]
        meant[:] = graph.meanings
        phrases = np.flatnonzero(graph.parts.getnnz(1))
        # Small languages lose .6 points where phrases have directions of their own.
        rows[phrases] = unit(graph.parts[phrases] @ rows[:count])
        return self._with_fixed(unit(rows, rows))

    def _with_fixed(self, rows: np.ndarray) -> np.ndarray:
        """The rows of the hub's words, those of fixed ones replaced in place."""
        if self.graph.fixed:
            places = self.graph._fixed_rows
            rows[places >= 0] = self.graph.fixed.vectors.vectors[places[places >= 0]]
        return rows

    @property
    def _hub(self) -> np.ndarray:
        """The vectors of the hub's words, after synonyms have approached each other."""
        return self._hub_parts[0]

    @functools.cached_property
    def _hub_parts(self) -> tuple[np.ndarray, Regression | None]:
        """`_hub`, and the regression that guessed words without entry or link; None without such words."""
        graph = self.graph
        hub = self.graph.hub
        count = graph._known[hub]
        start = self._start()
        sums, translated = self._synonyms(start)
        # The own direction weighs as much as the mean of the translations, which synonyms share.
        start += unit(sums, sums)
        del sums  # as large as the rows
        # A copy, because the rows are scaled in place.
        meanings = start[count:, self.dim :].copy()
        rows = unit(start, start)
        untranslated = ~translated
        fitted = None
        if untranslated.any():
            guessed, fitted = graph.guesses(hub, rows[:count])
            meant = np.abs(meanings).max(1, initial=0) > 0
            guessed[meant, self.dim :] = meanings[meant]  # no guess is needed
            self._add_strings(hub, guessed)
            rows[untranslated] = guessed[untranslated[count:]]
        return self._with_fixed(rows), fitted

    def _synonyms(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From each word of the hub to its translations, and back from these.

        Args:
          start: the directions of the hub's words, float32 [words, width].

        Returns:
          The weighted sums of the translations' vectors, float32 [words, width], and whether a word
          has an entry or a link, bool [words].
        """
        graph = self.graph
        hub = self.graph.hub
        count = graph._known[hub]
        span = graph._span(hub)
        sums = np.zeros_like(start)
        translated = np.arange(len(sums)) < count
        for language in graph.words:
            if language == hub:
                continue
            entries = graph._span(language)
            linked = self.links.get((language, hub))
            words = np.arange(graph._known[language])
            if linked is not None:
                words = np.union1d(words, np.flatnonzero(linked.getnnz(1)))
            rows = self._entries(language, start, words)
            _add_product(sums[:count], graph._graph[span, entries], rows[: graph._known[language]])
            if linked is not None:
                matrix = linked[words].T.tocsr()
                _add_product(sums, matrix, rows)
                translated |= matrix.getnnz(1) > 0
        return sums, translated

    @functools.cached_property
    def hub_regression(self) -> Regression | None:
        """The regression onto the hub's vectors, the other languages' prior; None: they have none."""
        graph = self.graph
        hub = self.graph.hub
        if graph.options.unknown != "ngrams" or not graph.options.loans:
            return None
        if graph.fixed:
            return graph.fixed.regression
        rows, fitted = self._hub_parts
        return graph.regression(hub, rows[: graph._known[hub]]) if fitted is None else fitted

    def _seeds(self, language: str) -> np.ndarray:
        """The vectors of the dictionary's words without counted links, float32 [known, width]."""
        span = self.graph._span(language)
        return self._translations(np.arange(span.start, span.stop), self._hub)

    def _add_strings(self, language: str, rows: np.ndarray) -> None:
        """Adds the shared string of each word that the dictionary lacks, as a vector of length
        `_SAME`, to the words' vectors in place: its own direction, or the vector of a fixed hub."""
        places = self.graph._string_numbers(language)
        shared = np.flatnonzero(places >= 0)
        directions = self._draws if language == self.graph.hub else self._directions
        rows[shared, : directions.shape[1]] += directions[places[shared]] * np.float32(_SAME)

    def _entries(self, language: str, hub_rows: np.ndarray, words: np.ndarray) -> np.ndarray:
        """The unit vectors of some words, in rising order, by direct translations and links."""
        graph = self.graph
        count = graph._known[language]
        rows = np.zeros((len(words), self.width), np.float32)
        entries = words[words < count] + graph._span(language).start
        span = graph._span(graph.hub)
        _add_product(rows, graph._graph[entries, span], hub_rows[: graph._known[graph.hub]])
        unit(rows, rows)
        matrix = self.links.get((language, graph.hub))
        if matrix is not None:
            rows *= np.float32(_KNOWN)
            _add_product(rows, matrix[words], hub_rows)
            unit(rows, rows)
        return rows

    def _translations(self, entries: np.ndarray, hub_rows: np.ndarray) -> np.ndarray:
        """The unit means of the dictionary's entries: of their translations into the hub language,
        or, where there are none, of the translations that are nearest to it."""
        graph = self.graph
        span = self.graph._span(self.graph.hub)
        rows = np.zeros((len(entries), self.width), np.float32)
        depth = graph._depth[entries]
        direct = depth == 1
        means = graph._graph[entries[direct], span] @ hub_rows[: graph._known[graph.hub]]
        rows[direct] = unit(means, means)
        far = depth > 1
        if far.any():
            ahead = graph._graph[entries[far]].astype(bool).astype(np.float32)
            nearer = np.unique(ahead.indices)
            nearer = nearer[graph._depth[nearer] < graph._depth[entries[far]].max()]
            # Of words at several depths, each takes those before its own.
            nearer_rows = self._translations(nearer, hub_rows)
            for level in np.unique(depth[far]):
                at_level = depth[far] == level
                before = graph._depth[nearer] < level
                sums = ahead[at_level][:, nearer[before]] @ nearer_rows[before]
                rows[np.flatnonzero(far)[at_level]] = unit(sums)
        return rows


def _add_product(rows: np.ndarray, matrix: sparse.csr_matrix, others: np.ndarray) -> None:
    """Adds matrix @ others to the first rows, in place and in blocks: the whole product is as large."""
    for start in range(0, matrix.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        rows[: matrix.shape[0]][block] += matrix[block] @ others


def _random(count: int, dim: int, seed: int | list[int]) -> np.ndarray:
    """Random directions, float32 [count, dim]: at right angles in blocks of `dim`, since words of chance
    likeness are the noise of retrieval."""
    draws = np.random.default_rng(seed).standard_normal((count, dim), np.float32)
    for start in range(0, count, dim):
        block = draws[start : start + dim]
        block[:] = np.linalg.qr(block.T)[0].T
    return draws
