"""The names and layouts of parameters in BERT, its relatives and XLM of Hugging Face, and in ours."""

from __future__ import annotations

import dataclasses
from typing import Iterator, Mapping, NamedTuple

import numpy as np

from clwe_jax.interop.rotary_names import RotaryLayout
from clwe_jax.options.models import TransformerOptions

Arrays = Mapping[str, np.ndarray]
# Kinds of parameters, by the change of layout between theirs and ours.
SAME = "same"
KERNEL = "kernel"
QKV_KERNEL = "qkv"
QKV_BIAS = "qkv_bias"
OUT_KERNEL = "out"


class ParameterPair(NamedTuple):
    """One parameter of ours and its counterparts.

    Attributes:
      ours: its path.
      theirs: the names of its parts; three for queries, keys and values, else one.
      kind: the change of layout, one of the constants above.
    """

    ours: str
    theirs: tuple[str, ...]
    kind: str = SAME


@dataclasses.dataclass(frozen=True)
class Layout:
    """The names of an architecture.

    Attributes:
      prefixes: beginnings of names in checkpoints with a head; '' without one.
      tokens, positions, types, languages: names of the tables; '' where there is none.
      norm: name of the embeddings' layer normalisation.
      layer: names of a layer's parts, with {} for its number: queries, keys, values, attention's
        output, its normalisation, both dense layers, their normalisation.
      dense, head_norm: names of the MLM head's dense layer and normalisation; '' in XLM.
      bias: the name of the scores' bias.
      scores: the name of the matrix of the scores, which usually is that of `tokens`.
      pooler: the name of the pooler; '' where there is none.
      final_norm: name of the normalisation after the last layer; '' where there is none.
    """

    prefixes: tuple[str, ...]
    tokens: str
    positions: str
    types: str
    languages: str
    norm: str
    layer: tuple[str, ...]
    dense: str
    head_norm: str
    bias: str
    scores: str
    pooler: str = ""
    final_norm: str = ""


_BERT_LAYER = (
    "encoder.layer.{}.attention.self.query",
    "encoder.layer.{}.attention.self.key",
    "encoder.layer.{}.attention.self.value",
    "encoder.layer.{}.attention.output.dense",
    "encoder.layer.{}.attention.output.LayerNorm",
    "encoder.layer.{}.intermediate.dense",
    "encoder.layer.{}.output.dense",
    "encoder.layer.{}.output.LayerNorm",
)
_BERT = Layout(
    prefixes=("bert.", ""),
    tokens="embeddings.word_embeddings.weight",
    positions="embeddings.position_embeddings.weight",
    types="embeddings.token_type_embeddings.weight",
    languages="",
    norm="embeddings.LayerNorm",
    layer=_BERT_LAYER,
    dense="cls.predictions.transform.dense",
    head_norm="cls.predictions.transform.LayerNorm",
    bias="cls.predictions.bias",
    scores="cls.predictions.decoder.weight",
    pooler="pooler.dense",
)
_ROBERTA = dataclasses.replace(
    _BERT,
    prefixes=("roberta.", ""),
    dense="lm_head.dense",
    head_norm="lm_head.layer_norm",
    bias="lm_head.bias",
    scores="lm_head.decoder.weight",
)
# In pre-norm order, the normalisations belong to the sublayers that follow them.
_PRE_NORM_LAYER = tuple(
    name.replace("output.LayerNorm", "LayerNorm") if "attention" in name else name
    for name in _BERT_LAYER[:-1]
) + ("encoder.layer.{}.intermediate.LayerNorm",)
LAYOUTS: dict[str, Layout] = {
    "bert": _BERT,
    "xlm-roberta": _ROBERTA,
    "roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "electra": dataclasses.replace(
        _BERT,
        prefixes=("electra.", ""),
        dense="generator_predictions.dense",
        head_norm="generator_predictions.LayerNorm",
        bias="generator_lm_head.bias",
        scores="generator_lm_head.weight",
        pooler="",
    ),
    "distilbert": dataclasses.replace(
        _BERT,
        prefixes=("distilbert.", ""),
        types="",
        layer=(
            "transformer.layer.{}.attention.q_lin",
            "transformer.layer.{}.attention.k_lin",
            "transformer.layer.{}.attention.v_lin",
            "transformer.layer.{}.attention.out_lin",
            "transformer.layer.{}.sa_layer_norm",
            "transformer.layer.{}.ffn.lin1",
            "transformer.layer.{}.ffn.lin2",
            "transformer.layer.{}.output_layer_norm",
        ),
        dense="vocab_transform",
        head_norm="vocab_layer_norm",
        bias="vocab_projector.bias",
        scores="vocab_projector.weight",
        pooler="",
    ),
    "roberta-prelayernorm": dataclasses.replace(
        _ROBERTA,
        prefixes=("roberta_prelayernorm.", ""),
        layer=_PRE_NORM_LAYER,
        final_norm="LayerNorm",
    ),
    "xlm": Layout(
        prefixes=("transformer.", ""),
        tokens="embeddings.weight",
        positions="position_embeddings.weight",
        types="",
        languages="lang_embeddings.weight",
        norm="layer_norm_emb",
        layer=(
            "attentions.{}.q_lin",
            "attentions.{}.k_lin",
            "attentions.{}.v_lin",
            "attentions.{}.out_lin",
            "layer_norm1.{}",
            "ffns.{}.lin1",
            "ffns.{}.lin2",
            "layer_norm2.{}",
        ),
        dense="",
        head_norm="",
        bias="pred_layer.proj.bias",
        scores="pred_layer.proj.weight",
    ),
}


