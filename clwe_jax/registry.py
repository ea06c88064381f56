"""Names of classes and functions, which are imported when they are looked up.

A new objective, backbone, aligner, evaluator or system is one module, one test, one config and
one line here.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from typing import Any, Iterable, Mapping

from clwe_jax import fields

_MOST_NAMED = 120  # names that an error message lists

TABLES: dict[str, dict[str, str]] = {
    # Functions (config, workdir, dry) -> whether the job is finished; see `jobs.job.Job.run`.
    "job": {
        "pretrain": "clwe_jax.jobs.pretrain:run",
        "evaluate": "clwe_jax.jobs.evaluate:run",
        "project": "clwe_jax.jobs.project:run",
        "static": "clwe_jax.jobs.static:run",
        "transfer": "clwe_jax.jobs.transfer:run",
        "clcr": "clwe_jax.jobs.clcr:run",
    },
    # Checks of a job's config; they import neither jax nor TensorFlow.
    "validation": {
        "pretrain": "clwe_jax.validation:language_model",
        "evaluate": "clwe_jax.validation:trained_run",
        "project": "clwe_jax.validation:trained_run",
        "static": "clwe_jax.validation:static_vectors",
        "transfer": "clwe_jax.text.labelled_options:validate",
        "clcr": "clwe_jax.text.clcr_options:validate",
    },
    # Sets options of a job that follow its files and models, with the same restriction.
    "follow": {
        "pretrain": "clwe_jax.interop.configuration:follow",
        "transfer": "clwe_jax.text.labelled_languages:follow",
        "evaluate": "clwe_jax.validation:trained_run",  # it follows the run's own options
    },
    # Searches for the input files of a job, with the same restriction.
    "inputs": {
        "pretrain": "clwe_jax.text.world:check",
        "static": "clwe_jax.text.world:check",
        "transfer": "clwe_jax.text.labelled_files:check",
        "clcr": "clwe_jax.text.clcr_options:check",
    },
    # Plans of a job's memory and time on a slice: functions (config, topology).
    "plan": {
        "pretrain": "clwe_jax.training.plan:run",
        "clcr": "clwe_jax.jobs.clcr_plan:run",
    },
    # Evaluation and loading of a run, by the job that config.json in its folder names.
    "evaluation": {
        "pretrain": "clwe_jax.jobs.evaluate:language_model",
        "project": "clwe_jax.jobs.project:evaluate",
        "static": "clwe_jax.jobs.static:run",
        "transfer": "clwe_jax.jobs.transfer:run",
        "clcr": "clwe_jax.jobs.clcr:run",
    },
    "loader": {
        "pretrain": "clwe_jax.api.model:load",
        "project": "clwe_jax.api.pair:load",
        "static": "clwe_jax.api.static:load",
        "transfer": "clwe_jax.api.transfer:load",
        "clcr": "clwe_jax.api.clcr:load",
    },
    # Functions (model, out, language) -> remarks, which write a loaded model for other programs.
    "export": {
        "huggingface": "clwe_jax.api.export:huggingface",
        "vec": "clwe_jax.api.export:vec",
    },
    "task": {
        "mlm": "clwe_jax.data.tasks:Mlm",
        "dict_mlm": "clwe_jax.data.tasks:DictMlm",
        "dict_tlm": "clwe_jax.data.tasks:DictTlm",
        "tlm": "clwe_jax.data.tasks:Tlm",
        "bilm": "clwe_jax.data.tasks:BiLm",
        "translation": "clwe_jax.data.tasks:Translation",
        "sentences": "clwe_jax.data.tasks:Sentences",
    },
    "model": {
        "transformer": "clwe_jax.models.transformer:Transformer",
        "bilm": "clwe_jax.models.bilm:BiLmConfig",
        "laser": "clwe_jax.models.laser:Laser",
        "translator": "clwe_jax.models.translator:Translator",
    },
    "aligner": {
        "procrustes": "clwe_jax.align.procrustes:Procrustes",
        "least_squares": "clwe_jax.align.procrustes:LeastSquares",
        "rcsls": "clwe_jax.align.rcsls:Rcsls",
        "geomm": "clwe_jax.align.geomm:Geomm",
        "contrastive": "clwe_jax.align.contrastive:Contrastive",
        "adversarial": "clwe_jax.align.adversarial:Adversarial",
        "self_learning": "clwe_jax.align.self_learning:SelfLearning",
    },
    "objective": {
        "mlm": "clwe_jax.objectives.mlm:MlmObjective",
        "bilm": "clwe_jax.objectives.bilm:BiLmObjective",
        "sense_mlm": "clwe_jax.objectives.sense_mlm:SenseMlmObjective",
        "translation": "clwe_jax.objectives.translation:TranslationObjective",
        "unsupervised_translation": "clwe_jax.objectives.unsupervised:UnsupervisedTranslation",
    },
    "head": {
        "linear": "clwe_jax.models.heads:Linear",
        "bilstm_crf": "clwe_jax.models.heads:BiLstmCrf",
        "transformer_crf": "clwe_jax.models.heads:TransformerCrf",
        "mean_mlp": "clwe_jax.models.heads:MeanMlp",
        "bilstm_max": "clwe_jax.models.heads:BiLstmMax",
        "esim": "clwe_jax.models.heads:Esim",
        "edge": "clwe_jax.models.heads:Edge",
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
        "sts": "clwe_jax.text.labelled.texts:Sts",
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
        "mlm": "clwe_jax.evaluate.mlm:MlmEvaluator",
        "retrieval": "clwe_jax.evaluate.retrieval:SentenceRetrieval",
        "bleu": "clwe_jax.evaluate.bleu:Bleu",
        "mining": "clwe_jax.evaluate.mining:BitextMining",
        "bli": "clwe_jax.evaluate.bli:LexiconInduction",
        "senses": "clwe_jax.evaluate.sense_evaluator:SenseEvaluator",
        "wsd": "clwe_jax.evaluate.wsd:WordSenseDisambiguation",
        "similarity": "clwe_jax.evaluate.similarity:WordSimilarity",
        "word_alignment": "clwe_jax.evaluate.word_alignment:WordAlignment",
    },
}


# Classes whose fields are the options of a section without a `name`.
SECTIONS = {
    "optimizer": ("clwe_jax.training.optim:Optimizer",),
    "init": ("clwe_jax.training.init:Initial",),
    "recipe": ("clwe_jax.training.heads:Recipe",),
    "transfer.align": ("clwe_jax.evaluate.word_alignment:WordAligner",),
    "clcr.transform": ("clwe_jax.align.attention_matching:AttentionMatching",),
    "clcr.tune": ("clwe_jax.jobs.clcr_tune:Tuning",),
    "clcr.predictor": ("clwe_jax.align.predictors:Classifier",),
    "transfer.joint": ("clwe_jax.embeddings.train:FastText",),
    "embeddings": ("clwe_jax.embeddings.train:FastText", "clwe_jax.embeddings.duong:Duong"),
    "static.mining": ("clwe_jax.embeddings.mining:Mining",),
}


def nearest(word: str, known: Iterable[str]) -> str:
    """'Did you mean X?', or a list of known words: the end of an error message."""
    known = sorted(known)
    more = len(known) - _MOST_NAMED
    listed = ", ".join(known[:_MOST_NAMED])
    return suggestion(word, known) or f"Known: {listed}{f' and {more:,} more' if more > 0 else ''}."


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """'Did you mean X?' where a known word is at least as similar as `cutoff`, in [0, 1]; or ''."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {close[0]!r}?" if close else ""


