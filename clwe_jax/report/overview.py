"""The head of the page, and its sections on the machine, the notes and the options."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import Mapping, Sequence

from clwe_jax.report import figures, floor, meaning, test_sets
from clwe_jax.report.data import Cell, Closed, Column, Facts, Number, Section, Table, Text
from clwe_jax.report.figures import SENTENCE_METHODS
from clwe_jax.report.run_folder import RunFolder


@dataclasses.dataclass(frozen=True)
class Tile:
    """A headline figure, with notes below it on other runs or on its unit."""

    label: str
    value: str
    notes: Sequence[str] = ()


def tiles(
    run: RunFolder, others: Sequence[RunFolder], headlines: Mapping[str, str] = {}
) -> list[Tile]:
    """The headline figures.

    Args:
      headlines: label -> path of shares that are shown beside those of retrieval and induction.
    """
    main, ending = figures.word_method(run.figures)
    named = {
        f"Retrieval, {name}": f"retrieval/mean_last4{x}" for name, x in SENTENCE_METHODS.items()
    }
    named |= {
        f"Lexicon induction, P@1 {main}": f"bli/p@1{ending}_distinct_covered",
        "all test words, the papers' convention": f"bli/p@1{ending}",
    }
    named |= headlines
    sentence = [name for name in SENTENCE_METHODS if _own(name) in run.figures][-1:]
    named |= {f"Sentence vectors, retrieval, {name}": _own(name) for name in sentence}
    made: list[Tile] = []
    said: set[str] = set()  # of several ways to measure one thing, the first has the sentence
    for label, name in named.items():
        if name not in run.figures:
            continue
        notes = _measured_on(run, name)
        level = _floor(run, name)
        if level is not None:
            notes.append(f"dictionary floor {figures.percent(level)}")
        for other in others:
            if name in other.figures:
                change = figures.points(run.figures[name] - other.figures[name])
                shown = figures.percent(other.figures[name])
                notes.append(f"{other.name} {shown}, {change} points")
        sentence = meaning.note(run, name)
        if sentence and sentence not in said:
            notes.append(sentence)
            said.add(sentence)
        made.append(Tile(label, figures.percent(run.figures[name]), notes))
    for name, where in (("eval/mlm/loss", "held-out"), ("train/loss", "training")):
        if name in run.figures:
            value = figures.decimal(run.figures[name])
            made.append(Tile("Loss", value, [f"{where}, nats per piece", meaning.note(run, name)]))
            break
    speed = (run.extras.get("speed") or {}).get("tokens_per_second")
    if speed:  # 0: this start took no step
        made.append(Tile("Speed", figures.count(speed), ["pieces per second"]))
    return made


def _floor(run: RunFolder, name: str) -> float | None:
    """The dictionary floor of a headline figure."""
    if not name.startswith("retrieval/"):
        return run.figures.get(f"floor/{name}")
    ending = next((x for x in SENTENCE_METHODS.values() if x and name.endswith(x)), "")
    found = floor.beside(run, name, floor.retrieval_path(run, ending, "last4" not in name))
    return found and found.level


def _measured_on(run: RunFolder, name: str) -> list[str]:
    """Notes on the words and the test sets of a headline figure, and on chance."""
    kind = name.partition("/")[0]
    notes = []
    if name.endswith("_distinct_covered"):
        share = run.figures.get("bli/coverage_distinct")
        notes.append(f"covered words of different spelling, {figures.percent(share)} of them")
    chance = run.figures.get(f"{kind}/chance")
    if chance:
        notes.append(f"chance {figures.percent(chance, 3 if chance < 0.001 else 1)}")
    return [*notes, *filter(None, [test_sets.of_all(run, kind)])]


def _own(method: str) -> str:
    return f"retrieval/mean{SENTENCE_METHODS[method]}"


def summary(run: RunFolder) -> str:
    """The run in one sentence: system, size, languages, steps, time, machine and text."""
    parts = [run.name]
    if run.option("scale"):
        parts[0] += f" at the {run.option('scale')} scale"
    layers = run.option("model.layers")
    width = run.option("model.width")
    if layers and width:
        parts.append(f"{layers} layers of width {width}")
    names = run.languages
    if names:
        listed = f" ({', '.join(names)})" if len(names) <= 12 else ""
        parts.append(f"{len(names)} language{'s' * (len(names) != 1)}{listed}")
    rows = run.option("train.batch_size")
    length = run.option("data.sequence_length")
    if run.step:
        size = f" of {rows:,} × {length:,} pieces" if rows and length else ""
        parts.append(f"{run.step:,} steps{size}")
    took = (run.extras.get("speed") or {}).get("seconds")
    took = "" if took is None else figures.seconds(took)
    device = run.extras.get("device")
    if device:
        took = f"{took} on {device}".strip()
    if took:
        parts.append(took)
    if run.option("data.source"):
        parts.append(f"text from {run.option('data.source')}")
    return ", ".join(parts) + "."


def command(run: RunFolder) -> list[str]:
    """The words of the command that started the run."""
    words = run.extras.get("command") or ""
    return (shlex.join(map(str, words)) if isinstance(words, list) else str(words)).split()


def unfinished_note(run: RunFolder) -> list[str]:
    """A sentence on a run that is not finished; an empty list for a finished one."""
    steps = run.option("train.steps")
    if steps and run.step < steps:
        return [f"The run is at step {run.step:,} of {steps:,}; its figures are not final."]
    if not run.has_results:
        return ["results.json is missing: the page shows the last logged figures."]
    return []


def machine(run: RunFolder, others: Sequence[RunFolder], more: Mapping[str, Cell] = {}) -> Section:
    """Speed, memory and the machine; in a second list `more`."""
    extras = run.extras
    speed, memory, versions = (extras.get(x) or {} for x in ("speed", "memory", "versions"))
    flops = speed.get("step_flops")
    rate = speed.get("steps_per_second")
    known = {
        "Device": extras.get("device"),
        "CPU cores": figures.format_number(figures.count, extras.get("cores")),
        "Parameters": figures.format_number(figures.count, extras.get("parameters")),
        "Training speed": figures.format_number(
            figures.count, speed.get("tokens_per_second"), " pieces/s"
        ),
        "Steps per second": figures.format_number(figures.decimal, rate),
        "Compilation": figures.format_number(figures.seconds, speed.get("compile_seconds")),
        "Wall time": figures.format_number(figures.seconds, speed.get("seconds")),
        "Floating-point rate": figures.format_number(
            figures.decimal, flops * rate / 1e9 if flops and rate else None, " GFLOP/s"
        ),
        # Zero means that the platform does not report the figure.
        "Peak host memory": figures.format_number(
            figures.size, memory.get("peak_host_bytes") or None
        ),
        "Peak device memory": figures.format_number(
            figures.size, memory.get("peak_device_bytes") or None
        ),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()) or None,
    }
    facts = [Facts(values) for values in (known, more) if any(values.values())]
    return Section("Speed and memory", "", facts)


def notes(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The job's warnings, and counts of skipped or mended input."""
    skipped = run.extras.get("skipped") or {}
    blocks = []
    if run.extras.get("notes"):
        blocks.append(Text(points=run.extras["notes"]))
    if skipped:
        rows = [[name, x if isinstance(x, str) else Number(x)] for name, x in skipped.items()]
        columns = ["What", Column("Count", "count")]
        blocks.append(Table(columns, rows, title="Skipped or mended"))
    return Section("Notes", "", blocks) if blocks else None


def configuration(run: RunFolder, others: Sequence[RunFolder]) -> Section:
    """The resolved config."""
    text = json.dumps(run.config, indent=2, sort_keys=True, ensure_ascii=False)
    return Section(
        "Configuration", "", [Closed("config.json, with every override applied", [Text(code=text)])]
    )