def pairs(layout: Layout, model: TransformerOptions, prefix: str = "") -> Iterator[ParameterPair]:
    """All parameters of an encoder, without its tables of tokens, positions, types and languages.

    Args:
      layout: the other program's names.
      prefix: the beginning of their names of the encoder's parameters.
    """
    yield from _norm("backbone/embedding_norm", prefix + layout.norm)
    for k in range(model.layers):
        query, key, value, out, norm_1, dense_in, dense_out, norm_2 = (
            prefix + name.format(k) for name in layout.layer
        )
        ours = f"backbone/layer_{k}"
        for suffix, end, kind in ((".weight", "kernel", QKV_KERNEL), (".bias", "bias", QKV_BIAS)):
            theirs = (query + suffix, key + suffix, value + suffix)
            yield ParameterPair(f"{ours}/attention/qkv_{end}", theirs, kind)
        yield ParameterPair(f"{ours}/attention/out_kernel", (out + ".weight",), OUT_KERNEL)
        yield ParameterPair(f"{ours}/attention/out_bias", (out + ".bias",))
        yield from _norm(f"{ours}/attention_norm", norm_1)
        for end, name in (("in", dense_in), ("out", dense_out)):
            yield ParameterPair(f"{ours}/mlp/{end}_kernel", (name + ".weight",), KERNEL)
            yield ParameterPair(f"{ours}/mlp/{end}_bias", (name + ".bias",))
        yield from _norm(f"{ours}/mlp_norm", norm_2)
    if layout.final_norm:
        yield from _norm("backbone/final_norm", prefix + layout.final_norm)
    if model.pooler:
        yield ParameterPair("backbone/pooler_kernel", (prefix + layout.pooler + ".weight",), KERNEL)
        yield ParameterPair("backbone/pooler_bias", (prefix + layout.pooler + ".bias",))


def head_pairs(layout: Layout | RotaryLayout) -> Iterator[ParameterPair]:
    """The parameters of the MLM head, without the table and the bias of the scores."""
    if layout.dense:
        yield ParameterPair("head/kernel", (layout.dense + ".weight",), KERNEL)
        yield ParameterPair("head/bias", (layout.dense + ".bias",))
        yield from _norm("head/norm", layout.head_norm)


def _norm(ours: str, theirs: str) -> Iterator[ParameterPair]:
    yield ParameterPair(f"{ours}/scale", (theirs + ".weight",))
    yield ParameterPair(f"{ours}/bias", (theirs + ".bias",))


def to_ours(pair: ParameterPair, parts: list[np.ndarray], heads: int) -> np.ndarray:
    """Our parameter of their parts; PyTorch's matrices are [outputs, inputs], ours the reverse."""
    if pair.kind == SAME:
        return parts[0]
    if pair.kind == KERNEL:
        return parts[0].T
    if pair.kind == OUT_KERNEL:
        return parts[0].T.reshape(heads, -1, parts[0].shape[0])
    if pair.kind == QKV_BIAS:
        return np.stack([part.reshape(heads, -1) for part in parts])
    return np.stack([part.T.reshape(part.shape[1], heads, -1) for part in parts], axis=1)


def to_theirs(pair: ParameterPair, array: np.ndarray) -> list[np.ndarray]:
    """The parts of our parameter in their layout, in the order of `pair.theirs`."""
    if pair.kind == SAME:
        return [array]
    if pair.kind == KERNEL:
        return [array.T]
    if pair.kind == OUT_KERNEL:
        return [array.reshape(-1, array.shape[-1]).T]
    if pair.kind == QKV_BIAS:
        return [part.reshape(-1) for part in array]
    return [array[:, k].reshape(array.shape[0], -1).T for k in range(3)]
