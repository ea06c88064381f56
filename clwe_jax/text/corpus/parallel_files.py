"""Parallel text in a folder: which files hold which two languages, in all formats."""

from __future__ import annotations

import collections
import dataclasses
import functools
import glob
import itertools
import os
import re
from typing import Iterable, Iterator, Sequence

from absl import logging

from clwe_jax.text.corpus import tmx, verse_files, verse_references
from clwe_jax.text.corpus.verse_references import Selection
from clwe_jax.text.lines import iterate_lines
from clwe_jax.text import unpacking
from clwe_jax.text.unpacking import open_binary, strip_compression
from clwe_jax.text.words.languages import name_in

_BIBLE = "a Bible a language, xx.tsv (reference, tab, verse) or xx-NAME.txt in the vref layout"
HELP = (
    "expected xx-yy.xx and xx-yy.yy, tatoeba.xxx-eng.xxx and .eng, xx-yy.tsv or NAME.tmx in a folder, in "
    f"lower case; or {_BIBLE}; or DIR/train for DIR/train.xx and DIR/train.yy"
)
# kinds of files
LINES = "lines"
COLUMNS = "columns"
UNITS = "units"
VERSES = "verses"
_PAIR = re.compile(r"(?:.+\.)?([a-z]{2,3}(?:_[A-Za-z]+)?)-([a-z]{2,3}(?:_[A-Za-z]+)?)")
# Ending of a file that is not read -> what makes one of it that is.
_ADVICE = {
    ".csv": "write its two columns with a tab between them to xx-yy.tsv",
    ".jsonl": "`jq -r '[.SOURCE, .TARGET] | @tsv' FILE` makes xx-yy.tsv of two of its keys",
    ".json": "`jq -r '.[] | [.SOURCE, .TARGET] | @tsv' FILE` makes xx-yy.tsv of two of its keys",
    ".sgm": "write what stands between <seg> and </seg> to xx-yy.xx, a line each",
    ".xlf": "`xliff2po` and `po2tmx` of the Translate Toolkit make a .tmx file of it",
    ".xliff": "`xliff2po` and `po2tmx` of the Translate Toolkit make a .tmx file of it",
    ".po": "`po2tmx` of the Translate Toolkit makes a .tmx file of it",
    **dict.fromkeys(
        (".usfm", ".sfm", ".usx", ".osis", ".osis.xml"),
        "a few lines of Python make a verse file of it: docs/data.md#verse-files-of-usfm-and-osis",
    ),
}
_RENAME = "its name is none of those expected, or its first lines have no reference (MAT 5:12, tab)"
_TRANSLATION = re.compile(r"([a-z]{2,3}(?:_[a-z]+)?)(?:-[^.]+)?\.(?:tsv|txt)", re.IGNORECASE)
_NAMED = 3  # files that a message names
_MARK = "@"  # between a place and the verses that are selected


@dataclasses.dataclass(frozen=True)
class Bitext:
    """The text of a language pair.

    Attributes:
      paths: a file for each side, or one file with both.
      kind: LINES, of which line n of one side translates line n of the other, COLUMNS with a tab
        between them, UNITS of TMX, or VERSES with equal references.
      selection: the verses that are read.
    """

    source: str
    target: str
    paths: tuple[str, ...]
    kind: str = LINES
    selection: Selection = Selection()

    @property
    def name(self) -> str:
        """'de-en'."""
        return f"{self.source}-{self.target}"


def cut_place(place: str) -> tuple[str, str | None]:
    """The folder of a place and what stands behind its '@'; None where the '@' is of a folder's name."""
    folder, mark, verses = place.rpartition(_MARK)
    if not mark or os.sep in verses or os.path.exists(place):
        return place, None
    return folder, verses


def split_place(place: str) -> tuple[str, Selection]:
    """The folder of a place, and the verses that it selects: `DIR@JOH`, or `DIR@-JOH` for all others."""
    folder, verses = cut_place(place)
    return folder, Selection() if verses is None else verse_references.select(verses)


