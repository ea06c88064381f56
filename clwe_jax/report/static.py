"""The page's sections on static vectors: vocabulary, alignment, errors and files."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from clwe_jax.report import figures
from clwe_jax.report.data import (
    Cell, Chart, Column, Language, Line, Number, Section, Table, Word,
)  # fmt: skip
from clwe_jax.report.measures import pair_name
from clwe_jax.report.run_folder import Run, is_number

# Kind of a lexicon induction error -> its name and meaning.
KINDS = {
    "near": ("near miss", "a translation is among the ten nearest words, but not the first"),
    "wrong": ("wrong", "no translation is among the ten nearest words"),
    "copied": ("copied", "the nearest word is the source word itself"),
    "no vector": ("no vector", "the source word is out of the vocabulary"),
    "no candidate": ("no candidate", "no translation is in the target's vocabulary"),
}
_MAX_EXAMPLES = 24
_MAX_NEAREST = 5


def _static(run: Run) -> Mapping[str, Any]:
    return run.extras.get("static") or {}


def errors(run: Run, others: Sequence[Run]) -> Section | None:
    """The errors of lexicon induction in a table with filters."""
    rows = _static(run).get("errors")
    if not rows:
        return None
    columns = ["Pair", "Word", Column("Rank", "count"), "Translations", "Kind"]
    columns += [Column("Place", "count"), "Nearest words"]
    tagged = any(row.get("tag") for row in rows)
    left_out = _static(run).get("errors_left_out") or 0
    notes = ["Rank: the word's rank by frequency. Place: the place of the first correct word."]
    notes += [f"{name}: {text}." for name, text in KINDS.values()]
    if left_out:
        notes.append(
            f"{left_out:,.0f} more errors are left out, evenly over the dictionaries; "
            "config.report.errors sets the number of errors shown for each direction."
        )
    table = Table(
        [*columns, "Part of speech"] if tagged else columns,
        [_error(row, tagged) for row in rows],
        note=" ".join(notes),
        closed=f"{len(rows):,} errors, to filter and sort",
        filters=(0, 4),
    )
    return Section("Errors", "", [table])


def _error(row: Mapping[str, Any], tagged: bool) -> list[Cell]:
    source, _, target = row["pair"].partition("-")
    gold = row["gold"]
    cells: list[Cell] = [
        pair_name(row["pair"]),
        Word(row["word"], source, "strong"),
        Number(row["rank"]),
        Word(", ".join(gold)[:120], target),
        KINDS[row["kind"]][0],
        Number(row["place"] or None),
        [
            Word(word, target, "strong" if word in gold else "", after=f"{score:.2f}")
            for word, score in row["found"][:_MAX_NEAREST]
        ],
    ]
    return [*cells, row.get("tag") or "–"] if tagged else cells


def vocabulary(run: Run, others: Sequence[Run]) -> Section | None:
    """The numbers of words that reallocation gives to each language, with examples."""
    entry = _static(run).get("vocabulary")
    if not entry:
        return None
    heads = {"words": "Words", "own": "Its own", "shared": "Shared", "lost": "Given to another"}
    counts = entry["languages"]
    heads = {key: head for key, head in heads.items() if any(key in row for row in counts.values())}
    rows = [[Language(name), *(Number(row.get(x)) for x in heads)] for name, row in counts.items()]
    blocks = [Table(["Language", *(Column(head, "count") for head in heads.values())], rows)]
    examples = [
        [name if name == "shared" else Language(name), [Word(x) for x in words[:_MAX_EXAMPLES]]]
        for name, words in (entry.get("examples") or {}).items()
        if words
    ]
    if examples:
        blocks.append(Table(["Went to", "For example"], examples))
    return Section("Vocabulary reallocation", entry.get("text") or "", blocks)


def refinement(run: Run, others: Sequence[Run]) -> Section | None:
    """The figures of each alignment's fit in a table, and series of figures as curves."""
    alignments = _static(run).get("alignments")
    if not alignments:
        return None
    last: dict[str, dict[str, Cell]] = {}
    series: dict[str, list[Line]] = {}
    for pair, info in alignments.items():
        last[pair] = {}
        for name, value in info.items():
            if isinstance(value, list) and value and all(is_number(x) for x in value):
                if len(value) > 1:
                    line = Line(pair, points=list(enumerate(value, 1)))
                    series.setdefault(name, []).append(line)
                value = value[-1]
            if isinstance(value, str) or is_number(value):
                last[pair][name] = value
    names = list(dict.fromkeys(name for row in last.values() for name in row))
    heads = ["Map", *(name.replace("_", " ") for name in names)]
    rows = [[pair_name(pair), *(row.get(x, "–") for x in names)] for pair, row in last.items()]
    charts = [
        Chart(f"Alignment: {name.replace('_', ' ')}", lines, x="round", whole_x=True)
        for name, lines in series.items()
    ]
    return Section("Alignment", "", [Table(heads, rows), *charts])


def files(run: Run, others: Sequence[Run]) -> Section | None:
    """The induced dictionaries and the vectors, files that other programs can read."""
    induced = _static(run).get("induced")
    if not induced:
        return None
    text = (
        "Pairs of words that are each other's nearest by CSLS, in MUSE's format: "
        "--config.data.dictionaries=WORKDIR/induced pretrains DICT-MLM on them. Vectors of all "
        "languages in one space are in vectors/."
    )
    rows = [[Word(f"induced/{x}.txt", style="code"), Number(n)] for x, n in induced.items()]
    table = Table(["File", Column("Pairs", "count")], rows)
    return Section("Induced dictionaries and vectors", text, [table])


def stages(run: Run) -> dict[str, Cell]:
    """Name of each stage -> its wall time."""
    seconds = _static(run).get("stages") or {}
    return {name.capitalize(): figures.seconds(value) for name, value in seconds.items()}
