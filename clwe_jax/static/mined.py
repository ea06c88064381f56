"""Mined pairs of sentences as files for people and other programs, as figures and as a section."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
import os
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax import atomic, pocket
from clwe_jax.align import mining
from clwe_jax.embeddings import linking
from clwe_jax.embeddings.text_links import TextLinks, MinedPairs
from clwe_jax.embeddings.linking import WordLinks
from clwe_jax.embeddings.word_graph import CountedLinks
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.encode import select
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.static import report as page
from clwe_jax.text.lines import iterate_lines
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.spread import spread
from clwe_jax.text.words.characters import has_letter
from clwe_jax.text.words.spellings import Spellings

FOLDER = "mined"  # of the run's folder: parallel text for --config.task.parallel
DICTIONARY = "dictionary"  # of this folder: for --config.data.dictionaries
_EXAMPLES = 12  # pairs of sentences, and of words, in the report
_GOLD = "shared"  # beside the embedded world's text
_MARGINS = {"1.5": (1.5, math.inf), "1.2": (1.2, 1.5), "1.02": (0, 1.2)}  # least margin of a band
_JUDGED = 100  # pairs of each band


@dataclasses.dataclass(frozen=True)
class LinkReport:
    """Links of words, of given pairs or mined, with their figures and sections of the report."""

    links: Mapping[tuple[str, str], CountedLinks] = dataclasses.field(default_factory=dict)
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)
    sections: Sequence[Any] = ()

    def join(self, other: LinkReport) -> LinkReport:
        """Both together; the counts of a link that both have are added."""
        return LinkReport(
            linking.add_links([self.links, other.links]),
            {**self.figures, **other.figures},
            [*self.sections, *other.sections],
        )


def write(
    grown: TextLinks,
    dictionary: Dictionary | None,
    folder: str,
    text: str = "",
    judge: str = "",
    spellings: Spellings | None = None,
) -> LinkReport:
    """Writes what was mined.

    For each pair of languages, FOLDER/xx-yy.tsv has a sentence and its translation a line (as
    `text.corpus.parallel` reads them), xx-yy.places.txt the margin and both places of each line, and
    xx-yy.refused.txt pairs that nothing supports.

    Args:
      dictionary: the dictionary before mining; None: there is none.
      text: folder of the embedded world's text, whose true pairs are known; '' for other text.
      judge: an encoder, as of `config.encoder`, that is asked which pairs are translations; '': none.
      spellings: of the words that are written otherwise than their keys.
    """
    os.makedirs(folder, exist_ok=True)
    lines = _Lines(grown.files)
    for sets in (grown.pairs, grown.refused):
        for pair, mined_pairs in sets.items():
            lines.want(pair[0], mined_pairs.source.tolist())
            lines.want(pair[1], mined_pairs.target.tolist())
    figures = {}
    parts = []
    judging = encoders.load(judge, sorted(grown.files)).encoder() if judge else None
    for pair in dict.fromkeys([*grown.pairs, *grown.refused]):
        name = "-".join(pair)
        taken_pairs = grown.pairs.get(pair, MinedPairs([], [], []))
        refused_pairs = grown.refused.get(pair, MinedPairs([], [], []))
        rows = _rows(lines, pair, taken_pairs)
        refused_rows = _rows(lines, pair, refused_pairs)
        links = grown.links.get(pair)
        words = sort_links(links) if links else []
        spellings_of = [(spellings or {}).get(language, {}) for language in pair]
        spelled = [(spellings_of[0].get(a, a), spellings_of[1].get(b, b), n) for a, b, n in words]
        if len(taken_pairs.source):
            _write(folder, f"{name}.tsv", (f"{x}\t{y}" for _, _, _, x, y in rows))
            _write(folder, f"{name}.places.txt", ("\t".join(row[:3]) for row in rows))
        if refused_rows:
            _write(folder, f"{name}.refused.txt", map("\t".join, refused_rows))
        entries = set(dictionary.pairs(*pair)) if dictionary is not None else set()
        new_links = [shown for link, shown in zip(words, spelled) if link[:2] not in entries]
        examples = refused_rows[:_EXAMPLES], new_links[:_EXAMPLES]
        parts.append(page.Pair(name, rows, *examples, len(words), len(new_links)))
        if gold := _gold(text, pair):
            figures |= _quality(name, lines, pair, taken_pairs, gold)
        if judging is not None:
            figures |= _judge_bands(judging, pair, rows, refused_rows)
    return LinkReport(grown.links, figures, page.sections(grown.rounds, parts, figures))


def write_dictionaries(links: WordLinks, folder: str, spellings: Spellings) -> None:
    """Writes FOLDER/xx-yy.txt for each pair of languages: a word, its translation and their count a line."""
    os.makedirs(folder, exist_ok=True)
    for pair, pair_links in links.items():
        first, second = (spellings.get(language, {}) for language in pair)
        words = sort_links(pair_links)
        lines = (f"{first.get(a, a)}\t{second.get(b, b)}\t{n:.2f}" for a, b, n in words)
        _write(folder, f"{'-'.join(pair)}.txt", lines)


def sort_links(links: CountedLinks) -> list[tuple[str, str, float]]:
    """The links of words with letters, most frequent first."""
    words = zip(links.source, links.target, links.counts.tolist())
    spelled = [link for link in words if all(has_letter(x) for x in link[:2])]
    return sorted(spelled, key=lambda link: -link[2])


class _Lines:
    """Lines of text by their places, each file read once."""

    def __init__(self, files: Mapping[str, Sequence[tuple[str, int]]]) -> None:
        self._files = files
        self._wanted: dict[str, dict[int, str]] = {}
        self._read: set[str] = set()

    def want(self, language: str, places: Sequence[int]) -> None:
        """Says which lines will be asked for."""
        for place in places:
            path, number = self.find(language, place)
            self._wanted.setdefault(path, {})[number] = ""

    def find(self, language: str, place: int) -> tuple[str, int]:
        """The file of a place and the number of its line, from 1."""
        files = self._files[language]
        path, start = files[bisect.bisect([first for _, first in files], place) - 1]
        return path, place - start + 1

    def text(self, path: str, number: int) -> str:
        """A line that was announced."""
        if path not in self._read:
            self._read.add(path)
            line_texts = self._wanted[path]
            for place, line in enumerate(iterate_lines(path), 1):
                if place in line_texts:
                    line_texts[place] = " ".join(line.split())
        return self._wanted[path][number]


def _rows(lines: _Lines, pair: tuple[str, str], pairs: MinedPairs) -> list[tuple[str, ...]]:
    """(margin, place, place, sentence, translation) of each pair."""
    rows = []
    for source, target, margin in zip(*map(list, pairs)):
        places = [lines.find(pair[0], source), lines.find(pair[1], target)]
        place_names = [f"{os.path.basename(path)}:{number}" for path, number in places]
        margin_text = "beside" if math.isnan(margin) else f"{margin:.3f}"
        rows.append((margin_text, *place_names, *(lines.text(*place) for place in places)))
    return rows


def _write(folder: str, name: str, lines: Any) -> None:
    atomic.write(os.path.join(folder, name), "".join(f"{line}\n" for line in lines))


def _gold(text: str, pair: tuple[str, str]) -> dict[tuple[int, int], bool]:
    """The pairs of lines of the embedded world that say the same, and whether they were planted."""
    first, second = sorted(pair)
    path = os.path.join(os.path.dirname(text), _GOLD, f"{first}-{second}.tsv")
    if not text or not os.path.exists(path):
        return {}
    planted = {(x.source, x.target): x.planted for x in pocket.read_pairs(path)}
    if pair == (first, second):
        return planted
    # The files name the two languages in alphabetical order.
    return {(target, source): value for (source, target), value in planted.items()}


def _quality(
    name: str,
    lines: _Lines,
    pair: tuple[str, str],
    taken: MinedPairs,
    gold: Mapping[tuple[int, int], bool],
) -> dict[str, float]:
    """Precision over all true pairs, recall over the planted ones."""
    taken_lines = set()
    for source, target in zip(taken.source, taken.target):
        first = lines.find(pair[0], source)[1]
        taken_lines.add((first, lines.find(pair[1], target)[1]))
    planted = {place for place, is_planted in gold.items() if is_planted}
    right = {f"mined/{name}/recall": len(taken_lines & planted) / max(1, len(planted))}
    if taken_lines:
        right[f"mined/{name}/precision"] = len(taken_lines & gold.keys()) / len(taken_lines)
    return right


def _judge_bands(
    judge: Encoder,
    pair: tuple[str, str],
    taken: Sequence[tuple[str, ...]],
    refused: Sequence[tuple[str, ...]],
) -> dict[str, float]:
    """The share of the pairs of each band whose sentences are each other's nearest for the judge,
    among the sentences of all bands. A judge misses some true pairs too."""
    bands: dict[str, list[tuple[str, ...]]] = {}
    for kind, rows in (("taken", taken), ("refused", refused)):
        for row in rows:
            margin = row[0]
            if margin != "beside":
                margin = next(x for x, (a, b) in _MARGINS.items() if a <= float(margin) < b)
            bands.setdefault(f"{kind}/{margin}", []).append(row)
    # Evenly over the rows of a band, which begin with the best.
    band_rows = {x: spread(rows, _JUDGED) for x, rows in bands.items()}
    sample_rows = list(itertools.chain.from_iterable(band_rows.values()))
    if len(sample_rows) < 2:
        return {}
    sides = []
    for column, language in zip((3, 4), pair):
        texts = [row[column] for row in sample_rows]
        sides.append(select(judge.sentences(texts, language), None))
    of_source, of_target = (nearest.keys[:, 0] for nearest in mining.exact(*sides, 1))
    places = np.arange(len(sample_rows))
    accepted = (of_source == places) & (of_target == places)
    ends = np.cumsum([len(rows) for rows in band_rows.values()])
    parts = np.split(accepted, ends[:-1])
    name = "-".join(pair)
    return {f"mined/{name}/judged/{x}": float(y.mean()) for x, y in zip(band_rows, parts)}
