"""The compiled step of a training run on a constant batch, as the benchmarks of training time it."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple


class Step(NamedTuple):
    """A compiled step.

    Attributes:
      run: function that runs a number of steps and waits for them.
      parameters: their number.
      program: function that gives the compiled program's text.
    """

    run: Callable[[int], None]
    parameters: int
    program: Callable[[], str]


def build(
    objective: Any, optimizer: Any, batch: Mapping[str, Any], steps: int, microbatches: int = 1
) -> Step:
    """The step, compiled with the functions of a training run.

    Args:
      objective, optimizer: as of a run; `optimizer` is one of `training.optim`.
      batch: key -> array of the batch.
      steps: number of steps of the optimizer's schedule.
      microbatches: as of `config.train`.
    """
    import jax

    from clwe_jax.options.training import MeshOptions
    from clwe_jax import allocator
    from clwe_jax.training import compiled_steps, partition, train_state

    allocator.keep_freed_memory()
    mesh = partition.make_mesh(MeshOptions())
    shapes = {key: jax.ShapeDtypeStruct(x.shape, x.dtype) for key, x in batch.items()}
    tx = optimizer.build(steps)
    target = train_state.plan(objective, tx, shapes, mesh, seed=0)
    state = train_state.start(objective, tx, shapes, mesh, seed=0)
    traced = compiled_steps.trace_step(
        objective, optimizer, steps, microbatches, mesh, target, shapes
    )
    step = traced.lower().compile()
    arrays = partition.global_batch(batch, mesh)

    def run(count: int) -> None:
        nonlocal state
        for _ in range(count):
            state, metrics = step(state, arrays)
        jax.block_until_ready((state, metrics))

    return Step(run, train_state.count_parameters(state.params), step.as_text)


def torch_device() -> str:
    """The kind of device, as PyTorch calls it, on which jax runs here: 'cuda' or 'cpu'."""
    import jax

    return "cuda" if jax.default_backend() == "gpu" else "cpu"


def facts(step: Step, sizes: str, steps: int) -> dict[str, str]:
    """What the record says of our side: its sizes, steps of a round, parameters, and jax."""
    import jax

    return {
        "sizes": f"{sizes}, {steps} steps a round",
        "parameters, ours": f"{step.parameters:,}",
        "jax": f"{jax.__version__} on {jax.devices()[0].device_kind}",
    }
