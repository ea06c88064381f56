"""Segmentation into words, against a slow oracle and by its invariants."""

import numpy as np
import pytest

from clwe_jax.text.words import characters
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Phrases, Segmenter, is_unspaced

# Han, hiragana, katakana, prolonged sound mark, Thai letter and sign, spaced, single, space.
ALPHABET = "水火あいアーกิab1.。 \0"


def oracle(text: str, lexicon: set[str]) -> list[str]:
    """The words by two flags of each character: covered by the lexicon, first of a word."""
    kind = [int(characters.class_table()[ord(c)]) for c in text]
    stretch = [int(characters.stretch_table()[ord(c)]) for c in text]
    covered = [False] * len(text)
    begins = [
        i == 0 or kind[i] != kind[i - 1] or kind[i] == characters.SINGLE for i in range(len(text))
    ]
    run_begins = list(begins)
    place = 0
    while place < len(text):
        end = place + 1
        if kind[place] == characters.UNSPACED:
            stop = place + 1
            while stop < len(text) and kind[stop] == characters.UNSPACED:
                stop += 1
            ends = [
                e
                for e in range(place + 1, stop + 1)
                if text[place:e] in lexicon and (e == stop or stretch[e] != characters.MARK)
            ]
            begins[place] = True
            if ends:
                end = max(ends)
                covered[place:end] = [True] * (end - place)
        place = end
    for i in range(1, len(text)):
        if kind[i] != characters.UNSPACED or run_begins[i] or covered[i]:
            continue
        alike = stretch[i] in (characters.HIRAGANA, characters.KATAKANA)
        alike = alike and stretch[i - 1] == stretch[i] and not covered[i - 1]
        if stretch[i] == characters.MARK or alike:
            begins[i] = False
    words: list[str] = []
    for i, character in enumerate(text):
        if kind[i] == characters.SPACE:
            continue
        if begins[i]:
            words.append("")
        words[-1] += character
    return words


def test_equals_the_oracle_on_random_text():
    rng = np.random.default_rng(0)
    letters = list(ALPHABET)
    unspaced = [c for c in letters if characters.class_table()[ord(c)] == characters.UNSPACED]
    for _ in range(400):
        lexicon = {
            "".join(rng.choice(unspaced, rng.integers(1, 5))) for _ in range(rng.integers(0, 12))
        }
        text = "".join(rng.choice(letters, rng.integers(0, 40)))
        assert Segmenter({"xx": lexicon}).words(text, "xx") == oracle(text, lexicon), (
            text,
            lexicon,
        )


def test_nothing_is_lost():
    rng = np.random.default_rng(1)
    normalize, segmenter = Normalizer(), Segmenter({})
    kinds = characters.class_table()
    for _ in range(200):
        codes = rng.integers(0, characters.CODE_POINTS, 60)
        text = normalize("".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000), "en")
        visible = "".join(c for c in text if kinds[ord(c)] != characters.SPACE and c != "\u0f0b")
        assert "".join(segmenter.words(text, "en")) == visible


@pytest.mark.parametrize(
    "language, text, words",
    [
        ("en", "Don't pay 3.14 euros!", "don't pay 3 . 14 euros !"),
        ("fr", "L’été, c'est l\u00adà…", "l ' été , c ' est là . . ."),
        ("de", "a\0b\ufffdc\u200bd", "a b c d"),
        ("ja", "彼はT2シャツを買った。", "彼は t2 シャツ を 買った 。"),
        ("zh", "我去银行2次", "我 去 银行 2 次"),
        ("zh", "银", "银"),
        ("en", "<script>alert(1)</script>", "< script > alert ( 1 ) < / script >"),
        ("en", "[MASK] 10€", "[ mask ] 10 €"),
        ("en", "", ""),
    ],
)
def test_known(language, text, words):
    segmenter = Segmenter({"ja": ["彼は", "買った", "買う"], "zh": ["银行", "行2次"]})
    assert segmenter.words(Normalizer()(text, language), language) == words.split()


