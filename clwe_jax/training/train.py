"""The training loop, from the mesh and the restored state to the result."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from typing import Any, Mapping, Sequence

from absl import logging
import jax

from clwe_jax.options.training import CheckpointOptions, MeshOptions, TrainOptions
from clwe_jax.training import checkpoint, init, metrics, partition, phases as phases_of, train_state
from clwe_jax.training.best_metric import BestMetric
from clwe_jax.training.compiled_steps import CompiledSteps
from clwe_jax.training.optim import Optimizer
from clwe_jax.training.prefetch import Prefetcher, unpack
from clwe_jax.training.step_log import StepLog
from clwe_jax.training.stop import StopSignal
from clwe_jax.types import SHARED_KEYS, Batch, BatchSource, Objective, TrainingEvaluator, Variables

# What a checkpoint's meta tells the next start.
_KEPT = ("initial", "first_loss", "train", "unmeasured")


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """The options of a training; `seed` is that of the initial parameters and of dropout."""

    train: TrainOptions
    mesh: MeshOptions
    checkpoint: CheckpointOptions
    seed: int


@dataclasses.dataclass(frozen=True)
class FitResult:
    """The result of training.

    Attributes:
      step: number of steps, over all starts of the run.
      finished: False where a signal stopped the run; the same command resumes it. True also where the data
        ended before the last step.
      skipped: number of steps that were not applied, over all starts.
      evaluations: the evaluators' last figures, by metric path.
      train: the last logged training metrics, by metric path, over all starts.
      initial: the record of `init.Initial.apply_to`; None where initialisers made all parameters.
      compile_seconds: time of compiling the training step.
      tokens_per_second, steps_per_second: speed of this start, without evaluation and checkpoints;
        0 where it took no step.
      step_flops: FLOPs of one step's matrix products, over all devices (`flops.matrix_flops`); 0
        where no step was taken.
      failed_checkpoints: number of checkpoints that could not be written.
    """

    state: train_state.TrainState
    step: int
    finished: bool
    skipped: int
    evaluations: dict[str, float]
    train: dict[str, float]
    parameters: int
    initial: dict[str, Any] | None
    compile_seconds: float
    tokens_per_second: float
    steps_per_second: float
    step_flops: float
    failed_checkpoints: int


def check_steps(workdir: str, steps: int) -> None:
    """Raises ValueError where the checkpoints in a folder have more steps than its options ask for."""
    done = checkpoint.complete_steps(os.path.join(workdir, "checkpoints"))
    if done and done[-1] > steps:
        raise ValueError(
            f"{workdir} has {done[-1]} steps already, and its options ask for {steps}: raise "
            f"config.train.steps (or config.finish.steps, of a finish) to {done[-1]} or more, or start "
            "again in a new --workdir"
        )


def fit(
    options: FitOptions,
    *,
    objective: Objective,
    optimizer: Optimizer,
    source: BatchSource,
    workdir: str,
    evaluators: Sequence[TrainingEvaluator] = (),
    meta: Mapping[str, Any] | None = None,
    initial: init.Initial | None = None,
    before: train_state.TrainState | None = None,
) -> FitResult:
    """Trains, or resumes training, up to step `options.train.steps`.

    Args:
      source: this host's rows of every batch.
      workdir: the run's folder, for checkpoints/, metrics.jsonl and tensorboard/.
      evaluators: measurements; all of them also run at the end.
      meta: JSON-able entries of every checkpoint; 'vocabulary' must not change between starts.
      initial: initial parameters of a new run; a run with a checkpoint does not read them.
      before: the state of an earlier training with another loss; a new run takes over its parameters
        and collections, and may overwrite their memory.

    Raises:
      ValueError: sizes that the mesh does not divide; a checkpoint of another model or vocabulary, or of a later
        step; phases or initial parameters that do not fit the model; a best metric that no evaluation yields.
      step_log.Diverged: `max_skipped_in_row` steps in a row or most steps of the run were not
        finite, or the loss at the end is absurd.
      OSError: no checkpoint of the run can be read, or the last one cannot be written.
    """
    meta = dict(meta or {})
    steps = options.train.steps
    check_steps(workdir, steps)
    first_host = jax.process_index() == 0
    phases = phases_of.from_config(options.train, optimizer)
    mesh = partition.make_mesh(options.mesh)
    partition.check_batch_size(options.train.batch_size, options.train.microbatches, mesh)
    batch = next(source)
    shapes = _global_shapes(batch, options.train.batch_size, partition.row_share(mesh)[1])
    compiled = CompiledSteps(objective, optimizer, options.train, mesh, shapes, options.seed)

    checkpointer = checkpoint.Checkpointer(os.path.join(workdir, "checkpoints"), options.checkpoint)
    # A checkpoint has optimizer state only for the groups that learned at its step.
    restored = checkpointer.restore(lambda step: compiled.target(phases.saved_at(step)), meta)
    if restored is None:
        tx = compiled.tx(phases.at(0))
        state = train_state.start(objective, tx, shapes, mesh, options.seed)
        if initial is not None:
            state, meta["initial"] = init.initialise(state, initial, objective, tx, shapes, mesh)
        if before is not None:
            state = train_state.with_params(state, before.params, tx, mesh)
            state = state.replace(collections=before.collections)
        pending = [batch]  # a new run trains on the batch that told the shapes
    else:
        state = restored.state
        meta |= {name: restored.meta[name] for name in _KEPT if name in restored.meta}
        pending = _resume_data(source, restored, [batch])
    first_step = int(state.step)
    parameters = train_state.count_parameters(state.params)
    logging.info(
        "%s parameters on %d %s device(s), mesh %s; %s",
        f"{parameters:,}",
        mesh.size,
        jax.default_backend(),
        dict(mesh.shape),
        f"going on from step {first_step}" if restored else "starting at step 0",
    )

    step = first_step
    has_ended = False
    # The groups whose optimizer state `state` has: at the end of a phase still those of that phase.
    learn = phases.saved_at(first_step)
    # What is opened closes in the opposite order, also where the compilation fails.
    with contextlib.ExitStack() as closing:
        stop = StopSignal()
        closing.callback(stop.restore)
        if step < steps:
            # Before the data's threads, which would take the processor.
            compiled.step(phases.at(step))
        writer = metrics.MetricWriter(workdir, first_step, first_host)
        closing.callback(writer.close)
        closing.callback(checkpointer.close)
        progress = metrics.Progress(first_step, steps, first_host)
        prefetcher = Prefetcher(
            source, lambda b: partition.global_batch(b, mesh), options.train.prefetch, pending
        )
        closing.callback(prefetcher.close)
        closing.callback(progress.close)
        log = StepLog(steps, options.train, _positions(shapes), writer, progress, checkpointer)
        log.first = meta.get("first_loss")
        log.last = meta.get("train", {})
        best = BestMetric(options.checkpoint.best, evaluators)
        evaluations = _Evaluations(evaluators, writer, stop, best)

        def save() -> None:
            meta.update(first_loss=log.first, train=log.last, unmeasured=evaluations.unmeasured)
            checkpointer.save(state, prefetcher.snapshot(), meta, evaluations.of_step)
            # Last, because a run whose config.checkpoint.best names no metric ends here, and resumes with a right one.
            evaluations.best.check(evaluations.figures)

        if (unmeasured := meta.get("unmeasured", 0)) and step < steps:
            evaluations.run(evaluations.due(step)[-unmeasured:], state.variables, step)
        while step < steps and not stop.at(step):
            try:
                arrays = next(prefetcher)
            except StopIteration:
                has_ended = True
                logging.warning("The data ended at step %d of %d.", step, steps)
                break
            if phases.at(step) != learn:
                with log.pause(state):
                    learn = phases.at(step)
                    state = compiled.enter(learn, state)
                logging.info("step %d: %s learn", step, ", ".join(learn))
            # A batch of a new width; its compilation does not count in the speed.
            if not compiled.has(learn, arrays):
                with log.pause(state):
                    compiled.step(learn, arrays)
            step_fn = compiled.step(learn, arrays)
            # An implicit transfer would make host and device wait in every step: here it raises.
            with jax.transfer_guard("disallow"):
                state, step_metrics = step_fn(state, arrays)
            step += 1
            evaluations.of_step = {}
            log.add(step, step_metrics, _positions(arrays))
            # The end, below, evaluates and saves anyway.
            if step == steps:
                break
            due = evaluations.due(step)
            saves = _is_due(options.checkpoint.every_steps, step)
            if due or saves:
                with log.pause(step_metrics):
                    evaluations.run(due, state.variables, step)
                    if saves:
                        save()
        log.flush(step)
        finished = (has_ended or step == steps) and not stop.received
        if finished:
            # Before the last state is saved: a run that diverged ends with an error.
            log.check_end(step, int(state.skipped))
            evaluations.run(evaluators, state.variables, step)
            # A stop in the last evaluation leaves it to the next start.
            finished = not stop.received
        save()
        # Other failures are only logged, but without the last checkpoint there is no model.
        checkpointer.check_last(step)
    if not finished:
        logging.warning(
            "Stopped by %s at step %d of %d; the newest checkpoint is %s. "
            "The same command resumes from it.",
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
        evaluations=evaluations.figures,
        train=log.last,
        parameters=parameters,
        initial=meta.get("initial"),
        compile_seconds=compiled.compile_seconds,
        tokens_per_second=log.tokens / log.seconds if log.seconds else 0.0,
        steps_per_second=log.steps / log.seconds if log.seconds else 0.0,
        step_flops=compiled.step_flops,
        failed_checkpoints=checkpointer.failures,
    )


def _is_due(every_steps: int, step: int) -> bool:
    return bool(every_steps) and step % every_steps == 0


@dataclasses.dataclass
class _Evaluations:
    """Runs evaluators and keeps their last figures, and those of the latest step, by metric path."""

    evaluators: Sequence[TrainingEvaluator]
    writer: metrics.MetricWriter
    stop: StopSignal
    best: BestMetric
    # Evaluators at the end of those that were due, which a signal left to the next start.
    unmeasured: int = 0
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    of_step: dict[str, float] = dataclasses.field(default_factory=dict)

    def due(self, step: int) -> list[TrainingEvaluator]:
        """The evaluators that run after a step, in their order."""
        return [x for x in self.evaluators if _is_due(x.every_steps, step)]

    def run(self, due: Sequence[TrainingEvaluator], variables: Variables, step: int) -> None:
        """Runs evaluators at a step; after a signal the unfinished ones are left to the next start.

        The one that chooses the best checkpoint ends before this is saved: it takes its figure along.
        """
        self.unmeasured = len(due)
        for evaluator in due:
            figures = {}
            for name, value in evaluator.run(variables, step):
                figures[name] = float(value)
                if self.stop.received and not self.best.needs_more(self.of_step):
                    return
            self.unmeasured -= 1
            self.writer.write(step, figures)
            self.figures.update(figures)
            self.of_step.update(figures)
            self.best.note_evaluation(evaluator)


def _resume_data(
    source: BatchSource, restored: checkpoint.Restored, new: list[Batch]
) -> list[Batch]:
    """Brings the data to the place of a checkpoint; the batches that were read but not trained on.

    Args:
      new: these batches where the data start from the beginning.
    """
    if restored.data is None:
        logging.warning(
            "Another number of hosts wrote the checkpoint: training resumes from its "
            "parameters, and the data start from the beginning."
        )
        return new
    place, pending = unpack(restored.data)
    source.set_state(place)
    return pending


def _global_shapes(batch: Batch, batch_size: int, shares: int) -> Batch:
    """Shapes and types of a batch of all hosts, from this host's rows."""
    rows = partition.host_rows(batch_size, shares)
    given_rows = next(len(value) for key, value in batch.items() if key not in SHARED_KEYS)
    if given_rows != rows:
        raise ValueError(
            f"each batch of this host's data has {given_rows} rows; "
            f"config.train.batch_size={batch_size} needs {rows}"
        )
    return {
        key: jax.ShapeDtypeStruct((shares * len(x),) + x.shape[1:], x.dtype)
        for key, x in batch.items()
    }


def _positions(shapes: Batch) -> int:
    """Positions of a batch, rows x length; its rows where it has no sequences."""
    return max(math.prod(x.shape[:2]) for key, x in shapes.items() if key not in SHARED_KEYS)
