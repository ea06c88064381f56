"""JMdict, the Japanese-multilingual dictionary (EDRDG, CC BY-SA 4.0): XML."""

from __future__ import annotations

import re
from typing import Iterator
from xml.etree import ElementTree

from clwe_jax.text.words.languages import code_of
from clwe_jax.text.unpacking import open_binary

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_MAX_WORDS = 3  # maximum number of words of a translation; a longer gloss is an explanation


def iterate(path: str) -> Iterator[tuple[str, str, str]]:
    """Yields (Japanese word, language, translation) from a JMdict file.

    The words of an entry are its kanji spellings, and also its readings if it has no kanji or is
    usually written in kana. Remarks in parentheses and the English 'to' of verbs are removed from
    glosses. A gloss of more than three words is skipped, because it is an explanation.

    Raises:
      ValueError: the file is not XML; the message names the line.
    """
    try:
        with open_binary(path) as file:
            root = None
            for event, element in ElementTree.iterparse(file, events=("start", "end")):
                if root is None:
                    root = element
                elif event == "end" and element.tag == "entry":
                    yield from _pairs(element)
                    # Without this the tree of the whole file would stay in memory.
                    root.clear()
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{path} is not a complete JMdict XML file: {error}. Fetch JMdict_e.gz again from EDRDG"
        ) from error


def _pairs(entry: ElementTree.Element) -> Iterator[tuple[str, str, str]]:
    kanji = [element.text for element in entry.iterfind("k_ele/keb") if element.text]
    readings = [element.text for element in entry.iterfind("r_ele/reb") if element.text]
    for sense in entry.iterfind("sense"):
        misc = [element.text or "" for element in sense.iterfind("misc")]
        # The entity `uk` expands to "word usually written using kana alone".
        in_kana = any("kana alone" in text or text == "uk" for text in misc)
        words = kanji + readings if in_kana or not kanji else kanji
        for gloss in sense.iterfind("gloss"):
            language = code_of(gloss.get(_LANG, "eng"))
            text = _translation(gloss.text or "", language)
            if text:
                for word in words:
                    yield word, language, text


def _translation(gloss: str, language: str) -> str:
    text = _ASIDE.sub(" ", gloss).strip()
    if language == "en":
        text = text.removeprefix("to ")
    return text if len(text.split()) <= _MAX_WORDS else ""
