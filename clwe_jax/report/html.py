"""The run's report: one HTML file that opens offline, rendered from sections by a template."""

from __future__ import annotations

import functools
import itertools
import math
import os
from pathlib import Path
import shlex
from typing import Any, Callable, Mapping, Sequence

from absl import logging
import jinja2
import markupsafe

from clwe_jax import atomic
from clwe_jax.report import comparison, figures, fill_metrics, offline, overview, pages, plots
from clwe_jax.report import run_folder, space, training
from clwe_jax.report.data import Chart, Number, Picture, Section, Table, Word
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.report.figure_tables import ARROW
from clwe_jax.text.words.languages import is_right_to_left, name_of

# Errors that figures of an unexpected type raise.
_DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError, jinja2.TemplateError)
_OPEN_ROWS = 24  # longer tables start closed


def build(workdir: str | os.PathLike[str], compare_with: str = "") -> Path:
    """Writes WORKDIR/report.html from the files of the run's folder.

    Sections without figures are left out, so that unfinished runs have a report, too.

    Args:
      workdir: the run's folder; it must hold config.json, and may hold metrics.jsonl, results.json
        and report.json.
      compare_with: folders of other runs to show beside it, separated by commas; '' for none. An
        unreadable folder becomes a warning in the log and on the page.

    Returns:
      The path of report.html.

    Raises:
      FileNotFoundError: `workdir` holds no run.
      ValueError: its config.json is damaged.
    """
    runs = [run_folder.read(workdir)]
    problems = list(runs[0].problems)
    for folder in filter(None, map(str.strip, compare_with.split(","))):
        try:
            other_run = run_folder.read(folder)
        except (OSError, ValueError) as error:
            message = f"config.report.compare_with: {folder} cannot be shown: {error}"
            logging.warning("%s", message)
            problems.append(message)
        else:
            problems += [f"{other_run.name}: {problem}" for problem in other_run.problems]
            runs.append(other_run)
    path = Path(workdir) / "report.html"
    atomic.write(path, render_page(run_folder.label_distinctly(runs), problems))
    return path


def render_page(runs: Sequence[RunFolder], problems: Sequence[str]) -> str:
    """The whole page: verdict, next steps, headline figures, the picture of the space, then all sections.

    A part whose figures have an unexpected type is left out, and becomes a problem that the page names.

    Args:
      runs: the page's run, then the runs beside it.
      problems: sentences about files that could not be read.
    """
    run, *others = runs
    page = pages.choose_page(run)
    problems = list(problems)
    attempt = functools.partial(_attempt, problems)
    template = offline.ENVIRONMENT.get_template("section.html")
    functions = _page_functions(run)
    render = lambda build: functools.partial(_render_section, template, functions, build, runs)
    # First, because drawings are numbered in the order in which they are rendered.
    picture = attempt("space.section", render(functools.partial(space.section, run, others)))
    sections = [attempt(name, render(build)) for name, build in page.sections(run, others)]
    headlines = lambda: overview.tiles(run, others, page.all_headlines(run))
    tiles = attempt("the headline figures", headlines)
    steps = attempt("the next steps", lambda: page.offers(run))
    summary = attempt("the summary", lambda: overview.summary(run))
    verdict = attempt("the verdict", lambda: page.verdict(run))
    notes = overview.unfinished_note(run) + training.skipped_steps(run) + problems
    unfair = {
        f"Compared with {x.name}, but under other conditions": comparison.unfair_conditions(run, x)
        for x in others
    }
    return offline.ENVIRONMENT.get_template("page.html").render(
        title=run.option("report.title") or run.name,
        lead=summary or run.name,
        verdict=verdict,
        warnings={"Mind this": notes},
        unfair=unfair,
        tiles=tiles or [],
        steps=steps or [],
        command=list(map(shlex.quote, overview.command(run))),
        first=picture,
        sections=list(filter(None, sections)),
        **offline.assets("tokens", "shared", "page"),
    )


