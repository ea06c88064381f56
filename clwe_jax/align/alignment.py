"""The map that an aligner finds between two spaces, and the checks that all aligners share."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from typing import Any, Protocol, Sequence

from absl import logging
import numpy as np

from clwe_jax import atomic
from clwe_jax.align import preprocess
from clwe_jax.types import Array


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment:
    """Preprocessing steps and linear maps that bring both sides into one space.

    Attributes:
      source_map: float32 [D, K].
      target_map: float32 [D', K]; None: the target is not mapped, K = D'.
      source_steps, target_steps: preprocessing steps before the maps.
      info: facts of the training, serialisable as JSON.
    """

    source_map: np.ndarray
    target_map: np.ndarray | None = None
    source_steps: preprocess.Steps = preprocess.Steps()
    target_steps: preprocess.Steps = preprocess.Steps()
    info: dict[str, Any] = dataclasses.field(default_factory=dict)

    def apply(self, x: Array) -> np.ndarray:
        """Maps source vectors [N, D] into the common space: float32 [N, K]."""
        _check_width(x, len(self.source_map), "source")
        return _apply_matrix(self.source_steps.apply(x), self.source_map)

    def apply_target(self, y: Array) -> np.ndarray:
        """Maps target vectors [M, D'] into the common space: float32 [M, K]."""
        width = self.source_map.shape[1] if self.target_map is None else len(self.target_map)
        _check_width(y, width, "target")
        return _apply_matrix(self.target_steps.apply(y), self.target_map)

    def to_target_space(self, x: Array) -> np.ndarray:
        """Maps source vectors [N, D] into the original target space: float32 [N, D'].

        Use it where the target, or words shared with it, must not change. It applies the
        pseudo-inverse of the target's map and inverts the target's steps.
        """
        common = self.apply(x)
        if self.target_map is not None:
            inverse = np.linalg.pinv(self.target_map.astype(np.float64))
            common = common @ inverse.astype(np.float32)
        return self.target_steps.undo(common)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an .npz file."""
        arrays: dict[str, np.ndarray] = {"source_map": self.source_map}
        if self.target_map is not None:
            arrays["target_map"] = self.target_map
        names: dict[str, list[str]] = {}
        for side, steps in (("source", self.source_steps), ("target", self.target_steps)):
            names[side] = []
            for number, step in enumerate(steps.steps):
                unit = isinstance(step, preprocess.Unit)
                names[side].append("unit" if unit else "center")
                arrays[f"{side}_step_{number}"] = np.asarray(step.length if unit else step.mean)
        arrays["description"] = np.array(json.dumps({"steps": names, "info": self.info}))
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with atomic.writing(path) as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Alignment":
        """Reads a file that `save` wrote.

        Raises:
          FileNotFoundError: the file does not exist.
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
        except (KeyError, ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} is not an alignment ({error}): expected an .npz file written by "
                "Alignment.save; align again to make one"
            ) from error


class Aligner(Protocol):
    """A method of alignment; its options are the fields of a frozen dataclass."""

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> Alignment:
        """Learns the map between two spaces.

        Args:
          source: source vectors [N, D], most frequent word first.
          target: target vectors [M, D'], most frequent word first.
          pairs: training dictionary, integers [P, 2]: a row of `source` and a row of `target` each;
            None only for an aligner that needs none (`AlignerOptions.needs_pairs`).

        Returns:
          The alignment; its `info` has 'aligner', the name, and 'pairs', a list of the sizes of
          the dictionaries, if the aligner has any.

        Raises:
          ValueError: options out of range, or input that `prepare` refuses.
        """


def seed_argument(aligner: type, seed: int) -> dict[str, int]:
    """The argument `seed` of an aligner that draws numbers; none of others."""
    return {"seed": seed} if "seed" in {x.name for x in dataclasses.fields(aligner)} else {}


Steps = tuple[preprocess.Steps, preprocess.Steps]


def prepare(
    aligner: str,
    source: Array,
    target: Array,
    pairs: Array | None,
    steps: Sequence[str],
    *,
    dictionary: bool = True,
    equal_widths: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, Steps]:
    """Checks and preprocesses the input of an aligner.

    Warns when the pairs hold fewer different words than the vectors have dimensions, which
    leaves the map under-determined.

    Args:
      aligner: name of the aligner, for messages.
      source, target, pairs: as of `Aligner.fit`.
      steps: names of preprocessing steps: 'unit', 'center' or 'iterative'.
      dictionary: whether the aligner learns from `pairs`; where False they are ignored.
      equal_widths: whether D and D' must be equal.

    Returns:
      Preprocessed source vectors float32 [N, D] and target vectors float32 [M, D'], pairs int64
      [P, 2] or None, and the learned steps of both sides.

    Raises:
      ValueError: vectors that are not matrices, have no rows, are not finite, or are all equal;
        different widths although `equal_widths`; no pairs, pairs that are not integers, or pairs of
        rows that do not exist; an unknown step.
    """
    _check_vectors(source, target, equal_widths)
    pairs = _check_pairs(pairs, source, target, aligner) if dictionary else None
    x, source_steps = preprocess.fit(source, steps)
    y, target_steps = preprocess.fit(target, steps)
    return x, y, pairs, (source_steps, target_steps)


def _check_vectors(source: Array, target: Array, equal_widths: bool) -> None:
    for side, x in (("source", source), ("target", target)):
        if np.ndim(x) != 2 or not np.size(x):
            raise ValueError(
                f"Expected the {side} vectors as a matrix [words, dimensions] with at least one "
                f"of each; got shape {np.shape(x)}"
            )
    if equal_widths and source.shape[1] != target.shape[1]:
        raise ValueError(
            f"The vectors differ in width: source {source.shape[1]}, target {target.shape[1]}. "
            "This aligner needs one width; least_squares and geomm map between different ones"
        )
    for side, x in (("source", source), ("target", target)):
        x = np.asarray(x)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(x.sum(1, dtype=np.float64))
        if not finite.all():
            bad_rows = np.flatnonzero(~finite)
            raise ValueError(
                f"{len(bad_rows)} of the {len(x)} {side} vectors have entries that are not finite "
                f"numbers, the first in row {bad_rows[0]}; leave these words out"
            )
        # Nearly always two rows differ, which spares the comparison of all.
        if len(x) > 1 and (x[1] == x[0]).all() and (x == x[0]).all():
            raise ValueError(
                f"All {len(x)} {side} vectors are equal, so that no map can be learned. Was their "
                "training or their file cut short?"
            )


def _check_pairs(pairs: Array | None, source: Array, target: Array, aligner: str) -> np.ndarray:
    if pairs is None or not np.size(pairs):
        raise ValueError(
            f"{aligner} learns from a dictionary, and no pair has both words among the "
            f"{len(source)} source and {len(target)} target words: check its direction and case, "
            "or align by self_learning or adversarial"
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
                f"Pair {bad[0]} names row {pairs[bad[0], column]} of the {side} vectors, which "
                f"have rows 0 to {count - 1} ({len(bad)} such pairs)"
            )
    words = min(len(np.unique(pairs[:, 0])), len(np.unique(pairs[:, 1])))
    width = max(source.shape[1], target.shape[1])
    if words < width:
        logging.warning(
            "%s: the map of %d dimensions is under-determined: the %s pairs of the dictionary whose words "
            "both have vectors hold only %d different words. Vectors of more words, a larger dictionary or "
            "refinement rounds mend it",
            aligner,
            width,
            f"{len(pairs):,}",
            words,
        )
    return pairs


def _check_width(x: Array, width: int, side: str) -> None:
    if np.ndim(x) != 2 or np.shape(x)[1] != width:
        raise ValueError(f"This alignment maps {side} vectors [N, {width}]; got {np.shape(x)}")


def _apply_matrix(x: np.ndarray, matrix: np.ndarray | None) -> np.ndarray:
    return x if matrix is None else x @ matrix.astype(np.float32, copy=False)
