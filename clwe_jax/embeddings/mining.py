"""Mine, align, grow: translated sentences that the texts of several languages share, and what they teach.

In each round, the current vectors of words make vectors of sentences; sentences that are each
other's best by margin, and beside another such pair in the text, are taken as translations
(`align.mining`); their words are linked (`align.ibm1`); and the counted links add to the dictionary
(`word_graph`), from which the next round's vectors follow. Two texts without common documents support
no pair, and nothing changes. The method is this project's own; CRISS (Tran et al. 2020) and Keung et
al. 2020 do the same with large models.
"""

from __future__ import annotations

import functools
import itertools
import time
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from absl import logging
import jax
import numpy as np
from scipy import sparse

from clwe_jax.align import inverted_lists, mining
from clwe_jax.align.mining import Mined, TextSide
from clwe_jax.embeddings import linking, word_rows
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.text_links import TextLinks, MinedPairs
from clwe_jax.embeddings.word_graph import CountedLinks, WordGraph
from clwe_jax.options.embeddings import MiningOptions
from clwe_jax.text.corpus import frequencies

_LEAST_WORDS = 4  # of a sentence that is mined: shorter ones are alike by chance
_LENGTHS = 0.4, 2.5  # words of a source sentence for each word of its translation
_EXACT = 2e8  # products of sentences up to which the search is exact on a CPU
_ALIGNED = 50_000  # pairs of sentences whose words are linked, the best ones
_ROWS = 10_000  # sentences whose vectors are computed at once
# Lines, on both sides, within which another pair supports a pair; fewer in short texts, where pairs of
# shuffled texts would support each other.
_SUPPORT_LINES = 3
_LEAST_SUPPORTED = 20  # pairs that two languages need, or nothing is taken from them
_GROWN_COSINE = 0.33  # least cosine of a pair that is looked for beside supported ones
_CHANCE = 20  # times as many supported pairs as shuffled texts have are needed
_SHUFFLES = 4  # least number of shuffles over which their supported pairs are averaged
_SHUFFLED = 40_000  # least number of pairs in all shuffles
_MUCH = 0.5  # share of a text's sentences from which on the log warns of the text
_REFUSED = 1_000  # pairs that are kept to be looked at
_GROWTH = 1.05  # of the pairs of two languages: less growth ends their rounds


class _Sentences(NamedTuple):
    """The different sentences of a language that are mined.

    Attributes:
      numbers: of their first occurrences in the corpus, int [N].
      places: of these, int [N].
      at: place -> sentence, int; -1: none.
      matrix: SIF weights of the words of each sentence, [N, words of the graph].
      words: rows of each sentence's running words in the graph; -1: none.
      splits: int [N + 1], the sentences in `words`.
      strings: number of each sentence's string, the same in all languages, int [N].
    """

    numbers: np.ndarray
    places: np.ndarray
    at: np.ndarray
    matrix: sparse.csr_matrix
    words: np.ndarray
    splits: np.ndarray
    strings: np.ndarray

    def known_words(self, sentence: int) -> np.ndarray:
        """The rows of a sentence's words in the graph."""
        rows = self.words[self.splits[sentence] : self.splits[sentence + 1]]
        return rows[rows >= 0]


def grow(
    graph: WordGraph,
    corpus: Corpus,
    options: MiningOptions,
    seed: int,
    known: linking.WordLinks = {},
) -> TextLinks:
    """Mines the texts of all pairs of languages.

    Args:
      graph: the words of the dictionary and of the corpus.
      corpus: whole text, with the places of its lines.
      seed: of the random directions.
      known: links that are there before, which the result does not repeat.
    """
    # The hub is last, so that `combinations` name it second.
    languages = sorted(corpus.languages, key=lambda language: language == graph.hub)
    sentences = _of_languages(languages, corpus, graph, options)
    asked = [
        (a, b)
        for a, b in _pairs_to_mine(languages, graph.hub, options)
        if min(len(sentences[a].numbers), len(sentences[b].numbers)) > 1
    ]
    links: dict[tuple[str, str], CountedLinks] = {}
    pairs = {}
    refused = {}
    figures = []
    for number in range(1, options.rounds + 1):
        started = time.monotonic()
        rows = word_rows.rows(graph, options.dim, seed, linking.add_links([known, links]))
        words = {}
        texts = {}
        for language in dict.fromkeys(itertools.chain(*asked)):
            of_words = rows.of(language)
            texts[language] = _make_text_side(sentences[language], of_words)
            words[language] = of_words.astype(np.float16)  # as those of all languages are held
        growing = []
        for pair, mined in _mine_pairs(texts, asked, options, seed):
            both = [sentences[language] for language in pair]
            mined = mined.take(_plausible(mined, *both))
            taken, left, row = _judge_by_support(mined, [texts[x] for x in pair], options)
            figures.append({"round": number, "pair": "-".join(pair), **row})
            if number == 1:
                _warn_of_texts(pair, both, len(taken.source))
            refused[pair] = _add_places(left.take(slice(_REFUSED)), both)
            before = len(pairs[pair].source) if pair in pairs else 0
            if len(taken.source) > _GROWTH * before:
                growing.append(pair)
            if len(taken.source):
                pairs[pair] = _add_places(taken, both)
                links[pair] = _link_words(
                    graph, pair, taken, both, [words[x] for x in pair], options
                )
            else:  # what an earlier round has taken does not find itself again
                pairs.pop(pair, None)
                links.pop(pair, None)
        logging.info(
            "Mining, round %d: %s pairs of sentences, %s links of words, %.0f s",
            number,
            f"{sum(len(x.source) for x in pairs.values()):,}",
            f"{sum(len(x.counts) for x in links.values()):,}",
            time.monotonic() - started,
        )
        asked = growing  # where no more is found, and where nothing is shared, no later round looks
        if not asked:
            break
    return TextLinks(links, pairs, refused, figures, corpus.files)


