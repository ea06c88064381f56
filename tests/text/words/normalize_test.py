"""Normalisation, against its definition character by character."""

import unicodedata

import numpy as np
import pytest

from clwe_jax.text.words import characters
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


def by_definition(text: str, lower_case: bool) -> str:
    kinds, lower = characters.class_table(), characters.lower_table()
    alike, letters = characters.one_of_each_table(), characters.letter_table()
    for character in characters.SPACED_APOSTROPHES:
        text = text.replace(character, "'")
    result = ""
    text = unicodedata.normalize("NFKC", text)
    for sign, vowels, tones, both in (
        ("\u0e4d", "\u0e32\u0e33", "\u0e48\u0e49\u0e4a\u0e4b", "\u0e33"),
        ("\u0ecd", "\u0eb2\u0eb3", "\u0ec8\u0ec9\u0eca\u0ecb", "\u0eb3"),
    ):
        for tone in ("", *tones):
            for vowel in vowels:
                text = text.replace(sign + tone + vowel, tone + both)
    for character in text:
        if kinds[ord(character)] != characters.IGNORED:
            result += chr(alike[lower[ord(character)] if lower_case else ord(character)])
    inside = [
        place
        for place in range(1, len(result) - 1)
        if result[place] == "\u02bc"
        and letters[ord(result[place - 1])]
        and letters[ord(result[place + 1])]
    ]
    return "".join("'" if place in inside else x for place, x in enumerate(result))


@pytest.mark.parametrize("lower_case", [True, False])
def test_equals_its_definition(lower_case):
    rng = np.random.default_rng(0)
    normalize = Normalizer(lower_case)
    for most in (0x80, 0x250, 0x3100, 0x11000, characters.CODE_POINTS):
        for _ in range(50):
            codes = rng.integers(0, most, 40)
            text = "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)
            assert normalize(text, "en") == by_definition(text, lower_case)


@pytest.mark.parametrize(
    "raw, normal",
    [
        ("Ｆｕｌｌ　Ｗｉｄｔｈ", "full width"),
        ("ﬁne…", "fine..."),
        ("Cafe\u0301", "café"),
        ("Donau\u00addampf", "donaudampf"),
        ("می\u200cخواهم", "میخواهم"),
        ("ΟΔΟΣ", "οδοσ"),
        ("İSTANBUL", "istanbul"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("Straße", "straße"),
        ("น้ำ ນ້ຳ ํา", "น้ำ ນ້ຳ ำ"),
        ("นํ้า ນໍ້າ", "น้ำ ນ້ຳ"),
        ("كتاب علي مـرحبا", "کتاب علی مرحبا"),
        ("co‑operate co‐operate בית־ספר", "co-operate co-operate בית-ספר"),
        ("don’t ‘so’ ʼtis", "don't 'so' ʼtis"),
    ],
)
def test_known(raw, normal):
    assert Normalizer()(raw, "en") == normal


def test_keeps_case():
    assert Normalizer(lower_case=False)("Das Éis") == "Das Éis"
    assert Normalizer(lower_case=False)("ASCII") == "ASCII"


def test_simplifies_chinese_only():
    normalize = Normalizer(simplify_chinese=True)
    assert normalize("銀行", "zh") == "银行"
    assert normalize("銀行", "ja") == "銀行"
    assert Normalizer()("銀行", "zh") == "銀行"


# Expected words of BERT's basic tokenizer, as `tokenizers` (0.23) gives them.
BERT = [
    (
        "Don't\u00a0stop\u2014ever\u2026 (caf\u00e9!)",
        "Don|'|t|stop|\u2014|ever|\u2026|(|caf\u00e9|!|)",
    ),
    (
        "\u6771\u4eac\u30bf\u30ef\u30fc \u92c0\u884cABC",
        "\u6771|\u4eac|\u30bf\u30ef\u30fc|\u92c0|\u884c|ABC",
    ),
    ("so\u00adft zero\u200bwidth \ufffd\x00\x07x", "soft|zerowidth|x"),
    ("\u20ac5 $5 a_b \uff21\uff22 \ufb01", "\u20ac5|$|5|a|_|b|\uff21\uff22|\ufb01"),
    ("\u0130stanbul \u03a3\u0391\u03a3 STRASSE", "\u0130stanbul|\u03a3\u0391\u03a3|STRASSE"),
    (
        "e\u0301t\u00e9 \ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940",
        "e\u0301t\u00e9|\ud55c\uad6d\uc5b4|\u0939\u093f\u0928\u094d\u0926\u0940",
    ),
    ("a\tb\nc\rd\x0be\x0cf\u3000g\u1680h", "a|b|c|def|g|h"),
]
# The same of lower-cased text without accents.
UNCASED = [
    ("Caf\u00e9 \u0130stanbul \u03a3\u0391\u03a3", "cafe|istanbul|\u03c3\u03b1\u03c3"),
    (
        "\ud55c\uad6d\uc5b4 \u0439\u0451",
        "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165|\u0438\u0435",
    ),
    ("\u037e\u2126 \uf900", ";|\u03c9|\u8c48"),
]


@pytest.mark.parametrize("text, words", BERT)
def test_the_basic_tokenizer_of_bert(text, words):
    normalize, segmenter = (
        Normalizer(False, bert=True),
        Segmenter({"ja": ["\u6771\u4eac"]}, bert=True),
    )
    assert segmenter.words(normalize(text), "ja") == words.split("|")


@pytest.mark.parametrize("text, words", UNCASED)
def test_the_basic_tokenizer_of_uncased_bert(text, words):
    normalize, segmenter = Normalizer(bert=True, strip_accents=True), Segmenter(bert=True)
    assert segmenter.words(normalize(text), "de") == words.split("|")


def test_lower_case_with_accents_as_in_bert():
    assert Normalizer(bert=True)("\u0130 CAF\u00c9") == "i\u0307 caf\u00e9"


@pytest.mark.parametrize(
    "code, word, key",
    [
        ("fra", "l’eau", "l ' eau"),
        ("fr-CA", "l’eau", "l ' eau"),
        ("uzn", "tog‘", "tog'"),
        ("cmn", "漢字", "汉字"),
        ("zh-Hant", "漢字", "汉字"),
        ("yue", "漢字", "漢字"),
    ],
)
def test_rules_are_of_a_language_and_not_of_its_code(code, word, key):
    assert Normalizer(simplify_chinese=True).key(word, code) == key
