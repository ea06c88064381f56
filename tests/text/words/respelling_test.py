"""Entries in another script: letters are learned from pairs, and words of the text are found."""

import numpy as np

from clwe_jax.text.words import respelling
from clwe_jax.text.dictionary.merged import Dictionary

# Latin letters of an invented Tatar; q and c have other Latin forms in Cyrillic.
_LETTERS = dict(zip("abdeiklmnorstuqc", "абдеиклмнорстукҗ")) | {"ya": "я"}


def _words(count, seed=0):
    """Words in both scripts, that Latin and Cyrillic letters spell."""
    draw, found = np.random.default_rng(seed), {}
    while len(found) < count:
        parts = draw.choice(list(_LETTERS), draw.integers(4, 7)).tolist()
        found["".join(parts)] = "".join(_LETTERS[part] for part in parts)
    return [pair for pair in found.items() if "ya" not in pair[0].replace("ya", "", 1)]


def _dictionary(words, both):
    """English words that are translated in Latin letters, `both` of them in Cyrillic ones too."""
    pairs = [(f"e{row}", latin) for row, (latin, _) in enumerate(words)]
    pairs += [(f"e{row}", cyrillic) for row, (_, cyrillic) in enumerate(words[:both])]
    return Dictionary.from_pairs({("en", "tt"): pairs})


def _counts(words):
    return {"en": {"e0": 3}, "tt": {cyrillic: 2 for _, cyrillic in words}}


def test_entries_are_spelled_as_the_text():
    words = _words(150)
    before = _dictionary(words, both=70)
    after = respelling.respell_entries(before, _counts(words[70:110]))
    right = [
        after.synonyms(cyrillic, "tt").get("en") == [f"e{row}"]
        for row, (_, cyrillic) in enumerate(words)
        if row >= 70
    ]
    assert np.mean(right[:40]) > 0.95  # in the text
    assert np.mean(right[40:]) > 0.8  # only in the dictionary
    assert set(before.language_words("tt")) <= set(after.language_words("tt"))
    assert after.synonyms(words[5][0], "tt") == before.synonyms(words[5][0], "tt")


def test_words_of_the_text_alone_teach_the_letters():
    words = _words(150)
    after = respelling.respell_entries(_dictionary(words, both=0), _counts(words))
    # No pair has a letter whose Latin form differs.
    like = [cyrillic for latin, cyrillic in words if not set("qc") & set(latin)]
    assert len(like) > 30 and all(after.id(cyrillic, "tt") >= 0 for cyrillic in like)


def test_a_dictionary_in_the_script_of_the_text_stays():
    words = _words(60)
    dictionary = _dictionary(words, both=0)
    assert (
        respelling.respell_entries(dictionary, {"tt": {latin: 2 for latin, _ in words}})
        is dictionary
    )
    few = _dictionary(words[:10], both=10)
    assert respelling.respell_entries(few, _counts(words)) is few
    assert respelling.respell_entries(dictionary, {"en": {"e0": 3}}) is dictionary
