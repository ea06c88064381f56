"""Small folders of Hugging Face, written with NumPy: random weights, config.json, a vocabulary."""

import json
import types

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

WIDTH, LAYERS, HEADS, MLP, POSITIONS = 8, 2, 2, 12, 11
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "bank",
    "##s",
    "un",
    "##a",
    "##b",
    ",",
    ".",
]


def _names(kind, k):
    if kind == "xlm":
        attention = [f"transformer.attentions.{k}.{x}_lin" for x in ("q", "k", "v", "out")]
        norms = [f"transformer.layer_norm{n}.{k}" for n in (1, 2)]
        return attention, norms, [f"transformer.ffns.{k}.lin{n}" for n in (1, 2)]
    start = f"{'bert' if kind == 'bert' else 'roberta'}.encoder.layer.{k}"
    attention = [f"{start}.attention.self.{x}" for x in ("query", "key", "value")]
    attention.append(f"{start}.attention.output.dense")
    norms = [f"{start}.attention.output.LayerNorm", f"{start}.output.LayerNorm"]
    return attention, norms, [f"{start}.intermediate.dense", f"{start}.output.dense"]


def make_arrays(kind, rows, seed=0):
    """Random weights of `kind` with Hugging Face's names and layouts."""
    r = np.random.RandomState(seed)
    found = {}

    def add(name, *shape):
        found[name] = (0.4 * r.standard_normal(shape)).astype(np.float32)

    def dense(name, inputs, outputs):
        add(f"{name}.weight", outputs, inputs)
        add(f"{name}.bias", outputs)

    def norm(name):
        dense(name, 1, WIDTH)
        found[f"{name}.weight"] = 1 + found[f"{name}.weight"][:, 0]

    first = {"bert": "bert.embeddings", "xlm-roberta": "roberta.embeddings"}.get(kind)
    if kind == "xlm":
        add("transformer.embeddings.weight", rows, WIDTH)
        add("transformer.position_embeddings.weight", POSITIONS, WIDTH)
        add("transformer.lang_embeddings.weight", 3, WIDTH)
        norm("transformer.layer_norm_emb")
        add("pred_layer.proj.bias", rows)
        found["pred_layer.proj.weight"] = found["transformer.embeddings.weight"].copy()
    else:
        offset = 2 if kind == "xlm-roberta" else 0
        add(f"{first}.word_embeddings.weight", rows, WIDTH)
        add(f"{first}.position_embeddings.weight", POSITIONS + offset, WIDTH)
        add(f"{first}.token_type_embeddings.weight", 1 if offset else 2, WIDTH)
        found[f"{first}.position_ids"] = np.arange(POSITIONS)[None]
        norm(f"{first}.LayerNorm")
        head = "lm_head" if offset else "cls.predictions.transform"
        dense(f"{head}.dense", WIDTH, WIDTH)
        norm(f"{head}.layer_norm" if offset else f"{head}.LayerNorm")
        add("lm_head.bias" if offset else "cls.predictions.bias", rows)
    if kind == "bert":
        dense("bert.pooler.dense", WIDTH, WIDTH)
    for k in range(LAYERS):
        attention, norms, (dense_in, dense_out) = _names(kind, k)
        for name in attention:
            dense(name, WIDTH, WIDTH)
        mlp = 4 * WIDTH if kind == "xlm" else MLP
        dense(dense_in, WIDTH, mlp)
        dense(dense_out, mlp, WIDTH)
        for name in norms:
            norm(name)
    return found


def make_config(kind, rows):
    if kind == "xlm":
        return dict(
            model_type="xlm",
            emb_dim=WIDTH,
            n_layers=LAYERS,
            n_heads=HEADS,
            n_langs=3,
            use_lang_emb=True,
            lang2id={"de": 1, "en": 0, "fr": 2},
            vocab_size=rows,
            asm=False,
            max_position_embeddings=POSITIONS,
            layer_norm_eps=1e-12,
            gelu_activation=True,
            causal=False,
        )
    large = kind == "xlm-roberta"
    return dict(
        model_type=kind,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=MLP,
        hidden_act="gelu",
        vocab_size=rows,
        max_position_embeddings=POSITIONS + 2 * large,
        type_vocab_size=1 if large else 2,
        layer_norm_eps=1e-5 if large else 1e-12,
    )


def write(folder, kind="bert", arrays=None, config=None, pieces=PIECES):
    """A folder with a WordPiece vocabulary of BERT, cased."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = make_arrays(kind, len(pieces)) if arrays is None else arrays
    save_file(arrays, str(folder / "model.safetensors"), metadata={"format": "pt"})
    config = make_config(kind, len(pieces)) if config is None else config
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "vocab.txt").write_text("".join(f"{x}\n" for x in pieces), encoding="utf-8")
    settings = {"do_lower_case": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return str(folder)


@pytest.fixture
def folders():
    """`write`, `make_arrays` and `make_config` of this module."""
    return types.SimpleNamespace(
        write=write, make_arrays=make_arrays, make_config=make_config, pieces=PIECES
    )


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Programs here run for milliseconds; optimising them takes seconds."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
