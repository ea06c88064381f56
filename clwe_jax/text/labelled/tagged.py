"""Tagged sentences: named entities and parts of speech, one word a line.

Sentences end at blank lines. Columns have tabs between them, or spaces where the file has no tabs.

    EU NNP B-NP B-ORG                      CoNLL-2002 and 2003: the word first, the entity last
    1   Berliner   B-LOC   O               GermEval: names, and names in them, which are not read
    0   Er   O                             WikiNEuRal, Universal NER: a number, the word, the entity
    de:Berlin   B-LOC                      PAN-X (WikiANN), also without the language
    1   Er   er   PRON   PPER   ...        CoNLL-U: ten columns
    Er   er   PRON                         word, lemma, part of speech; the lemma may be absent
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from typing import Callable, NamedTuple, NoReturn, Sequence

from absl import logging

from clwe_jax.pocket import tasks as pocket
from clwe_jax.text.labelled import Examples, Tagged, folders, petrov, scores
from clwe_jax.text.labelled.entities import is_tag, scheme, to_iob2
from clwe_jax.text.lines import describe_json, fault, read_lines, quote_line

# Universal parts of speech (Universal Dependencies 2), and the 12 of Petrov et al. (2012).
UPOS = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
PETROV = petrov.TAGS
_TO_PETROV = {
    "AUX": "VERB",
    "CCONJ": "CONJ",
    "SCONJ": "CONJ",
    "INTJ": "X",
    "PART": "PRT",
    "PROPN": "NOUN",
    "PUNCT": ".",
    "SYM": ".",
}
_UNIVERSAL = frozenset((*UPOS, *PETROV))
_COMMENT = re.compile(r"#\s*[\w.:-]+\s*=")
_NUMBER = re.compile(r"\d+(?:[-.]\d+)?")  # of a word, or of the ranges and empty words of CoNLL-U
_UNNUMBERED = 0.1  # largest share of rows without a number in a column of numbers
_PREFIX = re.compile("[a-z][a-z-]{1,11}:")
_NO_WORDS = ("#", "-DOCSTART-")  # beginnings of comments and of document marks
_CONLLU = 10  # columns
_TYPES = "PER,LOC,ORG,MISC"


class _Line(NamedTuple):
    number: int
    columns: list[str]


def _sentences(path: str, is_known: Callable[[str], bool]) -> list[list[_Line]]:
    """The lines of a file with words, by sentence; comments and document marks are left out.

    Tabs or spaces separate the columns, and there are so many, as in most lines of words.

    Args:
      is_known: whether a cell is a tag; a line that begins with # is a word only if it has one.

    Raises:
      ValueError: a line with another number of columns than most, or no word at all.
    """
    lines = read_lines(path)
    separator, width = _layout([line for _, line in lines])
    sentences: list[list[_Line]] = [[]]
    for number, line in lines:
        if not line.strip(" \t\r"):
            sentences.append([])
            continue
        columns = _cells(line, separator)
        is_comment = line[0] == "#" and (
            len(columns) != width
            or (_COMMENT.match(line) if separator == " " else line[1:2] == " ")
            or not any(is_known(cell) for cell in columns[1:])
        )
        if is_comment or line.startswith("-DOCSTART-"):
            continue
        if len(columns) != width or width < 2:
            marks = "spaces" if separator == " " else "tabs"
            expected = (
                f"{max(width, 2)} columns with {marks} between them, as in most lines of the file"
            )
            found = f"{len(columns)}: {quote_line(line)}{describe_json(line)}"
            fault(path, number, f"expected {expected}, found {found}")
        sentences[-1].append(_Line(number, columns))
    sentences = [rows for rows in sentences if rows]
    if not sentences:
        raise ValueError(f"{path} holds no tagged word: expected a word and its tag on each line")
    return _drop_header(sentences, is_known)


def _layout(lines: Sequence[str]) -> tuple[str, int]:
    """The separator and the number of columns of most lines that are no comment."""
    words = [line for line in lines if line.strip(" \t\r") and not line.startswith(_NO_WORDS)]
    separator = "\t" if 2 * sum("\t" in line for line in words) >= len(words) else " "
    widths = collections.Counter(len(_cells(line, separator)) for line in words)
    return separator, widths.most_common(1)[0][0] if widths else 0


def _cells(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.rstrip(" \r").split("\t")
    # A word may be a no-break or ideographic space, at which split() would cut.
    return re.split(" +", line.strip(" \r"))


def _drop_header(
    sentences: list[list[_Line]], is_known: Callable[[str], bool]
) -> list[list[_Line]]:
    """The sentences without a first line that names the columns: it has no tag, and the next has."""
    first, *others = itertools.islice(itertools.chain.from_iterable(sentences), 2)
    has_tag = [any(map(is_known, row.columns[1:])) for row in (first, *others)]
    if has_tag != [False, True]:
        return sentences
    return [rows for rows in (sentences[0][1:], *sentences[1:]) if rows]


def _tag_column(sentences: list[list[_Line]], is_known: Callable[[str], bool], first: bool) -> int:
    """The column after the word's with the most known tags; of equal ones the first or last."""
    rows = [row.columns for row in itertools.chain.from_iterable(sentences)]
    counts = {c: sum(is_known(row[c]) for row in rows) for c in range(1, len(rows[0]))}
    order = sorted(counts) if first else sorted(counts, reverse=True)
    return max(order, key=counts.__getitem__)


