"""Names of classes and functions, which are imported when they are looked up.

A new objective, backbone, aligner, evaluator or head is a module, its options, a test, a config and one line here.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clwe_jax.options.section import Options

# Table -> name -> 'module:name' of a function or class; of a class with options of its own a pair, the
# class and that of its options, which imports neither jax nor TensorFlow.
TABLES: dict[str, dict[str, str | tuple[str, str]]] = {
    # Functions (config, workdir, dry) -> whether the job is finished.
    "job": {
        "pretrain": "clwe_jax.pretrain.job:run",
        "static": "clwe_jax.static.job:run",
        "project": "clwe_jax.pretrain.project:run",
        "transfer": "clwe_jax.transfer.job:run",
        "clcr": "clwe_jax.clcr.job:run",
        "compare": "clwe_jax.compare.job:run",
        "evaluate": "clwe_jax.reevaluate:run",
    },
    # Functions (run) -> run with the options that follow files and models; they import neither jax nor
    # TensorFlow.
    "adopt_options": {
        "pretrain": "clwe_jax.interop.configuration:adopt_options",
        "project": "clwe_jax.interop.configuration:adopt_options",
        "transfer": "clwe_jax.text.labelled.labelled_languages:adopt_options",
        "compare": "clwe_jax.text.dictionary.compared_words:adopt_options",
    },
    # Searches for the input files of a job, with the same restriction.
    "inputs": {
        "pretrain": "clwe_jax.text.text_of_run:check",
        "static": "clwe_jax.text.text_of_run:check",
        "transfer": "clwe_jax.text.labelled.labelled_files:check",
        "clcr": "clwe_jax.text.corpus.clcr_files:check",
        "compare": "clwe_jax.compare.shared:check",
    },
    # Plans of a job's memory and time on a slice: functions (config, topology).
    "plan": {"pretrain": "clwe_jax.plan.pretraining:run"},
    # Evaluation of a run, by the job that config.json in its folder names.
    "evaluation": {
        "pretrain": "clwe_jax.pretrain.evaluate:run",
        "project": "clwe_jax.pretrain.project:evaluate",
        "static": "clwe_jax.static.job:run",
        "transfer": "clwe_jax.transfer.job:run",
    },
    # What a wing says of its runs on their page and in the terminal, classes of `report.page.Page`.
    "page": {
        "pretrain": "clwe_jax.pretrain.report:PretrainPage",
        "project": "clwe_jax.pretrain.report:ProjectedPage",
        "static": "clwe_jax.static.report:StaticPage",
        "transfer": "clwe_jax.transfer.report:TransferPage",
        "clcr": "clwe_jax.clcr.report:ClcrPage",
        "compare": "clwe_jax.compare.report:ComparePage",
    },
    # Functions (workdir, step, open_run) -> the encoder of a run; `open_run` opens other encoders.
    "loader": {
        "pretrain": "clwe_jax.encoders.language_model:load",
        "project": "clwe_jax.encoders.pair:load",
        "static": "clwe_jax.encoders.spaces:load",
        "clcr": "clwe_jax.encoders.clcr_models:load",
        "compare": "clwe_jax.encoders.comparison:load",
    },
    # Functions (workdir) -> the trained labeller of a run, which is no encoder.
    "labeller": {"transfer": "clwe_jax.transfer.loaded:load"},
    # Functions (workdir, out, language) -> remarks, which write the model of a run for other programs.
    "export": {
        "huggingface": "clwe_jax.encoders.export:huggingface",
        "vec": "clwe_jax.encoders.export:vec",
        "sentence-transformers": "clwe_jax.encoders.export:sentence_transformers",
        "model2vec": "clwe_jax.encoders.export:model2vec",
    },
    "task": {
        "mlm": "clwe_jax.options.tasks:Mlm",
        "dict_mlm": "clwe_jax.options.tasks:DictMlm",
        "dict_tlm": "clwe_jax.options.tasks:DictTlm",
        "tlm": "clwe_jax.options.tasks:Tlm",
        "bilm": "clwe_jax.options.tasks:BiLm",
        "translation": "clwe_jax.options.tasks:Translation",
        "sentences": "clwe_jax.options.tasks:Sentences",
    },
    "model": {
        "transformer": (
            "clwe_jax.models.transformer:Transformer",
            "clwe_jax.options.models:TransformerOptions",
        ),
        "rotary": (
            "clwe_jax.models.rotary:RotaryTransformer",
            "clwe_jax.options.models:RotaryOptions",
        ),
        "bilm": ("clwe_jax.models.bilm:BiLmModel", "clwe_jax.options.models:BiLmOptions"),
        "laser": ("clwe_jax.models.laser:Laser", "clwe_jax.options.models:LaserOptions"),
        "translator": (
            "clwe_jax.models.translator:Translator",
            "clwe_jax.options.models:TranslatorOptions",
        ),
    },
    "aligner": {
        "procrustes": (
            "clwe_jax.align.procrustes:Procrustes",
            "clwe_jax.options.aligners:ProcrustesOptions",
        ),
        "least_squares": (
            "clwe_jax.align.procrustes:LeastSquares",
            "clwe_jax.options.aligners:LeastSquaresOptions",
        ),
        "rcsls": ("clwe_jax.align.rcsls:Rcsls", "clwe_jax.options.aligners:RcslsOptions"),
        "geomm": ("clwe_jax.align.geomm:Geomm", "clwe_jax.options.aligners:GeommOptions"),
        "contrastive": (
            "clwe_jax.align.contrastive:Contrastive",
            "clwe_jax.options.aligners:ContrastiveOptions",
        ),
        "adversarial": (
            "clwe_jax.align.adversarial:Adversarial",
            "clwe_jax.options.aligners:AdversarialOptions",
        ),
        "self_learning": (
            "clwe_jax.align.self_learning:SelfLearning",
            "clwe_jax.options.aligners:SelfLearningOptions",
        ),
    },
    "objective": {
        "mlm": ("clwe_jax.objectives.mlm:MlmObjective", "clwe_jax.options.objectives:MlmOptions"),
        "bilm": (
            "clwe_jax.objectives.bilm:BiLmObjective",
            "clwe_jax.options.objectives:BiLmLossOptions",
        ),
        "sense_mlm": (
            "clwe_jax.objectives.sense_mlm:SenseMlmObjective",
            "clwe_jax.options.objectives:SenseMlmOptions",
        ),
        "translation": (
            "clwe_jax.objectives.translation:TranslationObjective",
            "clwe_jax.options.objectives:TranslationOptions",
        ),
        "unsupervised_translation": (
            "clwe_jax.objectives.unsupervised:UnsupervisedTranslation",
            "clwe_jax.options.objectives:UnsupervisedTranslationOptions",
        ),
    },
    "head": {
        "linear": ("clwe_jax.models.heads:Linear", "clwe_jax.options.models:LinearHead"),
        "bilstm_crf": ("clwe_jax.models.heads:BiLstmCrf", "clwe_jax.options.models:BiLstmCrfHead"),
        "transformer_crf": (
            "clwe_jax.models.heads:TransformerCrf",
            "clwe_jax.options.models:TransformerCrfHead",
        ),
        "mean_mlp": ("clwe_jax.models.heads:MeanMlp", "clwe_jax.options.models:MeanMlpHead"),
        "bilstm_max": ("clwe_jax.models.heads:BiLstmMax", "clwe_jax.options.models:BiLstmMaxHead"),
        "esim": ("clwe_jax.models.heads:Esim", "clwe_jax.options.models:EsimHead"),
        "edge": ("clwe_jax.models.heads:Edge", "clwe_jax.options.models:EdgeHead"),
    },
    # Classes of `text.labelled.Task`.
    "transfer_task": {
        "ner": "clwe_jax.text.labelled.tagged:Ner",
        "pos": "clwe_jax.text.labelled.tagged:Pos",
        "xnli": "clwe_jax.text.labelled.texts:Xnli",
        "pawsx": "clwe_jax.text.labelled.texts:PawsX",
        "mldoc": "clwe_jax.text.labelled.texts:MlDoc",
        "topics": "clwe_jax.text.labelled.texts:Topics",
        "sentiment": "clwe_jax.text.labelled.texts:Sentiment",
        "edge/pos": "clwe_jax.text.labelled.edges:PartsOfSpeech",
        "edge/consts": "clwe_jax.text.labelled.edges:Constituents",
        "edge/deps": "clwe_jax.text.labelled.edges:Dependencies",
        "edge/entities": "clwe_jax.text.labelled.edges:Entities",
        "edge/srl": "clwe_jax.text.labelled.edges:Roles",
        "edge/coref": "clwe_jax.text.labelled.edges:Coreference",
        "edge/spr": "clwe_jax.text.labelled.edges:ProtoRoles",
        "edge/relations": "clwe_jax.text.labelled.edges:Relations",
    },
    "evaluator": {
        "mlm": ("clwe_jax.evaluate.mlm:MlmEvaluator", "clwe_jax.options.evaluators:MlmEvaluation"),
        "retrieval": (
            "clwe_jax.evaluate.retrieval:SentenceRetrieval",
            "clwe_jax.options.evaluators:RetrievalEvaluation",
        ),
        "bleu": ("clwe_jax.evaluate.bleu:Bleu", "clwe_jax.options.evaluators:BleuEvaluation"),
        "mining": (
            "clwe_jax.evaluate.mining:BitextMining",
            "clwe_jax.options.evaluators:MiningEvaluation",
        ),
        "bli": (
            "clwe_jax.evaluate.bli:LexiconInduction",
            "clwe_jax.options.evaluators:BliEvaluation",
        ),
        "senses": (
            "clwe_jax.evaluate.sense_evaluator:SenseEvaluator",
            "clwe_jax.options.evaluators:SensesEvaluation",
        ),
        "wsd": (
            "clwe_jax.evaluate.wsd:WordSenseDisambiguation",
            "clwe_jax.options.evaluators:WsdEvaluation",
        ),
        "similarity": (
            "clwe_jax.evaluate.similarity:WordSimilarity",
            "clwe_jax.options.evaluators:SimilarityEvaluation",
        ),
        "word_alignment": (
            "clwe_jax.evaluate.word_alignment:WordAlignment",
            "clwe_jax.options.evaluators:WordAlignmentEvaluation",
        ),
    },
}


def lookup(kind: str, name: str) -> Any:
    """The class (or function) registered as `name` in the table `kind`.

    Raises:
      ValueError: the table has no such name; the message names the nearest known one.
    """
    return import_target(_entry(kind, name)[0])


def options_class(kind: str, name: str) -> type[Options]:
    """The class of the options of `name` in the table `kind`; it imports neither jax nor TensorFlow.

    Raises:
      ValueError: as of `lookup`.
    """
    return import_target(_entry(kind, name)[-1])


def check_name(kind: str, name: str) -> None:
    """Raises ValueError where the table `kind` has no `name`; imports nothing."""
    from clwe_jax.options.section import nearest  # the options themselves read the tables

    if name not in TABLES[kind]:
        raise ValueError(f"There is no {kind} named {name!r}. {nearest(name, TABLES[kind])}")


def build(kind: str, part: Options, **arguments: Any) -> Any:
    """Makes an object of the class that a section's `name` chooses.

    Args:
      kind: a table of the registry.
      part: the section. A class with a field `options` takes it whole, others take its options.
      arguments: further arguments of the class.
    """
    from clwe_jax.options.section import values_of

    cls = lookup(kind, part.name)
    if any(field.name == "options" for field in dataclasses.fields(cls)):
        return cls(options=part, **arguments)
    return cls(**values_of(part), **arguments)


def import_target(target: str) -> Any:
    """The class or function 'module:name'."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


def _entry(kind: str, name: str) -> tuple[str, ...]:
    """(class, class of its options), or the one class that is both."""
    check_name(kind, name)
    entry = TABLES[kind][name]
    return (entry,) if isinstance(entry, str) else entry