def find(place: str, languages: Sequence[str], option: str) -> tuple[list[Bitext], list[str]]:
    """The pairs of the languages, and the names of what is there in others.

    Args:
      place: a folder, or the beginning of file names: `DIR/train`; `@JOH` or `@-JOH` after it selects
        verses, and other text, which has no references, is left out.
      languages: codes of the languages that the model knows; files may have the other codes of them.
      option: the config option that names the place, for messages.

    Raises:
      FileNotFoundError: neither a folder nor files that begin so.
      ValueError: one side of a pair is missing, a pair is the same language twice, two files have one
        beginning and language, or the place selects what is no verse, or verses of text without any.
    """
    base, selection = split_place(place)
    if os.path.isdir(base):
        pairs, unpaired_names = _in_folder(base, languages)
    else:
        pairs = _with_beginning(base, languages)
        unpaired_names = []
    if not pairs and not unpaired_names:
        present = list(filter(os.path.isfile, glob.glob(os.path.join(glob.escape(base), "*"))))
        beginning = _common_beginning(present, languages)
        advice = unpacking.describe_unread(present, _ADVICE, _RENAME)
        if beginning:
            advice = f"Name the beginning of its files: --config.{option}={beginning}"
        message = f"config.{option}={place} names no parallel text: {HELP}. {advice}"
        raise FileNotFoundError(message.rstrip())
    texts = [x for x in pairs if {x.source, x.target} <= set(languages)]
    absent = [x.name for x in pairs if x not in texts] + unpaired_names
    if selection.parts and texts:
        others = [os.path.basename(x.paths[0]) for x in texts if x.kind != VERSES]
        names = ", ".join(others[:_NAMED]) + ", ..." * (len(others) > _NAMED)
        texts = [x for x in texts if x.kind == VERSES]
        if not texts:
            raise ValueError(
                f"config.{option}={place} selects verses, and the text there has no references ({names}): "
                f"give {_BIBLE} (docs/data.md), or select none, with --config.data.held_out='' in training"
            )
        if others and selection.without:
            reason = "text without references may hold the verses that training leaves out"
            _log_left_out(logging.WARNING, place, reason, names)
    if absent:
        _log_left_out(logging.INFO, base, "the model has other languages", ", ".join(absent))
    return [dataclasses.replace(files, selection=selection) for files in texts], absent


def _common_beginning(paths: Iterable[str], languages: Sequence[str]) -> str:
    """`DIR/train` of files `DIR/train.xx` in at least two of the languages; '' without such files."""
    parts = (strip_compression(path).rpartition(".") for path in paths)
    counts = collections.Counter(x for x, _, end in parts if name_in(end, languages) in languages)
    return next((begin for begin, count in counts.items() if count > 1), "")


@functools.cache  # a run looks into a folder several times
def _log_left_out(level: int, place: str, reason: str, names: str) -> None:
    logging.log(level, "%s: left out, as %s: %s", place, reason, names)


def _in_folder(folder: str, languages: Sequence[str]) -> tuple[list[Bitext], list[str]]:
    """The pairs in a folder, and the languages of verses that are none of `languages`."""
    sides: dict[str, dict[str, str]] = {}
    translations: dict[str, list[str]] = {}
    pairs = []
    for name in unpacking.list_folder(folder):
        path = os.path.join(folder, name)
        begin, _, end = strip_compression(name).rpartition(".")
        if end == "tmx":
            pairs += _of_units(begin, path, languages)
        elif language := _language_of_verses(path, languages):
            translations.setdefault(language, []).append(path)
        elif _PAIR.fullmatch(begin):
            sides.setdefault(begin, {}).setdefault(end, path)
    for begin, paths in sides.items():
        pairs += _of_two(begin, paths, languages)
    with_verses = [language for language in languages if language in translations]
    if not pairs and len(translations) == len(with_verses) == 1:
        [language] = with_verses
        names = ", ".join(translations[language])
        raise FileNotFoundError(
            f"{folder} has verses in {language!r} alone ({names}): add those of another language"
        )
    for source, target in itertools.combinations(with_verses, 2):
        first = translations[source]
        second = translations[target]
        # Each of several translations of a language stands beside one of the other.
        for number in range(max(len(first), len(second))):
            paths = first[number % len(first)], second[number % len(second)]
            pairs.append(Bitext(source, target, paths, VERSES))
    return pairs, sorted(translations.keys() - set(with_verses))


