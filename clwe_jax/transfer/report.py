"""What the page and the terminal say of a transfer run."""

from __future__ import annotations

from clwe_jax import registry
from clwe_jax.report import figures, page, verdict
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.labelled import Task


class TransferPage(page.Page):
    """The page of a transfer run."""

    purpose = "labelling text of the kind that its test rows show"

    def verdicts(self, run):
        return [_zero_shot(run)]

    def headlines(self, run):
        return _headlines(run)

    def code(self, run):
        return _labelling_code(run)


def _task(run: RunFolder) -> type[Task]:
    return registry.lookup("transfer_task", run.option("transfer.task"))


def _zero_shot(run: RunFolder) -> verdict.Verdict | None:
    """The verdict on labels that one language taught and others are tested on."""
    task = _task(run)
    train_languages = labelled_files.training_languages(run.option("transfer.train"))
    tested = {
        language: metrics[task.metric]
        for language, metrics in figures.by_subject(run.figures, task.name).items()
        if task.metric in metrics
    }
    targets = run.in_order(x for x in tested if x not in train_languages)
    learned_figures = [
        f"{figures.percent(tested[x])} in {x}, whose labels were learned"
        for x in train_languages
        if x in tested
    ]
    if not tested:
        return None
    metric = {"f1": "F1", "acc": "accuracy"}.get(task.metric, task.metric)
    value = run.figures.get(f"zero_shot/{task.name}/mean_{task.metric}")
    if not targets or value is None:
        return verdict.Verdict(f"{task.title}, {metric}: {', '.join(learned_figures)}.")
    listed = ", ".join(targets) if len(targets) <= 12 else f"{len(targets)} languages"
    text = (
        f"{task.title}, {metric}: {figures.percent(value)} in languages without labels ({listed})"
        f"{''.join(f'; {x}' for x in learned_figures)}."
    )
    levels = [run.figures.get(f"{task.name}/{x}/majority") for x in targets]
    if None in levels:
        why = f"{metric} has no floor; the results say what other encoders and heads reach:"
        return verdict.Verdict(text, why, "clwe-jax guide results")
    level = sum(levels) / len(levels)
    return verdict.judge_figure(
        f"{text} The floor, always the most frequent label, is {figures.percent(level)}",
        value > level,  # a head that always gives this label has learned nothing
        verdict.gain(value, level),
        (
            "The vectors of the encoder do not carry this task into other languages; joint_dictionary "
            "and warm_dict_mlm train others for --config.encoder=run:DIR:",
            "clwe-jax guide transfer",
        ),
    )


def _headlines(run: RunFolder) -> list[Headline]:
    """The mean of the languages without labels, and the languages whose labels were learned."""
    task = _task(run)
    title = f"{task.title}, {'F1' if task.metric == 'f1' else 'accuracy'}"
    train_languages = labelled_files.training_languages(run.option("transfer.train"))
    mean = Headline(
        f"zero_shot/{task.name}/mean_{task.metric}",
        f"{title}, mean of the languages without labels",
    )
    of_learned = [
        Headline(f"{task.name}/{x}/{task.metric}", f"{title}, {x}, whose labels were learned")
        for x in train_languages
    ]
    return [mean, *of_learned]


def _labelling_code(run: RunFolder) -> str:
    """Code that labels words, texts or spans."""
    task = _task(run)
    lang = run.languages[0]
    call = f"classify(['A text of yours.'], lang={lang!r})"
    if task.kind == "tags":
        call = f"tag(['A text of yours.'], lang={lang!r})  # the words of each text with labels"
    elif task.kind == "spans":
        spans = ["(0, 1)", "(2, 3)"][: task.texts]
        words = ["A", "text", "of", "yours"]
        call = f"label_spans([({words}, [{', '.join(spans)}])], lang={lang!r})  # labels of words 0 to 1, ..."
    elif task.texts == 2:
        call = f"classify([('A text of yours.', 'Another.')], lang={lang!r})"
    return f"import clwe_jax\n\nmodel = clwe_jax.load({str(run.workdir)!r})\nmodel.{call}"
