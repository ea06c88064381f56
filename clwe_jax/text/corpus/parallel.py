"""Parallel text: sentences and their translations, from files of all formats.

Files of two languages: `xx-yy.xx` and `xx-yy.yy`, of which line n of one translates line n of the
other, `tatoeba.xxx-eng.xxx` and `tatoeba.xxx-eng.eng` (ISO 639-3), `xx-yy.tsv` with two columns of
text, TMX; any name and a dot may stand before them, as in OPUS' `Tanzil.xx-yy.xx`.
Files of two languages or more: `train.en`, `train.de`, `train.fr` have the same text in all; the
option names their beginning, `DIR/train`. A Bible a file: `xx.tsv` of verses (reference, tab, text),
or `xxx-NAME.txt` with a line for each line of `vref.txt`; every two languages have a pair for each
verse that both have. Each may be compressed. `DIR@JOH` are the verses of John alone, `DIR@-JOH` all
others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import statistics
from typing import Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import atomic
from clwe_jax.text import stamps
from clwe_jax.text.corpus import parallel_files, tmx, verse_files
from clwe_jax.text.corpus.parallel_files import COLUMNS, HELP, LINES, UNITS, VERSES, Bitext
from clwe_jax.text.corpus.verse_files import Faults, Verses
from clwe_jax.text.corpus.verse_references import Selection
from clwe_jax.text.lines import LineCounts, iterate_lines, split_cells, warn_of_repairs
from clwe_jax.text.unpacking import open_binary
from clwe_jax.text.words.languages import find_name

_Read = tuple[
    list[tuple[str, str]], dict[str, int]
]  # sentence pairs; kind of fault -> lines left out
_CACHE_VERSION = "2"  # of what the readers make of a file
_SAMPLED = 1_000  # lines of a table that show which columns are text
_REPEATED = 20  # rows of a table for each value, from which a column is a label such as a language
_NO_TEXT = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?|(https?|file)://\S+|", re.IGNORECASE)


@dataclasses.dataclass
class SentencePairs:
    """Sentences and their translations.

    Attributes:
      source, target: the texts of both sides, equally many.
      skipped: kind of fault -> number of lines that were left out.
    """

    source: list[str]
    target: list[str]
    skipped: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
    """All parallel text of a place, multi-way text once.

    Attributes:
      sentences: language -> its sentences, each once.
      texts: language -> how many of them, from the beginning, are text of their own; the others
        join verses that are one verse in another language.
      pairs: two languages, in the order of `sentences` -> rows of both, int64 [N, 2].
      skipped: kind of fault -> number of lines that were left out.
      files: the files that were read, sorted.
      references: language -> the row of a verse -> its reference, 'MAT 5:12'; none of other text.
    """

    sentences: Mapping[str, Sequence[str]]
    texts: Mapping[str, int]
    pairs: Mapping[tuple[str, str], np.ndarray]
    skipped: Mapping[str, int]
    files: tuple[str, ...]
    references: Mapping[str, Mapping[int, str]] = dataclasses.field(default_factory=dict)


def find(place: str, languages: Sequence[str], option: str) -> list[Bitext]:
    """The language pairs at a place; the log names those of other languages.

    Raises:
      FileNotFoundError, ValueError: as of `parallel_files.find`, or no pair of the languages.
    """
    pairs, absent = parallel_files.find(place, languages, option)
    if not pairs:
        has = f"it has {', '.join(absent)}. Add them to --config.data.languages" if absent else HELP
        raise ValueError(
            f"config.{option}={place} has no two of the model's languages {', '.join(languages)}; {has}"
        )
    return pairs


def test_pairs(
    place: str, languages: Sequence[str], option: str, asked: Sequence[tuple[str, str]] = ()
) -> list[Bitext]:
    """The language pairs of an evaluation: each once, also of both orders, sorted by name; there may be none.

    Args:
      asked: pairs to evaluate, in both orders; (): all pairs.

    Raises:
      FileNotFoundError, ValueError: as of `find`.
    """
    by_name: dict[str, Bitext] = {}
    left_out: list[str] = []
    for files in parallel_files.find(place, languages, option)[0]:
        if asked and (files.source, files.target) not in asked:
            left_out.append(files.name)
            continue
        reverse = by_name.get(f"{files.target}-{files.source}")
        first = reverse or by_name.setdefault(files.name, files)
        if first is not files:
            logging.warning(
                "%s: left out, as %s is also in %s", files.paths[0], first.name, first.paths[0]
            )
    if left_out:
        logging.info(
            "%s: %d pairs are not measured, such as %s: --config.static.pairs asks for others",
            place,
            len(left_out),
            left_out[0],
        )
    if not by_name:
        reason = f"no pair has both languages among {', '.join(languages)}"
        if left_out:
            reason = "config.static.pairs asks for none of its pairs"
        logging.warning("%s: config.%s measures nothing: %s", place, option, reason)
    return [by_name[name] for name in sorted(by_name)]


def read(files: Bitext, limit: int = 0) -> SentencePairs:
    """The sentence pairs of a language pair."""
    return Reader().read(files, limit)


def read_pair(bitexts: Sequence[Bitext], languages: tuple[str, str], limit: int) -> SentencePairs:
    """The sentence pairs of two languages in all their files, the first `limit` ones.

    Returns:
      Sentences of `languages[0]` as the source, whatever the order in the files.
    """
    reader = Reader()
    pairs = SentencePairs([], [])
    for files in bitexts:
        room = limit - len(pairs.source)
        if room and {files.source, files.target} == set(languages):
            found = reader.read(files, room)
            texts = {files.source: found.source, files.target: found.target}
            pairs.source += texts[languages[0]]
            pairs.target += texts[languages[1]]
    return pairs


def read_all(place: str, languages: Sequence[str], option: str) -> Given:
    """All parallel text of a place, in which multi-way text is read once.

    Raises:
      FileNotFoundError, ValueError: as of `find` and `Reader.read`.
    """
    bitexts = find(place, languages, option)
    reader = Reader()
    rows: dict[str, dict[str, int]] = {
        x: {} for x in languages if any(x in (files.source, files.target) for files in bitexts)
    }
    references: dict[str, dict[int, str]] = {language: {} for language in rows}
    skip_counts: dict[str, int] = {}
    parts: dict[tuple[str, str], list[np.ndarray]] = {}

    def add(files: Bitext, pairs: SentencePairs) -> None:
        skip_counts.update(pairs.skipped)
        sides = {files.source: pairs.source, files.target: pairs.target}
        pair = tuple(language for language in rows if language in sides)
        columns = []
        for language in pair:
            row_of = rows[language]
            columns.append([row_of.setdefault(text, len(row_of)) for text in sides[language]])
        parts.setdefault(pair, []).append(np.array(columns, np.int64).T)

    for files in bitexts:
        if files.kind != VERSES:
            add(files, reader.read(files))
            continue
        for language, path in zip((files.source, files.target), files.paths, strict=True):
            for reference, text in reader.verses(path, files.selection).texts.items():
                row = rows[language].setdefault(text, len(rows[language]))
                references[language].setdefault(row, reference)
    texts = {language: len(rows_of_texts) for language, rows_of_texts in rows.items()}
    for files in bitexts:
        if files.kind == VERSES:
            add(files, reader.read(files))
    return Given(
        sentences={language: list(rows_of_texts) for language, rows_of_texts in rows.items()},
        texts=texts,
        pairs={pair: np.concatenate(tables) for pair, tables in parts.items()},
        skipped=skip_counts,
        files=tuple(sorted(set().union(*map(parallel_files.list_sources, bitexts)))),
        references=references,
    )


def as_lines(files: Bitext, reader: Reader) -> Bitext:
    """The same pairs in two files that TensorFlow reads line by line.

    Those of other formats are written to the user's cache, under stamps and times of what they come from.
    """
    if files.kind == LINES:
        return files
    origin = [_CACHE_VERSION, repr(files.selection), files.name]
    for path in parallel_files.list_sources(files):
        origin += [stamps.stamp(path), str(os.stat(path).st_mtime_ns)]
    digest = hashlib.blake2b("\n".join(origin).encode(), digest_size=8).hexdigest()
    folder = atomic.user_cache("parallel", digest)
    names = [f"{files.name}.{language}" for language in (files.source, files.target)]
    if not os.path.isdir(folder):
        pairs = reader.read(files)
        with atomic.making_folder(folder) as new_folder:
            for name, texts in zip(names, (pairs.source, pairs.target), strict=True):
                lines = (" ".join(text.split("\n")) + "\n" for text in texts)
                atomic.write(os.path.join(new_folder, name), "".join(lines))
    paths = tuple(os.path.join(folder, name) for name in names)
    return Bitext(files.source, files.target, paths)


class Reader:
    """Reads language pairs; a file of many languages once, as long as the reader lives."""

    def __init__(self) -> None:
        self._verses: dict[tuple[str, Selection], Verses] = {}
        self._units: dict[str, list[dict[str, str]]] = {}

    def verses(self, path: str, selection: Selection = Selection()) -> Verses:
        """The selected verses of a file.

        Raises:
          ValueError: a line for each reference is expected, and the file has more or fewer.
        """
        key = path, selection
        if key not in self._verses:
            verses = _read_verses(path) if selection.is_all else self.verses(path).select(selection)
            self._verses[key] = verses
        return self._verses[key]

    def read(self, files: Bitext, limit: int = 0) -> SentencePairs:
        """The sentence pairs of a language pair, without those that have an empty side.

        Byte order marks and Windows line ends are accepted; invalid UTF-8 is replaced.

        Args:
          limit: most pairs, from the beginning; 0: all.

        Raises:
          ValueError: sides of different length, a damaged file, UTF-16, or no pair.
        """
        name = " and ".join(files.paths)
        own = {UNITS: self._read_units, VERSES: self._read_verses}
        readers = {LINES: _read_lines, COLUMNS: _read_columns, **own}
        sentence_pairs, skip_counts = readers[files.kind](files, limit)
        pairs = [(a, b) for a, b in sentence_pairs if a and b]
        if len(pairs) < len(sentence_pairs):
            skip_counts[f"lines of {name} with an empty side"] = len(sentence_pairs) - len(pairs)
        for reason, count in skip_counts.items():
            logging.warning("%d %s are left out", count, reason)
        if not pairs:
            raise ValueError(
                f"{name}: no line has a sentence and its translation"
                + (". A table has a tab between the two" if files.kind == COLUMNS else "")
                + (" in the verses that are selected" if files.selection.parts else "")
            )
        return SentencePairs([a for a, _ in pairs], [b for _, b in pairs], skip_counts)

    def _read_units(self, files: Bitext, limit: int) -> _Read:
        [path] = files.paths
        if path not in self._units:
            with open_binary(path) as file:
                self._units[path] = list(tmx.read_units(path, file))
        units = self._units[path]
        codes = sorted(set().union(*units))
        pair = find_name(files.source, codes), find_name(files.target, codes)
        # Two scripts of a language have one code.
        sentence_pairs = [(x[pair[0]], x[pair[1]]) for x in units if len(x.keys() & set(pair)) == 2]
        lacking = sum(not x.keys().isdisjoint(pair) for x in units) - len(sentence_pairs)
        names = f"{files.source}, {files.target}"
        skipped = {f"units of {path} without one of {names}": lacking} if lacking else {}
        return sentence_pairs[: limit or None], skipped

    def _read_verses(self, files: Bitext, limit: int) -> _Read:
        first, second = (self.verses(path, files.selection) for path in files.paths)
        skip_counts = {**first.skipped, **second.skipped}
        sentence_pairs, left_out = verse_files.pair(first, second)
        if left_out:
            reason = f"joined verses of {' and '.join(files.paths)} that one side lacks in part"
            skip_counts[reason] = left_out
        return sentence_pairs[: limit or None], skip_counts


def _lines(path: str) -> list[str]:
    counts = LineCounts()
    lines = list(iterate_lines(path, counts))
    warn_of_repairs(path, counts)
    return lines


def _read_verses(path: str) -> Verses:
    lines = _lines(path)
    if verse_files.is_table(lines):
        return verse_files.read_table(path, lines)
    references = verse_files.references_beside(path)
    if len(lines) != len(references):
        raise ValueError(
            f"{path} has {len(lines):,} lines and {verse_files.VREF} {len(references):,}: a line for each "
            "reference is expected, empty where the translation lacks the verse"
        )
    return verse_files.read_vref(path, lines, references)


def _read_columns(files: Bitext, limit: int) -> _Read:
    [path] = files.paths
    faults = Faults(path)
    sentence_pairs = []
    rows = [split_cells(line) for line in _lines(path)[: limit or None]]
    first, second = _text_columns(rows[:_SAMPLED])
    for number, row in enumerate(rows, 1):
        if len(row) > second:
            sentence_pairs.append((row[first].strip(), row[second].strip()))
        elif "".join(row).strip():
            faults.add("without two columns", number)
    return sentence_pairs, faults.counts


def _text_columns(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """The first two columns with text: not one value in many rows, nor scores, numbers of sentences
    or addresses in most of them."""
    width = statistics.mode(map(len, rows)) if rows else 0
    rows = [row for row in rows if len(row) == width]
    text_columns = [c for c, cells in enumerate(zip(*rows)) if _is_text(cells)]
    return (text_columns[0], text_columns[1]) if len(text_columns) > 1 else (0, 1)


def _is_text(column: Sequence[str]) -> bool:
    is_label = len(set(column)) <= max(1, len(column) // _REPEATED) < len(column)
    others = sum(bool(_NO_TEXT.fullmatch(cell.strip())) for cell in column)
    return not is_label and 2 * others <= len(column)


def _read_lines(files: Bitext, limit: int) -> _Read:
    source, target = ([x.strip() for x in _lines(path)] for path in files.paths)
    if len(source) != len(target):
        raise ValueError(
            f"{files.paths[0]} has {len(source):,} lines and {files.paths[1]} {len(target):,}: "
            "line n of one must translate line n of the other"
        )
    return list(zip(source, target))[: limit or None], {}
