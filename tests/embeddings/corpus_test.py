"""Corpora: words as the text room cuts them, equal sizes, seeded order, replaced words."""

import collections

from absl import logging as absl_logging
import numpy as np
import pytest

from clwe_jax.embeddings import corpus as corpora, joint_replace
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax import pocket
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

TEXT = {
    "en": "The cat, the dog.\n\nA house\u00a0here  now\nThe end\n",
    "de": "Die Katze schläft.\nDer Hund bellt laut im Garten heute Nacht.\n",
    "zh": "我家有猫。\n猫睡觉\n",
}
LEXICONS = {"zh": ["我家", "睡觉"]}


@pytest.fixture
def folder(tmp_path):
    for language, text in TEXT.items():
        (tmp_path / f"{language}.txt").write_text(text, encoding="utf-8")
    return str(tmp_path)


def read(folder, languages=("en", "de", "zh")) -> Corpus:
    return corpora.read(TextCorpus(folder, languages), Normalizer(), Segmenter(LEXICONS))


def numbered(texts) -> Corpus:
    """A corpus of sentences of words between spaces, by language."""
    index = {}
    ids, splits = {}, {}
    for language, sentences in texts.items():
        words = [sentence.split() for sentence in sentences]
        ids[language] = np.array(
            [index.setdefault(word, len(index)) for sentence in words for word in sentence],
            np.int32,
        )
        splits[language] = np.cumsum([0] + [len(sentence) for sentence in words])
    return Corpus(list(index), ids, splits)


def lines(corpus, language) -> list[list[str]]:
    return list(corpus.only(language).sentences(seed=None))


def test_windows_line_ends_are_counted_and_reported(folder, tmp_path):
    assert read(folder).mended == {}
    (tmp_path / "en.txt").write_bytes(b"a cat\r\na dog\r\n")
    corpus = read(folder)
    assert lines(corpus, "en") == [["a", "cat"], ["a", "dog"]]
    sampled = corpus.sample()
    assert sampled.mended == corpus.mended == {"lines in en with Windows line ends": 2}


def test_words_are_those_of_the_text_room(folder):
    corpus, segmenter, normalizer = read(folder), Segmenter(LEXICONS), Normalizer()
    for language, text in TEXT.items():
        wanted = [segmenter.words(normalizer(x, language), language) for x in text.split("\n")]
        assert lines(corpus, language) == [words for words in wanted if words]
    assert lines(corpus, "zh") == [["我家", "有", "猫", "。"], ["猫", "睡觉"]]
    assert lines(corpus, "en")[1] == ["a", "house", "here", "now"]


def test_the_embedded_world_is_read_alike(tmp_path):
    pocket.write_corpus(str(tmp_path), ("en", "ja"), 200, 0)
    text = TextCorpus(str(tmp_path), ("en", "ja"))
    segmenter = Segmenter({"ja": [word for _, word in pocket.dictionary("en", "ja")]})
    corpus = corpora.read(text, Normalizer(), segmenter)
    for language in text.languages:
        counted, _ = text.count_words(
            language, lambda x: segmenter.words(Normalizer()(x, language), language)
        )
        assert corpus.counts(language) == dict(counted)
        assert corpus.size(language) == sum(counted.values()) > 1_000


def test_counts_are_by_frequency(folder):
    corpus = read(folder)
    counts = corpus.counts("en")
    assert counts == collections.Counter(word for line in lines(corpus, "en") for word in line)
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert next(iter(counts)) == "the" and "katze" not in counts


def test_long_lines_become_several_sentences(tmp_path):
    (tmp_path / "en.txt").write_text("a b c " * 1_000 + "\nend\n", encoding="utf-8")
    found = lines(read(str(tmp_path), ["en"]), "en")
    assert [len(sentence) for sentence in found] == [1_000, 1_000, 1_000, 1]
    assert sum(found, []) == ["a", "b", "c"] * 1_000 + ["end"]


def big(seed=0) -> Corpus:
    random = np.random.default_rng(seed)
    sentences = {
        language: [
            " ".join(f"{language}{i}" for i in random.integers(50, size=random.integers(1, 12)))
            for _ in range(count)
        ]
        for language, count in (("a", 300), ("b", 900), ("c", 600))
    }
    return numbered(sentences)


def test_every_language_is_as_small_as_the_smallest_to_a_sentence(caplog):
    corpus = big()
    logger = absl_logging.get_absl_logger()
    logger.addHandler(caplog.handler)
    equal = corpus.sample(seed=3)
    logger.removeHandler(caplog.handler)
    warned = {x.getMessage() for x in caplog.records if x.levelname == "WARNING"}
    halved = {x for x in "abc" if 2 * equal.size(x) <= corpus.size(x)}
    assert halved and {line[0] for line in warned} == halved
    assert all("config.static.temperature=1 uses all text" in line for line in warned)
    assert lines(equal, "a") == lines(corpus, "a")
    for language in "bc":
        assert corpus.size("a") - 12 < equal.size(language) <= corpus.size("a")
        # Whole sentences in their order, and not just the first ones.
        rest = iter(lines(corpus, language))
        assert all(sentence in rest for sentence in lines(equal, language))
        assert lines(equal, language) != lines(corpus, language)[: len(lines(equal, language))]
    again, other = corpus.sample(seed=3), corpus.sample(seed=4)
    np.testing.assert_array_equal(again.ids["b"], equal.ids["b"])
    assert lines(other, "b") != lines(equal, "b")


