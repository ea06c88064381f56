"""The sections of a CLCR run: distances, alignment, pivots, orders."""

from __future__ import annotations

from typing import Any, Mapping, Sequence
import itertools

import numpy as np

from clwe_jax import options
from clwe_jax.align import pivots, reorder
from clwe_jax.clcr import entailment, steps
from clwe_jax.clcr.results import Reordered, Split, TransformResult
from clwe_jax.clcr.steps import Extraction
from clwe_jax.options.clcr import ClcrOptions, ClcrRun
from clwe_jax.evaluate import word_alignment_page
from clwe_jax.report import data
from clwe_jax.report.data import (
    Block,
    Chart,
    Column,
    Facts,
    Language,
    Line,
    Metric,
    Table,
    Text,
    Word,
)
from clwe_jax.report.figure_tables import pair_name

_NAMES = {
    "regression": "linear regression",
    "flat": "attention, T = 1",
    "slow": "annealed, beta .001",
    steps.MAIN: "annealed",
    steps.TUNED: "annealed, encoders fine-tuned",
}
_ALIGNERS = {
    "mutual_argmax": "mutual argmax (SimAlign)",
    "itermax": "itermax (SimAlign)",
    "softmax": "softmax intersection (awesome-align)",
}
_FIRST = 50  # pivots without which a precision says little
_SHOWN = 3  # sentences of each kind
_WORDS = range(5, 13)  # number of words of a sentence that is shown


def sections(
    config: ClcrRun,
    figures: Mapping[str, float],
    mapped: TransformResult,
    extractions: Mapping[str, Extraction],
    reordered: Reordered,
) -> list[Any]:
    """The sections of a finished run, as JSON.

    Args:
      extractions: language -> its predictors of pivots.
    """
    languages = options.languages(config)
    optional = (
        _transform(languages, figures, mapped),
        _extract(languages, config.clcr, mapped, extractions),
        _reorder(languages, mapped.test, reordered),
        _entailment(languages, config.clcr.entailment.seeds, figures),
        _hub(languages[1], figures),
    )
    return [data.to_json(section) for section in optional if section is not None]


def _transform(
    languages: Sequence[str], figures: Mapping[str, float], mapped: TransformResult
) -> data.Section:
    test = mapped.test
    source, target = languages
    figure_names = ("distance", "distance_back", "nearest", "cosine", "cosine_back", "f1")
    rows = []
    for name in (*steps.ROWS, steps.TUNED):
        if f"clcr/distance/{name}" in figures:
            rows.append([_NAMES[name], *(Metric(f"clcr/{x}/{name}") for x in figure_names)])
    columns = [
        Column("Map"),
        Column(f"{source} → {target}", ""),
        Column(f"{target} → {source}", ""),
        Column("One word", ""),
        Column("Cosine", "", main=False),
        Column("Cosine back", "", main=False),
        Column("F1", "percent"),
    ]
    blocks: list[Block] = [Table(columns, rows)]
    if test.gold:
        aligner_rows = [[name, Metric(f"clcr/f1/{key}")] for key, name in _ALIGNERS.items()]
        aligner_rows.append(["symmetric distance", Metric("clcr/alignment_f1")])
        blocks.append(
            Table([Column("Aligner on the mapped words"), Column("F1", "percent")], aligner_rows)
        )
    lines = []
    for name in ("flat", steps.MAIN):
        ahead, back = mapped.maps[name]
        lines += [
            Line(f"{_NAMES[name]}, {source} → {target}", points=ahead.history),
            Line(f"{_NAMES[name]}, {target} → {source}", points=back.history),
        ]
    blocks.append(Chart("Distance on training sentences", lines, y="squared error a dimension"))
    if mapped.phases:
        tuned = []
        for language, rounds in mapped.phases.items():
            tuned += [
                Line(f"model of {language}, round {number}", points=history.tolist())
                for number, history in enumerate(rounds, 1)
            ]
        blocks.append(
            Chart("Distance while the models learn", tuned, y="squared error a dimension")
        )
    blocks.append(
        Facts(
            {
                "dimensions": " → ".join(str(x.vectors.shape[1]) for x in test.words.unmapped),
                "variance of a mapped dimension": Metric("clcr/variance/mapped"),
                "of a target dimension": Metric("clcr/variance/target"),
                "effective rank, mapped": Metric("clcr/rank/mapped"),
                "effective rank, target": Metric("clcr/rank/target"),
            }
        )
    )
    for place in _choose_places(test)[:1]:
        row = test.rows[place]
        example = {
            "languages": languages,
            "source": row.source,
            "target": row.target,
            "sure": sorted(row.sure),
            "found": np.argwhere(test.links[place]).tolist(),
        }
        blocks.append(word_alignment_page.picture(example, "found", "pivots as"))
        if test.gold:
            blocks.append(word_alignment_page.picture(example, "sure", "gold, sure"))
    text = (
        "The squared error a dimension between target words and the attended, mapped source words of "
        "test sentences (Table 1); of whitened vectors 1 is the distance to the mean. Each map "
        "is measured at its own final temperature, and from source to target with attention to one "
        "word. F1 is that of mutually nearest words against the gold alignment. A collapse would show as a variance near 0 and a rank near 1."
    )
    return data.Section("CLCR: transform", text, blocks)


