"""`align-documents` on a book that the run has not read, in four divisions: links that are right, lines that get theirs.

    python benchmarks/documents.py --languages=sw,gv,kab,eu

configs/bible.py learns from the other books of the New Testament. Then the two texts of the book are aligned: verse by
verse; cut into sentences at their own marks, without the verses' ends; and both again after a tenth of the lines of
each side was deleted and a tenth joined to the line before. Two lines belong together if they share a verse; a link is
right if its lines do. Luke is no test: the costs of `align.documents` were chosen on it. A language takes about a
minute of one core, and finished runs of a commit are not repeated.
"""

from __future__ import annotations

import argparse
import os
import random
import re

import numpy as np
from side_by_side import record
import tables

import clwe_jax
from clwe_jax.text.corpus import parallel, parallel_files

Lines = list[tuple[set[str], str]]  # the verses of a line, and the line
_END = re.compile(r"[.!?:;]['\"”’)]*\s")


def read_book(data: str, language: str, book: str) -> Lines:
    """The verses of a book, a line each."""
    pairs, _ = parallel_files.find(f"{data}/verses@{book}", ("en", language), "data.pairs")
    files = pairs[0]
    path = files.paths[(files.source, files.target).index(language)]
    verses = parallel.Reader().verses(path, files.selection)
    return [({*verses.joined.get(x, [x])}, text) for x, text in verses.texts.items()]


def cut_sentences(lines: Lines) -> Lines:
    """The same text in sentences, which may have several verses or a part of one."""
    text = "".join(f"{line} " for _, line in lines)
    owners = [verses for verses, line in lines for _ in f"{line} "]
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    spans = ((a, b) for a, b in zip(ends, ends[1:]) if text[a:b].strip())
    return [(set().union(*owners[a : b - 1]), text[a:b].strip()) for a, b in spans]


def disturb(lines: Lines, share: float, rng: random.Random) -> Lines:
    """The lines after some are deleted and some joined to the line before."""
    kept: Lines = []
    for verses, line in lines:
        if rng.random() < share:
            continue
        if kept and rng.random() < share:
            before, text = kept[-1]
            kept[-1] = before | verses, f"{text} {line}"
        else:
            kept.append((verses, line))
    return kept


def judge(
    model: clwe_jax.Model, language: str, source: Lines, target: Lines
) -> tuple[float, float]:
    """The share of links that are right, and of the lines with a translation that get one."""
    texts = [[line for _, line in side] for side in (source, target)]
    beads = model.align_documents(texts[0], language, texts[1], "en")
    links = {(i, j) for bead in beads for i in bead.source for j in bead.target}
    shared = np.array([[bool(a & b) for b, _ in target] for a, _ in source])
    right = [link for link in links if shared[link]]
    found = len({i for i, _ in right}) + len({j for _, j in right})
    return len(right) / len(links), found / (shared.any(1).sum() + shared.any(0).sum())


def measure(language: str, args: argparse.Namespace) -> dict[str, float]:
    """The figures of a language, of whose run the book is left out."""
    folder = os.path.join(args.out, f"{language}-{args.seed}")
    options = {
        "seed": args.seed,
        "data.pairs": f"{args.data}/verses",
        "data.held_out": args.book,
        "data.languages": f"en,{language}",
        "static.induced_words": 0,
    }
    tables.measured("bible:small", folder, options)
    model = clwe_jax.load(folder)
    verses = [read_book(args.data, x, args.book) for x in (language, "en")]
    sentences = [cut_sentences(side) for side in verses]
    rng = random.Random(args.seed)
    figures = {}
    for name, sides in {"verses": verses, "sentences": sentences}.items():
        disturbed = [disturb(side, 0.1, rng) for side in sides]
        for case, both in {name: sides, f"{name} with gaps": disturbed}.items():
            right, found = judge(model, language, *both)
            figures |= {f"{language}, {case}, right": right, f"{language}, {case}, found": found}
    return figures


def main() -> None:
    """Measures and writes the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--languages", default="sw,gv,kab,eu")
    parser.add_argument("--book", default="MRK")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--out", default="runs/documents")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    figures: dict[str, float] = {}
    for language in args.languages.split(","):
        found = measure(language, args)
        print({name: f"{value:.3f}" for name, value in found.items()}, flush=True)
        figures |= found
    record(figures, args)


if __name__ == "__main__":
    main()
