"""Preprocessing of vectors before alignment: unit length, centering, both in turns.

Steps are learned from one vocabulary and apply unchanged to other vectors of the same space.
"""

from __future__ import annotations

import dataclasses
from typing import Sequence

import numpy as np

from clwe_jax.options import section
from clwe_jax.types import Array

STEPS = ("unit", "center", "iterative")
ROUNDS = 5  # of iterative normalisation; both conditions hold closely after them
_ROWS = 16_384  # rows of a piece, which stays in the processor's cache


@dataclasses.dataclass(frozen=True, eq=False)
class Unit:
    """Scales rows to length 1; rows of zeros stay zero."""

    length: float  # mean length of the vocabulary's rows


@dataclasses.dataclass(frozen=True, eq=False)
class Center:
    """Subtracts the mean of the vocabulary."""

    mean: np.ndarray  # float32 [D]


@dataclasses.dataclass(frozen=True, eq=False)
class Steps:
    """Preprocessing steps in their order."""

    steps: tuple[Unit | Center, ...] = ()

    def apply(self, x: Array) -> np.ndarray:
        """Applies all steps to vectors [N, D]: float32 [N, D]."""
        x = np.array(x, np.float32)
        for step in self.steps:
            _do(x, step)
        return x

    def undo(self, x: Array) -> np.ndarray:
        """Inverts `apply` for vectors [N, D]: float32 [N, D].

        Centering is inverted exactly. The length of a single word is lost: every row is scaled by
        the mean length of the vocabulary.
        """
        x = np.array(x, np.float32)
        for step in reversed(self.steps):
            if isinstance(step, Unit):
                x *= np.float32(step.length)
            else:
                x += step.mean
        return x


def fit(x: Array, steps: Sequence[str]) -> tuple[np.ndarray, Steps]:
    """Learns the steps from a vocabulary and applies them.

    Args:
      x: vectors, [N, D].
      steps: names, in order. 'unit': rows of length 1. 'center': mean 0. 'iterative': ROUNDS
        times 'unit' and 'center', after which both hold (Zhang et al. 2019, Are Girls Neko or
        Shojo?, section 4).

    Returns:
      Preprocessed vectors, a new float32 [N, D], and the steps.

    Raises:
      ValueError: an unknown name.
    """
    names = expand(steps)
    x = np.array(x, np.float32)
    learned_steps = []
    for name in names:
        learned_steps.append(_learn(x, name))
        _do(x, learned_steps[-1])
    return x, Steps(tuple(learned_steps))


def expand(steps: Sequence[str]) -> tuple[str, ...]:
    """Writes steps as a sequence of 'unit' and 'center'.

    Raises:
      ValueError: an unknown name.
    """
    if isinstance(steps, str):
        steps = (steps,)
    names: list[str] = []
    for name in steps:
        if name not in STEPS:
            raise ValueError(f"Unknown preprocessing step {name!r}. {section.nearest(name, STEPS)}")
        names += ("unit", "center") * ROUNDS if name == "iterative" else (name,)
    return tuple(names)


def _learn(x: np.ndarray, name: str) -> Unit | Center:
    if name == "center":
        # Along the first axis NumPy adds row by row, which loses digits in float32.
        return Center(x.mean(0, dtype=np.float64).astype(np.float32))
    total = sum(float(_lengths(x[part]).sum()) for part in _parts(len(x)))
    return Unit(total / max(1, len(x)))


def _do(x: np.ndarray, step: Unit | Center) -> None:
    """Applies a step in place."""
    for part in _parts(len(x)):
        rows = x[part]
        if isinstance(step, Center):
            rows -= step.mean
        else:
            lengths = _lengths(rows)
            rows /= np.where(lengths > 0, lengths, 1)[:, None]


def _lengths(rows: np.ndarray) -> np.ndarray:
    # Dividing by the largest entry keeps squares from over- and underflowing.
    top = np.abs(rows).max(1, initial=0.0)
    safe = np.where(top > 0, top, 1)[:, None]
    scaled = rows / safe
    return top * np.sqrt(np.einsum("nd,nd->n", scaled, scaled))


def _parts(count: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, count, _ROWS)]
