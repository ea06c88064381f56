"""Training, from top to bottom: mesh, state, restore, compile, loop."""

from __future__ import annotations

import dataclasses
import os
import resource
import sys
import time
from typing import Any, Mapping, Sequence

from absl import logging
import jax

from clwe_jax.training import checkpoint, metrics, partition, train_state
from clwe_jax.training.flops import matrix_flops
from clwe_jax.training.optim import Optimizer
from clwe_jax.training.prefetch import Prefetcher, unpack
from clwe_jax.training.step import make_step
from clwe_jax.training.step_log import StepLog
from clwe_jax.training.stop import StopSignal
from clwe_jax.types import (
    SHARED_KEYS,
    Batch,
    BatchSource,
    Evaluator,
    Objective,
    Variables,
)


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
      step_flops: of one step's matrix products, over all devices (`flops.matrix_flops`); 0 where
        no step was taken.
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
      step_log.NonFiniteLoss: `max_skipped_in_row` steps in a row were not finite.
      checkpoint.Damaged: no checkpoint of the run can be read.
    """
    meta, steps, microbatches = dict(meta or {}), train_cfg["steps"], train_cfg["microbatches"]
    first_host = jax.process_index() == 0

    # Mesh.
    device_mesh = partition.make_mesh(mesh_cfg)
    partition.check_batch_size(train_cfg["batch_size"], microbatches, device_mesh)
    batch = next(source)
    rows = partition.host_rows(train_cfg["batch_size"])
    found = next(len(value) for key, value in batch.items() if key not in SHARED_KEYS)
    if found != rows:
        raise ValueError(
            f"the data give {found} rows a batch and host; "
            f"config.train.batch_size={train_cfg['batch_size']} asks for {rows}"
        )

    # State, restored where there is a checkpoint.
    tx = optimizer.build(steps)
    shapes = {
        key: jax.ShapeDtypeStruct(
            (jax.process_count() * len(value),) + value.shape[1:], value.dtype
        )
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
    stop = StopSignal()
    writer = metrics.MetricWriter(workdir, first_step, first_host)
    progress = metrics.Progress(first_step, steps, first_host)
    prefetcher = Prefetcher(
        source, lambda b: partition.global_batch(b, device_mesh), train_cfg["prefetch"], pending
    )
    step_fn, step_flops, compile_seconds = None, 0.0, 0.0
    if first_step < steps:
        clock = time.perf_counter()
        traced = trace_step(objective, optimizer, steps, microbatches, device_mesh, target, shapes)
        step_flops = matrix_flops(traced.jaxpr)
        step_fn = traced.lower().compile()
        compile_seconds = time.perf_counter() - clock
        logging.info("the training step was compiled in %.1f s", compile_seconds)

    # Loop.
    log = StepLog(steps, train_cfg, writer, progress, checkpointer)
    evaluations: dict[str, float] = {}
    step, ended = first_step, False

    def is_due(every_steps: int) -> bool:
        return bool(every_steps) and step % every_steps == 0

    def evaluate(due: Sequence[Evaluator]) -> None:
        variables = local_variables(state) if due else {}
        for evaluator in due:
            found = {}
            for name, value in evaluator.run(variables):
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
            due = [evaluator for evaluator in evaluators if is_due(evaluator.every_steps)]
            if due or is_due(checkpoint_cfg["every_steps"]):
                with log.pause(step_metrics):
                    evaluate(due)
                    if is_due(checkpoint_cfg["every_steps"]):
                        save()
        log.flush(step)
        finished = (ended or step == steps) and not stop.received
        if finished:
            evaluate(evaluators)
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
        step_flops=step_flops,
        memory=peak_memory(),
        failed_checkpoints=checkpointer.failures,
    )


def trace_step(
    objective: Objective,
    optimizer: Optimizer,
    steps: int,
    microbatches: int,
    mesh: jax.sharding.Mesh,
    target: train_state.TrainState,
    batch: Batch,
) -> jax.stages.Traced:
    """The traced training step, (state, batch) -> (state, metrics); the state is donated.

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
        return jitted.trace(target, batch)


def local_variables(state: train_state.TrainState) -> Variables:
    """The variables for this host to compute with alone, whatever they are spread over."""
    if jax.process_count() == 1:
        return state.variables
    mesh = state.step.sharding.mesh
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    whole = jax.jit(_same, out_shardings=everywhere)(state.variables)
    return jax.tree.map(lambda x: x.addressable_data(0), whole)


def _same(variables: Variables) -> Variables:
    return variables


def peak_memory() -> dict[str, int]:
    """Bytes: 'host_peak' of this process; 'device_peak' of its first device where it is known."""
    unit = 1 if sys.platform == "darwin" else 1024
    found = {"host_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    stats = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        found["device_peak"] = int(stats["peak_bytes_in_use"])
    return found
