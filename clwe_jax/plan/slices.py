"""Slices as devices to compile for, and the collectives of a compiled program."""

from __future__ import annotations

import collections
import dataclasses
import importlib.util
import math
import os
import re
from typing import Any

import jax

from clwe_jax.options import section

GIB = 2**30
# The share of the memory that programs get: compilers name 7.48 of 8 GiB (v2), 15.48 of 16 (v3).
USABLE = 0.95


@dataclasses.dataclass(frozen=True)
class Chip:
    """A kind of TPU chip.

    Attributes:
      hbm: bytes of memory of a chip.
      flops: peak bfloat16 FLOP/s of a chip.
      devices: jax devices of a chip: its cores, or 1 where the cores work as one.
      options: settings that libtpu needs in addition to the topology.
    """

    hbm: int
    flops: float
    devices: int = 1
    options: tuple[tuple[str, str], ...] = ()


# Memory and peak rates: the 'TPU versions' pages of the Cloud TPU documentation.
CHIPS = {
    "v2": Chip(16 * GIB, 45e12, devices=2),
    "v3": Chip(32 * GIB, 123e12, devices=2),
    "v4": Chip(32 * GIB, 275e12, options=(("chip_config_name", "megacore"),)),
    "v5e": Chip(16 * GIB, 197e12),
    "v5p": Chip(95 * GIB, 459e12),
    "v6e": Chip(32 * GIB, 918e12),
}


@dataclasses.dataclass(frozen=True)
class Slice:
    """Devices to compile for.

    Attributes:
      devices: jax devices, one for each core (or chip, where its cores work as one).
      chips: number of chips; 0 for plain CPU devices.
      hbm: bytes of memory of a device; 0 where unknown.
      flops: peak FLOP/s of a device; 0 where unknown.
      simulated: whether CPU devices stand in for the slice.
    """

    devices: tuple[Any, ...]
    chips: int
    hbm: int
    flops: float
    simulated: bool


def has_libtpu() -> bool:
    """Whether the TPU compiler is installed."""
    spec = importlib.util.find_spec("libtpu")
    return spec is not None and spec.origin is not None


def describe(topology: str) -> Slice:
    """The devices of a slice; without the TPU compiler, as many simulated CPU devices.

    It makes jax run on the CPU, and must be called before jax starts a backend.

    Args:
      topology: 'v3:8x16' (a kind of chip, and the number of chips along each axis) or 'cpu:8'.

    Raises:
      ValueError: an unknown kind of chip, an invalid topology, or a backend that has started.
    """
    match = re.fullmatch(r"(\w+):(\d+(?:x\d+)*)", topology)
    chips = [*CHIPS, "cpu"]
    if match is None:
        raise ValueError(
            f"--plan={topology!r}: expected a chip and its topology, such as v3:8x16, v5e:4x4, "
            f"v4:2x2x4 (chips along each axis), or cpu:8. Chips: {', '.join(chips)}."
        )
    kind = match.group(1)
    shape = tuple(int(n) for n in match.group(2).split("x"))
    if kind not in chips:
        raise ValueError(
            f"--plan={topology!r}: unknown chip {kind!r}. {section.nearest(kind, chips)}"
        )
    count = math.prod(shape)
    jax.config.update("jax_platforms", "cpu")
    if kind == "cpu":
        return Slice(_simulate(count), 0, 0, 0.0, simulated=False)
    chip = CHIPS[kind]
    simulated = not has_libtpu()
    if simulated:
        devices = _simulate(count * chip.devices)
    else:
        devices = _compile_only(topology, chip)
    hbm = chip.hbm // chip.devices
    flops = chip.flops / chip.devices
    return Slice(devices, count, hbm, flops, simulated)


def _simulate(count: int) -> tuple[Any, ...]:
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError:
        pass  # a backend has started, perhaps with this number of devices
    devices = jax.devices("cpu")
    if len(devices) != count:
        raise ValueError(
            f"--plan needs {count} simulated CPU devices, but jax has started with {len(devices)}: "
            "plan in a process of its own, without --xla_force_host_platform_device_count."
        )
    return tuple(devices)


