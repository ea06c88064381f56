"""The data of a report: sections of tables, charts and pictures, which the page's template shows.

A job or an evaluator adds a section to report.json, and the page shows it without further code. A
section is an object with the fields of `Section`; its blocks are objects with a 'kind':

    report["sections"] = [{
        "title": "Named entities",
        "text": "F1 of whole names, by the language of the test set.",
        "blocks": [
            {"kind": "table",
             "columns": ["Language", {"head": "F1", "form": "percent"}],
             "rows": [[{"language": "de"}, {"metric": "ner/de/f1"}]]},
            {"kind": "chart", "title": "F1 over training", "form": "percent",
             "lines": [{"label": "de", "metric": "ner/de/f1"}]},
        ],
    }]

`to_json(Section(...))` makes the same object. A cell or a line that names a metric shows its
figures in results.json and metrics.jsonl. The page adds the metric's interval (METRIC_low, METRIC_high) and
the same metric of every compared run: one column per run in tables, one dashed line in charts.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence, Union

# Colours of lines and dots: places in `plots.PALETTE`.
BLUE, RED, GREEN, VIOLET, ORANGE = range(5)
NEUTRAL = -1

Points = Sequence[Sequence[float]]  # [x, y] each


@dataclasses.dataclass(frozen=True)
class Metric:
    """A cell: the figure at a path of results.json."""

    kind = "metric"
    metric: str


@dataclasses.dataclass(frozen=True)
class Number:
    """A cell: a number, by which its column is sorted."""

    kind = "number"
    value: float | None  # None is shown as a dash
    form: str = ""  # a key of `figures.FORMS`; '': the column's form
    low: float | None = None  # ends of the value's confidence interval
    high: float | None = None
    change: float | None = None  # difference to another run's value, in the value's unit
    below: str = ""  # small text below the number
    bar: Sequence[float | None] = ()  # length of a bar and position of a mark on it, in [0, 1]


@dataclasses.dataclass(frozen=True)
class Word:
    """A cell or a part of one: a word of some language."""

    kind = "word"
    text: str
    language: str = ""  # its code; browsers choose the font by it
    style: str = ""  # '', 'strong', 'soft' or 'code'
    tagged: bool = False  # whether a coloured tag names the language
    after: str = ""  # small text after the word, e.g. a similarity
    below: str = ""  # small text below the word


@dataclasses.dataclass(frozen=True)
class Language:
    """A cell or a part of one: a language's code on its colour."""

    kind = "language"
    language: str


@dataclasses.dataclass(frozen=True)
class Stack:
    """A cell of several cells, one below the other."""

    kind = "stack"
    stack: Sequence["Cell"]


