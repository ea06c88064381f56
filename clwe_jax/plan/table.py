"""The table that `--plan` prints."""

from __future__ import annotations

from typing import Any

from rich import box, console, table

from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.plan import slices
from clwe_jax.training import finish


def show(config: PretrainRun, result: dict[str, Any]) -> None:
    """Prints the result as a table."""
    out = console.Console(soft_wrap=True)
    if not out.is_terminal:
        out.width = 110
    title = f"{config.system or config.objective.name}:{config.scale} on {result['slice']}"
    rows = table.Table(title=title, box=box.SIMPLE_HEAD, show_header=False, title_justify="left")
    rows.add_column()
    rows.add_column(justify="right")
    rows.add_column(overflow="fold")
    for row in _rows(config, result):
        rows.add_row(*row)
    if result["simulated"]:
        out.print(
            f"The TPU compiler is not installed: {result['devices']} simulated CPU devices stand "
            "in for the slice, and XLA's CPU compiler gives memory and collectives. "
            "pip install 'jax\\[tpu]' installs the TPU compiler."
        )
    out.print(rows)
    if result["remedies"]:
        out.print("Settings that need less, with estimated bytes of a device (--plan checks them):")
        for remedy in result["remedies"]:
            is_enough = remedy["bytes"] <= slices.USABLE * result["hbm_bytes"]
            words = "fits" if is_enough else "still too much"
            size = _bytes(remedy["bytes"])
            flags = remedy["flags"]
            note = remedy["note"]
            out.print(f"  {flags:34} {size:>10}  {words:14}  {note}")


def _rows(config: PretrainRun, result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The rows of the table: quantity, value, note."""
    mesh = " x ".join(f"{axis} {size}" for axis, size in result["mesh"].items())
    chips = f"{result['chips']} chips" if result["chips"] else "CPU devices"
    batch = config.train.batch_size
    length = config.data.sequence_length
    unit = "a device"
    rows = [
        ("devices", f"{result['devices']:,}", f"{chips}; mesh {mesh}"),
        (
            "batch",
            f"{batch:,} x {length}",
            f"{result['rows_a_device']} rows {unit} in {result['microbatches']} microbatches",
        ),
        ("parameters", f"{result['parameters'] / 1e6:,.1f} M", _bytes(result["parameter_bytes"])),
        ("optimizer state", _bytes(result["optimizer_bytes"]), unit),
        ("arguments", _bytes(result["argument_bytes"]), f"{unit}: the state and the batch"),
        ("temporaries", _bytes(result["temporary_bytes"]), f"{unit}: activations, gradients"),
    ]
    if result["hbm_bytes"]:
        share = result["needed_bytes"] / result["hbm_bytes"]
        verdict = {True: "fits", False: "DOES NOT FIT", None: "may not fit"}[result["fits"]]
        note = f"{verdict}: {share:.0%} of {_bytes(result['hbm_bytes'])}"
    else:
        note = unit
    rows.append(("memory", _bytes(result["needed_bytes"]), note))
    for name, needed_bytes in result["evaluation"].items():
        note = f"{unit}, the state included"
        if result["hbm_bytes"] and needed_bytes > slices.USABLE * result["hbm_bytes"]:
            note += ": may not fit" if result["simulated"] else ": DOES NOT FIT"
        rows.append((f"evaluation, {name.replace('_', ' ')}", _bytes(needed_bytes), note))
    for kind, traffic in (result["collectives"] or {}).items():
        rows.append((kind, f"{traffic['count']:,}", f"{_bytes(traffic['bytes'])} {unit} and step"))
    if result["collectives"] == {}:
        rows.append(("collectives", "none", ""))
    compiled = result["flops_a_device"]
    count = f"{_flops(compiled)} {unit} as compiled, a loop's body once; " if compiled else ""
    six = f"6ND: {_flops(result['flops_6nd'])}"
    rows.append(("FLOPs a step", _flops(result["flops"]), f"{count}{six}"))
    if result["seconds_a_step"]:
        rows.append(
            (
                "time a step",
                f"{result['seconds_a_step']:.3g} s",
                f"at {result['utilisation']:.0%} of the peak (--config.plan.utilisation)",
            )
        )
        programs = [x for x in (result, result["finish"]) if x]
        hours = sum(x["hours"] for x in programs)
        steps = f"{config.train.steps:,} steps{' and the finish' if result['finish'] else ''}"
        rows.append(("whole run", f"{hours:,.1f} h", f"{steps}, {hours / 24:,.1f} days"))
        price = config.plan.dollars_per_chip_hour
        if result["cost"] is None:
            rows.append(("cost", "?", "give --config.plan.dollars_per_chip_hour"))
        else:
            cost = sum(x["cost"] for x in programs)
            rows.append(("cost", f"${cost:,.0f}", f"at ${price:g} a chip and hour"))
    if finish_result := result["finish"]:
        rows += _finish_rows(config, result, finish_result)
    rows.append(("compiler's time", f"{result['compile_seconds']:.0f} s", ""))
    return rows


def _finish_rows(
    config: PretrainRun, result: dict[str, Any], finish_result: dict[str, Any]
) -> list[tuple[str, str, str]]:
    """The table's rows on the contrastive finish."""
    size = f"{config.finish.batch_size:,} pairs x {finish.length(config)}"
    unit = "a device, the state included"
    if result["hbm_bytes"]:
        verdict = {True: "fits", False: "DOES NOT FIT", None: "may not fit"}[finish_result["fits"]]
        unit += f": {verdict}; --config.finish.microbatches=N needs less"
    rows = [
        ("finish, batch", size, f"{finish_result['rows_a_device']} pairs a device"),
        ("finish, memory", _bytes(finish_result["needed_bytes"]), unit),
        ("finish, FLOPs a step", _flops(finish_result["flops"]), ""),
    ]
    if finish_result["hours"]:
        steps = f"{config.finish.steps:,} steps, {finish_result['seconds_a_step']:.3g} s each"
        rows.append(("finish, whole", f"{finish_result['hours']:,.1f} h", steps))
    return rows


def _bytes(size: int) -> str:
    unit, name = (slices.GIB, "GiB") if size >= slices.GIB else (2**20, "MiB")
    return f"{size / unit:,.2f} {name}"


def _flops(count: float) -> str:
    unit, name = (1e12, "T") if count >= 1e11 else (1e9, "G")
    return f"{count / unit:,.2f} {name}"
