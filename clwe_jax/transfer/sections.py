"""The sections of a transfer run: tables, confusions, errors, layers and curves."""

from __future__ import annotations

import os
from typing import Any, Mapping
import zipfile

from absl import logging
import numpy as np

from clwe_jax.evaluate import agreement, significance
from clwe_jax.options.transfer import LEARNED, TransferRun
from clwe_jax.report import data
from clwe_jax.report.data import Block, Chart, Column, Language, Line, Metric, Number, Table, Word
from clwe_jax.text.labelled import Task
from clwe_jax.transfer import groups, search
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.labeller import Labels
from clwe_jax.transfer.results import OpenedEncoder, Scores, Tested, Training

_NAMES = {"f1": "F1", "acc": "Accuracy", "precision": "Precision", "recall": "Recall"}
_ENCODERS = {
    "joint": "joint-align vectors, which the run trained first",
    "bow": "means of piece embeddings (bow)",
    "gru": "a GRU over piece embeddings (gru)",
    "lstm": "an LSTM over piece embeddings (lstm)",
}
PREDICTIONS = "predictions"  # folder of the counts of the test rows
_MAX_LABELS = 20  # of a table of confusions


def sections(
    config: TransferRun,
    workdir: str,
    labelled: LabelledData,
    encoder: OpenedEncoder,
    training: Training,
    tested: Tested,
) -> list[Any]:
    """The sections of a finished run, as JSON, from the results of its stages."""
    task = labelled.task
    scores = tested.scores[training.chosen]
    labels = {x: seeds[0] for x, seeds in tested.labels[training.chosen].items()}
    parts = (
        _by_language(config, labelled, encoder, scores, training.chosen),
        _translation(labelled, config.transfer.translate),
        groups.section(labelled, scores, encoder.made_with["encoder"]),
        _layers(task, tested.scores, training.chosen),
        _gains(config, workdir, labelled, scores),
        _confusions(labelled, labels),
        _errors(labelled, labels, config.report.errors),
        _curves(config, task, training),
        search.section(task, training.trials),
    )
    return [data.to_json(section) for section in parts if section is not None]


def _by_language(
    config: TransferRun, labelled: LabelledData, encoder: OpenedEncoder, scores: Scores, chosen: str
) -> data.Section:
    task = labelled.task
    names = list(next(iter(scores.values()))[0])
    names.sort(key=lambda name: name != task.metric)
    covered = ["Words known"] if encoder.coverage else []
    floor = ["Most frequent label"] if task.metric == "acc" else []
    several = ["Seeds"] if config.transfer.seeds > 1 else []
    sources = set(labelled.labelled)
    how_others = "zero-shot"
    if labelled.coverage:
        how_others = f"translate-{config.transfer.translate}"
    rows = []
    for language in sorted(scores, key=lambda x: (x not in sources, x)):
        seeds = [score[task.metric] for score in scores[language]]
        rows.append(
            [
                Language(language),
                "training" if language in sources else how_others,
                *(Metric(f"{task.name}/{language}/{name}") for name in names),
                *(Metric(f"{task.name}/{language}/majority") for _ in floor),
                *(Metric(f"data/coverage/{language}") for _ in covered),
                *(" ".join(f"{100 * x:.1f}" for x in seeds) for _ in several),
                Number(float(len(labelled.tests[language])), "count"),
            ]
        )
    zero = f"zero_shot/{task.name}/mean_{task.metric}"
    total = None
    if any(language not in sources for language in scores):
        blank = [""] * len(names[1:] + floor + covered + several)
        total = ["mean", how_others, Metric(zero), *blank, None]
    columns = [
        "Language",
        "Setting",
        *(Column(_NAMES.get(name, name), "percent", main=name == task.metric) for name in names),
        *(Column(title, "percent", main=False) for title in floor + covered),
        *(Column(title, main=False) for title in several),
        Column("Test rows", "count", main=False),
    ]
    mode = "the encoder was frozen"
    if config.transfer.mode == "tune":
        mode = "the backbone learned with the head"
    elif config.encoder in LEARNED:
        mode = "the embeddings of its pieces learned with the head"
    elif encoder.reader.encoder.layers > 1:
        mode += f" (layers: {chosen or config.transfer.layers})"
    if config.transfer.reduce:
        mode += "; of each text only the pivots are read"
        mode += ", in one order for both languages" if "reorder" in config.transfer.reduce else ""
    if "align" in encoder.made_with:
        target = encoder.made_with["align"]["languages"][0]
        mode += f"; its layers were mapped onto those of {target} by aligned words"
    seeds_text = "One seed, so that there are no intervals"
    if several:
        seeds_text = (
            f"Means of {config.transfer.seeds} seeds with their 95% intervals (Student's t)"
        )
    text = (
        f"Labels were learned in {', '.join(sorted(sources))} "
        f"({sum(len(labelled.train[x]) for x in sources):,} rows) by the head {config.transfer.head.name} "
        f"on {_ENCODERS.get(config.encoder, config.encoder)}; {mode}. {seeds_text}; the best epoch "
        "was chosen on the development rows of the training languages."
    )
    if how_others == "zero-shot" and total:
        text += " Zero-shot: no label of the language was learned."
    if covered:
        text += " Words known: the share of the running words that have a vector."
    if task.name == "pos":
        text += " F1 is XTREME's: adjacent words with the same label count as one span."
    if floor:
        text += " Beside the accuracy stands that of always answering the training rows' most frequent label."
    return data.Section(f"{task.title}: by language", text, [Table(columns, rows, total)])


