"""Training, from top to bottom: mesh, state, restore, compile, loop."""

from __future__ import annotations

import collections
import dataclasses
import os
import resource
import signal
import sys
import threading
import time
from typing import Any, Mapping, Sequence

from absl import logging
import jax
from jax.experimental import multihost_utils
import numpy as np

from clwe_jax.training import checkpoint, metrics, partition, train_state
from clwe_jax.training.optim import Optimizer
from clwe_jax.training.prefetch import Prefetcher, unpack
from clwe_jax.training.step import Metrics, make_step
from clwe_jax.types import Batch, BatchSource, Evaluator, Objective, Sums

_RUN_AHEAD = 2  # steps that are dispatched before the oldest of them has ended


class NonFiniteLoss(ValueError):
    """Too many steps in a row had a loss or gradient that is not finite."""


@dataclasses.dataclass
class FitResult:
    """How training ended.

    Attributes:
      state: the final state.
      step: steps done over all starts of the run.
      finished: False when a signal stopped it; starting again goes on.
      skipped: steps not applied, over all starts.
      evaluations: what the evaluators gave last, by metric path.
      train: the last logged training metrics, by metric path.
      parameters: how many.
      compile_seconds: until the training step was compiled.
      tokens_per_second, steps_per_second: of this start, without evaluation and checkpoints;
        0 when it did no step.
      step_flops: of one step as XLA counts them, over all devices; 0 where it does not tell.
      memory: bytes: 'host_peak', and 'device_peak' (first device) where the platform tells.
      failed_checkpoints: that could not be written.
    """

    state: train_state.TrainState
    step: int
    finished: bool
    skipped: int
    evaluations: dict[str, float]
    train: dict[str, float]
    parameters: int
    compile_seconds: float
    tokens_per_second: float
    steps_per_second: float
    step_flops: float
    memory: dict[str, int]
    failed_checkpoints: int


