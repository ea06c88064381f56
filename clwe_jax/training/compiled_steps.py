"""The training step as a compiled program, one for each set of learning groups and shape of batches."""

from __future__ import annotations

import time
from typing import Any, Sequence

from absl import logging
import jax
import optax

from clwe_jax.options.training import TrainOptions
from clwe_jax.training import partition, phases as phases_of, train_state
from clwe_jax.training.flops import matrix_flops
from clwe_jax.training.optim import Optimizer
from clwe_jax.training.step import make_step
from clwe_jax.types import Batch, Objective

# Trying Triton's kernels for every product makes a GPU's compiling two to five times as long, and a step at most
# 3% faster.
_COMPILER_OPTIONS = {"gpu": {"xla_gpu_enable_triton_gemm": False}}


def _shapes_of(batch: Batch) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((key, batch[key].shape) for key in sorted(batch))


class CompiledSteps:
    """The step and the state for every set of learning groups, made when they are first needed.

    Batches may have several widths; each has a step of its own.

    Attributes:
      compile_seconds: time of compiling so far.
      step_flops: FLOPs of one step's matrix products, for the set that was compiled last.
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: Optimizer,
        train: TrainOptions,
        mesh: jax.sharding.Mesh,
        shapes: Batch,
        seed: int,
    ):
        self._objective = objective
        self._optimizer = optimizer
        self._train = train
        self._mesh = mesh
        self._shapes = shapes
        self._seed = seed
        self._targets: dict[tuple[str, ...], train_state.TrainState] = {}
        self._steps: dict[tuple[Any, ...], jax.stages.Compiled] = {}
        self.compile_seconds = 0.0
        self.step_flops = 0.0

    def tx(self, learn: tuple[str, ...]) -> optax.GradientTransformation:
        """The optimizer for the groups that learn."""
        return self._optimizer.build(self._train.steps, learn)

    def target(self, learn: tuple[str, ...]) -> train_state.TrainState:
        """Shapes and shardings of the state while these groups learn."""
        if learn not in self._targets:
            self._targets[learn] = train_state.plan(
                self._objective, self.tx(learn), self._shapes, self._mesh, self._seed
            )
        return self._targets[learn]

    def has(self, learn: tuple[str, ...], batch: Batch) -> bool:
        """Whether the step for these groups and batches of this shape is compiled."""
        return (learn, *_shapes_of(batch)) in self._steps

    def step(self, learn: tuple[str, ...], batch: Batch | None = None) -> jax.stages.Compiled:
        """The compiled step (state, batch) -> (state, metrics).

        Args:
          batch: a global batch, or shapes; None: the shapes of the first batch.
        """
        shapes = self._shapes if batch is None else batch
        key = learn, *_shapes_of(shapes)
        if key not in self._steps:
            shapes = {name: jax.ShapeDtypeStruct(x.shape, x.dtype) for name, x in shapes.items()}
            clock = time.perf_counter()
            traced = trace_step(
                self._objective,
                self._optimizer,
                self._train.steps,
                self._train.microbatches,
                self._mesh,
                self.target(learn),
                shapes,
                learn,
            )
            self.step_flops = matrix_flops(traced.jaxpr)
            self._steps[key] = traced.lower().compile()
            seconds = time.perf_counter() - clock
            self.compile_seconds += seconds
            logging.info("the training step was compiled in %.1f s", seconds)
        return self._steps[key]

    def enter(self, learn: tuple[str, ...], state: train_state.TrainState):
        """The state for a phase in which these groups learn; compiles its step."""
        self.step(learn)
        return phases_of.enter(state, self.tx(learn), self.target(learn), self._mesh)


def trace_step(
    objective: Objective,
    optimizer: Optimizer,
    steps: int,
    microbatches: int,
    mesh: jax.sharding.Mesh,
    target: train_state.TrainState,
    batch: Batch,
    learn: Sequence[str] | None = None,
) -> jax.stages.Traced:
    """The traced training step, (state, batch) -> (state, metrics); the state is donated.

    Args:
      steps: steps of the whole run, for the schedules.
      mesh: the mesh; its devices may be descriptions to compile for.
      target: shapes and shardings of the state, from `train_state.plan`.
      batch: shapes of a global batch.
      learn: groups that learn; None: all that are not frozen.
    """
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    learn = optimizer.learning_groups if learn is None else learn
    step = make_step(
        objective,
        optimizer.build(steps, learn),
        optimizer.for_group(learn[0]).rate(steps),
        microbatches,
        optimizer.trainable_mask(learn),
    )
    with partition.use(mesh):
        shardings = jax.tree.map(lambda x: x.sharding, target)
        jitted = jax.jit(
            step,
            donate_argnums=0,
            # The new state has the shardings of the donated one, so that it fits into the same memory.
            out_shardings=(shardings, everywhere),
            compiler_options=_COMPILER_OPTIONS.get(mesh.devices.flat[0].platform),
        )
        return jitted.trace(target, partition.abstract_batch(batch, mesh))
