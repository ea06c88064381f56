"""A run's folder, made by hand and loaded: vectors against the objective's own; refusals."""

import json
from multiprocessing.reduction import ForkingPickler
import os
import shutil

import jax
import numpy as np
import optax
import pytest

from clwe_jax import api, options, presets
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.pair import PairModels
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, checkpoint, partition, train_state
from clwe_jax.types import piece_shapes

WORDS = ["money", "river", "bank", "geld", "fluss", "ufer"]
COUNTS = Frequencies({"en": 9, "de": 99}, {"en": {"bank": 9}, "de": {"by": 90, "bank": 9}})


def make_run(folder):
    """WORKDIR of a small untrained model with large random parameters; returns its parts."""
    config = presets.start_from("mbert", "laptop")
    config.model.norm = "post"
    config.data.update(languages="en,de", sequence_length=12)
    config.model.update(layers=2, width=16, heads=2, mlp_dim=16)
    config = options.parse(config)
    letters = [x for c in "abcdefghijklmnopqrstuvwxyz" for x in (c, "##" + c)]
    vocabulary = WordPieceVocabulary([*SPECIALS, *letters, *WORDS])
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter(), vocabulary)
    options.claim_workdir(config, str(folder))
    tokenizer.save(str(folder / "vocab"))
    frequent = {"en": ["river", "bank", "money"], "de": ["geld", "fluss", "ufer", "a"]}
    (folder / "words.json").write_text(json.dumps(frequent))
    COUNTS.save(str(folder))

    objective = build.build_objective(config, len(vocabulary.pieces), vocabulary.size)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in piece_shapes(1, 12).items()}
    create = jax.jit(lambda: train_state.create(objective, optax.adam(0.1), batch, 3))
    state = partition.unbox(create())
    state = state.replace(params=jax.tree.map(lambda x: x * 20, state.params))
    meta = {"vocabulary": vocabulary.fingerprint(), "system": "tiny"}
    saver = checkpoint.Checkpointer(str(folder / "checkpoints"))
    saver.save(state, b"", meta)
    saver.save(state.replace(step=state.step + 7), b"", meta)
    saver.close()
    return tokenizer, objective, state.variables


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, *make_run(folder)


@pytest.fixture(scope="module")
def model(run):
    return api.load(run[0])


@pytest.fixture(scope="module")
def by_hand(run):
    """[pieces, layers + 1, D] of one text alone, without padding."""
    _, tokenizer, objective, variables = run
    encode = jax.jit(objective.encode)

    def vectors(text, lang):
        v = tokenizer.vocabulary
        ids = [v.cls_id, *tokenizer.encode(text, lang)[0], v.sep_id]
        batch = {
            "inputs": np.array([ids]),
            "positions": np.arange(len(ids))[None],
            "segment_ids": np.ones((1, len(ids)), np.int32),
            "language_ids": np.full((1, len(ids)), tokenizer.language_id(lang)),
        }
        layers = encode(variables, batch).layers
        return np.stack([layer[0, 1:-1] for layer in layers], 1)

    return vectors


def test_the_size_of_a_batch_changes_no_vector(model):
    texts = [f"{word} bank" for word in ("the", "a", "one")]
    whole = model.encode(texts, lang="en")
    np.testing.assert_allclose(model.encode(texts, "en", batch_size=2), whole, atol=1e-5)
    assert model.dim == whole.shape[1]
    model.encode(texts, "en", batch_size=2)
    assert sorted(model._can._encoders) == [(2, True), (64, True)]


