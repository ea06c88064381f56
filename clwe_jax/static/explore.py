"""Writes a page that answers words and sentences, offline: clwe-jax explore RUN [--out=explore.html].

    clwe-jax explore runs/kab

The page opens in any browser and needs no network. Type a word or a sentence in any language of the run: it shows
neighbours and translations in the other languages, a map of the neighbourhood, and the links between two sentences.
It holds the most frequent words, with vectors in 8 bits, as many as fit into 20 MB.
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import os
import sys
from typing import Any, Iterator, Sequence

from absl import logging
import numpy as np

from clwe_jax import atomic, terminal
from clwe_jax.align import search
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.report import offline
from clwe_jax.static.open_run import open_run
from clwe_jax.text.words import characters, words as word_rules
from clwe_jax.text.words.languages import is_right_to_left, name_of
from clwe_jax.text.words.spellings import readable

_PAGE_BYTES = 20_000_000
_ASIDE_BYTES = 1_200_000  # of the page beside its words
_WORD_BYTES = 30  # of a word beside its vector: as it is written, its count, its entries
_POOL = 20_000  # words of a language among which the nearest ones are averaged for CSLS
_NEIGHBOURHOOD = 10  # as of `align.retriever`
_MEMORY_BYTES = 1 << 28  # of cosines at once


def collect(model: StaticSpaces, budget: int = _PAGE_BYTES) -> dict[str, Any]:
    """The data of the page, JSON: words, vectors in 8 bits, and what CSLS and sentences need beside them.

    Vectors are those of the hub's space: the numbers are those of `Model.translate`, `neighbours`, `encode` and
    `align` up to the rounding to 8 bits, except where an alignment compares two languages in a space of
    their own.

    Args:
      budget: bytes of the page at most.
    """
    all_words = {language: model.common_vectors(language) for language in model.languages}
    dim = next(iter(all_words.values())).dim
    other_count = len(all_words) - 1
    # Four characters of the page hold three bytes; a word has a number of CSLS for each other language.
    word_bytes = (dim + 4 + 4 * other_count) * 4 / 3 + _WORD_BYTES
    words = _share(all_words, int((budget - _ASIDE_BYTES) / word_bytes))
    page_words = {x: _readable(all_words[x].top(count), x) for x, count in words.items()}
    rows = {language: np.asarray(x.vectors, np.float32) for language, x in page_words.items()}
    compared = {language: model.as_words(x) for language, x in rows.items()}
    return {
        "languages": list(page_words),
        "names": [name_of(language) for language in page_words],
        "from_right": list(filter(is_right_to_left, page_words)),
        "dim": dim,
        "lower": model.normalizer.lower_case,
        "alike": characters.alike(),
        "clitics": {language: word_rules.clitics_of(language) for language in page_words},
        "left": {language: len(all_words[language]) - len(x) for language, x in page_words.items()},
        "words": {language: list(x.words) for language, x in page_words.items()},
        "keys": {language: _other_keys(x) for language, x in page_words.items()},
        "counts": _counts(model, page_words),
        "vectors": {language: _quantize(x) for language, x in rows.items()},
        "lengths": {
            language: _text(np.linalg.norm(x, axis=1).astype(np.float32))
            for language, x in rows.items()
        },
        # Words whose guess from spelling counts less where single words are compared.
        "short": {
            language: np.flatnonzero((x != compared[language]).any(1)).tolist()
            for language, x in rows.items()
        },
        "shortened": _measure_shortening(model),
        "numbers": dict(_numbers(model, all_words, compared)),
        "known": _pairs(model.entries.accepted, page_words),
        "rejected": _pairs(model.entries.rejected, page_words),
    }


def _readable(words: Vectors, language: str) -> Vectors:
    """The words as people write them; the keys stay."""
    spellings = [readable(word, language) for word in words.words]
    return dataclasses.replace(words, words=spellings, keys=list(words.own_keys))


def _share(words: dict[str, Vectors], total: int) -> dict[str, int]:
    """language -> number of words, alike for all, and more for some where others have few."""
    counts: dict[str, int] = {}
    for position, language in enumerate(sorted(words, key=lambda x: len(words[x])), -len(words)):
        counts[language] = min(len(words[language]), total // -position)
        total -= counts[language]
    return {language: counts[language] for language in words}


def _other_keys(words: Vectors) -> dict[str, int]:
    """The keys of the words that are written otherwise -> their places."""
    pairs = enumerate(zip(words.words, words.own_keys))
    return {key: place for place, (word, key) in pairs if word != key}


def _counts(model: StaticSpaces, shown: dict[str, Vectors]) -> dict[str, Any]:
    """language -> running words of the text, and the count of each word; {} where none are known."""
    if model.frequencies is None:
        return {}
    counts = model.frequencies.words
    return {
        language: [
            model.frequencies.totals.get(language, 0),
            [counts.get(language, {}).get(key, 0) for key in words.own_keys],
        ]
        for language, words in shown.items()
    }


def _quantize(rows: np.ndarray) -> str:
    top = np.abs(rows).max(1, keepdims=True, initial=0.0)
    return _text(np.rint(rows / np.where(top > 0, top, 1) * 127).astype(np.int8))


def _text(array: np.ndarray) -> str:
    """An array's bytes in base64."""
    return base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def _measure_shortening(model: StaticSpaces) -> list[float]:
    """The number of columns that are shorter where words are compared, and the share that stays."""
    if model.spelling is None:
        return [0, 1.0]
    first = next((x.factors.shape[1] for x in model.spelling.regressions.values()), 0)
    return [first, model.spelling.compared]


def _numbers(
    model: StaticSpaces, words: dict[str, Vectors], compared: dict[str, np.ndarray]
) -> Iterator[tuple[str, str]]:
    """Yields 'kab-en' and the mean cosine of each English word with its nearest Kabyle ones, float32."""
    pools = {language: model.as_words(x.top(_POOL).vectors) for language, x in words.items()}
    for language, pool in pools.items():
        for to, keys in compared.items():
            if to != language and len(pool) and len(keys):
                means = search.means(keys, pool, _NEIGHBOURHOOD, _MEMORY_BYTES)
                yield f"{language}-{to}", _text(np.asarray(means, np.float32))


def _pairs(pairs: Any, shown: dict[str, Vectors]) -> dict[str, list[list[int]]]:
    """'kab-en' -> the pairs of places of a dictionary's words that are on the page."""
    places = {}
    for language in shown:
        for to in shown:
            rows = pairs.pairs_between(language, to) if language != to else np.zeros((0, 2), int)
            rows = rows[(rows < [len(shown[language]), len(shown[to])]).all(1)]
            if len(rows):
                places[f"{language}-{to}"] = rows.tolist()
    return places


def write(run: str, out: str = "") -> str:
    """Writes the page and returns its path.

    Raises:
      FileNotFoundError: `run` holds no run, or one that has not written its vectors.
      ValueError: the run has no static vectors.
    """
    _, model = open_run(run)
    data = collect(model)
    path = out or os.path.join(run, "explore.html")
    title = f"Ask the space: {', '.join(data['names'])}"
    page = offline.page("explore", title, data)
    atomic.write(path, page)
    numbers = ", ".join(f"{len(words):,} {language}" for language, words in data["words"].items())
    logging.info("%s: %.1f MB, words: %s", path, len(page.encode()) / 1e6, numbers)
    return path


def main(argv: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="clwe-jax explore",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", help="folder of a run of static vectors")
    parser.add_argument("--out", default="", help="file to write; default: RUN/explore.html")
    options = parser.parse_args(argv)
    terminal.command_log(logging.INFO)
    try:
        write(options.run, options.out)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
