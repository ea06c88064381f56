"""References of Bible verses: 'JHN 3:16', with USFM's names of the books, however a file writes them."""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import re

# USFM's name of a book, then others in use: OSIS's, English, and those of christos-c/bible-corpus.
_NAMES = """
GEN Genesis; EXO Exod Exodus; LEV Leviticus; NUM Numbers; DEU Deut Deuteronomy; JOS Josh Joshua;
JDG Judg Judges; RUT Ruth; 1SA 1Sam 1Samuel; 2SA 2Sam 2Samuel; 1KI 1Kgs 1Kings; 2KI 2Kgs 2Kings;
1CH 1Chr 1Chronicles; 2CH 2Chr 2Chronicles; EZR Ezra; NEH Nehemiah; EST Esth Esther; JOB;
PSA Ps Psalm Psalms; PRO Prov Proverbs; ECC Eccl Ecclesiastes; SNG Son Song SongofSongs SongofSolomon;
ISA Isaiah; JER Jeremiah; LAM Lamentations; EZK Eze Ezek Ezekiel; DAN Daniel; HOS Hosea; JOL Joe Joel;
AMO Amos; OBA Obad Obadiah; JON Jonah; MIC Micah; NAM Nah Nahum; HAB Habakkuk; ZEP Zeph Zephaniah;
HAG Haggai; ZEC Zech Zechariah; MAL Malachi; MAT Matt Matthew; MRK Mar Mark; LUK Luke; JHN Joh John;
ACT Acts; ROM Romans; 1CO 1Cor 1Corinthians; 2CO 2Cor 2Corinthians; GAL Galatians; EPH Ephesians;
PHP Phi Phil Philippians; COL Colossians; 1TH 1Thess 1Thessalonians; 2TH 2Thess 2Thessalonians;
1TI 1Tim 1Timothy; 2TI 2Tim 2Timothy; TIT Titus; PHM Phlm Philemon; HEB Hebrews; JAS Jam James;
1PE 1Pet 1Peter; 2PE 2Pet 2Peter; 1JN 1Jo 1Joh 1John; 2JN 2Jo 2Joh 2John; 3JN 3Jo 3Joh 3John; JUD Jude;
REV Revelation; TOB Tob Tobit; JDT Judith; ESG; WIS Wisdom; SIR Sirach; BAR Baruch; LJE; S3Y; SUS; BEL;
1MA 1Macc; 2MA 2Macc; 3MA 3Macc; 4MA 4Macc; 1ES 1Esd; 2ES 2Esd; MAN; PS2; ODA; PSS; EZA; JUB; ENO
"""
_BOOKS: dict[str, str] = {}
for _book, *_others in map(str.split, _NAMES.split(";")):
    _BOOKS |= dict.fromkeys(map(str.lower, [_book, *_others]), _book)
# Also as bible-corpus has it, 'b.MAT.5.12'; a verse may be a part (12a) or several (12-13).
_REFERENCE = re.compile(
    r"(?:b\.)?(?P<book>[1-6]? ?[A-Za-z][A-Za-z0-9 ]*?)[ ._]+(?P<chapter>\d+)[:._]"
    r"(?P<verse>\d+)[a-z]?(?:[-\u2013](?P<last>\d+)[a-z]?)?"
)
_MOST_JOINED = 50  # verses of a range; more is a slip of the pen
LINES = 41_899  # of the vref layout


def book_of(name: str) -> str:
    """USFM's name of a book: 'Joh', 'John' -> 'JHN'; '' where no book is called so."""
    return _BOOKS.get(name.replace(" ", "").lower(), "")


def parse(text: str) -> tuple[str, ...]:
    """The verses of a reference: 'JOH 5:3-4' -> ('JHN 5:3', 'JHN 5:4'); () where it is none."""
    match = _REFERENCE.fullmatch(text.strip())
    book = book_of(match["book"]) if match else ""
    if not book:
        return ()
    first = int(match["verse"])
    last = int(match["last"] or first)
    if not first <= last < first + _MOST_JOINED:
        return ()
    return tuple(f"{book} {int(match['chapter'])}:{verse}" for verse in range(first, last + 1))


def order_of(reference: str) -> tuple[int, int]:
    """Chapter and verse, by which the verses of a book are in order."""
    chapter, verse = reference.partition(" ")[2].split(":")
    return int(chapter), int(verse)


@functools.cache
def of_vref() -> tuple[str, ...]:
    """The references of the vref layout's lines, in their order."""
    table = importlib.resources.files("clwe_jax.text.corpus").joinpath("versification.txt")
    lines = table.read_text(encoding="utf-8").splitlines()
    books = [line.split() for line in lines if not line.startswith("#")]
    references: list[str] = []
    for book, *chapters in books:
        for chapter, verses in enumerate(chapters, 1):
            references += [f"{book} {chapter}:{verse}" for verse in _verses_of(verses)]
    return tuple(references)


def _verses_of(chapter: str) -> list[int]:
    """The numbers of a chapter's verses: '4' -> 1 to 4, '4-2' -> without the second."""
    last, *absent = map(int, chapter.split("-"))
    return [verse for verse in range(1, last + 1) if verse not in absent]


@dataclasses.dataclass(frozen=True)
class Selection:
    """Some verses: those of books, chapters or verses, or all but those.

    Attributes:
      parts: 'JHN', 'JHN 3' or 'JHN 3:16'.
      without: whether all other verses are meant.
    """

    parts: tuple[str, ...] = ()
    without: bool = True  # with no parts: all verses

    def __contains__(self, reference: str) -> bool:
        if not self.parts:
            return self.without
        chapter = reference.partition(":")[0]
        return self.without != (
            not {reference, chapter, reference.partition(" ")[0]}.isdisjoint(self.parts)
        )

    @property
    def is_all(self) -> bool:
        """Whether every verse is selected."""
        return self.without and not self.parts


def select(text: str) -> Selection:
    """The selection of 'JOH,LUK 3' (only these) or '-JOH,LUK 3' (all but these).

    Raises:
      ValueError: what is no book, chapter or verse.
    """
    without = text.startswith("-")
    names = text.removeprefix("-").split(",")
    parts = []
    for name in filter(None, map(str.strip, names)):
        match = re.fullmatch(r"([1-6]? ?[A-Za-z]+)(?:[ .]+(\d+)(?:[:.](\d+))?)?", name)
        book = book_of(match[1]) if match else ""
        if not book:
            raise ValueError(
                f"{name!r} is no part of the Bible: expected books, chapters or verses with commas "
                "between them, JHN or LUK 3 or LUK 3:16"
            )
        chapter = f" {int(match[2])}" if match[2] else ""
        verse = f":{int(match[3])}" if match[3] else ""
        parts.append(f"{book}{chapter}{verse}")
    return Selection(tuple(parts), without)
