"""Sentence translation retrieval: idf weights and means by definition, and planted translations."""

import math

import numpy as np
import pytest

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate import sentences
from clwe_jax.evaluate.sentences import SentenceTranslation

WORDS = [f"w{i}" for i in range(40)]


def test_idf_counts_sentences_not_words():
    found = sentences.inverse_document_frequencies([["a", "a", "b"], ["a"], ["c"]])
    assert found == {"a": math.log(3 / 2), "b": math.log(3), "c": math.log(3)}


def test_means_are_weighted_and_words_without_a_vector_passed_over():
    x = Vectors(words=["a", "b"], vectors=np.array([[1.0, 0], [0, 1]], np.float32))
    lines = [["a", "b", "b", "x"], ["x"], ["a"]]
    means, share = sentences.weighted_means(lines, x, {"a": 1.0, "b": 2.0})
    assert means.tolist() == [[pytest.approx(0.2), pytest.approx(0.8)], [0, 0], [1, 0]]
    assert share == pytest.approx(4 / 6)


@pytest.fixture
def folder(tmp_path):
    r = np.random.RandomState(0)
    lines = [" ".join(r.choice(WORDS, 6)) for _ in range(50)]
    (tmp_path / "de-en.de").write_text("\n".join(lines) + "\n")
    (tmp_path / "de-en.en").write_text("\n".join(line.upper() for line in lines) + "\n")
    return tmp_path


def split(line, language):
    return line.split()


def space_of(noise):
    r = np.random.RandomState(1)
    x = r.randn(len(WORDS), 12).astype(np.float32)
    y = x + noise * r.randn(*x.shape).astype(np.float32)
    sides = {
        "de": Vectors(words=WORDS, vectors=x),
        "en": Vectors(words=[word.upper() for word in WORDS], vectors=y),
    }
    return lambda a, b: (sides[a], sides[b])


def test_translations_are_found_where_words_are_aligned(folder):
    evaluator = SentenceTranslation(data=str(folder))
    found = dict(evaluator.run(("de", "en"), space_of(0.0), split))
    assert found["sentences/de-en/acc@1"] == found["sentences/en-de/acc@1_csls"] == 1
    assert found["sentences/de-en/coverage"] == 1 and found["sentences/acc@1"] == 1
    noisy = dict(evaluator.run(("de", "en"), space_of(3.0), split))
    assert noisy["sentences/de-en/acc@1"] < 1
    assert (
        noisy["sentences/de-en/acc@1_low"]
        <= noisy["sentences/de-en/acc@1"]
        <= noisy["sentences/de-en/acc@1_high"]
    )


def test_frequent_words_weigh_less(folder):
    # A word in every sentence has an idf of 0: whatever its vector, nothing changes.
    for side, word in (("de", "der"), ("en", "THE")):
        path = folder / f"de-en.{side}"
        path.write_text("".join(f"{word} {line}\n" for line in path.read_text().splitlines()))
    r = np.random.RandomState(2)
    x = r.randn(len(WORDS), 12).astype(np.float32)
    huge = 100 * r.randn(2, 12).astype(np.float32)
    sides = {
        "de": Vectors(words=[*WORDS, "der"], vectors=np.r_[x, huge[:1]]),
        "en": Vectors(words=[*map(str.upper, WORDS), "THE"], vectors=np.r_[x, huge[1:]]),
    }
    evaluator = SentenceTranslation(data=str(folder), max_sentences=0)
    found = dict(evaluator.run(("de", "en"), lambda a, b: (sides[a], sides[b]), split))
    assert found["sentences/de-en/acc@1"] == 1
