"""Word similarity: rank correlation of the cosines of word pairs with human scores.

A file has lines `word1 word2 score`, separated by tabs or spaces, in .csv by commas. Both words are of one language
(WordSim-353, SimLex-999) or of two (SemEval-2017 task 2).
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import os
import re
from typing import Iterator, Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.align import search
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS, select_layer
from clwe_jax.encoders.protocols import Encoder, WordSample, WordSpace
from clwe_jax.evaluate.context import Context
from clwe_jax.options.evaluators import SimilarityEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.report.data import Column, Section
from clwe_jax.report.figure_tables import table
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.text.corpus import test_files
from clwe_jax.text.words.languages import name_in
from clwe_jax.text.lines import LineCounts, iterate_lines, warn_of_repairs
from clwe_jax.text.unpacking import ENDING, strip_compression
from clwe_jax.text.words.normalize import Normalizer

_OPTION = "config.evals.similarity.data"
# EN_SIMLEX-999.txt, EN-DE-SEMEVAL17.txt, de.rg65.tsv
_NAME = re.compile(
    r"(?P<first>[a-z]{2,3})(-(?P<second>[a-z]{2,3}))?(?P<name>[._-].+?)?\.(txt|tsv|csv)" + ENDING,
    re.I,
)
_CODES = frozenset(options.MBERT_LANGUAGES.split(","))
_MIN_PAIRS = 3  # covered pairs, below which there is no correlation
_SHOWN = 3  # bad lines that the log names


@dataclasses.dataclass(frozen=True)
class SimilaritySet:
    """A file of scored pairs.

    Attributes:
      source, target: the languages of the two columns; equal for a set of one language.
      name: name of the set in lower case: 'simlex-999'.
      path: path of the file.
    """

    source: str
    target: str
    name: str
    path: str

    @property
    def subject(self) -> str:
        """'en/simlex-999' or 'en-de/semeval17', a part of its metrics' names."""
        pair = self.source if self.source == self.target else f"{self.source}-{self.target}"
        return f"{pair}/{self.name}"


def find(directory: str, languages: Sequence[str], option: str = _OPTION) -> list[SimilaritySet]:
    """The sets of a folder whose languages are all among `languages`; the log names the others.

    Args:
      directory: folder with `EN_NAME.txt` and `EN-DE-NAME.txt` (MUSE's names), also .tsv or .csv, in either case.
      languages: two-letter codes.
      option: the config option that names the folder, for errors.

    Raises:
      FileNotFoundError: the folder is missing or holds no such file.
    """
    sets = []
    absent = []
    expected = "EN_NAME.txt or EN-DE-NAME.txt, with lines `word1 word2 score`,"
    for match in test_files.match_names(directory, _NAME, option, expected):
        first = match["first"].lower()
        second = (match["second"] or "").lower()
        title = (match["name"] or "").lower().strip("._-")
        if name_in(second, languages) not in {*_CODES, *languages}:
            # In 'en-rg-65' 'rg' is a part of the name, not a language.
            title = "-".join(part for part in (second, title) if part)
            second = first
        first = name_in(first, languages)
        second = name_in(second, languages)
        if first in languages and second in languages:
            path = os.path.join(directory, match[0])
            sets.append(SimilaritySet(first, second, title or "similarity", path))
        else:
            absent.append(match[0])
    test_files.log_unlearned(directory, absent)
    return sets


