"""What the report says of sentence retrieval: its headlines, its test sets and its section."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from clwe_jax.report import figures, floor
from clwe_jax.report.data import BLUE, GREEN, Chart, Column, Line, Section, Table
from clwe_jax.report.figure_tables import pair_name, table
from clwe_jax.report.headline import FLOOR, Headline
from clwe_jax.report.run_folder import RunFolder, finite

_NAME = "retrieval"
_SIF = f"{_NAME}/sif"
# Method of comparison -> ending of the metric's name, and its name in a sentence.
_METHODS = {"plain": "", "centered": "_centered", "CSLS": "_csls"}
_SAID = {"plain": "cosine", "centered": "cosine after centering", "CSLS": "CSLS"}
# Method -> name of its figure in a comparison, which does not show the others.
_KEYS = {"plain": _NAME, "CSLS": f"{_NAME}_csls"}
_CHANCE = f"{_NAME}/*/chance"
_LAYER = re.compile(r"layer(\d+)/")
_MANY = (
    5  # the number of a last layer that is described in general words, as where none was measured
)


def describe_last_layers(results: Mapping[str, float]) -> str:
    """The layers that 'mean_last4' stands for: 'the last four layers', or 'layers 1 and 2' where that is all."""
    last = max(figures.over_star(results, f"{_NAME}/layer*/acc@1"), default=_MANY)
    names = {0: "the only layer", 1: "the only layer", 2: "layers 1 and 2"}
    return names.get(last, f"layers 1 to {last}" if last <= 4 else "the last four layers")


def _headline(how: str, metric: str, label: str, floors: Sequence[str], **more: Any) -> Headline:
    ending = _METHODS[how]
    return Headline(
        f"{_NAME}/*/{metric}{ending}",
        label if how == "plain" else f"{label}, {how}",
        floors=[f"{FLOOR}{path}/*/mean{ending}" for path in floors],
        chance=_CHANCE,
        sentence=f"{{}} of the sentences find their translation by {_SAID[how]}",
        meaning="share of sentences that find their translation; good from 50% on",
        **more,
    )


# The first measured floor is shown. The words of `_NAME` are weighted by inverse document frequency, as in the own
# vectors of a static encoder, and those of `_SIF` by SIF, where the counts of words are known.
_OWN = {
    how: _headline(
        how,
        "mean",
        "Retrieval, own vectors",
        (_NAME, _SIF),
        group="own vectors",
        key=_KEYS.get(how, ""),
    )
    for how in _METHODS
}
# Vectors as `Model.encode` gives them where the run counted its words. A comparison shows this figure beside that of
# the own vectors, which the papers measure; a run's own page has a table of it.
_OWN_SIF = Headline(
    f"{_SIF}/*/mean_csls",
    "Retrieval, own vectors, SIF, CSLS",
    floors=(f"{FLOOR}{_SIF}/*/mean_csls",),
    chance=_CHANCE,
    group="own vectors",
    key=f"{_NAME}_sif",
)
_LAST = {
    how: _headline(
        how, "mean_last4", "Retrieval, last layers", (_SIF, _NAME), layers=describe_last_layers
    )
    for how in _METHODS
}
_LAST_SIF = Headline(
    f"{_SIF}/*/mean_last4_csls",
    "Retrieval, last layers, SIF, CSLS",
    floors=(f"{FLOOR}{_SIF}/*/mean_csls",),
    chance=_CHANCE,
    layers=describe_last_layers,
)
# CSLS comes last of the own vectors: the last measured one of a group is shown.
HEADLINES = (_OWN["plain"], _OWN["centered"], _OWN_SIF, _OWN["CSLS"], _LAST_SIF, *_LAST.values())


def describe_tests(run: RunFolder) -> str:
    """The test sets of all pairs: 'tatoeba, 2 language pairs, 2,000 sentence pairs'."""
    by_pair = figures.by_pair(run.figures, _NAME)
    # Both directions of a pair have the same sentences. Names of languages have no hyphen.
    pairs = {frozenset(pair.split("-")): pair for pair in by_pair}.values()
    chances = [by_pair[pair].get("chance") for pair in pairs]
    count = sum(
        round(1 / chance) for chance in chances if chance
    )  # chance is one over the sentences
    pairs_text = f"{len(pairs)} language pairs" if len(pairs) > 1 else ""
    size = f"{figures.count(count)} sentence pairs" if count else ""
    return ", ".join(filter(None, (run.test_folder(_NAME), pairs_text, size)))


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Sentence retrieval by layer (as in Fig. 3 of the DICT-MLM paper), by pair, over training."""
    by_pair = figures.by_pair(run.figures, _NAME)
    pairs = {pair: pair_name(pair) for pair in by_pair}
    blocks = _by_layer(run, others)
    last = describe_last_layers(run.figures)
    text = (
        "The share of sentences whose nearest neighbour among all sentences of the other language "
        "is their translation. Plain: by cosine. Centered: after each language's mean vector was "
        "subtracted. CSLS: by cosine, less the mean similarity to each side's ten nearest.\nThe "
        "encoder's own sentence vector is, for a language model, the mean of the pieces' vectors "
        f"in {last}, for a translator that of its encoder and, for static vectors, the mean of the "
        "words' vectors weighted by inverse document frequency."
    )
    if blocks:
        text += (
            f" By layer: the mean of the pieces' vectors, of layer 0 (the embeddings) and the others; shaded: {last}. "
            "The encoder's own vector averages layers before the search; a mean of accuracies averages afterwards. "
            "Layers are measured in one direction of each pair of languages, the encoder's own vector in both."
        )
    sif = figures.by_pair(run.figures, _SIF)
    if sif:
        text += (
            " SIF: words weighted, as in `encode`, by a / (a + p), where p is their share in the run's "
            "text and a is 0.001."
        )
    with_floor = [how for how, headline in _LAST.items() if headline.floor(run.figures)]
    if with_floor:
        text += floor.TEXT
        if sif:
            text += " The floor weights words by inverse document frequency beside the own vector, else by SIF."
    how = (
        with_floor[-1] if with_floor else "plain"
    )  # the method whose floor is shown: CSLS where measured
    tests = describe_tests(run)
    of_tests = f" ({tests})" if tests else ""
    note = _note(run, others)
    own_path = _OWN[how].floor(run.figures)
    last_path = _LAST[how].floor(run.figures)  # by SIF where it was measured
    for name, title, path in (
        ("mean_last4", f"By language pair, mean of the accuracies of {last}", last_path),
        ("mean", "By language pair, the encoder's own sentence vector", own_path),
    ):
        columns = {f"{name}{end}": Column(method, "percent") for method, end in _METHODS.items()}
        sif_columns = dict(columns)
        if name == "mean":
            columns["mean_csls_k3"] = Column("CSLS, k = 3", "percent", main=False)
            columns["coverage"] = Column("Words with a vector", "percent", main=False)
        blocks += table(
            _NAME,
            pairs,
            columns,
            by_pair,
            "Pair",
            levels=floor.columns(run, path, _CHANCE, how),
            title=title + of_tests,
            note=note,
        )
        if sif:
            levels = floor.columns(run, last_path, _CHANCE, how)
            title = f"{title}, SIF{of_tests}"
            blocks += table(_SIF, pairs, sif_columns, sif, "Pair", levels=levels, title=title)
    lines = [Line(method, headline.mean) for method, headline in _LAST.items()]
    steps = finite(run.series.get(lines[0].metric, {}))
    if steps:
        levels = floor.levels(run, last_path, _CHANCE, how)
        lines += floor.lines((min(steps), max(steps)), levels)
    blocks.append(Chart(f"Over training, mean of {last}", lines, form="percent"))
    sif_lines = [Line(method, f"{_SIF}/mean_last4{end}") for method, end in _METHODS.items()]
    blocks.append(Chart(f"Over training, SIF, mean of {last}", sif_lines, form="percent"))
    blocks += _every_layer(by_pair, pairs)
    return Section("Sentence retrieval", text, blocks) if pairs or steps else None