def _find_words(path: str, sentences: list[list[_Line]], tag: int) -> tuple[list[list[_Line]], int]:
    """The rows of words, and their column: the first one that is not full of numbers.

    Where numbers stand before the words, ranges and empty words (1-2, 1.1) are left out.

    Raises:
      ValueError: a row without a number, in a column that has one in nearly all rows.
    """
    for column in range(tag - 1):
        rows = list(itertools.chain.from_iterable(sentences))
        unnumbered = [row for row in rows if not _NUMBER.fullmatch(row.columns[column])]
        if len(unnumbered) > _UNNUMBERED * len(rows):
            return sentences, column
        if unnumbered:
            text = f"expected a number in column {column + 1}, as in nearly all rows"
            fault(path, unnumbered[0].number, text)
        kept = ([r for r in rows if r.columns[column].isdigit()] for rows in sentences)
        sentences = [rows for rows in kept if rows]
    return sentences, max(tag - 1, 0)


def universal(path: str, language: str) -> tuple[list[list[_Line]], int, int]:
    """The lines with words of a file, by sentence, and the columns of the words and of their universal
    tags; where these are a minority in theirs, that of the language's own tags.

    Raises:
      ValueError: as of `_sentences`.
    """
    is_native = lambda tag: bool(petrov.universal_tag(tag, language))
    sentences = _sentences(path, lambda cell: cell in _UNIVERSAL or is_native(cell))
    if len(sentences[0][0].columns) == _CONLLU:
        return *_find_words(path, sentences, 3), 3
    column = _tag_column(sentences, _UNIVERSAL.__contains__, first=True)
    if _has_own_tags(sentences, column):
        column = _tag_column(sentences, lambda tag: is_native(tag) or tag in _UNIVERSAL, first=True)
    return *_find_words(path, sentences, column), column


def _has_own_tags(sentences: list[list[_Line]], column: int) -> bool:
    """Whether universal tags are a minority in a column."""
    tags = [row.columns[column] for row in itertools.chain.from_iterable(sentences)]
    return 2 * sum(tag in _UNIVERSAL for tag in tags) <= len(tags)


def _words(sentences: list[list[_Line]], column: int) -> list[list[str]]:
    """The words, without PAN-X's prefix `de:`, a code of Wikipedia, where every word has it."""
    words = [[row.columns[column] for row in rows] for rows in sentences]
    starts = (word[: word.find(":") + 1] for word in itertools.chain.from_iterable(words))
    prefix, *others = set(starts) or {""}
    if not others and _PREFIX.fullmatch(prefix):
        words = [[word[len(prefix) :] for word in row] for row in words]
    return words


def _rows(
    words: list[list[str]], tags: Sequence[Sequence[str]], skipped: collections.Counter[str]
) -> list[Tagged]:
    """Rows of words; a word without any character is counted and left out."""
    rows = []
    for sentence, labels in zip(words, tags):
        tagged_words = [(word, tag) for word, tag in zip(sentence, labels) if word]
        skipped["empty words"] += len(sentence) - len(tagged_words)
        if tagged_words:
            rows.append(Tagged(*map(tuple, zip(*tagged_words))))
        else:
            skipped["sentences without words"] += 1
    return rows


