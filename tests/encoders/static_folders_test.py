"""Static vectors in the formats of sentence-transformers and model2vec, opened by both."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from clwe_jax.api.static import StaticModel
from clwe_jax.embeddings.ngrams import Ngrams, Spelling
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import export
from clwe_jax.text.corpus.frequencies import Frequencies

TEXTS = ["Der Hund, ein Hund!", "the house", "unbekannt hund", "Łódź   naïve"]


@pytest.fixture
def model():
    r = np.random.default_rng(0)
    words = {"de": ["der", "ein", "hund", ",", "!", "łódź", "naïve"], "en": ["the", "house", "hund"]}
    raw = {x: Vectors(some, r.standard_normal((len(some), 6), np.float32)) for x, some in words.items()}
    counts = Frequencies({"de": 100, "en": 10}, {"de": {"der": 60, "ein": 9}, "en": {"the": 9}})
    return StaticModel(raw, {}, {}, "en", frequencies=counts)


def _ours(model, language):
    rows = model.encode(TEXTS, lang=language, pool="sif")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def test_sentence_transformers_has_our_vectors(model, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    export.write_static(model, str(tmp_path), "sentence-transformers", "de")
    theirs = library.SentenceTransformer(str(tmp_path), device="cpu").encode(
        TEXTS, normalize_embeddings=True
    )
    np.testing.assert_allclose(theirs, _ours(model, "de"), atol=1e-5)


@pytest.mark.parametrize("dtype, atol", [("float32", 1e-5), ("float16", 2e-3), ("int8", 5e-2)])
def test_model2vec_has_our_vectors(model, tmp_path, dtype, atol):
    library = pytest.importorskip("model2vec")
    export.write_static(model, str(tmp_path), "model2vec", "de", dtype)
    theirs = library.StaticModel.from_pretrained(str(tmp_path), force_download=False)
    found = np.asarray(theirs.encode(TEXTS), np.float32)
    np.testing.assert_allclose(found, _ours(model, "de"), atol=atol)


def test_all_languages_share_a_string(model, tmp_path):
    notes = export.write_static(model, str(tmp_path), "model2vec")
    assert any("1 strings of several languages" in note for note in notes)
    rows = load_file(str(tmp_path / "model.safetensors"))["embeddings"]
    vocab = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    both = [model.vectors(x).vectors[model.vectors(x).index["hund"]] for x in ("de", "en")]
    np.testing.assert_allclose(rows[vocab["hund"]], np.mean(both, 0), atol=1e-6)
    assert not rows[vocab["<UNK>"]].any()


def test_what_a_format_cannot_hold_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="--dtype=int8: sentence-transformers takes"):
        export.write_static(model, str(tmp_path), "sentence-transformers", "de", "int8")
    with pytest.raises(ValueError, match="--language=fr: the run has de, en"):
        export.write_static(model, str(tmp_path), "model2vec", "fr")


def test_words_that_only_the_letters_know_are_said_to_be_left_out(model, tmp_path):
    notes = export.write_static(model, str(tmp_path), "model2vec")
    assert not any("lacks" in note for note in notes)
    spelling = Spelling(Ngrams(np.ones(1, np.float32)), {}, 1.0, 0, 0.0, 6, 0)
    spells = dataclasses.replace(model, spelling=spelling)
    notes = export.write_static(spells, str(tmp_path), "model2vec")
    assert any("lacks have no vector there" in note for note in notes)
