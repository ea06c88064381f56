"""All options of a comparison: systems that are trained and measured on the same data."""

from __future__ import annotations

import dataclasses
import re
from typing import Annotated, Mapping

from clwe_jax.options import derived as shared, evaluators
from clwe_jax.options.section import (
    AT,
    Count,
    OneOf,
    OptionError,
    Options,
    Size,
    entries,
    option,
    section,
)
from clwe_jax.options.systems import Run
from clwe_jax.options.tasks import check_source
from clwe_jax.options.text import SOURCE, CorpusOptions
from clwe_jax.options.training import ReportOptions


UNITS = ("minutes", "tokens", "steps")
_BUDGET = re.compile(rf"(\d[\d_]*(?:\.\d+)?)\s*({'|'.join(UNITS)})")


@dataclasses.dataclass(frozen=True)
class CompareOptions(Options):
    """The systems, their budget and what is measured."""

    systems: str = option(
        "default",
        "with commas: default | quick | names of clwe_jax/compare/systems.py | FILE.py, a config | "
        "run:DIR | hf:DIR | laser:DIR | vec:en=FILE,de=FILE",
    )
    seeds: Size = option(1, "runs of each system that is trained, from config.seed on")
    budget: str = option(
        "",
        "training of each language model: '5 minutes' (turned into steps by the measured "
        "speed), '300_000 tokens' or '1000 steps' | '': each config's own steps",
    )
    configs: str = option("configs", "folder of the systems' config files")
    parallel: str = option(
        SOURCE,
        "parallel text of the systems that need it: source (config.data.pairs, else pocket where data.source "
        "is) | DIR | mined | '': none",
    )
    tasks: str = option(
        "ner,pos,xnli,topics",
        "tasks whose labels are learned in one language and tested in all, also mldoc and pawsx; '': none",
    )
    labelled: str = option(
        SOURCE,
        "source (pocket where data.source is) | a folder of TASK/en.train.*, TASK/de.test.*, ... | '': "
        "no such tasks",
    )
    heads: Size = option(3, "heads of a task on each encoder")
    rows: Count = option(2_000, "maximum number of training rows of a task; 0: all")
    test_rows: Count = option(500, "maximum number of test rows of a task and language; 0: all")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget and not (_BUDGET.fullmatch(self.budget) and self.amount[0] > 0):
            raise OptionError(
                f"{AT}.budget={self.budget!r}: expected a number of one of {', '.join(UNITS)}, such as "
                "'5 minutes', '300000 tokens' or '1000 steps', or '' for each config's own steps"
            )

    @property
    def amount(self) -> tuple[float, str]:
        """The budget as a number of one of `UNITS`; (0, '') without."""
        match = _BUDGET.fullmatch(self.budget)
        return (float(match[1].replace("_", "")), match[2]) if match else (0.0, "")


@dataclasses.dataclass(frozen=True)
class CompareRun(Run):
    """All options of a comparison."""

    job: Annotated[str, OneOf("compare")] = option("compare", "compare")
    seed: Count = option(0, "of the embedded world's text, of the first run and of the tests")
    data: CorpusOptions = section(lambda: CorpusOptions(simplify_chinese=True))
    compare: CompareOptions = section(CompareOptions)
    evals: Mapping[str, Options] = entries(
        "evaluator",
        "name -> options of an evaluator",
        retrieval=evaluators.RetrievalEvaluation(data=SOURCE),
        bli=evaluators.BliEvaluation(data=SOURCE, methods="csls"),
        senses=evaluators.SensesEvaluation(data=SOURCE, sentences=300),
        wsd=evaluators.WsdEvaluation(),
    )
    report: ReportOptions = section(ReportOptions)

    @property
    def parallel(self) -> str:
        # Mined text is that of a system's own run.
        return self.compare.parallel if self.compare.parallel == "pocket" else ""

    def resolve(self) -> CompareRun:
        run = super().resolve()
        value = "" if self.has_own_data else "pocket"
        values = {"parallel": run.training_pairs or value, "labelled": value}
        marked = {x: y for x, y in values.items() if getattr(self.compare, x) == SOURCE}
        return dataclasses.replace(run, compare=dataclasses.replace(run.compare, **marked))

    def check(self, run: Run, path: str) -> None:
        del run, path
        names = shared.languages(self)
        if len(names) < 2:
            raise ValueError(
                f"config.data.languages={self.data.languages}: a comparison needs two languages or "
                "more, e.g. --config.data.languages=en,de"
            )
        check_source(self.data.source, "text:DIR")
        if not self.data.dictionaries:
            raise ValueError(
                "config.data.dictionaries is empty, and all systems share one dictionary: "
                "--config.data.dictionaries=DIR, a folder of xx-yy.txt"
            )
