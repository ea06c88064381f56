"""What the page and the terminal say of static vectors: alignment, errors, files, mined translations."""

from __future__ import annotations

import itertools
from typing import Any, Mapping, NamedTuple, Sequence

from clwe_jax.report import data, figures, page, verdict
from clwe_jax.report.data import (
    BLUE,
    GREEN,
    ORANGE,
    Block,
    Cell,
    Chart,
    Closed,
    Column,
    Dots,
    Language,
    Line,
    Metric,
    Number,
    Picture,
    Section,
    Table,
    Word,
)
from clwe_jax.report.figure_tables import pair_name
from clwe_jax.report.run_folder import RunFolder, is_number
from clwe_jax.report.verdict import Offer
from clwe_jax.text.spread import spread
from clwe_jax.text.words.languages import name_of

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
_COLOURS = {"source": BLUE, "target": ORANGE, "shared": GREEN}
MAX_PAIRS = 6  # language pairs that are drawn, and shown with examples
_MAX_LINES = 10  # of a chart
_TITLES = {"before": "before", "reallocated": "after reallocation", "after": "after alignment"}
_COUNTS = {
    "mutual": "Mutual best",
    "supported": "Supported",
    "by_chance": "By chance",
    "taken": "Taken",
}
# Kind and least margin of the pairs that a judge was asked about -> the column's head.
_JUDGED = {
    "taken/1.5": "Taken, margin 1.5",
    "taken/1.2": "1.2",
    "taken/1.02": "1.02",
    "taken/beside": "Beside another",
    "refused/1.5": "Refused, margin 1.5",
    "refused/1.2": "1.2",
    "refused/1.02": "1.02",
}
_MAX_SENTENCES = 12  # pairs of sentences of each pair of languages
_MINED = (
    "Two sentences are taken as translations if each is the other's best by margin (mutual best) and if "
    "another such pair stands near them in both texts (supported). Their words are linked, and the links "
    "are added to the dictionary. By chance: the number of pairs that shuffled text would support. From two "
    "languages with hardly more supported pairs than that, nothing is taken. The folder mined/ has all pairs, "
    "also the refused ones; the examples are of the languages with most pairs."
)


def _static(run: RunFolder) -> Mapping[str, Any]:
    return run.extras.get("static") or {}


