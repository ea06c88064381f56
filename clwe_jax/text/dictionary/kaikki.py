"""Wiktionary as kaikki.org gives it (wiktextract, CC BY-SA): a word and its senses in JSON a line.

Words of other languages have English glosses; English words have translations.
"""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any, Iterator, Mapping

from clwe_jax.text.lines import fault, iterate_lines, quote_line
from clwe_jax.text.unpacking import strip_compression
from clwe_jax.text.words.languages import code_of

_ENGLISH = "en"  # the language of the glosses
_ASIDE = re.compile(r"\s*[(\[（][^()\[\]（）]*[)\]）]\s*")
_FORM_OF = {"form_of", "alt_of"}  # such a gloss describes a form: 'plural of book'
_MAX_WORDS = 3  # words of an entry on either side; a longer gloss is an explanation
_EXPECTED = 'expected {"word": WORD, "lang_code": CODE, "senses": [{"glosses": [TEXT]}]}'


def is_kaikki(path: str) -> bool:
    """Whether a file is named as one of JSON lines, and begins with an entry of kaikki.org."""
    name = strip_compression(os.path.basename(path))
    if not name.endswith((".jsonl", ".json")) or not os.path.isfile(path):
        return False
    first = next(iterate_lines(path), "")
    return '"word"' in first and ('"senses"' in first or '"lang_code"' in first)


@functools.cache
def languages_of(path: str) -> frozenset[str]:
    """The languages of the words of a file, without English: one, but of an English file many."""
    return frozenset(pair[0] for pair in iterate(path))


def iterate(path: str) -> Iterator[tuple[str, str, str]]:
    """Yields (language, word, English word) from a file, each pair once.

    Remarks in parentheses, and the English 'to' and articles, are removed from glosses; a gloss is cut
    at commas and semicolons. Glosses of more than three words, and of mere forms, are skipped.

    Raises:
      ValueError: as of `lines.iterate_lines`, or a line that is no entry.
    """
    seen_pairs: set[tuple[str, str, str]] = set()
    for number, line in enumerate(iterate_lines(path), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            pairs = list(_pairs(entry)) if "word" in entry else []
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            fault(path, number, f"{error!r} in {quote_line(line)}: {_EXPECTED}")
        for pair in pairs:
            if pair not in seen_pairs:
                seen_pairs.add(pair)
                yield pair


def _pairs(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    word = entry["word"]
    language = code_of(entry.get("lang_code", ""))
    if not language or len(word.split()) > _MAX_WORDS:
        return
    senses = [sense for sense in entry.get("senses", ()) if not _FORM_OF & sense.keys()]
    if language == _ENGLISH:
        for holder in (entry, *senses):
            for translation in holder.get("translations", ()):
                term = translation.get("word", "")
                code = code_of(translation.get("lang_code") or translation.get("code") or "")
                if code and code != _ENGLISH and term and len(term.split()) <= _MAX_WORDS:
                    yield code, term, word
        return
    for sense in senses:
        # The last gloss of a sense is its own, those before it are of the senses above.
        for gloss in sense.get("glosses", ())[-1:]:
            for part in re.split(r"[,;]", _ASIDE.sub(" ", gloss)):
                english = re.sub(r"^(to|an?|the) ", "", part.strip().rstrip("."))
                if english and len(english.split()) <= _MAX_WORDS:
                    yield language, word, english
