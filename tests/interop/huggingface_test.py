"""Models of Hugging Face as ours: against NumPy on their own names and layouts, and bad folders."""

import json
import math
import pathlib

from flax import linen as nn
import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.interop import configuration, huggingface

KINDS = ("bert", "xlm-roberta", "xlm")
HEADS = 2


def oracle(kind, arrays, ids, types, languages, epsilon):
    """All hidden states and the scores of one text, in PyTorch's layout: y = x W^T + b."""
    erf = np.vectorize(math.erf)
    arrays = {k: v.astype(np.float64) for k, v in arrays.items()}

    def dense(name, x):
        return x @ arrays[f"{name}.weight"].T + arrays[f"{name}.bias"]

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)
        return x * arrays[f"{name}.weight"] + arrays[f"{name}.bias"]

    def gelu(x):
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))

    def attend(names, x):
        q, k, v = (np.split(dense(name, x), HEADS, -1) for name in names[:3])
        out = []
        for head in range(HEADS):
            score = np.exp(q[head] @ k[head].T / math.sqrt(q[head].shape[-1]))
            out.append(score / score.sum(-1, keepdims=True) @ v[head])
        return dense(names[3], np.concatenate(out, -1))

    count = len(ids)
    if kind == "xlm":
        x = arrays["transformer.embeddings.weight"][ids]
        x = x + arrays["transformer.position_embeddings.weight"][:count]
        x = x + arrays["transformer.lang_embeddings.weight"][languages]
        x = norm("transformer.layer_norm_emb", x)
    else:
        start = ("roberta" if kind == "xlm-roberta" else "bert") + ".embeddings"
        first = 2 if kind == "xlm-roberta" else 0
        x = arrays[f"{start}.word_embeddings.weight"][ids]
        x = x + arrays[f"{start}.position_embeddings.weight"][first : first + count]
        x = x + arrays[f"{start}.token_type_embeddings.weight"][types]
        x = norm(f"{start}.LayerNorm", x)
    layers = [x]
    for k in range(2):
        if kind == "xlm":
            names = [f"transformer.attentions.{k}.{n}_lin" for n in ("q", "k", "v", "out")]
            norms = [f"transformer.layer_norm{n}.{k}" for n in (1, 2)]
            mlp = [f"transformer.ffns.{k}.lin{n}" for n in (1, 2)]
        else:
            layer = start.replace("embeddings", f"encoder.layer.{k}")
            names = [f"{layer}.attention.self.{n}" for n in ("query", "key", "value")]
            names.append(f"{layer}.attention.output.dense")
            norms = [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
            mlp = [f"{layer}.intermediate.dense", f"{layer}.output.dense"]
        x = norm(norms[0], x + attend(names, x))
        x = norm(norms[1], x + dense(mlp[1], gelu(dense(mlp[0], x))))
        layers.append(x)
    if kind == "xlm":
        return layers, dense("pred_layer.proj", x)
    if kind == "bert":
        head, last, bias = "cls.predictions.transform", "LayerNorm", "cls.predictions.bias"
    else:
        head, last, bias = "lm_head", "layer_norm", "lm_head.bias"
    y = norm(f"{head}.{last}", gelu(dense(f"{head}.dense", x)))
    return layers, y @ arrays[f"{start}.word_embeddings.weight"].T + arrays[bias]


def a_batch(objective, ids, types, languages):
    count = len(ids)
    shapes = objective.batch_shapes(1, objective.max_length)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
    batch["inputs"][0, :count] = ids
    batch["positions"][0, :count] = np.arange(count)
    batch["segment_ids"][0, :count] = 1
    batch["language_ids"][0, :count] = languages
    batch["type_ids"] = np.zeros_like(batch["inputs"])
    batch["type_ids"][0, :count] = types
    return batch


def test_a_padding_of_null_has_the_usual_id(folders, tmp_path):
    folders.write(tmp_path, "xlm-roberta")
    path = tmp_path / "config.json"
    described = configuration.describe(str(tmp_path))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pad_token_id": None}))
    assert configuration.describe(str(tmp_path)) == described and described.first_position == 2


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_states_and_scores_equal_numpy(kind, folders, tmp_path):
    pieces = folders.pieces
    arrays, config = folders.make_arrays(kind, len(pieces)), folders.make_config(kind, len(pieces))
    # A visible epsilon.
    config["layer_norm_eps"] = 0.03
    folder = folders.write(tmp_path, kind, arrays, config)
    objective, tokenizer, variables = huggingface.load(f"hf:{folder}", ("fr", "en"))
    ids = [2, *tokenizer.encode("unab the banks, bank.", "fr")[0], 3]
    assert [tokenizer.vocabulary.pieces[i] for i in ids[1:4]] == ["un", "##a", "##b"]
    types = [0] * 4 + [1] * (len(ids) - 4) if kind == "bert" else [0] * len(ids)
    # Language 0 here is fr, which is 2 in lang2id.
    layers, scores = oracle(kind, arrays, ids, types, 2, 0.03)
    batch = a_batch(objective, ids, types, 0)
    found = jax.jit(objective.encode)(variables, batch)
    assert len(found.layers) == len(layers)
    for ours, theirs in zip(found.layers, layers):
        np.testing.assert_allclose(ours[0, : len(ids)], theirs, atol=3e-6)
    logits = objective.module.apply(variables, found.last, batch["language_ids"], method="score")
    np.testing.assert_allclose(logits[0, : len(ids), : len(pieces)], scores, atol=3e-5)
    if kind == "bert":
        pooled = objective.model.apply(
            {"params": variables["params"]["backbone"]}, found.last, method="pool"
        )
        first = layers[-1][0] @ arrays["bert.pooler.dense.weight"].T.astype(np.float64)
        wanted = np.tanh(first + arrays["bert.pooler.dense.bias"])
        np.testing.assert_allclose(pooled[0], wanted, atol=1e-5)
    # The parameters are those that the objective initialises, neither more nor fewer.
    shapes = jax.eval_shape(objective.init, jax.random.key(0), batch)["params"]
    expected = jax.tree.map(lambda x: x.shape, nn.unbox(shapes))
    assert jax.tree.map(lambda x: x.shape, variables["params"]) == expected


def variant(arrays, change):
    return {new: array for name, array in arrays.items() for new in [change(name)] if new}


@pytest.mark.parametrize(
    "change",
    [
        lambda name: name.removeprefix("bert."),
        lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ),
    ],
    ids=["without-prefix", "gamma-beta"],
)
def test_other_names_of_the_same_model(change, folders, tmp_path):
    arrays = folders.make_arrays("bert", len(folders.pieces))
    plain = huggingface.parameters(folders.write(tmp_path / "a", arrays=arrays))
    other = folders.write(tmp_path / "b", arrays=variant(arrays, change))
    other = huggingface.parameters(other)
    assert plain.keys() == other.keys() and "head/norm/scale" in plain
    for path in plain:
        np.testing.assert_array_equal(plain[path], other[path])


