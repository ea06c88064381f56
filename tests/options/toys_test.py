"""A class from outside the package is chosen by one line of the registry, and a section of its own."""

import dataclasses
import sys
import types

import pytest

from clwe_jax import options, presets, registry
from clwe_jax.evaluate.context import Context
from clwe_jax.options.evaluators import EvaluationOptions, MlmEvaluation
from clwe_jax.options.models import HeadOptions, ModelOptions
from clwe_jax.options.section import ByIdentity, Options, Size, option
from clwe_jax.options.tasks import TaskOptions
from clwe_jax.runs import evaluators


@dataclasses.dataclass(frozen=True)
class ToyTask(TaskOptions):
    name = "toy"
    widths: Size = option(3, "of a toy")


@dataclasses.dataclass(frozen=True)
class ToyModelOptions(ModelOptions):
    name = "toy"
    width: Size = option(4, "of a toy")


@dataclasses.dataclass(frozen=True)
class ToyModel:
    options: ToyModelOptions
    vocab_size: int


@dataclasses.dataclass(frozen=True)
class ToyLoss(Options):
    name = "toy"
    sharp: bool = option(False, "whether it is")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ToyObjective(ByIdentity, ToyLoss):
    model: ToyModel


@dataclasses.dataclass(frozen=True)
class ToyEvaluation(EvaluationOptions):
    name = "toy"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ToyEvaluator(ByIdentity, ToyEvaluation):
    context: Context
    has_data = True

    def run(self, model):
        yield "toy/figure", 1.0


@dataclasses.dataclass(frozen=True)
class ToyHead(HeadOptions):
    name = "toy"
    hidden: Size = option(2, "of a toy")


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    module = types.ModuleType("toys_from_outside")
    for made in (
        ToyTask,
        ToyModelOptions,
        ToyModel,
        ToyLoss,
        ToyObjective,
        ToyEvaluation,
        ToyEvaluator,
    ):
        setattr(module, made.__name__, made)
    module.ToyHead = ToyHead
    monkeypatch.setitem(sys.modules, module.__name__, module)
    lines = {
        "task": "ToyTask",
        "model": ("ToyModel", "ToyModelOptions"),
        "objective": ("ToyObjective", "ToyLoss"),
        "evaluator": ("ToyEvaluator", "ToyEvaluation"),
        "head": "ToyHead",
    }
    for kind, names in lines.items():
        entry = [f"{module.__name__}:{x}" for x in ([names] if isinstance(names, str) else names)]
        monkeypatch.setitem(
            registry.TABLES[kind], "toy", entry[0] if len(entry) == 1 else tuple(entry)
        )


def test_a_run_takes_options_of_toys():
    config = presets.start_from("mbert", "laptop")
    config.task = options.section_of("task", "toy", widths=5)
    config.model = options.section_of("model", "toy")
    config.objective = options.section_of("objective", "toy", sharp=True)
    config.evals.mine = options.section_of("evaluator", "toy")
    run = options.parse(config)
    run.resolve().check_all()
    assert (run.task, run.model) == (ToyTask(widths=5), ToyModelOptions())
    model = registry.build("model", run.model, vocab_size=7)
    made = registry.build("objective", run.objective, model=model)
    assert made.sharp and made.model.options.width == 4
    context = Context(languages=("en", "de"))
    [found] = evaluators.build(run.evals, context, names=("toy",))
    assert [*found.evaluator.run(None)] == [("toy/figure", 1.0)]
    with pytest.raises(ValueError, match="config.model.width=0"):
        options.with_values(run, {"model.width": 0})


def test_a_transfer_run_takes_a_toy_head():
    config = presets.transfer("laptop", "topics", "toy")
    assert options.parse(config).transfer.head == ToyHead()


def test_an_evaluation_of_the_package_stays_what_it_was():
    assert options.parse(presets.start_from("mbert", "laptop")).evals["mlm"] == MlmEvaluation(
        every_steps=1_000, batches=8
    )
