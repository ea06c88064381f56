"""Bilingual lexicon induction from aligned word vectors (joint-align, section 4.1; MUSE).

A source word of a test dictionary is right when one of its translations is among the nearest words
of the target language. Two readings are always given: over all source words, where one that is out
of the vocabulary is taken to translate to itself and one whose translations are all unknown is
wrong (joint-align, appendix B), and over the covered ones, as MUSE's own script counts.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from clwe_jax import registry
from clwe_jax.align import csls
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate.bli import TestSet
from clwe_jax.evaluate.statistics import bootstrap_interval

# How words are compared -> what the metric's name ends in, and the name of the retrieval method.
SUFFIXES = {"nn": "", "csls": "_csls", "inverted_softmax": "_softmax"}
_RETRIEVAL = {"nn": "cosine", "csls": "csls", "inverted_softmax": "inverted_softmax"}
TOPS = (1, 5, 10)  # the k of P@k
DEPTH = max(TOPS)  # nearest words that are looked at
FREQUENCY_EDGES = (200, 1_000, 5_000, 20_000, 100_000)  # ranks that end a bin
SPELLINGS = 3  # examples of either side, where a dictionary and vectors do not meet
_SHOWN = 5  # nearest words that the table of errors shows


@dataclasses.dataclass(frozen=True)
class Induction:
    """What came of one test dictionary.

    Attributes:
      figures: flat, the names as `LexiconInduction.measure` lists them.
      rows: one a source word, for the table of errors; see `LexiconInduction.measure`.
    """

    figures: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LexiconInduction:
    """Measures test dictionaries on vectors in a common space.

    Attributes:
      data: a folder of test dictionaries `xx-yy.5000-6500.txt`; see `bli.find`.
      methods: of `nn` (cosine), `csls`, `inverted_softmax`, with commas between them.
      neighbourhood: of CSLS.
      beta: the inverse temperature of the inverted softmax.
      bootstrap: resamplings of the words for an interval; 0: no intervals.
      tags: a folder of tagged text, from which words get their part of speech; see `tags.read`.
      seed: of the resampling.
    """

    data: str = ""
    methods: str = "nn,csls,inverted_softmax"
    neighbourhood: int = 10
    beta: float = 30.0
    bootstrap: int = 1_000
    tags: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        for method in self._methods:
            if method not in SUFFIXES:
                raise ValueError(
                    f"config.evals.bli.methods={self.methods!r}: there is no retrieval method "
                    f"{method!r}. {registry.nearest(method, SUFFIXES)}"
                )
        if not self._methods:
            raise ValueError("config.evals.bli.methods is empty. Known: " + ", ".join(SUFFIXES))

    @property
    def _methods(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.methods.split(",") if name.strip())

    def measure(
        self,
        test: TestSet,
        source: Vectors,
        target: Vectors,
        tags: Mapping[str, str] | None = None,
    ) -> Induction:
        """Induces the translations of a test dictionary's source words.

        Args:
          test: source word -> translations.
          source: vectors [N, K] of the source language in the common space, most frequent first;
            all of them are the pool that CSLS and the inverted softmax average over.
          target: vectors [M, K] of the target language in the same space: the candidates.
          tags: part of speech of source words; None where unknown.

        Returns:
          Figures as fractions, with '' (nearest neighbour), '_csls' and '_softmax' in place of *,
          and rows.
            p@1*, p@5*, p@10*, mrr*: of all source words. A source word out of the vocabulary
              is predicted to be its own translation. mrr counts a translation beyond the ten
              nearest as 0.
            ...*_covered: of the words in the vocabulary that have a translation in the other.
            ...*_distinct, *_distinct_covered: after all pairs of one and the same string were taken
              out of the test dictionary.
            p@1*_low, p@1*_high, ...: 95% bootstrap intervals, over words.
            coverage, coverage_distinct: the share of covered words; oov: of source words out of
              the vocabulary; words, words_distinct: how many there are.
            frequency/{first}-{last}/p@1*, .../words: by the word's rank in its vocabulary.
            tag/{tag}/p@1*, .../words: by part of speech.
          A row holds 'word', 'rank' (1 is the most frequent; None out of the vocabulary), 'gold',
          'found' (pairs of word and score, best first, by CSLS where measured), 'place' of the
          first right one (0: none of ten), 'kind' (see `_kind`) and 'tag'.

        Raises:
          ValueError: vectors of unlike widths.
        """
        words = list(test.entries)
        gold = [test.entries[word] for word in words]
        rows = np.array([source.index.get(word, -1) for word in words])
        known = rows >= 0
        candidates = [{target.index[w] for w in some if w in target.index} for some in gold]
        distinct = [
            {place for place in some if target.words[place] != word}
            for word, some in zip(words, candidates)
        ]
        # Whether a word has a translation at all, in the dictionary, that is not the word itself.
        other = np.array([bool(some - {word}) for word, some in zip(words, gold)])
        covered = known & np.array([bool(some) for some in candidates])
        covered_distinct = known & np.array([bool(some) for some in distinct])
        own = np.array([word in some for word, some in zip(words, gold)])

        figures: dict[str, float] = {
            "words": float(len(words)),
            "words_distinct": float(other.sum()),
            "coverage": float(covered.mean()),
            "oov": float((~known).mean()),
        }
        if other.any():
            figures["coverage_distinct"] = float(covered_distinct[other].mean())
        groups = dict(_frequency_groups(rows))
        groups |= _tag_groups(words, tags or {})
        for name, members in groups.items():
            figures[f"{name}/words"] = float(len(members))
        shown: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        for method in self._methods:
            suffix = SUFFIXES[method]
            found, scores = self._nearest(method, source, target, rows[known])
            places = np.zeros(len(words), int)
            places[known] = _places(found, [candidates[i] for i in np.flatnonzero(known)])
            places[~known & own] = 1
            apart = np.zeros(len(words), int)
            apart[known] = _places(found, [distinct[i] for i in np.flatnonzero(known)])
            for ending, ranks, some in (
                ("", places, np.ones(len(words), bool)),
                ("_covered", places, covered),
                ("_distinct", apart, other),
                ("_distinct_covered", apart, covered_distinct),
            ):
                figures |= self._figures(f"{suffix}{ending}", ranks[some])
            for name, members in groups.items():
                figures[f"{name}/p@1{suffix}"] = float((places[members] == 1).mean())
            if shown is None or method == "csls":
                shown = found, scores, places
        assert shown is not None
        table = _table(words, gold, rows, covered, target, shown, tags or {})
        return Induction(figures, table)

    def _nearest(
        self, method: str, source: Vectors, target: Vectors, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the target and their scores, both [Q, depth]."""
        depth = min(DEPTH, len(target.words))
        if not len(rows):
            return np.zeros((0, depth), int), np.zeros((0, depth), np.float32)
        found, scores = csls.nearest(
            source.vectors[rows],
            target.vectors,
            depth,
            _RETRIEVAL[method],
            pool=source.vectors,
            neighbourhood=self.neighbourhood,
            beta=self.beta,
        )
        return np.asarray(found), np.asarray(scores)

    def _figures(self, ending: str, places: np.ndarray) -> dict[str, float]:
        """P@k, MRR and the interval of P@1 from the places of the first right words [W]."""
        if not len(places):
            return {}
        right = {top: (places >= 1) & (places <= top) for top in TOPS}
        figures = {f"p@{top}{ending}": float(hit.mean()) for top, hit in right.items()}
        figures[f"mrr{ending}"] = float(np.where(places > 0, 1 / np.maximum(places, 1), 0).mean())
        if self.bootstrap:
            low, high = bootstrap_interval(right[1], self.bootstrap, self.seed)
            figures |= {f"p@1{ending}_low": low, f"p@1{ending}_high": high}
        return figures


