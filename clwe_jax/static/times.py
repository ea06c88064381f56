"""The times of a static run's stages after training, for `--dry_run`: real calls on made-up vectors."""

from __future__ import annotations

import collections
import math
import os
import time
from typing import Any, Callable, Iterator

import numpy as np

from clwe_jax import options, terminal
from clwe_jax.align import csls, induce
from clwe_jax.options.static import StaticRun
from clwe_jax.report import plots
from clwe_jax.report.data import Dots, Picture
from clwe_jax.runs.forecast import in_minutes
from clwe_jax.static import refine
from clwe_jax.text.corpus import corpora
from clwe_jax.text.unpacking import open_binary

_POCKET_WORDS = 2_200  # words of a language of the embedded world, at most
_SAMPLE = 1 << 20  # bytes of text from which the size of a vocabulary is estimated
_TIMED = 1_500  # most words of the timed calls; more are extrapolated
_TESTED = 1_500  # words of a published test dictionary
_TIMED_ALIGNERS = ("procrustes", "least_squares", "rcsls", "geomm")
_LABELS = 30  # of a timed picture
_PICTURES = 2  # large pictures of a report, apart from those of language pairs


def stages(config: StaticRun) -> Iterator[str]:
    """Lines on the alignment, the evaluation, the induction of dictionaries, and the report."""
    words, dim = vocabulary(config), config.embeddings.dim + config.static.dictionary_dim
    directions = len(options.pairs(config))
    others = len(options.languages(config)) - 1
    timed = min(words, _TIMED)
    source, target = _made_up(timed, dim, 0), _made_up(timed + 1, dim, 1)
    aligned = config.align.source_vectors or config.static.refinement
    if aligned and config.align.name not in _TIMED_ALIGNERS:
        yield f"alignment: {config.align.name} takes as long on few words as on many: not timed"
    elif aligned:
        own = slice(0, config.embeddings.dim)
        pairs = np.stack([np.arange(timed // 2, dtype=np.int32)] * 2, 1)
        aligner = refine.aligner(config.align, config.seed)
        with terminal.warnings_only():  # the aligner reports its steps
            seconds = _seconds(lambda: aligner.fit(source[:, own], target[:, own], pairs))
        yield _line("alignment", others * seconds * max(1.0, words / timed), words)
    made = [spec for spec in config.evals.values() if getattr(spec, "data", "")]
    if made:
        compiled, computed = _both(
            lambda: csls.nearest(source[: min(timed, _TESTED)], target, 10, "csls", pool=source)
        )
        floors, seconds, tested = 2, 0.0, 0  # the dictionary floor is measured too
        for spec in made:
            # Scores of all pairs of candidates, once for all methods; a pair's sentences are few.
            own = min(words, spec.max_words or words) if spec.name == "bli" else timed
            tested = max(tested, own)
            seconds += floors * directions * (compiled / 3 + computed * (own / timed) ** 2)
        yield _line("evaluations", seconds, tested)
    if config.static.induced_words:
        compiled, computed = _both(
            lambda: induce.induce(source, target, method="csls", max_words=None)
        )
        max_words = min(words, config.static.induced_words)
        seconds = math.ceil(directions / 2) * (compiled + computed * (max_words / timed) ** 2)
        yield _line("induced dictionaries", seconds, max_words)
    picture = _PICTURES * _seconds(_draw) + others * _seconds(_draw) / 2
    yield f"report: {in_minutes(picture)}"


def vocabulary(config: StaticRun) -> int:
    """An estimate of the number of words with a vector in the language with the most text.

    By Heaps' law: the growth from one half of a sample to the whole of it goes on.
    """
    if config.data.source == "pocket":
        return _POCKET_WORDS
    if not config.data.source.startswith("text:"):
        return _TIMED
    folder = config.data.source.removeprefix("text:")
    files = corpora.TextCorpus(folder, options.languages(config)).files
    size, path = max(
        (sum(map(os.path.getsize, paths)), max(paths, key=os.path.getsize))
        for paths in files.values()
    )
    with open_binary(path) as file:
        words = file.read(_SAMPLE).lower().split()[:-1]  # the last one may be cut
    whole, half = (
        _frequent(words[:n], config.embeddings.min_count) for n in (len(words), len(words) // 2)
    )
    growth = math.log2(whole / half) if half else 1.0
    return max(2, round(whole * max(1.0, size / _SAMPLE) ** min(max(growth, 0.0), 1.0)))


def _frequent(words: list[bytes], min_count: int) -> int:
    return sum(count >= min_count for count in collections.Counter(words).values())


def _made_up(words: int, dim: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(words, dim)).astype(np.float32)


def _seconds(call: Callable[[], Any]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def _both(call: Callable[[], Any]) -> tuple[float, float]:
    """The seconds that the first call takes more than the second, and those of the second."""
    first, second = _seconds(call), _seconds(call)
    return max(first - second, 0.0), second


def _draw() -> None:
    """Draws a picture of labelled words, the slowest part of a report."""
    rng = np.random.default_rng(0)
    points = [tuple(point) for point in rng.normal(size=(_LABELS, 2)).tolist()]
    dots = Dots("words", points, labels=[f"word{number}" for number in range(_LABELS)])
    plots.svg(Picture("timed", [dots]), "timed")


def _line(name: str, seconds: float, words: int) -> str:
    return f"{name}: {in_minutes(seconds)}, roughly, for some {words:,} words a language"
