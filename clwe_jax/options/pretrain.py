"""All options of a language model's training."""

from __future__ import annotations

import dataclasses
import os
from typing import Mapping

from clwe_jax.options import derived as shared
from clwe_jax.options import evaluators, models, objectives, tasks, training
from clwe_jax.options.section import Options, Size, entries, option, section
from clwe_jax.options.systems import Run
from clwe_jax.options.text import SOURCE, BatchesOptions, VocabOptions
from clwe_jax.options.training import GIVEN, MINED, TRAINED_STARTS


@dataclasses.dataclass(frozen=True)
class ProjectionOptions(Options):
    """Maps of a biLM's layers onto those of another language (A13)."""

    methods: str = option("orthogonal,least_squares", "kinds of maps to fit")
    apply: str = option("orthogonal", "the map that `api.load` applies")
    lines: Size = option(20_000, "lines of each language whose words are averaged")
    identical: bool = option(True, "whether tokens of both languages are pairs too")
    identical_min_count: Size = option(5, "minimum number of occurrences of such a token")
    anchors: str = option("words", "words | senses: points of the last layer's map")
    source: str = option("", "folder of the monolingual run that is mapped, for two runs")
    target: str = option("", "folder of the monolingual run that it is mapped onto")


@dataclasses.dataclass(frozen=True)
class PretrainRun(Run):
    """All options of a language model's training."""

    data: BatchesOptions = section(BatchesOptions)
    vocab: VocabOptions = section(VocabOptions)
    task: Options = section(tasks.Mlm, "task")
    model: Options = section(models.TransformerOptions, "model")
    objective: Options = section(objectives.MlmOptions, "objective")
    init: training.InitOptions = section(training.InitOptions)
    optimizer: training.OptimizerOptions = section(training.OptimizerOptions)
    train: training.TrainOptions = section(training.TrainOptions)
    mesh: training.MeshOptions = section(training.MeshOptions)
    checkpoint: training.CheckpointOptions = section(training.CheckpointOptions)
    finish: training.FinishOptions = section(training.FinishOptions)
    projection: ProjectionOptions | None = section(
        lambda: None,
        ProjectionOptions,
        "maps onto another language, of biLMs of several languages (A13)",
    )
    evals: Mapping[str, Options] = entries(
        "evaluator",
        "name -> options of an evaluator",
        mlm=evaluators.MlmEvaluation(every_steps=500, batches=4),
        retrieval=evaluators.RetrievalEvaluation(data=SOURCE, every_steps=1_000),
        bli=evaluators.BliEvaluation(data=SOURCE),
        word_alignment=evaluators.WordAlignmentEvaluation(max_sentences=500),
    )
    report: training.ReportOptions = section(training.ReportOptions)
    plan: training.PlanOptions = section(training.PlanOptions)

    @property
    def parallel(self) -> str:
        return self.task.parallel

    @property
    def finish_pairs(self) -> str:
        return self.finish.pairs if self.finish.steps and self.finish.pairs != "copies" else ""

    @property
    def vocabulary_path(self) -> str:
        return self.vocab.path

    @property
    def learns_from_mined(self) -> bool:
        return self.init.mine

    @property
    def mined_by(self) -> list[str]:
        """The options that take sentences mined in the run's own text."""
        parallel_text = {"task.parallel": self.parallel, "finish.pairs": self.finish_pairs}
        return [name for name, value in parallel_text.items() if value == MINED]

    def resolve(self) -> PretrainRun:
        run = super().resolve()
        if run.parallel == SOURCE:
            value = run.training_pairs or ("" if run.has_own_data else "pocket")
            run = dataclasses.replace(run, task=dataclasses.replace(run.task, parallel=value))
        if run.finish.pairs == GIVEN:
            finish = dataclasses.replace(run.finish, pairs=run.training_pairs)
            run = dataclasses.replace(run, finish=finish)
        return run

    def check(self, run: Run, path: str) -> None:
        del run, path
        if self.train.steps < 1:
            raise ValueError(f"config.train.steps={self.train.steps}: must be at least 1")
        names = shared.languages(self)
        if len(names) == 1 and (self.parallel or self.data.dictionaries):
            needs = "task.parallel" if self.parallel else "data.dictionaries"
            raise ValueError(
                f"config.data.languages={names[0]}: config.{needs} needs two languages or more: "
                f"--config.data.languages={names[0]},de, or --config.{needs}='' for one language"
            )
        if self.vocab.dictionary_share and not self.data.dictionaries:
            raise ValueError(
                f"config.vocab.dictionary_share={self.vocab.dictionary_share} takes words of a "
                "dictionary: set config.data.dictionaries, or the share to 0"
            )
        if self.init.embeddings:
            _check_vectors(self)
        self.optimizer.check_model(self.model)
        _check_mining(self)
        _check_heldout(self)
        if self.finish.steps:
            _check_finish(self)
        if self.training_pairs not in ("", self.parallel, self.finish_pairs):
            raise ValueError(
                f"config.data.pairs={self.data.pairs}: nothing in this run reads it. Learn from pairs with "
                "configs/xlm.py, configs/laser.py or configs/supervised_mt.py, or at the end of the "
                "training with --config.finish.steps=500 --config.finish.pairs=given"
            )


