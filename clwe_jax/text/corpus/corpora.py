"""Text files of a corpus: finding, reading with repair, counting and describing them."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import os
import re
from typing import Callable, Iterator, Mapping, Protocol, Sequence

from absl import logging

from clwe_jax import time_parts
from clwe_jax.text.corpus import frequencies
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.languages import find_name, hint
from clwe_jax.text import lines, unpacking
from clwe_jax.text.lines import LineCounts, is_other_encoding
from clwe_jax.text.unpacking import COMPRESSED, strip_compression

# Ending of a file that is not read -> what makes text of it.
_ADVICE = {
    ".tmx": "as parallel text it is read by --config.data.pairs",
    ".tsv": "write one column to a .txt file with `cut -f`",
    ".csv": "write one column to a .txt file",
    ".xml": "write its text to a .txt file, a sentence a line",
    **dict.fromkeys(
        (".json", ".jsonl"), "write its text to a .txt file, such as `jq -r .text` does"
    ),
    **dict.fromkeys((".srt", ".vtt"), "write what is said to a .txt file, a sentence a line"),
    ".conllu": "write its text to a .txt file, such as `sed -n 's/^# text = //p'` does",
}
_CHECKED_BYTES = 1 << 16  # text of each language that shows its encoding
SAMPLE_BYTES = 8 << 20  # text of each language that `inspect` reads
_FREQUENT = 5_000  # number of frequent words that `inspect` lists
_MANY = 10  # number of languages above which `inspect` reads less of each
_NEAR_ZERO = 0.02  # smallest share of running words that a fitting dictionary covers
_PROBED = 2_000  # frequent words that are looked up in dictionaries of other languages


@dataclasses.dataclass
class LanguageStats:
    """Counts for the whole text of a language, extrapolated where only a part was read.

    Attributes:
      covered_words: number of running words with a dictionary entry.
      frequent: frequent words that begin with a letter, most frequent first.
      counted: running words of the part that was read.
      counts: occurrences of the most frequent of them, most frequent first.
    """

    lines: int
    words: int
    covered_words: int
    repaired_lines: int
    windows_lines: int
    frequent: list[str] = dataclasses.field(default_factory=list)
    counted: int = 0
    counts: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def coverage(self) -> float:
        """The fraction of running words with a dictionary entry."""
        return self.covered_words / self.words if self.words else 0.0


# Word -> occurrences, and the counts of the lines.
WordCounts = tuple[collections.Counter[str], LineCounts]


class Countable(Protocol):
    """Text whose words can be counted, such as a `TextCorpus`."""

    @property
    def languages(self) -> tuple[str, ...]: ...

    def count_words(
        self, language: str, words: Callable[[str], Sequence[str]], limit: int | None = None
    ) -> WordCounts: ...


@dataclasses.dataclass(frozen=True, eq=False)
class CountedText:
    """Text whose words were counted elsewhere, a `Countable`.

    Attributes:
      counts: language -> its counts.
    """

    languages: tuple[str, ...]
    counts: Callable[[str], WordCounts]

    def count_words(
        self, language: str, words: Callable[[str], Sequence[str]], limit: int | None = None
    ) -> WordCounts:
        return self.counts(language)  # however its words would be cut now


class TextCorpus:
    """The text files of several languages: DIR/{lang}.txt and DIR/{lang}/*.txt, plain or compressed.

    Attributes:
      files: language -> its files, sorted.
    """

    def __init__(self, directory: str, languages: Sequence[str]):
        """Raises:
        FileNotFoundError: the directory is missing.
        ValueError: a language has no file in the directory, or only empty ones.
        """
        if not os.path.isdir(directory):
            fault = f"There is no text directory {directory!r}."
            if os.path.isfile(directory):
                fault = f"{directory} is a file; the text of all languages stands in one folder."
            raise FileNotFoundError(
                f"{fault} --config.data.source=text:DIR reads DIR/{{lang}}.txt[.gz] or "
                f"DIR/{{lang}}/*.txt[.gz], such as DIR/{languages[0]}.txt; "
                "--config.data.source=pocket needs no text"
            )
        self.directory = directory
        self.files = {language: files_of(directory, language) for language in languages}
        absent = [language for language, files in self.files.items() if not files]
        if absent:
            codes = _languages_in(directory)
            holds = f"It has text in {', '.join(map(repr, codes))}. " if codes else "It has none. "
            unread = _describe_unread(directory, absent[0])
            raise ValueError(
                f"{directory} has no text in {', '.join(map(repr, absent))} (expected "
                f"{absent[0]}.txt[.gz] or {absent[0]}/*.txt[.gz] there). {unread}{holds}{hint(absent[0], codes)} "
                "--config.data.languages chooses the languages."
            )
        for language, files in self.files.items():
            empty = [path for path in files if not os.path.getsize(path)]
            if len(empty) == len(files):
                raise ValueError(
                    f"Every text file in {language} is empty: {', '.join(empty)}. Fill it or take "
                    f"{language} out of --config.data.languages"
                )
            for path in empty:
                logging.warning("%s is empty", path)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, in the order in which they were given."""
        return tuple(self.files)

    def check(self) -> None:
        """Reads the beginning of each language's text; errors as of `lines`."""
        for language in self.languages:
            for _ in self.lines(language, _CHECKED_BYTES):
                pass

    def lines(
        self, language: str, limit: int | None = None, counts: LineCounts | None = None
    ) -> Iterator[str]:
        """Yields the lines of a language without line ends, byte order marks and invalid UTF-8.

        Args:
          limit: bytes to read, from the beginning of each file in proportion to its size; None
            reads all.
          counts: counts to which this reading is added.

        Raises:
          ValueError: as of `lines.iterate_lines`.
        """
        for block in self._blocks(language, limit, counts or LineCounts()):
            yield from block

    @time_parts.part(time_parts.TEXT)
    def count_words(
        self, language: str, words: Callable[[str], Sequence[str]], limit: int | None = None
    ) -> WordCounts:
        """Counts the words of a language's text: (word -> occurrences, counts of the lines).

        Args:
          words: function from raw text to words; it must separate words at all white space.
        """
        counts = LineCounts()
        tokens: collections.Counter[str] = collections.Counter()
        for block in self._blocks(language, limit, counts):
            # Most tokens repeat, so each distinct token is segmented once.
            for line in block:
                tokens.update(line.split())
        result: collections.Counter[str] = collections.Counter()
        for token, count in tokens.items():
            for word in words(token):
                result[word] += count
        return result, counts

    def _blocks(self, language: str, limit: int | None, counts: LineCounts) -> Iterator[list[str]]:
        files = self.files[language]
        sizes = [os.path.getsize(path) for path in files]
        byte_count = 0.0
        for path, size in zip(files, sizes):
            part = None if limit is None else limit * size / max(1, sum(sizes))
            byte_count += min((yield from lines.iterate_blocks(path, counts, part)), size)
        counts.share = byte_count / max(1, sum(sizes))


def describe_repairs(languages: Mapping[str, LineCounts | LanguageStats]) -> dict[str, int]:
    """Fault of the lines of a language -> number of mended lines, for the report; no zeros."""
    repairs: dict[str, int] = {}
    for language, counts in languages.items():
        line_counts = LineCounts(counts.lines, counts.repaired_lines, counts.windows_lines)
        repairs |= line_counts.describe_repairs(f"in {language}")
    return repairs


def _is_text(name: str) -> bool:
    return strip_compression(name).endswith(".txt")


def files_of(directory: str, language: str) -> list[str]:
    """The text files of a language in a directory, sorted; of copies of a file the least compressed one.

    Files of the language's other codes are read where none has its name: deu.txt for 'de'.

    Raises:
      ValueError: several other codes would do equally well.
    """
    present = _languages_in(directory)
    name = language if language in present else find_name(language, present)
    endings = ("", *COMPRESSED)
    files = [os.path.join(directory, f"{name}.txt{ending}") for ending in endings]
    files = [path for path in files if name and os.path.isfile(path)]
    folder = os.path.join(directory, name) if name else ""
    if os.path.isdir(folder):
        names = filter(_is_text, unpacking.list_folder(folder))
        files += [os.path.join(folder, name) for name in names]
    by_name: dict[str, str] = {}
    for path in files:
        first = by_name.setdefault(strip_compression(path), path)
        if first is not path:
            logging.warning("%s is not read, as %s is read", path, first)
    return list(by_name.values())


def _languages_in(directory: str) -> list[str]:
    languages = set()
    for name in unpacking.list_folder(directory):
        path = os.path.join(directory, name)
        if os.path.isdir(path) and _has_text(path):
            languages.add(name)
        elif os.path.isfile(path) and _is_text(name):
            languages.add(strip_compression(name).removesuffix(".txt"))
    return sorted(languages)


def _has_text(folder: str) -> bool:
    try:
        return any(map(_is_text, unpacking.list_folder(folder)))
    except PermissionError:  # lost+found of a volume
        return False


def _describe_unread(directory: str, language: str) -> str:
    """A sentence on the files of a language that are not read, and what to do; '' without one."""
    for name in unpacking.list_folder(directory):
        path = os.path.join(directory, name)
        if language not in re.split(r"[._-]", name.lower()):
            continue
        if os.path.isfile(path):
            fault = "does not begin with" if _is_text(name) else "does not end in .txt"
            fault += f" {language}" * _is_text(name)
            return f"{path} is there, but its name {fault}: {_advise(path, language)}. "
        for folder, _, inner in sorted(os.walk(path)):
            if names := [name for name in inner if name[0] != "."]:
                first = os.path.join(folder, min(names))
                return f"{first} is there, but is not read: {_advise(first, language)}. "
    return ""


def _advise(path: str, language: str) -> str:
    """What makes text of a file that is not read."""
    name = os.path.basename(strip_compression(path))
    if name.startswith("wiki_"):
        return (
            f"WikiExtractor's files become text with `cat {language}/*/wiki_* | grep -v -e '^<doc ' "
            f"-e '^</doc>' > {language}.txt`"
        )
    default = f"rename it {language}.txt if it is a sentence a line"
    return unpacking.advise(path, _ADVICE, default)


