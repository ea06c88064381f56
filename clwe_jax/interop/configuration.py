"""The config.json of a model of Hugging Face, and the options of a run that continues it.

This module imports no jax, so that a wrong folder is an error in the first second.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
from typing import Any, Mapping

from absl import logging

from clwe_jax import options
from clwe_jax.interop import rotary_names
from clwe_jax.options.models import TransformerOptions
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import OptionError, options_of
from clwe_jax.text.vocab import hf_tokenizer

CONFIG = "config.json"
PREFIX = "hf:"  # of a folder of Hugging Face, where an option or argument may name others
LASER = "laser:"  # of a folder with LASER's released encoder
TYPE_LANGUAGES = "token_type_languages"  # key of an export of ours whose token types are languages
LASER_WEIGHTS = "bilstm.*.pt"
_ROBERTAS = ("xlm-roberta", "roberta", "camembert", "roberta-prelayernorm")
KINDS = ("bert", "distilbert", "electra", *_ROBERTAS, "xlm", *rotary_names.LAYOUTS)
# DistilBERT's name of an entry -> BERT's
_DISTIL = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
_ANY_LAYER = "backbone/layer_0/mlp/in_kernel"
# The options of a model that its architecture decides.
_DECIDED = (
    "layers",
    "width",
    "heads",
    "mlp_dim",
    "norm",
    "language_embeddings",
    "condition_on_language",
    "epsilon",
    "types",
)


@dataclasses.dataclass(frozen=True)
class Description:
    """The contents of a config.json.

    Attributes:
      kind: one of `KINDS`.
      options: those of our `Transformer`; what the architecture does not decide has its default.
      rows: rows of the table of tokens.
      positions: number of pieces of the longest text.
      languages: XLM's languages in the order of their ids, or those of an export of ours whose token
        types are languages; () for models without a language table.
      first_position: the row of the table of positions of a text's first piece.
      dense: whether the MLM head has a dense layer.
    """

    kind: str
    options: TransformerOptions
    rows: int
    positions: int
    languages: tuple[str, ...] = ()
    first_position: int = 0
    dense: bool = True


def describe(directory: str) -> Description:
    """The architecture of the model in a folder.

    Raises:
      FileNotFoundError: the folder has no config.json.
      ValueError: the file is damaged, or describes a model that ours cannot hold.
    """
    path = os.path.join(directory, CONFIG)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{directory} holds no model of Hugging Face: it has no {CONFIG}. Expected the folder "
            "that save_pretrained of transformers writes"
        )
    config = hf_tokenizer.read_json(path)
    kind = config.get("model_type")
    if kind not in KINDS:
        raise ValueError(
            f"{path}: the architecture {kind!r} is unknown here; expected one of {', '.join(KINDS)}"
        )
    try:
        if kind in rotary_names.LAYOUTS:
            return _rotary(path, kind, config)
        return _xlm(path, config) if kind == "xlm" else _bert(path, kind, config)
    except KeyError as error:
        raise ValueError(f"{path} has no {error}, which a model of this kind needs") from None
    except OptionError as error:
        raise ValueError(f"{path}: we cannot hold this model: {error.at('config.model')}") from None


def _bert(path: str, kind: str, config: Mapping[str, Any]) -> Description:
    if kind == "distilbert":
        renamed = {bert: config[distil] for distil, bert in _DISTIL.items()}
        config = {**config, **renamed, "type_vocab_size": 0}
    elif kind == "electra":
        _demand(path, config, embedding_size=config["hidden_size"])
    _demand(path, config, hidden_act="gelu", position_embedding_type="absolute", is_decoder=False)
    # RoBERTa's first position is the one after the id of the padding, usually 1; 'null' names none.
    pad_id = config.get("pad_token_id")
    first = (1 if pad_id is None else pad_id) + 1 if kind in _ROBERTAS else 0
    types = config.get("type_vocab_size", 2)
    languages = tuple(config.get(TYPE_LANGUAGES, ()))
    model = TransformerOptions(
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        mlp_dim=config["intermediate_size"],
        epsilon=config.get("layer_norm_eps", 1e-12),
        # One type is a constant, which the table of positions takes in.
        types=types if types > 1 and not languages else 0,
        language_embeddings=bool(languages),
        condition_on_language=False,
        norm="pre" if kind == "roberta-prelayernorm" else "post",
    )
    positions = config["max_position_embeddings"] - first
    return Description(kind, model, config["vocab_size"], positions, languages, first)


def _rotary(path: str, kind: str, config: Mapping[str, Any]) -> Description:
    _demand(path, config, **rotary_names.list_demands(kind))
    try:
        model = rotary_names.options_of(kind, config)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if kind == "gemma3_text":
        _demand(path, config, query_pre_attn_scalar=model.head_size)
    positions = config["max_position_embeddings"]
    return Description(kind, model, config["vocab_size"], positions)


def _xlm(path: str, config: Mapping[str, Any]) -> Description:
    _demand(path, config, gelu_activation=True, causal=False, asm=False, is_encoder=True)
    ids = config.get("lang2id") or {}
    by_language = config.get("n_langs", 1) > 1 and config.get("use_lang_emb", True)
    if by_language and sorted(ids.values()) != list(range(config["n_langs"])):
        raise ValueError(
            f"{path}: lang2id has {len(ids)} languages; expected the ids 0 to {config['n_langs'] - 1}"
        )
    model = TransformerOptions(
        layers=config["n_layers"],
        width=config["emb_dim"],
        heads=config["n_heads"],
        mlp_dim=4 * config["emb_dim"],
        epsilon=config.get("layer_norm_eps", 1e-12),
        types=0,
        language_embeddings=by_language,
        condition_on_language=False,
        norm="post",
    )
    rows = config.get("vocab_size", config.get("n_words"))
    languages = tuple(sorted(ids, key=ids.get)) if by_language else ()
    positions = config["max_position_embeddings"]
    return Description("xlm", model, rows, positions, languages, dense=False)


def _demand(path: str, config: Mapping[str, Any], **expected: Any) -> None:
    for name, value in expected.items():
        if config.get(name, value) != value:
            raise ValueError(
                f"{path}: {name}={config[name]!r} is not supported; expected {value!r}"
            )


def is_model(directory: str) -> bool:
    """Whether a folder holds a config.json of Hugging Face."""
    path = os.path.join(directory, CONFIG)
    return os.path.exists(path) and "model_type" in hf_tokenizer.read_json(path)


def is_laser(directory: str) -> bool:
    """Whether a folder holds LASER's released encoder, or has 'laser:' before its name."""
    weights = os.path.join(glob.escape(directory), LASER_WEIGHTS)
    return directory.startswith(LASER) or bool(glob.glob(weights))


