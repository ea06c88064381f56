"""Words of similar spelling, for messages."""

from clwe_jax.text.words.similar_words import did_you_mean, near_words


def test_near_words_fold_accents_first():
    words = ["cita", "città", "cittadino", "Zürich", "città."]
    assert near_words("citta", words)[0] == "città"
    assert near_words("zurich", words) == ["Zürich"]
    assert near_words("xyz", words) == [] and "citta" not in near_words("citta", ["citta"])


def test_a_message_ends_with_the_words():
    assert did_you_mean([]) == "" and did_you_mean(["a", "b"]) == " Did you mean 'a', 'b'?"
