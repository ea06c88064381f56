"""A class of each kind from outside the package runs, by its line of the registry alone."""

import dataclasses
import json
import os

import flax.linen as nn
import numpy as np
import pytest

from clwe_jax import options, presets, registry
from clwe_jax.align.procrustes import Procrustes
from clwe_jax.compare import measured, sections, systems
from clwe_jax.compare.orders import Comparison
from clwe_jax.embeddings import files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.evaluate.context import Context
from clwe_jax.models.heads import Linear
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.aligners import AlignerOptions
from clwe_jax.options.evaluators import EvaluationOptions
from clwe_jax.options.models import LinearHead, TransformerOptions
from clwe_jax.options.objectives import MlmOptions
from clwe_jax.options.section import ByIdentity, Size, option
from clwe_jax.options.tasks import Mlm
from clwe_jax.pretrain import job as pretrain
from clwe_jax.report.headline import Headline
from clwe_jax.static import job as static
from clwe_jax.text.labelled import Examples, Labelled
from clwe_jax.transfer import job as transfer

WORDS, DIM = 60, 8


@dataclasses.dataclass(frozen=True)
class Turns(AlignerOptions):
    """Options of the aligner."""

    turns: Size = option(1, "of a toy")


@dataclasses.dataclass(frozen=True)
class Turned(Turns):
    """Aligns as Procrustes does, and counts its turns."""

    def fit(self, source, target, pairs=None):
        made = Procrustes().fit(source, target, pairs)
        return dataclasses.replace(made, info={"aligner": "toy", "turns": [self.turns]})


@dataclasses.dataclass(frozen=True)
class Words(Mlm):
    """The task."""

    name = "toy"
    masking_rate: float = option(0.3, "of a toy")


@dataclasses.dataclass(frozen=True)
class BackboneOptions(TransformerOptions):
    """The options of the backbone."""

    name = "toy"


class Backbone(Transformer):
    """The backbone."""

    options: BackboneOptions


@dataclasses.dataclass(frozen=True)
class LossOptions(MlmOptions):
    """The options of the objective."""

    name = "toy"
    factor: Size = option(2, "of a toy")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Loss(ByIdentity, LossOptions, MlmObjective):
    """The objective."""

    def loss(self, variables, batch, **more):
        sums, seen = super().loss(variables, batch, **more)
        return {
            **sums,
            "factor": dataclasses.replace(sums["loss"], value=self.factor * sums["loss"].weight),
        }, seen


@dataclasses.dataclass(frozen=True)
class Evaluation(EvaluationOptions):
    """The options of the evaluator."""

    name = "toy"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Evaluator(ByIdentity, Evaluation):
    """The evaluator."""

    headlines = (
        Headline(
            "toy/*/even",
            "Toys that are even",
            floors=("toy/*/chance",),
            sentence="{} of the toys are even",
            baseline="a coin",
            key="toys",
        ),
    )

    context: Context
    has_data = True
    outcomes: dict = dataclasses.field(default_factory=dict, init=False)

    def run(self, model):
        even = np.arange(40) % 4 > 0
        self.outcomes["toy/de-en/even"] = Outcomes(even, np.arange(40))
        for pair in ("", "de-en/"):
            yield f"toy/{pair}even", float(even.mean())
            yield f"toy/{pair}chance", 0.5
        yield "toy/width", float(model.sentences(["a"], self.context.languages[0]).shape[-1])


@dataclasses.dataclass(frozen=True)
class HeadOptions(LinearHead):
    """The options of the head."""

    name = "toy"
    hidden: Size = option(5, "of a toy")


class Head(Linear):
    """A head with one more layer."""

    options: HeadOptions

    @nn.compact
    def __call__(self, texts, train=False):
        x = self.dense(texts[0][0].mean(1), self.options.hidden, "hidden")
        return self.dense(nn.relu(x), self.labels, "output")


@dataclasses.dataclass(frozen=True)
class Letters:
    """The transfer task: whether a word is of the first or of the second half of the alphabet."""

    name, title, kind, texts, metric, embedded = "toy", "Halves", "texts", 1, "acc", True

    def generate(self, language, split, rows, seed):
        chosen = np.random.default_rng([seed, len(split)]).integers(0, WORDS, rows).tolist()
        return Examples(tuple(Labelled((word(language, n),), "ab"[n % 2]) for n in chosen))

    def score(self, gold, predicted):
        return {"acc": float(np.mean([a == b for a, b in zip(gold, predicted, strict=True)]))}

    def counts(self, gold, predicted):
        right = [a == b for a, b in zip(gold, predicted, strict=True)]
        return np.stack([right, np.ones(len(right)), np.ones(len(right))], 1).astype(np.int64)


