"""Bibles verse by verse: references, layouts, pairs of equal references, and verses held out."""

import lzma

from absl import logging
import numpy as np
import pytest

from clwe_jax.text.corpus import parallel, verse_files, verse_references
from clwe_jax.text.corpus.verse_files import Verses

EN = "MAT 1:1\tone\nMAT 1:2\ttwo\nMAT 1:3\tthree\nJOH 1:1\tword\nJOH 1:2\twith\n"
SW = "MAT 1:1\tmoja\nMAT 1:2-3\tmbili na tatu\nJHN 1:1\tneno\n"
KAB = "MAT 1:1\tyiwen\nMAT 1:3\tkraḍ\nnothing here\nJOH 1:1\tawal\nJOH 1:2\t\n"


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_", "-")).write_text(text, encoding="utf-8")
    return str(folder)


def test_an_empty_verse_has_no_range():
    lines = ["MAT 5:3\ta", "MAT 5:4\t", "MAT 5:5\t<range>"]
    verses = verse_files.read_table("en.tsv", lines)
    assert verses.texts == {"MAT 5:3": "a"} and not verses.joined
    assert any("without a verse right before it (line 3 first)" in x for x in verses.skipped)


@pytest.fixture
def verses(tmp_path):
    return write(tmp_path, en__tsv=EN, kab__tsv=KAB, swh_Biblia__tsv=SW, notes__txt="a text\n")


@pytest.mark.parametrize(
    "text, references",
    [
        ("MAT 5:12", ["MAT 5:12"]),
        ("JOH 3:16", ["JHN 3:16"]),
        ("b.1CO.13.4", ["1CO 13:4"]),
        ("1 Corinthians 13:4", ["1CO 13:4"]),
        ("Song of Songs 1:2", ["SNG 1:2"]),
        ("MAT 5:12a", ["MAT 5:12"]),
        ("MAT 5:3\u20135", ["MAT 5:3", "MAT 5:4", "MAT 5:5"]),
        ("MAT 5:9-3", []),
        ("XYZ 1:1", []),
        ("a sentence", []),
        ("12:30", []),
    ],
)
def test_references_of_all_kinds(text, references):
    assert list(verse_references.parse(text)) == references


def test_the_vref_layout_has_the_lines_of_ebible():
    references = verse_references.of_vref()
    assert len(references) == len(set(references)) == verse_references.LINES
    places = {0: "GEN 1:1", 23_213: "MAT 1:1", 31_169: "REV 22:21", 31_847: "ESG 4:7"}
    assert {place: references[place] for place in places} == places


def test_every_two_languages_have_the_verses_that_both_have(verses):
    given = parallel.read_all(verses, ("sw", "en", "kab"), "data.pairs")
    texts = {
        pair: [(given.sentences[pair[0]][a], given.sentences[pair[1]][b]) for a, b in rows]
        for pair, rows in given.pairs.items()
    }
    assert texts == {
        ("sw", "en"): [("moja", "one"), ("mbili na tatu", "two three"), ("neno", "word")],
        # Kabyle lacks verse 2: verse 3 alone is no translation of both.
        ("sw", "kab"): [("moja", "yiwen"), ("neno", "awal")],
        ("en", "kab"): [("one", "yiwen"), ("three", "kraḍ"), ("word", "awal")],
    }
    assert given.sentences["en"] == ["one", "two", "three", "word", "with", "two three"]
    assert given.texts == {"sw": 3, "en": 5, "kab": 3}  # 'two three' is no text of its own
    assert sorted(given.skipped.values()) == [1, 1]
    assert any("kab.tsv without a reference (line 3 first)" in x for x in given.skipped)
    assert any("that one side lacks in part" in x for x in given.skipped)
    assert len(given.files) == 3


def test_several_translations_of_a_language_are_all_read(tmp_path):
    write(tmp_path, en_a__tsv=EN, en_b__tsv=EN.replace("one", "1"), sw__tsv=SW)
    given = parallel.read_all(str(tmp_path), ("en", "sw"), "data.pairs")
    assert len(given.pairs["en", "sw"]) == 6 and "1" in given.sentences["en"]
    assert given.sentences["en"].count("two") == 1


def test_verses_that_are_held_out(verses):
    def read(place):
        [files] = parallel.test_pairs(place, ("en", "kab"), "evals.retrieval.data")
        return parallel.read(files).source

    assert read(f"{verses}@-JOH") == ["one", "three"]
    assert read(f"{verses}@JHN") == ["word"]
    assert read(f"{verses}@MAT 1:3,John 1") == ["three", "word"]
    given = parallel.read_all(f"{verses}@-JOH", ("en", "kab"), "data.pairs")
    assert given.sentences["en"] == ["one", "two", "three"]
    with pytest.raises(ValueError, match="verses .* selected"):
        read(f"{verses}@GEN")
    with pytest.raises(ValueError, match="'nowhere'"):
        read(f"{verses}@nowhere")


