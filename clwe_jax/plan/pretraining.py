"""Memory, time and cost of a training run on a slice, from the slice's compiler.

`python -m clwe_jax.main --config=configs/dict_mlm_50.py:paper --plan=v3:8x16` compiles the
training step and the evaluators' programs for that slice's real topology, without an accelerator.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, Sequence

import jax
import numpy as np

from clwe_jax import options
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.training import MeshOptions, PlanOptions, TrainOptions
from clwe_jax.plan import memory, slices, table as plan_table
from clwe_jax.training import (
    build,
    compiled_steps,
    finish,
    flops,
    optim,
    partition,
    phases,
    train_state,
)
from clwe_jax.types import Objective

# A compiler first reduces the memory of a program that does not fit: as microbatches, the 12 x 768
# step of 64 rows has activations of 1.4 times the size in the error for the whole batch.
_SQUEEZED = 1.4


@dataclasses.dataclass(frozen=True)
class Remedy:
    """A setting that needs less memory, and the estimated bytes of a device with it."""

    flags: str
    bytes: int
    note: str


def run(config: PretrainRun, topology: str) -> dict[str, Any]:
    """Compiles the training step of `config` for a slice, prints its figures and returns them.

    Args:
      config: the run's config. No text is read: the vocabulary has `config.vocab.size` pieces,
        padded to a multiple of 128.

    Returns:
      parameters, optimizer_bytes, argument_bytes, temporary_bytes, needed_bytes, hbm_bytes, fits
      (None where unknown), collectives {kind: {count, bytes}} (None where the program does not
      fit), evaluation (`memory.evaluation`), remedies [{flags, bytes, note}], flops (of a step, all
      devices), flops_a_device (as compiled), flops_6nd, seconds_a_step, hours, cost,
      finish (these of the contrastive finish's step; None where the run has no finish), ...

    Raises:
      ValueError: an unknown slice, or a mesh or batch size that does not fit it.
    """
    place = slices.describe(topology)
    _say(
        f"Planning {config.system or config.objective.name}:{config.scale} on {topology}, "
        f"{len(place.devices):,} devices: shapes of the model and the optimizer ..."
    )
    config = config.resolve()
    if place.chips and config.model.dtype == "auto":  # it means bfloat16; this process has a CPU
        config = options.with_values(config, {"model": {"dtype": "bfloat16"}})
    program = _Program.of_pretraining(config, list(place.devices))
    result = {
        "slice": topology,
        "devices": len(place.devices),
        "chips": place.chips,
        "simulated": place.simulated,
        "hbm_bytes": place.hbm,
        **program.sizes(),
        **_compile(program, place),
        "evaluation": memory.evaluation(
            program.objective, program.state, program.mesh, program.batch
        ),
    }
    result.update(_time_and_cost(config.plan, place, result, program))
    result["finish"] = None
    if finish.steps(config):
        second = _Program.of_finish(config, program)
        finish_result = {**second.sizes(), **_compile(second, place)}
        result["finish"] = {
            **finish_result,
            **_time_and_cost(config.plan, place, finish_result, second),
        }
    result["remedies"] = []
    if place.hbm and not result["fits"]:
        _say("It does not fit: estimating settings that need less memory ...")
        result["remedies"] = [dataclasses.asdict(r) for r in _remedies(program, place, result)]
    plan_table.show(config, result)
    return result


def _say(line: str) -> None:
    """Prints a line at once: the compiler is silent for minutes."""
    print(line, flush=True)


class _Program:
    """The training step of a config over given devices, as shapes."""

    def __init__(
        self,
        config: PretrainRun,
        devices: list[Any],
        objective: Objective,
        optimizer: optim.Optimizer,
        train_cfg: TrainOptions,
        length: int,
    ) -> None:
        self.config = config
        self.devices = devices
        self.objective = objective
        self.optimizer = optimizer
        self.length = length
        self.steps = train_cfg.steps
        self.batch_size = train_cfg.batch_size
        self.microbatches = train_cfg.microbatches
        self.mesh = partition.make_mesh(config.mesh, devices)
        partition.check_batch_size(self.batch_size, self.microbatches, self.mesh)
        shapes = objective.batch_shapes(self.batch_size, length)
        self.batch = partition.abstract_batch(shapes, self.mesh)
        states = {
            x: self._state(x, self.mesh) for x in phases.from_config(train_cfg, optimizer).groups
        }
        # The groups that learn in the phase of the largest state.
        self.learn = max(states, key=lambda groups: memory.shard_bytes(states[groups].opt_state))
        self.state = states[self.learn]

    @classmethod
    def of_pretraining(cls, config: PretrainRun, devices: list[Any]) -> _Program:
        """The pretraining's step."""
        padded = options.padded_rows(config.vocab.size)
        # The paper's number of translations; memory does not depend on the words.
        shape = config.vocab.size, len(options.languages(config)), 4
        translations = np.full(shape, -1, np.int32)
        objective = build.build_objective(config, config.vocab.size, padded, translations)
        optimizer = optim.from_config(config.optimizer, config.data.sequence_length)
        length = config.data.sequence_length
        return cls(config, devices, objective, optimizer, config.train, length)

    @classmethod
    def of_finish(cls, config: PretrainRun, pretraining: _Program) -> _Program:
        """The contrastive finish's step, on the devices of the pretraining's."""
        return cls(
            config,
            pretraining.devices,
            finish.objective(config.finish, pretraining.objective),
            finish.optimizer(config),
            finish.train_options(config, pretraining.mesh),
            finish.length(config),
        )

    def state_on(self, mesh: Any) -> train_state.TrainState:
        """The state's shapes, types and shardings on a mesh."""
        return self._state(self.learn, mesh)

    def _state(self, learn: Sequence[str], mesh: Any) -> train_state.TrainState:
        tx = self.optimizer.build(self.steps, learn)
        return train_state.plan(self.objective, tx, self.batch, mesh)

    @functools.cached_property
    def traced_step(self) -> jax.stages.Traced:
        """The step exactly as training compiles it, of the phase with the largest state."""
        return compiled_steps.trace_step(
            self.objective,
            self.optimizer,
            self.steps,
            self.microbatches,
            self.mesh,
            self.state,
            self.batch,
            self.learn,
        )

    def sizes(self) -> dict[str, Any]:
        """The number of parameters, and bytes on each device of the parts of the state."""
        data = self.mesh.shape["data"] * self.mesh.shape["fsdp"]
        return {
            "mesh": dict(self.mesh.shape),
            "rows_a_device": self.batch_size // data,
            "microbatches": self.microbatches,
            "parameters": train_state.count_parameters(self.state.params),
            "parameter_bytes": memory.shard_bytes(self.state.params),
            "optimizer_bytes": memory.shard_bytes(self.state.opt_state),
            "collection_bytes": memory.shard_bytes(self.state.collections),
        }


def _compile(program: _Program, place: slices.Slice) -> dict[str, Any]:
    """Memory, FLOPs and collectives according to the slice's compiler."""
    state = memory.shard_bytes(program.state) + memory.shard_bytes(program.batch)
    figures: dict[str, Any] = {
        "flops": flops.matrix_flops(program.traced_step.jaxpr),
        "argument_bytes": state,
    }
    compiler = "the CPU's" if place.simulated else "the slice's"
    _say(f"Compiling the training step by {compiler} compiler; minutes for a large model ...")
    start_time = time.monotonic()
    try:
        compiled = program.traced_step.lower().compile()
    except jax.errors.JaxRuntimeError as error:
        # A compiler refuses a program that does not fit, and names its bytes in the message.
        temporary = memory.temporary_bytes(str(error), state)
        if temporary is None:
            raise
        figures.update(temporary_bytes=temporary, needed_bytes=state + temporary, fits=False)
        figures.update(collectives=None, flops_a_device=None)
    else:
        sizes = compiled.memory_analysis()
        needed_bytes = memory.program_bytes(sizes)
        figures.update(
            argument_bytes=sizes.argument_size_in_bytes,
            temporary_bytes=sizes.temp_size_in_bytes,
            needed_bytes=needed_bytes,
            fits=_fits(needed_bytes, place),
            flops_a_device=compiled.cost_analysis().get("flops"),
            collectives={
                kind: dataclasses.asdict(traffic)
                for kind, traffic in sorted(slices.collectives(compiled.as_text()).items())
            },
        )
    figures["compile_seconds"] = time.monotonic() - start_time
    return figures


def _fits(needed: int, place: slices.Slice) -> bool | None:
    """Whether a compiled program fits; None: unknown."""
    if not place.hbm:
        return None
    if not place.simulated:
        return True  # the slice's own compiler raises an error for a program that does not fit
    # The CPU's compiler needs more memory than a TPU's: its yes is reliable, its no is not.
    return True if needed <= slices.USABLE * place.hbm else None


def _time_and_cost(
    settings: PlanOptions, place: slices.Slice, result: dict[str, Any], program: _Program
) -> dict[str, Any]:
    """Hours and cost of a program's steps at the stated utilisation and price."""
    tokens = program.batch_size * program.length
    figures: dict[str, Any] = {
        "tokens_a_step": tokens,
        # Kaplan et al. 2020: a parameter and token cost 2 FLOPs forward and 4 backward.
        "flops_6nd": 6.0 * result["parameters"] * tokens,
        "utilisation": settings.utilisation,
        "seconds_a_step": None,
        "hours": None,
        "cost": None,
    }
    if place.flops:
        rate = place.flops * len(place.devices) * settings.utilisation
        figures["seconds_a_step"] = result["flops"] / rate
        figures["hours"] = figures["seconds_a_step"] * program.steps / 3600
        if settings.dollars_per_chip_hour:
            figures["cost"] = figures["hours"] * place.chips * settings.dollars_per_chip_hour
    return figures


def _remedies(program: _Program, place: slices.Slice, result: dict[str, Any]) -> list[Remedy]:
    """Settings that need less memory, one for each option, settings that fit first.

    Estimates: temporaries are gradients (as large as the parameters) and activations, among them
    the logits; activations are proportional to the rows of a microbatch.
    """
    model = program.config.model
    rows = result["rows_a_device"] // program.microbatches
    tokens = rows * program.config.data.sequence_length
    arguments = result["argument_bytes"]
    gradients = min(result["parameter_bytes"], result["temporary_bytes"])
    activations = int(
        (result["temporary_bytes"] - gradients) * (1.0 if place.simulated else _SQUEEZED)
    )
    # Logits are float32, 4 bytes each.
    scores = rows * options.max_predictions(program.config.data) * program.config.vocab.size * 4
    logits = min(scores // program.mesh.shape["tensor"], activations)
    between = model.layers * tokens * model.width * 2  # one bfloat16 array for each layer

    def microbatches(parts: int) -> Remedy | None:
        if rows % parts:
            return None
        # Microbatches keep a sum of gradients beside those of the part.
        sums = gradients if program.microbatches == 1 else 0
        return Remedy(
            f"--config.train.microbatches={program.microbatches * parts}",
            arguments + gradients + sums + activations // parts,
            "the same arithmetic, one part after the other",
        )

    def remat(_: int) -> Remedy | None:
        if getattr(model, "remat", True):
            return None
        one_layer = (activations - logits) // model.layers
        return Remedy(
            "--config.model.remat=True",
            # One array for each layer stays, and the activations of one layer at a time.
            arguments + gradients + logits + min(between + one_layer, activations - logits),
            "about 30% more arithmetic",
        )

    def fsdp(ways: int) -> Remedy | None:
        state = _cut_state(program, "fsdp", ways)
        return state and Remedy(
            f"--config.mesh.fsdp={ways}",
            state + memory.shard_bytes(program.batch) + result["temporary_bytes"],
            "parameters are gathered layer by layer",
        )

    def tensor(ways: int) -> Remedy | None:
        # A device holds `ways` times as many rows. The wide arrays inside a layer are split in
        # `ways` parts; four arrays of the width of a token are not.
        state = None if getattr(model, "heads", 0) % ways else _cut_state(program, "tensor", ways)
        return state and Remedy(
            f"--config.mesh.tensor={ways}",
            state
            + memory.shard_bytes(program.batch) * ways
            + result["temporary_bytes"]
            + (ways - 1) * 4 * between,
            "traffic within every layer; for layers that no device can hold",
        )

    usable = slices.USABLE * place.hbm
    remedies = []
    for option, sizes in (
        (microbatches, (2, 4, 8, 16, 32, 64)),
        (remat, (1,)),
        (fsdp, (2, 4, 8, 16, 32)),
        (tensor, (2, 4, 8)),
    ):
        tried = [remedy for size in sizes if (remedy := option(size))]
        fitting = [remedy for remedy in tried if remedy.bytes <= usable]
        remedies += fitting[:1] or sorted(tried, key=lambda remedy: remedy.bytes)[:1]
    return sorted(remedies, key=lambda remedy: remedy.bytes > usable)


def _cut_state(program: _Program, axis: str, ways: int) -> int | None:
    """Bytes on each device of the state, with `ways` of the data axis' devices moved to `axis`."""
    shape = dict(program.mesh.shape)
    if shape[axis] > 1 or shape["data"] % ways:
        return None
    shape[axis] = ways
    shape["data"] = shape["data"] // ways
    mesh = partition.make_mesh(MeshOptions(**shape), program.devices)
    return memory.shard_bytes(program.state_on(mesh))