def word(language, number):
    return language + chr(97 + number // 26) + chr(97 + number % 26)


def words_of(language, turn=np.eye(DIM)):
    """Vectors whose first component says whether the word's number is odd."""
    values = np.random.default_rng(0).normal(size=(WORDS, DIM))
    values[:, 0] = 3 * (-1.0) ** np.arange(WORDS)
    names = [word(language, n) for n in range(WORDS)]
    return Vectors(names, (values @ turn).astype(np.float32))


def load(workdir, step, opened):
    """The loader: an encoder of a folder that holds nothing but its config."""
    del step, opened
    languages = options.languages(options.read_config(workdir))
    return StaticSpaces({x: words_of(x) for x in languages}, {}, {}, languages[0])


LINES = {
    "aligner": ("Turned", "Turns"),
    "task": "Words",
    "model": ("Backbone", "BackboneOptions"),
    "objective": ("Loss", "LossOptions"),
    "evaluator": ("Evaluator", "Evaluation"),
    "head": ("Head", "HeadOptions"),
    "transfer_task": "Letters",
    "loader": "load",
}


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    for table, names in LINES.items():
        entry = [f"{__name__}:{x}" for x in ([names] if isinstance(names, str) else names)]
        line = entry[0] if len(entry) == 1 else tuple(entry)
        monkeypatch.setitem(registry.TABLES[table], "toy", line)


def results(folder):
    return json.loads((folder / "results.json").read_text())


def report(folder):
    return json.loads((folder / "report.json").read_text())


def test_an_aligner_aligns(tmp_path):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(DIM, DIM)))[0]
    files.write(str(tmp_path / "de.vec"), words_of("de", turn))
    files.write(str(tmp_path / "en.vec"), words_of("en"))
    pairs = [(word("de", n), word("en", n)) for n in range(WORDS)]
    for name, some in (("de-en.txt", pairs[:40]), ("de-en.5000-6500.txt", pairs[40:])):
        (tmp_path / name).write_text("".join(f"{a} {b}\n" for a, b in some))
    (tmp_path / "en-de.5000-6500.txt").write_text("".join(f"{b} {a}\n" for a, b in pairs[40:]))
    run = options.with_values(
        options.parse(presets.static("laptop")),
        {
            "data.languages": "de,en",
            "data.dictionaries": str(tmp_path),
            "evals.bli.data": str(tmp_path),
            "evals.retrieval.data": "",
            "align.name": "toy",
            "align.toy.turns": 3,
            "align.source_vectors": str(tmp_path / "de.vec"),
            "align.target_vectors": str(tmp_path / "en.vec"),
        },
    )
    run.resolve().check_all()
    with pytest.raises(ValueError, match="config.align.toy.turns=0"):
        options.with_values(run, {"align.toy.turns": 0})
    assert static.run(run, str(tmp_path / "run"))
    assert results(tmp_path / "run")["bli/de-en/p@1"] == 1.0
    assert report(tmp_path / "run")["static"]["alignments"]["de-en"]["turns"] == [3]
    assert options.read_config(str(tmp_path / "run")).align.toy == Turns(3)


def test_a_task_of_labels_a_head_and_an_encoder_transfer(tmp_path):
    config = presets.transfer("laptop", "topics", "linear")
    config.transfer.head = options.section_of("head", "toy")
    encoder = tmp_path / "encoder"
    os.makedirs(encoder)
    kept = options.with_values(options.parse({}), {"job": "toy", "data.languages": "en,de"})
    options.write_config(kept, str(encoder), os.getcwd())
    assert encoders.load(f"run:{encoder}", ["de"]).languages == ("en", "de")
    run = options.with_values(
        options.parse(config),
        {
            "transfer.task": "toy",
            "encoder": f"run:{encoder}",
            "data.languages": "en,de",
            "transfer.seeds": 1,
            "transfer.embedded_rows": 200,
            "transfer.embedded_tests": 50,
        },
    )
    run.resolve().check_all()
    assert transfer.run(run, str(tmp_path / "run"))
    assert results(tmp_path / "run")["toy/de/acc"] > 0.75  # chance is .5
    assert "Halves" in (tmp_path / "run" / "report.html").read_text()


def test_a_task_a_backbone_an_objective_and_an_evaluator_train(tmp_path, capsys):
    config = presets.start_from("mbert", "laptop")
    config.task = options.section_of("task", "toy")
    config.model = options.section_of("model", "toy", layers=1, width=16, heads=2, mlp_dim=16)
    config.objective = options.section_of("objective", "toy", factor=7)
    config.evals.toy = options.section_of("evaluator", "toy")
    run = options.with_values(
        options.parse(config),
        {
            "data.languages": "en,de",
            "data.pocket_sentences": 300,
            "data.pocket_domains": "money",
            "data.sequence_length": 16,
            "vocab.size": 600,
            "train.steps": 3,
            "train.batch_size": 4,
            "train.log_every_steps": 1,
            "checkpoint.every_steps": 3,
            "evals.mlm": {"every_steps": 0, "batches": 1},
            "evals.retrieval.data": "",
            "evals.bli.data": "",
            "evals.word_alignment.data": "",
        },
    )
    run.resolve().check_all()
    assert pretrain.run(run, str(tmp_path / "dry"), dry=True)
    assert "evaluation toy: toy on" in capsys.readouterr().out
    assert pretrain.run(run, str(tmp_path / "run"))
    verdict = "75.0% of the toys are even. The floor, a coin, is 50.0%: +25.0 points."
    page = (tmp_path / "run" / "report.html").read_text()
    assert verdict in " ".join(capsys.readouterr().out.split())  # the terminal
    assert verdict in page
    assert "<span>Toys that are even</span><b>75.0%</b>" in page  # the tile
    figures = results(tmp_path / "run")
    assert figures["toy/width"] == 16 and figures["train/factor"] == pytest.approx(7)
    assert "eval/mlm/loss" in figures and figures["data/masked_words"] > 0


def test_the_headline_of_an_evaluator_is_compared():
    evaluator = Evaluator(context=Context(languages=("de", "en")))
    list(evaluator.run(StaticSpaces({"de": words_of("de")}, {}, {}, "de").encoder()))
    parts = measured.parts_of_hits(evaluator.outcomes)
    cost = dict.fromkeys(("minutes", "wall_minutes", "memory", "disk"), 1.0)
    one = measured.Measured({}, parts, cost)
    chosen = {"floor": systems.SYSTEMS["floor"]}
    comparison = Comparison(chosen, {"floor": [one]}, {})
    assert comparison.figures()["compare/floor/toys"] == 0.75
    table = sections.sections(comparison, "a minute")[0]["blocks"][0]
    assert {"kind": "column", "head": "Toys that are even", "form": "percent"} in table["columns"]
