"""Our language models as folders of Hugging Face, which AutoModel and AutoTokenizer open.

A post-norm Transformer becomes a BERT, a pre-norm one a `roberta-prelayernorm`, a rotary one a ModernBERT, Gemma 3 or
Qwen 3, as its options say. These have no
language embeddings: either one language's embedding is added to the table of positions, or the
table of languages becomes that of token types. The hidden states of all layers stay the same.
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from flax import traverse_util
import numpy as np
from safetensors.numpy import save

from clwe_jax import atomic, registry
from clwe_jax.interop import names, rotary_names, tokenizer_json
from clwe_jax.interop.configuration import CONFIG, TYPE_LANGUAGES
from clwe_jax.models.transformer import Transformer
from clwe_jax.text.vocab import hf_tokenizer
from clwe_jax.text.vocab.json_vocab import JsonVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import WordVocabulary
from clwe_jax.types import Objective, Variables

_CLASSES = {
    "bert": "Bert",
    "roberta-prelayernorm": "RobertaPreLayerNorm",
    "modernbert": "ModernBert",
    "gemma3_text": "Gemma3Text",
    "qwen3": "Qwen3",
}


def write(
    objective: Objective, tokenizer: Tokenizer, variables: Variables, out: str, language: str = ""
) -> list[str]:
    """Writes config.json, model.safetensors, the tokenizer and a README.md.

    Args:
      objective: an objective of masked language modelling, with or without senses.
      language: the language whose embedding becomes a part of the model; '': all languages stay, as
        token types. A model of one language has that one.

    Returns:
      The lines of README.md that say how the model differs from ours.

    Raises:
      ValueError: the folder exists, another kind of model, or an unknown or missing language.
    """
    if os.path.exists(out):
        raise ValueError(f"--out={out} exists: name a new folder")
    encoder, params = _parts(objective, variables)
    language = language or (tokenizer.languages[0] if len(tokenizer.languages) == 1 else "")
    number = tokenizer.language_id(language) if language else None
    if number is None and encoder.options.language_embeddings and encoder.options.types:
        raise ValueError(
            "The model has token types and language embeddings, and BERT has one table for both: "
            f"--language=CODE keeps one language ({', '.join(tokenizer.languages)})"
        )
    by_type = number is None and encoder.options.language_embeddings
    make = _bert if encoder.options.position_table else _rotary
    arrays, config = make(encoder, params, tokenizer, number)
    head = config["architectures"][0].endswith("ForMaskedLM")
    arrays = {name: np.ascontiguousarray(x, np.float32) for name, x in arrays.items()}
    config |= dict(
        vocab_size=len(tokenizer.vocabulary),
        pad_token_id=tokenizer.vocabulary.pad_id,
        bos_token_id=tokenizer.vocabulary.cls_id,
        eos_token_id=tokenizer.vocabulary.sep_id,
        torch_dtype="float32",
    )
    if by_type:
        config[TYPE_LANGUAGES] = list(tokenizer.languages)
    notes = _notes(encoder, tokenizer, language, by_type, head)
    exported = Tokenizer(
        (language,) if language else tokenizer.languages,
        tokenizer.normalizer,
        tokenizer.segmenter,
        tokenizer.vocabulary,
        tokenizer.whole_text,
    )
    with atomic.making_folder(out) as folder:
        weights = save(arrays, metadata={"format": "pt"})
        atomic.write(os.path.join(folder, "model.safetensors"), weights)
        atomic.write(os.path.join(folder, CONFIG), json.dumps(config, indent=2) + "\n")
        _write_tokenizer(folder, tokenizer, encoder.max_length, by_type)
        exported.save(os.path.join(folder, hf_tokenizer.OWN))
        atomic.write(os.path.join(folder, "README.md"), _readme(notes))
    return notes


def _bert(
    encoder: Transformer, params: Mapping[str, np.ndarray], tokenizer: Tokenizer, number: int | None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the config.json of a BERT, or of its pre-norm kin.

    Args:
      number: of the language that becomes a part of the model; None: all stay.
    """
    by_type = number is None and encoder.options.language_embeddings
    kind = "bert" if encoder.options.norm == "post" else "roberta-prelayernorm"
    # RoBERTa's first position is the one after the id of the padding.
    first = 0 if kind == "bert" else tokenizer.vocabulary.pad_id + 1
    tables = _tables(encoder, params, number, by_type, first, len(tokenizer.vocabulary))
    layout = names.LAYOUTS[kind]
    head = _head(layout, encoder, params, number, len(tokenizer.vocabulary))
    prefix = layout.prefixes[0] if head else ""
    arrays = {prefix + name: array for name, array in tables.items()}
    for pair in names.pairs(layout, encoder.options, prefix):
        arrays |= dict(zip(pair.theirs, names.to_theirs(pair, params[pair.ours])))
    config = dict(
        architectures=[_CLASSES[kind] + ("ForMaskedLM" if head else "Model")],
        model_type=kind,
        hidden_size=encoder.options.width,
        num_hidden_layers=encoder.options.layers,
        num_attention_heads=encoder.options.heads,
        intermediate_size=encoder.options.mlp_dim,
        hidden_act="gelu",
        hidden_dropout_prob=encoder.options.dropout,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=encoder.max_length + first,
        type_vocab_size=len(tables["embeddings.token_type_embeddings.weight"]),
        layer_norm_eps=encoder.options.epsilon,
        tie_word_embeddings="output_embedding" not in params,
    )
    return arrays | head, config