def test_a_temperature_keeps_the_total_and_repeats_the_small():
    corpus = big()
    total = sum(corpus.size(x) for x in "abc")
    same = corpus.sample(temperature=1.0)
    assert all(lines(same, x) == lines(corpus, x) for x in "abc")
    flat = corpus.sample(temperature=1e9)
    for language in "abc":
        assert total / 3 - 12 < flat.size(language) <= total / 3 + 1
    copies = total // 3 // corpus.size("a")
    assert copies >= 1
    repeated = lines(flat, "a")
    assert repeated[: copies * len(lines(corpus, "a"))] == copies * lines(corpus, "a")
    between = corpus.sample(temperature=5.0)
    assert corpus.size("a") < between.size("a") < flat.size("a")
    assert sum(between.size(x) for x in "abc") > total - 36
    assert list(between.sentences(seed=None)) == [s for x in "abc" for s in lines(between, x)]


def test_between_0_and_1_the_larger_languages_lose_a_part_and_nothing_is_repeated():
    corpus = big()
    smallest = corpus.size("a")
    half = corpus.sample(temperature=0.5)
    assert lines(half, "a") == lines(corpus, "a")
    for language in "bc":
        expected = (smallest * corpus.size(language)) ** 0.5
        assert expected - 12 < half.size(language) <= expected + 1


@pytest.mark.parametrize("longer", ["w " * 32, "w " * 5])
def test_every_language_keeps_a_sentence(longer):
    """Beside a language of four words: 40 words of which one sentence is longer, or all are."""
    shorter = ["w w", "x", "y z", "w y x"] if len(longer) > 20 else []
    corpus = numbered({"small": ["a b c d"], "large": [longer] * (1 if shorter else 8) + shorter})
    for seed in range(8):
        kept = lines(corpus.sample(seed=seed), "large")
        assert 0 < sum(map(len, kept)) <= (4 if shorter else 5)


def test_sentences_are_all_there_in_a_seeded_order():
    corpus = big()
    every = [sentence for language in "abc" for sentence in lines(corpus, language)]
    sentences = corpus.sentences(seed=1)
    assert list(corpus.sentences(seed=None)) == every
    found = list(sentences)
    assert found == list(sentences) == list(corpus.sentences(seed=1))  # every epoch the same
    assert found != every and found != list(corpus.sentences(seed=2))
    assert sorted(found) == sorted(every)
    assert len(sentences) == len(every) and sentences.size == sum(map(len, every))
    # Mixed: in every fifth of the order each language has about its share.
    firsts = [sentence[0][0] for sentence in found]
    for start in range(0, 1_800, 360):
        assert 120 < firsts[start : start + 360].count("b") < 240


def dictionary() -> Dictionary:
    return Dictionary.from_pairs(
        {
            ("en", "de"): [("cat", "katze"), ("dog", "hund"), ("dog", "köter"), ("new", "neu da")],
            ("en", "fr"): [("dog", "chien"), ("cat", "chat")],
        },
        languages=["en", "de", "fr"],
    )


def test_joint_replace_draws_languages_and_translations():
    corpus = numbered(
        {"en": ["cat dog new the"] * 4_000, "de": ["hund der"] * 10, "fr": ["chien le"] * 10}
    )
    replaced = joint_replace.joint_replace(corpus, dictionary(), rate=0.6, seed=0)
    counts = replaced.counts("en")
    assert counts["the"] == counts["new"] == 4_000  # nothing of one word to replace them by
    assert "neu da" not in replaced.words
    # Half a language, then half a translation; 5 standard deviations.
    wanted = {
        "cat": 0.4,
        "katze": 0.3,
        "chat": 0.3,
        "dog": 0.4,
        "chien": 0.3,
        "hund": 0.15,
        "köter": 0.15,
    }
    for word, share in wanted.items():
        assert abs(counts[word] / 4_000 - share) < 0.04, word
    assert set(replaced.counts("de")) == {"hund", "der", "dog"}
    assert corpus.counts("en") == {"cat": 4_000, "dog": 4_000, "new": 4_000, "the": 4_000}
    assert [len(x) for x in replaced.sentences(None)] == [len(x) for x in corpus.sentences(None)]


def test_joint_replace_is_seeded_and_has_its_bounds():
    corpus = numbered({"en": ["cat dog a"] * 50, "de": ["hund der katze"] * 50})
    one, same, other = (
        joint_replace.joint_replace(corpus, dictionary(), 0.5, seed) for seed in (0, 0, 1)
    )
    assert list(one.sentences(0)) == list(same.sentences(0)) != list(other.sentences(0))
    none = joint_replace.joint_replace(corpus, dictionary(), 0.0)
    assert list(none.sentences(0)) == list(corpus.sentences(0))
    every = joint_replace.joint_replace(corpus, dictionary(), 1.0)
    assert set(every.counts("en")) == {"katze", "hund", "köter", "a"}
    with pytest.raises(ValueError, match=r"rate=1.5"):
        joint_replace.joint_replace(corpus, dictionary(), 1.5)


def test_a_dictionary_of_other_words_is_shown():
    corpus = numbered({"en": ["CAT DOG"] * 3, "de": ["KATZE HUND"] * 3})
    with pytest.raises(ValueError, match=r"translates 0%.*en has 'CAT', 'DOG'.*'cat', 'dog'"):
        joint_replace.joint_replace(corpus, dictionary(), 0.5)


def test_a_language_without_words_is_named(tmp_path):
    (tmp_path / "en.txt").write_text("words\n", encoding="utf-8")
    (tmp_path / "de.txt").write_text(" \n\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r" de .*de\.txt"):
        read(str(tmp_path), ["en", "de"])


def test_bytes_that_are_not_utf8_separate_words_and_are_logged(tmp_path, caplog):
    (tmp_path / "en.txt").write_bytes(b"one\xfftwo three\n" + b"four\n" * 5)
    assert lines(read(str(tmp_path), ["en"]), "en")[0][0] == "one"
    assert "1 of 6 lines are not UTF-8" in caplog.text