def fit(
    *,
    objective: Objective,
    optimizer: Optimizer,
    source: BatchSource,
    workdir: str,
    train_cfg: Mapping[str, Any],
    mesh_cfg: Mapping[str, int],
    checkpoint_cfg: Mapping[str, Any],
    seed: int,
    evaluators: Sequence[Evaluator] = (),
    meta: Mapping[str, Any] | None = None,
) -> FitResult:
    """Trains, or goes on training, until `train_cfg['steps']`.

    Args:
      objective: what is predicted.
      optimizer: how.
      source: this host's rows of every batch.
      workdir: the run's folder; holds checkpoints/, metrics.jsonl and tensorboard/.
      train_cfg: `config.train`: steps, batch_size, microbatches, log_every_steps, prefetch,
        max_skipped_in_row.
      mesh_cfg: `config.mesh`: sizes of data, fsdp, tensor.
      checkpoint_cfg: `config.checkpoint`: every_steps, keep, best, best_mode.
      seed: of the initial parameters and of dropout.
      evaluators: run every `every_steps` (0: never) and at the end.
      meta: JSON-able, written with every checkpoint; 'vocabulary' must not change between starts.

    Raises:
      ValueError: sizes that the mesh does not divide; a checkpoint of another model or vocabulary.
      NonFiniteLoss: `max_skipped_in_row` steps in a row were not finite.
      checkpoint.Damaged: no checkpoint of the run can be read.
    """
    meta, steps = dict(meta or {}), train_cfg["steps"]
    first_host = jax.process_index() == 0

    # Mesh.
    device_mesh = partition.make_mesh(mesh_cfg)
    partition.check_batch_size(train_cfg["batch_size"], train_cfg["microbatches"], device_mesh)
    batch = next(source)
    rows = partition.host_rows(train_cfg["batch_size"])
    if len(batch["inputs"]) != rows:
        raise ValueError(
            f"the data give {len(batch['inputs'])} rows a batch and host; "
            f"config.train.batch_size={train_cfg['batch_size']} asks for {rows}"
        )

    # State, restored where there is a checkpoint.
    tx = optimizer.build(steps)
    shapes = {
        key: jax.ShapeDtypeStruct((train_cfg["batch_size"],) + value.shape[1:], value.dtype)
        for key, value in batch.items()
    }
    target = train_state.plan(objective, tx, shapes, device_mesh, seed)
    checkpointer = checkpoint.Checkpointer(
        os.path.join(workdir, "checkpoints"),
        checkpoint_cfg["keep"],
        checkpoint_cfg["best"],
        checkpoint_cfg["best_mode"],
    )
    restored = checkpointer.restore(target, meta)
    pending = [batch]
    if restored is None:
        state = train_state.start(objective, tx, shapes, device_mesh, seed)
    else:
        state = restored.state
        if restored.data is None:
            logging.warning(
                "The checkpoint was written by another number of hosts: parameters go on from it, "
                "the data start anew."
            )
        else:
            place, pending = unpack(restored.data)
            source.set_state(place)
    first_step = int(state.step)
    parameters = train_state.count_parameters(state.params)
    logging.info(
        "%s parameters on %d %s device(s), mesh %s; %s",
        f"{parameters:,}",
        device_mesh.size,
        jax.default_backend(),
        dict(device_mesh.shape),
        f"going on from step {first_step}" if restored else "starting at step 0",
    )

    # Compile.
    stop = _StopSignal()
    writer = metrics.MetricWriter(workdir, first_step, first_host)
    progress = metrics.Progress(first_step, steps, first_host)
    prefetcher = Prefetcher(
        source, lambda b: partition.global_batch(b, device_mesh), train_cfg["prefetch"], pending
    )
    step_fn, compile_seconds = None, 0.0
    if first_step < steps:
        clock = time.perf_counter()
        step_fn = compile_step(
            objective, optimizer, steps, train_cfg["microbatches"], device_mesh, target, shapes
        )
        compile_seconds = time.perf_counter() - clock
        logging.info("the training step was compiled in %.1f s", compile_seconds)

    # Loop.
    log = _Log(steps, train_cfg, writer, progress, checkpointer)
    evaluations: dict[str, float] = {}
    step, ended = first_step, False

    def evaluate(every: bool) -> None:
        for evaluator in evaluators:
            due = evaluator.every_steps and step % evaluator.every_steps == 0
            if every or due:
                found = {}
                for name, value in evaluator.run(state.variables):
                    found[name] = float(value)
                    if stop.received:
                        return
                writer.write(step, found)
                evaluations.update(found)

    def save() -> None:
        checkpointer.save(state, prefetcher.snapshot(), meta, evaluations)

    try:
        while step < steps and not ended and not stop.at(step):
            try:
                arrays = next(prefetcher)
            except StopIteration:
                ended = True
                logging.warning("The data ended at step %d of %d.", step, steps)
                break
            with jax.transfer_guard("disallow"):
                state, step_metrics = step_fn(state, arrays)
            step += 1
            log.add(step, step_metrics)
            if step == steps:
                break
            pause = time.perf_counter()
            evaluate(every=False)
            if checkpoint_cfg["every_steps"] and step % checkpoint_cfg["every_steps"] == 0:
                save()
            log.leave_out(time.perf_counter() - pause)
        log.flush(step)
        finished = (ended or step == steps) and not stop.received
        if finished:
            evaluate(every=True)
            finished = not stop.received
        save()
        checkpointer.check(wait=True)
    finally:
        progress.close()
        prefetcher.close()
        checkpointer.close()
        writer.close()
        stop.restore()
    if not finished:
        logging.warning(
            "Stopped by %s at step %d of %d; the newest checkpoint is %s. "
            "The same command goes on from there.",
            stop.received,
            step,
            steps,
            checkpointer.newest(),
        )
    return FitResult(
        state=state,
        step=step,
        finished=finished,
        skipped=int(state.skipped),
        evaluations=evaluations,
        train=log.last,
        parameters=parameters,
        compile_seconds=compile_seconds,
        tokens_per_second=log.tokens / log.seconds if log.seconds else 0.0,
        steps_per_second=log.steps / log.seconds if log.seconds else 0.0,
        step_flops=flops(step_fn) * device_mesh.size if step_fn else 0.0,
        memory=peak_memory(),
        failed_checkpoints=checkpointer.failures,
    )


def compile_step(
    objective: Objective,
    optimizer: Optimizer,
    steps: int,
    microbatches: int,
    mesh: jax.sharding.Mesh,
    target: train_state.TrainState,
    batch: Batch,
) -> jax.stages.Compiled:
    """The compiled training step, (state, batch) -> (state, metrics); the state is donated.

    Args:
      objective, optimizer, microbatches: see `fit`.
      steps: of the whole run, which the learning rate depends on.
      mesh: may be of devices that are described only.
      target: shapes and shardings of the state, from `train_state.plan`.
      batch: shapes of a global batch.
    """
    rows = jax.sharding.NamedSharding(mesh, partition.BATCH_SPEC)
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    step = make_step(objective, optimizer.build(steps), optimizer.rate(steps), microbatches)
    batch = {
        key: jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=rows)
        for key, value in batch.items()
    }
    with partition.use(mesh):
        shardings = jax.tree.map(lambda x: x.sharding, target)
        jitted = jax.jit(step, donate_argnums=0, out_shardings=(shardings, everywhere))
        return jitted.lower(target, batch).compile()