def inspect(
    corpus: Countable,
    words: Callable[[str, str], Sequence[str]],
    dictionary: Dictionary | None,
    sample_bytes: int | None = SAMPLE_BYTES,
) -> dict[str, LanguageStats]:
    """Describes the text of each language and the share of it that the dictionary covers (D11).

    Logs a warning for a language whose dictionary words almost never occur in its text.

    Args:
      words: function (raw text, language) -> words, such as `Tokenizer.words`.
      dictionary: merged dictionary, or None.
      sample_bytes: bytes of each language to read and extrapolate from; with more than ten
        languages, ten times as many bytes are shared among all; None reads all.
    """
    if sample_bytes is not None and len(corpus.languages) > _MANY:
        sample_bytes = sample_bytes * _MANY // len(corpus.languages)
    result = {}
    for language in corpus.languages:
        of_text = lambda text: words(text, language)
        counter, counts = corpus.count_words(language, of_text, sample_bytes)
        total = sum(counter.values())
        covered = 0
        if dictionary is not None:
            entries = set(dictionary.language_words(language))
            covered = sum(count for word, count in counter.items() if word in entries)
            if entries and covered < _NEAR_ZERO * total:
                _warn_near_zero(language, counter, covered / total, dictionary)
        scale = 1 / counts.share if counts.share else 1.0
        word_counts = by_count(counter)
        frequent_words = (word for word, _ in word_counts if word[0].isalpha())
        result[language] = LanguageStats(
            lines=round(counts.lines * scale),
            words=round(total * scale),
            covered_words=round(covered * scale),
            repaired_lines=round(counts.repaired_lines * scale),
            windows_lines=round(counts.windows_lines * scale),
            frequent=list(itertools.islice(frequent_words, _FREQUENT)),
            counted=total,
            counts=dict(word_counts[: frequencies.MAX_WORDS]),
        )
        if is_other_encoding(counts.lines, counts.repaired_lines):
            raise ValueError(
                f"{language}: {counts.repaired_lines:,} of {counts.lines:,} lines are not UTF-8: "
                "convert the text with `iconv -f ENCODING -t UTF-8`"
            )
        if counts.repaired_lines:
            logging.warning(
                "%s: %d of %d lines read are not UTF-8; their bad bytes are treated as spaces",
                language,
                counts.repaired_lines,
                counts.lines,
            )
    return result


