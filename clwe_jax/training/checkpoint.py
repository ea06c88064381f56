"""Checkpoints: asynchronous, atomic, in separate items, restorable on another mesh.

A checkpoint has the items `params`, `opt_state`, one for each further collection (`senses`, ...),
`data` (every host's position in its data) and `meta` (JSON: counters, sizes, entries of the job).
"""

from __future__ import annotations

import dataclasses
import glob
import math
import os
import shutil
from typing import Any, Callable, Mapping, Sequence

from absl import logging
import jax
from jax.experimental import multihost_utils
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint import checkpoint_managers as policies

from clwe_jax.options.training import CheckpointOptions
from clwe_jax.training import orbax_extras, paths
from clwe_jax.training.orbax_extras import BytesRestore, BytesSave, flat, quiet, sizes, unflat
from clwe_jax.training.train_state import TrainState


class Damaged(OSError):
    """No checkpoint of a folder can be read."""


@dataclasses.dataclass
class Restored:
    """The contents of a checkpoint.

    Attributes:
      state: arrays, with the target's shardings.
      data: this host's bytes; None where another number of hosts wrote the checkpoint.
    """

    state: TrainState
    data: bytes | None
    meta: dict[str, Any]


class Checkpointer:
    """Saves and restores the checkpoints of a run.

    Attributes:
      directory: WORKDIR/checkpoints.
      failures: number of checkpoints of this session that could not be written.
    """

    def __init__(self, directory: str, options: CheckpointOptions = CheckpointOptions()):
        """Opens (and makes) the folder, and removes the remains of an interrupted save.

        Args:
          options: what stays; `every_steps` is not read.
        """
        self.directory = os.path.abspath(directory)
        self.failures = 0
        best, mode = options.best, options.best_mode
        self._best = best
        # Checkpoints from before a change of `best` have another metric.
        worst = math.inf if mode == "min" else -math.inf
        score = lambda metrics: metrics.get(best, worst)
        latest = policies.LatestN(max(options.keep, 1))
        top = policies.BestN(
            get_metric_fn=score, reverse=mode == "min", n=1, keep_checkpoints_without_metrics=False
        )
        self._options = ocp.CheckpointManagerOptions(
            preservation_policy=policies.AnyPreservationPolicy([latest, top] if best else [latest]),
            best_fn=score if best else None,
            best_mode=mode,
            enable_async_checkpointing=True,
        )
        self._saving: int | None = None
        quiet()
        try:
            os.makedirs(self.directory, exist_ok=True)
        except OSError as error:
            raise OSError(
                f"the folder for checkpoints cannot be made: {error}. Give another --workdir=DIR."
            ) from error
        self._remove_unfinished()
        self._manager = ocp.CheckpointManager(self.directory, options=self._options)

    def _remove_unfinished(self) -> None:
        """Removes the files of interrupted saves."""
        if jax.process_index() == 0:
            for folder in glob.glob(os.path.join(glob.escape(self.directory), f"*{_UNFINISHED}*")):
                shutil.rmtree(folder, ignore_errors=True)
        _all_hosts(True)

    def steps(self) -> list[int]:
        """The steps that have a complete checkpoint, oldest first."""
        return complete_steps(self.directory)

    def newest(self) -> str:
        """Path of the newest complete checkpoint, or 'none', for messages."""
        steps = self.steps()
        return os.path.join(self.directory, str(steps[-1])) if steps else "none"

    def save(
        self,
        state: TrainState,
        data: bytes,
        meta: Mapping[str, Any],
        metrics: Mapping[str, float] | None = None,
    ) -> bool:
        """Starts a save: copies the arrays before it returns, and writes the files in the background.

        A failure (full disk, folder gone) is logged and counted; training goes on.

        Args:
          data: this host's position in the data.
          meta: entries of the item `meta`, JSON-able; counters and sizes are added.
          metrics: metrics by path; the one that `best` names is kept with the checkpoint.

        Returns:
          False where the save has already failed.
        """
        step = int(state.step)
        self.check(wait=True)
        if step in self.steps():
            return True
        counters = {x: np.asarray(jax.device_get(getattr(state, x))).tolist() for x in _COUNTERS}
        items = {
            "params": ocp.args.StandardSave(state.params),
            "opt_state": ocp.args.StandardSave(flat(state.opt_state)),
            "data": BytesSave(data),
            "meta": ocp.args.JsonSave({**meta, **counters, "sizes": sizes(state.params)}),
        }
        items |= {x: ocp.args.StandardSave(tree) for x, tree in state.collections.items()}
        scores = {self._best: metrics[self._best]} if self._best in (metrics or {}) else None
        try:
            self._remove_unfinished()
            self._probe(state)
            self._manager.save(step, args=ocp.args.Composite(**items), metrics=scores, force=True)
        except Exception as error:  # losing this save is better than ending the run
            self._note_failure(step, error)
            return False
        self._saving = step
        return True

    def _probe(self, state: TrainState) -> None:
        """Raises OSError, on all hosts, where the folder cannot be written or its disk has no room.

        Orbax itself takes minutes to give up on a folder that cannot be written.
        """
        problem = None
        if jax.process_index() == 0:
            probe = os.path.join(self.directory, ".probe")
            try:
                os.makedirs(probe, exist_ok=True)
                os.rmdir(probe)
                need = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
                free = shutil.disk_usage(self.directory).free
                if free < need:
                    problem = OSError(f"{need:,} bytes are needed and {free:,} free on its disk")
            except OSError as error:
                problem = error
        # Orbax waits for all hosts, so that none may save without the first one.
        if not _all_hosts(problem is None):
            raise problem or OSError("the first host cannot write it")

    def check(self, wait: bool = False) -> None:
        """Reports a save that failed in the background; with `wait` it waits for its end."""
        if self._saving is None or not (wait or not self._manager.is_saving_in_progress()):
            return
        step, self._saving = self._saving, None
        try:
            self._manager.wait_until_finished()
            self._manager.check_for_errors()
        except Exception as error:
            self._note_failure(step, error)

    def check_last(self, step: int) -> None:
        """Waits for the save of a training's last step.

        Raises:
          OSError: it could not be written, so that the training's result is in no file.
        """
        self.check(wait=True)
        if step not in self.steps():
            raise OSError(
                f"the last checkpoint, of step {step}, could not be written to {self.directory} "
                "(the log says why): make room and repeat the command, which resumes from the newest "
                f"checkpoint: {self.newest()}"
            )

    def close(self) -> None:
        """Waits for the last save and closes the folder."""
        self.check(wait=True)
        self._manager.close()

    def _note_failure(self, step: int, error: Exception) -> None:
        self.failures += 1
        logging.error(
            "The checkpoint of step %d could not be written: %r. Training goes on; the newest good "
            "checkpoint is %s. If its disk is full or cannot be written, mend that for the next one.",
            step,
            error,
            self.newest(),
        )
        try:  # a manager that failed once reports that failure at every later call
            self._manager = ocp.CheckpointManager(self.directory, options=self._options)
        except OSError as again:
            logging.error("%s", again)

    def restore(
        self, target_of: Callable[[int], TrainState], meta: Mapping[str, Any]
    ) -> Restored | None:
        """The newest readable checkpoint; None where the folder has no checkpoint.

        A damaged checkpoint is moved to `checkpoints_damaged`, with an error in the log; one that does not
        fit, or that memory or disk cannot read now, stays.

        Args:
          target_of: step of a checkpoint -> its state as ShapeDtypeStructs with shardings.
          meta: the run's meta; its 'vocabulary' must equal the checkpoint's, where both have one.

        Raises:
          Mismatch: the checkpoint belongs to another model, vocabulary or dictionary.
          Damaged: the folder has checkpoints, and none can be read.
          OSError: a checkpoint cannot be read now.
        """
        steps = self.steps()
        for step in reversed(steps):
            problem = None
            target = target_of(step)
            folder = os.path.join(self.directory, str(step))
            try:
                args = ocp.args.Composite(meta=ocp.args.JsonRestore())
                record = self._manager.restore(step, args=args).meta
                check_match(record, target.params, meta, folder)
                for name, tree in {"opt_state": target.opt_state, **target.collections}.items():
                    place = os.path.join(folder, name)
                    _check_sizes(sizes(orbax_extras.saved_arrays(place)), sizes(tree), place)
                result = self._read(step, target, record)
            except Mismatch:
                raise
            except Exception as error:  # a damaged file raises many kinds of error
                problem = error
            if _all_hosts(problem is None):
                return result
            if not _all_hosts(not orbax_extras.may_pass(problem)):
                raise OSError(
                    f"{folder} could not be read now: {problem}. It stays where it is: repeat the command "
                    "when memory is free and the disk can be read"
                ) from problem
            logging.error("%s is damaged: %s. Falling back to the one before.", folder, problem)
            self._set_aside(step)
        if steps:
            raise Damaged(
                f"no checkpoint in {self.directory} can be read (tried {steps}); they now lie in "
                f"{self.directory}_damaged. Start again to train from the beginning."
            )
        return None

    def _read(self, step: int, target: TrainState, meta: dict[str, Any]) -> Restored:
        # With the target's shardings: the saved ones name devices that may be absent now.
        items = {
            "params": ocp.args.StandardRestore(target.params),
            "opt_state": ocp.args.StandardRestore(flat(target.opt_state)),
            "data": BytesRestore(),
        }
        items |= {x: ocp.args.StandardRestore(tree) for x, tree in target.collections.items()}
        contents = self._manager.restore(step, args=ocp.args.Composite(**items))

        def counter(name: str) -> jax.Array:
            like = getattr(target, name)
            return jax.device_put(np.asarray(meta[name], like.dtype), like.sharding)

        state = TrainState(
            params=contents.params,
            opt_state=unflat(contents.opt_state, target.opt_state),
            collections={name: contents[name] for name in target.collections},
            **{name: counter(name) for name in _COUNTERS},
        )
        return Restored(state, contents.data, meta)

    def _set_aside(self, step: int) -> None:
        if jax.process_index() == 0:
            folder = f"{self.directory}_damaged"
            os.makedirs(folder, exist_ok=True)
            number = 0
            while os.path.exists(aside := os.path.join(folder, f"{step}.{number}")):
                number += 1
            os.replace(os.path.join(self.directory, str(step)), aside)
        _all_hosts(True)
        self._manager.reload()