def arcs(path: str) -> list[tuple[tuple[str, ...], list[tuple[int, str]]]]:
    """The words of each sentence of a CoNLL-U file, and the head and relation of each word.

    A head is the place of a word; a root is its own head. A relation is the universal one, without
    what follows a colon. Ranges and empty words (1-2, 1.1) are no words.

    Raises:
      ValueError: a file without ten columns, or a head that is no word of the sentence.
    """
    sentences = []
    for rows in _sentences(path, _UNIVERSAL.__contains__):
        rows = [row for row in rows if row.columns[0].isdigit() or len(row.columns) != _CONLLU]
        heads = []
        for place, (number, columns) in enumerate(rows):
            if len(columns) != _CONLLU:
                expected = f"the {_CONLLU} columns of CoNLL-U, which name heads and relations"
                fault(path, number, f"expected {expected}, found {len(columns)}")
            head = columns[6]
            if not head.isdigit() or int(head) > len(rows):
                expected = f"0 for a root, or a word's number, 1 to {len(rows)}"
                fault(path, number, f"head {head!r} in column 7: expected {expected}")
            heads.append((int(head) - 1 if int(head) else place, columns[7].partition(":")[0]))
        if rows:
            sentences.append((tuple(row.columns[1] for row in rows), heads))
    return sentences


@dataclasses.dataclass(frozen=True)
class Ner:
    """Named entities (`Task`), scored by seqeval's F1.

    Attributes:
      types: types of entities, with commas between them; another type in a file is an error.
      ignored: types whose entities become O, such as MISC where one of two sets lacks it.
      domains: domains of the embedded world, with commas between them; '' for the laptop's eight.
    """

    types: str = _TYPES
    ignored: str = ""
    domains: str = ""

    name = "ner"
    title = "Names"
    kind = "tags"
    texts = 0
    metric = "f1"
    embedded = True
    files = staticmethod(folders.find)
    counts = staticmethod(scores.entity_counts)

    def read(self, path: str, language: str) -> Examples:
        """As `Task.read`. The tags become IOB2; `skipped` counts tags that no scheme allows."""
        sentences = _sentences(path, is_tag)
        types = set(self.types.split(","))
        ignored = set(self.ignored.split(","))
        tag_column = self._choose_column(path, sentences, (types | ignored) - {""})
        sentences, column = _find_words(path, sentences, tag_column)
        tags = [[row.columns[tag_column] for row in rows] for rows in sentences]
        for tag in dict.fromkeys(itertools.chain.from_iterable(tags)):
            if not is_tag(tag) or tag[2:] and tag[2:] not in types | ignored:
                self._refuse(path, sentences, tag_column, tag)
        skip_counts: collections.Counter[str] = collections.Counter()
        # Before the conversion: a name may begin at a word that is left out.
        rows = _rows(_words(sentences, column), tags, skip_counts)
        tags = [row.tags for row in rows]
        converted = [to_iob2(row) for row in tags]
        if scheme(tags) == "IOB2":
            flat = map(itertools.chain.from_iterable, (tags, converted))
            change_count = sum(a != b for a, b in zip(*flat))
            skip_counts["I- without B- before it, read as B-"] = change_count
        kept = [row._replace(tags=self._without_ignored(x)) for row, x in zip(rows, converted)]
        return Examples(tuple(kept), dict(+skip_counts))

    def _without_ignored(self, tags: Sequence[str]) -> tuple[str, ...]:
        ignored = self.ignored.split(",")
        return tuple("O" if tag[2:] in ignored else tag for tag in tags)

    def _choose_column(self, path: str, sentences: list[list[_Line]], types: set[str]) -> int:
        """The column of names: of those whose cells are tags, the one with most names, else the last.

        CoNLL's phrases (B-NP) are tags of other types; GermEval's second column has nested names.
        """
        rows = [row.columns for row in itertools.chain.from_iterable(sentences)]
        columns = range(1, len(rows[0]))
        tags = {c: sum(is_tag(row[c]) for row in rows) for c in columns}
        names = {c: sum(is_tag(row[c]) and row[c][2:] in types for row in rows) for c in columns}
        column = max(columns, key=lambda c: (tags[c], names[c], c))
        for other in columns:
            if other != column and tags[other] == tags[column] and names[other]:
                logging.warning(
                    "%s: the names of column %d are read, and not the %d words in names of column %d",
                    path,
                    column + 1,
                    names[other],
                    other + 1,
                )
        return column

    def _refuse(self, path: str, sentences: list[list[_Line]], column: int, tag: str) -> NoReturn:
        """Raises ValueError on the first line with a tag."""
        rows = itertools.chain.from_iterable(sentences)
        number = next(row.number for row in rows if row.columns[column] == tag)
        fault_text = (
            f"is of none of the types {self.types}: add the type to config.transfer.types, or to "
            "config.transfer.ignored to read its words as O"
        )
        if not is_tag(tag):
            fault_text = "is no tag of an entity: expected O, or B- or I- and a type"
        fault(path, number, f"{tag!r} in column {column + 1} {fault_text}")

    def generate(self, language: str, split: str, rows: int, seed: int) -> Examples:
        domains = pocket.join_domains(self.domains)
        sentences = pocket.named_entities(language, split, rows, seed, domains)
        return Examples(tuple(Tagged(words, self._without_ignored(x)) for words, x in sentences))

    def score(
        self, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
    ) -> dict[str, float]:
        """{'f1', 'precision', 'recall'} as of `scores.f1`."""
        return scores.f1(self.counts(gold, predicted))


