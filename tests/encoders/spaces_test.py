"""Static vectors as a folder holds them."""

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
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
    assert loaded.space("de", "de")[0].vectors.dtype == np.float32
    assert len(loaded._widened) == 2
    [near] = loaded.neighbours("de3", lang="de", to="en", k=1, method="csls")
    similar = np.asarray(loaded.vectors("en").vectors) @ loaded.vectors("de").vectors[3]
    assert near.language == "en" and near.word in raw["en"].words and similar.shape == (9,)


def test_text_is_cut_as_the_encoder_cuts_it():
    words = ["東京", "へ", "行く"]
    loaded = StaticSpaces({"ja": Vectors(words, np.eye(3, dtype=np.float32))}, {}, {}, "ja")
    assert loaded.segmenter("ja").words("東京へ行く", "ja") == words
    assert loaded.encoder().words("東京へ行く", "ja") == words and loaded.tokenizer is None
