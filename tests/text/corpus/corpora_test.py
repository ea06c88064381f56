"""Text files: finding, reading with repair, counting; bad input."""

import collections
import gzip
import os

import numpy as np
import pytest
from absl import logging

from clwe_jax.text import lines
from clwe_jax.text.corpus import corpora
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


class Words:
    """A tokenizer that cuts at spaces."""

    def __init__(self, lexicons=None):
        self.segmenter = Segmenter(lexicons)

    def words(self, text, language):
        return self.segmenter.words(Normalizer()(text, language), language)


@pytest.fixture
def warnings(monkeypatch):
    found = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: found.append(text % values))
    return found


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(folder)


def test_finds_files(tmp_path):
    directory = write(
        tmp_path,
        {
            "en.txt": "a\n",
            "de.txt.gz": "b\n",
            "fr/2.txt": "d\n",
            "fr/1.txt.gz": "c\n",
            "fr/notes.md": "x\n",
            "zh.txt": "e\n",
            "zh/a.txt": "f\n",
            "it.txt": "g\n",
        },
    )
    corpus = corpora.TextCorpus(directory, ["fr", "en", "de", "zh"])
    assert corpus.languages == ("fr", "en", "de", "zh")
    assert {x: list(corpus.lines(x)) for x in corpus.languages} == {
        "fr": ["c", "d"],
        "en": ["a"],
        "de": ["b"],
        "zh": ["e", "f"],
    }


def test_a_file_beside_its_compressed_copy_is_read_once(tmp_path, warnings):
    files = {"en.txt": "a\n", "en.txt.gz": "a\n", "en/b.txt": "b\n", "en/b.txt.gz": "b\n"}
    corpus = corpora.TextCorpus(write(tmp_path, files), ["en"])
    assert list(corpus.lines("en")) == ["a", "b"]
    assert len(warnings) == 2 and "en.txt.gz is not read" in warnings[0]


@pytest.mark.parametrize("order, name", [("le", "en.txt"), ("be", "en.txt.gz")])
def test_utf16_is_refused(tmp_path, order, name):
    mark = "\ufeff"
    content = f"{mark}one\ntwo\n".encode(f"utf-16-{order}")
    corpus = corpora.TextCorpus(write(tmp_path, {name: content}), ["en"])
    with pytest.raises(ValueError, match=f"{name}:1: not UTF-8 .*iconv -f UTF-16 -t UTF-8"):
        list(corpus.lines("en"))


def test_missing_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent.*config\.data\.source=text:DIR"):
        corpora.TextCorpus(str(tmp_path / "absent"), ["en"])


def test_a_misspelled_language(tmp_path):
    directory = write(tmp_path, {"EN.txt": "a\n", "it.txt": "b\n"})
    expected = "no text in 'itx' .*has text in 'EN', 'it'. Known: EN, it."
    with pytest.raises(ValueError, match=expected):
        corpora.TextCorpus(directory, ["it", "itx"])


@pytest.mark.parametrize(
    "name, language",
    [
        ("EN.txt", "en"),
        ("deu.txt", "de"),
        ("de.txt.gz", "deu"),
        ("ger/1.txt", "de"),
        ("cmn.txt", "zh"),
        ("zho_Hans.txt", "zh"),
        ("nb.txt", "no"),
        ("fil.txt", "tl"),
        ("iw.txt", "he"),
        ("arb.txt", "ar"),
        ("pes_Arab.txt", "fa"),
        ("swh.txt", "sw"),
        ("pt-BR.txt", "pt"),
        ("sr-Latn.txt", "sr"),
    ],
)
def test_a_file_has_any_code_of_its_language(tmp_path, name, language):
    corpus = corpora.TextCorpus(write(tmp_path, {name: "a\n", "README.txt": "b\n"}), [language])
    assert list(corpus.lines(language)) == ["a"]


