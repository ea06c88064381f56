"""Models of Hugging Face (BERT, XLM-R, ModernBERT, Gemma 3, ...) as ours.

    objective, tokenizer, variables = huggingface.load("mbert", languages=("en", "de"))
    encoder = ModelEncoder(objective, tokenizer, variables)

A folder holds config.json, the weights (`arrays`) and the vocabulary (`text.vocab.hf_tokenizer`). The
hidden states of all layers and the scores of the MLM head equal those of transformers.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple, Sequence

from absl import logging
from flax import traverse_util
import jax
import numpy as np

from clwe_jax import registry
from clwe_jax.interop import arrays as files
from clwe_jax.interop import names, rotary_names
from clwe_jax.interop.configuration import CONFIG, PREFIX, Description, describe
from clwe_jax.options.models import TransformerOptions
from clwe_jax.options.section import suggestion
from clwe_jax.text.words.languages import hint
from clwe_jax.text.vocab import hf_tokenizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables

TOKENS = "backbone/token_embedding"
POSITIONS = "backbone/position_embedding"
TYPES = "backbone/type_embedding"
LANGUAGES = "backbone/language_embedding"
LAYOUTS = names.LAYOUTS | rotary_names.LAYOUTS
BIAS = "head/output_bias"
OUTPUT = "output_embedding"
_PREDICTED_SHARE = 5  # a fifth of a row's pieces, at most, is masked


class Loaded(NamedTuple):
    """A model of Hugging Face in the parts of ours; `ModelEncoder(*loaded)` encodes with it.

    Attributes:
      objective: the MLM objective with the model.
      variables: 'params'; without 'head' where the folder has no MLM head.
    """

    objective: Objective
    tokenizer: Tokenizer
    variables: Variables


def parameters(directory: str, max_length: int = 0) -> dict[str, np.ndarray]:
    """The parameters of the model in a folder, by our paths.

    Args:
      max_length: rows of the table of positions; 0: all.

    Returns:
      float32 arrays. Tables of tokens have a row for every piece of the vocabulary. 'head/...' is
      absent where the folder has no MLM head, `OUTPUT` where the head's table is that of tokens.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: a file is damaged, or parameters are missing or have other shapes than config.json
        says.
    """
    described = describe(directory)
    layout = LAYOUTS[described.kind]
    weights = _rename_weights(files.read(directory))
    prefix = next((x for x in layout.prefixes if x + layout.tokens in weights), None)
    if prefix is None:
        raise ValueError(
            f"{directory}: the weights have no {layout.prefixes[0]}{layout.tokens}; they have "
            f"{', '.join(sorted(weights)[:3])}, ..."
        )
    reader = _Taken(directory, weights)
    sizes = described.options
    rows = described.rows
    width = sizes.width
    ours = {TOKENS: reader(prefix + layout.tokens, (rows, width))}
    if isinstance(layout, rotary_names.RotaryLayout):
        ours |= rotary_names.parameters(layout, sizes, prefix, reader)
        # Of a head without biases they are 0.
        for name in (layout.dense, layout.head_norm):
            weights.setdefault(f"{name}.bias", np.zeros(width, np.float32))
    else:
        ours |= _positions(described, layout, prefix, reader, max_length)
        pooler = bool(layout.pooler) and f"{prefix}{layout.pooler}.weight" in weights
        for pair in names.pairs(layout, dataclasses.replace(sizes, pooler=pooler), prefix):
            ours[pair.ours] = reader.pair(pair, sizes)
    if layout.bias in weights:
        ours[BIAS] = reader(layout.bias, (rows,))
        ours |= {pair.ours: reader.pair(pair, sizes) for pair in names.head_pairs(layout)}
        scores = weights.get(layout.scores, ours[TOKENS])
        if scores.shape != (rows, width) or not np.array_equal(scores, ours[TOKENS]):
            ours[OUTPUT] = reader(layout.scores, (rows, width))
    if described.kind == "gemma3_text":  # it multiplies them where it reads them
        ours[TOKENS] = ours[TOKENS] * np.float32(width**0.5)
    return ours


def _positions(
    described: Description, layout: names.Layout, prefix: str, taken: _Taken, max_length: int
) -> dict[str, np.ndarray]:
    """The tables of positions, and of languages or types."""
    sizes = described.options
    width = sizes.width
    first = described.first_position
    places = taken(prefix + layout.positions, (described.positions + first, width))[first:]
    tables = {POSITIONS: places[: max_length or None]}
    if described.languages:
        table = prefix + (layout.languages or layout.types)
        tables[LANGUAGES] = taken(table, (len(described.languages), width))
    elif layout.types:
        types = taken(prefix + layout.types, (max(1, sizes.types), width))
        if sizes.types:
            tables[TYPES] = types
        else:
            tables[POSITIONS] = tables[POSITIONS] + types[0]
    return tables


class _Taken:
    """Takes arrays by name; an array that is absent, or of another shape or kind, is an error."""

    def __init__(self, directory: str, weights: Mapping[str, np.ndarray]):
        self._directory = directory
        self._weights = weights

    def __call__(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        if name not in self._weights:
            raise ValueError(
                f"{self._directory}: the weights have no {name}. {suggestion(name, self._weights)}"
            )
        array = self._weights[name]
        if array.dtype != np.float32:  # `arrays.read` makes these of all floating-point numbers
            raise ValueError(
                f"{self._directory}: {name} holds {array.dtype}, as a quantised model does, whose scales "
                "are not read: save the model in float32, float16 or bfloat16"
            )
        if array.shape != shape:
            raise ValueError(
                f"{self._directory}: {name} has the shape {list(array.shape)}; {list(shape)} "
                f"expected by {CONFIG}"
            )
        return array

    def pair(self, pair: names.ParameterPair, sizes: TransformerOptions) -> np.ndarray:
        width = sizes.width
        mlp_dim = sizes.mlp_dim
        into = {"mlp/in_kernel": (mlp_dim, width), "mlp/out_kernel": (width, mlp_dim)}
        end = "/".join(pair.ours.split("/")[-2:])
        shape = into.get(end, (width, width) if pair.theirs[0].endswith(".weight") else (width,))
        if end == "mlp/in_bias":
            shape = (mlp_dim,)
        elif end.endswith("norm/scale"):
            shape = (width,)
        return names.to_ours(pair, [self(name, shape) for name in pair.theirs], sizes.heads)


def _rename_weights(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays with today's names: gamma and beta are those of the first BERT."""
    old = {".gamma": ".weight", ".beta": ".bias"}
    renamed = {}
    for name, array in weights.items():
        for before, now in old.items():
            if name.endswith("LayerNorm" + before):
                name = name.removesuffix(before) + now
        renamed[name] = array
    return renamed


