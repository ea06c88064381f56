"""Mine, align, grow: translated sentences that the texts of several languages share, and what they teach.

    each round, until no pair of languages grows:
        the vectors of words make vectors of sentences
        candidates: sentences that are each other's best by margin (`align.mining`)
        taken: those beside another candidate in the text, where chance would not leave as many
        links: the words of taken sentences, linked and counted (`align.ibm1`)
        the links add to the dictionary (`word_graph`), from which the next round's vectors follow

Two texts without common documents support no pair, and nothing changes. The method is this project's
own; CRISS (Tran et al. 2020) and Keung et al. 2020 do the same with large models.
"""

from __future__ import annotations

import itertools
import time
from typing import Any, Mapping, NamedTuple, Sequence

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
_MAX_LINKED = 50_000  # pairs of sentences whose words are linked, the best ones
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
_MAX_REFUSED = 1_000  # pairs that are kept to be looked at
_GROWTH = 1.05  # of the pairs of two languages: less growth ends their rounds


_LanguagePair = tuple[str, str]


class _Sentences(NamedTuple):
    """The different sentences of a language that are mined, N of them, in the order of the text.

    Attributes:
      places: of their first occurrences, int [N].
      at: place -> sentence, int [places]; -1: none.
      matrix: SIF weights of the words of each sentence, [N, words of the graph].
      words: rows of the sentences' running words in the graph, one sentence after the other; -1: none.
      splits: where each sentence begins in `words`, and their end, int [N + 1].
      strings: number of each sentence's string, the same in all languages, int [N].
    """

    places: np.ndarray
    at: np.ndarray
    matrix: sparse.csr_matrix
    words: np.ndarray
    splits: np.ndarray
    strings: np.ndarray

    def words_in_graph(self, sentence: int) -> np.ndarray:
        """The rows of a sentence's words in the graph."""
        rows = self.words[self.splits[sentence] : self.splits[sentence + 1]]
        return rows[rows >= 0]


class _Judged(NamedTuple):
    """The candidates of two languages after a round: those taken, those refused, and the round's figures."""

    taken: Mined
    refused: Mined
    figures: Mapping[str, Any]


def grow(
    graph: WordGraph,
    corpus: Corpus,
    options: MiningOptions,
    seed: int,
    earlier_links: linking.WordLinks = {},
) -> TextLinks:
    """Mines the texts of all pairs of languages.

    Args:
      graph: the words of the dictionary and of the corpus.
      corpus: whole text, with the places of its lines.
      seed: of the random directions.
      earlier_links: links that are there before, which the result does not repeat.
    """
    # The hub is last, so that `combinations` name it second.
    languages = sorted(corpus.languages, key=lambda language: language == graph.hub)
    strings: dict[bytes, int] = {}
    sentences = {x: _sentences_of(corpus, x, graph.index[x], options, strings) for x in languages}
    language_pairs = [
        (a, b)
        for a, b in _pairs_to_mine(languages, graph.hub, options)
        if min(len(sentences[a].places), len(sentences[b].places)) > 1
    ]
    # Of each pair of languages, as its last round has left it.
    pairs: dict[_LanguagePair, MinedPairs] = {}
    refused: dict[_LanguagePair, MinedPairs] = {}
    links: dict[_LanguagePair, CountedLinks] = {}
    figures = []
    for round_number in range(1, options.rounds + 1):
        started = time.monotonic()
        rows = word_rows.rows(graph, options.dim, seed, linking.add_links([earlier_links, links]))
        word_vectors = {}
        texts = {}
        for language in dict.fromkeys(itertools.chain(*language_pairs)):
            vectors = rows.of(language)
            texts[language] = _make_text_side(sentences[language], vectors)
            word_vectors[language] = vectors.astype(np.float16)  # as all languages' are held
        nearest_lists = _assign_lists(texts, language_pairs, seed)
        growing = []
        for pair in language_pairs:
            sides = [sentences[language] for language in pair]
            candidates = _find_candidates(pair, texts, nearest_lists, options)
            candidates = candidates.take(_plausible(candidates, *sides))
            judged = _judge_by_support(candidates, [texts[x] for x in pair], options)
            figures.append({"round": round_number, "pair": "-".join(pair), **judged.figures})
            count = len(judged.taken.source)
            if round_number == 1:
                _warn_of_texts(pair, sides, count)
            if count > _GROWTH * (len(pairs[pair].source) if pair in pairs else 0):
                growing.append(pair)
            refused[pair] = _add_places(judged.refused.take(slice(_MAX_REFUSED)), sides)
            if count:
                pairs[pair] = _add_places(judged.taken, sides)
                vectors = [word_vectors[x] for x in pair]
                links[pair] = _link_words(graph, pair, judged.taken, sides, vectors, options)
            else:  # what an earlier round has taken does not find itself again
                pairs.pop(pair, None)
                links.pop(pair, None)
        logging.info(
            "Mining, round %d: %s pairs of sentences, %s links of words, %.0f s",
            round_number,
            f"{sum(len(x.source) for x in pairs.values()):,}",
            f"{sum(len(x.counts) for x in links.values()):,}",
            time.monotonic() - started,
        )
        # Where no more is found, and where nothing is shared, no later round looks.
        language_pairs = growing
        if not language_pairs:
            break
    return TextLinks(links, pairs, refused, figures, corpus.files)


