"""Static vectors as an encoder: weights and means by definition, and planted translations."""

import dataclasses
import math

import numpy as np
import pytest

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.protocols import HasCoverage, Encoder, WordSample
from clwe_jax.encoders import static as static_encoder
from clwe_jax.encoders.static import SpellingCache, StaticEncoder
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.retrieval import SentenceRetrieval
from clwe_jax.text.corpus.frequencies import Frequencies

WORDS = [f"w{i}" for i in range(40)]


def test_means_are_weighted_and_words_without_a_vector_passed_over():
    x = Vectors(words=["a", "b"], vectors=np.array([[1.0, 0], [0, 1]], np.float32))
    lines = [["a", "b", "b", "x"], ["x"], ["a"]]
    means = static_encoder.weighted_means(lines, x, {"a": 1.0, "b": 2.0})
    assert means.tolist() == [[pytest.approx(0.2), pytest.approx(0.8)], [0, 0], [1, 0]]
    # Where no word weighs anything, all weigh the same.
    means = static_encoder.weighted_means(lines, x, {"a": 0.0, "b": 0.0})
    assert means[0].tolist() == [pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_the_protocol():
    vectors = np.array([[1.0, 0], [0, 1]], np.float32)
    model = encoder({"de": Vectors(["a", "b"], vectors), "en": Vectors(["A", "B"], -vectors)})
    assert isinstance(model, Encoder) and isinstance(model, HasCoverage)
    assert model.languages == ("de", "en") and model.words("a x", "de") == ["a", "x"]
    [(words, found)] = model.in_context(["a x b"], "de")
    assert words == ["a", "x", "b"] and found.shape == (3, 1, 2)
    np.testing.assert_array_equal(found[:, 0], [[1, 0], [0, 0], [0, 1]])
    assert model.coverage(["a x b a", "x x"], "de") == 3 / 6
    space = model.vocabulary("en")
    assert (
        space.words == ["A", "B"] and space.frequent_count == 2 and space.index == {"A": 0, "B": 1}
    )
    np.testing.assert_array_equal(space.vectors[:, 0], -vectors)
    limited, every = (model.vocabulary("en", (), WordSample(max_words=x)) for x in (1, None))
    assert limited.words == ["A"] and limited.frequent_count == 1 and every.frequent_count == 2
    none = model.vocabulary("en", ["B", "x"], WordSample(max_words=0))
    assert none.words == ["B"] and none.frequent_count == 0
    assert model.vocabulary("en", ["B", "A"], WordSample(max_words=1)).words == ["A", "B"]
    assert model.sentences(["a", "b b a", ""], "de").shape == (3, 1, 2)
    np.testing.assert_array_equal(model.sentences(["a"], "de")[0, 0], [1, 0])


def test_words_with_a_vector_by_their_spelling_have_it_in_text_and_not_in_labelled_rows():
    def spelled(words, language):
        """Of words that begin with s."""
        return np.array([[0, 0, 2.0 * word.startswith("s")] for word in words], np.float32)

    found = Vectors(["a", "b"], np.eye(2, 3, dtype=np.float32))
    model = dataclasses.replace(encoder({"de": found}), spell_words=spelled)
    expected = [[1, 0, 0], [0, 0, 2], [0, 0, 0]]
    [(_, alone)] = model.in_context(["a sx !"], "de")
    [rows] = model.of_words([["a", "sx", "!"]], "de")
    np.testing.assert_array_equal(alone[:, 0], expected)
    np.testing.assert_array_equal(rows[:, 0], [[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(model.sentences(["a sx !"], "de")[0, 0], [0.5, 0, 1])
    assert model.coverage(["a sx !", "!"], "de") == 2 / 4
    # A word of a labelled row that text is cut in has the mean of its parts.
    [[part]] = model.of_words([["b a sx !"]], "de")
    np.testing.assert_array_equal(part[0], [0.5, 0.5, 0])
    [(_, none)] = model.in_context(["!"], "de")
    np.testing.assert_array_equal(none, np.zeros((1, 1, 3)))


def test_words_by_their_spelling_are_made_once_for_two_nearly_equal_texts():
    made = []

    def make(words, language):
        made.append((language, *words))
        return np.array([[len(word)] for word in words], np.float32)

    spelled = SpellingCache(make)
    for words in (["a", "bb"], ["bb", "a"], ["ccc", "bb"], ["a"]):
        np.testing.assert_array_equal(spelled(words, "de")[:, 0], [len(word) for word in words])
    assert spelled(["a"], "en") == [[1]]
    # Those of the texts before the last one are not kept.
    assert made == [("de", "a", "bb"), ("de", "ccc"), ("de", "a"), ("en", "a")]


def test_two_languages_are_compared_where_their_aligner_does():
    class Spaces:
        languages = ("de", "en")

        def common_vectors(self, language):
            return Vectors(["w"], np.ones((1, 2), np.float32))

        def space(self, source, target):
            own = {"de": np.full((1, 2), 2.0), "en": np.full((1, 2), 3.0)}
            return Vectors(["w"], own[source]), Vectors(["w"], own[target])

    model = StaticEncoder(Spaces(), split)
    view = model.pairwise_space("en", "de")
    assert view.languages == ("en", "de") and view.vocabulary("de").vectors[0, 0, 0] == 2
    assert view.sentences(["w"], "en")[0, 0, 0] == 3 and model.sentences(["w"], "en")[0, 0, 0] == 1


@pytest.fixture
def folder(tmp_path):
    r = np.random.RandomState(0)
    lines = [" ".join(r.choice(WORDS, 6)) for _ in range(50)]
    (tmp_path / "de-en.de").write_text("\n".join(lines) + "\n")
    (tmp_path / "de-en.en").write_text("\n".join(line.upper() for line in lines) + "\n")
    return tmp_path


def split(line, language):
    return line.split()


def encoder(sides):
    class Spaces:
        languages = tuple(sides)
        common_vectors = sides.__getitem__

        def space(self, source, target):
            return sides[source], sides[target]

    return StaticEncoder(Spaces(), split)


def retrieval(folder, **options):
    return SentenceRetrieval(data=str(folder), context=Context(languages=("de", "en")), **options)


def noisy_encoder(noise):
    r = np.random.RandomState(1)
    x = r.randn(len(WORDS), 12).astype(np.float32)
    y = x + noise * r.randn(*x.shape).astype(np.float32)
    return encoder(
        {
            "de": Vectors(words=WORDS, vectors=x),
            "en": Vectors(words=[word.upper() for word in WORDS], vectors=y),
        }
    )


def test_translations_are_found_where_words_are_aligned(folder):
    evaluator = retrieval(folder)
    found = dict(evaluator.run(noisy_encoder(0.0)))
    assert found["retrieval/de-en/mean"] == found["retrieval/en-de/mean_csls"] == 1
    assert found["retrieval/de-en/coverage"] == 1 and found["retrieval/mean"] == 1
    noisy = dict(evaluator.run(noisy_encoder(3.0)))
    assert noisy["retrieval/de-en/mean"] < 1
    assert (
        noisy["retrieval/de-en/mean_low"]
        <= noisy["retrieval/de-en/mean"]
        <= noisy["retrieval/de-en/mean_high"]
    )


def test_words_weigh_their_information():
    vectors = Vectors(words=["a", "b"], vectors=np.eye(2, dtype=np.float32))
    counts = Frequencies({"de": 100}, {"de": {"a": 50}})
    model = dataclasses.replace(encoder({"de": vectors}), frequencies=counts)
    lines = ["a b", "a a", "", "b unknown"]
    weight = (math.log(2) / math.log(100)) ** 1.5
    expected = np.array([[weight, 1], [1, 0], [0, 0], [0, 1]])
    expected[0] /= 1 + weight
    np.testing.assert_allclose(model.sentences(lines, "de")[:, 0], expected, rtol=1e-5)
    # Without counts all words weigh the same.
    unweighted = encoder({"de": vectors}).sentences(lines, "de")
    np.testing.assert_allclose(unweighted[0, 0], [0.5, 0.5])


def test_frequent_words_weigh_less(folder):
    # A word that is nearly the whole text weighs nearly nothing, whatever its vector.
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
    counts = Frequencies(
        dict.fromkeys(sides, 1_000_000), {"de": {"der": 999_999}, "en": {"THE": 999_999}}
    )
    weighted = dataclasses.replace(encoder(sides), frequencies=counts)
    found = dict(retrieval(folder, max_sentences=0).run(weighted))
    assert found["retrieval/de-en/mean"] == 1


def test_a_word_without_a_vector_is_in_small_letters_or_cut_at_its_marks():
    index = {"don", "t", "п'ять", "Berlin", "house"}
    for word, parts in [
        ("don't", ["don", "'", "t"]),
        ("Don't", ["don", "'", "t"]),
        ("п'ять", ["п'ять"]),
        ("П'ЯТЬ", ["п'ять"]),
        ("Berlin", ["Berlin"]),
        ("House", ["house"]),
        ("o'Clock", ["o'clock"]),
        ("'", ["'"]),
    ]:
        assert static_encoder.known_parts(word, index) == parts
