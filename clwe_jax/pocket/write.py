"""Writes the pocket world to files, in the formats that real data comes in."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Iterable
from itertools import islice

from clwe_jax.pocket import generate
from clwe_jax.pocket.base import LANGUAGES

ISO_639_3 = {"de": "deu", "en": "eng", "es": "spa", "fr": "fra", "ja": "jpn", "zh": "cmn"}
BLI_BUCKETS = 3


def _write(path: str, lines: Iterable[str]) -> None:
    """Writes lines to a temporary file and moves it into place."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".pocket-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                file.write(line + "\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_corpus(directory, languages=LANGUAGES, sentences=40000, seed=0, among=()) -> None:
    """Writes DIR/{lang}.txt: `sentences` lines of the split 'train', each language drawn alone.

    `among` names the domains (`pocket.domains`) to draw from; all where there are none. So it does
    for the other writers of text.
    """
    for language in languages:
        stream = islice(generate.sentences(language, seed, among=among), sentences)
        _write(os.path.join(directory, f"{language}.txt"), (s.text for s in stream))


def write_gold(path, language, count, seed=0, split="heldout") -> None:
    """Writes sentences that hold an ambiguous word, a JSON object a line.

    Keys: `language`, `domain`, `text`, `tokens` (list of str), `concepts` (a concept id or null for
    each token) and `ambiguous` (the indices of tokens whose word has two or more concepts).
    """
    words = generate.ambiguous(language)

    def lines():
        left = count
        for sentence in generate.sentences(language, seed, split):
            if not left:
                return
            where = [
                i for i, t in enumerate(sentence.tokens) if t.concept and t.text.lower() in words
            ]
            if where:
                left -= 1
                record = {
                    "language": language,
                    "domain": sentence.domain,
                    "text": sentence.text,
                    "tokens": [t.text for t in sentence.tokens],
                    "concepts": [t.concept for t in sentence.tokens],
                    "ambiguous": where,
                }
                yield json.dumps(record, ensure_ascii=False)

    _write(path, lines())


def dictionary_pairs(languages=LANGUAGES) -> list[tuple[str, str]]:
    """The pairs that MUSE has: English with every language, both ways, and de, es, fr among them.

    Without English all pairs.
    """
    return [
        (source, target)
        for source in languages
        for target in languages
        if source != target
        and (
            "en" in (source, target)
            or {source, target} <= {"de", "es", "fr"}
            or "en" not in languages
        )
    ]


def write_dictionaries(directory, languages=LANGUAGES) -> None:
    """Writes DIR/xx-yy.txt for `dictionary_pairs`: `source target` a line, as MUSE."""
    for source, target in dictionary_pairs(languages):
        pairs = generate.dictionary(source, target)
        path = os.path.join(directory, f"{source}-{target}.txt")
        _write(path, (f"{a} {b}" for a, b in pairs))


def write_retrieval(directory, languages=LANGUAGES, count=1000, seed=0, among=()) -> None:
    """Writes DIR/tatoeba.{xxx}-eng.{xxx} and .eng (ISO 639-3): line n translates line n.

    The meanings are held out of the training text. English is written even where it is not one of
    the languages.
    """
    rows = generate.parallel(sorted({"en", *languages}), count, seed, among=among)
    for language in languages:
        if language == "en":
            continue
        code = ISO_639_3[language]
        stem = os.path.join(directory, f"tatoeba.{code}-eng")
        _write(f"{stem}.{code}", (row[language].text for row in rows))
        _write(f"{stem}.eng", (row["en"].text for row in rows))


def write_parallel(directory, languages=LANGUAGES, count=20000, seed=0, among=()) -> None:
    """Writes DIR/xx-yy.xx and DIR/xx-yy.yy, parallel text to train on (split 'train').

    Pairs: the first of `languages` that is English, else the first, with every other language.
    """
    rows = generate.parallel(languages, count, seed, "train", among)
    pivot = "en" if "en" in languages else languages[0]
    for language in languages:
        if language == pivot:
            continue
        first, second = sorted((pivot, language))
        stem = os.path.join(directory, f"{first}-{second}")
        for side in (first, second):
            _write(f"{stem}.{side}", (row[side].text for row in rows))


def write_bli(directory, languages=LANGUAGES) -> None:
    """Writes DIR/xx-en.5000-6500.txt and DIR/en-xx.5000-6500.txt, test dictionaries.

    Without English, all pairs of the languages. They hold the base forms of one content word in
    `BLI_BUCKETS`, every translation of it.
    """
    for source, target in dictionary_pairs(languages):
        if "en" in languages and "en" not in (source, target):
            continue
        pairs = [
            (a, b)
            for a, b in generate.dictionary(source, target, base_forms=True)
            if zlib.crc32(f"{source} {a}".encode()) % BLI_BUCKETS == 0
        ]
        path = os.path.join(directory, f"{source}-{target}.5000-6500.txt")
        _write(path, (f"{a} {b}" for a, b in pairs))