def test_a_folder_without_head_and_pooler_encodes(folders, tmp_path):
    arrays = folders.make_arrays("bert", len(folders.pieces))
    arrays = {k: v for k, v in arrays.items() if "cls" not in k and "pooler" not in k}
    folder = folders.write(tmp_path, arrays=arrays)
    objective, tokenizer, variables = huggingface.load(folder, ("en",), max_length=9)
    assert set(variables["params"]) == {"backbone"} and not objective.model.options.pooler
    vectors = ModelEncoder(objective, tokenizer, variables).sentences(["the bank.", ""], "en")
    assert vectors.shape == (2, 3, 8) and vectors[0].any() and not vectors[1].any()


def test_a_head_with_a_table_of_its_own(folders, tmp_path):
    arrays = folders.make_arrays("bert", len(folders.pieces))
    own = 2 * arrays["bert.embeddings.word_embeddings.weight"]
    arrays["cls.predictions.decoder.weight"] = own
    objective, _, variables = huggingface.load(folders.write(tmp_path, arrays=arrays), ("en",))
    assert not objective.tied
    np.testing.assert_array_equal(variables["params"]["output_embedding"][: len(own)], own)


def test_rows_without_a_piece_are_left_out(folders, tmp_path):
    """multilingual-e5-small has 35 more rows than pieces."""
    rows = len(folders.pieces) + 5
    folder = folders.write(
        tmp_path, arrays=folders.make_arrays("bert", rows), config=folders.make_config("bert", rows)
    )
    objective, _, variables = huggingface.load(folder, ("en",))
    assert objective.vocab_size == rows - 5
    table = variables["params"]["backbone"]["token_embedding"]
    assert table.shape[0] == 128 and not np.asarray(table[rows - 5 :]).any()


