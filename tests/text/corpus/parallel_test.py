"""Finding and reading parallel text: all formats, and input that cannot be right."""

import dataclasses
import gzip
import os
import zipfile

from absl import logging
import pytest

from clwe_jax.text.corpus import parallel

EN, DE = "a cat\na dog\n", "eine Katze\r\nein Hund\r\n"


def write(folder, **files):
    for name, text in files.items():
        name = name.replace("__", ".").replace("_", "-")
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return str(folder)


def read_all(place, languages=("en", "de", "fr")):
    found = {}
    for files in parallel.find(place, languages, "task.parallel"):
        pairs = parallel.read(files)
        found[files.source, files.target] = pairs.source, pairs.target
    return found


PAIRS = (["a cat", "a dog"], ["eine Katze", "ein Hund"])


def test_all_formats(tmp_path):
    expected = {("en", "de"): PAIRS}
    for number, files in enumerate(
        [
            {"en_de__en": EN, "en_de__de": DE},
            {"en_de__tsv": "\ufeffa cat\teine Katze\na dog\tein Hund\textra\n"},
            {"tatoeba__eng_deu__eng": EN, "tatoeba__eng_deu__deu": DE, "notes__txt": "no\n"},
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert read_all(write(folder, **files)) == expected
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(EN.encode()))
    write(tmp_path, train__de=DE, train__fr="un chat\nun chien", val__en="x\n", val__fr="y\n")
    found = read_all(str(tmp_path / "train"))
    assert set(found) == {("de", "en"), ("de", "fr"), ("en", "fr")}
    assert found["de", "en"] == PAIRS[::-1]


def test_all_files_of_two_languages_are_read_in_the_order_that_is_asked_for(tmp_path):
    write(tmp_path, A__en_de__en=EN, A__en_de__de=DE, B__de_en__tsv="ein Ei\tan egg\nTee\ttea\n")
    write(tmp_path, A__en_fr__tsv="no\tnon\n")
    bitexts = parallel.find(str(tmp_path), ("en", "de", "fr"), "data.pairs")
    german = ["eine Katze", "ein Hund", "ein Ei"]
    pairs = parallel.read_pair(bitexts, ("de", "en"), 3)
    assert (pairs.source, pairs.target) == (german, ["a cat", "a dog", "an egg"])
    assert parallel.read_pair(bitexts, ("en", "de"), 9).target == [*german, "Tee"]


def test_faulty_lines_are_counted(tmp_path):
    write(
        tmp_path, en_de__en="a\n\nc\nd\n", en_de__de="A\nB\n\nD", en_fr__tsv="a\tA\nno tab\n\tB\n"
    )
    both, table = parallel.find(str(tmp_path), ("en", "de", "fr"), "task.parallel")
    pairs = parallel.read(both)
    assert (pairs.source, pairs.target) == (["a", "d"], ["A", "D"])
    assert list(pairs.skipped.values()) == [2] and "empty side" in str(pairs.skipped)
    pairs = parallel.read(table)
    assert pairs.source == ["a"] and sorted(pairs.skipped.values()) == [1, 1]
    assert parallel.read(both, limit=1).source == ["a"]


@pytest.mark.parametrize(
    "files, message",
    [
        ({"en_de__en": EN, "en_de__de": "one\n"}, "2 lines and .* 1: line n"),
        ({"en_de__en": EN}, "en-de.de is missing"),
        ({"en_en__tsv": "a\tb\n"}, "the same language twice"),
        ({"en_de__en": "\n", "en_de__de": "x\n"}, "no line has a sentence"),
        ({"en_xx__tsv": "a\tb\n"}, "it has en-xx"),
        ({"notes__txt": "a\n"}, "names no parallel text"),
        (
            {"dev__en": EN, "dev__deu": "a\n"},
            "beginning of its files: --config.task.parallel=.*/dev$",
        ),
        ({"43JHNwo__usfm": "\\id JHN\n"}, "43JHNwo.usfm.*Python make a verse file"),
        ({"43JHNwo__SFM": "\\id JHN\n"}, "43JHNwo.SFM.*docs/data.md#verse-files-of-usfm-and-osis"),
        ({"wo__osis__xml": "<osis/>"}, "wo.osis.xml.*Python make a verse file"),
    ],
)
def test_bad_input_is_named(tmp_path, files, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read_all(write(tmp_path, **files))


def test_two_files_of_one_language_are_refused(tmp_path):
    write(tmp_path, train__en=EN, train__fa="a\n", train__pes="b\n")
    with pytest.raises(ValueError, match="train.fa .*train.pes .* fa: keep one"):
        parallel.find(str(tmp_path / "train"), ("en", "fa"), "task.parallel")


def test_a_test_says_why_it_measures_nothing(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(logging, "warning", lambda text, *args: said.append(text % args))
    write(tmp_path, en_de__tsv="a\tb\n")
    find = lambda languages, asked=(): parallel.test_pairs(str(tmp_path), languages, "e", asked)
    assert find(("en", "de"), [("en", "de")]) and not said
    assert not find(("en", "fr")) and "no pair has both languages among en, fr" in said.pop()
    assert not find(("en", "de", "fr"), [("en", "fr"), ("fr", "en")])
    [reason] = said
    assert reason.endswith("measures nothing: config.static.pairs asks for none of its pairs")


def test_a_damaged_file_and_a_lone_side_are_named(tmp_path):
    (tmp_path / "en-de.tsv.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="damaged"):
        read_all(str(tmp_path))
    (tmp_path / "en-de.tsv.gz").write_bytes(gzip.compress("a\tb\n".encode("utf-16")))
    with pytest.raises(ValueError, match="en-de.tsv.gz:1: .*iconv -f UTF-16"):
        read_all(str(tmp_path))
    write(tmp_path, dev__en=EN)
    with pytest.raises(ValueError, match="no other side"):
        read_all(str(tmp_path / "dev"))


TMX = """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-US"><seg>a <bpt i="1">&lt;b&gt;</bpt>cat<ept i="1">&lt;/b&gt;</ept></seg></tuv>
<tuv xml:lang="DE"><seg>eine
  Katze</seg></tuv><tuv xml:lang="fr"><seg>un chat</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>a dog</seg></tuv><tuv xml:lang="de"><seg>ein Hund</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu>
</body></tmx>"""


def test_tmx(tmp_path):
    (tmp_path / "memory.tmx").write_text(TMX, encoding="utf-8")
    found = read_all(str(tmp_path))
    assert found["de", "en"] == PAIRS[::-1]
    assert found["en", "fr"] == (["a cat"], ["un chat"]) and found["de", "fr"][0] == ["eine Katze"]
    given = parallel.read_all(str(tmp_path), ("fr", "en"), "data.pairs")
    assert given.sentences == {"fr": ["un chat"], "en": ["a cat"]}
    assert list(given.skipped.values()) == [2]
    (tmp_path / "memory.tmx").write_text(TMX[:300], encoding="utf-8")
    with pytest.raises(ValueError, match=r"memory.tmx:\d"):
        read_all(str(tmp_path))


@pytest.mark.parametrize("language, tag", [("pt_br", "pt-BR"), ("zh_tw", "zh-TW"), ("zh", "zh-TW")])
def test_tmx_of_a_country(tmp_path, language, tag):
    (tmp_path / "memory.tmx").write_text(TMX.replace("DE", tag).replace("de", tag), "utf-8")
    given = parallel.read_all(str(tmp_path), ("en", language), "data.pairs")
    assert given.sentences[language] == PAIRS[1]
    [files] = parallel.find(str(tmp_path), ("en", language), "data.pairs")
    both = dataclasses.replace(files, source="zh_hans", target="zh_hant")
    with pytest.raises(ValueError, match="no line has a sentence and its translation"):
        parallel.read(both)


def test_all_text_of_a_place_is_read_once(tmp_path):
    write(tmp_path, train__en=EN, train__de=DE, train__fr="un chat\nun chien")
    given = parallel.read_all(str(tmp_path / "train"), ("en", "de", "fr"), "data.pairs")
    assert given.sentences["en"] == ["a cat", "a dog"] and given.texts["en"] == 2
    assert {pair: rows.tolist() for pair, rows in given.pairs.items()} == {
        pair: [[0, 0], [1, 1]] for pair in [("en", "de"), ("en", "fr"), ("de", "fr")]
    }


def test_other_formats_become_lines_for_tensorflow(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "en-de.tmx").write_text(TMX, encoding="utf-8")
    [files] = parallel.find(str(tmp_path), ("en", "de"), "data.pairs")
    lines = parallel.as_lines(files, parallel.Reader())
    assert parallel.read(lines).target == PAIRS[1]
    # A second reader takes the files that are there.
    assert parallel.as_lines(files, None).paths == lines.paths


@pytest.mark.parametrize(
    "line", ["1.05\t{}\t{}", "123\t{}\t456\t{}", "http://a.b/c\thttps://d.e\t{}\t{}\t0.7"]
)
def test_scores_numbers_and_addresses_are_no_sentences(tmp_path, line):
    lines = (line.format(a, b) for a, b in zip(*PAIRS))
    write(tmp_path, en_de__tsv="".join(f"{x}\n" for x in lines))
    assert read_all(str(tmp_path)) == {("en", "de"): PAIRS}


def test_a_corpus_has_its_name_before_the_languages(tmp_path):
    write(tmp_path, Tanzil__en_de__en=EN, Tanzil__en_de__de=DE)
    write(tmp_path, Books__en_pt_BR__tsv="a\tb\n")
    (tmp_path / "Books.en-pt-BR.tsv").rename(tmp_path / "Books.en-pt_BR.tsv")
    found = read_all(str(tmp_path), ("en", "de", "pt"))
    assert found == {("en", "de"): PAIRS, ("en", "pt"): (["a"], ["b"])}


@pytest.mark.parametrize(
    "name, advice",
    [
        ("de-en.csv", "with a tab between them"),
        ("de-en.jsonl", "`jq -r"),
        ("train.de", "its name is none of those expected"),
    ],
)
def test_an_unread_file_is_named(tmp_path, name, advice):
    (tmp_path / name).write_text("a,b\n")
    (tmp_path / "README").write_text("a\n")
    with pytest.raises(FileNotFoundError, match=f"{name}, .*{advice}"):
        read_all(str(tmp_path))


def test_the_cache_knows_times_and_references(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path, vref__txt="GEN 1:1\nGEN 1:2\n", en__txt="one\ntwo\n", sw__txt="moja\n\n")

    def source():
        [files] = parallel.find(str(tmp_path), ("en", "sw"), "data.pairs")
        return parallel.as_lines(files, parallel.Reader()).paths[0]

    first = source()
    assert source() == first
    write(tmp_path, vref__txt="GEN 1:1\nGEN 1:3\n")
    second = source()
    assert second != first
    os.utime(tmp_path / "en.txt", (1, 1))  # a correction of equal length may leave the stamp
    third = source()
    assert third != second
    monkeypatch.setattr(parallel, "_CACHE_VERSION", "another release's readers")
    assert source() != third


def test_hidden_files_and_archives_of_the_files_beside_them_are_no_text(tmp_path):
    write(tmp_path, Tanzil__en_de__en=EN, Tanzil__en_de__de=DE)
    (tmp_path / "._Tanzil.en-de.de").write_bytes(b"\0\x05\x16\x07")
    (tmp_path / "._en.tsv").write_bytes(b"\0\x05\x16\x07")
    with zipfile.ZipFile(tmp_path / "de-en.txt.zip", "w") as archive:
        archive.writestr("Tanzil.en-de.en", EN)
        archive.writestr("Tanzil.en-de.de", DE)
    assert read_all(str(tmp_path)) == {("en", "de"): PAIRS}


def test_a_lone_bible_is_named(tmp_path):
    write(tmp_path, de__tsv="MAT 1:1\teins\n")
    with pytest.raises(FileNotFoundError, match=r"verses in 'de' alone \(.*/de.tsv\)"):
        read_all(str(tmp_path))
    write(tmp_path, en__tsv="ref\ttext\nMAT 1:1\tone\n")  # a header is no reason to drop it
    assert read_all(str(tmp_path)) == {("en", "de"): (["one"], ["eins"])}
    write(tmp_path, en__tsv="one\tmore\n", de__tsv="eins\tmehr\n")
    with pytest.raises(FileNotFoundError, match="its first lines have no reference"):
        read_all(str(tmp_path))


@pytest.mark.parametrize("count", [1, 50])
def test_a_column_of_one_value_is_no_sentence(tmp_path, count):
    """As the tables of the Tatoeba Challenge, which begin with the languages."""
    rows = [f"eng\tdeu\t{a}{n}\t{b}{n}\n" for n in range(count) for a, b in zip(*PAIRS)]
    write(tmp_path, en_de__tsv="".join(rows))
    [(source, target)] = read_all(str(tmp_path)).values()
    assert (source[0], target[0], len(source)) == ("a cat0", "eine Katze0", 2 * count)
    write(tmp_path, en_de__tsv="a\tA\na\tB\n")  # a sentence may have several translations
    assert read_all(str(tmp_path)) == {("en", "de"): (["a", "a"], ["A", "B"])}


def test_quotes_of_a_table_are_those_of_csv(tmp_path):
    write(tmp_path, en_de__tsv='"He said ""yes"""\t"Er sagte ""ja"""\n"a"\t"b"\n')
    assert read_all(str(tmp_path)) == {
        ("en", "de"): (['He said "yes"', '"a"'], ['Er sagte "ja"', '"b"'])
    }
