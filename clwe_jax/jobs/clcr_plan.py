"""The plan of a CLCR run on one accelerator: memory and time of encoding and of T, without data."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from ml_collections import ConfigDict
from rich import box, console, table

from clwe_jax import config as options
from clwe_jax.align.attention_matching import AttentionMatching
from clwe_jax.jobs import clcr_data, clcr_steps
from clwe_jax.models.transformer import Transformer
from clwe_jax.training import build, flops, memory, partition, slices
from clwe_jax.types import Objective

_WORDS = 25  # of a sentence, on average
_PIECES = 32  # of such a sentence
_ROWS = 64  # sentences that are encoded at once
_MAPPED = len(clcr_steps.ROWS) - 1  # rows of Table 1 that are trained; the first is least squares


@dataclasses.dataclass(frozen=True)
class Part:
    """A program of the run.

    Attributes:
      name: of the part.
      bytes: memory that it needs on the device.
      flops: floating-point operations of all its calls.
      seconds: their time at the stated utilisation; None where the chip's rate is unknown.
    """

    name: str
    bytes: int
    flops: float
    seconds: float | None


def run(config: ConfigDict, topology: str) -> dict[str, Any]:
    """Compiles the programs of a CLCR run for one device, prints their figures and returns them.

    The sizes of the encoders are those of the models that the run would train; a sentence has 25
    words. Reading of text, predictors of pivots and orders, and the search for orders are left out:
    they are small.

    Args:
      config: the run's config.
      topology: of one device, such as 'v5e:1x1' or 'cpu:1'; see `slices.describe`.

    Returns:
      'parts', as `Part`; 'needed_bytes', 'hbm_bytes', 'fits' (None: unknown), 'hours' (None:
      unknown), 'sentences', the most that fit (None: unknown).

    Raises:
      ValueError: an unknown slice, or one of several devices.
    """
    place = slices.describe(topology)
    if len(place.devices) != 1:
        raise ValueError(
            f"--plan={topology} has {len(place.devices)} devices, and CLCR runs on one: --plan=v5e:1x1"
        )
    config = options.resolved(config)
    device = jax.sharding.SingleDeviceSharding(place.devices[0])
    rate = place.flops * config.plan.utilisation or None
    parts = [_encoding(config, device, rate), _matching(config, device, rate)]
    needed = max(part.bytes for part in parts)
    usable = slices.USABLE * place.hbm
    result: dict[str, Any] = {
        "parts": [dataclasses.asdict(part) for part in parts],
        "needed_bytes": needed, "hbm_bytes": place.hbm,
        "fits": needed <= usable if place.hbm else None,
        "hours": sum(part.seconds for part in parts) / 3600 if rate else None,
        "sentences": None,
    }  # fmt: skip
    if place.hbm:
        tables = _table_bytes(config) * config.clcr.sentences
        result["sentences"] = int((usable - (parts[1].bytes - tables)) / _table_bytes(config))
    _show(config, topology, place, result)
    return result


def _encoder(config: ConfigDict) -> tuple[Objective, Transformer]:
    """The encoder that the run would train for its target."""
    found = options.resolved(clcr_data.encoder_config(config, options.languages(config)[1]))
    padded = options.padded_rows(found.vocab.size)
    objective = build.build_objective(found, found.vocab.size, padded)
    return objective, objective.model


def _encoding(config: ConfigDict, device: Any, rate: float | None) -> Part:
    """Both sides' training sentences, encoded once."""
    objective, _ = _encoder(config)
    batch = _placed(objective.batch_shapes(_ROWS, _PIECES), device)
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = _placed(partition.unbox(jax.eval_shape(objective.init, key, batch)), device)
    encode = lambda variables, batch: objective.encode(variables, batch).layers
    count = 2 * config.clcr.sentences / _ROWS
    return _part("encoding", jax.jit(encode).trace(state, batch), count, rate)


def _matching(config: ConfigDict, device: Any, rate: float | None) -> Part:
    """T of all rows of Table 1 in both directions; the vectors of all words stay on the device."""
    matching = AttentionMatching(**config.clcr.transform.to_dict())
    width = _encoder(config)[1].width
    traced, steps = matching.traced(config.clcr.sentences * _WORDS, (width, width), _WORDS, device)
    return _part("matching", traced, 2 * _MAPPED * matching.steps / steps, rate)


def _part(name: str, traced: jax.stages.Traced, calls: float, rate: float | None) -> Part:
    found = calls * flops.matrix_flops(traced.jaxpr)
    needed = memory.program_bytes(traced.lower().compile().memory_analysis())
    return Part(name, needed, found, found / rate if rate else None)


def _placed(shapes: Any, device: Any) -> Any:
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes
    )


def _table_bytes(config: ConfigDict) -> int:
    """Bytes of the vectors of both sides of a sentence pair, in float32."""
    return 2 * 4 * _WORDS * _encoder(config)[1].width


def _show(config: ConfigDict, topology: str, place: slices.Slice, result: dict[str, Any]) -> None:
    out = console.Console(soft_wrap=True)
    rows = table.Table(
        title=f"{config.system}:{config.scale} on {topology}, {config.clcr.sentences:,} sentence pairs",
        box=box.SIMPLE_HEAD, title_justify="left",
    )  # fmt: skip
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
        out.print(
            f"It does not fit into {result['hbm_bytes'] / slices.GIB:.0f} GiB: at most "
            f"--config.clcr.sentences={result['sentences']}"
        )