def test_encode_equals_the_objective(model, by_hand):
    assert model.languages == ("en", "de") and len(model.loaded.vocabulary) == 63
    texts = ["The bank", "money, by the"]
    expected = [by_hand(text, "de") for text in texts]
    every = model.encode(texts, lang="de", pool="mean", layer="all")
    np.testing.assert_allclose(every, [x.mean(0) for x in expected], atol=2e-4)
    np.testing.assert_array_equal(model.encode(texts, lang="de", pool="mean", layer=1), every[:, 1])
    last = model.encode(texts, lang="de", pool="mean")
    np.testing.assert_allclose(last, every[:, 1:].mean(1), atol=1e-6)
    np.testing.assert_array_equal(
        model.encode(texts, lang="de", pool="mean", layer="mean_last4"), last
    )
    assert np.abs(model.encode(texts, lang="en", pool="mean") - last).max() > 0.1
    pieces = model.encode(texts, lang="de", layer=2, pool=None)
    for found, all_layers in zip(pieces, expected):
        np.testing.assert_allclose(found, all_layers[:, 2], atol=2e-4)


def test_sif_weighs_a_word_by_its_share_of_the_text(run, model, by_hand):
    texts = ["By the bank", "money, by the"]
    found = model.encode(texts, lang="de", layer="all", pool="sif")
    weights = COUNTS.word_weights("de", "sif")
    for vectors, text in zip(found, texts):
        words, owners = run[1].words(text, "de"), run[1].encode(text, "de")[1]
        given = np.array([weights.get(words[x], 1.0) / owners.count(x) for x in owners])
        expected = np.average(by_hand(text, "de"), axis=0, weights=given)
        np.testing.assert_allclose(vectors, expected, atol=3e-4)
        assert given.min() < 0.02 and given.max() > 0.3
    np.testing.assert_array_equal(model.encode(texts, lang="de", layer="all"), found)
    plain = model.encode(texts, lang="de", layer="all", pool="mean")
    assert np.abs(found - plain).max() > 0.1
    # No piece of these texts occurs in the English counts: all weigh the same.
    text = ["money, money"]
    np.testing.assert_allclose(
        model.encode(text, "en"), model.encode(text, "en", pool="mean"), atol=1e-5
    )


def test_a_run_without_counts_has_no_sif(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run[0], folder)
    os.remove(folder / "counts.json")
    model = api.load(folder)
    np.testing.assert_array_equal(model.encode(["a"], "en"), model.encode(["a"], "en", pool="mean"))
    with pytest.raises(ValueError, match="pool='sif'.*counts.json.*pool='mean'"):
        model.encode(["a"], "en", pool="sif")


def test_words_equal_the_objective(model, by_hand):
    found = model.words("By the BANK!x", lang="en", layer=1)
    assert [word for word, _ in found] == ["by", "the", "bank", "!", "x"]
    pieces = by_hand("by the bank!x", "en")[:, 1]
    np.testing.assert_allclose(found[1][1], pieces[2:5].mean(0), atol=2e-4)
    np.testing.assert_allclose(found[2][1], pieces[5], atol=2e-4)
    assert len(model.words("a b c d e f g h i j k l m n", lang="en")) == 14


@pytest.mark.parametrize("method", ["cosine", None])
def test_neighbours_are_ranked_by_centred_cosine(model, by_hand, method):
    frequent = model.loaded.frequent
    vectors = {
        lang: np.stack([by_hand(word, lang)[:, 1].mean(0) for word in frequent[lang]])
        for lang in frequent
    }
    means = {lang: some.mean(0) for lang, some in vectors.items()}
    query = by_hand("bank", "en")[:, 1].mean(0) - means["en"]

    def cosine(lang, word):
        x = vectors[lang][frequent[lang].index(word)] - means[lang]
        return x @ query / np.linalg.norm(x) / np.linalg.norm(query)

    found = model.neighbours("Bank", lang="en", k=9, layer=1, method=method)
    words = [(lang, word) for lang in frequent for word in frequent[lang] if word != "bank"]
    expected = sorted(words, key=lambda word: -cosine(*word))
    assert [(near.language, near.word) for near in found] == expected
    np.testing.assert_allclose([n.score for n in found], [cosine(*w) for w in expected], atol=1e-4)

    german = model.neighbours("bank", lang="en", k=2, to="de", layer=1, method="cosine")
    assert [(n.language, n.word) for n in german] == [w for w in expected if w[0] == "de"][:2]
    own = model.neighbours("geld", lang="en", to="de", layer=1)
    assert "geld" in [near.word for near in own]  # another language's word of that spelling stays