def _every_layer(
    by_pair: Mapping[str, Mapping[str, float]], pairs: Mapping[str, str]
) -> list[Table]:
    """A collapsed table for each method, with every pair and layer; `closed` is the line that opens it."""
    names = set().union(*by_pair.values())
    layers = sorted({int(match[1]) for match in map(_LAYER.match, names) if match})
    tables = []
    for method, end in _METHODS.items():
        columns = {
            f"layer{k}/acc@1{end}": Column(f"layer {k}", "percent", main=False) for k in layers
        }
        closed = f"Every pair and layer, {method}"
        tables += table(_NAME, pairs, columns, by_pair, "Pair", mean=False, closed=closed)
    return tables


def _by_layer(run: RunFolder, others: Sequence[RunFolder]) -> list[Chart]:
    """A chart of each method, all with the same y axis."""
    metrics = {method: f"{_NAME}/layer*/acc@1{end}" for method, end in _METHODS.items()}
    sif_metrics = {method: f"{_SIF}/layer*/acc@1{end}" for method, end in _METHODS.items()}
    levels = {
        method: floor.levels(run, headline.floor(run.figures), _CHANCE)
        for method, headline in _LAST.items()
    }
    values: list[float] = []
    for method, metric in metrics.items():
        for shown_run in (run, *others):
            values += figures.over_star(shown_run.figures, metric).values()
        values += figures.over_star(run.figures, sif_metrics[method]).values()
        values += (level or 0.0 for level in levels[method].values())
    highest = max(values, default=0.0)
    charts = []
    for method, metric in metrics.items():
        layers = figures.over_star(run.figures, metric)
        last_layers = [layer for layer in layers if layer > 0][-4:]
        if last_layers:
            sif = figures.over_star(run.figures, sif_metrics[method])
            charts.append(
                Chart(
                    f"Accuracy by layer, {method}",
                    [
                        Line("mean" if sif else "", metric=metric, colour=BLUE),
                        Line("SIF", metric=sif_metrics[method], colour=GREEN, compare=False),
                        *floor.lines((min(layers), max(layers)), levels[method]),
                    ],
                    x="layer",
                    form="percent",
                    whole_x=True,
                    y_range=(0, min(1.02, 1.08 * highest) or 1.0),
                    band=(last_layers[0] - 0.5, last_layers[-1] + 0.5),
                )
            )
    return charts


def _note(run: RunFolder, others: Sequence[RunFolder]) -> str:
    notes = []
    if any(name.startswith(f"{_NAME}/") and name.endswith("_low") for name in run.figures):
        notes.append("Below a figure: its 95% interval for this number of sentences.")
    if others:
        notes.append("Beside another run's figure: this run minus that run, in percentage points.")
    cut_share = run.figures.get(f"{_NAME}/cut", 0.0)
    if cut_share > 0:
        notes.append(f"{figures.percent(cut_share)} of the sentences were too long and were cut.")
    return " ".join(notes)
