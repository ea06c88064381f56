"""The way back from keys to what people write."""

import numpy as np
import pytest

from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.spellings import Tally, merge, written_words
from clwe_jax.text.words.words import Segmenter

TEXTS = [
    ("uk", "«П’ять», сказав 'він'", "« п’ять » , сказав ' він '"),
    ("th", "น้ำแข็งทำ", "น้ำแข็ง ทำ"),
    ("fa", "می\u200cخواهم، کتاب\u200cها", "می\u200cخواهم ، کتاب\u200cها"),
    ("fa", "كتاب علي", "كتاب علي"),
    ("lo", "ນໍ້າຄໍາ", "ນໍ້າ ຄໍາ"),
    ("th", "นํ้าดำ", "นํ้า ดำ"),
    ("en", "co‑operate", "co ‑ operate"),
    ("ml", "അവന്\u200d പോയി", "അവന്\u200d പോയി"),
    ("ar", "\ufee3\ufeae\ufea3\ufe92\ufe8e", "\ufee3\ufeae\ufea3\ufe92\ufe8e"),
    ("fr", "L’eau, aujourd’hui", "l ’ eau , aujourd’hui"),
    ("en", "The ﬁne soft\u00adware…", "the ﬁne software . . ."),
    ("vi", "Tie\u0302\u0301ng Việt", "tie\u0302\u0301ng việt"),
    ("ja", "ｶﾞﾗｽ窓", "ｶﾞﾗｽ 窓"),
    ("ko", "\u1112\u1161\u11ab글", "\u1112\u1161\u11ab글"),
    ("dz", "རྫོང་ཁ་ཡིག", "རྫོང་ཁ ཡིག"),
    ("haw", "ʻOkina Hawaiʻi", "ʻokina hawaiʻi"),
]


@pytest.mark.parametrize("language, text, expected", TEXTS)
def test_words_of_text_have_their_spelling(language, text, expected):
    normalizer = Normalizer()
    lexicon = [normalizer.key(word, language) for word in expected.split(" ")]
    words = Segmenter({language: lexicon}).words(normalizer(text, language), language)
    assert written_words(text, words, normalizer, language) == expected.split(" ")


def test_a_spelling_has_its_key():
    """Whatever the text, the spelling of a word that was cut from it leads to the word again."""
    rng = np.random.default_rng(0)
    alphabet = list("aбé\u0301ำน้ि\u200c\u200dﬁ½'’ʼ·-Aｶﾞが\u1112\u1161য\u09bc… \u00ad") + ["ĳ", "ŉ"]
    normalizer, segmenter = Normalizer(), Segmenter()
    for _ in range(2_000):
        text = "".join(rng.choice(alphabet, rng.integers(1, 12)))
        words = segmenter.words(normalizer(text, "xx"), "xx")
        spelled = written_words(text, words, normalizer, "xx")
        assert len(spelled) == len(words)
        for word, own in zip(words, spelled):
            assert word == own or normalizer(own, "xx") in (word, word.replace("'", "ʼ")), text


def test_the_most_frequent_spelling_wins():
    tally = Tally(Normalizer())
    for raw, count in (("п’ять", 3), ("п'ять", 2), ("пʼять", 2), ("сім’я", 1), ("сім'я", 2)):
        tally.add(raw, [raw.replace("’", "'").replace("ʼ", "'")], "uk", count)
    assert tally.spellings({"uk": {"п'ять": 7, "сім'я": 3}}) == {"uk": {"п'ять": "п’ять"}}


def test_case_and_chinese_follow_the_options():
    assert written_words("ＡＢ", ["ab"], Normalizer(), "en") == ["ａｂ"]
    assert written_words("ＡＢ", ["AB"], Normalizer(lower_case=False), "en") == ["ＡＢ"]
    simplified = Normalizer(simplify_chinese=True)
    assert written_words("銀行", ["银行"], simplified, "zh") == ["银行"]


def test_text_goes_before_the_dictionary():
    text, entries = {"uk": {"a": "á"}}, {"uk": {"a": "à", "b": "β", "c": "ç"}, "th": {"d": "δ"}}
    assert merge(text, {"uk": ["a", "b"]}, entries) == {
        "uk": {"a": "á", "c": "ç"},
        "th": {"d": "δ"},
    }
