"""Checks of the config, one function for each job (the registry's table 'validation').

This module imports neither jax nor TensorFlow, so that an error comes at once.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Mapping

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import fields, registry
from clwe_jax.fields import Amount, Count, OneOf, Range, Rate, Share, Size

# The values of the options that no class declares; a config has the options of its job.
_VALUES: dict[str, Any] = {
    "data.sequence_length": Annotated[int, Range(8)],
    "data.max_predictions": Count,
    "data.distinct_words": Count,
    "data.temperature": Annotated[float, Range(1e-6)],
    "data.heldout_share": Annotated[float, Range(0, 0.5, below=True)],
    "data.chunk_lines": Size,
    "data.shuffle_lines": Size,
    "data.sample_bytes": Count,
    "data.pocket_sentences": Size,
    "data.pocket_shared": Share,
    "data.pocket_shared_order": Annotated[str, OneOf("documents", "scattered")],
    "data.pocket_apart": bool,
    "vocab.kind": Annotated[str, OneOf("wordpiece", "unigram", "bpe", "word")],
    "vocab.size": Annotated[int, Range(16)],
    "vocab.min_count": Size,
    "vocab.dictionary_share": Annotated[float, Range(0, 0.9)],
    "vocab.sample_bytes": Size,
    "train.steps": Size,
    "train.batch_size": Size,
    "train.microbatches": Size,
    "train.log_every_steps": Size,
    "train.prefetch": Count,
    "train.max_skipped_in_row": Size,
    "checkpoint.every_steps": Count,
    "checkpoint.keep": Count,
    "checkpoint.best_mode": Annotated[str, OneOf("max", "min")],
    "finish.steps": Count,
    "finish.batch_size": Annotated[int, Range(2)],
    "finish.microbatches": Size,
    "finish.sequence_length": Annotated[int, Range(8)],
    "finish.share": Annotated[float, Range(1e-6, 1)],
    "finish.drop": Rate,
    "finish.pool": Annotated[str, OneOf("mean", "sif")],
    "finish.against": Annotated[str, OneOf("layers", "table")],
    "finish.warmup_steps": Count,
    "init.method": Annotated[str, OneOf("mean", "wechsel", "focus", "subword")],
    "init.tables": Annotated[str, OneOf("both", "input", "output")],
    "init.scale": Annotated[float, Range(1e-9)],
    "static.temperature": Amount,
    "static.training": Annotated[str, OneOf("joint", "separate", "replace", "duong", "dictionary")],
    "static.rule": Annotated[str, OneOf("ratio", "neighbours")],
    "static.gamma": Annotated[float, Range(0.5, 1, below=True)],
    "static.replace_share": Share,
    "static.induced_words": Count,
    "static.dictionary_dim": Count,
    "embeddings.max_vocab": Annotated[int, Range(2)],
    "align.max_vocab": Size,
    "plan.dollars_per_chip_hour": Amount,
    "train.epochs": Size,
    "transfer.test_rows": Count,
    "transfer.embedded_rows": Size,
    "transfer.embedded_tests": Size,
    "transfer.seeds": Size,
    "transfer.search.trials": Count,
    "transfer.translate": Annotated[str, OneOf("", "train", "test")],
    "transfer.mode": Annotated[str, OneOf("frozen", "tune")],
    "transfer.words": Annotated[str, OneOf("first", "mean", "max")],
    "transfer.text_vector": Annotated[str, OneOf("mean", "cls")],
    "transfer.center": bool,
    "transfer.lower_case": bool,
    "transfer.constrained": bool,
    "transfer.pivot_probability": Share,
    "transfer.length": Annotated[int, Range(4)],
    "report.errors": Count,
}
MINED = "mined"  # the value of an option that names parallel text: mined in the run's own text
UNSUPERVISED = ("adversarial", "self_learning")  # aligners that need no dictionary
TRANSLATING = ("dict_mlm", "dict_tlm")  # tasks that need a dictionary
_OF_CLASSES = ("task", "model", "objective")  # sections of one class of the registry


def validate(config: ConfigDict) -> None:
    """Raises ValueError for settings that cannot work, before anything slow starts."""
    registry.check_name("job", config.job)
    if config.data.languages or config.job not in registry.TABLES["follow"]:
        options.languages(config)
    _check_values(config)
    registry.lookup("validation", config.job)(config)


def trained_run(config: ConfigDict) -> None:
    """Neither checks nor sets options of a trained run: they were checked when it was trained."""


def language_model(config: ConfigDict) -> None:
    """Checks the training of a language model."""
    names = options.languages(config)
    if len(names) == 1 and (config.task.get("parallel") or config.data.dictionaries):
        option = "task.parallel" if config.task.get("parallel") else "data.dictionaries"
        raise ValueError(
            f"config.data.languages={names[0]}: config.{option} needs two languages or more: "
            f"--config.data.languages={names[0]},de, or --config.{option}='' for one language"
        )
    if config.task.name == "translation" and not config.task.parallel:
        raise ValueError(
            "config.task.parallel is empty: a translation model needs parallel text, "
            "--config.task.parallel=DIR (xx-yy.xx and xx-yy.yy) or DIR/train (train.xx, train.yy)"
        )
    source = config.data.source
    more = () if config.task.name == "sentences" else ("tfds:NAME", "batches:DIR")
    _check_source(source, "text:DIR", *more)
    if config.train.batch_size % config.train.microbatches:
        raise ValueError(
            f"config.train.batch_size={config.train.batch_size} is not divisible by "
            f"config.train.microbatches={config.train.microbatches}"
        )
    translating = []
    if config.task.name in TRANSLATING:
        translating.append(f"config.task.name={config.task.name!r}")
    if config.objective.get("translation", "none") != "none":
        translating.append(f"config.objective.translation={config.objective.translation!r}")
    if translating and not config.data.dictionaries and not source.startswith("batches:"):
        raise ValueError(
            f"{translating[0]} needs dictionaries: set --config.data.dictionaries=DIR, a folder of "
            "xx-yy.txt; --config=configs/mbert.py needs none"
        )
    if config.vocab.dictionary_share and not config.data.dictionaries:
        raise ValueError(
            f"config.vocab.dictionary_share={config.vocab.dictionary_share} takes words of a "
            "dictionary: set config.data.dictionaries, or the share to 0"
        )
    if config.init.embeddings:
        _word_vectors(config)
    _mining(config)
    if config.get("finish", {}).get("steps", 0):
        _finish(config)


def _check_source(source: str, *forms: str) -> None:
    """Raises ValueError for a source that is neither 'pocket' nor of one of the forms 'KIND:NAME'."""
    if source != "pocket" and not source.startswith(tuple(x[: x.index(":") + 1] for x in forms)):
        raise ValueError(f"config.data.source={source!r}: expected pocket, {', '.join(forms)}")


def _word_vectors(config: ConfigDict) -> None:
    """Checks the word vectors that a language model starts from."""
    init, source, names = config.init, config.data.source, options.languages(config)
    where = f"config.init.embeddings={init.embeddings!r}"
    if init.embeddings in options.TRAINED_STARTS:
        if source != "pocket" and not source.startswith("text:"):
            raise ValueError(
                f"{where} trains on text files, and config.data.source={source!r}: take pocket or "
                "text:DIR, or give a static run's folder"
            )
        if len(names) < 2:
            raise ValueError(f"{where} joins two languages or more: {config.data.languages}")
        for key in ("epochs", "min_count", "buckets", "workers"):
            if init.joint[key] < 1:
                raise ValueError(f"config.init.joint.{key}={init.joint[key]}: must be at least 1")
        if init.embeddings != "joint" and not config.data.dictionaries:
            raise ValueError(f"{where} needs a dictionary: set config.data.dictionaries")
        if init.embeddings != "joint" and init.method == "subword":
            raise ValueError(
                f"{where}: dictionary vectors have no n-grams for config.init.method='subword': "
                "--config.init.method=wechsel"
            )
    elif init.embeddings == "dictionary":
        if not config.data.dictionaries or source.startswith("batches:"):
            raise ValueError(
                f"{where} needs config.data.dictionaries, and text (config.data.source=text:DIR)"
            )
    elif os.path.isdir(init.embeddings):
        if not os.path.exists(os.path.join(init.embeddings, "spaces.json")):
            raise ValueError(
                f"{where} holds no aligned vectors: give the folder of a finished static run "
                "(configs/joint_align.py), or vector files as de=FILE,en=FILE"
            )
    elif not any(mark in init.embeddings for mark in "=./"):
        raise ValueError(
            f"{where}: expected joint, dictionary, joint+dictionary, a static run's folder, or "
            "vector files as de=FILE,en=FILE"
        )
    else:
        for path in options.vector_files(init.embeddings, names, "config.init.embeddings").values():
            if not os.path.isfile(path):
                raise ValueError(f"config.init.embeddings: {path} is no file of vectors")
    reads_characters = config.model.name == "bilm"
    if init.tables == "input" and reads_characters:
        raise ValueError(
            "config.init.tables='input': this model reads characters and has an output table only: "
            "--config.init.tables=both"
        )
    if init.tables != "both" and config.objective.get("tied"):
        raise ValueError(
            f"config.init.tables={init.tables!r}: this model scores tokens with the table that "
            "reads them: --config.init.tables=both or --config.objective.tied=False"
        )


def mined_by(config: ConfigDict) -> list[str]:
    """The options of a language model that take sentences mined in its own text."""
    finish = config.get("finish", {})
    found = {
        "task.parallel": config.task.get("parallel", ""),
        "finish.pairs": finish.get("pairs", "") if finish.get("steps", 0) else "",
    }
    return [name for name, value in found.items() if value == MINED]


def _mining(config: ConfigDict) -> None:
    """Checks what a language model mines in its own text."""
    names = [f"config.{name}='{MINED}'" for name in mined_by(config)]
    if config.init.mine:
        names.append("config.init.mine=True")
        if config.init.embeddings != "joint+dictionary":
            raise ValueError(
                f"config.init.mine=True: dictionary vectors learn from what is mined, and config.init."
                f"embeddings={config.init.embeddings!r}: --config.init.embeddings=joint+dictionary"
            )
    source = config.data.source
    if names and (source != "pocket" and not source.startswith("text:")):
        raise ValueError(
            f"{names[0]} mines text files, and config.data.source={source!r}: take pocket or text:DIR"
        )
    if names and (len(options.languages(config)) < 2 or not config.data.dictionaries):
        raise ValueError(
            f"{names[0]} finds translations by a dictionary: set --config.data.dictionaries=DIR, and "
            "two languages or more in config.data.languages"
        )


def _finish(config: ConfigDict) -> None:
    """Checks a contrastive finish."""
    without = "; --config.finish.steps=0 trains without the finish"
    if config.task.name == "bilm" or config.objective.get("senses", {}).get("senses", 1) > 1:
        raise ValueError(
            "config.finish.steps: the finish is of masked language models with one sense of a word"
            + without
        )
    finish = config.finish
    copies = finish.pairs == "copies"
    if copies and (config.data.source.startswith("batches:") or not config.data.dictionaries):
        raise ValueError(
            "config.finish.steps: the finish switches words of text by a dictionary: set "
            "config.data.source to pocket, text:DIR or tfds:NAME, and config.data.dictionaries"
            + without
        )
    if finish.pairs in ("", "pocket"):
        raise ValueError(
            f"config.finish.pairs={finish.pairs!r}: expected copies, {MINED} or a folder of "
            "parallel text" + without
        )
    if finish.pool == "sif" and config.data.source.startswith("tfds:"):
        raise ValueError(
            "config.finish.pool=sif: the words of TensorFlow Datasets are not counted: "
            "--config.finish.pool=mean"
        )
    if finish.batch_size % finish.microbatches:
        raise ValueError(
            f"config.finish.batch_size={finish.batch_size} is not divisible by "
            f"config.finish.microbatches={finish.microbatches}"
        )
    for name in ("temperature", "learning_rate"):
        if not finish[name] > 0:
            raise ValueError(f"config.finish.{name}={finish[name]}: must be positive")


def static_vectors(config: ConfigDict) -> None:
    """Checks the training or reading of static vectors, and their alignment."""
    names, static = options.languages(config), config.static
    given = bool(config.align.source_vectors), bool(config.align.target_vectors)
    if any(given) != all(given):
        raise ValueError(
            "config.align.source_vectors and config.align.target_vectors go together: give both "
            "files"
        )
    if all(given) and len(names) != 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: two vector files need two languages, "
            "the source's first: --config.data.languages=de,en"
        )
    if len(names) < 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: an alignment needs two languages, "
            "e.g. --config.data.languages=de,en"
        )
    _check_source(config.data.source, "text:DIR")
    if static.training in ("separate", "dictionary") and static.reallocation:
        raise ValueError(
            "config.static.reallocation=True needs joint vectors; with "
            f"config.static.training={static.training!r} no word is shared: set it to False"
        )
    registry.check_name("aligner", config.align.name)
    needs = []
    if static.training in ("replace", "duong", "dictionary"):
        needs.append(f"config.static.training={static.training!r}")
    if static.dictionary_dim:
        needs.append(f"config.static.dictionary_dim={static.dictionary_dim}")
        if static.training == "dictionary" and not any(given):
            raise ValueError(
                "config.static.dictionary_dim: config.static.training='dictionary' trains no vectors "
                "to join: set its own width with --config.embeddings.dim"
            )
        if static.trained_length <= 0:
            raise ValueError(f"config.static.trained_length={static.trained_length}: must be > 0")
    if static.mine:
        needs.append("config.static.mine=True")
        if any(given):
            raise ValueError(
                "config.static.mine=True looks for translations in text, and vectors that are given "
                "have none: leave config.align.source_vectors out, or set it to False"
            )
        if not static.dictionary_dim and static.training != "dictionary":
            raise ValueError(
                "config.static.mine=True adds to the vectors of a dictionary, and this run has none: "
                "--config.static.dictionary_dim=300 sets them beside the trained ones"
            )
    if (static.refinement or all(given)) and config.align.name not in UNSUPERVISED:
        needs.append(f"config.align.name={config.align.name!r}")
    if needs and not config.data.dictionaries:
        raise ValueError(
            f"{needs[0]} needs a dictionary: set --config.data.dictionaries=DIR, a folder of "
            f"xx-yy.txt, or align without one: --config=configs/align_self_learning.py"
        )
    options.pairs(config)


def _check_values(config: ConfigDict) -> None:
    """Checks every option by the annotation of its class's field, or by `_VALUES`."""
    for path, annotation in _VALUES.items():
        section, _, key = path.rpartition(".")
        if _has(config, path):
            fields.check_value(annotation, _get(config, section)[key], f"config.{path}")
    for section, target in sections(config):
        given = _get(config, section)
        if section in registry.SECTIONS:  # several classes, or other code, may read the section
            given = {key: value for key, value in given.items() if key in fields.of(target)}
        else:
            given.pop("name", None)
        registry.check_options(target, given, f"config.{section}")


