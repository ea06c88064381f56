"""The run's report: one HTML file that opens offline."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
from pathlib import Path
from typing import Any

from absl import logging

from clwe_jax import atomic
from clwe_jax.report import (
    comparison,
    components,
    errors,
    figures,
    induction,
    projection,
    run_folder,
    sections,
    senses,
    static,
    style,
)
from clwe_jax.report.figures import METHODS
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.run_folder import Run


def build(workdir: str | os.PathLike[str], compare_with: str = "") -> Path:
    """Writes WORKDIR/report.html from the files of the run's folder.

    What is missing is left out, so that a run that is still training can be looked at too.

    Args:
      workdir: the run's folder; config.json has to be there, metrics.jsonl, results.json and
        report.json may.
      compare_with: the folder of another run to show beside it, '' for none. One that cannot be
        read becomes a warning, in the log and on the page.

    Returns:
      The path of report.html.

    Raises:
      FileNotFoundError: `workdir` holds no run.
      ValueError: its config.json is damaged.
    """
    run = run_folder.read(workdir)
    problems = list(run.problems)
    baseline = None
    if compare_with:
        try:
            baseline = run_folder.read(compare_with)
        except (OSError, ValueError) as error:
            message = f"config.report.compare_with={compare_with} cannot be shown: {error}"
            logging.warning("%s", message)
            problems.append(message)
        else:
            problems += [f"{baseline.name}: {problem}" for problem in baseline.problems]
    path = Path(workdir) / "report.html"
    atomic.write(str(path), page(run, baseline, problems).encode("utf-8", errors="replace"))
    return path


def page(run: Run, baseline: Run | None, problems: list[str]) -> str:
    """The whole page."""
    first = _of_static if static.is_static(run) else _of_language_model
    found: list[tuple[str, str, Html | None]] = [
        *first(run, baseline),
        ("languages", "Languages", _joined(sections.languages(run), sections.dictionary(run))),
        ("examples", "Code-switched examples", sections.examples(run)),
        ("neighbours", "Nearest neighbours", sections.neighbours(run)),
        ("machine", "Speed and memory", _joined(sections.machine(run), static.stages(run))),
        ("figures", "Other figures", comparison.others(run, baseline)),
        ("notes", "Notes", sections.notes(run)),
        ("comparison", "Comparison", comparison.compared(run, baseline) if baseline else None),
        ("configuration", "Configuration", sections.configuration(run)),
    ]
    shown = [(name, title, content) for name, title, content in found if content]
    title = str(run.option("report.title") or run.name)
    body = tag(
        "body",
        tag("h1", clip(title, 200)),
        tag("p", summary(run), class_="lead"),
        components.warning("Mind this", _unfinished(run) + sections.skipped_steps(run) + problems),
        _fairness(run, baseline),
        _tiles(run, baseline),
        _command(run),
        tag("nav", [tag("a", title, href=f"#{name}") for name, title, _ in shown]),
        [tag("section", tag("h2", title), content, id=name) for name, title, content in shown],
        tag("footer", "Figures: results.json and metrics.jsonl beside this page."),
        tag("script", Html(style.SCRIPT)),
    )
    return f'<!doctype html>\n<html lang="en">{_head(title)}{body}</html>\n'


def _of_language_model(run: Run, baseline: Run | None) -> list[tuple[str, str, Html | None]]:
    training = _joined(
        sections.training(run, baseline), sections.more_curves(run), sections.perplexity(run)
    )
    return [
        ("retrieval", "Sentence retrieval", comparison.retrieval(run, baseline)),
        ("induction", "Lexicon induction", induction.section(run, baseline)),
        ("senses", "Senses", senses.section(run)),
        ("training", "Training", training),
    ]


def _of_static(run: Run, baseline: Run | None) -> list[tuple[str, str, Html | None]]:
    return [
        ("induction", "Lexicon induction", induction.section(run, baseline)),
        ("errors", "Errors", errors.section(run)),
        ("pictures", "Before and after alignment", projection.section(run)),
        ("vocabulary", "Vocabulary reallocation", static.vocabulary(run)),
        ("refinement", "Alignment", static.refinement(run)),
        ("retrieval", "Sentence retrieval", comparison.retrieval(run, baseline)),
        ("similarity", "Word similarity", static.similarity(run)),
        ("files", "Induced dictionaries and vectors", static.files(run)),
    ]


def _head(title: str) -> Html:
    # Nothing is fetched from anywhere, and no script runs but the page's own.
    digest = base64.b64encode(hashlib.sha256(style.SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", clip(title, 200)),
        tag("style", Html(style.CSS)),
    )


def _joined(*parts: Html | None) -> Html | None:
    return Html("".join(part for part in parts if part)) or None


def summary(run: Run) -> str:
    """What was run, in one sentence."""
    names = sections.languages_of(run)
    parts = [run.name]
    if run.option("scale"):
        parts[0] += f" at the {run.option('scale')} scale"
    model = run.option("model", {})
    if isinstance(model, dict) and model.get("layers") and model.get("width"):
        parts.append(f"{model['layers']} layers of width {model['width']}")
    if names:
        listed = f" ({', '.join(names)})" if len(names) <= 12 else ""
        parts.append(f"{len(names)} language{'s' * (len(names) != 1)}{listed}")
    rows, length = run.option("train.batch_size"), run.option("data.sequence_length")
    if run.step:
        size = f" of {rows:,} × {length:,} pieces" if _whole(rows) and _whole(length) else ""
        parts.append(f"{run.step:,} steps{size}")
    seconds = sections.number(sections.mapping(run.extras.get("speed")).get("seconds"))
    device = run.extras.get("device")
    took = figures.seconds(seconds) if seconds is not None else ""
    if device:
        took = f"{took} on {clip(device, 80)}".strip()
    if took:
        parts.append(took)
    if run.option("data.source"):
        parts.append(f"text from {clip(run.option('data.source'), 120)}")
    return ", ".join(parts) + "."


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _unfinished(run: Run) -> list[str]:
    steps = run.option("train.steps")
    if _whole(steps) and run.step < steps:
        return [f"The run is at step {run.step:,} of {steps:,}; its figures are not final."]
    if not run.results:
        return ["There is no results.json: the figures are the last ones logged."]
    return []


def _fairness(run: Run, baseline: Run | None) -> Html | None:
    if baseline is None:
        return None
    title = f"Compared with {baseline.name}, but under other conditions"
    return components.warning(title, comparison.fairness(run, baseline))


def _tiles(run: Run, baseline: Run | None) -> Html | None:
    tiles = []
    for method in METHODS:
        value = comparison.mean_last4(run, method)
        if value is None:
            continue
        note = None
        other = comparison.mean_last4(baseline, method) if baseline is not None else None
        if other is not None:
            note = (
                f"{baseline.name} {figures.percent(other)}, {figures.points(value - other)} points"
            )
        label = f"Retrieval, {method}"
        tiles.append(components.tile(label, figures.percent(value), note, first=not tiles))
    if static.is_static(run):
        tiles += static.tiles(run, baseline)
    found = induction.mean(run) if not static.is_static(run) else None
    if found is not None:
        other = induction.mean(baseline) if baseline is not None else None
        note = f"{baseline.name} {figures.percent(other)}" if other is not None else None
        tiles.append(components.tile("Lexicon induction, P@1", figures.percent(found), note))
    loss = run.figures.get("eval/mlm/loss", run.figures.get("train/loss"))
    if loss is not None:
        where = "held-out" if "eval/mlm/loss" in run.figures else "training"
        tiles.append(components.tile("Loss", figures.decimal(loss), f"{where}, nats per piece"))
    speed = sections.number(sections.mapping(run.extras.get("speed")).get("tokens_per_second"))
    if speed is not None:
        tiles.append(components.tile("Speed", figures.count(speed), "pieces per second"))
    return tag("div", tiles, class_="tiles") if tiles else None


def _command(run: Run) -> Html | None:
    command = run.extras.get("command")
    if isinstance(command, list):
        command = shlex.join(str(part) for part in command)
    if not command:
        return None
    # Lines break between the arguments only.
    words = [(tag("span", word), " ") for word in clip(command, 4000).split(" ")]
    return tag("pre", words, class_="command")
