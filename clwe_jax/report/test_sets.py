"""The test sets behind the figures of a run: their folder, file and size."""

from __future__ import annotations

import os

from clwe_jax.report import figures
from clwe_jax.report.run_folder import RunFolder

_POCKET = "the embedded world"


def folder(run: RunFolder, kind: str) -> str:
    """The last part of the folder's path; '' where the config names no folder."""
    path = str(run.option(f"evals.{kind}.data") or "")
    return _POCKET if path == "pocket" else os.path.basename(path.rstrip("/"))


def of_pair(run: RunFolder, kind: str, pair: str) -> str:
    """The test set of a pair: 'muse/de-en.5000-6500.txt, 1,500 words, 2,827 pairs'.

    Args:
      kind: 'bli' or 'retrieval', an evaluator and its key in config.evals.
      pair: languages, such as 'de-en'.
    """
    name = folder(run, kind)
    if kind == "bli" and name:
        place = str(run.option("evals.bli.data"))
        is_vecmap = os.path.isfile(os.path.join(place, f"{pair}.test.txt"))
        file = f"{pair}.test.txt" if is_vecmap else f"{pair}.5000-6500.txt"
        name = f"{file} of {name}" if name == _POCKET else f"{name}/{file}"
    return ", ".join(part for part in (name, _size(run, kind, [pair])) if part)


def of_all(run: RunFolder, kind: str) -> str:
    """The test sets of all pairs together: 'muse, 12 directions, 18,000 words, 33,924 pairs'."""
    pairs = list(figures.pairs_of(run.figures, kind))
    if kind == "retrieval":  # both directions of a pair have the same sentences
        pairs = list({frozenset(pair.split("-")): pair for pair in pairs}.values())
    if len(pairs) == 1:
        return of_pair(run, kind, pairs[0])
    named = "language pairs" if kind == "retrieval" else "directions"
    many = f"{len(pairs)} {named}" if pairs else ""
    return ", ".join(part for part in (folder(run, kind), many, _size(run, kind, pairs)) if part)


def _size(run: RunFolder, kind: str, pairs: list[str]) -> str:
    """The numbers of words and pairs, or of sentences, as far as they were recorded."""
    by_pair = figures.pairs_of(run.figures, kind)
    if kind == "retrieval":
        chances = [by_pair[pair]["chance"] for pair in pairs if by_pair[pair].get("chance")]
        counts = {"sentence pairs": sum(round(1 / chance) for chance in chances)}
    else:
        counts = {
            name: sum(by_pair[pair].get(name, 0.0) for pair in pairs) for name in ("words", "pairs")
        }
    return ", ".join(f"{figures.count(n)} {name}" for name, n in counts.items() if n)
