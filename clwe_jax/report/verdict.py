"""The first sentence of a report and the last lines of a run: the figure, its floor, the next step."""

from __future__ import annotations

import dataclasses
import shlex

from clwe_jax import registry
from clwe_jax.report import figures, floor, overview
from clwe_jax.report.figures import SENTENCE_METHODS
from clwe_jax.report.run_folder import Run
from clwe_jax.text import labelled_files

_BELOW = "this run is below its floor."
_KEPT = ("--config.data.", "--config.evals.", "--config.seed")  # of the command, for the next one


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The sentences on a run's main figure, and the command of the next step; '' for none."""

    text: str
    command: str = ""


def of(run: Run) -> Verdict | None:
    """The verdict on a run; None for a run that has written no results."""
    if not run.has_results:
        return None
    subjects = (_translation, _sentences, _labels, _clcr)
    verdicts = [x for x in (subject(run) for subject in subjects) if x is not None]
    if not verdicts:
        return _words(run) or _unmeasured(run)
    commands = [x.command for x in verdicts if x.command]
    return Verdict(" ".join(x.text for x in verdicts), commands[0] if commands else "")


def _sentences(run: Run) -> Verdict | None:
    """The verdict on sentence retrieval."""
    headline = _headline(run)
    if headline is None:
        return None
    name, how = headline
    value, level = run.figures[name], _floor(run, name, how)
    text = (
        f"{figures.percent(value)} of the sentences find their translation by {how}"
        f"{_directions(run, 'retrieval')}{_chance(run, 'retrieval')}."
    )
    return _beside_dictionary(run, text, value, level)


def _words(run: Run) -> Verdict | None:
    """The verdict on lexicon induction, of a run that compared no sentences."""
    method, ending = figures.word_method(run.figures)
    name = f"bli/p@1{ending}"
    if name not in run.figures:
        return None
    text = (
        f"{figures.percent(run.figures[name])} of the words find their translation by {method}"
        f"{_directions(run, 'bli')}{_chance(run, 'bli')}."
    )
    return _beside_dictionary(run, text, run.figures[name], run.figures.get(f"floor/{name}"))


def _beside_dictionary(run: Run, text: str, value: float, level: float | None) -> Verdict:
    """The verdict on a figure beside the dictionary's, if that was measured."""
    if level is None:
        return Verdict(text)
    system, why = _next(run)
    return _judged(
        f"{text} The dictionary floor, the dictionary alone without training, is {figures.percent(level)}",
        value >= level,
        _gain(value, level),
        why,
        _command(run, system) if system else "",
    )


def _judged(text: str, passes: bool, gain: str, why: str, command: str) -> Verdict:
    """The verdict on a figure beside its floor: the gain, or why the run is below it and what is next."""
    return Verdict(f"{text}{gain}.") if passes else Verdict(f"{text}: {_BELOW} {why}", command)


def _gain(value: float, level: float) -> str:
    return f": {figures.points(value - level)} points"


def _directions(run: Run, prefix: str) -> str:
    pairs = {name.split("/")[1] for name in run.figures if name.startswith(f"{prefix}/")}
    count = sum("-" in pair for pair in pairs)
    return f", mean of {count} directions" if count > 1 else ""


def _chance(run: Run, prefix: str) -> str:
    chance = run.figures.get(f"{prefix}/chance")
    return f" (chance: {figures.percent(chance, 1 if chance >= 0.001 else 2)})" if chance else ""


def _translation(run: Run) -> Verdict | None:
    """The verdict on a translator; its floors translate word by word."""
    value = run.figures.get("bleu/mean")
    if value is None or "translation" not in (run.option("objective.name") or ""):
        return None
    text = f"BLEU {value:.1f} of 100{_directions(run, 'bleu')}."
    level = run.figures.get("floor/bleu/mean")
    if level is None:
        return Verdict(text)
    return _judged(
        f"{text} The floor, the dictionary alone word by word, is {level:.1f}",
        value >= level,
        "",
        "More steps help, as long as the curve in the report rises; the guide says what else:",
        "clwe-jax guide translation",
    )