def _pairs_to_mine(
    languages: Sequence[str], hub: str, options: MiningOptions
) -> list[tuple[str, str]]:
    """The pairs of languages that are mined; those with the hub name it second."""
    every = list(itertools.combinations(languages, 2))
    if hub not in languages or len(languages) <= options.all_pairs:
        return every
    logging.info(
        "Mining %s languages, each with %s; %s other pairs are left out. To mine them too: "
        "--config.static.mining.all_pairs=%s",
        len(languages),
        hub,
        f"{len(every) - len(languages) + 1:,}",
        len(languages),
    )
    return [pair for pair in every if hub in pair]


def _of_languages(
    languages: Sequence[str], corpus: Corpus, graph: WordGraph, options: MiningOptions
) -> dict[str, _Sentences]:
    """The sentences of all languages."""
    strings: dict[bytes, int] = {}
    return {x: _sentences(corpus, x, graph.index[x], options, strings) for x in languages}


def _sentences(
    corpus: Corpus,
    language: str,
    index: Mapping[str, int],
    options: MiningOptions,
    strings: dict[bytes, int],
) -> _Sentences:
    """The different sentences of a fitting length; `strings` numbers those of all languages."""
    ids = corpus.ids[language]
    splits = corpus.splits[language]
    places = corpus.places[language]
    lengths = np.diff(splits)
    lines = np.flatnonzero((lengths >= _LEAST_WORDS) & (lengths <= options.max_words))
    texts = (ids[splits[line] : splits[line + 1]].tobytes() for line in lines)
    named = np.array([strings.setdefault(text, len(strings)) for text in texts], np.int64)
    distinct, begin, sentence = np.unique(named, return_index=True, return_inverse=True)
    order = np.argsort(begin)  # sentences are in the order of the text
    first = lines[begin[order]]
    at = np.full(int(places[-1]) + 1, -1, np.int32)
    # Every occurrence of a string leads to its one sentence.
    at[places[lines]] = np.argsort(order)[sentence]
    lengths = lengths[first]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    # The running words of the kept lines, one line after the other.
    running = ids[np.arange(ends[-1]) + np.repeat(splits[first] - ends[:-1], lengths)]
    counts = np.bincount(ids, minlength=len(corpus.words))
    row_of = np.full(len(corpus.words), -1, np.int32)
    for word in np.flatnonzero(counts).tolist():
        row_of[word] = index.get(corpus.words[word], -1)
    words = row_of[running]
    known = words >= 0
    weights = frequencies.sif_weights(counts / len(ids)).astype(np.float32)[running[known]]
    owners = np.repeat(np.arange(len(first), dtype=np.int32), lengths)[known]
    shape = (len(first), len(index))
    matrix = sparse.csr_matrix((weights, (owners, words[known])), shape)
    return _Sentences(first, places[first], at, matrix, words, ends, distinct[order])


def _make_text_side(sentences: _Sentences, words: np.ndarray) -> TextSide:
    """The centered vectors of sentences, float16 to hold those of all languages."""
    count = len(sentences.numbers)
    vectors = np.empty((count, words.shape[1]), np.float16)
    known = np.zeros(count, bool)
    total = np.zeros(words.shape[1], np.float32)
    parts = [slice(start, start + _ROWS) for start in range(0, count, _ROWS)]
    for part in parts:
        some = unit(sentences.matrix[part] @ words)
        vectors[part] = some
        known[part] = some.any(1)
        total += some.sum(0)
    mean = total / max(1, known.sum())
    for part in parts:
        # A sentence without a known word stays 0, so that it is near to none.
        centered = vectors[part].astype(np.float32) - mean * known[part, None]
        vectors[part] = unit(centered)
    return TextSide(vectors, sentences.places, sentences.at)