def _translation(labelled: LabelledData, translate: str) -> data.Section | None:
    """The share of words that the dictionary translated, and an example."""
    if not labelled.coverage:
        return None
    rows = []
    for language, share in labelled.coverage.items():
        glossary = labelled.glossaries[language]
        translated = labelled.train if translate == "train" else labelled.tests
        example = labelled.inputs(translated[language][:1])[0]
        rows.append(
            [
                Language(language),
                f"{glossary.source} → {glossary.target}",
                Metric(f"data/translated/{language}"),
                Number(float(len(glossary.entries)), "count"),
                Word(" ".join(example), glossary.target),
            ]
        )
    text = (
        "Words were translated one by one by the dictionary of config.data.dictionaries; words "
        "without an entry stayed. The share is that of running words with letters."
    )
    columns = [
        "Language",
        "",
        Column("Translated", "percent"),
        Column("Entries", "count"),
        Column("First row", main=False),
    ]
    return data.Section(f"{labelled.task.title}: translation", text, [Table(columns, rows)])


def _layers(task: Task, scores: Mapping[str, Scores], chosen: str) -> data.Section | None:
    if len(scores) < 2:
        return None
    lines = [
        Line(language, metric=f"{task.name}/{language}/layer*/{task.metric}", compare=False)
        for language in scores[chosen]
    ]
    chart = Chart(
        f"{_NAMES.get(task.metric, task.metric)} by layer",
        lines,
        x="layer",
        form="percent",
        whole_x=True,
    )
    text = (
        f"A head was trained on every layer alone; layer 0 is the embeddings. {chosen} has the "
        "best development figure, and the other tables are of it."
    )
    return data.Section(f"{task.title}: by layer", text, [chart])


