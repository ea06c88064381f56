"""Writes text, dictionaries and test sets of the embedded world in the formats of real data."""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Iterable

from clwe_jax import atomic
from clwe_jax.pocket import generate, planted
from clwe_jax.pocket.base import LANGUAGES

ISO_639_3 = {"de": "deu", "en": "eng", "es": "spa", "fr": "fra", "ja": "jpn", "zh": "cmn"}
BLI_BUCKETS = 3


def _write(path: str, lines: Iterable[str]) -> None:
    """Writes a text file, a line at a time, into a folder that is made where it is missing."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with atomic.writing(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_corpus(
    directory, languages=LANGUAGES, sentences=40000, seed=0, among=(), shared=planted.Shared()
) -> None:
    """Writes DIR/{lang}.txt: `sentences` lines of the split 'train', each language drawn alone.

    Args:
      among: domains to draw from (`pocket.domains`), here and in the other functions; () means all.
      shared: a `pocket.Shared` or its values.
    """
    for language in languages:
        render = generate.grammar(language).render
        lines = planted.lines(language, sentences, seed, among, planted.Shared(*shared))
        texts = (render(line.meaning).text for line in lines)
        _write(os.path.join(directory, f"{language}.txt"), texts)


def write_shared(
    directory, languages=LANGUAGES, sentences=40000, seed=0, among=(), shared=planted.Shared()
) -> None:
    """Writes DIR/xx-yy.tsv for all pairs of languages (xx < yy): `planted.shared_pairs` of the
    texts that `write_corpus` writes with the same arguments.

    A line has the line number in xx.txt, that in yy.txt, both from 1, and 'planted' or 'chance'.
    """
    for pair in itertools.combinations(sorted(languages), 2):
        pairs = planted.shared_pairs(*pair, sentences, seed, among, planted.Shared(*shared))
        kinds = ("chance", "planted")
        rows = (f"{i}\t{j}\t{kinds[both]}" for i, j, both in pairs)
        _write(os.path.join(directory, f"{'-'.join(pair)}.tsv"), rows)


def dictionary_pairs(languages=LANGUAGES) -> list[tuple[str, str]]:
    """The pairs of MUSE: English with every language, both ways, and the pairs among de, es, fr.

    Without English, all pairs of the languages.
    """
    pairs = []
    for pair in itertools.permutations(languages, 2):
        if "en" in pair or set(pair) <= {"de", "es", "fr"} or "en" not in languages:
            pairs.append(pair)
    return pairs


def write_dictionaries(directory, languages=LANGUAGES) -> None:
    """Writes DIR/xx-yy.txt for `dictionary_pairs`: `source target` a line, as in MUSE."""
    for source, target in dictionary_pairs(languages):
        pairs = generate.dictionary(source, target)
        path = os.path.join(directory, f"{source}-{target}.txt")
        _write(path, (f"{a} {b}" for a, b in pairs))


def write_retrieval(directory, languages=LANGUAGES, count=1000, seed=0, among=()) -> None:
    """Writes DIR/tatoeba.{xxx}-eng.{xxx} and .eng (ISO 639-3): line n translates line n.

    The meanings are held out of the training text. English is written even where `languages` lacks
    it.
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
    """Writes DIR/xx-yy.xx and DIR/xx-yy.yy, parallel text for training (split 'train').

    One side of each pair is English, or the first of `languages` where they lack English; the other
    side is each other language.
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
    """Writes the test dictionaries DIR/xx-en.5000-6500.txt and DIR/en-xx.5000-6500.txt.

    Without English, all pairs of the languages. A test dictionary holds the base form of one content
    word in `BLI_BUCKETS`, with all its translations.
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