class Mismatch(ValueError):
    """The arrays or the vocabulary do not fit this model."""


_UNFINISHED = ".orbax-checkpoint-tmp"
_COUNTERS = ("step", "seed", "skipped", "skipped_in_row")
_MEND = "Give the run's options, dictionaries and test sets, or a new folder with --workdir=DIR."


def check_match(saved: Mapping[str, Any], params: Any, meta: Mapping[str, Any], where: str) -> None:
    """Raises Mismatch where the checkpoint `where` belongs to another model or vocabulary."""
    if "vocabulary" in meta and saved.get("vocabulary", meta["vocabulary"]) != meta["vocabulary"]:
        raise Mismatch(
            f"{where} was trained with another vocabulary (fingerprint {saved['vocabulary']}, "
            f"this one has {meta['vocabulary']}). {_MEND}"
        )
    _check_sizes(saved["sizes"], sizes(params), where)


def _check_sizes(theirs: Mapping[str, Any], ours: Mapping[str, Any], where: str) -> None:
    """Raises Mismatch where the shapes in the file `where` are not those of the model."""
    lines = [
        f"{key}: {theirs.get(key, 'absent')} in the checkpoint, "
        f"{ours.get(key, 'absent')} in the model"
        for key in sorted(set(theirs) | set(ours))
        if theirs.get(key) != ours.get(key)
    ]
    if lines:
        raise Mismatch(f"{where} was written by another model:{paths.list_lines(lines)}\n{_MEND}")