def _render_section(
    template: jinja2.Template,
    functions: Mapping[str, Callable[..., Any]],
    build: Callable[[], Section | None],
    runs: Sequence[RunFolder],
) -> tuple[str, str] | None:
    """The title and the content of a section; None without content."""
    section = build()
    blocks = fill_metrics.resolve(section.blocks, runs) if section is not None else []
    if section is None or not (blocks or section.text):
        return None
    content = template.render(text=section.text, blocks=blocks, **functions)
    return section.title, markupsafe.Markup(content)


def _attempt(problems: list[str], what: str, make: Callable[[], Any]) -> Any:
    """The result of `make`; None, and a further problem, if the figures have an unexpected type."""
    try:
        return make()
    except _DAMAGED as error:
        problems.append(f"report.json: {what} is left out ({type(error).__name__}: {error}).")
        return None


def _page_functions(run: RunFolder) -> dict[str, Callable[..., Any]]:
    """What the templates call that differs from page to page."""
    drawings = itertools.count(1)
    return {
        "hue": functools.partial(_choose_hue, run.languages),
        "svg": lambda block, beside: plots.svg(block, f"drawing{next(drawings)}", beside),
        "named": functools.partial(_name_languages, run.languages),
    }


def _reading_direction(cells: Sequence[Any]) -> str:
    """How the parts of a cell follow each other: 'auto' for a text, 'rtl' or '' for words.

    Words with scores are a ranking, which begins on the left like the rest of the page.
    """
    words = [x for x in cells if isinstance(x, Word)]
    if any(isinstance(x, str) for x in cells):
        return "auto"
    from_right = all(x.language and is_right_to_left(x.language) for x in words)
    is_ranking = any(x.after or x.below for x in words)
    return "rtl" if len(words) == len(cells) > 1 and from_right and not is_ranking else ""


def _name_languages(languages: Sequence[str], text: Any) -> Any:
    """A text that is the code of a language of the run, or of a pair of them, with names in place of codes."""
    if not isinstance(text, str):
        return text
    subject, comma, rest = text.partition(", ")  # 'de, theirs'
    parts = subject.split(ARROW)
    if not all(part in languages for part in parts):
        return text
    return ARROW.join(map(name_of, parts)) + comma + rest


def _choose_hue(languages: Sequence[str], name: str) -> int:
    """The hue of a language, the same on the whole page."""
    place = languages.index(name) if name in languages else sum(name.encode("utf-8", "replace"))
    # The hues of consecutive languages differ by a golden angle, so that they are distinct.
    return round(215 + place * 137.5) % 360


def _format_interval(cell: Number) -> str:
    if cell.form == "percent":
        return f"{100 * cell.low:.1f}–{100 * cell.high:.1f}"
    if cell.form == "points":
        return f"{figures.points(cell.low)} to {figures.points(cell.high)}"
    return f"{figures.decimal(cell.low)}–{figures.decimal(cell.high)}"


def _holds_numbers(table: Table) -> list[bool]:
    """Whether each column holds numbers, which are right-aligned."""
    return [any(isinstance(cell, Number) for cell in cells) for cells in zip(*table.rows)]


offline.ENVIRONMENT.globals |= {
    "change": lambda cell: (
        figures.points(cell.change) if cell.form == "percent" else figures.difference(cell.change)
    ),
    "colour": plots.colour,
    "groups": lambda blocks: fill_metrics.group_neighbours(blocks, (Chart, Picture)),
    "interval": _format_interval,
    "kind": lambda value: type(value).__name__.lower(),
    "number": lambda cell: figures.FORMS[cell.form](cell.value),
    "numeric": _holds_numbers,
    "open_rows": _OPEN_ROWS,
    "reading_direction": _reading_direction,
    "right_to_left": is_right_to_left,
    "sortable": lambda x: x if x is not None and math.isfinite(x) else "-1e99",
}