def _pairs_to_mine(
    languages: Sequence[str], hub: str, options: MiningOptions
) -> list[_LanguagePair]:
    """The pairs of languages that are mined; those with the hub name it second."""
    all_pairs = list(itertools.combinations(languages, 2))
    if hub not in languages or len(languages) <= options.all_pairs:
        return all_pairs
    logging.info(
        "Mining %s languages, each with %s; %s other pairs are left out. To mine them too: "
        "--config.static.mining.all_pairs=%s",
        len(languages),
        hub,
        f"{len(all_pairs) - len(languages) + 1:,}",
        len(languages),
    )
    return [pair for pair in all_pairs if hub in pair]


def _sentences_of(
    corpus: Corpus,
    language: str,
    index: Mapping[str, int],
    options: MiningOptions,
    strings: dict[bytes, int],
) -> _Sentences:
    """The different sentences of a fitting length.

    Args:
      index: word -> its row in the graph.
      strings: string -> its number, of the languages before; those of this one are added.
    """
    ids = corpus.ids[language]
    splits = corpus.splits[language]
    places = corpus.places[language]
    lengths = np.diff(splits)
    lines = np.flatnonzero((lengths >= _LEAST_WORDS) & (lengths <= options.max_words))
    texts = (ids[splits[line] : splits[line + 1]].tobytes() for line in lines)
    string_of_line = np.array([strings.setdefault(text, len(strings)) for text in texts], np.int64)
    distinct, first_use, string = np.unique(string_of_line, return_index=True, return_inverse=True)
    order = np.argsort(first_use)  # sentences are in the order of the text
    first_lines = lines[first_use[order]]
    at = np.full(int(places[-1]) + 1, -1, np.int32)
    # Every occurrence of a string leads to its one sentence.
    at[places[lines]] = np.argsort(order)[string]
    lengths = lengths[first_lines]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    # The running words of the sentences, one sentence after the other.
    running = ids[np.arange(ends[-1]) + np.repeat(splits[first_lines] - ends[:-1], lengths)]
    counts = np.bincount(ids, minlength=len(corpus.words))
    row_of = np.full(len(corpus.words), -1, np.int32)
    for word in np.flatnonzero(counts).tolist():
        row_of[word] = index.get(corpus.words[word], -1)
    words = row_of[running]
    in_graph = words >= 0
    weights = frequencies.sif_weights(counts, len(ids))[running[in_graph]]
    owners = np.repeat(np.arange(len(first_lines), dtype=np.int32), lengths)[in_graph]
    shape = (len(first_lines), len(index))
    matrix = sparse.csr_matrix((weights, (owners, words[in_graph])), shape)
    return _Sentences(places[first_lines], at, matrix, words, ends, distinct[order])


def _make_text_side(sentences: _Sentences, word_vectors: np.ndarray) -> TextSide:
    """The centered vectors of sentences [N, D], float16 to hold those of all languages.

    Args:
      word_vectors: of the graph's words, float32 [words, D].
    """
    count = len(sentences.places)
    dim = word_vectors.shape[1]
    vectors = np.empty((count, dim), np.float16)
    is_nonzero = np.zeros(count, bool)
    total = np.zeros(dim, np.float32)
    blocks = [slice(start, start + _ROWS) for start in range(0, count, _ROWS)]
    for rows in blocks:
        block = unit(sentences.matrix[rows] @ word_vectors)
        vectors[rows] = block
        is_nonzero[rows] = block.any(1)
        total += block.sum(0)
    mean = total / max(1, is_nonzero.sum())
    for rows in blocks:
        # A sentence whose words have no vector stays 0, so that it is near to none.
        centered = vectors[rows].astype(np.float32) - mean * is_nonzero[rows, None]
        vectors[rows] = unit(centered)
    return TextSide(vectors, sentences.places, sentences.at)


def _is_searched_exactly(source: TextSide, target: TextSide) -> bool:
    small = len(source.vectors) * len(target.vectors) <= _EXACT
    return small or jax.default_backend() != "cpu"


def _assign_lists(
    texts: Mapping[str, TextSide], pairs: Sequence[_LanguagePair], seed: int
) -> dict[str, np.ndarray]:
    """The nearest inverted lists of each sentence, int [N, lists], in languages too large for an exact search."""
    large = [(a, b) for a, b in pairs if not _is_searched_exactly(texts[a], texts[b])]
    if not large:
        return {}
    lists = inverted_lists.learn([text.vectors for text in texts.values()], seed)
    languages = dict.fromkeys(itertools.chain(*large))
    return {language: lists.nearest_lists(texts[language].vectors) for language in languages}


