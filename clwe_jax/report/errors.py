"""The page's table of lexicon induction errors, which can be sorted and filtered."""

from __future__ import annotations

from typing import Any, Mapping

from clwe_jax.report import components
from clwe_jax.report.comparison import pair_name
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.run_folder import Run
from clwe_jax.report.sections import mapping, number

# The kinds of errors of `evaluate.induced`, as people read them, and what they mean.
KINDS = {
    "near": ("near miss", "a translation is among the ten nearest words, but not the first"),
    "wrong": ("wrong", "no translation is among the ten nearest words"),
    "copied": ("copied", "the nearest word is the source word itself"),
    "no vector": ("no vector", "the source word is out of the vocabulary"),
    "no candidate": ("no candidate", "no translation is in the target's vocabulary"),
}
_TABLE = "errors-table"
_PAIR, _KIND = 0, 4  # columns that are filtered by
_MOST_FOUND = 5


def section(run: Run) -> Html | None:
    """The rows of report.json's static.errors."""
    static = mapping(run.extras.get("static"))
    found = static.get("errors")
    rows = [mapping(row) for row in (found if isinstance(found, list) else [])]
    rows = [row for row in rows if isinstance(row.get("word"), str)]
    if not rows:
        return None
    tagged = any(row.get("tag") for row in rows)
    heads = ["Pair", "Word", "Rank", "Translations", "Kind", "Place", "Nearest words"]
    if tagged:
        heads.append("Part of speech")
    table = components.table(
        heads,
        [_cells(row, tagged) for row in rows],
        open_rows=len(rows),
        id=_TABLE,
    )
    left_out = number(static.get("errors_left_out")) or 0
    notes = [f"{name}: {text}." for name, text in KINDS.values()]
    if left_out:
        notes.append(
            f"{left_out:,.0f} more errors are left out, evenly over the dictionaries; "
            "config.report.errors says how many of a direction are shown."
        )
    return Html(
        _filters(rows)
        + tag("div", table, class_="box")
        + tag("p", "Rank: of the word by frequency. Place: of the first right word. ",
              " ".join(notes), class_="note")
    )  # fmt: skip


def _filters(rows: list[Mapping[str, Any]]) -> Html:
    pairs = sorted({pair_name(str(row.get("pair", ""))) for row in rows})
    kinds = [name for kind, (name, _) in KINDS.items() if any(r.get("kind") == kind for r in rows)]
    return tag(
        "div",
        _select("All pairs", pairs, _PAIR),
        _select("All kinds", kinds, _KIND),
        tag("input", type="search", placeholder="Words", aria_label="Words in the row"),
        tag("output"),
        class_="filters",
        data_table=_TABLE,
    )


def _select(everything: str, values: list[str], column: int) -> Html:
    options = [tag("option", value, value=value) for value in values]
    head = tag("option", everything, value="")
    return tag("select", head, options, data_column=column, aria_label=everything)


def _cells(row: Mapping[str, Any], tagged: bool) -> list[Any]:
    pair = str(row.get("pair", ""))
    source, _, target = pair.partition("-")
    gold = row.get("gold")
    gold = [str(word) for word in gold] if isinstance(gold, list) else []
    kind = str(row.get("kind", ""))
    place = number(row.get("place"))
    cells: list[Any] = [
        pair_name(pair),
        tag("b", clip(row["word"]), lang=clip(source, 12)),
        components.count(number(row.get("rank"))),
        tag("span", clip(", ".join(gold), 120), lang=clip(target, 12)),
        KINDS[kind][0] if kind in KINDS else clip(kind),
        components.count(place or None),
        _nearest(row.get("found"), frozenset(gold), target),
    ]
    if tagged:
        cells.append(clip(row.get("tag") or "–"))
    return cells


def _nearest(found: Any, gold: frozenset[str], language: str) -> Html:
    items = []
    for item in (found if isinstance(found, list) else [])[:_MOST_FOUND]:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            continue
        word, score = str(item[0]), number(item[1])
        shown = tag("b" if word in gold else "span", clip(word), lang=clip(language, 12))
        value = tag("span", f" {score:.2f}", class_="soft") if score is not None else None
        items.append(tag("span", shown, value, class_="chip"))
    return Html("".join(items))