def lookup(kind: str, name: str) -> Any:
    """The class (or function) registered as `name` in the table `kind`.

    Raises:
      ValueError: the table has no such name; the message names the nearest known one.
    """
    check_name(kind, name)
    module, attribute = TABLES[kind][name].split(":")
    return getattr(importlib.import_module(module), attribute)


def check_name(kind: str, name: str) -> None:
    """Raises ValueError where the table `kind` has no `name`; imports nothing."""
    if name not in TABLES[kind]:
        raise ValueError(f"There is no {kind} named {name!r}. {nearest(name, TABLES[kind])}")


def build(kind: str, spec: Mapping[str, Any], where: str = "", **given: Any) -> Any:
    """Makes an object of the class `spec['name']` from the other keys of `spec` and from `given`.

    Args:
      kind: a table of the registry.
      spec: a section of the config.
      where: name of the section, for messages; '': 'config.{kind}'.
      given: further arguments of the class.

    Raises:
      ValueError: an unknown name or key (the message names the nearest known one), or a value that
        the field's annotation does not allow.
    """
    options = {key: value for key, value in dict(spec).items() if key != "name"}
    cls = lookup(kind, spec["name"])
    check_options(TABLES[kind][spec["name"]], options, where or f"config.{kind}")
    return cls(**options, **given)


def check_options(target: str, options: Mapping[str, Any], where: str) -> None:
    """Raises ValueError for an option that a class lacks or whose value it does not allow.

    The class is not imported; see `fields`.

    Args:
      target: the class, 'module:Class'.
      options: the options by name.
      where: the section of the config, for the message: 'config.model'.
    """
    known = fields.of(target)
    check_keys(known, options, where)
    for key, value in options.items():
        field = known[key]
        if field.options and isinstance(value, Mapping):
            check_options(field.options, value, f"{where}.{key}")
        elif field.annotation is not None:
            fields.check_value(field.annotation, value, f"{where}.{key}", options)


def check_keys(known: type | Iterable[str], options: Iterable[str], where: str) -> None:
    """Raises ValueError for a key of `options` that is not known.

    Args:
      known: a dataclass, whose fields are the known keys, or the known keys.
      options: the keys.
      where: the section of the config, for the message.
    """
    if isinstance(known, type):
        known = {field.name for field in dataclasses.fields(known) if field.init} - {"parent"}
    for key in options:
        if key not in known:
            raise ValueError(f"{where} has no option {key!r}. {nearest(key, known)}")
