"""What the page and the terminal say of every run; a wing extends it by what it says of its own runs."""

from __future__ import annotations

import functools
import itertools
from typing import Callable, Mapping, Sequence

from clwe_jax.report import card, comparison, corpus, evaluations, overview, training, verdict
from clwe_jax.report.data import Cell, Section, section_from_json
from clwe_jax.report.evaluations import Builder
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.report.verdict import Offer, Step, Verdict

# The name of a section, by which the page names a damaged one, and what builds it.
NamedBuilder = tuple[str, Callable[[], Section | None]]


class Page:
    """The sentences, headline figures and sections in which kinds of run differ.

    Attributes:
      purpose: what the models of these runs are good for.
      own_sections: of the wing, which stand behind those of the evaluators.
      shown_prefixes: beginnings of the names of figures that they show.
    """

    purpose = "comparing words and sentences across its languages, and as a start for fine-tuning"
    own_sections: Sequence[Builder] = ()
    shown_prefixes: Sequence[str] = ()

    def sections(self, run: RunFolder, others: Sequence[RunFolder]) -> list[NamedBuilder]:
        """The sections of the page in their order; those without content are among them."""
        of_job = run.extras.get("sections") or []
        of_job = of_job if isinstance(of_job, list) else [of_job]  # the page names what is damaged
        builders = [*evaluations.sections(), *self.own_sections]
        about = [
            training.section,
            corpus.languages,
            corpus.neighbours,
            self.machine,
            self.other_figures,
            overview.notes,
            self.comparison,
            overview.configuration,
            self.intended_use,
            self.usage,
        ]
        name = lambda builds: [(_name(x), functools.partial(x, run, others)) for x in builds]
        from_json = (functools.partial(section_from_json, x) for x in of_job)
        named = [(f"sections[{i}]", build) for i, build in enumerate(from_json)]
        return [*name(builders), *named, *name(about)]

    def verdict(self, run: RunFolder) -> Verdict | None:
        """The verdict on a run: its main figure, the others, one next step; None without written results."""
        if not run.has_results:
            return None
        verdicts = list(filter(None, self.verdicts(run) or [self.name_missing_tests(run)]))
        if not verdicts:
            return None
        first, *further = (x.text for x in verdicts)
        below = next((x for x in verdicts if x.why), verdicts[0])  # it names the next step
        return Verdict(first, below.why, below.command, further)

    def headlines(self, run: RunFolder) -> Sequence[Headline]:
        """The wing's own main figures, in ascending order of their weight."""
        return ()

    def all_headlines(self, run: RunFolder) -> dict[str, Sequence[Headline]]:
        """Name of a measurement -> its headlines: the wing's own, then those of the evaluators."""
        return {"": self.headlines(run), **evaluations.headlines()}

    def verdicts(self, run: RunFolder) -> list[Verdict]:
        """The verdicts on a run's measurements, in their order."""
        step = self.next_step(run)
        judged = (verdict.judge(run, some, step) for some in self.all_headlines(run).values())
        return list(filter(None, judged))

    def next_step(self, run: RunFolder) -> Step:
        """The next step of a run below its floor; `offers` has those of other runs."""
        return "", ""

    def name_missing_tests(self, run: RunFolder) -> Verdict | None:
        """What to do for a run that has no main figure."""
        return verdict.name_missing_tests(run)

    def offers(self, run: RunFolder) -> Sequence[Offer]:
        """What to do next with a run that is not below its floor; the first screen shows it."""
        return (Offer("Use this model: the code is at the end of this page", page="#end"),)

    def facts(self, run: RunFolder) -> Mapping[str, Cell]:
        """What else is said of the run's speed: name -> value."""
        return {}

    def vectors(self, run: RunFolder) -> str:
        """The vectors that the run was given in the place of text; '' for none."""
        return ""

    def code(self, run: RunFolder) -> str:
        """Code that uses the model; '' for none."""
        return card.loading_code(run)

    def machine(self, run: RunFolder, others: Sequence[RunFolder]) -> Section:
        """The section on speed, memory and the machine."""
        return overview.machine(run, others, self.facts(run))

    def comparison(self, run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
        """The section of the other runs."""
        headlines = itertools.chain(*self.all_headlines(run).values())
        return comparison.section(run, others, headlines)

    def other_figures(self, run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
        """The section of the figures that no other section shows."""
        return comparison.other_figures(run, others, self.shown_prefixes)

    def intended_use(self, run: RunFolder, others: Sequence[RunFolder]) -> Section:
        """The section on the model's purpose and its data."""
        return card.intended_use(run, self.purpose, self.vectors(run))

    def usage(self, run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
        """The section of code that uses the model."""
        return card.usage(self.code(run)) if run.languages else None


def _name(builder: Builder) -> str:
    """'training.section', or 'static.errors' of a wing."""
    room, module = builder.__module__.split(".")[-2:]
    return f"{module if room in ('report', 'evaluate') else room}.{builder.__name__}"
