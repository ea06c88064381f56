"""The page's sections on training: losses and other figures over the steps, and held-out text."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from clwe_jax.report import data, figures
from clwe_jax.report.data import Chart, Closed, Column, Language, Line, Section, Table
from clwe_jax.report.figure_tables import table
from clwe_jax.report.plots import PALETTE
from clwe_jax.report.run_folder import RunFolder, finite

# A part of the loss -> its label and colour.
_LOSSES = {
    "monolingual": ("label in the text's language", data.GREEN),
    "cross_lingual": ("label in another language", data.ORANGE),
    "denoising": ("denoising", data.GREEN),
    "translation": ("back-translation", data.ORANGE),
}
_MORE = {
    "train/accuracy": ("Accuracy on predicted pieces", "percent"),
    "train/learning_rate": ("Learning rate", ""),
    "train/grad_norm": ("Gradient norm", ""),
    "train/cross_lingual_share": ("Cross-lingual labels", "percent"),
    "train/denoising_weight": ("Weight of denoising", ""),
    "train/written": ("Pieces of a back-translation for each piece of its text", ""),
}


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section:
    """Loss over the steps, in training and on held-out text, and figures by language."""
    is_sum = "train/translation_loss" in run.series
    label = "weighted sum of denoising and back-translation" if is_sum else "all predicted pieces"
    lines = [Line(label, "train/loss", colour=data.BLUE)]
    for name, (part, colour) in _LOSSES.items():
        lines.append(Line(part, f"train/{name}_loss", colour=colour, compare=False))
    loss = Chart("Training loss", lines, y="nats per predicted piece")
    charts = [
        Chart(title, [Line(metric=name, colour=data.BLUE)], form=form)
        for name, (title, form) in _MORE.items()
    ]
    blocks = [loss, _heldout(run), Closed("More curves", charts), *_by_language(run)]
    return Section("Training", "", blocks)


def _heldout(run: RunFolder) -> Chart:
    """Held-out loss, one colour per language; for many languages, the mean and the extremes."""
    losses = {}
    for name, series in run.series.items():
        path = re.fullmatch(r"eval/mlm/([^/]+)/loss", name)
        if path and (points := finite(series)):
            losses[path[1]] = points
    names = run.in_order(losses)
    lines = [Line(name, points=list(losses[name].items())) for name in names]
    if len(names) > len(PALETTE):
        by_last = sorted(names, key=lambda name: list(losses[name].values())[-1])
        tails = by_last[:3] + by_last[-3:]
        labels = [f"{len(names)} languages", *[""] * (len(names) - 1)]
        lines = [
            Line(label, points=line.points, colour=data.NEUTRAL, faint=True)
            for label, line in zip(labels, lines)
        ]
        lines += [Line(x, points=list(losses[x].items()), colour=i) for i, x in enumerate(tails, 1)]
        lines.append(Line("mean", points=list(_mean(losses).items()), colour=data.BLUE))
    return Chart("Held-out loss by language", lines, y="nats per predicted piece")


def _mean(losses: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    means = {}
    for step in sorted(set().union(*losses.values())):
        values = [series[step] for series in losses.values() if step in series]
        means[step] = sum(values) / len(values)
    return means


def _by_language(run: RunFolder) -> list[Table]:
    by_language = figures.by_subject(run.figures, "eval/mlm")
    mean = by_language.pop("", {})
    columns = {
        "perplexity": Column("Perplexity"),
        "loss": Column("Loss"),
        "accuracy": Column("Accuracy", "percent"),
        "cross_lingual_share": Column("Cross-lingual labels", "percent", main=False),
        "monolingual_loss": Column("Loss, own language"),
        "cross_lingual_loss": Column("Loss, other language", main=False),
    }
    # A bidirectional model also has figures of its directions.
    head = "Language" if set(by_language) <= set(run.languages) else "Language or direction"
    names = {x: Language(x) if x in run.languages else x for x in run.in_order(by_language)}
    note = (
        "Labels in another language are harder to guess: compare perplexities only between runs of "
        "the same task; for different tasks, compare the loss on labels in the text's own language."
    )
    title = "Held-out text"
    return table("eval/mlm", names, columns, by_language, head, bool(mean), title=title, note=note)


def skipped_steps(run: RunFolder) -> list[str]:
    """A sentence on steps that were not applied; an empty list without such steps."""
    bad = [step for step, share in finite(run.series.get("train/skipped", {})).items() if share > 0]
    if not bad:
        return []
    return [
        f"Steps with a non-finite loss were not applied: {len(bad)} logged intervals contain some; "
        f"the first ends at step {bad[0]:,}, the last at step {bad[-1]:,}."
    ]
