"""What the page and the terminal say of every run; a wing extends it by what it says of its own runs."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence

from clwe_jax.report import card, comparison, overview, verdict
from clwe_jax.report.data import Cell, Section
from clwe_jax.report.overview import Tile
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.report.verdict import Step, Verdict

# (run, other runs) -> a section, None without figures.
Builder = Callable[[RunFolder, Sequence[RunFolder]], Section | None]


class Page:
    """The sentences, headline figures and sections in which kinds of run differ.

    Attributes:
      purpose: what the models of these runs are good for.
      shown: beginnings of the names of figures that the wing's sections show.
      behind: a section that every page has -> the wing's own, which stand behind it.
    """

    purpose = "comparing words and sentences across its languages, and as a start for fine-tuning"
    shown: Sequence[str] = ()
    behind: Mapping[Builder, Sequence[Builder]] = {}

    def verdict(self, run: RunFolder) -> Verdict | None:
        """The verdict on a run: all figures, then one next step; None without written results."""
        if not run.has_results:
            return None
        found = list(filter(None, self.verdicts(run)))
        other = None if found else verdict.words(run, self.next_step(run)) or self.unmeasured(run)
        found += [other] if other else []
        if not found:
            return None
        why, command = next(((x.why, x.command) for x in found if x.why), ("", ""))
        return Verdict(" ".join(filter(None, [*(x.text for x in found), why])), command=command)

    def verdicts(self, run: RunFolder) -> list[Verdict | None]:
        """The verdicts on a run's main figures, in their order."""
        return [verdict.sentences(run, self.next_step(run))]

    def next_step(self, run: RunFolder) -> Step:
        """The next step of a run below the dictionary."""
        return "", ""

    def unmeasured(self, run: RunFolder) -> Verdict | None:
        """What to do for a run that has no main figure."""
        return None

    def tiles(self, run: RunFolder, others: Sequence[RunFolder]) -> list[Tile]:
        """The headline figures."""
        return overview.tiles(run, others)

    def facts(self, run: RunFolder) -> Mapping[str, Cell]:
        """What else is said of the run's speed: name -> value."""
        return {}

    def vectors(self, run: RunFolder) -> str:
        """The vectors that the run was given in the place of text; '' for none."""
        return ""

    def code(self, run: RunFolder) -> str:
        """Code that uses the model; '' for none."""
        return card.loading(run)

    def machine(self, run: RunFolder, others: Sequence[RunFolder]) -> Section:
        """The section on speed, memory and the machine."""
        return overview.machine(run, others, self.facts(run))

    def other_figures(self, run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
        """The section of the figures that no other section shows."""
        return comparison.other_figures(run, others, self.shown)

    def intended_use(self, run: RunFolder, others: Sequence[RunFolder]) -> Section:
        """The section on the model's purpose and its data."""
        return card.intended_use(run, self.purpose, self.vectors(run))

    def usage(self, run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
        """The section of code that uses the model."""
        return card.usage(self.code(run)) if run.languages else None