@pytest.mark.parametrize("method", ["cosine", "csls"])
def test_a_chosen_method_orders_and_scores(model, method):
    """CSLS by its definition; the words of a language are the neighbourhood of both words."""
    word, frequent = "water", model.loaded.frequent["de"]
    everything = {x: model.vectors(x).vectors for x in ("en", "de")}
    keys = everything["de"] - everything["de"].mean(0)
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    query = model.vector(word, "en") - everything["en"].mean(0)
    cosines = keys @ query / np.linalg.norm(query)
    expected = cosines
    if method == "csls":
        expected = 2 * cosines - (keys @ keys.T).mean(1) - cosines.mean()
        assert np.argsort(-expected).tolist() != np.argsort(-cosines).tolist()
    found = model.translate(word, "en", "de", k=4, method=method)
    assert [near.word for near in found] == [frequent[row] for row in np.argsort(-expected)]
    np.testing.assert_allclose([x.score for x in found], np.sort(expected)[::-1], atol=1e-5)
    assert model.translate(word, "en", "de", k=1, method=method) == found[:1]
    everywhere = model.neighbours(word, "en", k=9, method=method)
    assert [(x.word, x.score) for x in everywhere if x.language == "de"] == found
    assert [x.score for x in everywhere] == sorted((x.score for x in everywhere), reverse=True)


def test_texts_may_come_from_a_generator(model):
    texts = ["The bank", "money, by the"]
    expected = model.encode(texts, lang="de")
    np.testing.assert_array_equal(model.encode((x for x in texts), lang="de"), expected)
    mined = model.mine((x for x in texts), "en", iter(texts), "de", least=0)
    assert {(i, j) for i, j, _ in mined} <= {(0, 0), (0, 1), (1, 0), (1, 1)} and mined


def test_normalized_vectors_have_length_one(model):
    texts = ["The bank", "money, by the"]
    plain, scaled = (model.encode(texts, lang="de", normalize=x) for x in (False, True))
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(scaled * np.linalg.norm(plain, axis=1)[:, None], plain, rtol=1e-4)
    for pieces in model.encode(texts, lang="de", pool=None, normalize=True):
        np.testing.assert_allclose(np.linalg.norm(pieces, axis=1), 1, atol=1e-6)


def test_a_model_is_one_line_and_can_be_pickled(model):
    assert repr(model) == "Model(LanguageModel(en, de))"
    near = model.neighbours("bank", lang="en")  # what was computed is left out
    again = ForkingPickler.loads(ForkingPickler.dumps(model))
    assert again.neighbours("bank", lang="en") == near and not model.loaded.texts
    np.testing.assert_array_equal(again.encode(["bank"], "en"), model.encode(["bank"], "en"))
    two = api.Model(PairModels({"en": model.loaded, "de": model.loaded}))
    pair = ForkingPickler.loads(ForkingPickler.dumps(two))
    assert repr(pair) == "Model(PairModels(en, de))" and pair.neighbours("bank", lang="en")


def test_similarity(model):
    a, b = model.encode(["the bank"], "en")[0], model.encode(["ufer"], "de")[0]
    expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert model.similarity("the bank", "ufer", "en", "de") == pytest.approx(expected, abs=1e-5)
    assert model.similarity("the bank", "the bank", "en") == pytest.approx(1)


def test_a_model_in_memory_is_the_one_that_was_saved(run, model):
    _, tokenizer, objective, variables = run
    parts = (model.loaded.config, tokenizer, objective, variables, model.loaded.frequent)
    same = api.Model(LanguageModel(*parts))
    found = same.encode(["bank"], "en")
    np.testing.assert_array_equal(found, model.encode(["bank"], "en", pool="mean"))