def _labels(run: Run) -> Verdict | None:
    """The verdict on labels that one language taught and others are tested on."""
    if run.option("job") != "transfer":
        return None
    task = registry.lookup("transfer_task", run.option("transfer.task"))
    learned = labelled_files.training_languages(run.option("transfer.train"))
    tested = {
        language: metrics[task.metric]
        for language, metrics in figures.by_subject(run.figures, task.name).items()
        if task.metric in metrics
    }
    others = run.in_order(x for x in tested if x not in learned)
    own = [f"{figures.percent(tested[x])} in {x}, whose labels were learned" for x in learned if x in tested]
    if not tested:
        return None
    named = {"f1": "F1", "acc": "accuracy", "spearman": "rank correlation"}.get(task.metric, task.metric)
    value = run.figures.get(f"zero_shot/{task.name}/mean_{task.metric}")
    if not others or value is None:
        return Verdict(f"{task.title}, {named}: {', '.join(own)}.")
    listed = ", ".join(others) if len(others) <= 12 else f"{len(others)} languages"
    text = (
        f"{task.title}, {named}: {figures.percent(value)} in languages without labels ({listed})"
        f"{''.join(f'; {x}' for x in own)}."
    )
    levels = [run.figures.get(f"{task.name}/{x}/majority") for x in others]
    if None in levels:
        text += f" {named} has no floor; the results say what other encoders and heads reach:"
        return Verdict(text, "clwe-jax guide results")
    level = sum(levels) / len(levels)
    return _judged(
        f"{text} The floor, always the most frequent label, is {figures.percent(level)}",
        value > level,  # a head that always gives this label has learned nothing
        _gain(value, level),
        "The vectors of the encoder do not carry this task into other languages; joint_dictionary "
        "and warm_dict_mlm train others for --config.encoder=run:DIR:",
        "clwe-jax guide transfer",
    )


def _clcr(run: Run) -> Verdict | None:
    """The verdict on CLCR's map; linear regression is its floor."""
    value, level = (run.figures.get(f"clcr/f1/{x}") for x in ("annealed", "regression"))
    if run.option("job") != "clcr" or value is None:
        return None
    text = f"Words and their translations in a sentence: F1 {figures.percent(value)} by the map."
    if level is None:
        return Verdict(text)
    return _judged(
        f"{text} The floor, linear regression, is {figures.percent(level)}",
        value >= level,
        _gain(value, level),
        "The guide says what its options change:",
        "clwe-jax guide clcr",
    )


def _unmeasured(run: Run) -> Verdict | None:
    """What to name, for a run whose evaluators had no test sets."""
    if run.option("job") not in ("pretrain", "static") or not run.option("evals.retrieval"):
        return None
    own = ("--config.evals.retrieval.data=", "--config.job=")
    named = [x for x in overview.command(run) if x.startswith("--config") and not x.startswith(own)]
    text = "No translations were compared, because no test set was named."
    if not named:
        return Verdict(text, "clwe-jax guide evaluate")
    again = (*named, f"--workdir={run.workdir}", "--config.job=evaluate", "--config.evals.retrieval.data=tatoeba")
    return Verdict(
        f"{text} `clwe-jax data tatoeba --languages={','.join(run.languages)} --out=tatoeba` fetches "
        "sentences, and this measures the run on them:",
        f"clwe-jax {shlex.join(again)}",
    )


def _headline(run: Run) -> tuple[str, str] | None:
    """The path of the main figure, and its method: the last one that has a floor, else that is there."""
    for name in ("retrieval/mean_last4", "retrieval/mean"):
        measured = [how for how, x in SENTENCE_METHODS.items() if f"{name}{x}" in run.figures]
        level = [how for how in measured if _floor(run, name, how) is not None]
        if measured:
            how = (level or measured)[-1]
            return f"{name}{SENTENCE_METHODS[how]}", how
    return None


def _floor(run: Run, name: str, how: str) -> float | None:
    """The floor of a figure by a method; words weigh alike in both where that was measured."""
    return floor.mean(run, floor.retrieval_path(run, SENTENCE_METHODS[how], "last4" not in name))


def _next(run: Run) -> tuple[str, str]:
    """The config of the next step for a run below its floor ('' for none), and the reason."""
    if run.option("job") == "static":
        if run.option("static.training") == "dictionary" or run.option("static.dictionary_dim"):
            return "", (
                "More pairs in the dictionary or more text help: `clwe-jax data wiktionary`, "
                "docs/vectors.md."
            )
        return "joint_dictionary", "The dictionary's vectors beside the trained ones are above both:"
    if run.option("init.embeddings") or run.option("init.parameters"):
        return "joint_dictionary", "Static vectors of the same text and dictionary are a safe choice:"
    return "warm_dict_mlm", (
        "That is expected: a language model that starts from random parameters needs days on an "
        "accelerator to pass it. Started from word vectors, it is above the floor in the same minutes "
        "with the same text:"
    )


def _command(run: Run, system: str) -> str:
    """The command that trains another system on the run's data at its scale."""
    kept = [word for word in overview.command(run) if word.startswith(_KEPT)]
    scale = run.option("scale", "laptop")
    named = system if scale == "laptop" else f"{system}:{scale}"
    return f"clwe-jax --config={named} {shlex.join(kept)}".strip()
