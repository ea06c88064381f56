import functools
import pathlib
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph import chunks
from clwe_jax.data.graph.segmentation import GraphSegmenter
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

REAL = pathlib.Path(__file__).resolve().parents[4] / "shared" / "data"
NASTY = [
    b"",
    b" \t ",
    b"\xef\xbb\xbfByte order mark",
    b"Windows line\r",
    b"null\x00byte and \xff\xfe bad \xe4\xb8 bytes",
    "zero\u200bwidth so\u00adft joi\u200dner".encode(),
    "ＦＵＬＬ　ｗｉｄｔｈ ﬁ ligature ½ ①".encode(),
    "İstanbul ΣΑΣ STRASSE ẞ ǅ".encode(),
    "e\u0301te\u0301 Å\u0323 \u1112\u1161\u11ab".encode(),
    "don't stop—ever… (yes!?) #1 a_b x@y.z".encode(),
    "東京タワーへ行きました。ｶﾞｷﾞ ミッションﾌﾗﾝｽ々〆ヶ月".encode(),
    "สวัสดีครับ กำลังไป ທ່ານ ភាសាខ្មែរ မြန်မာ".encode(),
    "हिन्दी العَرَبِيَّة עִבְרִית 한국어 🙂👍🏽 𝔘𝔫𝔦".encode(),
    b"x" * 400 + b" " + "字".encode() * 300,
]


def both(languages, normalizer, lexicons):
    """The two sides as functions of (lines, language): lists of words of every line."""
    segmenter = Segmenter(lexicons, bert=normalizer.bert)
    graph = tf.function(
        GraphSegmenter(languages, normalizer, segmenter.lexicons),
        autograph=False,
        input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32)],
    )

    def python_words(lines, language):
        texts = (line.decode("utf-8", errors="replace") for line in lines)
        return [segmenter.words(normalizer(text, language), language) for text in texts]

    def graph_words(lines, language):
        found = graph(tf.constant(lines), tf.fill([len(lines)], languages.index(language)))
        words = [[] for _ in lines]
        for word, line in zip(found.text.numpy(), found.line.numpy()):
            words[line].append(word.decode())
        return words

    return python_words, graph_words, graph


def assert_equal(python_words, graph_words, lines, language):
    for line, expected, got in zip(
        lines, python_words(lines, language), graph_words(lines, language), strict=True
    ):
        assert got == expected, (language, line)


@functools.cache
def small_sides(small, lower_case=True):
    return both(
        small.tokenizer.languages, Normalizer(lower_case), small.tokenizer.segmenter.lexicons
    )


def test_twins_agree_on_the_embedded_world(small):
    python_words, graph_words, _ = small_sides(small)
    for language in small.tokenizer.languages:
        with open(small.corpus.files[language][0], "rb") as file:
            lines = file.read().split(b"\n")[:300]
        assert_equal(python_words, graph_words, lines + NASTY, language)


@pytest.mark.parametrize("options", [(False, False), (True, True), (True, False)])
def test_twins_agree_by_the_rules_of_bert(options, small):
    lower_case, strip_accents = options
    normalizer = Normalizer(lower_case, bert=True, strip_accents=strip_accents)
    python_words, graph_words, _ = both(("en", "ja"), normalizer, {"ja": {"東京"}})
    lines = []
    for language in ("en", "ja"):
        with open(small.corpus.files[language][0], "rb") as file:
            lines += file.read().split(b"\n")[:50]
    assert_equal(python_words, graph_words, lines + NASTY, "ja")


def test_twins_agree_without_lower_casing(small):
    python_words, graph_words, _ = small_sides(small, lower_case=False)
    assert_equal(python_words, graph_words, NASTY + [b"Some Names and ABC"], "en")


