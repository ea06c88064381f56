"""Exports: read back by our own reader, by transformers where it is installed, and refusals."""

import dataclasses
import json
import logging
import os
import re

from flax import linen as nn, traverse_util
import jax
import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.encoders import export as writers, hf_model
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.interop import configuration, export, huggingface, to_huggingface
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.text.vocab import xlm
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bank", "##s", "an", "##a", ","]
SIZES = dict(layers=2, width=8, heads=2, mlp_dim=12)
LANGUAGES = ("en", "de", "fr")
CASES = {
    "post": dict(),
    "pre": dict(norm="pre", epsilon=1e-5),
    "plain": dict(language_embeddings=False, condition_on_language=False, types=2, pooler=True),
}


def a_tokenizer(lexicons=None):
    return Tokenizer(LANGUAGES, Normalizer(), Segmenter(lexicons), WordPieceVocabulary(PIECES))


def a_model(options, tied=True):
    model = Transformer(TransformerOptions(**{**SIZES, **options}), 16, 3, 9)
    objective = MlmObjective(model=model, vocab_size=len(PIECES), max_predictions=2, tied=tied)
    variables = nn.unbox(jax.jit(objective.init)(jax.random.key(0), a_batch(objective)))
    leaves, tree = jax.tree.flatten(variables)
    r = np.random.RandomState(0)
    leaves = [np.float32(x + 0.3 * r.standard_normal(x.shape)) for x in leaves]
    return objective, tree.unflatten(leaves)


def a_batch(objective, language=0):
    shapes = objective.batch_shapes(1, 9)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
    batch["inputs"][0, :7] = [2, 5, 6, 7, 9, 10, 3]
    batch["positions"][0, :7] = np.arange(7)
    batch["segment_ids"][0, :7] = 1
    batch["language_ids"][0] = language
    return batch


def outputs(objective, variables, batch):
    found = jax.jit(objective.encode)(variables, batch)
    scores = None
    if "head" in variables["params"]:
        scores = objective.module.apply(
            variables, found.last, batch["language_ids"], method="score"
        )
        scores = np.asarray(scores)[0, :7, : len(PIECES)]
    return [np.asarray(x)[0, :7] for x in (*found.layers, found.last)], scores


def read_back(folder):
    """The model in an exported folder by our reader of folders, without its tokenizer."""
    described = configuration.describe(folder)
    found = huggingface.parameters(folder)
    pooler = "backbone/pooler_kernel" in found
    languages = max(1, len(described.languages))
    options = dataclasses.replace(described.options, pooler=pooler)
    model = Transformer(options, described.rows, languages, described.positions)
    tied = huggingface.OUTPUT not in found
    objective = MlmObjective(model=model, vocab_size=described.rows, max_predictions=2, tied=tied)
    return objective, {"params": traverse_util.unflatten_dict(found, sep="/")}


@pytest.mark.parametrize("case", CASES)
def test_one_language_read_back(case, tmp_path):
    objective, variables = a_model(CASES[case], tied=case != "pre")
    folder = str(tmp_path / "out")
    notes = to_huggingface.write(objective, a_tokenizer(), variables, folder, "de")
    layers, scores = outputs(objective, variables, a_batch(objective, 1))
    again, theirs = read_back(folder)
    found, found_scores = outputs(again, theirs, a_batch(again))
    for ours, exported in zip(layers, found, strict=True):
        np.testing.assert_allclose(exported, ours, atol=1e-5)
    np.testing.assert_allclose(found_scores, scores, atol=1e-5)
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert all(note in text for note in notes)
    assert ("the language de" in text) == (case != "plain")
    assert (
        again.model.options.pooler == objective.model.options.pooler
        and again.tied == objective.tied
    )


