"""The section on translations that were mined from the text."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from clwe_jax.report import data
from clwe_jax.report.data import Block, Chart, Column, Language, Line, Metric, Number, Table, Word
from clwe_jax.report.measures import pair_name

_COUNTS = {
    "mutual": "Mutual best", "supported": "Supported", "by_chance": "By chance", "taken": "Taken",
}  # fmt: skip
# Kind and least margin of the pairs that a judge was asked about -> the column's head.
_JUDGED = {
    "taken/1.5": "Taken, margin 1.5", "taken/1.2": "1.2", "taken/1.02": "1.02",
    "taken/beside": "Beside another", "refused/1.5": "Refused, margin 1.5", "refused/1.2": "1.2",
    "refused/1.02": "1.02",
}  # fmt: skip
_SHOWN = 12  # pairs of sentences of each pair of languages
_TEXT = (
    "Sentences of two languages that are each other's best by margin, and that lie beside another "
    "such pair in both texts, are taken as translations; links of their words add to the dictionary. "
    "By chance: the pairs that shuffled text would support. From two languages with too few supported "
    "pairs nothing is taken. mined/ has all pairs, and those that were refused."
)


class Pair(NamedTuple):
    """The mined pairs of two languages.

    Attributes:
      name: 'de-en'.
      sentences: (margin, place, place, sentence, translation), best first.
      refused: the same of pairs that nothing supports.
      words: (word, translation, count) of the most frequent new links.
      links, new: numbers of links, and of those that the dictionary lacks.
    """

    name: str
    sentences: Sequence[tuple[str, ...]]
    refused: Sequence[tuple[str, ...]]
    words: Sequence[tuple[str, str, float]]
    links: int
    new: int


def sections(
    rounds: Sequence[Mapping[str, Any]], pairs: Sequence[Pair], figures: Mapping[str, float]
) -> list[Any]:
    """The section as JSON, for report.json; [] where no text was mined.

    Args:
      rounds: the figures of each round and pair of languages.
      figures: mined/{pair}/precision and recall, where they are known.
    """
    if not rounds:
        return []
    last = {row["pair"]: row for row in rounds}
    known = {pair.name: pair for pair in pairs}
    columns = [Column("Pair"), *(Column(head, "count") for head in _COUNTS.values())]
    columns += [Column("Links of words", "count"), Column("New", "count")]
    measured = [x for x in ("precision", "recall") if any(y.endswith(x) for y in figures)]
    columns += [Column(name.capitalize(), "percent") for name in measured]
    rows = [
        [
            pair_name(name), *(Number(row[key]) for key in _COUNTS), Number(known[name].links),
            Number(known[name].new), *(Metric(f"mined/{name}/{x}") for x in measured),
        ]
        for name, row in last.items()
    ]  # fmt: skip
    blocks: list[Block] = [Table(columns, rows)]
    if any("/judged/" in name for name in figures):
        heads = [Column("Pair"), *(Column(head, "percent") for head in _JUDGED.values())]
        judged = [
            [pair_name(x), *(Metric(f"mined/{x}/judged/{band}") for band in _JUDGED)] for x in last
        ]
        note = (
            "Sentences that are each other's nearest for the judge, among some hundred of each band. "
            "It misses some true pairs too."
        )
        blocks.append(Table(heads, judged, title="Pairs that the judge accepts", note=note))
    curves = [
        Line(name, points=[(row["round"], row["taken"]) for row in rounds if row["pair"] == name])
        for name in last
        if known[name].sentences
    ]
    if any(len(line.points) > 1 for line in curves):
        blocks.append(Chart("Mined pairs of sentences", curves, x="round", whole_x=True))
    for pair in pairs:
        blocks += _examples(pair)
    return [data.to_json(data.Section("Mined translations", _TEXT, blocks))]


def _examples(pair: Pair) -> list[Block]:
    """Tables of sentences that were taken, of words that are new, and of refused sentences."""
    source, _, target = pair.name.partition("-")
    heads = ["Margin", Language(source).language, Language(target).language]
    step = max(1, len(pair.sentences) // _SHOWN)
    shown = {"Taken": pair.sentences[::step][:_SHOWN], "Refused": pair.refused}
    blocks: list[Block] = []
    for kind, sentences in shown.items():
        if sentences:
            rows = [
                [margin, Word(x[:200], source), Word(y[:200], target)]
                for margin, _, _, x, y in sentences
            ]
            title = f"{pair_name(pair.name)}: {kind.lower()}"
            blocks.append(Table(heads, rows, closed=f"{title}, {len(rows)} examples"))
    if pair.words:
        rows = [[Word(a, source), Word(b, target), Number(count)] for a, b, count in pair.words]
        columns = [source, target, Column("Links", "count")]
        blocks.append(
            Table(columns, rows, closed=f"{pair_name(pair.name)}: new in the dictionary")
        )
    return blocks
