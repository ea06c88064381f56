"""Bibles of eBible.org, as BibleNLP's corpus has them: a file a translation, a line for each line of vref.txt."""

from __future__ import annotations

import csv
import dataclasses
import io
import os
from typing import Sequence

from absl import logging

from clwe_jax import atomic
from clwe_jax.options.section import nearest
from clwe_jax.text.corpus import download
from clwe_jax.text.lines import read_text
from clwe_jax.text.words import languages as language_codes

ADDRESS = "https://raw.githubusercontent.com/BibleNLP/ebible/main/"
LICENCES = "licences.tsv"  # in the folder: a row a translation that was fetched
_HEADER = "file\tlanguage\ttitle\tlicence"
_ENGLISH = "engwebp"  # the World English Bible, in today's English and in the public domain
# The freest licences first; of several translations of a language the freest is taken.
_FREEST = ("public domain", "by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd")


@dataclasses.dataclass(frozen=True)
class Bible:
    """A translation.

    Attributes:
      name: eBible's name of it, 'engwebp'.
      language: the name of its language.
      title: its title, '' where the table has none.
      licence: 'Public Domain', or the licence of Creative Commons, with its owner.
    """

    name: str
    language: str
    title: str
    licence: str

    @property
    def code(self) -> str:
        """Our code of the language."""
        return language_codes.code_of(self.name[:3])

    @property
    def file(self) -> str:
        """Its file in the corpus."""
        return f"{self.name[:3]}-{self.name.replace('_', '-')}.txt"

    @property
    def rank(self) -> int:
        """How free its licence is; 0: the freest."""
        kind = self.licence.partition(",")[0].partition(" 4")[0].removeprefix("CC ").lower()
        return _FREEST.index(kind) if kind in _FREEST else len(_FREEST)


def fetch(out: str, languages: Sequence[str]) -> None:
    """Fetches a translation of each language, or those that are named, and writes their licences beside them.

    Args:
      out: the folder.
      languages: codes of languages, or eBible's names of translations, 'engwebp'.

    Raises:
      ValueError, OSError: no such language or translation, or as of `download.download_files`.
    """
    bibles = _read_table(out)
    by_name = {bible.name: bible for bible in (_choose(x, bibles) for x in languages)}
    download.download_files(out, [x.file for x in by_name.values()], address=f"{ADDRESS}corpus/")
    for bible in by_name.values():
        logging.info("%s: %s, %s", bible.file, bible.title or bible.language, bible.licence)
    path = os.path.join(out, LICENCES)
    # An earlier fetch into the folder has written the licences of its own files.
    rows = read_text(path).rstrip("\n").split("\n") if os.path.exists(path) else [_HEADER]
    rows += [f"{x.file}\t{x.language}\t{x.title}\t{x.licence}" for x in by_name.values()]
    by_file = {row.partition("\t")[0]: row for row in rows}
    atomic.write(path, "".join(f"{row}\n" for row in by_file.values()))


def show(out: str) -> None:
    """Prints all translations: code, name, language, title, licence."""
    for bible in _read_table(out):
        print(bible.code, bible.name, bible.language, bible.title, bible.licence, sep="\t")


def _read_table(out: str) -> list[Bible]:
    """The translations of the corpus, by its table of licences."""
    folder = os.path.join(out, "metadata")
    download.download_files(folder, ["licences.tsv"], address=f"{ADDRESS}metadata/")
    path = os.path.join(folder, "licences.tsv")
    table = csv.DictReader(io.StringIO(read_text(path)), dialect=csv.excel_tab)
    try:
        return [_bible(row) for row in table]
    except KeyError as error:
        raise ValueError(
            f"{path} has no column {error}: expected eBible's table of licences"
        ) from None


def _bible(row: dict[str, str]) -> Bible:
    kind = row["Licence Type"]
    version = row["Licence Version"]
    licence = kind if kind.startswith("Public") or not kind else f"CC {kind.upper()} {version}"
    owner = row["Copyright Holder"]
    owned = owner and owner != "Public Domain"
    return Bible(
        row["ID"],
        row["Language"],
        row["Vernacular Title"],
        f"{licence}, {owner}" if owned else licence or "licence unknown",
    )


def _choose(wanted: str, bibles: Sequence[Bible]) -> Bible:
    """The translation of a name, or the freest one of a language."""
    by_name = {bible.name: bible for bible in bibles}
    # A short name such as 'ckb' is the language's code too, and means the language.
    if wanted in by_name and len(wanted) > 3:
        return by_name[wanted]
    code = language_codes.parse_tag(wanted).code
    if code == "en" and _ENGLISH in by_name:
        return by_name[_ENGLISH]
    of_language = sorted((x for x in bibles if x.code == code), key=lambda x: (x.rank, x.name))
    if not of_language:
        hint = language_codes.hint(wanted, sorted({bible.code for bible in bibles}))
        raise ValueError(
            f"eBible has no {wanted!r}. {hint or nearest(wanted, sorted(by_name))} "
            "`clwe-jax data ebible --languages=list` shows all translations"
        )
    if len(of_language) > 1:
        logging.info(
            "%s: %s; others are %s, which --languages may name",
            wanted,
            of_language[0].name,
            ", ".join(x.name for x in of_language[1:]),
        )
    return of_language[0]