def _compile_only(topology: str, chip: Chip) -> tuple[Any, ...]:
    from jax.experimental import topologies

    # Without these libtpu looks for a TPU of this machine, and logs at length that it has none.
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
    os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v3-8")
    # Nothing runs on a chip, so another process may hold libtpu's lock.
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
    try:
        description = topologies.get_topology_desc(
            platform="tpu", topology_name=topology, **dict(chip.options)
        )
    except jax.errors.JaxRuntimeError as error:
        raise ValueError(f"--plan={topology}: the TPU compiler refuses it: {error}") from error
    return tuple(description.devices)


@dataclasses.dataclass
class Traffic:
    """Collectives of one kind in a step: their number, and their results' bytes on each device."""

    count: int = 0
    bytes: int = 0


_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
# An asynchronous collective has two instructions; its '-done' does not match, and it counts once.
_COLLECTIVE = re.compile(rf"= (.+?) ({_KINDS})(-start)?\(")
_CALLEES = re.compile(r"(?:calls|body|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_BITS = re.compile(r"\b(pred|[a-z]+(\d+)\w*)\[([\d,]*)\]")


def collectives(hlo: str) -> dict[str, Traffic]:
    """Counts the collectives of a compiled program, in loops once for every round.

    Args:
      hlo: `compiled.as_text()`.

    Returns:
      kind -> Traffic, e.g. {'all-reduce': Traffic(count=5, bytes=...)}.
    """
    bodies, entry = _computations(hlo)
    total: dict[str, Traffic] = collections.defaultdict(Traffic)

    def visit(name: str, times: int) -> None:
        for line in bodies.get(name, ()):
            if match := _COLLECTIVE.search(line):
                traffic = total[match.group(2)]
                traffic.count += times
                traffic.bytes += times * _bytes(match.group(1), match.group(2), match.group(3))
                continue
            repeats = times
            if " while(" in line:
                repeats *= _trips(line, bodies)
            for callee in _CALLEES.findall(line):
                visit(callee, repeats)
            for branches in _BRANCHES.findall(line):
                for callee in branches.split(","):
                    visit(callee.strip().lstrip("%"), repeats)

    visit(entry, 1)
    return dict(total)


def _computations(hlo: str) -> tuple[dict[str, list[str]], str]:
    """Name of each computation -> lines of its instructions; the name of the entry computation."""
    bodies: dict[str, list[str]] = {}
    entry = ""
    current = []
    for line in hlo.splitlines():
        header = re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line)
        if header:
            current = bodies.setdefault(header.group(2), [])
            entry = header.group(2) if header.group(1) else entry
        elif line.startswith(" "):
            current.append(line)
    return bodies, entry


def _trips(line: str, bodies: dict[str, list[str]]) -> int:
    """Rounds of a while loop: as annotated, or the bound in its condition."""
    if annotated := re.search(r'known_trip_count"?:\{"n":"(\d+)"', line):
        return int(annotated.group(1))
    condition = re.search(r"condition=%?([\w.\-]+)", line)
    lines = bodies.get(condition.group(1), []) if condition else []
    bounds = map(int, re.findall(r"constant\((\d+)\)", "\n".join(lines)))
    return max(bounds, default=1)


def _bytes(shapes: str, kind: str, start: str | None) -> int:
    # Without comments (/*index=5*/) and layouts ({1,0:T(8,128)}), which are no shapes.
    arrays = _BITS.findall(re.sub(r"/\*.*?\*/|\{[^{}]*\}", "", shapes))
    # The asynchronous forms of these two kinds return their operands before the results, and signals.
    if start and kind in ("all-gather", "collective-permute"):
        arrays = [x for x in arrays if x[0] != "u32" or x[2]]
        arrays = arrays[len(arrays) // 2 :]
    sizes = []
    for name, bits, dims in arrays:
        width = 8 if name == "pred" else int(bits)
        sizes.append(math.prod(int(n) for n in dims.split(",") if n) * width // 8)
    return sum(sizes)
