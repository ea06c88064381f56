"""The head of the page, and its sections on the machine, the notes and the options."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Mapping, Sequence

from clwe_jax.report import evaluations, figures
from clwe_jax.report.data import Cell, Closed, Column, Facts, Number, Section, Table, Text
from clwe_jax.report.headline import (
    Headline,
    choose_leading,
    choose_shown,
    compare_with_floor,
    mean_of,
)
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.text.words.languages import name_of


@dataclasses.dataclass(frozen=True)
class Tile:
    """A headline figure, with notes below it on other runs or on its unit."""

    label: str
    value: str
    notes: Sequence[str] = ()


def tiles(
    run: RunFolder, others: Sequence[RunFolder], headlines: Mapping[str, Sequence[Headline]]
) -> list[Tile]:
    """The headline figures of each measurement, by its name, then the loss and the speed."""
    figure_tiles: list[Tile] = []
    meanings: set[str] = set()  # of several ways to measure one thing, the first has the sentence
    for name, group in headlines.items():
        leading = choose_leading([x for x in group if x.sentence], run.figures)
        # The figure of the verdict comes first.
        for headline in sorted(choose_shown(group, run.figures), key=lambda x: x is not leading):
            notes = [] if headline.meaning in meanings else [headline.meaning]
            meanings.add(headline.meaning)
            notes += _describe(run, headline, name)
            notes += [_beside_other(run, other, headline) for other in others]
            value = figures.FORMS[headline.form](run.figures[headline.mean])
            figure_tiles.append(Tile(headline.label, value, list(filter(None, notes))))
    return [*figure_tiles, *_loss_tiles(run), *_speed_tiles(run)]


def _describe(run: RunFolder, headline: Headline, name: str) -> list[str]:
    """Notes on layers, the share of covered items, chance, the test sets and the floor."""
    notes = [f"mean of the accuracies of {headline.layers(run.figures)}"] if headline.layers else []
    share = run.figures.get(headline.coverage)
    if share is not None:
        notes.append(f"{figures.percent(share)} of the test items are covered")
    chance = run.figures.get(mean_of(headline.chance))
    if chance:
        notes.append(f"chance {figures.percent(chance, 3 if chance < 0.001 else 1)}")
    notes.append(evaluations.describe_tests(run, name))
    comparison = compare_with_floor(headline, run.figures)
    if comparison is not None:
        floor_name = "dictionary floor" if headline.has_dictionary_floor else headline.baseline
        notes.append(f"{floor_name} {figures.FORMS[headline.form](comparison.floor)}")
    return notes


def _beside_other(run: RunFolder, other: RunFolder, headline: Headline) -> str:
    """The figure of another run, and the difference in points; '' where it has none."""
    if headline.mean not in other.figures:
        return ""
    value = other.figures[headline.mean]
    text = f"{other.name} {figures.FORMS[headline.form](value)}"
    if headline.form != "percent":
        return text
    return f"{text}, {figures.points(run.figures[headline.mean] - value)} points"


def _loss_tiles(run: RunFolder) -> list[Tile]:
    """The held-out loss, or that of the training."""
    for name, split in (("eval/mlm/loss", "held-out"), ("train/loss", "training")):
        if name in run.figures:
            size = (run.extras.get("vocabulary") or {}).get("size")
            chance = f"; guessing {math.log(size):.1f}" if size and size > 1 else ""
            notes = [
                f"{split}, nats per piece",
                f"lower is better{chance}; compare only runs of one task and vocabulary",
            ]
            return [Tile("Loss", figures.decimal(run.figures[name]), notes)]
    return []


def _speed_tiles(run: RunFolder) -> list[Tile]:
    speed = (run.extras.get("speed") or {}).get("tokens_per_second")
    # 0: this start took no step.
    return [Tile("Speed", figures.count(speed), ["pieces per second"])] if speed else []


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
        listed = f" ({', '.join(map(name_of, names))})" if len(names) <= 12 else ""
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
    source = run.option("data.source")
    if source:
        parts.append(f"text from {'the embedded world' if source == 'pocket' else source}")
    return ", ".join(parts) + "."


def command(run: RunFolder) -> list[str]:
    """The words of the command that started the run, '--flag value' as the one word '--flag=value'."""
    recorded = run.extras.get("command") or ""
    words: list[str] = []
    for word in map(str, recorded) if isinstance(recorded, list) else str(recorded).split():
        if words and words[-1].startswith("--") and not ("=" in words[-1] or word.startswith("--")):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


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
    rate = speed.get("steps_per_second") or None
    gigaflops = flops * rate / 1e9 if flops and rate else None
    show = figures.format_number
    main_facts = {
        "Device": extras.get("device"),
        "Processor": extras.get("processor"),
        "CPU cores": show(figures.count, extras.get("cores")),
        "Parameters": show(figures.count, extras.get("parameters")),
        # Zero: this start took no step.
        "Training speed": show(figures.count, speed.get("tokens_per_second") or None, " pieces/s"),
        "Steps per second": show(figures.decimal, rate),
        "Compilation": show(figures.seconds, speed.get("compile_seconds")),
        "Wall time": show(figures.seconds, speed.get("seconds")),
        "Floating-point rate": show(figures.decimal, gigaflops, " GFLOP/s"),
        # Zero means that the platform does not report the figure.
        "Peak host memory": show(figures.size, memory.get("peak_host_bytes") or None),
        "Peak device memory": show(figures.size, memory.get("peak_device_bytes") or None),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()) or None,
    }
    facts = [Facts(values) for values in (main_facts, more) if any(values.values())]
    return Section("Speed and memory", "", facts)


def notes(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The job's warnings, its test sentences in the text, and counts of skipped or mended input."""
    skip_counts = run.extras.get("skipped") or {}
    blocks = []
    points = [*(run.extras.get("notes") or ()), run.extras.get("leaks")]
    if any(points):
        blocks.append(Text(points=list(filter(None, points))))
    if skip_counts:
        rows = [[name, x if isinstance(x, str) else Number(x)] for name, x in skip_counts.items()]
        columns = ["What", Column("Count", "count")]
        blocks.append(Table(columns, rows, title="Skipped or mended"))
    return Section("Notes", "", blocks) if blocks else None


def configuration(run: RunFolder, others: Sequence[RunFolder]) -> Section:
    """The resolved config."""
    text = json.dumps(run.config, indent=2, sort_keys=True, ensure_ascii=False)
    block = Closed("config.json, with every override applied", [Text(code=text)])
    return Section("Configuration", "", [block])