def _all_hosts(good: bool) -> bool:
    if jax.process_count() == 1:
        return good
    return bool(multihost_utils.process_allgather(np.asarray(good)).all())


def complete_steps(directory: str) -> list[int]:
    """Steps of the complete checkpoints in a folder, oldest first; [] where it is absent."""
    if not os.path.isdir(directory):
        return []
    return sorted(int(name) for name in os.listdir(directory) if name.isdigit())


def restore_variables(
    workdir: str,
    target: Any | None = None,
    step: int | None = None,
    collections: Sequence[str] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and further collections of a trained model; the folder is not changed.

    Args:
      workdir: the run's folder.
      target: ShapeDtypeStructs (with shardings) like the parameters; None: on the first device.
      step: step of the checkpoint; None: the newest readable one.
      collections: names of collections; the ones in the checkpoint are restored, on the first
        device, as nested dicts.

    Returns:
      'params' and the collections; the checkpoint's meta.

    Raises:
      FileNotFoundError: the folder has no checkpoint (of that step).
      Mismatch: the checkpoint's parameters differ from `target`.
      Damaged: no checkpoint can be read.
    """
    directory = os.path.join(os.path.abspath(workdir), "checkpoints")
    steps = complete_steps(directory)
    if not steps or (step is not None and step not in steps):
        label = "checkpoint" if step is None else f"checkpoint of step {step}"
        hint = f" It has steps {steps}." if steps else " Train first, or check the path."
        raise FileNotFoundError(f"{directory} has no {label}.{hint}")
    quiet()
    options = ocp.CheckpointManagerOptions(read_only=True)
    problems = []
    with ocp.CheckpointManager(directory, options=options) as manager:
        for candidate in [step] if step is not None else reversed(steps):
            folder = os.path.join(directory, str(candidate))
            try:
                args = ocp.args.Composite(meta=ocp.args.JsonRestore())
                meta = manager.restore(candidate, args=args).meta
                if target is not None:
                    check_match(meta, target, {}, folder)
                items = {name: os.path.join(folder, name) for name in ("params", *collections)}
                likes = {
                    x: orbax_extras.saved_arrays(y) for x, y in items.items() if os.path.isdir(y)
                }
                likes["params"] = likes["params"] if target is None else target
                args = {name: ocp.args.StandardRestore(like) for name, like in likes.items()}
                restored = manager.restore(candidate, args=ocp.args.Composite(**args))
                return {name: restored[name] for name in args}, meta
            except Mismatch:
                raise
            except Exception as error:
                problems.append(f"step {candidate}: {error}")
                logging.error("A checkpoint in %s is damaged: %s", directory, problems[-1])
    raise Damaged(f"no checkpoint in {directory} can be read: {'; '.join(problems)}")
