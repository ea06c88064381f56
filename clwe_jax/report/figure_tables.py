"""Tables of figures by subject, such as a pair of languages."""

from __future__ import annotations

from typing import Mapping

from clwe_jax.report.data import Cell, Column, Metric, Number, Table

Figures = Mapping[str, Mapping[str, float]]  # subject, such as a language pair -> metric -> value


ARROW = "\u00a0→\u00a0"  # with spaces that do not break


def pair_name(pair: str) -> str:
    """'de-en' -> 'de → en'; the page writes the languages' names out."""
    return pair.replace("-", ARROW)


def table(
    prefix: str,
    subjects: Mapping[str, Cell],
    columns: Mapping[str, Column],
    by_subject: Figures,
    head: str,
    mean: bool = True,
    sets: Mapping[str, Cell] | None = None,
    levels: Figures = {},
    **options: str,
) -> list[Table]:
    """A table of the figures PREFIX/SUBJECT/METRIC, one row per subject; [] without figures.

    Args:
      subjects: subject -> first cell of its row; a subject without figures has no row.
      columns: metric -> its column; a metric without figures has no column.
      by_subject: the figures.
      mean: whether the means PREFIX/METRIC are the last row.
      sets: subject -> the cell of its test set, in a further column; None: no such column.
      levels: head of a last column, of percent, -> subject -> value; other runs share them.
      **options: the fields title, note and closed of the table.
    """
    measured = set().union(*(by_subject[subject] for subject in subjects))
    names = [name for name in columns if name in measured]
    row_subjects = [x for x in subjects if by_subject[x].keys() & set(names)]
    rows = [
        [subjects[x], *(Metric(f"{prefix}/{x}/{m}") for m in names), *([sets[x]] if sets else [])]
        for x in row_subjects
    ]
    total = ["mean", *(Metric(f"{prefix}/{m}") for m in names)] if mean else None
    heads = [Column(head), *(columns[name] for name in names)]
    if sets:
        heads.append(Column("Test set", main=False))
        total = total and [*total, ""]
    for level, values in levels.items():
        level_values = [values[x] for x in row_subjects if x in values]
        if level_values:
            heads.append(Column(level, "percent"))
            rows = [[*row, Number(values.get(x))] for row, x in zip(rows, row_subjects)]
            # Of the subjects that the table has: the level may be known of others too.
            total = total and [*total, Number(sum(level_values) / len(level_values))]
    return [Table(heads, rows, total, **options)] if names else []