def test_twins_agree_on_every_assigned_code_point(small):
    python_words, graph_words, _ = small_sides(small)
    # Python and ICU may know different versions of Unicode: what is unassigned here is left out.
    codes = [
        chr(code)
        for code in [*range(0x30000), *range(0xE0000, 0xE0200)]
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
    ]
    # Between two letters, so that it matters whether it joins, separates or stands alone. The first
    # hundred thousands Han characters have one rule: a part of them is enough.
    codes = [c for c in codes if not 0x4E00 <= ord(c) < 0x9F00 and not 0x20000 <= ord(c) < 0x2F800]
    lines = [f"a{c}b{c}{c}".encode() for c in codes if c != "\n"]
    assert len(lines) > 50_000
    assert_equal(python_words, graph_words, lines, "en")


MARKS = (
    "п’ять п'ять пʼять п`ять п´ять ‘сім’ об'є'кт м'' 'я L’eau j'l'ai aujourd'hui qu'est-ce S'IL c'hwec'h "
    "the king's don't o'clock I'd've 'tis rock'n'roll ma'no togʻ tog' 'soʻz' ʻokina 'okina Hawaiʻi 'a'ole "
    'col·lecció coŀlegi · a· ·b 3·4 צה"ל צה״ל ג׳ירפה "שלום" x"y İstanbul\'da རྫོང་ཁ་ཡིག་བོད་ ཁང་། ཁང། '
    "น้ำทำ ำ ํ ํา ํ้ ํ้ำ นํ้า ນ້ຳ ນໍ້າ كتاب علي مـرحبا co‑op co‐op ־א ་ཀ ཀ་་ཁ aཀ་ก་ཀ ༢༠༡ ཡིག"
)


@pytest.mark.parametrize("language", ["uk", "fr", "en", "haw", "uz", "ca", "dz", "tr"])
def test_twins_agree_on_marks_inside_words(language):
    names = ("en", "fr", "uk", "haw", "uz", "ca", "dz", "tr")
    lexicons = {"dz": {"རྫོང་ཁ", "ཡིག", "ཁ"}}
    python_words, graph_words, _ = both(names, Normalizer(), lexicons)
    rng = np.random.default_rng(0)
    lines = [MARKS, *MARKS.split(" ")]
    # Languages with short words at an apostrophe do not write it as a letter.
    alphabet = "aоl's’ʼ·ʻ gd" if language in ("uk", "haw", "uz", "dz") else "aоeibkl's’ gdm "
    lines += ["".join(rng.choice(list(alphabet), 16)) for _ in range(200)]
    lines += ["".join(rng.choice(list("ཀཁི་་ aก།"), 24)) for _ in range(200)]
    assert_equal(python_words, graph_words, [line.encode() for line in lines], language)


def test_longest_match_equals_the_loop():
    rng = np.random.default_rng(0)
    alphabet = "一二三ひらカタาิ่ーヶ々"  # Han, kana, Thai with marks, and what is special among them
    lexicon = {"".join(rng.choice(list(alphabet[:12]), rng.integers(1, 6))) for _ in range(120)}
    python_words, graph_words, _ = both(("ja", "en"), Normalizer(), {"ja": lexicon})
    lines = [
        "".join(rng.choice([*alphabet, "九", "a", " ", "。"], rng.integers(0, 40))).encode()
        for _ in range(600)
    ]
    assert_equal(python_words, graph_words, lines, "ja")
    # A language without a lexicon.
    assert_equal(python_words, graph_words, lines, "en")


def test_languages_of_a_chunk_do_not_mix():
    python_words, graph_words, graph = both(
        ("ja", "zh"), Normalizer(), {"ja": {"東京"}, "zh": {"東京都"}}
    )
    lines = tf.constant(["東京都", "東京都", "東京都"])
    found = graph(lines, tf.constant([0, 1, 0]))
    words = [(line, word.decode()) for line, word in zip(found.line.numpy(), found.text.numpy())]
    assert words == [(0, "東京"), (0, "都"), (1, "東京都"), (2, "東京"), (2, "都")]