def _with_beginning(stem: str, languages: Sequence[str]) -> list[Bitext]:
    """The pairs of the files STEM.xx."""
    folder, begin = os.path.split(stem)
    files: dict[str, str] = {}
    names = unpacking.list_folder(folder or ".") if os.path.isdir(folder or ".") else []
    parts = (strip_compression(name).rpartition(".") for name in names)
    ends = {name: end for name, (first, _, end) in zip(names, parts) if first == begin}
    for name, end in ends.items():
        pair = _PAIR.fullmatch(end)
        if pair and set(pair.groups()) <= set(ends.values()):
            continue  # the links of two of these files
        path = os.path.join(folder, name)
        language = name_in(end, languages)
        first_path = files.setdefault(language, path)
        if first_path is not path:
            raise ValueError(
                f"{first_path} and {path} are both in {language}: keep one of them, or name "
                "the other by another language"
            )
    if len(files) == 1:
        raise ValueError(f"{next(iter(files.values()))} has no other side: {HELP}")
    return [Bitext(a, b, (files[a], files[b])) for a, b in itertools.combinations(files, 2)]


def _of_two(begin: str, paths: dict[str, str], languages: Sequence[str]) -> Iterator[Bitext]:
    """The pairs of files xx-yy.xx, xx-yy.yy and xx-yy.tsv."""
    first, second = _PAIR.fullmatch(begin).groups()
    sides = [side for side in (first, second) if side in paths]
    if not sides and "tsv" not in paths:
        return  # another kind of file
    source, target = _two_languages(begin, next(iter(paths.values())), languages)
    if "tsv" in paths:
        yield Bitext(source, target, (paths["tsv"],), COLUMNS)
    if len(sides) == 1:
        missing = second if sides == [first] else first
        raise ValueError(f"{paths[sides[0]]} has no other side: {begin}.{missing} is missing")
    if sides:
        yield Bitext(source, target, (paths[first], paths[second]))


def _of_units(begin: str, path: str, languages: Sequence[str]) -> list[Bitext]:
    """The pairs of a TMX file: those of its name, else every two of its languages."""
    if _PAIR.fullmatch(begin):
        names = list(_two_languages(begin, path, languages))
    else:
        with open_binary(path) as file:
            names = [name_in(code, languages) for code in tmx.languages(path, file)]
    return [Bitext(a, b, (path,), UNITS) for a, b in itertools.combinations(names, 2)]


def _two_languages(begin: str, path: str, languages: Sequence[str]) -> tuple[str, str]:
    source, target = (name_in(x, languages) for x in _PAIR.fullmatch(begin).groups())
    if source == target:
        raise ValueError(f"{path} is the same language twice: {begin}")
    return source, target


def _language_of_verses(path: str, languages: Sequence[str]) -> str:
    """The language of a file of verses; '' for another file."""
    name = strip_compression(os.path.basename(path))
    match = _TRANSLATION.fullmatch(name)
    if not match or name == verse_files.VREF or not os.path.isfile(path):
        return ""
    if len(unpacking.list_members(path)) > 1:
        return ""  # OPUS' archive of the files beside it
    if not verse_files.is_table(iterate_lines(path)):
        if name.endswith(".tsv"):
            return ""
        if not verse_files.find_references(path) and not _has_vref_lines(path):
            return ""
    return name_in(match[1].lower(), languages)


def list_sources(files: Bitext) -> list[str]:
    """The files from which the text of a language pair follows: of verses, also their references."""
    references = map(verse_files.find_references, files.paths if files.kind == VERSES else ())
    return [*files.paths, *sorted(set(references) - {""})]


def _has_vref_lines(path: str) -> bool:
    lines = itertools.islice(iterate_lines(path), verse_references.LINES + 1)
    return sum(1 for _ in lines) == verse_references.LINES