def _extract(
    languages: Sequence[str],
    settings: ClcrOptions,
    mapped: TransformResult,
    extractions: Mapping[str, Extraction],
) -> data.Section:
    test = mapped.test
    rows = []
    for language in languages:
        for name in ("plain", "confident"):
            for threshold in steps.THRESHOLDS:
                path = f"clcr/extract/{language}/{name}"
                rows.append(
                    [
                        Language(language),
                        name,
                        threshold,
                        *(
                            Metric(f"{path}/{threshold}/{x}")
                            for x in ("accuracy", "precision", "recall")
                        ),
                        Metric(f"{path}/clear"),
                    ]
                )
    columns = [
        "Language",
        "Labels",
        "Threshold",
        Column("Accuracy", "percent"),
        Column("Precision", "percent"),
        Column("Recall", "percent"),
        Column("Clear", "percent", main=False),
    ]
    blocks: list[Block] = [Table(columns, rows)]
    if mapped.curve is not None:
        names = ("precision", "recall", "f1", "aer")
        nearest = ["mutually nearest words", *(Metric(f"clcr/alignment_{x}") for x in names)]
        pivot = [
            f"pivots, nearer than {mapped.threshold:.4g}",
            *(Metric(f"clcr/pivots/{x}") for x in names),
        ]
        heads = [
            Column("Links"),
            *(Column(x, "percent") for x in ("Precision", "Recall", "F1", "Error rate")),
        ]
        blocks.append(Table(heads, [nearest, pivot], title="Links against the gold alignment"))
        at = Metric(f"clcr/pivots/precision@{steps.RECALL}")
        blocks.append(Facts({f"precision at a recall of {steps.RECALL:.0%}": at}))
        points = np.stack([mapped.curve.recall, mapped.curve.precision], 1)[_FIRST:].tolist()
        line = Line("mutually nearest words, by the threshold", points=points)
        blocks.append(
            Chart("Precision of pivots by their recall", [line], "recall", "precision", "percent")
        )
    examples = []
    for side, language in enumerate(languages):
        for place in _choose_places(test)[:_SHOWN]:
            examples += _prediction_rows(
                test, place, side, language, extractions[language], settings.pivot_probability
            )
    blocks.append(Table(["Language", "Pivots", "Words"], examples, title="Pivots of sentences"))
    text = (
        f"Pivots are mutually nearest words whose {_distance(settings.contrast)} is below "
        f"{mapped.threshold:.4g}. A classifier predicts them in one sentence alone (Table 2): "
        "accuracy, precision and recall against the pivots of test sentences, with the labels as they "
        "are and with confident labels, and the share of words with a probability below .2 or above "
        ".8. Below, the pivots of some sentences stand out: those found with the translation, and those that "
        "the predictors of both kinds of labels find in the sentence alone (Fig. 2)."
    )
    return data.Section("CLCR: extract", text, blocks)


def _prediction_rows(
    test: Split,
    place: int,
    side: int,
    language: str,
    extraction: Extraction,
    min_probability: float,
) -> list[list[Any]]:
    """Rows of a table: a sentence with the pivots found, and with those of each predictor."""
    words = test.rows[place][side]
    vectors = test.words.common(side).of(place)
    pivot_masks = {"with the translation": test.links[place].any(1 - side)}
    for name, predictor in extraction._asdict().items():
        pivot_masks[f"predicted, {name} labels"] = (
            predictor.probabilities(vectors)[:, 1] >= min_probability
        )
    rows = []
    for name, marks in pivot_masks.items():
        marked_words = [Word(x, language, "strong" if y else "soft") for x, y in zip(words, marks)]
        rows.append([Language(language), name, marked_words])
    return rows