def is_downloaded(directory: str) -> bool:
    """Whether `directory` names a model of Hugging Face or LASER's released encoder."""
    return directory.startswith(PREFIX) or is_model(directory) or is_laser(directory)


def adopt_options(run: PretrainRun) -> PretrainRun:
    """The run with the options of the model of Hugging Face that it starts from.

    `config.init.parameters=hf:DIR` decides the sizes of `config.model`, and whether text is
    lower-cased; the vocabulary is the model's unless `config.vocab.path` names another. Nothing
    changes where `config.init.parts` takes no layers, for example only the table of tokens.

    Raises:
      FileNotFoundError, ValueError: as of `describe` and `text.vocab.hf_tokenizer`.
    """
    source = run.init.parameters
    parts = run.init.parts
    patterns = [part.strip() for part in parts.split(",")]
    if not source.startswith(PREFIX) or (
        parts and not any(re.fullmatch(part, _ANY_LAYER) for part in patterns)
    ):
        return run
    directory = source.removeprefix(PREFIX)
    described = describe(directory)
    vocabulary = run.vocab.path or directory
    if hf_tokenizer.is_xlm(vocabulary):
        raise ValueError(
            f"{vocabulary} has XLM's tokenizer, which cannot make batches for training: name "
            "another vocabulary with --config.vocab.path; pieces in common keep their vectors"
        )
    values: dict[str, Any] = {"vocab": {"path": vocabulary}}
    if hf_tokenizer.is_folder(vocabulary):
        values["data"] = {"lower_case": hf_tokenizer.normalizer(vocabulary).lower_case}
    if run.data.sequence_length > described.positions:
        raise ValueError(
            f"config.data.sequence_length={run.data.sequence_length}: {directory} has "
            f"{described.positions} positions"
        )
    decided = _list_decided(described.options)
    options_text = ", ".join(f"{name}={getattr(described.options, name)}" for name in decided)
    logging.info("config.model follows %s: %s", os.path.join(directory, CONFIG), options_text)
    return with_architecture(options.with_values(run, values), described)


def _list_decided(model: TransformerOptions) -> list[str]:
    """The options of a model that its architecture decides; of a rotary encoder, also its own."""
    shared = {x.name for x in options_of(TransformerOptions)}
    names = (x.name for x in options_of(type(model)))
    return [x for x in names if x in _DECIDED or x not in shared]


def with_architecture(run: PretrainRun, described: Description) -> PretrainRun:
    """The run with the options of model and objective that an architecture decides."""
    decided = {name: getattr(described.options, name) for name in _list_decided(described.options)}
    values = {
        "model": {"name": described.options.name, **decided},
        "objective": {"dense": described.dense},
    }
    return options.with_values(run, values)