def _find_candidates(
    pair: _LanguagePair,
    texts: Mapping[str, TextSide],
    nearest_lists: Mapping[str, np.ndarray],
    options: MiningOptions,
) -> Mined:
    """The sentences of two languages that are each other's best, by a margin that is wide enough."""
    first, second = pair
    x = texts[first].vectors
    y = texts[second].vectors
    if _is_searched_exactly(texts[first], texts[second]):
        nearest = mining.exact(x.astype(np.float32), y.astype(np.float32), options.neighbourhood)
    else:
        probed = nearest_lists[first]
        home = nearest_lists[second][:, 0]
        nearest = inverted_lists.nearest(x, y, probed, home, options.neighbourhood)
    candidates = mining.mutual_best(*nearest)
    return candidates.take(candidates.scores >= options.margin)


def _plausible(candidates: Mined, source: _Sentences, target: _Sentences) -> np.ndarray:
    """Whether the lengths of the sentences fit, and they are not the same string: bool [P]."""
    source_words = np.diff(source.splits)[candidates.source]
    target_words = np.diff(target.splits)[candidates.target]
    least, most = _LENGTHS
    fit = (source_words >= least * target_words) & (source_words <= most * target_words)
    return fit & (source.strings[candidates.source] != target.strings[candidates.target])


def _warn_of_texts(pair: _LanguagePair, sides: Sequence[_Sentences], taken: int) -> None:
    """Warns of texts that are no two texts of two languages."""
    name = "-".join(pair)
    sentences = min(len(side.places) for side in sides)
    repeated = len(np.intersect1d(*(side.strings for side in sides)))
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
    candidates: Mined, texts: Sequence[TextSide], options: MiningOptions
) -> _Judged:
    """Takes the candidates beside another one, and more sentences beside these."""
    source, target = texts
    places = source.places[candidates.source], target.places[candidates.target]
    enough = False
    for lines in range(_SUPPORT_LINES, 0, -1):  # few lines meet by chance in a short text
        supported = mining.has_support(*places, lines)
        chance = _count_by_chance(*places, lines)
        enough = supported.sum() >= max(_LEAST_SUPPORTED, _CHANCE * chance)
        if enough:
            break
    # Too little support may all be by chance, and then counts for no pair.
    is_taken = supported & enough
    # Unsupported pairs of a high margin are mostly wrong where the texts share documents.
    if options.unsupported_margin:
        is_taken |= candidates.scores >= options.unsupported_margin
    taken_pairs = candidates.take(is_taken)
    if options.grow_lines and len(taken_pairs.source):
        taken_pairs = mining.grow(taken_pairs, source, target, options.grow_lines, _GROWN_COSINE)
    figures = {
        "mutual": len(supported),
        "supported": int(supported.sum()),
        "by_chance": round(chance),
        "lines": lines,
        "taken": len(taken_pairs.source),
    }
    # Growth takes some of the candidates that nothing supports.
    keys, taken_keys = (x.source * len(target.places) + x.target for x in (candidates, taken_pairs))
    return _Judged(taken_pairs, candidates.take(~np.isin(keys, taken_keys)), figures)


def _count_by_chance(source: np.ndarray, target: np.ndarray, lines: int) -> float:
    """How many pairs would be supported if their targets were shuffled."""
    random = np.random.default_rng(0)
    counts = []
    # Few pairs are seldom supported by chance: four shuffles of 300 gave 3.0 where 2,000 give 1.2. Still
    # fewer are never enough, and need no exact count: 40,000 shuffles of one pair took ten seconds.
    decides = len(target) >= _LEAST_SUPPORTED
    for _ in range(max(_SHUFFLES, _SHUFFLED // len(target)) if decides else _SHUFFLES):
        shuffled = target[random.permutation(len(target))]
        counts.append(mining.has_support(source, shuffled, lines).sum())
    return float(np.mean(counts))


def _add_places(mined: Mined, sides: Sequence[_Sentences]) -> MinedPairs:
    """The pairs with the places of their sentences in the corpus."""
    source, target = sides
    return MinedPairs(source.places[mined.source], target.places[mined.target], mined.scores)


def _link_words(
    graph: WordGraph,
    pair: _LanguagePair,
    taken: Mined,
    sides: Sequence[_Sentences],
    word_vectors: Sequence[np.ndarray],
    options: MiningOptions,
) -> CountedLinks:
    """The links of the words of the best pairs of sentences."""
    best = taken.take(slice(_MAX_LINKED))  # supported pairs come first
    source, target = sides
    words = [
        [source.words_in_graph(sentence) for sentence in best.source.tolist()],
        [target.words_in_graph(sentence) for sentence in best.target.tolist()],
    ]
    return linking.link_words(graph, pair, words, word_vectors, options.position_weight)