@dataclasses.dataclass(frozen=True)
class Pos:
    """Universal parts of speech (`Task`), scored by accuracy.

    Attributes:
      tags: 17 (Universal Dependencies) or 12 (Petrov et al. 2012), to which 17 and the languages' own
        tags of CoNLL-2002 and 2003 are mapped.
      domains: domains of the embedded world, with commas between them; '' for the laptop's eight.
    """

    tags: int = 17
    domains: str = ""

    name = "pos"
    title = "Parts of speech"
    kind = "tags"
    texts = 0
    metric = "acc"
    embedded = True
    files = staticmethod(folders.find)
    counts = staticmethod(scores.tag_counts)

    def __post_init__(self):
        if self.tags not in (12, 17):
            raise ValueError(f"config.transfer.tags={self.tags}: expected 12 or 17")

    def read(self, path: str, language: str) -> Examples:
        """As `Task.read`. Ranges and empty words of CoNLL-U (1-2, 1.1) are no words."""
        sentences, word_column, tag_column = universal(path, language)
        skip_counts: collections.Counter[str] = collections.Counter()
        own = _has_own_tags(sentences, tag_column)  # some have a universal tag's name: Penn's SYM
        tags = []
        for rows in sentences:
            tags.append([])
            for number, columns in rows:
                tag = columns[tag_column]
                if self.tags == 17 and tag == "CONJ":
                    skip_counts["CONJ of Universal Dependencies 1, read as CCONJ"] += 1
                    tag = "CCONJ"
                coarse = petrov.universal_tag(tag, language) if own or tag not in _UNIVERSAL else ""
                if self.tags == 12:
                    tag = coarse or _TO_PETROV.get(tag, tag)
                if tag not in (UPOS if self.tags == 17 else PETROV):
                    mend = "; config.transfer.tags=12 reads it" if tag in PETROV or coarse else ""
                    known = f"the {self.tags} universal parts of speech{mend}"
                    fault(path, number, f"{tag!r} in column {tag_column + 1} is none of {known}")
                tags[-1].append(tag)
        rows = _rows(_words(sentences, word_column), tags, skip_counts)
        return Examples(tuple(rows), dict(+skip_counts))

    def generate(self, language: str, split: str, rows: int, seed: int) -> Examples:
        domains = pocket.join_domains(self.domains)
        sentences = pocket.parts_of_speech(language, split, rows, seed, domains)
        if self.tags == 12:
            sentences = [
                (words, tuple(_TO_PETROV.get(t, t) for t in tags)) for words, tags in sentences
            ]
        return Examples(tuple(itertools.starmap(Tagged, sentences)))

    def score(
        self, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
    ) -> dict[str, float]:
        """{'acc': accuracy of words, 'f1': XTREME's F1, seqeval's over the bare tags}."""
        f1 = scores.f1(scores.entity_counts(gold, predicted))["f1"]
        return {"acc": scores.accuracy(self.counts(gold, predicted)), "f1": f1}