def check_vocabulary(directory: str, described: Description, tokenizer: Tokenizer) -> None:
    """Raises ValueError where the vocabulary has more pieces than the model has rows."""
    pieces = len(tokenizer.vocabulary)
    if pieces > described.rows:
        raise ValueError(
            f"{directory}: the vocabulary has {pieces:,} pieces, and {CONFIG} says "
            f"vocab_size={described.rows:,}: the files belong to different models"
        )
    if pieces < described.rows:
        logging.info(
            "%s: %d rows of the table of tokens belong to no piece",
            directory,
            described.rows - pieces,
        )


def load(directory: str, languages: Sequence[str], max_length: int = 0) -> Loaded:
    """The model in a folder of Hugging Face.

    Args:
      directory: the folder, with or without 'hf:' before it.
      languages: codes of the languages of the text. A model without a language table takes any;
        XLM's are those of its lang2id.
      max_length: pieces of the longest row, special pieces included; 0: the model's maximum.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: a file is damaged or does not fit the others, an architecture that ours cannot
        hold, a language that XLM lacks, or a length beyond the model's.
    """
    directory = directory.removeprefix(PREFIX)
    described = describe(directory)
    if max_length > described.positions:
        raise ValueError(
            f"max_length={max_length}: {directory} has {described.positions} positions"
        )
    tokenizer = hf_tokenizer.tokenizer(directory, tuple(languages))
    check_vocabulary(directory, described, tokenizer)
    arrays = parameters(directory, max_length)
    vocabulary = tokenizer.vocabulary
    for path in (TOKENS, OUTPUT, BIAS):
        if path in arrays:
            rows = arrays[path][: len(vocabulary)]
            empty = [(0, vocabulary.size - len(rows)), *[(0, 0)] * (rows.ndim - 1)]
            arrays[path] = np.pad(rows, empty)
    if described.languages:
        arrays[LANGUAGES] = arrays[LANGUAGES][_rows(directory, described, languages)]
    sizes = dataclasses.replace(described.options, pooler="backbone/pooler_kernel" in arrays)
    length = max_length or described.positions
    encoder = registry.lookup("model", sizes.name)(sizes, vocabulary.size, len(languages), length)
    objective = registry.lookup("objective", "mlm")(
        model=encoder,
        vocab_size=len(vocabulary),
        max_predictions=max(1, length // _PREDICTED_SHARE),
        tied=OUTPUT not in arrays,
        dense=described.dense,
    )
    # jnp.asarray would compile a copy for each shape, and hold everything twice.
    params = jax.device_put(arrays)
    return Loaded(objective, tokenizer, {"params": traverse_util.unflatten_dict(params, sep="/")})


def _rows(directory: str, described: Description, languages: Sequence[str]) -> list[int]:
    """The rows of the table of languages."""
    absent = [language for language in languages if language not in described.languages]
    if absent:
        raise ValueError(
            f"{directory} has no language {', '.join(map(repr, absent))}. "
            f"{hint(absent[0], described.languages)}"
        )
    return [described.languages.index(language) for language in languages]
