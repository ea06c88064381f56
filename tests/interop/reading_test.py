"""Sentences' vectors as the authors of a downloaded model make them."""

import json
import types

import numpy as np
import pytest
from safetensors.numpy import save_file

from clwe_jax import api
from clwe_jax.encoders import load, reading
from clwe_jax.encoders.concatenated import ConcatenatedModels
from clwe_jax.encoders.encode import describe_reading
from clwe_jax.evaluate.retrieval import _encode_by_pool

TEXTS = ["the bank", "unab, the banks.", "", "the " * 20]


def write_json(path, content):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def add_modules(folder, pool="mean_tokens", dense=True, prompts=None, length=9):
    """The files of sentence-transformers."""
    kinds = ["Transformer", "Pooling", *["Dense"] * dense, "Normalize"]
    modules = [
        dict(
            idx=n,
            name=str(n),
            path=f"{n}_{kind}" if n else "",
            type=f"sentence_transformers.models.{kind}",
        )
        for n, kind in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    flags = dict.fromkeys(("cls_token", "mean_tokens", "max_tokens", "lasttoken"), False)
    flags = {f"pooling_mode_{x}": x == pool for x in flags}
    write_json(folder / "1_Pooling" / "config.json", {**flags, "include_prompt": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": length})
    write_json(
        folder / "config_sentence_transformers.json",
        {"prompts": prompts or {}, "default_prompt_name": "query" if prompts else None},
    )
    if dense:
        write_json(
            folder / "2_Dense" / "config.json",
            {"activation_function": "torch.nn.modules.activation.Tanh"},
        )
        r = np.random.RandomState(1)
        weights = {"linear.weight": r.randn(5, 8), "linear.bias": r.randn(5)}
        weights = {name: array.astype(np.float32) for name, array in weights.items()}
        save_file(weights, str(folder / "2_Dense" / "model.safetensors"))
        return weights
    return None


def theirs(folder, pool, weights, prompt=""):
    """The arithmetic of sentence-transformers with the model of transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.BertModel.from_pretrained(folder).eval()
    vectors = []
    tokenizer = api.load(f"hf:{folder}", languages=("en",)).tokenizer
    for text in TEXTS:
        ids = tokenizer.encode(prompt + text, "en")[0][:7]
        ids = torch.tensor([[2, *ids, 3]])
        with torch.no_grad():
            states = model(input_ids=ids).last_hidden_state[0].numpy()
        vectors.append(
            {"mean_tokens": states.mean(0), "cls_token": states[0], "lasttoken": states[-1]}[pool]
        )
    pooled = np.stack(vectors)
    if weights:
        pooled = np.tanh(pooled @ weights["linear.weight"].T + weights["linear.bias"])
    return pooled / np.linalg.norm(pooled, axis=-1, keepdims=True)


@pytest.mark.parametrize("pool", ["mean_tokens", "cls_token", "lasttoken"])
def test_vectors_equal_those_of_sentence_transformers(pool, folders, tmp_path):
    folder = folders.write(tmp_path / "model")
    prompts = {"query": "bank. "} if pool == "mean_tokens" else None
    weights = add_modules(tmp_path / "model", pool, dense=pool != "cls_token", prompts=prompts)
    model = api.load(f"hf:{folder}", languages=("en",))
    assert describe_reading(model.encoder()).endswith("(by its folder)")
    wanted = theirs(folder, pool, weights, "bank. " if prompts else "")
    np.testing.assert_allclose(model.encode(TEXTS, "en"), wanted, atol=1e-5)
    make, parts = model.encoder().__reduce__()  # as for another process
    np.testing.assert_allclose(make(*parts).sentences(TEXTS, "en")[:, 0], wanted, atol=1e-5)
    assert _encode_by_pool(model.encoder(), TEXTS, "en")["retrieval"].shape == (
        4,
        1,
        wanted.shape[1],
    )
    if not prompts:
        other = api.load(f"hf:{folder}?prompt=bank. ", languages=("en",)).encode(TEXTS, "en")
        np.testing.assert_allclose(other, theirs(folder, pool, weights, "bank. "), atol=1e-5)


@pytest.mark.parametrize("pool", ["mean", "lasttoken"])
def test_the_library_itself_has_the_same_vectors(pool, folders, tmp_path):
    pytest.importorskip("sentence_transformers", "6", reason="pip install sentence-transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    model = modules.Transformer(folders.write(tmp_path / "plain"))
    model.max_seq_length = 9
    steps = [model, modules.Pooling(8, pool), modules.Dense(8, 5), modules.Normalize()]
    prompts = dict(prompts={"query": "bank. "}, default_prompt_name="query")
    SentenceTransformer(modules=steps, device="cpu", **prompts).save(str(tmp_path / "model"))
    wanted = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(TEXTS)
    found = api.load(f"hf:{tmp_path}/model", languages=("en",)).encode(TEXTS, "en")
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_layer_and_pool_go_before_the_folder(folders, tmp_path):
    plain = api.load(f"hf:{folders.write(tmp_path / 'plain')}", languages=("en",))
    folder = folders.write(tmp_path / "model")
    add_modules(tmp_path / "model", length=11)
    model = api.load(f"hf:{folder}", languages=("en",))
    for options in (dict(layer=1), dict(pool="mean"), dict(layer="mean_last4"), dict(layer="all")):
        found, wanted = (x.encode(TEXTS, "en", **options) for x in (model, plain))
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert len(model.words("the bank", "en")[0][1]) == 8
    with_words = api.load(f"hf:{folder}", languages=("en",), words={"en": ["the", "bank", "banks"]})
    np.testing.assert_allclose(
        with_words.vector("bank", "en"), model.encode(["bank"], "en")[0], atol=1e-6
    )
    assert len(with_words.neighbours("bank", "en", k=2)) == 2


def test_the_length_may_stand_with_the_tokenizer_alone(folders, tmp_path):
    folder = folders.write(tmp_path / "model")
    add_modules(tmp_path / "model", length=9)
    wanted = api.load(f"hf:{folder}", languages=("en",)).encode(TEXTS, "en")
    write_json(tmp_path / "model" / "sentence_bert_config.json", {"transformer_task": "x"})
    path = tmp_path / "model" / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, settings | {"model_max_length": 9})
    found = api.load(f"hf:{folder}", languages=("en",)).encode(TEXTS, "en")
    np.testing.assert_array_equal(found, wanted)


def test_a_text_without_pieces_has_the_vector_of_the_special_piece_there():
    ends_alone = types.SimpleNamespace(begins=False, ends=True)
    assert reading.Reading(pool="cls").groups(0, ends_alone) == ([], (0, 0))
    assert reading.Reading(pool="cls").groups(2, ends_alone) == ([0, -1], (-1, -1))


def test_options_say_how_a_folder_without_files_is_read(folders, tmp_path):
    folder = folders.write(tmp_path / "model")
    vectors = api.load(f"hf:{folder}", languages=("en",)).encode(TEXTS, "en", layer="all")
    address = f"hf:{folder}?pool=cls&layer=1&normalize=1&prompt=the "
    found = load.load(address, ["en"]).encoder().sentences(["bank"], "en")[0]
    assert found.shape == (1, 8) and np.isclose(np.linalg.norm(found), 1)
    said = describe_reading(load.load(address, ["en"]).encoder())
    assert said == "pool=cls, layer=1, prompt='the ', length 1 (by the address)"
    plain = load.load(f"hf:{folder}", ["en"]).encoder()
    assert describe_reading(plain) == "the mean of the pieces in layers 1 to 2"
    assert not np.allclose(found, vectors[0])
    for wrong in ("pool=max", "layer=first", "length=x", "normalize=no", "pools=mean"):
        with pytest.raises(ValueError, match=r"expected pool=mean\|cls\|last"):
            api.load(f"hf:{folder}?{wrong}", languages=("en",))


def test_a_language_that_nobody_has_named_is_refused_with_the_remedy(folders, tmp_path):
    folder = folders.write(tmp_path / "model")
    with pytest.raises(ValueError, match=r"with languages=\['kab'\]"):
        api.load(f"hf:{folder}").encode(TEXTS, "kab")
    with pytest.raises(ValueError, match="Known: en.$"):
        api.load(f"hf:{folder}", languages=("en",)).encode(TEXTS, "kab")


def test_a_known_model_without_files_is_warned_of(folders, tmp_path, caplog):
    folder = folders.write(tmp_path / "multilingual-e5-small")
    with caplog.at_level("WARNING"):
        assert reading.read(folder) is None
    assert "pool=mean&layer=last&prompt=query: " in caplog.text


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: add_modules(x, "max_tokens"), "pooling max_tokens is unknown"),
        (
            lambda x: write_json(x / "modules.json", [dict(idx=0, path="", type="a.b.LSTM")]),
            "module LSTM is unknown",
        ),
        (lambda x: (x / "modules.json").write_text("["), "modules.json is damaged: Expecting"),
        (lambda x: write_json(x / "modules.json", {}), "modules.json is damaged: expected a list"),
        (lambda x: write_json(x / "modules.json", [dict(idx=0)]), 'modules with "idx", "path"'),
    ],
)
def test_steps_that_are_unknown_are_refused(change, message, folders, tmp_path):
    folder = folders.write(tmp_path / "model")
    change(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        reading.read(folder)


def test_a_second_encoder_stands_beside_the_own_vector(folders, tmp_path):
    folder = folders.write(tmp_path / "model")
    add_modules(tmp_path / "model", dense=False)
    first, second = (load.load(f"hf:{folder}", ["en"]) for _ in range(2))
    weights = np.array([0.1, 0.2, 0.3, 0.25], np.float32)
    model = api.Model(ConcatenatedModels(first, second, 0.3, {("en", "en"): weights}))
    own = api.Model(first).encode(["the bank"], "en")[0]
    found = model.encode(["the bank"], "en")[0]
    np.testing.assert_allclose(found, [*own, *own * 0.3**0.5], atol=1e-5)
    assert model.encode(["the bank"], "en", layer=1).shape == (1, 16)
