"""What the report says of sentence retrieval: its headlines, its test sets and its section."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from clwe_jax.report import figures, floor
from clwe_jax.report.data import BLUE, GREEN, Chart, Column, Line, Section, Table
from clwe_jax.report.figure_tables import pair_name, table
from clwe_jax.report.headline import FLOOR, Headline
from clwe_jax.report.run_folder import RunFolder, finite
from clwe_jax.text.corpus.frequencies import SIF

_NAME = "retrieval"
_WEIGHTED = f"{_NAME}/{SIF}"  # of language models
# Method of comparison -> ending of the metric's name, and its name in a sentence.
_METHODS = {"plain": "", "centered": "_centered", "CSLS": "_csls"}
_SAID = {"plain": "cosine", "centered": "cosine after centering", "CSLS": "CSLS"}
# Method -> name of its figure in a comparison, which does not show the others.
_KEYS = {"plain": _NAME, "CSLS": f"{_NAME}_csls"}
_CHANCE = f"{_NAME}/*/chance"
_LAYER = re.compile(r"layer(\d+)/")
# Any number above 4: describes 'the last four layers' where no layer was measured.
_MANY = 5


def describe_last_layers(results: Mapping[str, float]) -> str:
    """The layers that 'mean_last4' stands for: 'the last four layers', or 'layers 1 and 2' where that is all."""
    last = max(figures.over_star(results, f"{_NAME}/layer*/acc@1"), default=_MANY)
    names = {0: "the only layer", 1: "the only layer", 2: "layers 1 and 2"}
    return names.get(last, f"layers 1 to {last}" if last <= 4 else "the last four layers")


def _headline(how: str, metric: str, label: str, **more: Any) -> Headline:
    ending = _METHODS[how]
    return Headline(
        f"{metric}{ending}",
        label if how == "plain" else f"{label}, {how}",
        floors=[f"{FLOOR}{_NAME}/*/mean{ending}"],
        chance=_CHANCE,
        sentence=f"{{}} of the sentences find their translation by {_SAID[how]}",
        meaning="share of sentences that find their translation; good from 50% on",
        short="Retrieval" if how == "plain" else f"Retrieval by {how}",
        **more,
    )


# The vectors of sentences that the papers measure: of a language model all pieces weigh the same.
_OWN = {
    how: _headline(
        how,
        f"{_NAME}/*/mean",
        "Retrieval, own vectors",
        group="own vectors",
        key=_KEYS.get(how, ""),
    )
    for how in _METHODS
}
# The vectors that `Model.encode` gives where a language model counted its words. Comparisons prefer them.
_ENCODED = {
    how: _headline(
        how, f"{_WEIGHTED}/*/mean", "Retrieval, vectors of encode", group="own vectors", key=key
    )
    for how, key in _KEYS.items()
}
_LAST = {
    how: _headline(
        how, f"{_NAME}/*/mean_last4", "Retrieval, last layers", layers=describe_last_layers
    )
    for how in _METHODS
}
_LAST_WEIGHTED = _headline(
    "CSLS", f"{_WEIGHTED}/*/mean_last4", "Retrieval, last layers, SIF", layers=describe_last_layers
)
# Of a group the last measured headline is shown. The last one with a floor (else the last measured one) leads the
# verdict: `_LAST` by CSLS, as in the papers. New headlines go before `_LAST`.
HEADLINES = (*_OWN.values(), *_ENCODED.values(), _LAST_WEIGHTED, *_LAST.values())


def describe_tests(run: RunFolder) -> str:
    """The test sets of all pairs: 'tatoeba, 2 language pairs, 2,000 sentence pairs'."""
    by_pair = figures.by_pair(run.figures, _NAME)
    # Both directions of a pair have the same sentences. Names of languages have no hyphen.
    pairs = {frozenset(pair.split("-")): pair for pair in by_pair}.values()
    chances = [by_pair[pair].get("chance") for pair in pairs]
    # Chance is one over the number of sentences.
    count = sum(round(1 / chance) for chance in chances if chance)
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
        "subtracted. CSLS: by cosine, less the mean similarity to each side's nearest "
        "(config.evals.retrieval.neighbourhood, ten by default).\nThe encoder's own sentence vector "
        f"is, for a language model, the mean of the pieces' vectors in {last} (or what its authors "
        "say), for a translator that of its encoder and, for static vectors, the mean of the words' "
        "vectors, by their information where the run counted them."
    )
    if blocks:
        text += (
            f" By layer: the mean of the pieces' vectors, of layer 0 (the embeddings) and the others; shaded: {last}. "
            "The encoder's own vector averages layers before the search; a mean of accuracies averages afterwards. "
            "Layers are measured in one direction of each pair of languages, the encoder's own vector in both."
        )
    weighted = figures.by_pair(run.figures, _WEIGHTED)
    if weighted:
        text += " SIF, as in `encode`: words weigh a / (a + p), p their share of the run's text, a .001."
    with_floor = [how for how, headline in _LAST.items() if headline.floor(run.figures)]
    if with_floor:
        text += floor.TEXT
    # The method whose floor is shown: CSLS where it was measured.
    how = with_floor[-1] if with_floor else "plain"
    tests = describe_tests(run)
    of_tests = f" ({tests})" if tests else ""
    note = _note(run, others)
    # One floor for all tables: the dictionary's vectors have one layer.
    floor_path = _OWN[how].floor(run.figures)
    levels = floor.columns(run, floor_path, _CHANCE, how)
    for name, title in (
        ("mean_last4", f"By language pair, mean of the accuracies of {last}"),
        ("mean", "By language pair, the encoder's own sentence vector"),
    ):
        columns = {f"{name}{end}": Column(method, "percent") for method, end in _METHODS.items()}
        weighted_columns = dict(columns)
        if name == "mean":
            columns["mean_csls_k3"] = Column("CSLS, k = 3", "percent", main=False)
            columns["coverage"] = Column("Words with a vector", "percent", main=False)
        blocks += table(
            _NAME, pairs, columns, by_pair, "Pair", levels=levels, title=title + of_tests, note=note
        )
        if weighted:
            sif = f"{title}, SIF{of_tests}"
            blocks += table(
                _WEIGHTED, pairs, weighted_columns, weighted, "Pair", levels=levels, title=sif
            )
    lines = [Line(method, headline.mean) for method, headline in _LAST.items()]
    steps = finite(run.series.get(lines[0].metric, {}))
    if steps:
        steps_range = min(steps), max(steps)
        lines += floor.lines(steps_range, floor.levels(run, floor_path, _CHANCE, how))
    blocks.append(Chart(f"Over training, mean of {last}", lines, form="percent"))
    lines = [Line(method, f"{_WEIGHTED}/mean_last4{end}") for method, end in _METHODS.items()]
    blocks.append(Chart(f"Over training, SIF, mean of {last}", lines, form="percent"))
    blocks += _every_layer(by_pair, pairs)
    return Section("Sentence retrieval", text, blocks) if pairs or steps else None


def _every_layer(
    by_pair: Mapping[str, Mapping[str, float]], pairs: Mapping[str, str]
) -> list[Table]:
    """Tables of every pair and layer, one for each method, folded until a click on their line."""
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
    weighted_metrics = {
        method: f"{_WEIGHTED}/layer*/acc@1{end}" for method, end in _METHODS.items()
    }
    levels = {
        method: floor.levels(run, headline.floor(run.figures), _CHANCE)
        for method, headline in _LAST.items()
    }
    values: list[float] = []
    for method, metric in metrics.items():
        for shown_run in (run, *others):
            values += figures.over_star(shown_run.figures, metric).values()
        values += figures.over_star(run.figures, weighted_metrics[method]).values()
        values += (level or 0.0 for level in levels[method].values())
    highest = max(values, default=0.0)
    charts = []
    for method, metric in metrics.items():
        layers = figures.over_star(run.figures, metric)
        last_layers = [layer for layer in layers if layer > 0][-4:]
        if last_layers:
            weighted = figures.over_star(run.figures, weighted_metrics[method])
            charts.append(
                Chart(
                    f"Accuracy by layer, {method}",
                    [
                        Line("mean" if weighted else "", metric=metric, colour=BLUE),
                        Line("SIF", metric=weighted_metrics[method], colour=GREEN, compare=False),
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
