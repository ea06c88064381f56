"""The report's sections of a transfer run: tables, confusions, errors, layers and curves."""

from __future__ import annotations

import os
import zipfile
from typing import Any, Sequence

from absl import logging
import numpy as np

from clwe_jax.evaluate import agreement
from clwe_jax.jobs import transfer_groups, transfer_search
from clwe_jax.report import data
from clwe_jax.report.data import Block, Chart, Column, Language, Line, Metric, Number, Table, Word
from clwe_jax.training import build

_NAMES = {"f1": "F1", "acc": "Accuracy", "precision": "Precision", "recall": "Recall"}
_ENCODERS = {
    "joint": "joint-align vectors, which the run trained first",
    "bow": "means of piece embeddings (bow)",
    "gru": "a GRU over piece embeddings (gru)",
    "lstm": "an LSTM over piece embeddings (lstm)",
}
_MOST_LABELS = 20  # of a table of confusions


def sections(job: Any) -> list[Any]:
    """The sections of a finished run, as JSON.

    Args:
      job: a `transfer.Transfer` whose stages are done.
    """
    made = (
        _by_language, _translation, transfer_groups.section, _layers, _gains, _confusions, _errors,
        _curves, transfer_search.section,
    )  # fmt: skip
    found = [make(job) for make in made]
    return [data.to_json(section) for section in found if section is not None]


