"""Words as character ids, against bilm-tf's encoding."""

import numpy as np
import pytest

from clwe_jax.text.vocab import spelling
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary

WORDS = ["a", "bank", "straße", "银行", "🙂", "", "x" * 47, "x" * 48, "x" * 49, "é" * 24, "é" * 25]


def bilm_tf(word, size=50):
    """UnicodeCharsVocabulary._convert_word_to_char_ids."""
    code = np.zeros([size], dtype=np.int32)
    code[:] = 260
    encoded = word.encode("utf-8", "ignore")[: (size - 2)]
    code[0] = 258
    k = 0
    for k, chr_id in enumerate(encoded, start=1):
        code[k] = chr_id
    code[k + 1] = 259
    return code


@pytest.mark.parametrize("frame", [5, 50])
def test_words_are_spelt_as_in_bilm_tf(frame):
    spelt = spelling.spell_all([word.encode() for word in WORDS * 3], frame)
    np.testing.assert_array_equal(spelt, [bilm_tf(word, frame) for word in WORDS * 3])
    assert spelling.spell_all([], frame).shape == (0, frame)


def test_a_very_long_word_is_cut():
    word = "ab" * 5_000
    np.testing.assert_array_equal(spelling.spell_all([word.encode()]), [bilm_tf("ab" * 24)])


def test_the_vocabulary_with_its_special_entries(monkeypatch):
    monkeypatch.setattr(spelling, "_AT_ONCE", 3)  # several parts
    vocabulary = WordVocabulary([*SPECIALS, *[word for word in WORDS if word]])
    table = spelling.spell_vocabulary(vocabulary)
    assert spelling.spell_vocabulary(vocabulary) is table and not table.flags.writeable
    assert table.shape == (len(vocabulary), 50) and table.max() < 261
    # bilm-tf's bos_chars and eos_chars; the rest is padding.
    assert table[0, :4].tolist() == [258, 256, 259, 260] and set(table[0, 3:]) == {260}
    assert table[1, :4].tolist() == [258, 257, 259, 260] and set(table[1, 3:]) == {260}
    assert set(table[vocabulary.pad_id]) == {260}
    np.testing.assert_array_equal(table[2], bilm_tf("<UNK>"))
    for number, word in enumerate(vocabulary.pieces):
        if number > 4:
            np.testing.assert_array_equal(table[number], bilm_tf(word))


def test_a_frame_too_small():
    with pytest.raises(ValueError, match="max_chars=2"):
        spelling.spell_all([b"a"], 2)
