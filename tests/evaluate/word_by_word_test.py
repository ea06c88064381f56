"""Translation word by word, beside CSLS by hand."""

import dataclasses

import numpy as np
import pytest

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.evaluate.bleu import Bleu
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.word_by_word import word_by_word


@dataclasses.dataclass
class Spaces:
    found: dict[str, Vectors]

    @property
    def languages(self):
        return tuple(self.found)

    def common_vectors(self, language):
        return self.found[language]

    def space(self, source, target):
        return self.found[source], self.found[target]


def encoder(found):
    return StaticEncoder(Spaces(found), lambda text, language: text.lower().split())


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_each_word_becomes_the_nearest_by_csls():
    draw = np.random.default_rng(0)
    en, de = draw.standard_normal((2, 40, 6)).astype(np.float32)
    english, german = [f"e{i}" for i in range(40)], [f"d{i}" for i in range(40)]
    made = encoder({"en": Vectors(english, en), "de": Vectors(german, de)})
    # The mean cosine with the 10 nearest vectors of the other side is subtracted.
    cosines = unit(en) @ unit(de).T
    scores = 2 * cosines - np.sort(cosines, axis=0)[-10:].mean(0)
    expected = [german[i] for i in scores.argmax(1)]
    assert expected != [german[i] for i in cosines.argmax(1)]
    texts = [" ".join(english[:20]), "", "E20 unknown " + " ".join(english[21:])]
    assert word_by_word(made, texts, "en", "de") == [
        " ".join(expected[:20]),
        "",
        " ".join([expected[20], "unknown", *expected[21:]]),
    ]


def test_words_without_vectors_stay():
    none = Vectors([], np.zeros((0, 2), np.float32))
    one = Vectors(["a"], np.ones((1, 2), np.float32))
    assert word_by_word(encoder({"en": one, "de": none}), ["a b"], "en", "de") == ["a b"]
    assert word_by_word(encoder({"en": none, "de": one}), ["a b"], "en", "de") == ["a b"]


def test_bleu_of_static_vectors(tmp_path):
    (tmp_path / "en-de.tsv").write_text("one two three four\teins zwei drei vier\n")
    vectors = np.eye(4, dtype=np.float32)
    found = {
        "en": Vectors(["one", "two", "three", "four"], vectors),
        "de": Vectors(["eins", "zwei", "drei", "vier"], vectors),
    }
    made = Bleu(context=Context(languages=("en", "de")), data=str(tmp_path))
    figures = dict(made.run(encoder(found)))
    assert figures["bleu/en-de"] == figures["bleu/de-en"] == pytest.approx(100)
    assert made.examples[0]["translation"] == "eins zwei drei vier"