def errors(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
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


def vocabulary(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The numbers of words that reallocation gives to each language, with examples."""
    entry = _static(run).get("vocabulary")
    if not entry:
        return None
    heads = {"words": "Words", "own": "Its own", "shared": "Shared", "lost": "Given to another"}
    counts = entry["languages"]
    heads = {key: head for key, head in heads.items() if any(key in row for row in counts.values())}
    rows = [[Language(name), *(Number(row.get(x)) for x in heads)] for name, row in counts.items()]
    blocks = [Table(["Language", *(Column(head, "count") for head in heads.values())], rows)]
    examples = []
    for name, words in (entry.get("examples") or {}).items():
        is_shared = name == "shared"
        if words:
            cells = [Word(x, "" if is_shared else name) for x in words[:_MAX_EXAMPLES]]
            examples.append([name if is_shared else Language(name), cells])
    if examples:
        blocks.append(Table(["Went to", "For example"], examples))
    return Section("Vocabulary reallocation", entry.get("text") or "", blocks)


def refinement(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
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
    names = list(dict.fromkeys(itertools.chain.from_iterable(last.values())))
    heads = ["Map", *(name.replace("_", " ") for name in names)]
    rows = [[pair_name(pair), *(row.get(x, "–") for x in names)] for pair, row in last.items()]
    charts = [
        Chart(f"Alignment: {name.replace('_', ' ')}", lines[:_MAX_LINES], x="round", whole_x=True)
        for name, lines in series.items()
    ]
    text = "What each aligner recorded of its last round. The loss of RCSLS is negative in a good space."
    return Section("Alignment", text, [Table(heads, rows), *charts])


def files(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The induced dictionaries and the vectors, files that other programs can read."""
    induced = _static(run).get("induced")
    if not induced:
        return None
    text = (
        "Pairs of words in MUSE's format. The best translation of a word is its entry in the dictionary, "
        "or else the nearest word by CSLS; a pair is each other's best. "
        "--config.data.dictionaries=WORKDIR/induced trains DICT-MLM with these files."
    )
    title = "Induced dictionaries"
    if run.option("static.write_text"):
        text += " Vectors of all languages in one space are in vectors/."
        title += " and vectors"
    rows = [[Word(f"induced/{x}.txt", style="code"), Number(n)] for x, n in induced.items()]
    table = Table(["File", Column("Pairs", "count")], rows)
    return Section(title, text, [table])


def projection(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The pictures of each language pair, side by side."""
    by_pair = (run.extras.get("static") or {}).get("projection") or {}
    blocks: list[Block] = []
    for pair, stages in by_pair.items():
        drawings = {title: stages[x] for x, title in _TITLES.items() if stages.get(x)}
        if drawings:
            pictures = [_picture(pair, title, stage) for title, stage in drawings.items()]
            blocks.append(Closed(f"{pair_name(pair)}: {', '.join(drawings)}", pictures))
    if not blocks:
        return None
    text = (
        "Frequent words of two languages on the first two principal components of the vectors in "
        "each picture. Lines join translations of the dictionary: the shorter they are, the better "
        "the two languages are aligned."
    )
    aligned = any(stages.get("after") for stages in by_pair.values())
    return Section("Before and after alignment" if aligned else "Pairs of languages", text, blocks)


def _picture(pair: str, title: str, stage: Mapping[str, Any]) -> Picture:
    source, _, target = pair.partition("-")
    names = {"source": source, "target": target}
    if stage.get("shared"):
        names = {x: f"{name_of(language)} alone" for x, language in names.items()}
        names["shared"] = "in both languages"
    dots = [
        Dots(label, stage[name], colour=_COLOURS[name])
        for name, label in names.items()
        if stage.get(name)
    ]
    return Picture(title, dots, stage.get("pairs", ()))


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
    pair_of = {pair.name: pair for pair in pairs}
    columns = [Column("Pair"), *(Column(head, "count") for head in _COUNTS.values())]
    columns += [Column("Links of words", "count"), Column("New", "count")]
    metric_names = [x for x in ("precision", "recall") if any(y.endswith(x) for y in figures)]
    columns += [Column(name.capitalize(), "percent") for name in metric_names]
    rows = []
    for name, row in last.items():
        counts = [*(row[key] for key in _COUNTS), pair_of[name].links, pair_of[name].new]
        metrics = [Metric(f"mined/{name}/{x}") for x in metric_names]
        rows.append([pair_name(name), *map(Number, counts), *metrics])
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
    curves = []
    for name in [x for x in last if pair_of[x].sentences][:_MAX_LINES]:
        points = [(row["round"], row["taken"]) for row in rounds if row["pair"] == name]
        curves.append(Line(name, points=points))
    if any(len(line.points) > 1 for line in curves):
        blocks.append(Chart("Mined pairs of sentences", curves, x="round", whole_x=True))
    # Pairs from which much was taken say most.
    for pair in sorted(pairs, key=lambda pair: -len(pair.sentences))[:MAX_PAIRS]:
        blocks += _examples(pair)
    return [data.to_json(data.Section("Mined translations", _MINED, blocks))]


def _examples(pair: Pair) -> list[Block]:
    """Tables of sentences that were taken, of words that are new, and of refused sentences."""
    source, _, target = pair.name.partition("-")
    heads = ["Margin", Language(source).language, Language(target).language]
    sentence_sets = {"Taken": spread(pair.sentences, _MAX_SENTENCES), "Refused": pair.refused}
    blocks: list[Block] = []
    for kind, sentences in sentence_sets.items():
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
        blocks.append(Table(columns, rows, closed=f"{pair_name(pair.name)}: new in the dictionary"))
    return blocks


class StaticPage(page.Page):
    """The page of a run on static vectors."""

    purpose = "looking up translations and related words, and as input features of other programs"
    own_sections = (projection, errors, vocabulary, refinement, files)

    def next_step(self, run):
        if run.option("static.training") == "dictionary" or run.option("static.dictionary_dim"):
            return (
                "More pairs in the dictionary or more text help: `clwe-jax data wiktionary`, "
                "docs/vectors.md.",
                "",
            )
        return (
            "The dictionary's vectors beside the trained ones are above both:",
            verdict.command(run, "joint_dictionary"),
        )

    def offers(self, run):
        folder = run.workdir
        offers = [
            Offer(
                f"Judge {size:,} proposed entries in {name_of(pair.partition('-')[0])}",
                page=f"lexicon-{pair}.html",
            )
            for pair, size in (_static(run).get("proposed") or {}).items()
            if size
        ]
        return [
            *offers,
            Offer(
                "Ask for translations and neighbours, on a page of its own:",
                f"clwe-jax explore {folder}",
            ),
        ]

    def facts(self, run):
        seconds = _static(run).get("stages") or {}
        return {name.capitalize(): figures.seconds(value) for name, value in seconds.items()}

    def vectors(self, run):
        source, target = (run.option(f"align.{x}_vectors") or "" for x in ("source", "target"))
        return f"{source}, {target}".rstrip(", ") if source else ""