def _mine_pairs(
    texts: Mapping[str, TextSide],
    pairs: Sequence[tuple[str, str]],
    options: MiningOptions,
    seed: int,
) -> Iterator[tuple[tuple[str, str], Mined]]:
    """The mutual best pairs of each pair of languages."""

    @functools.cache
    def lists() -> inverted_lists.Lists:
        # Learned when the first two languages are too large for an exact search.
        return inverted_lists.learn([text.vectors for text in texts.values()], seed)

    @functools.cache
    def nearest_lists(language: str) -> np.ndarray:
        return lists().nearest_lists(texts[language].vectors)

    for first, second in pairs:
        x = texts[first].vectors
        y = texts[second].vectors
        if jax.default_backend() != "cpu" or len(x) * len(y) <= _EXACT:
            sides = mining.exact(x.astype(np.float32), y.astype(np.float32), options.neighbourhood)
        else:
            asked = nearest_lists(first), nearest_lists(second)[:, 0]
            sides = inverted_lists.nearest(x, y, *asked, options.neighbourhood)
        mined = mining.mutual_best(*sides)
        yield (first, second), mined.take(mined.scores >= options.margin)


def _plausible(mined: Mined, source: _Sentences, target: _Sentences) -> np.ndarray:
    """Whether the lengths of the sentences fit, and they are not the same string: bool [P]."""
    lengths = np.diff(source.splits)[mined.source], np.diff(target.splits)[mined.target]
    fit = (lengths[0] >= _LENGTHS[0] * lengths[1]) & (lengths[0] <= _LENGTHS[1] * lengths[1])
    return fit & (source.strings[mined.source] != target.strings[mined.target])


def _warn_of_texts(pair: tuple[str, str], both: Sequence[_Sentences], taken: int) -> None:
    """Warns of texts that are no two texts of two languages."""
    name = "-".join(pair)
    sentences = min(len(side.numbers) for side in both)
    repeated = len(np.intersect1d(*(side.strings for side in both)))
    if repeated > _MUCH * sentences:
        logging.warning(
            "%s: %s of %s sentences are the same string in both texts, which are not mined: is one "
            "text a copy of the other?",
            name,
            f"{repeated:,}",
            f"{sentences:,}",
        )
    if taken > _MUCH * sentences:
        logging.warning(
            "%s: %s of %s sentences have a translation in the other text. It is parallel: "
            "--config.data.pairs=WORKDIR/mined trains on it (configs/xlm.py, configs/laser.py)",
            name,
            f"{taken:,}",
            f"{sentences:,}",
        )


def _judge_by_support(
    mined: Mined, texts: Sequence[TextSide], options: MiningOptions
) -> tuple[Mined, Mined, dict[str, Any]]:
    """The pairs that are taken, those that are refused, and the round's figures."""
    places = [text.places[rows] for text, rows in zip(texts, (mined.source, mined.target))]
    enough = False
    for lines in range(_SUPPORT_LINES, 0, -1):  # few lines meet by chance in a short text
        supported = mining.has_support(*places, lines)
        chance = _count_by_chance(*places, lines)
        enough = supported.sum() >= max(_LEAST_SUPPORTED, _CHANCE * chance)
        if enough:
            break
    # Too little support may all be by chance, and then counts for no pair.
    kept = supported & enough
    # Unsupported pairs of a high margin are mostly wrong where the texts share documents.
    if options.unsupported_margin:
        kept |= mined.scores >= options.unsupported_margin
    taken = mined.take(kept)
    if options.grow_lines and len(taken.source):
        taken = mining.grow(taken, *texts, options.grow_lines, _GROWN_COSINE)
    row = {
        "mutual": len(supported),
        "supported": int(supported.sum()),
        "by_chance": round(chance),
        "lines": lines,
        "taken": len(taken.source),
    }
    return taken, mined.take(~kept), row


def _count_by_chance(source: np.ndarray, target: np.ndarray, lines: int) -> float:
    """How many pairs would be supported if their targets were shuffled."""
    random = np.random.default_rng(0)
    counts = []
    # Few pairs are seldom supported by chance: four shuffles of 300 gave 3.0 where 2,000 give 1.2.
    for _ in range(max(_SHUFFLES, _SHUFFLED // max(1, len(target)))):
        shuffled = target[random.permutation(len(target))]
        counts.append(mining.has_support(source, shuffled, lines).sum())
    return float(np.mean(counts))


def _add_places(mined: Mined, sentences: Sequence[_Sentences]) -> MinedPairs:
    """The pairs with the places of their sentences in the corpus."""
    source, target = sentences
    return MinedPairs(source.places[mined.source], target.places[mined.target], mined.scores)


def _link_words(
    graph: WordGraph,
    pair: tuple[str, str],
    mined: Mined,
    sentences: Sequence[_Sentences],
    words: Sequence[np.ndarray],
    options: MiningOptions,
) -> CountedLinks:
    """The links of the words of pairs of sentences."""
    best = mined.take(slice(_ALIGNED))  # supported pairs come first
    both = []
    for side, rows in zip(sentences, (best.source, best.target)):
        both.append([side.known_words(row) for row in rows.tolist()])
    return linking.link_words(graph, pair, both, words, options.position_weight)
