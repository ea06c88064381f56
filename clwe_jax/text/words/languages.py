"""The codes of languages, both ways: what a file, a set or a user calls a language, and what we call it.

Ours are those of Wikipedia, with few exceptions: two letters where ISO 639-1 has them ('de' for deu and ger), else three
('ceb'). A language that stands for its macrolanguage in CLDR has the macrolanguage's code: Mandarin is
'zh', Standard Arabic 'ar', Tosk Albanian 'sq', Northern Kurdish 'ku'; its other members keep their own:
'yue', 'arz', 'ckb'. 'als' is Tosk Albanian, as in ISO 639-3, and not Wikipedia's Alemannic, which is 'gsw'.
The tables are those of langcodes (ISO 639, CLDR).
"""

from __future__ import annotations

import functools
import pathlib
import re
from typing import Iterable, NamedTuple, Sequence

from langcodes import Language, data_dicts

from clwe_jax.options.section import nearest

# Tags of Wikipedia that are no codes of ISO 639, and what CLDR would rename against Wikipedia's use.
_OWN = {
    "bat-smg": "sgs",
    "be-tarask": "be",
    "cbk-zam": "cbk",
    "fil": "tl",
    "fiu-vro": "vro",
    "nb": "no",
    "nob": "no",
    "roa-rup": "rup",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
}
_WITHDRAWN = {"in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro"}  # of ISO 639-1
# Macrolanguages without one standard, of which a set's only member serves.
_WITHOUT_STANDARD = frozenset(
    "ay bal bik cr ff gn ik iu kg kr kv oj om ps qu sc tmh za zza".split()
)
_RIGHT_TO_LEFT = frozenset("Adlm Arab Hebr Mand Mend Nkoo Rohg Samr Syrc Thaa".split())
_SCRIPT = re.compile("[a-z]{4}")
IN_NAMES = "[a-z]{2,3}(?:_[A-Z][a-z]{3})?"  # a language in names of files: deu, zho_Hant


class Tag(NamedTuple):
    """A language as a file or a user calls it.

    Attributes:
      name: the code without a script, in small letters, as it was written: 'deu', 'zho'.
      code: our code of it: 'de', 'zh'.
      script: four letters such as 'Hant'; '' where the tag names none.
    """

    name: str
    code: str
    script: str


def parse_tag(tag: str) -> Tag:
    """The parts of 'deu', 'zho_Hant', 'zh-TW', 'EN' or 'zh-yue'; other tags are taken as they are."""
    small = tag.strip().lower().replace("_", "-")
    if small in _OWN:
        return Tag(small, _OWN[small], "")
    name, *subtags = small.split("-")
    scripts = [part.title() for part in subtags if _SCRIPT.fullmatch(part)]
    if not scripts and subtags:
        # A country or a variant may mean a script: zh-TW.
        scripts = _implied_script(name, subtags)
    return Tag(name, code_of(name), scripts[0] if scripts else "")


def code_of(name: str) -> str:
    """Our code of a language: 'deu' -> 'de', 'cmn' -> 'zh'; an unknown name is returned unchanged."""
    if name in _OWN:
        return _OWN[name]
    return _WITHDRAWN.get(name) or two_letters().get(name, name)


@functools.cache
def two_letters() -> dict[str, str]:
    """Three letters -> the two letters of the same language (ISO 639-2, 639-3, CLDR)."""
    codes: dict[str, str] = {}
    for table in (data_dicts.LANGUAGE_ALPHA3, data_dicts.LANGUAGE_ALPHA3_BIBLIOGRAPHIC):
        for alpha2, alpha3 in table.items():
            if len(alpha2) == 2 and alpha2 not in _WITHDRAWN:
                codes[alpha3] = _OWN.get(alpha2, alpha2)
    for member, macrolanguage in data_dicts.NORMALIZED_MACROLANGUAGES.items():
        if len(member) == 3 and len(macrolanguage) == 2:
            codes.setdefault(member, _OWN.get(macrolanguage, macrolanguage))
    return codes


@functools.cache
def default_script(name: str) -> str:
    """The script in which a language is mostly written (CLDR): 'Latn' for 'min'; '' where unknown."""
    try:
        return Language.get(name).maximize().script or ""
    except ValueError:
        return ""


def is_right_to_left(name: str) -> bool:
    """Whether a language is mostly written from the right."""
    return default_script(name) in _RIGHT_TO_LEFT