def test_all_languages_as_token_types(tmp_path):
    objective, variables = a_model(CASES["post"])
    folder = str(tmp_path / "out")
    notes = to_huggingface.write(objective, a_tokenizer(), variables, folder)
    assert "`token_type_ids` = 0 en, 1 de, 2 fr" in notes[0] and "no MLM head" in notes[1]
    again, theirs = read_back(folder)
    for language in range(3):
        layers, _ = outputs(objective, variables, a_batch(objective, language))
        found, scores = outputs(again, theirs, a_batch(again, language))
        assert scores is None
        for ours, exported in zip(layers, found, strict=True):
            np.testing.assert_allclose(exported, ours, atol=1e-5)


@pytest.mark.parametrize("case, language", [("post", ""), ("pre", "de"), ("plain", "")])
def test_an_export_is_loaded_as_the_run(case, language, tmp_path):
    """With the run's own tokenizer, which finds words of a lexicon."""
    objective, variables = a_model(CASES[case])
    tokenizer = Tokenizer(
        LANGUAGES,
        Normalizer(simplify_chinese=True),
        Segmenter({"fr": ["東京"]}),
        WordPieceVocabulary([*PIECES, "東京", "東", "##京"]),
    )
    folder = str(tmp_path / "out")
    to_huggingface.write(objective, tokenizer, variables, folder, language)
    assert os.stat(folder).st_mode & 0o777 == 0o777 & ~umask()
    model = api.load(f"hf:{folder}")
    assert model.languages == ((language,) if language else LANGUAGES)
    for code in model.languages:
        texts = ["The banks anà,", "東京"]
        ours = ModelEncoder(objective, tokenizer, variables).sentences(texts, code)
        np.testing.assert_allclose(model.encode(texts, code, layer="all"), ours, atol=1e-5)


def umask():
    found = os.umask(0)
    os.umask(found)
    return found


def test_models_that_cannot_be_exported(tmp_path):
    objective, variables = a_model(CASES["post"])
    with pytest.raises(ValueError, match="exists: name a new folder"):
        to_huggingface.write(objective, a_tokenizer(), variables, str(tmp_path))
    out = str(tmp_path / "out")
    with pytest.raises(ValueError, match="'es'"):
        to_huggingface.write(objective, a_tokenizer(), variables, out, "es")
    both, theirs = a_model(dict(types=2))
    with pytest.raises(ValueError, match=r"--language=CODE .*\(en, de, fr\)"):
        to_huggingface.write(both, a_tokenizer(), theirs, out)
    with pytest.raises(ValueError, match="object: .*--format=vec"):
        to_huggingface.write(object(), a_tokenizer(), {"params": {}}, out)
    pieces = ["<s>", "</s>", "<pad>", "<unk>", "<special1>", *PIECES[5:]]
    moses = Tokenizer(LANGUAGES, Normalizer(), Segmenter(), xlm.FastBpeVocabulary(pieces, []))
    with pytest.raises(ValueError, match="tokenizer.json .*fastbpe"):
        to_huggingface.write(objective, moses, variables, out, "en")
    assert not os.path.exists(out)
    with pytest.raises(ValueError, match="'onnx'"):
        export.export(str(tmp_path), "onnx", out)
    with pytest.raises(FileNotFoundError, match="holds no run"):
        export.export(str(tmp_path), "huggingface", out)


@pytest.mark.parametrize("kind", ["huggingface", "vec", "model2vec"])
def test_nothing_is_written_over(kind, tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path, tmp_path / "file"):
        with pytest.raises(ValueError, match=f"--out={out} exists: name a new folder"):
            export.export(str(tmp_path / "run"), kind, str(out))


def test_lexicons_are_mentioned(tmp_path):
    objective, variables = a_model(CASES["plain"])
    tokenizer = a_tokenizer({"fr": ["東京"]})
    notes = to_huggingface.write(objective, tokenizer, variables, str(tmp_path / "out"))
    [note] = [note for note in notes if "in lexicons (fr)" in note]
    assert "tokenizer.encode(TEXT, LANGUAGE)[0]" in note and "is_split_into_words" not in note


