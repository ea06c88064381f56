"""Normalisation, against its definition character by character."""

import unicodedata

import numpy as np
import pytest

from clwe_jax.text import characters
from clwe_jax.text.normalize import Normalizer


def by_definition(text: str, lower_case: bool) -> str:
    kinds, lower = characters.class_table(), characters.lower_table()
    result = ""
    for character in unicodedata.normalize("NFKC", text):
        if kinds[ord(character)] != characters.IGNORED:
            result += chr(lower[ord(character)]) if lower_case else character
    return result


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
    ],
)
def test_known(raw, normal):
    assert Normalizer()(raw, "en") == normal


def test_keeps_case():
    assert Normalizer(lower_case=False)("Das Éis") == "Das Éis"
    assert Normalizer(lower_case=False)("ASCII") == "ASCII"


def test_simplifies_chinese_only():
    pytest.importorskip("opencc")
    normalize = Normalizer(simplify_chinese=True)
    assert normalize("銀行", "zh") == "银行"
    assert normalize("銀行", "ja") == "銀行"
    assert Normalizer()("銀行", "zh") == "銀行"