def _gains(
    config: TransferRun, workdir: str, labelled: LabelledData, scores: Scores
) -> data.Section | None:
    """Gains over the runs of config.report.compare_with, and whether they are significant (C8)."""
    folders = [x.strip() for x in config.report.compare_with.split(",") if x.strip()]
    metric = labelled.task.metric
    tables = []
    for folder in folders:
        rows = []
        for language in labelled.tests:
            ours, theirs = (
                _counts(os.path.join(run_dir, PREDICTIONS, f"{language}.npz"))
                for run_dir in (workdir, folder)
            )
            if ours is None or theirs is None or ours[1] != theirs[1]:
                continue
            items = labelled.items(labelled.tests[language])
            samples = (significance.sample([(x[0], items)]) for x in (ours, theirs))
            gain = significance.compare(*samples)
            sign = agreement.fewer_errors(ours[0], theirs[0], items)
            mine = float(np.mean([score[metric] for score in scores[language]]))
            rows.append(
                [
                    Language(language),
                    Number(mine, "percent", change=gain.value),
                    Number(gain.value, "percent", low=gain.low, high=gain.high),
                    Number(gain.p),
                    "yes" if gain.p < significance.LEVEL else "no",
                    Number(float(sign.more), "count"),
                    Number(float(sign.less), "count"),
                    Number(sign.p),
                ]
            )
        if rows:
            columns = [
                "Language",
                Column(_NAMES.get(metric, metric), "percent"),
                Column("Gain", "percent"),
                "p",
                "Significant at .05",
                "Better here",
                "Better there",
                "p (sign test)",
            ]
            tables.append(
                Table(columns, rows, title=f"Against {os.path.basename(os.path.normpath(folder))}")
            )
        else:
            logging.warning("%s has no predictions of the same test rows: no comparison", folder)
    if not tables:
        return None
    text = (
        "Gain: the difference of the runs' figures, means over the seeds, with the 95% interval and p "
        "over the seeds (Student's t) and the test rows, paired; rows of one sentence are one observation. Of one seed a gain holds of these two trained "
        "models alone. The sign test counts the sentences in which one run "
        "has fewer errors, over all its seeds and rows; sentences with equally many do not count: it measures the test "
        "set's randomness, not the training's."
    )
    return data.Section(f"{labelled.task.title}: gains", text, tables)


