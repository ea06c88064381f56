"""One sentence on each headline figure: its chance level, and values that are good."""

from __future__ import annotations

import math
from typing import Callable

from clwe_jax.report import figures
from clwe_jax.report.run_folder import RunFolder


def note(run: RunFolder, metric: str) -> str:
    """The sentence on the headline figure of a metric; '' for a metric without one."""
    family = metric.partition("/")[0]
    write = _SENTENCES.get(metric) or _SENTENCES.get(family)
    return write(run, metric) if write is not None else ""


def _retrieval(run: RunFolder, metric: str) -> str:
    return f"share of sentences that find their translation{_levels(run, metric, 0.5)}"


def _induction(run: RunFolder, metric: str) -> str:
    return f"share of words whose nearest word is a translation{_levels(run, metric, 0.3)}"


def _levels(run: RunFolder, metric: str, good: float) -> str:
    """The levels that a figure is compared with: chance, and a good value."""
    family = metric.partition("/")[0]
    chance = run.figures.get(f"{family}/chance")
    levels = []
    if chance is not None:
        levels.append(f"chance {figures.percent(chance, 1 if chance > 0.001 else 2)}")
    floor = any(name.startswith(f"floor/{family}/") for name in run.figures)
    above = " and above the dictionary floor" if floor else ""
    levels.append(f"good from {figures.percent(good, 0)} on{above}")
    return "; " + ", ".join(levels)


def _loss(run: RunFolder, metric: str) -> str:
    size = (run.extras.get("vocabulary") or {}).get("size")
    chance = f"; guessing {math.log(size):.1f}" if size and size > 1 else ""
    return f"lower is better{chance}; compare only runs of one task and vocabulary"


_SENTENCES: dict[str, Callable[[RunFolder, str], str]] = {
    "retrieval": _retrieval,
    "bli": _induction,
    "eval/mlm/loss": _loss,
    "train/loss": _loss,
}
