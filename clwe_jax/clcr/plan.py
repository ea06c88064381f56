"""The plan of a CLCR run on one accelerator, without data: its programs, its host's memory and disk."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
from rich import box, console, table

from clwe_jax import options
from clwe_jax.align import whitening
from clwe_jax.align.attention_matching import AttentionMatching
from clwe_jax.clcr import data, steps as clcr_steps, tune, vectors
from clwe_jax.clcr.tune import Tuning
from clwe_jax.encoders.clcr_models import Space
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.section import values_of
from clwe_jax.plan import memory, slices
from clwe_jax.training import build, flops, partition
from clwe_jax.types import Objective

_WORDS = 25  # of a sentence, on average
_PIECES = 32  # of such a sentence
_WORD_BYTES = 64  # of a word as Python keeps it
_LINKED = 15  # pivots of such a sentence
_ROWS = 64  # sentences that are encoded at once
_MAPPED = len(clcr_steps.ROWS) - 1  # rows of Table 1 that are trained; the first is least squares


@dataclasses.dataclass(frozen=True)
class PlanRow:
    """A program of the run.

    Attributes:
      bytes: memory that it needs on the device.
      flops: floating-point operations of all its calls.
      seconds: their time at the stated utilisation; None where the chip's rate is unknown.
    """

    name: str
    bytes: int
    flops: float
    seconds: float | None


def run(config: ClcrRun, topology: str) -> dict[str, Any]:
    """Compiles the programs of a CLCR run for one device, prints their figures and returns them.

    The sizes of the encoders are those of the models that the run would train; a sentence has 25
    words of 32 pieces. The vectors of all sentences are in files, and the device has those of a few
    steps: its memory does not grow with the sentences. Predictors of pivots and orders and the search
    for orders are small and left out.

    Args:
      topology: of one device, such as 'v5e:1x1' or 'cpu:1'; see `slices.describe`.

    Returns:
      'parts', as `Part`; 'needed_bytes', 'hbm_bytes', 'fits' (None: unknown), 'hours' (None:
      unknown), 'disk_bytes' of the files of vectors, 'host_bytes', and 'row_bytes' of the files of
      one labelled row of entailment (0: without entailment).

    Raises:
      ValueError: an unknown slice, or one of several devices.
    """
    place = slices.describe(topology)
    if len(place.devices) != 1:
        raise ValueError(
            f"--plan={topology} has {len(place.devices)} devices, and CLCR runs on one: --plan=v5e:1x1"
        )
    config = config.resolved()
    device = jax.sharding.SingleDeviceSharding(place.devices[0])
    rate = place.flops * config.plan.utilisation or None
    makers = [_encoding, _matching] + [_tuning] * bool(config.clcr.tune.rounds)
    parts = [make(config, device, rate) for make in makers]
    needed = max(part.bytes for part in parts)
    result: dict[str, Any] = {
        "parts": [dataclasses.asdict(part) for part in parts],
        "needed_bytes": needed,
        "hbm_bytes": place.hbm,
        "fits": needed <= slices.USABLE * place.hbm if place.hbm else None,
        "hours": sum(part.seconds for part in parts) / 3600 if rate else None,
        **_host(config),
    }
    _show(config, topology, place, result)
    return result


def _host(config: ClcrRun) -> dict[str, int]:
    """Bytes of the host: files of vectors, memory, and files of a row of entailment."""
    settings, model = config.clcr, _encoder(config).model.options
    vector = 4 * model.width
    # Of both sides the pieces, the words in their own space and the mapped words.
    disk = 2 * settings.sentences * (_PIECES + 2 * _WORDS) * vector
    pairs = _LINKED * (_LINKED - 1) // 2
    text = 2 * settings.sentences * _WORDS * _WORD_BYTES
    memories = (
        vectors.SENTENCES * _PIECES * (model.layers + 1) * vector,  # sentences being encoded
        2 * settings.sentences * vector,  # the means of the sentences, for linear regression
        settings.sentences * (2 * 8 * _WORDS + 20 * pairs),  # contrast, and pairs of pivots
    )
    return {
        # The parts of `memories` are of stages that follow each other.
        "disk_bytes": disk,
        "host_bytes": text + max(memories),
        "row_bytes": 2 * _WORDS * vector if settings.entailment.seeds else 0,
    }


def _encoder(config: ClcrRun) -> Objective:
    """The encoder that the run would train for its target."""
    encoder_run = data.encoder_config(config, options.languages(config)[1])
    padded = options.padded_rows(encoder_run.vocab.size)
    return build.build_objective(encoder_run, encoder_run.vocab.size, padded)


def _state(objective: Objective, device: Any) -> Any:
    batch = _placed(objective.batch_shapes(_ROWS, _PIECES), device)
    key = jax.eval_shape(lambda: jax.random.key(0))
    return _placed(partition.unbox(jax.eval_shape(objective.init, key, batch)), device)


def _encoding(config: ClcrRun, device: Any, rate: float | None) -> PlanRow:
    """Both sides' training sentences, encoded once, and again after each fine-tuning."""
    objective = _encoder(config)
    batch = _placed(objective.batch_shapes(_ROWS, _PIECES), device)
    encode = lambda variables, batch: objective.encode(variables, batch).layers
    count = 2 * (1 + config.clcr.tune.rounds) * config.clcr.sentences / _ROWS
    return _part("encoding", jax.jit(encode).trace(_state(objective, device), batch), count, rate)


