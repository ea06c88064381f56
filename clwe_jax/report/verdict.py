"""The first sentence of a report and the last lines of a run: the figure, its floor, the next step."""

from __future__ import annotations

import dataclasses
import shlex

from clwe_jax.report import figures, floor, overview
from clwe_jax.report.figures import SENTENCE_METHODS
from clwe_jax.report.run_folder import Run

_KEPT = ("--config.data.", "--config.evals.", "--config.seed")  # of the command, for the next one


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The sentences on a run's main figure, and the command of the next step; '' for none."""

    text: str
    command: str = ""


def of(run: Run) -> Verdict | None:
    """The verdict on sentence retrieval; None for a run that did not measure it."""
    headline = _headline(run)
    if headline is None:
        return None
    name, how = headline
    value, level = run.figures[name], _floor(run, name, how)
    count = len(figures.pairs_of(run.figures, "retrieval"))
    pairs = f", mean of {count} directions" if count > 1 else ""
    chance = run.figures.get("retrieval/chance")
    chance = f" (chance: {figures.percent(chance, 1 if chance >= 0.001 else 2)})" if chance else ""
    text = f"{figures.percent(value)} of the sentences find their translation by {how}{pairs}{chance}."
    if level is None:
        return Verdict(text)
    text += f" The dictionary floor, the dictionary alone without training, is {figures.percent(level)}"
    if value >= level:
        return Verdict(f"{text}: {figures.points(value - level)} points.")
    system, why = _next(run)
    return Verdict(f"{text}: this run is below its floor. {why}", _command(run, system) if system else "")


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