def _rotary(
    encoder: Transformer, params: Mapping[str, np.ndarray], tokenizer: Tokenizer, number: int | None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """As `_bert`, of a rotary encoder."""
    kind, config = rotary_names.to_config(encoder.options)
    pieces = len(tokenizer.vocabulary)
    layout = rotary_names.LAYOUTS[kind]
    arrays = rotary_names.to_theirs(kind, encoder.options, params, pieces)
    head = _head(layout, encoder, params, number, pieces)
    if head:
        arrays = {layout.prefixes[0] + name: array for name, array in arrays.items()}
        # Their normalisation has no bias: it adds the same to a piece's score at every position.
        norm_bias = head.pop(f"{layout.head_norm}.bias")
        table = params.get("output_embedding", params["backbone/token_embedding"])[:pieces]
        head[layout.bias] = head[layout.bias] + table @ norm_bias
    config |= dict(
        architectures=[_CLASSES[kind] + ("ForMaskedLM" if head else "Model")],
        model_type=kind,
        max_position_embeddings=encoder.max_length,
    )
    if kind == "modernbert":
        config |= dict(
            cls_token_id=tokenizer.vocabulary.cls_id,
            sep_token_id=tokenizer.vocabulary.sep_id,
            classifier_bias=bool(head),
            tie_word_embeddings="output_embedding" not in params,
        )
    return arrays | head, config


def _parts(objective: Objective, variables: Variables) -> tuple[Transformer, dict[str, np.ndarray]]:
    """The encoder, and the parameters by the paths of `MlmModel`."""
    mlm, senses = (registry.lookup("objective", name) for name in ("mlm", "sense_mlm"))
    params = variables["params"]
    if isinstance(objective, senses):
        params = {"backbone": params["model"]}
    elif not isinstance(objective, mlm):
        raise ValueError(
            f"{type(objective).__name__}: transformers has no such model. Export masked language "
            "models, or the vectors of frequent words: --format=vec"
        )
    flat = traverse_util.flatten_dict(params, sep="/")
    return objective.model, {path: np.asarray(array) for path, array in flat.items()}


def _tables(
    encoder: Transformer,
    params: Mapping[str, np.ndarray],
    language: int | None,
    by_type: bool,
    first: int,
    pieces: int,
) -> dict[str, np.ndarray]:
    """The tables of tokens, positions and types."""
    positions = params["backbone/position_embedding"]
    types = params.get("backbone/type_embedding", np.zeros((2, encoder.options.width), np.float32))
    if by_type:
        types = params["backbone/language_embedding"]
    elif encoder.options.language_embeddings:
        positions = positions + params["backbone/language_embedding"][language]
    return {
        "embeddings.word_embeddings.weight": params["backbone/token_embedding"][:pieces],
        "embeddings.position_embeddings.weight": np.pad(positions, ((first, 0), (0, 0))),
        "embeddings.token_type_embeddings.weight": types,
    }


def _head(
    layout: names.Layout | rotary_names.RotaryLayout,
    encoder: Transformer,
    params: Mapping[str, np.ndarray],
    language: int | None,
    pieces: int,
) -> dict[str, np.ndarray]:
    """The MLM head; {} where theirs cannot hold ours."""
    conditioned = encoder.options.condition_on_language
    if not layout.dense or "head/kernel" not in params or (conditioned and language is None):
        return {}
    kernel = params["head/kernel"]
    bias = params["head/bias"]
    if conditioned:
        language_vector = params["backbone/language_embedding"][language]
        bias = bias + language_vector @ kernel[encoder.options.width :]
        kernel = kernel[: encoder.options.width]
    folded_params = {**params, "head/kernel": kernel, "head/bias": bias}
    head = {}
    for pair in names.head_pairs(layout):
        head |= dict(zip(pair.theirs, names.to_theirs(pair, folded_params[pair.ours])))
    head[layout.bias] = params["head/output_bias"][:pieces]
    if "output_embedding" in params:
        head[layout.scores] = params["output_embedding"][:pieces]
        head[layout.scores.removesuffix("weight") + "bias"] = head[layout.bias]
    return head


def _write_tokenizer(folder: str, tokenizer: Tokenizer, length: int, by_type: bool) -> None:
    vocabulary = tokenizer.vocabulary
    by_library = isinstance(vocabulary, JsonVocabulary)
    content = vocabulary.content if by_library else tokenizer_json.content(tokenizer, by_type)
    atomic.write_json(os.path.join(folder, hf_tokenizer.TOKENIZER_FILE), content, indent=None)
    settings: dict[str, Any] = dict(
        tokenizer_class="PreTrainedTokenizerFast",
        model_max_length=length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
        **tokenizer_json.special_names(tokenizer.vocabulary),
    )
    if tokenizer.normalizer.bert:
        settings["do_lower_case"] = tokenizer.normalizer.lower_case
        settings["strip_accents"] = tokenizer.normalizer.strip_accents
    atomic.write_json(os.path.join(folder, hf_tokenizer.CONFIG_FILE), settings, indent=2)


def _notes(
    encoder: Transformer, tokenizer: Tokenizer, language: str, by_type: bool, head: bool
) -> list[str]:
    """How the model differs from the run that it comes from."""
    notes = []
    if by_type:
        numbers = ", ".join(f"{n} {x}" for n, x in enumerate(tokenizer.languages))
        notes.append(
            f"The token type of a piece is its language: `token_type_ids` = {numbers}. The tokenizer "
            f"gives 0 ({tokenizer.languages[0]}): set them for text in other languages."
        )
    elif encoder.options.language_embeddings:
        notes.append(
            f"The embedding of the language {language} is a part of the table of positions: use the "
            f"model for text in {language}, or export another language with --language."
        )
    if not head:
        notes.append(
            "There is no MLM head: ours scores pieces in a way that this architecture lacks"
            + (
                "; --language=CODE exports the head for one language."
                if encoder.options.condition_on_language
                else "."
            )
        )
    if not encoder.options.pooler and encoder.options.position_table:
        notes.append("There is no pooler: transformers initialises one, and warns. Do not use it.")
    if tokenizer.segmenter.lexicons and any(tokenizer.segmenter.lexicons.values()):
        languages = ", ".join(x for x, words in tokenizer.segmenter.lexicons.items() if words)
        notes.append(
            f"The run finds the words of scripts without spaces in lexicons ({languages}), which "
            "tokenizer.json cannot hold, nor words that are cut before: it would cut them again. Give the "
            "model the pieces of `clwe_jax.api.load(RUN).tokenizer.encode(TEXT, LANGUAGE)[0]` between the "
            "first and the last special piece."
        )
    if tokenizer.normalizer.simplify_chinese and "zh" in (
        [language] if language else tokenizer.languages
    ):
        notes.append("The run simplifies Chinese characters; simplify them before tokenization.")
    if isinstance(tokenizer.vocabulary, WordVocabulary):
        notes.append("Every piece is a word; a word outside the vocabulary is unknown.")
    return notes


def _readme(notes: list[str]) -> str:
    return "\n".join(
        [
            "# A model of clwe_jax",
            "",
            "```python",
            "from transformers import AutoModel, AutoTokenizer",
            "",
            'model, tokenizer = AutoModel.from_pretrained("."), AutoTokenizer.from_pretrained(".")',
            "```",
            "",
            "The hidden states of all layers are those of the run; of a `roberta-prelayernorm` transformers 5 "
            "shows the last one after the final normalisation. "
            "`clwe_jax.api.load` opens the folder with the run's own tokenizer, which is in "
            f"`{hf_tokenizer.OWN}`.",
            "",
            *(f"- {note}" for note in notes),
            "",
        ]
    )
