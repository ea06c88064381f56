import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph import draws
from clwe_jax.data.graph.encoding import TextEncoder


@pytest.fixture(scope="module")
def encoder(small):
    return TextEncoder(small.tokenizer, small.dictionary)


def test_entries_are_those_of_the_dictionary(small, encoder):
    dictionary = encoder.synonyms.dictionary
    assert dictionary.languages == small.tokenizer.languages
    for number, language in enumerate(small.tokenizer.languages):
        lines = [line for line, _ in zip(small.corpus.lines(language), range(100))]
        found = encoder.encode(tf.constant(lines), tf.fill([len(lines)], number))
        entries = found.entry.numpy()
        words = [word.decode() for word in found.text.numpy()]
        assert entries.tolist() == [dictionary.id(word, language) for word in words]
        assert 0.3 < np.mean(entries >= 0) < 1
        # And their pieces are the tokenizer's.
        expected = small.tokenizer.encode_words(words)[0]
        index = np.repeat(found.start.numpy(), found.size.numpy())
        within = np.concatenate([np.arange(n) for n in found.size.numpy()])
        assert found.pieces.numpy()[index + within].tolist() == expected


def test_a_word_of_another_language_has_no_entry(small, encoder):
    word = next(w for w in small.dictionary.lexicon("ja") if small.dictionary.id(w, "en") < 0)
    found = encoder.encode(tf.constant([word, word]), tf.constant([4, 1]))
    assert found.entry.numpy()[0] >= 0 and found.entry.numpy()[-1] == -1


def test_synonyms_are_drawn_by_language_first(small, encoder):
    synonyms = encoder.synonyms
    dictionary = synonyms.dictionary
    # An entry whose languages have different numbers of words.
    word = next(
        word
        for word in dictionary.lexicon("en")
        if len({len(words) for words in dictionary.synonyms(word, "en").values()}) > 1
        and len(dictionary.synonyms(word, "en")) == 5
    )
    entry = dictionary.id(word, "en")
    count = 60_000
    drawn = synonyms.draw(tf.fill([count], entry), draws.Draws(5, 7))
    expected = {}
    groups = dictionary.synonyms(word, "en")
    for language, words in groups.items():
        for other in words:
            expected[language, other] = count / len(groups) / len(words)
    found = dict.fromkeys(expected, 0)
    for language, number in zip(drawn.language.numpy(), drawn.word.numpy()):
        found[small.tokenizer.languages[language], dictionary.word(int(number))] += 1
    chi_square = sum((found[key] - n) ** 2 / n for key, n in expected.items())
    degrees = len(expected) - 1
    # Five standard deviations above the mean of the chi-square distribution.
    assert chi_square < degrees + 5 * np.sqrt(2 * degrees)
    # A draw uniform over all words together would fail.
    even = count / len(expected)
    assert sum((found[key] - even) ** 2 / even for key in expected) > 20 * degrees


def test_pieces_of_synonyms(small, encoder):
    synonyms, dictionary = encoder.synonyms, encoder.synonyms.dictionary
    entries = np.random.default_rng(0).integers(0, len(dictionary), 500)
    drawn = synonyms.draw(tf.constant(entries, tf.int32), draws.Draws(0, 0))
    pieces = synonyms.pieces.numpy()
    for start, size, number, language in zip(
        drawn.start.numpy(), drawn.size.numpy(), drawn.word.numpy(), drawn.language.numpy()
    ):
        word, name = dictionary.word(int(number)), small.tokenizer.languages[language]
        expected, _ = small.tokenizer.encode(word, name)
        assert pieces[start : start + size].tolist() == expected


def test_streams_differ():
    random = draws.Draws(1, 2)
    first, second = random.uniform(1_000).numpy(), random.uniform(1_000).numpy()
    again = draws.Draws(1, 2).uniform(1_000).numpy()
    others = [draws.Draws(*key).uniform(1_000).numpy() for key in ((1, 3), (2, 2))]
    np.testing.assert_array_equal(first, again)
    for other in (second, *others):
        assert np.mean(first == other) < 0.01


def test_below_stays_below():
    limits = tf.constant([1, 2, 3, 10**9] * 10_000)
    drawn = draws.Draws(0, 0).below(limits).numpy()
    assert (drawn >= 0).all() and (drawn < limits.numpy()).all()
    assert np.bincount(drawn[2::4], minlength=3).min() > 3_000