def by_count(counter: Mapping[str, int]) -> list[tuple[str, int]]:
    """(word, count) by falling count; words of equal count in alphabetical order."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


def _warn_near_zero(
    language: str, counter: Mapping[str, int], coverage: float, dictionary: Dictionary
) -> None:
    """Warns that the dictionary does not fit the text, and names the language that would fit."""
    probe = by_count(counter)[:_PROBED]
    total = sum(count for _, count in probe)
    best = 0.0
    fitting = ""
    for candidate in sorted(set(dictionary.languages) - {language}):
        share = sum(n for word, n in probe if dictionary.id(word, candidate) >= 0) / total
        if share > best:
            best = share
            fitting = candidate
    text = (
        f"The dictionaries cover only {coverage:.2%} of the running words in {language}: almost "
        "no word will be switched. "
    )
    if best > max(0.1, 5 * coverage):
        text += (
            f"Their words in {fitting} cover {best:.0%} of the frequent words of {language}: are the "
            f"two columns of {language}-{fitting}.txt swapped, or is the text in {fitting}? "
        )
    text += f"To look at entries: `clwe-jax dictionary show --word WORD --lang {language} DIR`."
    logging.warning("%s", text)


def temperature_shares(sizes: Mapping[str, float], temperature: float) -> dict[str, float]:
    """The share of each language, proportional to (size / total)^(1 / temperature).

    Args:
      sizes: language -> number of words or tokens.
      temperature: 1 keeps the proportions; a larger temperature makes the shares more equal.

    Raises:
      ValueError: a temperature that is not positive.
    """
    if not temperature > 0:
        raise ValueError(f"config.data.temperature={temperature}: must be positive")
    total = sum(sizes.values())
    if not total:
        return dict.fromkeys(sizes, 0.0)
    weights = {x: (size / total) ** (1 / temperature) if size else 0.0 for x, size in sizes.items()}
    total_weight = sum(weights.values())
    return {language: weight / total_weight for language, weight in weights.items()}