def test_sentence_ends():
    _, _, graph = both(("en",), Normalizer(), {})
    found = graph(tf.constant(["a b . c ?! d", "one\ntwo three\n\nfour"]), tf.constant([0, 0]))
    ends = [
        word.decode() for word, end in zip(found.text.numpy(), found.ends_sentence.numpy()) if end
    ]
    assert ends == [".", "?", "!", "one", "three"]


def test_repaired_lines_are_counted():
    _, _, graph = both(("en",), Normalizer(), {})
    found = graph(tf.constant([b"good", b"b\xffd", b"\xff\xff \xfe", b""]), tf.zeros([4], tf.int32))
    assert found.repaired.numpy() == 2
    assert [word.decode() for word in found.text.numpy()] == ["good", "b", "d"]


def test_graph_in_a_dataset_equals_eager(small):
    _, _, graph = small_sides(small)
    lines = tf.constant(NASTY)
    languages = tf.zeros([len(NASTY)], tf.int32)
    dataset = tf.data.Dataset.from_tensors((lines, languages)).map(graph)
    inside, eager = next(iter(dataset)), graph.python_function(lines, languages)
    for a, b in zip(inside, eager):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_simplified_chinese():
    python_words, graph_words, _ = both(("en", "zh"), Normalizer(True, True), {"zh": {"汉语"}})
    lines = ["漢語和English".encode(), "說話".encode()]
    assert graph_words(lines, "zh")[0][0] == "汉语"
    for language in ("en", "zh"):
        assert_equal(python_words, graph_words, lines, language)
    python_words, graph_words, _ = both(("zh_hans", "zh_hant", "ja"), Normalizer(True, True), {})
    for language in ("zh_hans", "zh_hant", "ja"):
        assert_equal(python_words, graph_words, lines, language)


@pytest.mark.skipif(not REAL.exists(), reason="no real text beside the project")
def test_twins_agree_on_real_text():
    languages = tuple(sorted(path.name for path in (REAL / "text").iterdir() if path.is_dir()))
    merged = dictionaries.load(str(REAL / "dictionaries" / "muse_full"), languages)
    lexicons = {language: merged.lexicon(language) for language in ("ja", "zh")}
    python_words, graph_words, _ = both(languages, Normalizer(), lexicons)
    seen = 0
    for language in languages:
        for path in sorted((REAL / "text" / language).glob("*.txt")):
            with open(path, "rb") as file:
                lines = file.read(1 << 16).split(b"\n")[:150]
            assert_equal(python_words, graph_words, lines, language)
            seen += len(lines)
    assert len(languages) >= 10 and seen > 3_000


def test_long_lines_are_cut_at_spaces():
    rng = np.random.default_rng(0)
    words = [b"w%d" % n for n in rng.integers(0, 10**6, 40_000)]
    spaced = b" ".join(words)
    unspaced = "".join(chr(0x4E00 + n) for n in rng.integers(0, 5_000, 60_000)).encode()
    # Ten megabytes in one line, among short ones.
    huge = (b" ".join(words[:1_000]) + b" ") * (10_500_000 // len(b" ".join(words[:1_000])))
    lines = [b"short", spaced, unspaced, b"", huge, b"end"]
    languages = np.arange(6, dtype=np.int32)
    cut, owner = chunks.cut_long_lines(tf.constant(lines), tf.constant(languages))
    cut, owner = cut.numpy(), owner.numpy()
    assert max(map(len, cut)) <= 70_000
    for number, line in enumerate(lines):
        parts = [part for part, own in zip(cut, owner) if own == number]
        assert b"".join(parts) == line
        assert b" ".join(part.strip() for part in parts).split() == line.split() or number == 2
        for part in parts:
            part.decode("utf-8")  # no character is cut through


def test_short_lines_are_left_alone():
    lines, languages = chunks.cut_long_lines(
        tf.constant([b"a", b"b" * 65_536]), tf.constant([0, 1])
    )
    assert [len(line) for line in lines.numpy()] == [1, 65_536]
    assert languages.numpy().tolist() == [0, 1]