def _counts(path: str) -> tuple[np.ndarray, str] | None:
    """The counts of the test rows, int [seeds, N, 3], and the hash of their labels."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return file["counts"], str(file["gold"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _confusions(labelled: LabelledData, labels: Mapping[str, Labels]) -> data.Section | None:
    """Counts of gold labels against predicted ones, of the first seed."""
    if labelled.task.kind == "spans":
        return _by_label(labelled, labels)
    names = labelled.task.metric == "f1" and labelled.tags
    blocks: list[Block] = []
    kinds = agreement.MARKS if names else labelled.labels
    if len(kinds) > _MAX_LABELS:
        return None
    for language, rows in labelled.tests.items():
        gold = labelled.gold(rows)
        predicted = labels[language]
        if names:
            counts = agreement.marks_confusion(gold, predicted)
        else:
            counts = agreement.label_confusion(gold, predicted, kinds)
        totals = np.maximum(counts.sum(1, keepdims=True), 1)
        cells = []
        for label, shares, row in zip(kinds, counts / totals, counts):
            if row.any():  # no word has the label: there is no share
                pairs = zip(shares.tolist(), row)
                numbers = [Number(x, "percent", below=f"{n:,}") if n else "" for x, n in pairs]
                cells.append([label, *numbers])
        columns = ["Gold", *(Column(label, "percent", main=False) for label in kinds)]
        blocks.append(
            Table(columns, cells, title=Language(language), closed=f"Confusions: {language}")
        )
    unit = "words" if labelled.tags else "test rows"
    text = (
        f"A row is a gold label, a column a predicted one: the share of the gold label's {unit}, "
        "and below it their number, of the first seed."
    )
    if names:
        text += " B begins a name of any kind, I continues it, O is no name."
    return data.Section(f"{labelled.task.title}: confusions", text, blocks)


def _by_label(labelled: LabelledData, labels: Mapping[str, Labels]) -> data.Section:
    """Precision, recall and F1 of each label of spans, of the first seed."""
    blocks: list[Block] = []
    for language, rows in labelled.tests.items():
        gold = labelled.gold(rows)
        predicted = labels[language]
        cells = []
        for label in labelled.labels:
            pairs = [[[label] if label in x else [] for x in side] for side in (gold, predicted)]
            if any(pairs[0]):
                score = labelled.task.score(*pairs)
                shares = [Number(score[name], "percent") for name in ("f1", "precision", "recall")]
                cells.append([label, *shares, Number(float(sum(map(bool, pairs[0]))), "count")])
        cells.sort(key=lambda row: -row[-1].value)
        columns = [
            "Label",
            *(Column(_NAMES[name], "percent") for name in ("f1", "precision", "recall")),
            Column("Spans", "count", main=False),
        ]
        blocks.append(Table(columns, cells, title=Language(language), closed=f"Labels: {language}"))
    text = (
        "A label is predicted where its probability is above one half, so that a span may have several "
        "labels or none. Of the first seed."
    )
    return data.Section(f"{labelled.task.title}: by label", text, blocks)


def _errors(
    labelled: LabelledData, labels: Mapping[str, Labels], max_rows: int
) -> data.Section | None:
    """A few test rows of each language with wrong labels, of the first seed."""
    if not max_rows:
        return None
    blocks = []
    for language, rows in labelled.tests.items():
        predicted = labels[language]
        errors = [
            place for place, row in enumerate(rows) if labelled.gold([row])[0] != predicted[place]
        ]
        places = np.unique(np.linspace(0, len(errors) - 1, min(max_rows, len(errors))).astype(int))
        for place in (errors[i] for i in places.tolist()):
            spoken = labelled.text_language(language)
            blocks.append(_error(rows[place], predicted[place], spoken, labelled.task.kind))
    if not blocks:
        return None
    text = "Wrong labels of the first seed: the gold label, then the predicted one."
    return data.Section(
        f"{labelled.task.title}: errors", text, [data.Closed("Test rows with wrong labels", blocks)]
    )


def _error(row: Any, predicted: Any, language: str, kind: str) -> Block:
    if kind == "spans":
        words = []
        for k, word in enumerate(row.words):
            inside = any(a <= k < b for a, b in row.spans)
            words.append(Word(word, language, style="strong" if inside else ""))
        gold, mine = (", ".join(labels) or "no label" for labels in (row.labels, predicted))
        return data.SentenceBlock(language, [*words, Word(f"{gold} → {mine}", style="soft")])
    if kind == "texts":
        words = [Word(text, language) for text in row.texts]
        return data.SentenceBlock(
            language, [*words, Word(f"{row.label} → {predicted}", style="soft")]
        )
    words = [
        Word(word, language)
        if gold == mine
        else Word(word, language, style="strong", below=f"{gold} → {mine}")
        for word, gold, mine in zip(row.words, row.tags, predicted)
    ]
    return data.SentenceBlock(language, words)


def _curves(config: TransferRun, task: Task, training: Training) -> data.Section | None:
    lines = [
        Line(f"seed {config.seed + k}", points=[list(x) for x in history.items()], compare=False)
        for k, history in enumerate(training.histories)
    ]
    title = f"{_NAMES.get(task.metric, task.metric)} on development rows"
    x = "step" if config.transfer.mode == "tune" else "epoch"
    chart = Chart(title, lines, x=x, form="percent", whole_x=True)
    text = "The table has the mean of the seeds, each at its best epoch."
    columns = [Column(title, "percent", main=False)]
    figures = [Metric(f"transfer/dev_{task.metric}")]
    for metric, column, about in (
        (
            "transfer/training_seconds",
            Column("Training", "seconds", main=False),
            "The time of training is that of all layers, with compilation.",
        ),
        (
            "transfer/training_rows_per_second",
            Column("Rows per second", "count", main=False),
            "Rows per second are those of all seeds together, without compilation.",
        ),
    ):
        if metric in training.speed:
            columns.append(column)
            figures.append(Metric(metric))
            text += f" {about}"
    table = Table(["Seeds", *columns], [[f"{len(lines)}", *figures]])
    return data.Section(f"{task.title}: training", text, [chart, table])