def _by_language(job: Any) -> data.Section:
    task, config, scores = job.data.task, job.config, job.scores[job.chosen]
    names = list(next(iter(scores.values()))[0])
    names.sort(key=lambda name: name != task.metric)
    covered = ["Words known"] if job.coverage else []
    floor = ["Most frequent label"] if task.metric == "acc" else []
    several = ["Seeds"] if config.transfer.seeds > 1 else []
    trained, how_others = set(job.data.labelled), "zero-shot"
    if job.data.coverage:
        how_others = f"translate-{config.transfer.translate}"
    rows = []
    for language in sorted(scores, key=lambda x: (x not in trained, x)):
        seeds = [score[task.metric] for score in scores[language]]
        rows.append(
            [
                Language(language),
                "training" if language in trained else how_others,
                *(Metric(f"{task.name}/{language}/{name}") for name in names),
                *(Metric(f"{task.name}/{language}/majority") for _ in floor),
                *(Metric(f"data/coverage/{language}") for _ in covered),
                *(" ".join(f"{100 * x:.1f}" for x in seeds) for _ in several),
                Number(float(len(job.data.tests[language])), "count"),
            ]
        )
    zero = f"zero_shot/{task.name}/mean_{task.metric}"
    total = None
    if any(language not in trained for language in scores):
        total = [
            "mean",
            how_others,
            Metric(zero),
            *[""] * len(names[1:] + floor + covered + several),
            None,
        ]
    columns = [
        "Language", "Setting",
        *(Column(_NAMES.get(name, name), "percent", main=name == task.metric) for name in names),
        *(Column(title, "percent", main=False) for title in floor + covered),
        *(Column(title, main=False) for title in several), Column("Test rows", "count", main=False),
    ]  # fmt: skip
    how = "the encoder was frozen"
    if job.tunes:
        how = "the backbone learned with the head"
    elif config.encoder in build.LEARNED:
        how = "the embeddings of its pieces learned with the head"
    elif job.source.encoder.layers > 1:
        how += f" (layers: {job.chosen or config.transfer.layers})"
    if config.transfer.reduce:
        how += "; of each text only the pivots are read"
        how += ", in one order for both languages" if "reorder" in config.transfer.reduce else ""
    if "align" in job.made_with:
        target = job.made_with["align"]["languages"][0]
        how += f"; its layers were mapped onto those of {target} by aligned words"
    seeds_text = "One seed, so that there are no intervals"
    if several:
        seeds_text = (
            f"Means of {config.transfer.seeds} seeds with their 95% intervals (Student's t)"
        )
    text = (
        f"Labels were learned in {', '.join(sorted(trained))} "
        f"({sum(len(job.data.train[x]) for x in trained):,} rows) by the head {config.transfer.head.name} "
        f"on {_ENCODERS.get(config.encoder, config.encoder)}; {how}. {seeds_text}; the best epoch "
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


def _translation(job: Any) -> data.Section | None:
    """The share of words that the dictionary translated, and an example."""
    if not job.data.coverage:
        return None
    rows = []
    for language, share in job.data.coverage.items():
        glossary = job.data.glossaries[language]
        translated = job.data.train if job.config.transfer.translate == "train" else job.data.tests
        example = job.data.given(translated[language][:1])[0]
        rows.append(
            [
                Language(language), f"{glossary.source} → {glossary.target}",
                Metric(f"data/translated/{language}"),
                Number(float(len(glossary.entries)), "count"),
                Word(" ".join(example), glossary.target),
            ]
        )  # fmt: skip
    text = (
        "Words were translated one by one by the dictionary of config.data.dictionaries; words "
        "without an entry stayed. The share is that of running words with letters."
    )
    columns = [
        "Language", "", Column("Translated", "percent"), Column("Entries", "count"),
        Column("First row", main=False),
    ]  # fmt: skip
    return data.Section(f"{job.data.task.title}: translation", text, [Table(columns, rows)])


def _layers(job: Any) -> data.Section | None:
    if len(job.scores) < 2:
        return None
    task = job.data.task
    languages = list(next(iter(job.scores.values())))
    lines = [
        Line(language, metric=f"{task.name}/{language}/layer*/{task.metric}", compare=False)
        for language in languages
    ]
    chart = Chart(
        f"{_NAMES.get(task.metric, task.metric)} by layer", lines, x="layer", form="percent",
        whole_x=True,
    )  # fmt: skip
    text = (
        f"A head was trained on every layer alone; layer 0 is the embeddings. {job.chosen} has the "
        "best development figure, and the other tables are of it."
    )
    return data.Section(f"{task.title}: by layer", text, [chart])


def _gains(job: Any) -> data.Section | None:
    """Gains over the runs of config.report.compare_with, and whether they are significant (C8)."""
    folders = [x.strip() for x in job.config.report.compare_with.split(",") if x.strip()]
    metric, tables = job.data.task.metric, []
    for folder in folders:
        rows = []
        for language in job.data.tests:
            ours, theirs = (
                _counts(os.path.join(where, "predictions", f"{language}.npz"))
                for where in (job.workdir, folder)
            )
            if ours is None or theirs is None or ours[1] != theirs[1]:
                continue
            gain = agreement.bootstrap(ours[0], theirs[0], job.config.seed)
            sign = agreement.fewer_errors(ours[0], theirs[0])
            mine = float(np.mean([score[metric] for score in job.scores[job.chosen][language]]))
            rows.append([
                Language(language), Number(mine, "percent", change=gain.value),
                Number(gain.value, "percent", low=gain.low, high=gain.high), Number(gain.p),
                "yes" if gain.p < 0.05 else "no",
                Number(float(sign.more), "count"), Number(float(sign.less), "count"), Number(sign.p),
            ])  # fmt: skip
        if rows:
            columns = [
                "Language", Column(_NAMES.get(metric, metric), "percent"), Column("Gain", "percent"),
                "p", "Significant at .05", "Better here", "Better there", "p (sign test)",
            ]  # fmt: skip
            tables.append(Table(columns, rows, title=f"Against {os.path.basename(folder)}"))
        else:
            logging.warning("%s has no predictions of the same test rows: no comparison", folder)
    if not tables:
        return None
    text = (
        "Gain: the difference of the runs' figures, means over the seeds, with the 95% interval and p "
        "of a paired bootstrap over the test rows. The sign test counts the test rows in which one run "
        "has fewer errors, over all its seeds; rows with equally many do not count. Intervals over seeds "
        "measure the training's randomness; both tests measure the test set's."
    )
    return data.Section(f"{job.data.task.title}: gains", text, tables)


def _counts(path: str) -> tuple[np.ndarray, str] | None:
    """The counts of the test rows, int [seeds, N, 3], and the hash of their labels."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return file["counts"], str(file["gold"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _confusions(job: Any) -> data.Section | None:
    """Counts of gold labels against predicted ones, of the first seed."""
    if job.data.task.kind == "spans":
        return _by_label(job)
    names = job.data.task.metric == "f1" and job.data.tags
    blocks: list[Block] = []
    labels = agreement.MARKS if names else job.data.labels
    if len(labels) > _MOST_LABELS:
        return None
    for language, rows in job.data.tests.items():
        gold, found = job.data.gold(rows), job.predicted[job.chosen][language][0]
        if names:
            counts = agreement.marks_confusion(gold, found)
        else:
            counts = agreement.label_confusion(gold, found, labels)
        totals = np.maximum(counts.sum(1, keepdims=True), 1)
        cells = [
            [label, *(Number(float(x), "percent", below=f"{n:,}") if n else "" for x, n in zip(line, row))]
            for label, line, row in zip(labels, counts / totals, counts)
            if row.any()  # no word has the label: there is no share
        ]
        columns = ["Gold", *(Column(label, "percent", main=False) for label in labels)]
        blocks.append(
            Table(columns, cells, title=Language(language), closed=f"Confusions: {language}")
        )
    counted = "words" if job.data.tags else "test rows"
    text = (
        f"A row is a gold label, a column a predicted one: the share of the gold label's {counted}, "
        "and below it their number, of the first seed."
    )
    if names:
        text += " B begins a name of any kind, I continues it, O is no name."
    return data.Section(f"{job.data.task.title}: confusions", text, blocks)


def _by_label(job: Any) -> data.Section:
    """Precision, recall and F1 of each label of spans, of the first seed."""
    blocks: list[Block] = []
    for language, rows in job.data.tests.items():
        gold, found = job.data.gold(rows), job.predicted[job.chosen][language][0]
        cells = []
        for label in job.data.labels:
            pairs = [[[label] if label in x else [] for x in side] for side in (gold, found)]
            if any(pairs[0]):
                score = job.data.task.score(*pairs)
                shares = [Number(score[name], "percent") for name in ("f1", "precision", "recall")]
                cells.append([label, *shares, Number(float(sum(map(bool, pairs[0]))), "count")])
        cells.sort(key=lambda row: -row[-1].value)
        columns = [
            "Label", *(Column(_NAMES[name], "percent") for name in ("f1", "precision", "recall")),
            Column("Spans", "count", main=False),
        ]  # fmt: skip
        blocks.append(Table(columns, cells, title=Language(language), closed=f"Labels: {language}"))
    text = (
        "A label is predicted where its probability is above one half, so that a span may have several "
        "labels or none. Of the first seed."
    )
    return data.Section(f"{job.data.task.title}: by label", text, blocks)


def _errors(job: Any) -> data.Section | None:
    """A few test rows of each language with wrong labels, of the first seed."""
    most, blocks = job.config.report.errors, []
    if not most:
        return None
    for language, rows in job.data.tests.items():
        found = job.predicted[job.chosen][language][0]
        wrong = [place for place, row in enumerate(rows) if job.data.gold([row])[0] != found[place]]
        places = np.unique(np.linspace(0, len(wrong) - 1, min(most, len(wrong))).astype(int))
        for place in (wrong[i] for i in places.tolist()):
            spoken = job.data.spoken(language)
            blocks.append(_error(rows[place], found[place], spoken, job.data.task.kind))
    if not blocks:
        return None
    text = "Wrong labels of the first seed: the gold label, then the predicted one."
    return data.Section(
        f"{job.data.task.title}: errors", text, [data.Closed("Test rows with wrong labels", blocks)]
    )


def _error(row: Any, found: Any, language: str, kind: str) -> Block:
    if kind == "spans":
        words = [
            Word(word, language, style="strong" if any(a <= k < b for a, b in row.spans) else "")
            for k, word in enumerate(row.words)
        ]
        gold, mine = (", ".join(labels) or "no label" for labels in (row.labels, found))
        return data.Sentence(language, [*words, Word(f"{gold} → {mine}", style="soft")])
    if kind == "texts":
        words = [Word(text, language) for text in row.texts]
        return data.Sentence(language, [*words, Word(f"{row.label} → {found}", style="soft")])
    words = [
        Word(word, language)
        if gold == mine
        else Word(word, language, style="strong", below=f"{gold} → {mine}")
        for word, gold, mine in zip(row.words, row.tags, found)
    ]
    return data.Sentence(language, words)


def _curves(job: Any) -> data.Section | None:
    metric = job.data.task.metric
    if job.tunes:
        histories: Sequence[Any] = [list(x.items()) for x in job.tuned.histories]
        x = "step"
    else:
        best = next(layer for layer in job.layers if layer.name == job.chosen)
        curves = np.array(best.facts["history"]).T
        histories = [[[k + 1, float(y)] for k, y in enumerate(curve)] for curve in curves]
        x = "epoch"
    lines = [
        Line(f"seed {job.config.seed + k}", points=points, compare=False)
        for k, points in enumerate(histories)
    ]
    title = f"{_NAMES.get(metric, metric)} on development rows"
    chart = Chart(title, lines, x=x, form="percent", whole_x=True)
    text = "The table has the mean of the seeds, each at its best epoch."
    columns = [Column(title, "percent", main=False)]
    figures = [Metric(f"transfer/dev_{metric}")]
    if not job.tunes:
        columns.append(Column("Training", "seconds", main=False))
        figures.append(Metric("transfer/training_seconds"))
        text += " The time of training is that of all layers, with compilation."
    if not job.tunes and best.facts["seconds"]:
        columns.append(Column("Rows per second", "count", main=False))
        figures.append(Metric("transfer/training_rows_per_second"))
        text += " Rows per second are those of all seeds together, without compilation."
    table = Table(["Seeds", *columns], [[f"{len(histories)}", *figures]])
    return data.Section(f"{job.data.task.title}: training", text, [chart, table])