def read(
    one: SimilaritySet, normalizer: Normalizer = Normalizer()
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Reads the pairs of a set and their scores, float64 [N].

    A header is ignored. The log names other lines that are not a pair with a score, which are left
    out.

    Raises:
      ValueError: no line is a pair with a score.
    """
    pairs: list[tuple[str, str]] = []
    scores: list[float] = []
    bad_lines: list[str] = []
    counts = LineCounts()
    for number, line in enumerate(iterate_lines(one.path, counts), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if (
            strip_compression(one.path.lower()).endswith(".csv")
            and "," in line
            and "\t" not in line
        ):
            [columns] = csv.reader([line])
        else:
            columns = re.split("[\t;]" if "\t" in line else r"\s+", line)
        parts = [part.strip() for part in columns]
        try:
            a = parts[0]
            b = parts[1]
            score = float(parts[2])
        except (IndexError, ValueError):
            if number > 1:
                bad_lines.append(f"line {number} ({line[:40]!r})")
            continue
        if not np.isfinite(score):
            bad_lines.append(f"line {number} ({line[:40]!r})")
            continue
        pairs.append((normalizer.key(a, one.source), normalizer.key(b, one.target)))
        scores.append(score)
    warn_of_repairs(one.path, counts)
    if bad_lines:
        ending = f" and {len(bad_lines) - _SHOWN} more" if len(bad_lines) > _SHOWN else ""
        logging.warning(
            "%s: expected `word1 word2 score`; left out %s%s",
            one.path,
            ", ".join(bad_lines[:_SHOWN]),
            ending,
        )
    if not pairs:
        raise ValueError(f"{one.path} holds no scored pair: expected lines `word1 word2 score`")
    return pairs, np.array(scores)


def correlation(
    pairs: Sequence[tuple[str, str]], scores: np.ndarray, source: WordSpace, target: WordSpace
) -> tuple[float | None, float]:
    """Spearman's rank correlation of cosines with scores, over the covered pairs.

    Args:
      pairs: N pairs of a source word and a target word.
      scores: human scores, [N].
      source, target: words of the two columns' languages in one space.

    Returns:
      The correlation, or None where fewer than three pairs are covered or either side is constant;
      the share of covered pairs, whose words both have vectors.
    """
    from scipy import stats  # takes half a second, which a start need not wait for

    covered_pairs = [i for i, (a, b) in enumerate(pairs) if a in source.index and b in target.index]
    share = len(covered_pairs) / len(pairs)
    if len(covered_pairs) < _MIN_PAIRS:
        return None, share
    rows = [(source.index[pairs[i][0]], target.index[pairs[i][1]]) for i in covered_pairs]
    x, y = (
        np.asarray(search.unit(select_layer(space.vectors[list(side)], MEAN_OF_LAST_LAYERS)))
        for space, side in zip((source, target), zip(*rows))
    )
    cosines = np.einsum("nd,nd->n", x, y)
    human_scores = np.asarray(scores)[covered_pairs]
    if np.ptp(cosines) == 0 or np.ptp(human_scores) == 0:
        return None, share
    return float(stats.spearmanr(cosines, human_scores).statistic), share


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Word similarity by test set."""
    by_set: dict[str, dict[str, float]] = {}
    for name, value in run.figures.items():
        path, _, metric = name.rpartition("/")
        if path.startswith("similarity/"):
            by_set.setdefault(path.removeprefix("similarity/"), {})[metric] = value
    text = "Spearman's correlation of cosines with human scores, over the pairs that have vectors."
    columns = {
        "spearman": Column("Correlation"),
        "coverage": Column("Covered", "percent", main=False),
        "pairs": Column("Pairs", "count", main=False),
    }
    subjects = {name: name for name in sorted(by_set)}
    blocks = table("similarity", subjects, columns, by_set, "Set", mean=False)
    return Section("Word similarity", text, blocks) if blocks else None


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordSimilarity(ByIdentity, SimilarityEvaluation):
    """Word similarity, for the words of any encoder."""

    section = staticmethod(section)

    context: Context

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_data:
            _ = self._sets  # an error in the folder is raised before training starts

    @functools.cached_property
    def _sets(self) -> list[tuple[SimilaritySet, list[tuple[str, str]], np.ndarray]]:
        context = self.context
        found = find(self.data, context.languages, context.option(self.name, "data"))
        sets = [x for x in found if context.measures(x.source, x.target)]
        if found and not sets:
            logging.warning("%s: no set is of the pairs of config.static.pairs", self.data)
        return [(test_set, *read(test_set, context.normalizer)) for test_set in sets]

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields for each set of the folder:

        similarity/{lang or pair}/{set}/spearman: the rank correlation.
        .../coverage: the share of covered pairs; .../pairs: the number of pairs.
        """
        sample = WordSample(self.context.sample, max_words=0)  # only the words of the sets
        for test_set, pairs, scores in self._sets:
            view = model.pairwise_space(test_set.source, test_set.target)
            source, target = (
                view.vocabulary(language, words, sample)
                for language, words in zip((test_set.source, test_set.target), zip(*pairs))
            )
            rho, share = correlation(pairs, scores, source, target)
            if rho is None:
                logging.warning(
                    "%s: no correlation: %.0f%% of its %d pairs have vectors, or all cosines or "
                    "scores are equal",
                    test_set.path,
                    100 * share,
                    len(pairs),
                )
            else:
                yield f"similarity/{test_set.subject}/spearman", rho
            yield f"similarity/{test_set.subject}/coverage", share
            yield f"similarity/{test_set.subject}/pairs", float(len(pairs))