class _Log:
    """Gathers the metrics of steps on the device and fetches them once every log_every_steps."""

    def __init__(
        self,
        steps: int,
        train: Mapping[str, Any],
        writer: metrics.MetricWriter,
        progress: metrics.Progress,
        checkpointer: checkpoint.Checkpointer,
    ):
        self._total, self._train = steps, train
        self._writer, self._progress, self._checkpointer = writer, progress, checkpointer
        self._pending: list[Metrics] = []
        self._running: collections.deque[Any] = collections.deque()
        self._start: float | None = None  # none before the first step, which is slower
        self._left_out = 0.0
        self.last: dict[str, float] = {}
        self.steps, self.tokens, self.seconds = 0, 0.0, 0.0

    def add(self, step: int, found: Metrics) -> None:
        """Takes the metrics of a step, all on the device; waits for the step before last."""
        self._pending.append(found)
        self._running.append(found["loss"].value)
        if len(self._running) > _RUN_AHEAD:
            self._running.popleft().block_until_ready()
        self._progress.advance(step)
        if step % self._train["log_every_steps"] == 0:
            self.flush(step)

    def leave_out(self, seconds: float) -> None:
        """Does not count time that training did not use."""
        self._left_out += seconds

    def flush(self, step: int) -> None:
        """Fetches, averages, writes and shows what has gathered; stops a run that diverged."""
        if not self._pending:
            return
        fetched: list[Metrics] = jax.device_get(self._pending)
        now = time.perf_counter()
        self._pending, self._running = [], collections.deque()
        worst = max(int(found["skipped_in_row"].value) for found in fetched)
        sums: dict[str, Sums] = {
            name: Sums(*(
                np.sum([getattr(found[name], part) for found in fetched], dtype=np.float64)
                for part in ("value", "weight")
            ))
            for name in fetched[0]
        }  # fmt: skip
        values = {
            f"train/{name}": float(total.value / total.weight)
            for name, total in sums.items()
            if total.weight > 0
        }
        if self._start is not None:
            seconds = max(now - self._start - self._left_out, 1e-9)
            tokens = float(sums["padding"].weight - sums["padding"].value)
            self.steps += len(fetched)
            self.tokens += tokens
            self.seconds += seconds
            speed = {
                "tokens_per_second": tokens / seconds,
                "steps_per_second": len(fetched) / seconds,
                "seconds_left": (self._total - step) * self.seconds / self.steps,
            }
            values["speed/tokens_per_second"] = speed["tokens_per_second"]
            values["speed/steps_per_second"] = speed["steps_per_second"]
            self._progress.show(step, values, speed)
        self._start, self._left_out = now, 0.0
        self._writer.write(step, values)
        self.last = values
        self._checkpointer.check()
        if worst >= self._train["max_skipped_in_row"]:
            self._checkpointer.check(wait=True)
            raise NonFiniteLoss(
                f"{worst} steps in a row up to step {step} had a loss or gradient that is not "
                f"finite and were not applied. The last good checkpoint is "
                f"{self._checkpointer.newest()}. Lower --config.optimizer.learning_rate, lengthen "
                f"--config.optimizer.warmup_steps or lower --config.optimizer.clip."
            )


class _StopSignal:
    """Turns the first SIGTERM or SIGINT into a request to stop after the step."""

    def __init__(self) -> None:
        self.received = ""
        self._old: dict[int, Any] = {}
        # The coordination service tells all hosts of one step when any of them gets SIGTERM.
        self._together = jax.process_count() > 1
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT,) if self._together else (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._handle)

    def _handle(self, number: int, frame: Any) -> None:
        del frame
        self.received = signal.Signals(number).name
        self.restore()  # a second one acts at once
        logging.warning("%s: saving and stopping after this step.", self.received)

    def at(self, step: int) -> bool:
        """Whether to stop before the next step; the same answer on all hosts."""
        if self._together and multihost_utils.reached_preemption_sync_point(step):
            self.received = "SIGTERM"
        return bool(self.received)

    def restore(self) -> None:
        """Puts the handlers back that were there."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old = {}


def flops(compiled: jax.stages.Compiled) -> float:
    """Floating-point operations of one device in one call, as XLA counts them; 0 if it does not."""
    analysis = compiled.cost_analysis() or {}
    analysis = analysis[0] if isinstance(analysis, (list, tuple)) else analysis
    return float(analysis.get("flops", 0.0))


def peak_memory() -> dict[str, int]:
    """Bytes: 'host_peak' of this process; 'device_peak' of its first device where it is known."""
    unit = 1 if sys.platform == "darwin" else 1024
    found = {"host_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    stats = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        found["device_peak"] = int(stats["peak_bytes_in_use"])
    return found