def _reorder(languages: Sequence[str], test: Split, reordered: Reordered) -> data.Section:
    sides = reordered.moved, 1 - reordered.moved
    source, target = (languages[side] for side in sides)
    names = ("bleu2", "bleu3", "bleu4", "tau", "lowest")
    paths = {"identity": f"the order of {source}"}
    for method, beam in itertools.product(("absolute", "relative"), steps.BEAMS):
        paths[f"{method}/beam{beam}"] = f"{method}, beam {beam}"
    rows = []
    for path, title in paths.items():
        rows.append([title, *(Metric(f"clcr/reorder/{path}/{name}") for name in names)])
    columns = [Column("Order")]
    columns += [Column(x, "percent") for x in ("BLEU-2", "BLEU-3", "BLEU-4")]
    columns += [Column("Kendall's tau"), Column("Lowest cost found", "percent")]
    blocks: list[Block] = [
        Table(columns, rows),
        Facts(
            {
                "BLEU-4 above the own order": Metric("clcr/reorder/bleu4_gain"),
                "tau above the own order": Metric("clcr/reorder/tau_gain"),
            }
        ),
    ]
    places = _choose_places(test)[:_SHOWN]
    orders = [reordered.orders[place] for place in places]
    sentences = test.words.common(reordered.moved)
    vectors = sentences._replace(rows=sentences.rows[places])
    costs = steps.order_costs(reordered.predictors, vectors, orders)
    predicted = steps.predict_orders(costs, steps.BEAMS[-1])["relative"]
    for place, order, mine in zip(places, orders, predicted):
        sentence, translation = (test.rows[place][side] for side in sides)
        words = np.array(sentence, object)[order.places]
        points = [
            f"{source}: {' '.join(words)}",
            f"predicted: {' '.join(words[mine])}",
            f"order of {target}: {' '.join(words[order.gold])}",
        ]
        blocks.append(Text(" ".join(translation), points=points))
    text = (
        f"Linked words of {source}, brought into the order of {target} (Table 3): the share of the 2-, "
        "3- and 4-grams of words that stand together in that order, and Kendall's tau; and of sentences "
        f"of up to {reorder.MAX_EXHAUSTIVE} words, the share in which the search finds the order of lowest "
        f"cost among all. The orders are those of the {'gold alignment' if test.gold else 'pivots found'}."
    )
    return data.Section("CLCR: reorder", text, blocks)


def _entailment(
    languages: Sequence[str], seeds: int, figures: Mapping[str, float]
) -> data.Section | None:
    source, target = languages
    rows = []
    for name, title in entailment.TITLES.items():
        if f"clcr/entailment/{name}/{source}" in figures:
            metrics = [Metric(f"clcr/entailment/{name}/{x}") for x in (target, source, "gap")]
            rows.append([title, *metrics])
    if not rows:
        return None
    heads = (target, f"{source}, zero-shot", "Gap")
    columns = [Column("Words and order"), *(Column(head, "percent") for head in heads)]
    text = (
        f"Accuracy of entailment by ESIM on frozen vectors (Table 4): learned from sentences in {target} "
        f"alone, except translate-train; {seeds} heads a row, with 95% intervals. The reports of the rows "
        f"are in the folder {entailment.FOLDER}."
    )
    return data.Section("CLCR: entailment", text, [Table(columns, rows)])


def _hub(target: str, figures: Mapping[str, float]) -> data.Section | None:
    names = ("f1", "precision", "recall", "aer")
    pairs = sorted({name.split("/")[2] for name in figures if name.startswith("clcr/hub/")})
    if not pairs:
        return None
    rows = [[pair_name(pair), *(Metric(f"clcr/hub/{pair}/{x}") for x in names)] for pair in pairs]
    heads = ("F1", "Precision", "Recall", "Alignment error rate")
    columns = [Column("Pair"), *(Column(head, "percent") for head in heads)]
    text = (
        f"All languages in the space of {target}, each by a T of its own: mutually nearest words "
        "by the distance in that space, against the gold alignment. Two sources have never seen "
        "sentences of each other."
    )
    return data.Section("CLCR: hub", text, [Table(columns, rows)])


def _distance(others: int) -> str:
    """The name of the measure of `clcr.contrast`."""
    unit = f", in units of that to the nearest word of {others} other sentences,"
    return "symmetric distance" + (unit if others else "")


def _choose_places(test: Split) -> Sequence[int]:
    """Test sentences of moderate length, those whose pivots cross most first."""
    fitting = [
        place
        for place, row in enumerate(test.rows)
        if len(row.source) in _WORDS and len(row.target) in _WORDS
    ]
    fitting = fitting or list(range(min(len(test.rows), _SHOWN)))
    return sorted(fitting, key=lambda place: _inversions(test.links[place]), reverse=True)


def _inversions(links: np.ndarray) -> int:
    ranks = pivots.orders(links)[1]
    return int((np.triu(ranks[:, None] > ranks[None], 1)).sum())