def test_of_two_codes_that_of_iso_639_3_comes_first(tmp_path):
    directory = write(tmp_path, {"deu.txt": "a\n", "ger.txt": "b\n"})
    assert list(corpora.TextCorpus(directory, ["de"]).lines("de")) == ["a"]
    assert list(corpora.TextCorpus(directory, ["ger"]).lines("ger")) == ["b"]


@pytest.mark.parametrize("name", ["wiki.de.txt", "europarl.de", "news.2020.de.shuffled", "DE.TXT"])
def test_an_unread_file_that_names_the_language_anywhere_is_named(tmp_path, name):
    directory = write(tmp_path, {name: "a\n", "en.txt": "b\n"})
    with pytest.raises(ValueError, match=f"{name} .*rename .*de.txt"):
        corpora.TextCorpus(directory, ["en", "de"])


def test_a_file_in_place_of_a_folder(tmp_path):
    directory = write(tmp_path, {"it.txt": "b\n"})
    with pytest.raises(FileNotFoundError, match="it.txt"):
        corpora.TextCorpus(f"{directory}/it.txt", ["it"])


def test_language_without_text(tmp_path):
    directory = write(tmp_path, {"en.txt": "a\n", "fr/1.txt": "b\n"})
    with pytest.raises(ValueError, match=r"'de', 'ja' .*'en', 'fr'\..*--config.data"):
        corpora.TextCorpus(directory, ["en", "de", "ja"])


def test_empty_files(tmp_path, warnings):
    directory = write(tmp_path, {"en/1.txt": "", "en/2.txt": "a\n"})
    assert list(corpora.TextCorpus(directory, ["en"]).lines("en")) == ["a"]
    assert warnings == [f"{directory}/en/1.txt is empty"]
    directory = write(tmp_path, {"de/1.txt": "", "de.txt": ""})
    with pytest.raises(ValueError, match=" de .*de.txt"):
        corpora.TextCorpus(directory, ["en", "de"])


def test_windows_line_ends_are_counted(tmp_path):
    files = {"en/1.txt": "a b\r\nc\r\n\r\nd\n", "en/2.txt.gz": "e\r", "de.txt": "f\n"}
    corpus = corpora.TextCorpus(write(tmp_path, files), ["en", "de"])
    assert list(corpus.lines("en")) == ["a b", "c", "", "d", "e"]
    found = corpora.inspect(corpus, Words().words, None)
    assert corpora.describe_repairs(found) == {"lines in en with Windows line ends": 4}
    bad = corpora.LineCounts(repaired_lines=2)
    assert corpora.describe_repairs({"de": bad}) == {"lines in de that are not UTF-8": 2}


def test_lines_of_all_kinds(tmp_path):
    data = b"\xef\xbb\xbffirst\r\n\r\nsecond\nbad \xff\xfe byte\n \t\nnul\0inside\nlast\r"
    directory = write(tmp_path, {"en/1.txt": data, "en/2.txt.gz": b"\xef\xbb\xbfzipped"})
    counts = corpora.LineCounts()
    read = list(corpora.TextCorpus(directory, ["en"]).lines("en", counts=counts))
    assert read == [
        "first",
        "",
        "second",
        "bad \ufffd\ufffd byte",
        " \t",
        "nul\0inside",
        "last",
        "zipped",
    ]
    assert counts == corpora.LineCounts(lines=8, repaired_lines=1, windows_lines=3, share=1.0)