@functools.cache
def english_names() -> dict[str, str]:
    """Our code -> the language's name in English (CLDR)."""
    path = pathlib.Path(__file__).with_name("language_names.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def name_of(code: str) -> str:
    """A language's name in English, 'Kabyle'; the code itself where no name is known."""
    tag = parse_tag(code)
    name = english_names().get(tag.code, code)
    return f"{name} ({tag.script})" if tag.script and name != code else name


def find_name(wanted: str, names: Iterable[str]) -> str:
    """The name that means a wanted language, among those that a set uses; '' where none does.

    The same language in the same ISO code comes first ('tw' is twi and not aka), then the language that
    stands for the macrolanguage ('sq' is als), then the only member of one without a standard ('ff' is fuv). Of
    several scripts the wanted one is taken, or that in which the language is mostly written.

    Args:
      wanted: a code with or without a script, as a user writes it: 'zh', 'zho_Hant', 'min-Arab'.
      names: such as 'deu', 'als_Latn' or 'de'.

    Raises:
      ValueError: several names would do equally well; the message lists them.
    """
    tag = parse_tag(wanted)
    by_rank: dict[int, list[str]] = {}
    for name in names:
        rank = _rank(tag, parse_tag(name))
        if rank is not None:
            by_rank.setdefault(rank, []).append(name)
    if not by_rank:
        return ""
    return _choose_script(wanted, tag, by_rank[min(by_rank)])


def name_in(name: str, languages: Sequence[str] | None) -> str:
    """A language of a file's name as a run calls it: 'deu' where the run has deu, else our code, 'de'.

    Without languages to compare it with (None), the name itself.
    """
    if languages is None or name in languages:
        return name
    tag = parse_tag(name)
    ranks = {x: _rank(parse_tag(x), tag) for x in languages}
    related = [x for x in languages if ranks[x] is not None]
    return min(related, key=ranks.__getitem__, default=tag.code)


def hint(wanted: str, present: Iterable[str]) -> str:
    """The end of a message on an absent language: its other name, its relatives, or what there is.

    Codes that look alike are no relatives: nobody who asks for 'ku' means 'uz'. A word that is no code may be
    a misspelled one.
    """
    present = sorted(present)
    tag = parse_tag(wanted)
    aliases = [x for x in present if parse_tag(x).code == tag.code]
    if aliases:
        return f"{wanted!r} is {' or '.join(map(repr, aliases))} here."
    related = [x for x in present if _family(x) == _family(wanted)]
    if related:
        return f"Related to it: {', '.join(map(repr, related))}."
    return nearest("" if Language.make(tag.name).is_valid() else wanted, present)


def _rank(wanted: Tag, present: Tag) -> int | None:
    if wanted.script and present.script and wanted.script != present.script:
        return None
    if wanted.name == present.name or three_letters(wanted.name) == three_letters(present.name):
        return 0
    if wanted.code == present.code or _stands_for(wanted.code) == _stands_for(present.code):
        return 1
    if wanted.code in _WITHOUT_STANDARD and _family(present.name) == wanted.code:
        return 2
    return None


def _stands_for(code: str) -> str:
    """The macrolanguage for which a language stands in CLDR, or itself: Southwestern Dinka for Dinka."""
    return data_dicts.NORMALIZED_MACROLANGUAGES.get(code, code)


def three_letters(name: str) -> str:
    """The code of ISO 639-3: 'zho' of 'zh'; a code of three letters, or an unknown one, is returned unchanged."""
    return data_dicts.LANGUAGE_ALPHA3.get(name, name)


def _family(name: str) -> str:
    """The macrolanguage of a language, or itself."""
    tag = parse_tag(name)
    group = data_dicts.MACROLANGUAGES.get(tag.name) or data_dicts.MACROLANGUAGES.get(tag.code)
    return group or tag.code


def _choose_script(wanted: str, tag: Tag, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    usual = [x for x in names if parse_tag(x).script == default_script(parse_tag(x).name)]
    if len(usual) == 1 and not tag.script:
        return usual[0]
    bare = [x for x in names if x in (tag.name, tag.code)]
    if len(bare) == 1:
        return bare[0]
    raise ValueError(f"{wanted!r} may be {' or '.join(names)}: name one of them")


def _implied_script(name: str, rest: Sequence[str]) -> list[str]:
    """The script of a country's way of writing, where it is not the language's usual one."""
    try:
        script = Language.get("-".join([name, *rest])).maximize().script
    except ValueError:
        return []
    return [script] if script and script != default_script(name) else []