def means(figures: Mapping[str, float]) -> dict[str, float]:
    """'bli/{metric}': the mean over the pairs of 'bli/{pair}/{metric}' that every pair has.

    Intervals, counts and splits are left out: they have no mean of use.
    """
    pairs: dict[str, list[float]] = {}
    names = set()
    for name, value in figures.items():
        prefix, _, rest = name.partition("/")
        pair, _, metric = rest.partition("/")
        if prefix != "bli" or "-" not in pair or "/" in metric:
            continue
        names.add(pair)
        if not metric.startswith("words") and not metric.endswith(("_low", "_high")):
            pairs.setdefault(metric, []).append(value)
    return {
        f"bli/{metric}": float(np.mean(values))
        for metric, values in pairs.items()
        if len(values) == len(names)
    }


def training_pairs(
    pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors, where: str = ""
) -> np.ndarray:
    """The pairs of words that both vocabularies have, as rows.

    Args:
      pairs: source word, target word.
      source: vectors of the source language; target: of the target language.
      where: what the pairs are called in the message, as 'de-en'.

    Returns:
      int32 [P, 2].

    Raises:
      ValueError: none is covered; the message shows the coverage and how either side spells.
    """
    rows = [
        (source.index[a], target.index[b])
        for a, b in pairs
        if a in source.index and b in target.index
    ]
    if not rows and pairs:
        raise ValueError(uncovered(pairs, source, target, where))
    return np.array(rows, np.int32).reshape(-1, 2)