@pytest.mark.parametrize(
    "language, text, words",
    [
        ("uk", "п’ять п'ять пʼять п`ять п´ять", "п'ять п'ять п'ять п'ять п'ять"),
        ("uk", "‘сім’'я", "' сім ' ' я"),
        ("be", "сям’я", "сям'я"),
        ("br", "c'hwec’h ar plac'h", "c'hwec'h ar plac'h"),
        ("fr", "j'l'ai aujourd'hui qu’il", "j ' l ' ai aujourd'hui qu ' il"),
        ("it", "dell'arte un’altra po'", "dell ' arte un ' altra po '"),
        ("en", "the king's don't o'clock I'd've", "the king ' s don't o'clock i ' d ' ve"),
        ("ca", "col·lecció coŀlegi l’home compra'l", "col·lecció col·legi l ' home compra ' l"),
        ("tr", "İstanbul'da", "istanbul ' da"),
        ("uz", "oʻzbek o‘zbek togʻ tog' 'soʻz'", "o'zbek o'zbek tog' tog' ' so'z '"),
        ("haw", "ʻokina 'okina Hawaiʻi", "'okina 'okina hawai'i"),
        ("he", 'צה"ל צה״ל ג׳ירפה "שלום"', 'צה"ל צה"ל ג\'ירפה " שלום "'),
        ("dz", "རྫོང་ཁ་ཡིག་བོད་ཁང་། རྫོང་ཁ", "རྫོང་ཁ ཡིག བོད ཁང ། རྫོང་ཁ"),
        ("bo", "ཀ་ཁ", "ཀ ཁ"),
        ("de", "US-Karte geht's", "us - karte geht ' s"),
        ("sw", "ng'ombe 5'10", "ng'ombe 5 ' 10"),
    ],
)
def test_marks_inside_words(language, text, words):
    segmenter = Segmenter({"dz": ["རྫོང་ཁ", "ཡིག", "ཁ"]})
    assert segmenter.words(Normalizer()(text, language), language) == words.split()


def test_entries_are_cut_as_text_is():
    normalizer = Normalizer()
    for language, entry, key in [
        ("uk", "П’ять", "п'ять"),
        ("fr", "l'eau", "l ' eau"),
        ("en", "well-known", "well - known"),
        ("th", "น้ำแข็ง", "น้ำแข็ง"),
        ("fa", "می\u200cخواهم", "میخواهم"),
        ("ja", "3年生", "3 年生"),
        ("dz", "རྫོང་ཁ་", "རྫོང་ཁ"),
        ("en", "ice  cream\0", "ice cream"),
        ("en", "\u00ad", ""),
    ]:
        assert normalizer.key(entry, language) == key
        segmenter = Segmenter({language: [key]})
        cut = segmenter.words(normalizer(entry, language), language)
        assert Phrases([key])(cut) == [key] * bool(key)
    # Moses cuts text otherwise, so that its entries stay whole.
    assert Normalizer(moses=True).key("Well-known") == "well-known"


def test_unknown_katakana_stays_in_one_piece():
    segmenter = Segmenter({"ja": ["と"]})
    assert segmenter.words("ジョンとメアリー", "ja") == ["ジョン", "と", "メアリー"]


def test_a_mark_never_stands_alone():
    assert Segmenter({"th": ["มา"]}).words("กิมานี้", "th") == ["กิ", "มา", "นี้"]


def test_lexicons_hold_unspaced_words_of_their_language():
    segmenter = Segmenter({"zh": ["银行", "ATM机", "bank", ""], "ja": ["銀行"]})
    assert segmenter.lexicons == {"zh": {"银行"}, "ja": {"銀行"}}
    assert segmenter.words("銀行", "zh") == ["銀", "行"]
    assert is_unspaced("กิ") and not is_unspaced("กa") and not is_unspaced("")


def test_phrases_are_joined_longest_first():
    joined = Phrases(["ice cream", "ice cream cone", "cream", "cone of"])
    assert joined("an ice cream cone of ice".split()) == ["an", "ice cream cone", "of", "ice"]
    assert joined("ice cream and ice".split()) == ["ice cream", "and", "ice"]
    assert Phrases(["ice"])(["ice", "cream"]) == ["ice", "cream"]