@pytest.mark.parametrize("verses", ["JHN", "-JHN"])
def test_verses_of_text_without_references_are_an_error(tmp_path, verses):
    """Training would read them all, and the test none."""
    write(tmp_path, bible__en_sw__en="word\n", bible__en_sw__sw="neno\n", en_fr__tsv="word\tmot\n")
    for place in (tmp_path, tmp_path / "bible.en-sw"):
        with pytest.raises(ValueError) as refused:
            parallel.find(f"{place}@{verses}", ("en", "sw"), "data.pairs")
        assert f"@{verses} selects verses, and the text there has no references" in str(
            refused.value
        )
        assert "(bible.en-sw.en): give a Bible" in str(refused.value)
        assert "--config.data.held_out=''" in str(refused.value)
    [files] = parallel.find(str(tmp_path), ("en", "sw"), "data.pairs")
    assert parallel.read(files).source == ["word"]


def test_beside_verses_no_text_without_references_is_read(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(
        logging, "log", lambda level, text, *args: said.append((level, text % args))
    )
    write(tmp_path, en__tsv=EN, kab__tsv=KAB, opus__en_kab__tsv="word\tawal\n")
    place = f"{tmp_path}@-JHN"
    given = parallel.read_all(place, ("en", "kab"), "data.pairs")
    assert given.sentences["en"] == ["one", "two", "three"]
    [(level, text)] = [x for x in said if "may hold the verses that training leaves out" in x[1]]
    assert level == logging.WARNING
    assert text.startswith(f"{place}: left out") and text.endswith(": opus.en-kab.tsv")
    whole = parallel.read_all(str(tmp_path), ("en", "kab"), "data.pairs")
    assert len(whole.files) == 3 and len(whole.pairs["en", "kab"]) == 4


def test_a_chapter_is_not_the_beginning_of_another():
    chosen = verse_references.select("LUK 3")
    assert "LUK 3:1" in chosen and "LUK 30:1" not in chosen
    others = verse_references.select("-LUK 3:2")
    assert "LUK 3:1" in others and "LUK 3:2" not in others and "MAT 1:1" in others


def test_the_vref_layout(tmp_path):
    write(tmp_path, vref__txt="GEN 1:1\nGEN 1:2\nGEN 1:3\nGEN 1:4\n")
    write(tmp_path, eng_web__txt="In\n\nthree\nfour\n", aai_aai__txt="<range>\nA\n<range>\nB\n")
    given = parallel.read_all(str(tmp_path), ("en", "aai"), "data.pairs")
    assert given.sentences == {"en": ["In", "three", "four"], "aai": ["A", "B"]}
    assert str(tmp_path / "vref.txt") in given.files
    assert given.pairs["en", "aai"].tolist() == [[2, 1]]  # English lacks the second of 'A'
    assert any("<range> without a verse right before it (line 1 first)" in x for x in given.skipped)
    write(tmp_path, aai_aai__txt="A\n")
    with pytest.raises(ValueError, match="aai-aai.txt .*1 .*vref.txt 4"):
        parallel.read_all(str(tmp_path), ("en", "aai"), "data.pairs")


def test_the_vref_layout_without_its_references(tmp_path):
    lines = np.full(verse_references.LINES, "", object)
    lines[23_213:23_215] = "a b"
    write(tmp_path, sw__txt="\n".join(lines) + "\n", en__tsv="MAT 1:2\ttwo\n")
    given = parallel.read_all(str(tmp_path), ("sw", "en"), "data.pairs")
    assert len(given.pairs["sw", "en"]) == 1


def test_joined_verses_by_brute_force():
    """Pairs of random joins are the smallest stretches whose ends agree on both sides."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        sides, ends = [], []
        for mark in "ab":
            texts, joined, stops = {}, {}, {0}
            place = 1
            while place <= 8:
                size = int(rng.integers(1, 4))
                verses = tuple(f"MAT 1:{x}" for x in range(place, min(place + size, 9)))
                texts[verses[0]] = f"{mark}{place}"
                joined |= {verses[0]: verses} if len(verses) > 1 else {}
                place += size
                stops.add(min(place, 9) - 1)
            sides.append(Verses(texts, joined))
            ends.append(stops)
        cuts = sorted(ends[0] & ends[1])
        expected = []
        for low, high in zip(cuts, cuts[1:]):
            parts = [
                " ".join(
                    x.texts[f"MAT 1:{v}"]
                    for v in range(low + 1, high + 1)
                    if f"MAT 1:{v}" in x.texts
                )
                for x in sides
            ]
            expected.append(tuple(parts))
        assert verse_files.pair(*sides) == (expected, 0)


def test_compressed_verses(tmp_path):
    (tmp_path / "en.tsv.xz").write_bytes(lzma.compress(EN.encode()))
    write(tmp_path, sw__tsv=SW)
    assert parallel.read_all(str(tmp_path), ("en", "sw"), "data.pairs").pairs


def test_a_table_may_say_that_a_verse_belongs_to_the_one_before(tmp_path):
    write(
        tmp_path,
        en__tsv=EN,
        sw__tsv="MAT 1:1\tmoja\nMAT 1:2a\tmbili\nMAT 1:2b\tna\nMAT 1:3\t<range>\n",
    )
    [files] = parallel.find(str(tmp_path), ("en", "sw"), "data.pairs")
    pairs = parallel.read(files)
    assert (pairs.source, pairs.target) == (["one", "two three"], ["moja", "mbili na"])