def test_bad_questions(model):
    with pytest.raises(ValueError, match="'dee'.*Known: de"):
        model.encode(["a"], lang="dee")
    with pytest.raises(ValueError, match="'fr'.*de, en"):
        model.neighbours("bank", lang="en", to="fr")
    with pytest.raises(ValueError, match="layer=3: .* 0 .* to 2"):
        model.encode(["a"], lang="de", layer=3)
    with pytest.raises(ValueError, match="write \\[text\\]"):
        model.encode("a", lang="de")
    with pytest.raises(ValueError, match="pool='max'"):
        model.encode(["a"], lang="de", pool="max")
    with pytest.raises(ValueError, match="holds no word"):
        model.neighbours("  ", lang="de")
    with pytest.raises(ValueError, match="Did you mean 'csls'"):
        model.neighbours("bank", lang="en", method="cls")
    with pytest.raises(ValueError, match="layer='all': .*'mean_last4'"):
        model.neighbours("bank", lang="en", layer="all")


def test_words_and_their_vectors_without_context(model, by_hand):
    found = model.vectors(lang="de", layer=1)
    assert list(found.words) == list(model.loaded.frequent["de"])
    np.testing.assert_allclose(found.vectors[1], by_hand("fluss", "de")[:, 1].mean(0), atol=2e-4)
    np.testing.assert_allclose(
        model.vector("Fluss", lang="de", layer=1), found.vectors[1], atol=2e-4
    )
    near = model.neighbours("bank", lang="en", to="de", k=2, method="csls")
    assert [tuple(x) for x in model.translate("bank", lang="en", to="de", k=2)] == [
        (x.word, x.score) for x in near
    ]


def test_a_word_that_the_model_does_not_know_is_flagged(model, caplog):
    assert model.knows("Bank", lang="en") and not model.knows("bankk", lang="en")
    assert model.knows("the bank", lang="en") is False  # 'the' is made of letters here
    with caplog.at_level("WARNING"):
        model.neighbours("bank", lang="en", k=1)
        assert not caplog.messages
        model.neighbours("bankk", lang="en", k=1)
    assert "'bankk'" in caplog.text
    assert "the pieces bank ##k" in caplog.text and "Did you mean 'bank'?" in caplog.text


def test_a_run_without_words_still_encodes(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run[0], folder)
    os.remove(folder / "words.json")
    model = api.load(folder, step=0)
    np.testing.assert_array_equal(model.encode(["a"], "en"), model.encode(["a"], "en", pool="mean"))
    with pytest.raises(ValueError, match="words.json"):
        model.neighbours("bank", lang="en")


def test_folders_that_are_no_run(run, tmp_path):
    with pytest.raises(FileNotFoundError, match="no config.json.*clwe-jax --config="):
        api.load(tmp_path)
    folder = tmp_path / "run"
    shutil.copytree(run[0], folder)
    with pytest.raises(FileNotFoundError, match="of step 5.*\\[0, 7\\]"):
        api.load(folder, step=5)
    shutil.move(folder / "checkpoints", tmp_path / "away")
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        api.load(folder)
    shutil.move(folder / "vocab", tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match="not a saved tokenizer"):
        api.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match="config.json is damaged"):
        api.load(folder)


def test_another_vocabulary_or_model_is_refused(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run[0], folder)
    other = WordPieceVocabulary([*run[1].vocabulary.pieces[:-2], "ufer", "fluss"])
    other.save(str(folder / "vocab"))
    with pytest.raises(checkpoint.Mismatch, match="another vocabulary"):
        api.load(folder)
    run[1].save(str(folder / "vocab"))
    config = json.loads((folder / "config.json").read_text())
    config["model"]["width"] = 8
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(checkpoint.Mismatch, match="another model"):
        api.load(folder)


def test_tensorflow_is_not_imported(run, run_python):
    code = (
        "import sys; from clwe_jax import api\n"
        f"model = api.load({str(run[0])!r})\n"
        "print(model.encode(['the bank'], lang='en').shape)\n"
        "assert not {'tensorflow', 'seqio'} & set(sys.modules)"
    )
    assert "(1, 16)" in run_python("-c", code).stdout
