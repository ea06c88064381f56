"""The first sentence of a report and the last lines of a run: the figure, its floor, the next step."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Sequence

from clwe_jax.options import shipped, systems
from clwe_jax.options.text import TextOptions
from clwe_jax.report import figures, overview
from clwe_jax.report.headline import Headline, choose_leading, compare_with_floor, mean_of, pairs_of
from clwe_jax.report.run_folder import RunFolder

_BELOW = "this run is below its floor."
_SHARED = ("--config.data.", "--config.evals.", "--config.seed")  # of the command, for the next one
_LANGUAGES = "--config.data.languages="
_SOURCE = "--config.data.source="
# Text that word vectors, which these systems begin with, cannot be trained on.
_NO_FILES = (f"{_SOURCE}batches:", f"{_SOURCE}tfds:")
_USUAL_LANGUAGES = TextOptions.languages.split(",")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The sentences on a run's main figure.

    Attributes:
      text: the figure beside its floor.
      why: of a run below its floor, the reason and the next step; '' for none.
      command: the command of that step; '' for none.
      further: what is said of the run's other measurements.
    """

    text: str
    why: str = ""
    command: str = ""
    further: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Offer:
    """What a reader can do next with a run.

    Attributes:
      text: a sentence.
      command: the command that does it; '' for none.
      page: a page beside this one or a place on it; '' for none.
    """

    text: str
    command: str = ""
    page: str = ""


# A run's next step: the reason, and the command ('' for none).
Step = tuple[str, str]


def judge(run: RunFolder, headlines: Sequence[Headline], step: Step) -> Verdict | None:
    """The verdict on the leading figure of a measurement, with `step` below its floor; None without one."""
    headline = choose_leading([x for x in headlines if x.sentence], run.figures)
    if headline is None:
        return None
    form = figures.FORMS[headline.form]
    value = form(run.figures[headline.mean])
    text = headline.sentence.format(value) + _directions(run, headline) + _chance(run, headline)
    comparison = compare_with_floor(headline, run.figures)
    if comparison is None:
        return Verdict(f"{text}.")
    floor = "dictionary floor" if headline.has_dictionary_floor else "floor"
    text += f". The {floor}, {headline.baseline}, is {form(comparison.floor)}"
    if not comparison.has_all_pairs:
        text += f" over {comparison.pairs} of these directions, where this run has "
        text += form(comparison.value)
    gain_text = gain(comparison.value, comparison.floor) if headline.form == "percent" else ""
    return judge_figure(text, comparison.value >= comparison.floor, gain_text, step)


def judge_figure(text: str, passes: bool, more: str, step: Step) -> Verdict:
    """The verdict on a figure beside its floor: the gain, or why the run is below it and what is next."""
    return Verdict(f"{text}{more}.") if passes else Verdict(f"{text}: {_BELOW}", *step)


def gain(value: float, level: float) -> str:
    """': +3.1 points', of a figure above its floor."""
    return f": {figures.points(value - level)} points"


def _directions(run: RunFolder, headline: Headline) -> str:
    """', mean of 6 directions', of a figure that is a mean; '' for one."""
    count = len(pairs_of(headline.path, run.figures))
    return f", mean of {count} directions" if count > 1 else ""


def _chance(run: RunFolder, headline: Headline) -> str:
    chance = run.figures.get(mean_of(headline.chance))
    return f" (chance: {figures.percent(chance, 1 if chance >= 0.001 else 2)})" if chance else ""


def name_missing_tests(run: RunFolder) -> Verdict | None:
    """What to name, for a run whose evaluators had no test sets."""
    if not run.option("evals.retrieval"):
        return None
    own = ("--config.evals.retrieval.data=", "--config.job=")
    words = [x for x in overview.command(run) if x.startswith("--config") and not x.startswith(own)]
    text = "No translations were compared, because no test set of these languages was named."
    if not words:
        return Verdict(text, "The guide says how to name one:", "clwe-jax guide evaluate")
    # Tatoeba pairs every language with English; FLORES has the same sentences in all.
    name, folder = ("tatoeba", "tatoeba") if "en" in run.languages else ("flores", "flores/devtest")
    arguments = (
        *words,
        f"--workdir={run.workdir}",
        "--config.job=evaluate",
        f"--config.evals.retrieval.data={folder}",
    )
    return Verdict(
        text,
        f"`clwe-jax data {name} --languages={','.join(run.languages)} --out={name}` fetches "
        "sentences, and this measures the run on them:",
        f"clwe-jax {shlex.join(arguments)}",
    )


def command(run: RunFolder, system: str) -> str:
    """The command that trains another system on the run's data at its scale, by the options that both have."""
    scale = run.option("scale", "laptop")
    file = shipped.folder(shipped.CONFIGS) / f"{system}.py"
    other = systems.from_file(f"{file}:{scale}")
    known = {path for path, _, _ in systems.describe_options(other)}
    shared_words = [
        f"{_SOURCE}text:DIR" if word.startswith(_NO_FILES) else word
        for word in overview.command(run)
        if word.startswith(_SHARED) and word.partition("=")[0].removeprefix("--config.") in known
    ]
    languages = f"{_LANGUAGES}{','.join(run.languages)}"
    # The run's config may have set them, and that of the other system others.
    if run.languages not in ([], _USUAL_LANGUAGES) and languages not in shared_words:
        shared_words.append(languages)
    config = system if scale == "laptop" else f"{system}:{scale}"
    return f"clwe-jax --config={config} {shlex.join(shared_words)}".strip()
