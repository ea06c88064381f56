"""The first sentence of a report and the last lines of a run: the figure, its floor, the next step."""

from __future__ import annotations

import dataclasses
import shlex

from clwe_jax.options.text import TextOptions
from clwe_jax.report import figures, floor, overview
from clwe_jax.report.figures import SENTENCE_METHODS
from clwe_jax.report.run_folder import RunFolder

_BELOW = "this run is below its floor."
_KEPT = ("--config.data.", "--config.evals.", "--config.seed")  # of the command, for the next one
_LANGUAGES = "--config.data.languages="
_USUAL_LANGUAGES = TextOptions.languages.split(",")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The sentences on a run's main figure.

    Attributes:
      text: the figure beside its floor.
      why: of a run below its floor, the reason and the next step; '' for none.
      command: the command of that step; '' for none.
    """

    text: str
    why: str = ""
    command: str = ""


# A run's next step: the config of a system ('' for none), and the reason.
Step = tuple[str, str]


def sentences(run: RunFolder, step: Step) -> Verdict | None:
    """The verdict on sentence retrieval; None where it was not measured.

    Args:
      step: for a run below the dictionary.
    """
    headline = _headline(run)
    if headline is None:
        return None
    name, how = headline
    text = (
        f"{figures.percent(run.figures[name])} of the sentences find their translation by {how}"
        f"{directions(run, name)}{_chance(run, 'retrieval')}."
    )
    return _beside_dictionary(run, text, _beside(run, name, how), step)


def words(run: RunFolder, step: Step) -> Verdict | None:
    """The verdict on lexicon induction, of a run that compared no sentences; as `sentences`."""
    method, ending = figures.word_method(run.figures)
    name = f"bli/p@1{ending}_distinct"
    which = " that have a translation of another spelling"
    if name not in run.figures:
        # Older runs: a word without a vector counted as found where it is its own translation.
        name = f"bli/p@1{ending}"
        which = ""
    if name not in run.figures:
        return None
    text = (
        f"{figures.percent(run.figures[name])} of the words{which} find their translation by {method}"
        f"{directions(run, name)}{_chance(run, 'bli')}."
    )
    found = floor.beside(run, name, f"floor/bli/*/{name.partition('/')[2]}")
    return _beside_dictionary(run, text, found, step)


def _beside_dictionary(
    run: RunFolder, text: str, found: floor.Beside | None, step: Step
) -> Verdict:
    """The verdict on a figure beside the dictionary's, if that was measured."""
    if found is None:
        return Verdict(text)
    system, why = step
    text = f"{text} The dictionary floor, the dictionary alone without training, is "
    text += figures.percent(found.level)
    if not found.whole:
        text += f" over {found.pairs} of these directions, where this run has "
        text += figures.percent(found.value)
    return judge_figure(
        text,
        found.value >= found.level,
        gain(found.value, found.level),
        why,
        command(run, system) if system else "",
    )


def judge_figure(text: str, passes: bool, more: str, why: str, command: str) -> Verdict:
    """The verdict on a figure beside its floor: the gain, or why the run is below it and what is next."""
    return Verdict(f"{text}{more}.") if passes else Verdict(f"{text}: {_BELOW}", why, command)


def gain(value: float, level: float) -> str:
    """': +3.1 points', of a figure above its floor."""
    return f": {figures.points(value - level)} points"


def directions(run: RunFolder, name: str) -> str:
    """', mean of 6 directions', of a figure that is a mean; '' for one."""
    count = len(floor.pairs_of(run, name))
    return f", mean of {count} directions" if count > 1 else ""


def _chance(run: RunFolder, prefix: str) -> str:
    chance = run.figures.get(f"{prefix}/chance")
    return f" (chance: {figures.percent(chance, 1 if chance >= 0.001 else 2)})" if chance else ""


def name_missing_tests(run: RunFolder) -> Verdict | None:
    """What to name, for a run whose evaluators had no test sets."""
    if not run.option("evals.retrieval"):
        return None
    own = ("--config.evals.retrieval.data=", "--config.job=")
    named = [x for x in overview.command(run) if x.startswith("--config") and not x.startswith(own)]
    text = "No translations were compared, because no test set of these languages was named."
    if not named:
        return Verdict(text, "The guide says how to name one:", "clwe-jax guide evaluate")
    # Tatoeba pairs every language with English; FLORES has the same sentences in all.
    name, folder = ("tatoeba", "tatoeba") if "en" in run.languages else ("flores", "flores/devtest")
    again = (
        *named,
        f"--workdir={run.workdir}",
        "--config.job=evaluate",
        f"--config.evals.retrieval.data={folder}",
    )
    return Verdict(
        text,
        f"`clwe-jax data {name} --languages={','.join(run.languages)} --out={name}` fetches "
        "sentences, and this measures the run on them:",
        f"clwe-jax {shlex.join(again)}",
    )


def _headline(run: RunFolder) -> tuple[str, str] | None:
    """The path of the main figure, and its method: the last one that has a floor, else that is there."""
    for name in ("retrieval/mean_last4", "retrieval/mean"):
        measured = [how for how, x in SENTENCE_METHODS.items() if f"{name}{x}" in run.figures]
        level = [how for how in measured if _beside(run, f"{name}{SENTENCE_METHODS[how]}", how)]
        if measured:
            how = (level or measured)[-1]
            return f"{name}{SENTENCE_METHODS[how]}", how
    return None


def _beside(run: RunFolder, name: str, how: str) -> floor.Beside | None:
    """A figure by a method beside its floor; words weigh alike in both where that was measured."""
    path = floor.retrieval_path(run, SENTENCE_METHODS[how], "last4" not in name)
    return floor.beside(run, name, path)


def command(run: RunFolder, system: str) -> str:
    """The command that trains another system on the run's data at its scale."""
    kept = [word for word in overview.command(run) if word.startswith(_KEPT)]
    languages = f"{_LANGUAGES}{','.join(run.languages)}"
    # The run's config may have set them, and that of the other system others.
    if run.languages not in ([], _USUAL_LANGUAGES) and languages not in kept:
        kept.append(languages)
    scale = run.option("scale", "laptop")
    named = system if scale == "laptop" else f"{system}:{scale}"
    return f"clwe-jax --config={named} {shlex.join(kept)}".strip()