def spoil(folders, tmp_path, change):
    arrays = folders.make_arrays("bert", len(folders.pieces))
    config = folders.make_config("bert", len(folders.pieces))
    change(arrays, config)
    return folders.write(tmp_path, arrays=arrays, config=config)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda a, c: c.update(model_type="gpt2"),
            "architecture 'gpt2'.*bert, distilbert, electra, .*, qwen3",
        ),
        (lambda a, c: c.update(hidden_act="relu"), "hidden_act='relu' is not supported; .*'gelu'"),
        (lambda a, c: c.update(position_embedding_type="relative_key"), "expected 'absolute'"),
        (lambda a, c: c.pop("hidden_size"), "has no 'hidden_size'"),
        (lambda a, c: c.update(vocab_size=12), r"vocabulary has 13 pieces, .*vocab_size=12"),
        (lambda a, c: c.update(vocab_size=99), r"word_embeddings.* \[13, 8\]; \[99, 8\] expected"),
        (
            lambda a, c: c.update(num_hidden_layers=3),
            "no bert.encoder.layer.2.attention.self.query",
        ),
        (lambda a, c: a.pop("bert.encoder.layer.1.output.dense.bias"), "no .*1.output.dense.bias"),
        (
            lambda a, c: a.update(
                {"bert.encoder.layer.0.intermediate.dense.weight": np.ones((8, 12))}
            ),
            r"\[8, 12\]; \[12, 8\] expected by config.json",
        ),
        (lambda a, c: a.pop("bert.embeddings.word_embeddings.weight"), "weights have no bert.emb"),
        (
            lambda a, c: a.update({x: a[x].astype(np.int8) for x in a if "query.weight" in x}),
            "0.attention.self.query.weight holds int8, as a quantised model does",
        ),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(change, message, folders, tmp_path):
    with pytest.raises(ValueError, match=message):
        huggingface.load(spoil(folders, tmp_path, change), ("en",))


def test_missing_and_damaged_files_are_named(folders, tmp_path):
    with pytest.raises(FileNotFoundError, match="no config.json"):
        huggingface.load(str(tmp_path), ("en",))
    folder = pathlib.Path(folders.write(tmp_path / "bert"))
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="config.json is damaged"):
        huggingface.load(str(folder), ("en",))
    folder = pathlib.Path(folders.write(tmp_path / "other"))
    (folder / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match="expected tokenizer.json, vocab.txt"):
        huggingface.load(str(folder), ("en",))
    with pytest.raises(ValueError, match="max_length=600.* has 11 positions"):
        huggingface.load(folders.write(tmp_path / "third"), ("en",), max_length=600)


def test_languages_of_xlm(folders, tmp_path):
    folder = folders.write(tmp_path / "xlm", "xlm")
    with pytest.raises(ValueError, match="no language 'ru'"):
        huggingface.load(folder, ("en", "ru"))
    config = folders.make_config("xlm", len(folders.pieces)) | {"lang2id": {"en": 0}}
    with pytest.raises(ValueError, match="lang2id has 1 .*0 to 2"):
        configuration.describe(folders.write(tmp_path / "b", "xlm", config=config))
    config = folders.make_config("xlm", len(folders.pieces)) | {"asm": True}
    with pytest.raises(ValueError, match="asm=True is not supported"):
        configuration.describe(folders.write(tmp_path / "c", "xlm", config=config))


def test_weights_in_parts(folders, tmp_path):
    whole = folders.write(tmp_path / "whole")
    folder = pathlib.Path(folders.write(tmp_path / "parts"))
    arrays = folders.make_arrays("bert", len(folders.pieces))
    (folder / "model.safetensors").unlink()
    parts = {name: f"model-{n % 2}.safetensors" for n, name in enumerate(sorted(arrays))}
    for part in set(parts.values()):
        mine = {name: arrays[name] for name in arrays if parts[name] == part}
        save_file(mine, str(folder / part))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": parts}), encoding="utf-8")
    found, wanted = huggingface.parameters(str(folder)), huggingface.parameters(whole)
    assert all(np.array_equal(found[path], wanted[path]) for path in wanted)
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="model-1.safetensors"):
        huggingface.parameters(str(folder))
