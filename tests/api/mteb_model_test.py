"""A model in mteb's hands, as its task of bitext mining calls one; a fake stands in for mteb but in the last test."""

import dataclasses
import sys
import types

import numpy as np
import pytest

import clwe_jax
from clwe_jax import api
from clwe_jax.api import mteb_model
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.concatenated import ConcatenatedModels
from clwe_jax.encoders.spaces import StaticSpaces

GERMAN = ["der Hund, schläft", "die Katze frisst", "das Haus brennt"]
ENGLISH = ["the house burns", "the dog sleeps.", "the cat eats"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelMeta:
    """The fields of `mteb.models.ModelMeta` that have no default, in its version 2."""

    loader: object
    name: str
    revision: str
    release_date: str | None
    languages: list
    n_parameters: int | None
    memory_usage_mb: float | None
    max_tokens: float | None
    embed_dim: int
    license: str | None
    open_weights: bool | None
    public_training_code: str | None
    public_training_data: str | None
    framework: list
    reference: str | None
    similarity_fn_name: str
    use_instructions: bool
    training_datasets: set | None


TASK = types.SimpleNamespace(
    hf_subsets_to_langscripts={"deu-eng": ["deu-Latn", "eng-Latn"], "xx": ["kab-Latn"]},
    languages=["deu", "eng"],
)


@pytest.fixture
def model():
    words = {
        "de": ["hund", "schläft", "katze", "frisst", "haus", "brennt", "der", "die", "das"],
        "en": ["dog", "sleeps", "cat", "eats", "house", "burns", "the"],
    }
    spaces = {
        # A word of the other language would have no vector.
        language: Vectors(named, np.eye(9, dtype=np.float32)[: len(named)])
        for language, named in words.items()
    }
    return clwe_jax.mteb(api.Model(StaticSpaces(spaces, {}, {}, "en")), "owner/model")


def encode(model, texts, subset="deu-eng"):
    batches = [{"text": texts[:2]}, {"text": texts[2:]}]
    return model.encode(batches, task_metadata=TASK, hf_split="test", hf_subset=subset)


def test_sides_are_encoded_in_their_languages_and_mined(model):
    german, english = encode(model, GERMAN), encode(model, ENGLISH)
    np.testing.assert_array_equal(german, model.model.encode(GERMAN, "de"))
    np.testing.assert_array_equal(english, model.model.encode(ENGLISH, "en"))
    scores = np.asarray(model.similarity(german, english))
    assert scores.argmax(1).tolist() == [1, 2, 0]
    pairs = np.asarray(model.similarity_pairwise(german, english[[1, 2, 0]]))
    np.testing.assert_allclose(pairs, scores.max(1), rtol=1e-6)
    np.testing.assert_array_equal(encode(model, GERMAN, "of no pair"), german)


@pytest.mark.parametrize("turned", [False, True])
def test_sides_are_told_apart_by_the_words_of_both_encoders(model, turned):
    """One knows the words of all languages in each, as the pieces of a downloaded encoder do."""
    spaces = model.model.loaded.raw
    names = [*spaces["de"].words, *spaces["en"].words]
    everywhere = Vectors(names, np.eye(16, dtype=np.float32)[: len(names)])
    parts = [StaticSpaces({"de": everywhere, "en": everywhere}, {}, {}, "en"), model.model.loaded]
    both = api.Model(ConcatenatedModels(*(parts[::-1] if turned else parts), 0.5))
    wrapped = clwe_jax.mteb(both)
    np.testing.assert_array_equal(encode(wrapped, GERMAN), both.encode(GERMAN, "de"))
    np.testing.assert_array_equal(encode(wrapped, ENGLISH), both.encode(ENGLISH, "en"))


def test_a_subset_in_other_languages_is_refused(model):
    with pytest.raises(ValueError, match="no kab-Latn, only de, en"):
        encode(model, GERMAN, "xx")


def test_the_description_names_languages_and_scripts(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb", types.ModuleType("mteb"))
    monkeypatch.setitem(sys.modules, "mteb.models", types.SimpleNamespace(ModelMeta=ModelMeta))
    meta = model.mteb_model_meta
    assert (meta.name, meta.embed_dim) == ("owner/model", 9)
    assert meta.languages == ["deu-Latn", "eng-Latn"] and meta.similarity_fn_name == "cosine"
    assert mteb_model.iso_script("kab") == "kab-Latn" and mteb_model.iso_script("hy") == "hye-Armn"
    assert mteb_model.iso_script("zh_Hant") == "zho-Hant"


def test_without_mteb_the_command_that_installs_it_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb.models", None)
    with pytest.raises(RuntimeError, match="pip install 'mteb>=2'"):
        _ = model.mteb_model_meta


def test_mteb_itself_mines_with_a_model(model):
    mteb = pytest.importorskip("mteb", reason="no mteb: pip install 'mteb>=2'")
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"sentence1": GERMAN, "sentence2": ENGLISH[1:] + ENGLISH[:1]})
    task = mteb.get_task("Tatoeba", hf_subsets=["deu-eng"])
    task.load_data = lambda *given, **named: None  # it would fetch its own
    task.dataset = {"deu-eng": datasets.DatasetDict({"test": rows})}
    task.data_loaded = True
    found = mteb.evaluate(model, [task], cache=None, overwrite_strategy="always")
    [score] = found.task_results[0].scores["test"]
    assert score["accuracy"] == 1 and score["languages"] == ["deu-Latn", "eng-Latn"]
