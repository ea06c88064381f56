"""TMX (Translation Memory eXchange): sentences and their translations in XML."""

from __future__ import annotations

import itertools
from typing import BinaryIO, Iterator
from xml.etree import ElementTree

from clwe_jax.text.words.languages import parse_tag

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_SCANNED = 1_000  # units of which the languages are read
# Elements that hold the codes of another program's markup, and no text.
_CODES = frozenset(("bpt", "ept", "it", "ph", "ut"))


def read_units(path: str, file: BinaryIO) -> Iterator[dict[str, str]]:
    """Our code of a language -> text of each unit; a language that comes twice in a unit has its first text.

    Raises:
      ValueError: the file is no XML, or is damaged.
    """
    try:
        for _, element in ElementTree.iterparse(file):
            if _name(element) == "tu":
                yield dict(_variants(element))
                element.clear()
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise ValueError(
            f"{path}:{line}: damaged TMX ({error}): mend this line, or fetch the file again"
        ) from error


def languages(path: str, file: BinaryIO) -> list[str]:
    """Our codes of the languages of a file's first units, sorted."""
    units = itertools.islice(read_units(path, file), _SCANNED)
    return sorted(set(itertools.chain.from_iterable(units)))


def _variants(unit: ElementTree.Element) -> Iterator[tuple[str, str]]:
    seen_languages = set()
    for variant in unit:
        if _name(variant) != "tuv":
            continue
        code = variant.get(_LANG) or variant.get("lang") or ""
        language = parse_tag(code).code
        segment = next((x for x in variant if _name(x) == "seg"), None)
        text = " ".join(_text(segment).split()) if segment is not None else ""
        if language and text and language not in seen_languages:
            seen_languages.add(language)
            yield language, text


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element) -> str:
    """The text of an element without the codes in it."""
    parts = [element.text or ""]
    for part in element:
        parts += ["" if _name(part) in _CODES else _text(part), part.tail or ""]
    return "".join(parts)