# A sequence of cells is shown in one line if it fits.
Cell = Union[str, int, float, None, Metric, Number, Word, Language, Stack, Sequence["Cell"]]


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table."""

    kind = "column"
    head: str
    form: str = ""  # a key of `figures.FORMS`
    # Whether a wide table shows it at once, the page adds other runs' columns to it, and the
    # terminal prints it.
    main: bool = True


@dataclasses.dataclass(frozen=True)
class Table:
    """A table that a click on a column's head sorts."""

    kind = "table"
    columns: Sequence[Column | str]  # a string is the head of a column
    rows: Sequence[Sequence[Cell]]
    total: Sequence[Cell] | None = None  # a row that sorting leaves last
    title: Cell = ""
    note: str = ""  # small text below the table
    closed: str = ""  # the line that opens the table; '': the table starts open unless it is long
    filters: Sequence[int] = ()  # columns to filter by; a table with filters scrolls in a box

    def __post_init__(self) -> None:
        for row in (*self.rows, *([self.total] if self.total is not None else [])):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a table of {len(self.columns)} columns has a row of {len(row)} cells"
                )


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a chart.

    Its metric is a path of metrics.jsonl, drawn over the steps. A metric with a star, such as
    'toy/layer*/acc', stands for paths of results.json, drawn over the star's number.
    """

    kind = "line"
    label: str = ""  # in the legend; '' for none
    metric: str = ""
    points: Points = ()  # the points of a line without a metric
    colour: int | None = None  # a place in `plots.PALETTE`; None: the line's place in the chart
    dash: int = 0  # 0: solid; 1, 2, ...: patterns of dashes
    faint: bool = False  # thin and pale, for one of very many lines
    compare: bool = True  # whether the page adds other runs' lines


@dataclasses.dataclass(frozen=True)
class Chart:
    """A line chart. Lines without points are left out; a chart needs a line of two points."""

    kind = "chart"
    title: str
    lines: Sequence[Line]
    x: str = "step"  # titles of the axes
    y: str = ""
    form: str = ""  # 'percent' where the values are fractions
    whole_x: bool = False  # whether every tick of the x axis is a whole number
    y_range: Sequence[float] | None = None  # ends of the y axis; None: from the data
    band: Sequence[float] | None = None  # ends of the shaded part of the x axis


@dataclasses.dataclass(frozen=True)
class Dots:
    """Points of one colour in a picture."""

    kind = "dots"
    label: str  # in the legend; '' for none
    points: Points
    labels: Sequence[str] = ()  # a label beside each point, or none
    colour: int = BLUE  # a place in `plots.PALETTE`
    strong: bool = False  # whether the dots are large and their labels bold


@dataclasses.dataclass(frozen=True)
class Picture:
    """Points in a plane without axes, or of a share against a cost."""

    kind = "picture"
    title: str
    dots: Sequence[Dots]
    joins: Sequence[Points] = ()  # pairs of points that thin lines join
    # Titles of the axes, a logarithmic one and one in percent; '': no axes.
    x: str = ""
    y: str = ""


@dataclasses.dataclass(frozen=True)
class Facts:
    """Names and values side by side; values that are None are left out."""

    kind = "facts"
    facts: Mapping[str, Cell]


@dataclasses.dataclass(frozen=True)
class Text:
    """A title, a paragraph, a list and a text in a monospaced font; each may be absent."""

    kind = "text"
    text: Cell = ""
    title: Cell = ""
    points: Sequence[str] = ()
    code: str = ""


@dataclasses.dataclass(frozen=True)
class SentenceBlock:
    """A sentence, word by word."""

    kind = "sentence"
    language: str
    words: Sequence[Word]


@dataclasses.dataclass(frozen=True)
class Closed:
    """Blocks that a click on their title opens."""

    kind = "closed"
    title: str
    blocks: Sequence["Block"]


Block = Union[Table, Chart, Picture, Facts, Text, SentenceBlock, Closed]


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page; neighbouring charts and pictures stand side by side."""

    kind = "section"
    title: str  # also its entry in the list of contents
    text: str = ""  # sentences about the figures; each line is a paragraph
    blocks: Sequence[Block] = ()


# Every dataclass of this module is a part of a section.
_KINDS = {part.kind: part for part in list(globals().values()) if dataclasses.is_dataclass(part)}
# Objects in these fields need no 'kind'; nor do cells, which a field of _CELLS identifies.
_FIELDS = {"columns": Column, "lines": Line, "dots": Dots, "words": Word, "facts": dict}
_CELLS = {"metric": Metric, "value": Number, "text": Word, "language": Language, "stack": Stack}


def section_from_json(value: Any) -> Section:
    """The section that JSON describes.

    Raises:
      TypeError, ValueError: a field or kind is unknown or missing; the error names it.
    """
    if not isinstance(value, dict):
        raise ValueError(f"expected an object with the fields of a section, not {value!r:.60}")
    return _from_json(value, Section)


def _from_json(value: Any, kind: type | None = None) -> Any:
    if isinstance(value, list):
        return [_from_json(part, kind) for part in value]
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        kind = _KINDS.get(value["kind"])
        if kind is None:
            raise ValueError(f"kind {value['kind']!r} is none of {', '.join(_KINDS)}")
    kind = kind or next((cell for name, cell in _CELLS.items() if name in value), None)
    if kind is None:
        raise ValueError(
            f"{value!r:.60} has no kind and none of a cell's fields {', '.join(_CELLS)}"
        )
    parts = {} if kind is dict else _FIELDS
    return kind(**{k: _from_json(x, parts.get(k)) for k, x in value.items() if k != "kind"})


def to_json(value: Any) -> Any:
    """A section or a part of one as JSON for `section_from_json`, without fields at defaults."""
    if isinstance(value, Mapping):
        return {key: to_json(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(x) for x in value]
    if not dataclasses.is_dataclass(value):
        return value
    fields = {x.name: (getattr(value, x.name), x.default) for x in dataclasses.fields(value)}
    return {"kind": value.kind, **{k: to_json(x) for k, (x, y) in fields.items() if x != y}}