def _check_vectors(run: PretrainRun) -> None:
    """Checks the word vectors that a language model starts from."""
    init = run.init
    source = run.data.source
    names = shared.languages(run)
    choice = f"config.init.embeddings={init.embeddings!r}"
    is_run = os.path.exists(os.path.join(init.embeddings, "spaces.json"))
    if init.method == "subword" and init.embeddings != "joint" and not is_run:
        raise ValueError(
            f"{choice}: dictionary vectors and files have no n-grams for config.init.method='subword': "
            "--config.init.method=wechsel"
        )
    if init.embeddings in TRAINED_STARTS:
        if source != "pocket" and not source.startswith("text:"):
            raise ValueError(
                f"{choice} trains on text files, and config.data.source={source!r}: take pocket or "
                "text:DIR, or give a static run's folder"
            )
        if len(names) < 2:
            raise ValueError(f"{choice} joins two languages or more: {run.data.languages}")
        if init.embeddings != "joint" and not run.data.dictionaries:
            raise ValueError(f"{choice} needs a dictionary: set config.data.dictionaries")
    elif init.embeddings == "dictionary":
        if not run.data.dictionaries or source.startswith("batches:"):
            raise ValueError(
                f"{choice} needs config.data.dictionaries, and text (config.data.source=text:DIR)"
            )
    elif os.path.isdir(init.embeddings):
        if not is_run:
            raise ValueError(
                f"{choice} holds no aligned vectors: give the folder of a finished static run "
                "(configs/joint_align.py), or vector files as de=FILE,en=FILE"
            )
    elif not any(mark in init.embeddings for mark in "=./"):
        raise ValueError(
            f"{choice}: expected joint, dictionary, joint+dictionary, a static run's folder, or "
            "vector files as de=FILE,en=FILE"
        )
    else:
        for path in shared.vector_files(init.embeddings, names, "config.init.embeddings").values():
            if not os.path.isfile(path):
                raise ValueError(f"config.init.embeddings: {path} is no file of vectors")
    if init.tables == "input" and run.model.reads_characters:
        raise ValueError(
            "config.init.tables='input': this model reads characters and has an output table only: "
            "--config.init.tables=both"
        )
    tied = isinstance(run.objective, objectives.MlmOptions) and run.objective.tied
    if init.tables != "both" and tied:
        raise ValueError(
            f"config.init.tables={init.tables!r}: this model scores tokens with the table that "
            "reads them: --config.init.tables=both or --config.objective.tied=False"
        )


def _check_mining(run: PretrainRun) -> None:
    """Checks what a language model mines in its own text."""
    names = [f"config.{name}='{MINED}'" for name in run.mined_by]
    if run.init.mine:
        names.append("config.init.mine=True")
        if run.init.embeddings != "joint+dictionary":
            raise ValueError(
                f"config.init.mine=True: dictionary vectors learn from what is mined, and config.init."
                f"embeddings={run.init.embeddings!r}: --config.init.embeddings=joint+dictionary"
            )
    source = run.data.source
    if names and (source != "pocket" and not source.startswith("text:")):
        raise ValueError(
            f"{names[0]} mines text files, and config.data.source={source!r}: take pocket or text:DIR"
        )
    if names and (len(shared.languages(run)) < 2 or not run.data.dictionaries):
        raise ValueError(
            f"{names[0]} finds translations by a dictionary: set --config.data.dictionaries=DIR, and "
            "two languages or more in config.data.languages"
        )


def _check_heldout(run: PretrainRun) -> None:
    """Checks that an evaluation says how many held-out batches are made with those of the training."""
    pairs = isinstance(run.task, tasks.Translation | tasks.Sentences)
    if run.job != "pretrain" or pairs and not run.data.source.startswith("batches:"):
        return
    names = {key: spec.name for key, spec in run.evals.items()}
    if names.get("mlm") == "mlm":
        return
    mend = "set it to options.section_of('evaluator', 'mlm', batches=8)"
    if mlm_keys := [key for key, name in names.items() if name == "mlm"]:
        mend = f"config.evals.{mlm_keys[0]} has another key: call it config.evals.mlm"
    raise ValueError(
        f"config.evals.mlm: the held-out batches of the training are those of this evaluation: {mend}"
    )


def _check_finish(run: PretrainRun) -> None:
    """Checks a contrastive finish."""
    without = "; --config.finish.steps=0 trains without the finish"
    aware = isinstance(run.objective, objectives.SenseLossOptions)
    if not isinstance(run.task, tasks.Mlm) or (aware and run.objective.senses.senses > 1):
        raise ValueError(
            "config.finish.steps: the finish is of masked language models with one sense of a word"
            + without
        )
    finish = run.finish
    copies = finish.pairs == "copies"
    if copies and (run.data.source.startswith("batches:") or not run.data.dictionaries):
        raise ValueError(
            "config.finish.steps: the finish switches words of text by a dictionary: set "
            "config.data.source to pocket, text:DIR or tfds:NAME, and config.data.dictionaries"
            + without
        )
    if not finish.pairs:
        raise ValueError(
            f"config.finish.pairs='': expected copies, {MINED}, {GIVEN} with config.data.pairs, or a "
            "folder of parallel text" + without
        )
    if finish.pool == "sif" and run.data.source.startswith("tfds:"):
        raise ValueError(
            "config.finish.pool=sif: the words of TensorFlow Datasets are not counted: "
            "--config.finish.pool=mean"
        )
