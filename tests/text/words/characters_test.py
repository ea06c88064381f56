"""The character tables, against the names and categories of Unicode."""

import re
import unicodedata

import numpy as np
import pytest

from clwe_jax.text.words import characters

UNSPACED_NAMES = re.compile(
    r"TIBETAN (LETTER|SUBJOINED|VOWEL)|CJK UNIFIED IDEOGRAPH|CJK COMPATIBILITY IDEOGRAPH|(HENTAIGANA|HIRAGANA|KATAKANA) LETTER|"
    r"(THAI|LAO|KHMER|MYANMAR) (CHARACTER|LETTER|VOWEL|SIGN|TONE|CONSONANT|INDEPENDENT)"
)


def names():
    for code in range(characters.CODE_POINTS):
        name = unicodedata.name(chr(code), "")
        if name:
            yield code, name


def test_unspaced_scripts_by_name():
    table = characters.class_table()
    wrong = []
    for code, name in names():
        letter = unicodedata.category(chr(code))[0] in "LM"
        # Half-width katakana does not survive NFKC; squared words are symbols.
        if letter and UNSPACED_NAMES.match(name) and table[code] != characters.UNSPACED:
            wrong.append(name)
        if table[code] == characters.UNSPACED:
            known = re.match(
                r"CJK|KANGXI|HANGZHOU|IDEOGRAPHIC|HIRAGANA|KATAKANA|HENTAIGANA|"
                r"VERTICAL (KANA|IDEO)|COMBINING KATAKANA|THAI|LAO|KHMER|MYANMAR|OLD CHINESE|"
                r"VIETNAMESE ALTERNATE|TIBETAN",
                name,
            )
            if not known:
                wrong.append(name)
    assert not wrong


def character_is_mark(code: int) -> bool:
    """Whether it is written for an apostrophe or a middle dot of another category, or is a tsheg."""
    marks = (ord("'"), ord("·"), ord(characters.LETTER_APOSTROPHE))
    return code == ord(characters.TSHEG) or characters.one_of_each_table()[code] in marks


def test_classes_by_category():
    table = characters.class_table()
    expected = {
        "Zs": {characters.SPACE},
        "Zl": {characters.SPACE},
        "Zp": {characters.SPACE},
        "Cc": {characters.SPACE},
        "Cs": {characters.SPACE},
        "Cf": {characters.IGNORED, characters.SPACE},
        "L": {characters.WORD, characters.UNSPACED},
        "N": {characters.WORD, characters.UNSPACED},
        "M": {characters.WORD, characters.UNSPACED, characters.IGNORED},
        "P": {characters.SINGLE, characters.MIDDLE},
        "S": {characters.SINGLE, characters.SPACE, characters.MIDDLE},
        "Co": {characters.SINGLE},
        "Cn": {characters.SINGLE},
    }
    for code in range(characters.CODE_POINTS):
        category = unicodedata.category(chr(code))
        if character_is_mark(code) or code == ord("ـ"):  # tatweel is a letter that is none
            continue
        allowed = expected.get(category) or expected[category[0]]
        assert table[code] in allowed, (hex(code), category, table[code])


@pytest.mark.parametrize(
    "character, kind",
    [
        ("\0", characters.SPACE),
        ("\n", characters.SPACE),
        ("\u00a0", characters.SPACE),
        ("\u200b", characters.SPACE),  # zero width space separates words of Thai and Khmer
        ("\ufffd", characters.SPACE),
        ("\u00ad", characters.IGNORED),
        ("\u200c", characters.IGNORED),
        ("\u200d", characters.IGNORED),
        ("\ufeff", characters.IGNORED),
        ("\ufe0f", characters.IGNORED),
        ("ß", characters.WORD),
        ("\u0301", characters.WORD),
        ("٣", characters.WORD),
        ("½", characters.WORD),
        ("銀", characters.UNSPACED),
        ("々", characters.UNSPACED),
        ("〇", characters.UNSPACED),
        ("ー", characters.UNSPACED),
        ("ก", characters.UNSPACED),
        ("ิ", characters.UNSPACED),
        ("๓", characters.WORD),
        ("한", characters.WORD),
        ("。", characters.SINGLE),
        ("・", characters.SINGLE),
        ("€", characters.SINGLE),
        ("_", characters.SINGLE),
        ("🦊", characters.SINGLE),
    ],
)
def test_known_classes(character, kind):
    assert characters.class_table()[ord(character)] == kind


@pytest.mark.parametrize(
    "character, kind",
    [
        ("ん", characters.HIRAGANA),
        ("ン", characters.KATAKANA),
        ("ー", characters.KATAKANA),
        ("ヶ", characters.ALONE),
        ("水", characters.ALONE),
        ("ก", characters.ALONE),
        ("ิ", characters.MARK),
        ("\u3099", characters.MARK),
        ("\u0301", characters.ALONE),  # stands in spaced scripts
    ],
)
def test_known_stretches(character, kind):
    assert characters.stretch_table()[ord(character)] == kind


def test_lower_case_is_one_to_one_and_settled():
    table = characters.lower_table()
    assert np.array_equal(table[table], table)
    for code in range(characters.CODE_POINTS):
        full = chr(code).lower()
        if len(full) == 1:
            assert chr(table[code]) == full
        else:
            assert full.startswith(chr(table[code]))


def test_lower_case_keeps_the_class_of_words():
    kinds, lower = characters.class_table(), characters.lower_table()
    assert np.array_equal(kinds == characters.WORD, kinds[lower] == characters.WORD)


def test_sentence_ends():
    ends = {chr(code) for code in np.flatnonzero(characters.sentence_end_table())}
    assert {".", "!", "?", "。", "؟", "।"} <= ends
    assert not ends & set(",;:、，-'\"a1 ")
    assert all(characters.class_table()[ord(end)] == characters.SINGLE for end in ends)


def test_tables_are_read_only():
    for make in (
        characters.class_table,
        characters.lower_table,
        characters.stretch_table,
        characters.sentence_end_table,
        characters.han_table,
    ):
        with pytest.raises(ValueError):
            make()[0] = 1


def test_character_class_matches_just_its_members():
    codes = np.array([ord("]"), ord("^"), ord("a"), ord("b"), ord("c"), 0x1F98A])
    pattern = re.compile(f"[{characters.character_class(np.sort(codes))}]")
    matched = {code for code in range(0x20000) if pattern.match(chr(code))}
    assert matched == set(codes.tolist())


def test_simplified():
    table = characters.simplified_table()
    assert "".join(chr(table[ord(c)]) for c in "銀行發展漢語") == "银行发展汉语"
    assert chr(table[ord("a")]) == "a"


def test_no_other_characters_have_another_case_or_compose():
    for character in map(chr, range(characters.CHANGING.stop, characters.CODE_POINTS)):
        assert character.lower() == character and not unicodedata.combining(character)
        # The compatibility ideographs of plane 2 are of one other character, which composes with none.
        assert " " not in unicodedata.decomposition(character)