def sections(config: ConfigDict) -> list[tuple[str, str]]:
    """The sections of a config whose options are fields of a class: (section, 'module:Class').

    Raises:
      ValueError: a section names a class that the registry lacks.
    """
    found = [(name, target) for name in registry.SECTIONS if _has(config, name)
             for target in registry.SECTIONS[name]]  # fmt: skip
    for kind, section in named(config):
        if kind == "aligner":
            continue  # the options of every aligner stand beside its name
        name = _get(config, section)["name"]
        registry.check_name(kind, name)
        found.append((section, registry.TABLES[kind][name]))
    for name in config.get("align", {}):
        if name in registry.TABLES["aligner"]:
            found.append((f"align.{name}", registry.TABLES["aligner"][name]))
    return found


def named(config: ConfigDict) -> list[tuple[str, str]]:
    """The sections whose option `name` chooses a class: (table of the registry, section)."""
    found = [(kind, kind) for kind in _OF_CLASSES if "name" in config.get(kind, {})]
    found += [("evaluator", f"evals.{key}") for key in config.get("evals", {})]
    found += [("head", "transfer.head")] * ("transfer" in config)
    return found + [("aligner", "align")] * ("name" in config.get("align", {}))


def _has(config: ConfigDict, path: str) -> bool:
    for key in path.split("."):
        if not isinstance(config, Mapping | ConfigDict) or key not in config:
            return False
        config = config[key]
    return True


def _get(config: ConfigDict, path: str) -> Mapping[str, Any]:
    for key in path.split("."):
        config = config[key]
    return config.to_dict()
