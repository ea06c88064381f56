"""The map between two spaces that an aligner finds, and the checks that all aligners share."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from typing import Any

import numpy as np
from absl import logging

from clwe_jax.align import preprocess
from clwe_jax.types import Array

_SUFFIX = ".npz"


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment:
    """Linear maps of both sides into one space, and the preprocessing that goes before them.

    `source_map` is [D, K], `target_map` [D', K]; None leaves the target where it is (K = D').
    `info` holds what is worth reporting: numbers, strings and lists of them.
    """

    source_map: np.ndarray
    target_map: np.ndarray | None = None
    source_steps: preprocess.Steps = preprocess.NOTHING
    target_steps: preprocess.Steps = preprocess.NOTHING
    info: dict[str, Any] = dataclasses.field(default_factory=dict)

    def apply(self, x: Array) -> np.ndarray:
        """Source vectors [N, D] in the common space: float32 [N, K]."""
        return _mapped(
            self.source_steps.apply(_width(x, self.source_map, "source")), self.source_map
        )

    def apply_target(self, y: Array) -> np.ndarray:
        """Target vectors [M, D'] in the common space: float32 [M, K]."""
        like = self.source_map.T if self.target_map is None else self.target_map
        return _mapped(self.target_steps.apply(_width(y, like, "target")), self.target_map)

    def to_target_space(self, x: Array) -> np.ndarray:
        """Source vectors [N, D] among the target's vectors as they came: float32 [N, D'].

        For when the target (or words shared with it) must stay untouched. The target's map is
        inverted (a pseudo-inverse), its mean added back, and its mean length restored.
        """
        common = self.apply(x)
        if self.target_map is not None:
            inverse = np.linalg.pinv(self.target_map.astype(np.float64))
            common = common @ inverse.astype(np.float32)
        return self.target_steps.undo(common)

    def save(self, path: str) -> None:
        """Writes an .npz file, whole or not at all.

        Raises:
          ValueError: a path that does not end in .npz.
        """
        path = _checked_path(path)
        arrays: dict[str, np.ndarray] = {"source_map": self.source_map}
        if self.target_map is not None:
            arrays["target_map"] = self.target_map
        names: dict[str, list[str]] = {}
        for side, steps in (("source", self.source_steps), ("target", self.target_steps)):
            names[side] = []
            for number, step in enumerate(steps.steps):
                unit = isinstance(step, preprocess.Unit)
                names[side].append("unit" if unit else "center")
                value = np.float64(step.length) if unit else step.mean
                arrays[f"{side}_step_{number}"] = np.asarray(value)
        arrays["description"] = np.array(json.dumps({"steps": names, "info": self.info}))
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        partial = f"{path}.{os.getpid()}.partial"
        try:
            with open(partial, "wb") as file:
                np.savez(file, **arrays)
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.remove(partial)

    @classmethod
    def load(cls, path: str) -> "Alignment":
        """Reads what `save` wrote.

        Raises:
          FileNotFoundError: there is no such file.
          ValueError: the file is not an alignment; the message names it.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            description = json.loads(str(arrays["description"]))
            steps = {}
            for side, names in description["steps"].items():
                done: list[preprocess.Unit | preprocess.Center] = []
                for number, name in enumerate(names):
                    value = arrays[f"{side}_step_{number}"]
                    unit = name == "unit"
                    done.append(preprocess.Unit(float(value)) if unit else preprocess.Center(value))
                steps[side] = preprocess.Steps(tuple(done))
            return cls(
                source_map=arrays["source_map"],
                target_map=arrays.get("target_map"),
                source_steps=steps["source"],
                target_steps=steps["target"],
                info=description["info"],
            )
        except (KeyError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} is not an alignment ({error}): expected an .npz file written by "
                "Alignment.save; align again to make one"
            ) from error


def check_vectors(source: Array, target: Array, one_width: bool = True) -> None:
    """What every aligner asks of the two vocabularies.

    Args:
      source: [N, D].
      target: [M, D'].
      one_width: whether D and D' must be the same.

    Raises:
      ValueError: not matrices, no rows, unlike widths, entries that are not finite, or a side
        whose vectors are all equal.
    """
    for side, x in (("source", source), ("target", target)):
        if np.ndim(x) != 2 or not np.size(x):
            raise ValueError(
                f"Expected the {side} vectors as a matrix [words, dimensions] with at least one "
                f"of each; got shape {np.shape(x)}"
            )
    if one_width and source.shape[1] != target.shape[1]:
        raise ValueError(
            f"The vectors differ in width: source {source.shape[1]}, target {target.shape[1]}. "
            "This aligner needs one width; least_squares and geomm map between different ones"
        )
    for side, x in (("source", source), ("target", target)):
        x = np.asarray(x)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(x.sum(1, dtype=np.float64))
        if not finite.all():
            bad = np.flatnonzero(~finite)
            raise ValueError(
                f"{len(bad)} of the {len(x)} {side} vectors have entries that are not finite "
                f"numbers, the first in row {bad[0]}; leave these words out"
            )
        if len(x) > 1 and (x[1] == x[0]).all() and (x == x[0]).all():
            raise ValueError(
                f"All {len(x)} {side} vectors are equal: nothing tells the words apart. "
                "Was their training or their file cut short?"
            )


def check_pairs(pairs: Array | None, source: Array, target: Array, aligner: str) -> np.ndarray:
    """The training dictionary of a supervised aligner.

    Warns when there are fewer different words than dimensions, which leaves the map
    under-determined.

    Args:
      pairs: integers [P, 2], a row of `source` and a row of `target` each.
      source: [N, D].
      target: [M, D'].
      aligner: its name, for messages.

    Returns:
      int64 [P, 2].

    Raises:
      ValueError: no pairs, not pairs of integers, or rows that do not exist.
    """
    if pairs is None or not np.size(pairs):
        raise ValueError(
            f"{aligner} learns from a dictionary, and no pair of it has both words among the "
            f"{len(source)} source and {len(target)} target words. Check languages, direction and "
            "case of the dictionary, or align without one: self_learning or adversarial"
        )
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(
            f"Expected pairs as integers [P, 2]; got {pairs.dtype} of shape {pairs.shape}"
        )
    pairs = pairs.astype(np.int64)
    for column, (side, count) in enumerate((("source", len(source)), ("target", len(target)))):
        bad = np.flatnonzero((pairs[:, column] < 0) | (pairs[:, column] >= count))
        if len(bad):
            raise ValueError(
                f"Pair {bad[0]} asks for row {pairs[bad[0], column]} of the {side} vectors, which "
                f"have rows 0 to {count - 1} ({len(bad)} such pairs)"
            )
    words = min(len(np.unique(pairs[:, 0])), len(np.unique(pairs[:, 1])))
    width = max(source.shape[1], target.shape[1])
    if words < width:
        logging.warning(
            "%s: %d different words in the dictionary for %d dimensions: the map is "
            "under-determined; use a larger dictionary or refinement rounds",
            aligner,
            words,
            width,
        )
    return pairs


def _checked_path(path: str) -> str:
    path = os.fspath(path)
    if not path.endswith(_SUFFIX):
        raise ValueError(f"An alignment is written as an {_SUFFIX} file; got {path}")
    return path


def _width(x: Array, matrix: np.ndarray, side: str) -> Array:
    if np.ndim(x) != 2 or np.shape(x)[1] != matrix.shape[0]:
        raise ValueError(
            f"This alignment maps {side} vectors [N, {matrix.shape[0]}]; got {np.shape(x)}"
        )
    return x


def _mapped(x: np.ndarray, matrix: np.ndarray | None) -> np.ndarray:
    return x if matrix is None else x @ matrix.astype(np.float32, copy=False)
