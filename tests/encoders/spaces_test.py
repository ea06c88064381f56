"""Static vectors as a folder holds them."""

import json

import numpy as np
import pytest

from clwe_jax.embeddings import ngrams
from clwe_jax.embeddings.packed import Packed
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.protocols import WordSample
from clwe_jax.encoders import spaces
from clwe_jax.encoders.spaces import StaticSpaces

D = 6


def test_vectors_in_float16_become_float32_and_two_languages_are_held(tmp_path):
    random = np.random.default_rng(0)
    raw = {
        x: Vectors([f"{x}{i}" for i in range(9)], random.standard_normal((9, D)).astype(np.float16))
        for x in ("en", "de", "fr")
    }
    StaticSpaces(raw, {}, {}, "en").save(str(tmp_path))
    loaded = spaces.load(tmp_path)
    for language in ("en", "de", "fr", "en"):
        found = loaded.vectors(language)
        assert found.vectors.dtype == np.float32
        np.testing.assert_array_equal(found.vectors, raw[language].vectors)
    assert len(loaded._widened) == 2
    # An encoder takes few rows, which need not wait until all are float32.
    assert (
        loaded.space("de", "en")[0].vectors.dtype
        == loaded.common_vectors("de").vectors.dtype
        == np.float16
    )
    encoder = loaded.encoder().pairwise_space("de", "en")
    space = encoder.vocabulary("de", ["de7", "unseen"], WordSample(max_words=2))
    assert space.words == ["de0", "de1", "de7"] and space.frequent_count == 2
    assert space.vectors.dtype == np.float32
    np.testing.assert_array_equal(space.vectors[:, 0], raw["de"].vectors[[0, 1, 7]])
    near = loaded.neighbours("de3", lang="de", to="en", k=9, method="cosine")
    x, y = (np.float32(raw[language].vectors) for language in ("de", "en"))
    cosines = y @ x[3] / np.linalg.norm(y, axis=1) / np.linalg.norm(x[3])
    assert [z.word for z in near] == [raw["en"].words[i] for i in np.argsort(-cosines)]
    np.testing.assert_allclose([z.score for z in near], sorted(cosines)[::-1], atol=1e-5)


def test_single_words_are_compared_by_their_contexts_and_sentences_by_guesses_too():
    # Three dimensions of a dictionary, three trained ones. "tor" has no entry: its spelling says "tour".
    guess, tour, gate = [0.7, 0, 0, 0.6, 0, 0], [1, 0, 0, 0, 0.6, 0], [0, 0.7, 0, 0.6, 0.1, 0]
    raw = {
        "de": Vectors(["tor"], np.array([guess], np.float16)),
        "en": Vectors(["tour", "gate"], np.array([tour, gate], np.float16)),
    }
    regression = ngrams.Regression(["tour"], np.zeros((1, 3), np.float32))
    found = {}
    for compared in (0.25, 1.0):
        spelling = ngrams.Spelling(
            ngrams.Ngrams.of(["tour"]), {"en": regression}, 0.7, 0, 0.0, D, 0, compared
        )
        model = StaticSpaces(raw, {}, {}, "en", spelling=spelling)
        near = model.neighbours("tor", lang="de", to="en", k=2)
        found[compared] = [x.word for x in near]
        x, y = (spelling.as_words(np.float32(raw[language].vectors)) for language in ("de", "en"))
        cosines = (y @ x[0]) / np.linalg.norm(y, axis=1) / np.linalg.norm(x[0])
        np.testing.assert_allclose([x.score for x in near], sorted(cosines)[::-1], atol=1e-5)
        encoder = model.encoder().pairwise_space("de", "en")
        [word] = spelling.as_words(np.float32(raw["de"].vectors))
        for vectors in (
            encoder.vocabulary("de").vectors[0],
            model.word_space("de", "en", max_words=1)[0].vectors,
        ):
            np.testing.assert_array_equal(vectors[0], word)
        packed = Packed.of(raw["en"].vectors)
        np.testing.assert_array_equal(
            model.as_words(packed), spelling.as_words(np.asarray(packed, np.float32))
        )
        one, other = model.word_space("en", "en")
        np.testing.assert_array_equal(one.vectors, other.vectors)
        np.testing.assert_array_equal(one.vectors, y)
        np.testing.assert_array_equal(
            encoder.sentences(["tor"], "de")[0, 0], raw["de"].vectors[0].astype(np.float32)
        )
    assert found == {0.25: ["gate", "tour"], 1.0: ["tour", "gate"]}


@pytest.mark.parametrize("method", ["cosine", "csls"])
def test_a_language_without_vectors_is_left_out(method):
    raw = {
        "de": Vectors(["haus", "hund"], np.eye(2, D, dtype=np.float32)),
        "en": Vectors(["house"], np.eye(1, D, dtype=np.float32)),
        "eu": Vectors([], np.zeros((0, D), np.float32)),
    }
    model = StaticSpaces(raw, {}, {}, "en")
    near = model.neighbours("haus", lang="de", k=5, method=method)
    assert {x.word for x in near} == {"house", "hund"}
    assert model.neighbours("haus", lang="de", to="eu", method=method) == []


@pytest.mark.parametrize("method", ["csls", "cosine"])
def test_punctuation_is_no_neighbour_of_a_word(method):
    raw = {
        "en": Vectors(["yes", "no"], np.eye(2, dtype=np.float32)),
        "de": Vectors(["!", "ja", "«", "nein"], np.float32([[1, 0], [0.9, 0.1], [1, 0.1], [0, 1]])),
    }
    model = StaticSpaces(raw, {}, {}, "en")
    assert [x.word for x in model.neighbours("yes", "en", 2, "de", method=method)] == ["ja", "nein"]
    assert model.neighbours("!", "de", 1, "de", method=method)[0].word == "«"


def test_text_is_cut_as_the_encoder_cuts_it():
    words = ["東京", "へ", "行く"]
    loaded = StaticSpaces({"ja": Vectors(words, np.eye(3, dtype=np.float32))}, {}, {}, "ja")
    assert loaded.segmenter("ja").words("東京へ行く", "ja") == words
    assert loaded.encoder().words("東京へ行く", "ja") == words and loaded.tokenizer is None


@pytest.mark.parametrize("wrong", ["{", "[]", {"hub": "en"}, {"languages": 3}, {"shared": []}])
def test_a_damaged_description_is_named(tmp_path, wrong):
    whole = {
        "hub": "en",
        "languages": [],
        "aligned": [],
        "shared": {},
        "lower_case": True,
        "simplify_chinese": True,
    }
    if isinstance(wrong, dict):
        wrong = json.dumps(wrong if "hub" in wrong else whole | wrong)
    (tmp_path / "spaces.json").write_text(wrong)
    with pytest.raises(ValueError, match="spaces.json is damaged.*run again"):
        spaces.load(tmp_path)