def test_exports_of_loaded_models(tmp_path):
    """The formats take any loaded model: here one of Hugging Face, and vectors of words."""
    objective, variables = a_model(CASES["plain"])
    first = str(tmp_path / "first")
    to_huggingface.write(objective, a_tokenizer(), variables, first)
    os.remove(os.path.join(first, "tokenizer.json"))
    (tmp_path / "first" / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    model = hf_model.load(first, ("en",), {"en": ["the", "banks"]})
    writers.write_huggingface(model, str(tmp_path / "again"))
    one, other = (huggingface.parameters(str(tmp_path / x)) for x in ("first", "again"))
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[path], other[path]) for path in one)
    assert writers.write_vec(model, str(tmp_path / "vec"))[0].startswith("en.vec: 2 words")
    lines = (tmp_path / "vec" / "en.vec").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "2 8" and lines[2].startswith("banks ")
    with pytest.raises(ValueError, match="--language=xx: .* en"):
        writers.write_vec(model, str(tmp_path / "vec"), "xx")


def test_text_of_vectors_says_its_size_and_can_be_made_smaller(tmp_path, said):
    rows = np.random.default_rng(0).standard_normal((4_000, 300)).astype(np.float32)
    own = {"de": Vectors([f"w{n}" for n in range(4_000)], rows)}
    own["en"] = Vectors(own["de"].words, rows)
    model = StaticSpaces(own, {}, {}, "en", Normalizer(simplify_chinese=True))
    writers.write_vec(model, str(tmp_path / "all"), "de")
    size = os.path.getsize(tmp_path / "all" / "de.vec") / 1e6
    found = re.findall(r"de.vec: 4,000 words of 300 numbers, about (\d+) MB", said.text)[0]
    assert size == pytest.approx(float(found), rel=0.15)
    notes = writers.write_vec(model, str(tmp_path / "few"), words=1_000, dim=64)
    assert notes[0] == "de.vec: 1,000 words of 64 dimensions."
    assert os.path.getsize(tmp_path / "few" / "de.vec") < 1.1e6
    # Both languages are turned alike.
    assert (tmp_path / "few" / "de.vec").read_text() == (tmp_path / "few" / "en.vec").read_text()
    with pytest.raises(ValueError, match="--dim=301: the vectors have 300"):
        writers.write_vec(model, str(tmp_path / "no"), dim=301)
    assert not (tmp_path / "no").exists()
    with pytest.raises(ValueError, match="--dtype goes with --format=sentence"):
        export.export("run", "vec", "out", dtype="int8")
    # Without Chinese nothing is said of it.
    notes = writers.write_static(model, str(tmp_path / "folder"), "model2vec")
    assert not any("Chinese" in note for note in notes)


def test_transformers_opens_it(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    for case, options in CASES.items():
        objective, variables = a_model(options)
        folder = str(tmp_path / case)
        to_huggingface.write(objective, a_tokenizer(), variables, folder, "de")
        model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        ids = tokenizer("The banks anà,")["input_ids"]
        assert ids[1:-1] == a_tokenizer().encode("The banks anà,", "de")[0]
        with torch.no_grad():
            inputs = torch.tensor([[2, 5, 6, 7, 9, 10, 3]])
            found = model(inputs, output_hidden_states=True)
        layers, scores = outputs(objective, variables, a_batch(objective, 1))
        for ours, theirs in zip(layers[:-2], found.hidden_states[:-1], strict=True):
            np.testing.assert_allclose(theirs[0], ours, atol=1e-5)
        # Before the final normalisation until version 5, after it from then on.
        normalised = int(transformers.__version__.partition(".")[0]) >= 5
        np.testing.assert_allclose(
            found.hidden_states[-1][0], layers[-1 if normalised else -2], atol=1e-4
        )
        np.testing.assert_allclose(found.logits[0], scores, atol=1e-4)
        config = json.loads((tmp_path / case / "config.json").read_text(encoding="utf-8"))
        assert config["architectures"][0].endswith("ForMaskedLM")