def uncovered(
    pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors, where: str
) -> str:
    """What to say of a dictionary of which no pair is in the vectors."""
    lines = [f"No pair of the dictionary {where} has both of its words in the vectors:"]
    for side, vectors, words in (
        ("source", source, list(dict.fromkeys(a for a, _ in pairs))),
        ("target", target, list(dict.fromkeys(b for _, b in pairs))),
    ):
        have = sum(word in vectors.index for word in words)
        lines.append(
            f"  {side}: {have} of {len(words)} dictionary words are covered; the dictionary "
            f"spells {_examples(words)}, the vectors {_examples(vectors.words)}"
        )
    if lower_case_helps(pairs, source, target):
        lines.append(
            "In lower case they would be covered: --config.align.lower_case_dictionary=True."
        )
    else:
        lines.append("Are the languages, their order (config.data.languages) and the case right?")
    return "\n".join(lines)


def lower_case_helps(pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors) -> bool:
    """Whether at least half as many pairs again would be covered if they were in lower case."""
    as_is = sum(a in source.index and b in target.index for a, b in pairs)
    lower = sum(a.lower() in source.index and b.lower() in target.index for a, b in pairs)
    return lower > 1.5 * as_is


def _examples(words: Sequence[str]) -> str:
    # From further down the list too: the most frequent ones are punctuation.
    step = max(1, len(words) // SPELLINGS)
    return ", ".join(repr(word) for word in list(words)[::step][:SPELLINGS])


def _places(found: np.ndarray, right: Sequence[set[int]]) -> np.ndarray:
    """The place (from 1) of the first right row in each line of `found` [Q, k]; 0: none is."""
    places = np.zeros(len(found), int)
    for number, (line, some) in enumerate(zip(found.tolist(), right)):
        for place, row in enumerate(line, 1):
            if row in some:
                places[number] = place
                break
    return places


def _frequency_groups(rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """'frequency/1-200' -> the words of these ranks; those out of the vocabulary are in none."""
    first = 1
    for last in (*FREQUENCY_EDGES, None):
        above = rows + 1 <= last if last is not None else np.ones(len(rows), bool)
        members = np.flatnonzero((rows + 1 >= first) & above & (rows >= 0))
        if len(members):
            yield f"frequency/{first}-{last or ''}", members
        first = (last or 0) + 1


def _tag_groups(words: Sequence[str], tags: Mapping[str, str]) -> dict[str, np.ndarray]:
    groups: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        if word in tags:
            groups.setdefault(f"tag/{tags[word]}", []).append(number)
    return {name: np.array(members) for name, members in sorted(groups.items())}


def _table(words, gold, rows, covered, target, shown, tags) -> list[dict[str, Any]]:
    found, scores, places = shown
    line = np.cumsum(rows >= 0) - 1  # the line of `found` that is a word's
    table = []
    for number, word in enumerate(words):
        near: list[tuple[str, float]] = []
        if rows[number] >= 0:
            near = [
                (target.words[row], round(float(score), 4))
                for row, score in zip(found[line[number]][:_SHOWN], scores[line[number]])
            ]
        entry = {
            "word": word,
            "rank": int(rows[number]) + 1 if rows[number] >= 0 else None,
            "gold": sorted(gold[number]),
            "found": near,
            "place": int(places[number]),
            "kind": _kind(word, rows[number] >= 0, covered[number], int(places[number]), near),
        }
        if word in tags:
            entry["tag"] = tags[word]
        table.append(entry)
    return table


def _kind(word: str, known: bool, covered: bool, place: int, near: Sequence) -> str:
    """'right', 'near' (among the ten), 'copied' (the word itself was found), 'wrong';

    'no vector' (of the source word, wrong), 'no candidate' (no translation has a vector).
    """
    if place == 1:
        return "right"
    if not known:
        return "no vector"
    if not covered:
        return "no candidate"
    if place:
        return "near"
    return "copied" if near and near[0][0] == word else "wrong"