def test_blocks_do_not_show(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(lines, "is_other_encoding", lambda *counts: False)
    monkeypatch.setattr(lines, "refuse_wide", lambda *some: None)
    pieces = [b"", b"a", "é銀🦊".encode(), b"\xff", b"\r", b"\n", b"\n\n", b"word " * 5]
    for case in range(30):
        data = b"".join(pieces[i] for i in rng.integers(0, len(pieces), 40)) + b"x"
        directory = write(tmp_path / str(case), {"en.txt": data})
        corpus = corpora.TextCorpus(directory, ["en"])
        expected = [
            line.removesuffix(b"\r").decode("utf-8", errors="replace") for line in data.split(b"\n")
        ]
        for block in (1, 3, 7, 1 << 20):
            monkeypatch.setattr(lines, "_BLOCK", block)
            assert list(corpus.lines("en")) == expected


def test_a_line_of_ten_megabytes(tmp_path):
    long = "wörter " * 1_500_000
    directory = write(tmp_path, {"en.txt": f"a\n{long}\nb"})
    assert list(corpora.TextCorpus(directory, ["en"]).lines("en")) == ["a", long, "b"]


def test_damaged_gzip(tmp_path):
    directory = write(tmp_path, {"en.txt.gz": "some text\n" * 10_000})
    path = tmp_path / "en.txt.gz"
    whole = path.read_bytes()
    for damaged in (whole[:-20], whole[:50] + bytes(20) + whole[70:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="en.txt.gz .*fetch it again"):
            list(corpora.TextCorpus(directory, ["en"]).lines("en"))


def test_limit_takes_whole_lines_from_every_file(tmp_path):
    lines = [f"line {i:05d} of a file" for i in range(20_000)]
    text = "\n".join(lines)
    directory = write(tmp_path, {"en/1.txt": text, "en/2.txt": text, "de.txt.gz": text})
    corpus = corpora.TextCorpus(directory, ["en", "de"])
    counts = corpora.LineCounts()
    read = list(corpus.lines("en", limit=100_000, counts=counts))
    half = len(read) // 2
    assert read == lines[:half] * 2 and 4_000 < len(read) < 4_800
    assert counts.share == pytest.approx(len(read) / 40_000, rel=0.01)
    # The share of a compressed file is estimated by its compressed bytes, in blocks.
    counts = corpora.LineCounts()
    read = list(corpus.lines("de", limit=10_000_000, counts=counts))
    assert read == lines and counts.share == 1.0
    # The line that crosses the limit is read to its end, even if it is the only one.
    directory = write(tmp_path, {"fr.txt": "x" * 5_000 + "\nsecond\n"})
    assert list(corpora.TextCorpus(directory, ["fr"]).lines("fr", limit=10)) == ["x" * 5_000]


def test_counts_words_as_line_by_line(tmp_path):
    text = "The bank, the BANK's 3.5\u00a0ﬁsh!\n我去银行。 我\n\n\0x \u2028 y\n" * 3
    directory = write(tmp_path, {"zh.txt": text})
    corpus, words = corpora.TextCorpus(directory, ["zh"]), Words({"zh": ["银行"]})
    counter, _ = corpus.count_words("zh", lambda raw: words.words(raw, "zh"))
    expected = collections.Counter(
        word for line in corpus.lines("zh") for word in words.words(line, "zh")
    )
    assert counter == expected and counter["银行"] == 3


def test_inspect(tmp_path, warnings):
    text = "the bank .\n\nthe shore \xff\n\n\n\n"
    directory = write(tmp_path, {"en.txt": text.encode("latin-1"), "zh.txt": "我去银行\n"})
    dictionary = Dictionary.from_pairs(
        {("en", "zh"): [("bank", "银行"), ("the", "这")], ("en", "fi"): [("shore", "ranta")]}
    )
    corpus = corpora.TextCorpus(directory, ["en", "zh"])
    found = corpora.inspect(corpus, Words({"zh": ["银行"]}).words, dictionary)
    english, chinese = found["en"], found["zh"]
    assert (english.lines, english.repaired_lines) == (6, 1)
    assert (english.words, english.covered_words, english.coverage) == (5, 4, 0.8)
    assert english.counted == 5 and list(english.counts.items())[:2] == [("the", 2), (".", 1)]
    assert english.frequent == ["the", "bank", "shore"]
    assert (chinese.words, chinese.covered_words) == (3, 1)
    assert warnings == [
        "en: 1 of 6 lines read are not UTF-8; their bad bytes are treated as spaces"
    ]
    without = corpora.inspect(corpus, Words().words, None)
    assert without["en"].covered_words == 0 and without["en"].words == 5


def test_inspect_extrapolates(tmp_path):
    rng = np.random.default_rng(0)
    text = "".join(f"{'bank ' * rng.integers(1, 9)}x{i:05d}\n" for i in range(20_000))
    directory = write(tmp_path, {"en.txt": text})
    dictionary = Dictionary.from_pairs({("en", "de"): [("bank", "ufer")]})
    corpus = corpora.TextCorpus(directory, ["en"])
    whole = corpora.inspect(corpus, Words().words, dictionary, None)["en"]
    part = corpora.inspect(corpus, Words().words, dictionary, len(text) // 10)["en"]
    for name in ("lines", "words", "covered_words", "coverage"):
        assert getattr(part, name) == pytest.approx(getattr(whole, name), rel=0.03), name


def test_swapped_dictionary_is_pointed_out(tmp_path, warnings):
    words = [f"word{i}" for i in range(50)]
    others = [f"wort{i}" for i in range(50)]
    directory = write(tmp_path, {"en.txt": " ".join(words * 3), "de.txt": " ".join(others)})
    corpus = corpora.TextCorpus(directory, ["en", "de"])
    straight = Dictionary.from_pairs({("en", "de"): list(zip(words, others))})
    assert corpora.inspect(corpus, Words().words, straight)["en"].coverage == 1.0
    assert warnings == []
    swapped = Dictionary.from_pairs({("en", "de"): list(zip(others, words))})
    assert corpora.inspect(corpus, Words().words, swapped)["en"].coverage == 0.0
    assert len(warnings) == 2
    assert "0.00%" in warnings[0] and "clwe-jax dictionary show" in warnings[0]
    assert "words in de cover 100%" in warnings[0] and "en-de.txt swapped" in warnings[0]


def test_a_dictionary_of_other_words_is_pointed_out(tmp_path, warnings):
    directory = write(tmp_path, {"en.txt": "completely different words\n"})
    dictionary = Dictionary.from_pairs({("en", "de"): [("bank", "ufer")]})
    corpora.inspect(corpora.TextCorpus(directory, ["en"]), Words().words, dictionary)
    assert len(warnings) == 1 and "swapped" not in warnings[0]
    assert "dictionary show --word WORD --lang en DIR" in warnings[0]


def test_temperature_shares():
    sizes = {"en": 900.0, "de": 90.0, "fr": 10.0, "xx": 0.0}
    assert corpora.temperature_shares(sizes, 1.0) == pytest.approx(
        {"en": 0.9, "de": 0.09, "fr": 0.01, "xx": 0.0}
    )
    shares = corpora.temperature_shares(sizes, 5.0)
    assert shares["en"] / shares["de"] == pytest.approx(10 ** (1 / 5))
    assert shares["de"] / shares["fr"] == pytest.approx(9 ** (1 / 5))
    assert sum(shares.values()) == pytest.approx(1) and shares["xx"] == 0
    assert corpora.temperature_shares({"en": 0, "de": 0}, 2.0) == {"en": 0, "de": 0}
    with pytest.raises(ValueError, match="config.data.temperature=0"):
        corpora.temperature_shares(sizes, 0)


def test_hidden_files_are_no_text(tmp_path):
    """macOS writes a ._NAME beside NAME on other systems' disks."""
    write(tmp_path, {"en/wiki.txt": "a\n", "en/._wiki.txt": "\0\x05", "._de.txt": "\0\x05"})
    assert corpora.files_of(str(tmp_path), "en") == [str(tmp_path / "en/wiki.txt")]
    with pytest.raises(ValueError, match="It has text in 'en'"):
        corpora.TextCorpus(str(tmp_path), ["de"])


def test_a_folder_that_may_not_be_listed_is_no_language(tmp_path, monkeypatch):
    write(tmp_path, {"en.txt": "a\n", "lost+found/x.txt": "a\n"})
    listdir = os.listdir

    def refuse(path):
        if str(path).endswith("lost+found"):
            raise PermissionError(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    assert corpora.files_of(str(tmp_path), "en") == [str(tmp_path / "en.txt")]
