"""What is done to vectors before they are aligned: unit length, centering, both in turns.

A step is learned from one vocabulary and then done in the same way to any vectors of that space,
so that words that come later land where the first ones would have.
"""

from __future__ import annotations

import dataclasses
from typing import Sequence

import numpy as np

from clwe_jax import registry
from clwe_jax.types import Array

STEPS = ("unit", "center", "iterative")
ROUNDS = 5  # of iterative normalisation, after which both conditions hold closely
_ROWS = 16_384  # worked on at once


@dataclasses.dataclass(frozen=True, eq=False)
class Unit:
    """Rows scaled to length 1; rows of zeros stay as they are."""

    length: float  # the mean length of the rows it was learned from


@dataclasses.dataclass(frozen=True, eq=False)
class Center:
    """The mean of the vocabulary subtracted."""

    mean: np.ndarray  # float32 [D]


@dataclasses.dataclass(frozen=True, eq=False)
class Steps:
    """Steps in the order in which they are done."""

    steps: tuple[Unit | Center, ...] = ()

    def apply(self, x: Array) -> np.ndarray:
        """The vectors after all steps: float32 [N, D] of any [N, D]."""
        x = np.array(x, np.float32)
        for step in self.steps:
            _do(x, step)
        return x

    def undo(self, x: Array) -> np.ndarray:
        """Vectors of the preprocessed space, put back where `apply` found its own.

        Exact for centering. The length that a word had before it was scaled is not known any
        more; the vocabulary's mean length stands for it.
        """
        x = np.array(x, np.float32)
        for step in reversed(self.steps):
            if isinstance(step, Unit):
                x *= np.float32(step.length)
            else:
                x += step.mean
        return x


NOTHING = Steps()


def fit(x: Array, steps: Sequence[str]) -> tuple[np.ndarray, Steps]:
    """Learns the steps from a vocabulary and does them.

    Args:
      x: [N, D].
      steps: names, in order. 'unit': rows of length 1. 'center': mean 0. 'iterative': ROUNDS
        times 'unit', then 'center', so that in the end both hold (Zhang et al. 2019, Are Girls
        Neko or Shojo?, section 4).

    Returns:
      float32 [N, D], a new array, and the steps.

    Raises:
      ValueError: an unknown name.
    """
    names = expand(steps)
    x = np.array(x, np.float32)
    done = []
    for name in names:
        done.append(_learn(x, name))
        _do(x, done[-1])
    return x, Steps(tuple(done))


def expand(steps: Sequence[str]) -> tuple[str, ...]:
    """The same steps in 'unit' and 'center' alone.

    Raises:
      ValueError: an unknown name.
    """
    if isinstance(steps, str):
        steps = (steps,)
    names: list[str] = []
    for name in steps:
        if name not in STEPS:
            raise ValueError(
                f"There is no preprocessing step {name!r}. {registry.nearest(name, STEPS)}"
            )
        names += ("unit", "center") * ROUNDS if name == "iterative" else (name,)
    return tuple(names)


def _learn(x: np.ndarray, name: str) -> Unit | Center:
    if name == "center":
        return Center(x.mean(0, dtype=np.float64).astype(np.float32))
    total = sum(float(_lengths(x[part]).sum()) for part in _parts(len(x)))
    return Unit(total / max(1, len(x)))


def _do(x: np.ndarray, step: Unit | Center) -> None:
    """In place, in pieces that stay in the processor's cache."""
    for part in _parts(len(x)):
        rows = x[part]
        if isinstance(step, Center):
            rows -= step.mean
        else:
            lengths = _lengths(rows)
            rows /= np.where(lengths > 0, lengths, 1)[:, None]


def _lengths(rows: np.ndarray) -> np.ndarray:
    # The largest entry is divided out, so that no square over- or underflows.
    top = np.abs(rows).max(1, initial=0.0)
    safe = np.where(top > 0, top, 1)[:, None]
    scaled = rows / safe
    return top * np.sqrt(np.einsum("nd,nd->n", scaled, scaled))


def _parts(count: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, count, _ROWS)]