def _matching(config: ClcrRun, device: Any, rate: float | None) -> PlanRow:
    """T of all rows of Table 1 in both directions."""
    matching = AttentionMatching(**values_of(config.clcr.transform))
    width = _encoder(config).model.options.width
    traced, steps = matching.traced(_PIECES, (width, width), device)
    return _part("matching", traced, 2 * _MAPPED * matching.steps / steps, rate)


def _tuning(config: ClcrRun, device: Any, rate: float | None) -> PlanRow:
    """The fine-tuning of both encoders."""
    objective, tuning = _encoder(config), Tuning(**values_of(config.clcr.tune))
    matching = AttentionMatching(**values_of(config.clcr.transform))
    width = objective.model.options.width
    space = Space(
        (objective.model.options.layers,), whitening.whitening(np.zeros((1, width)), whiten=False)
    )
    step = tune.program(
        objective.encode, space, matching.initial(width, width, 0), matching, tuning
    )
    state = dict(_state(objective, device))
    params, rows = state.pop("params"), (tuning.batch_size, _PIECES)
    opt_state = _placed(jax.eval_shape(tune.optimizer(tuning).init, params), device)
    shapes = [
        jax.ShapeDtypeStruct(shape, kind, sharding=device)
        for shape, kind in (
            (rows, bool),
            ((*rows, width), np.float32),
            (rows, bool),
            ((), np.int32),
        )
    ]
    batch = _placed(objective.batch_shapes(*rows), device)
    traced = step.trace(params, opt_state, state, batch, *shapes)
    return _part("fine-tuning", traced, 2 * tuning.rounds * tuning.steps, rate)


def _part(name: str, traced: jax.stages.Traced, calls: float, rate: float | None) -> PlanRow:
    operations = calls * flops.matrix_flops(traced.jaxpr)
    needed = memory.program_bytes(traced.lower().compile().memory_analysis())
    return PlanRow(name, needed, operations, operations / rate if rate else None)


def _placed(shapes: Any, device: Any) -> Any:
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes)


def _show(config: ClcrRun, topology: str, place: slices.Slice, result: dict[str, Any]) -> None:
    out = console.Console(soft_wrap=True)
    rows = table.Table(
        title=f"{config.system}:{config.scale} on {topology}, {config.clcr.sentences:,} sentence pairs",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    for head in ("", "memory", "FLOPs", "time"):
        rows.add_column(head, justify="right" if head else "left")
    for part in result["parts"]:
        time = "" if part["seconds"] is None else f"{part['seconds'] / 60:,.1f} min"
        rows.add_row(
            part["name"], f"{part['bytes'] / slices.GIB:,.2f} GiB", f"{part['flops']:.2e}", time
        )
    out.print(rows)
    if place.simulated:
        out.print("The TPU compiler is not installed: XLA's CPU compiler gives the memory.")
    if result["hours"] is not None:
        out.print(
            f"{60 * result['hours']:,.1f} min at {config.plan.utilisation:.0%} of the peak "
            "(config.plan.utilisation)."
        )
    if result["fits"] is False:
        out.print(f"It does not fit into {result['hbm_bytes'] / slices.GIB:.0f} GiB.")
    out.print(
        f"Files of vectors in the run's folder: {result['disk_bytes'] / slices.GIB:,.1f} GiB, which vanish "
        f"with the run; host memory beside them: {result['host_bytes'] / slices.GIB:,.1f} GiB."
    )
    if result["row_bytes"]:
        out.print(
            "Files of entailment, which stay: "
            f"{100_000 * result['row_bytes'] / slices.GIB:,.1f} GiB for 100,000 labelled rows and "
            "each of T, T + E, T + E + R."
        )
