"""Reading dictionaries: formats, bad input, options, cache; and the command line."""

import gzip
import os

import numpy as np
import pytest
from absl import logging

from clwe_jax.text import dictionary
from clwe_jax.text.dictionary import merged, pair_files
from clwe_jax.text.dictionary import __main__ as command_line
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


@pytest.fixture
def folder(tmp_path):
    """Writes files into a folder: folder(name=text) or folder({name: text or bytes})."""

    def write(files):
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode("utf-8")
            (tmp_path / name).write_bytes(data)
        return str(tmp_path)

    return write


@pytest.fixture
def warnings(monkeypatch):
    """The texts of logged warnings."""
    found = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: found.append(text % values))
    return found


@pytest.mark.parametrize(
    "name, expected",
    [
        ("en-de.txt", ("en", "de", "")),
        ("en-de.txt.gz", ("en", "de", "")),
        ("en-fil.5000-6500.txt.gz", ("en", "fil", "5000-6500")),
        ("en-de.0-5000.txt", ("en", "de", "0-5000")),
        ("en-de.txt.part", None),
        ("en-de.zip", None),
        ("EN-DE.txt", None),
        ("en.txt", None),
    ],
)
def test_names_of_files(name, expected):
    file = pair_files.parse_name(os.path.join("folder.a-b", name))
    assert (file and file[1:]) == expected


def test_merges_all_files_both_ways(folder):
    path = folder(
        {
            "en-de.txt": "bank bank\nbank ufer\nThe DIE\n",
            "de-en.txt": "bank bench\nufer shore\n",
            "en-fr.txt": "bank banque\n",
            "notes.txt": "nothing here\n",
            "en-de.0-5000.txt": "bank ufer\nbank damm\n",
            "en-de.5000-6500.txt": "bank split\n",
        }
    )
    loaded = dictionary.load(path)
    assert loaded.languages == ("de", "en", "fr")
    assert loaded.synonyms("bank", "en") == {"de": ["bank", "ufer", "damm"], "fr": ["banque"]}
    assert loaded.synonyms("bank", "de") == {"en": ["bench", "bank"]}
    assert loaded.synonyms("banque", "fr") == {"en": ["bank"]}
    assert loaded.synonyms("the", "en") == {"de": ["die"]}
    assert loaded.skipped == {}


def test_random_files_equal_plain_sets(folder):
    rng = np.random.default_rng(0)
    known, files = {}, {}
    for left, right in (("en", "de"), ("de", "en"), ("en", "ja"), ("fr", "de")):
        lines = []
        for _ in range(200):
            a, b = f"w{rng.integers(40)}", "語" * rng.integers(1, 40)
            lines.append(f"{a}{' ' if rng.integers(2) else chr(9)}{b}\n")
            known.setdefault((left, a), {}).setdefault(right, set()).add(b)
            known.setdefault((right, b), {}).setdefault(left, set()).add(a)
        files[f"{left}-{right}.txt"] = "".join(lines)
    loaded = dictionary.load(folder(files))
    found = {
        (language, word): {k: set(v) for k, v in loaded.synonyms(word, language).items()}
        for language in loaded.languages
        for word in loaded.language_words(language)
    }
    assert found == known


def test_order_of_listing_does_not_matter(folder, monkeypatch):
    path = folder({"en-de.txt": "a x\nb y\n", "de-fr.txt": "x u\nz v\n", "en-fr.txt": "a v\n"})
    first = dictionary.load(path)
    listing = os.listdir
    monkeypatch.setattr(os, "listdir", lambda where: sorted(listing(where), reverse=True))
    second = dictionary.load(path)
    for name in merged.Dictionary.ARRAYS:
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_formats(folder):
    path = folder(
        {
            "en-de.txt": b"\xef\xbb\xbfnew york\tneu york\r\none eins\r\n\r\n  two   zwei  \n"
            b"three\tdrei",
            "en-fr.txt.gz": gzip.compress("ﬁve cinq\n".encode()),
        }
    )
    loaded = dictionary.load(path)
    assert dict(loaded.pairs("en", "de")) == {
        "new york": "neu york",
        "one": "eins",
        "two": "zwei",
        "three": "drei",
    }
    assert loaded.pairs("en", "fr") == [("five", "cinq")]
    assert loaded.skipped == {} and loaded.windows == {"en-de.txt": 3}


def test_raw_pairs(tmp_path):
    path = tmp_path / "pairs"
    path.write_bytes(
        b"\xef\xbb\xbfOne eins\r\n two\t zwei \n\nthree \xff\nfour\nfive  f\xc3\xbcnf\n"
        b"new york\tneuyork\n"
    )
    pairs = dictionary.read_pairs(str(path))
    assert pairs.left == ["One", "two", "five", "new york"]
    assert pairs.right == ["eins", "zwei", "fünf", "neuyork"]
    assert pairs.bad_count == 2
    assert [bad.partition(": ")[0] for bad in pairs.bad] == ["line 4", "line 5"]
    path.write_bytes(b"\xef\xbb\xbfOne eins\n")
    assert dictionary.read_pairs(str(path)).left == ["One"]


def test_bad_lines_are_skipped_counted_and_named(folder, warnings):
    lines = [b"good gut", b"lonely", b"a b c d e", b"bad \xff\xfe", b"x\ty\tz", b"also auch"]
    loaded = dictionary.load(folder({"en-de.txt": b"\n".join(lines)}))
    assert loaded.pairs("en", "de") == [("good", "gut"), ("also", "auch")]
    assert loaded.skipped == {"en-de.txt": 4}
    (text,) = warnings
    assert "en-de.txt: skipped 4 lines" in text
    assert "line 2: expected 2 columns, found 1: 'lonely'" in text
    assert "line 3: expected 2 columns, found 5" in text
    assert "line 4: not UTF-8" in text


def test_words_are_normalised(folder):
    path = folder({"en-de.txt": "ＣＡＦÉ Cafe\u0301\ncafé cafe\u0301\nso\u00adft weich\n\0 x\n"})
    loaded = dictionary.load(path)
    assert loaded.pairs("en", "de") == [("café", "café"), ("soft", "weich")]
    kept = dictionary.load(path, normalizer=Normalizer(lower_case=False))
    assert kept.pairs("en", "de") == [("CAFÉ", "Café"), ("café", "café"), ("soft", "weich")]


def test_languages_are_chosen_and_ordered(folder, warnings):
    path = folder({"en-de.txt": "a x\n", "en-fr.txt": "a u\n", "de-fr.txt": "x u\n"})
    loaded = dictionary.load(path, ["fr", "sw", "en"])
    assert loaded.languages == ("fr", "sw", "en")
    assert loaded.synonyms("a", "en") == {"fr": ["u"]}
    assert len(loaded) == 2
    assert any("in sw" in text for text in warnings)


def test_cleaning(folder):
    text = "radio radio\nradio funk\n" + "".join(f"get g{i}\n" for i in range(9)) + "few f\n"
    path = folder({"en-de.txt": text})
    assert len(dictionary.load(path).pairs("en", "de")) == 12
    clean = dictionary.load(path, clean=["identical"]).pairs("en", "de")
    assert ("radio", "radio") not in clean and len(clean) == 11
    clean = dictionary.load(path, clean=["one_to_many"]).pairs("en", "de")
    assert clean == [("radio", "radio"), ("radio", "funk"), ("few", "f")]
    clean = dictionary.load(path, clean=["identical", "one_to_many:1"]).pairs("en", "de")
    assert clean == [("radio", "funk"), ("few", "f")]
    clean = dictionary.load(path, clean=["one_to_many:1"]).pairs("en", "de")
    assert clean == [("few", "f")]
    with pytest.raises(ValueError, match="dictionary_clean.*identical, one_to_many"):
        dictionary.load(path, clean=["identicall"])


def test_test_words_are_left_out(folder, tmp_path):
    path = folder({"en-de.txt": "a x\na y\nb x\nc z\n", "en-fr.txt": "a u\n"})
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "en-de.5000-6500.txt").write_text("A x\n")
    (tests / "en-de.0-5000.txt").write_text("c z\n")
    (tests / "fr-en.5000-6500.txt").write_text("v b\n")
    loaded = dictionary.load(path, exclude=str(tests))
    assert loaded.pairs("en", "de") == [("c", "z")]
    assert loaded.pairs("en", "fr") == [("a", "u")]
    one = dictionary.load(path, exclude=[str(tests / "en-de.0-5000.txt")])
    assert ("c", "z") not in one.pairs("en", "de") and len(one.pairs("en", "de")) == 3
    # Test words of the other direction count too.
    (tests / "de-en.5000-6500.txt").write_text("z other\n")
    assert dictionary.load(path, exclude=str(tests)).pairs("en", "de") == []
    with pytest.raises(FileNotFoundError, match="exclude_dictionaries"):
        dictionary.load(path, exclude=str(tmp_path / "absent"))


def test_text_is_cut_at_words_whose_pairs_are_left_out(folder, tmp_path):
    path = folder({"en-zh.txt": "bank 银行\nriver 河\n"})
    test = tmp_path / "en-zh.5000-6500.txt"
    test.write_text("bank 银行\nmoney 钱币\n")
    cache = str(tmp_path / "cache")
    for _ in range(2):  # merged, then from the cache
        loaded = dictionary.load(path, exclude=str(test), cache_dir=cache)
        assert loaded.language_words("zh") == ["河"] and loaded.id("银行", "zh") == -1
        assert list(loaded.lexicon("zh")) == ["河", "银行", "钱币"]
        assert list(loaded.lexicon("en")) == ["river", "bank", "money"]
        restricted = loaded.restrict(["zh", "en"])
        assert list(restricted.lexicon("zh")) == ["河", "银行", "钱币"]
        assert restricted.pairs("zh", "en") == [("河", "river")]
        assert Segmenter({"zh": loaded.lexicon("zh")}).words("河银行", "zh") == ["河", "银行"]


def test_cache_is_used_and_renewed(folder, tmp_path, monkeypatch, warnings):
    path = folder({"en-de.txt": "a x\nbad\n"})
    cache = str(tmp_path / "cache")
    first = dictionary.load(path, cache_dir=cache)
    (stored,) = os.listdir(cache)
    with monkeypatch.context() as patch:
        patch.setattr(dictionary, "read_pairs", lambda path: pytest.fail("read again"))
        second = dictionary.load(path, cache_dir=cache)
    for name in merged.Dictionary.ARRAYS:
        assert np.array_equal(getattr(first, name), getattr(second, name))
        assert getattr(first, name).dtype == getattr(second, name).dtype
    assert second.languages == first.languages and second.skipped == {"en-de.txt": 1}
    # Other options or other files make another cached dictionary.
    assert dictionary.load(path, clean=["identical"], cache_dir=cache).pair_count == 1
    folder({"en-de.txt": "a x\nb y\n"})
    assert dictionary.load(path, cache_dir=cache).pair_count == 2
    assert len(os.listdir(cache)) == 3
    # A damaged cache is written again.
    for name in os.listdir(cache):
        with open(os.path.join(cache, name), "r+b") as file:
            file.truncate(60)
    warnings.clear()
    assert dictionary.load(path, cache_dir=cache).pair_count == 2
    assert "merging" in warnings[0]
    assert stored in os.listdir(cache)


def test_the_cache_knows_how_words_are_made(folder, tmp_path, monkeypatch):
    path = folder({"en-de.txt": "ma’am Straße\n"})
    cache = str(tmp_path / "cache")
    words = []
    for normalizer in (Normalizer(), Normalizer(bert=True)):
        loaded = dictionary.load(path, normalizer=normalizer, cache_dir=cache)
        words += loaded.language_words("en")
    assert words == ["ma'am", "ma ’ am"]
    monkeypatch.setattr(dictionary, "RULES", "others", raising=False)
    dictionary.load(path, cache_dir=cache)
    assert len(os.listdir(cache)) == 3


def test_a_third_column_of_numbers_is_no_fault(tmp_path):
    path = tmp_path / "en-de.txt"
    path.write_text("house\tHaus\t3.50\nbig house\tgroßes Haus\t2\na\tb\tc\n", encoding="utf-8")
    found = pair_files.read_pairs(str(path))
    assert list(zip(found.left, found.right)) == [("house", "Haus"), ("big house", "großes Haus")]
    assert found.bad_count == 1


def test_swapped_columns_are_pointed_out(folder, warnings):
    english = [f"word{i}" for i in range(100)]
    german = [f"wort{i}" for i in range(100)]
    french = [f"mot{i}" for i in range(100)]
    straight = "".join(f"{a} {b}\n" for a, b in zip(english, german))
    swapped = "".join(f"{b} {a}\n" for a, b in zip(english, french))
    dictionary.load(folder({"en-de.txt": straight}))
    assert warnings == []
    dictionary.load(folder({"en-de.txt": straight, "en-fr.txt": swapped}))
    assert len(warnings) == 1
    assert "en-fr.txt: its columns look swapped" in warnings[0]
    assert "rename it fr-en.txt" in warnings[0]


def test_languages_that_share_words_are_not_taken_for_swapped(folder, warnings):
    shared = [f"a{i}" for i in range(100)]
    german_english = "".join(f"{a} {b}\n" for a, b in zip(shared, shared[:90] + ["b"] * 10))
    english_german = "".join(f"{a} {b}\n" for a, b in zip(shared[80:], shared))
    dictionary.load(folder({"de-en.txt": german_english, "en-de.txt": english_german}))
    assert warnings == []


def test_missing_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="config.data.dictionaries.*clwe-jax data muse"):
        dictionary.load(str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match="en-de.txt"):
        dictionary.load([str(tmp_path / "en-de.txt")])


def test_nothing_to_read(folder):
    with pytest.raises(ValueError, match="no xx-yy.txt"):
        dictionary.load(folder({"readme.txt": "x y\n", "en-en.txt": "a a\n"}))


@pytest.mark.parametrize(
    "lines, options, expected",
    [
        ("only\nthis that other\n", dict(), "2 lines of en-it.txt are no pair of words"),
        ("", dict(), "the files are empty"),
        ("a a\n", dict(clean=("identical",)), "config.data.dictionary_clean=identical"),
    ],
)
def test_no_pair_is_left(folder, lines, options, expected):
    place = folder({"en-it.txt": lines})
    with pytest.raises(ValueError, match=f"en-it.txt: {expected}"):
        dictionary.load(place, ["en", "it"], **options)


def test_languages_in_capitals_and_a_file_in_place_of_a_folder(folder):
    place = folder({"EN-IT.txt": "dog cane\n"})
    with pytest.raises(ValueError, match="EN-IT.txt: .* en-it.txt"):
        dictionary.load(place, ["en", "it"])
    with pytest.raises(FileNotFoundError, match="EN-IT.txt"):
        dictionary.load(f"{place}/EN-IT.txt", ["en", "it"])


def test_no_dictionary_between_the_languages(folder):
    with pytest.raises(ValueError, match=r"fr,ja; .*en-de"):
        dictionary.load(folder({"en-de.txt": "a x\n"}), ["fr", "ja"])


def test_empty_file(folder, warnings):
    loaded = dictionary.load(folder({"en-de.txt": "", "en-fr.txt": "a u\n"}))
    assert loaded.pair_count == 1
    assert any("en-de.txt: holds no pair" in text for text in warnings)


def test_damaged_gzip(folder):
    data = gzip.compress(b"a x\n" * 1000)
    for damaged in (data[:-20], data[:30] + bytes(9) + data[39:]):
        with pytest.raises(ValueError, match="en-de.txt.gz .*fetch it again"):
            dictionary.load(folder({"en-de.txt.gz": damaged}))


def test_read_only_cache_is_only_a_warning(folder, tmp_path, warnings):
    path = folder({"en-de.txt": "a x\n", "taken": "a file"})
    assert dictionary.load(path, cache_dir=str(tmp_path / "taken")).pair_count == 1
    assert any("is not kept" in text for text in warnings)


def test_command_line_in_its_own_process(folder, tmp_path, run_python):
    path = folder({"en-de.txt": "bank bank\nbank ufer\n", "en-fr.txt": "bank banque\nlone\n"})
    cache = ("--cache", tmp_path / "cache")
    command = ("-X", "importtime", "-m", "clwe_jax.text.dictionary")
    done = run_python(*command, "show", "--word", "Bank", "--lang", "en", *cache, path)
    assert done.stdout == "en: bank   de:bank, de:ufer, fr:banque\n"
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"jax", "flax", "tensorflow"}, "it has to start fast"
    done = run_python(*command[2:], "show", "--word", "x", *cache, path, check=False)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].endswith("has no 'x'")


def test_show_in_all_languages(folder, tmp_path, capsys):
    path = folder({"en-de.txt": "bank bank\nbank ufer\n"})
    command_line.main(["show", "--word", "bank", "--cache", str(tmp_path / "c"), path])
    assert capsys.readouterr().out == "de: bank   en:bank\nen: bank   de:bank, de:ufer\n"
    with pytest.raises(SystemExit, match="'fr'; .*de, en"):
        command_line.main(["show", "--word", "bank", "--lang", "fr", "--cache", "", path])


def test_stats(folder, tmp_path, capsys):
    text = tmp_path / "text"
    text.mkdir()
    (text / "en.txt").write_text("the bank , the bank\n")
    path = folder({"en-de.txt": "bank bank\nbank ufer\nlone\n", "en-zh.txt": "bank 银行\n"})
    arguments = ["stats", "--cache", "", "--text", str(text), path]
    command_line.main(arguments)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["de", "2", "2", "1", "0"] in rows
    assert ["en", "1", "3", "2", "0", "40.0%"] in rows
    assert ["zh", "1", "1", "1", "1"] in rows
    assert "3 pairs of 4 words.".split() in rows
    assert "Lines skipped: en-de.txt: 1".split() in rows


def test_no_such_directory_on_the_command_line():
    with pytest.raises(SystemExit, match="Error: .* absent"):
        command_line.main(["stats", "--cache", "", "absent"])


def test_comments_are_no_pairs(folder):
    text = "# dict.cc :: de-en\tcopyright\n# three words here\n#\t#\n#hash\t#rute\na x\n"
    path = folder({"en-de.txt": text})
    pairs = pair_files.read_pairs(f"{path}/en-de.txt")
    assert list(zip(pairs.left, pairs.right)) == [("#", "#"), ("#hash", "#rute"), ("a", "x")]
    assert not pairs.bad_count


def test_a_dictionary_in_another_encoding_is_named(folder):
    text = "прийшов came\nвін he\nдощ rain\nзавтра tomorrow\n".encode("cp1251")
    with pytest.raises(ValueError, match="uk-en.txt:1: not UTF-8 .4 of 4 lines.*WINDOWS-1251"):
        dictionary.load(folder({"uk-en.txt": text}))


def test_rejected_pairs_leave_the_dictionary_and_are_kept(folder, warnings, tmp_path_factory):
    path = folder(
        {
            "en-de.txt": "bank bank\nbank ufer\nhouse haus\n",
            "de-en.not.txt": "Ufer\tBank\nhaus\tmouse\n",
            "de-fr.not.txt": "haus maison\n",
        }
    )
    cache = str(tmp_path_factory.mktemp("cache"))
    for _ in range(2):  # the second comes from the cache
        found = dictionary.load(path, ["en", "de"], cache_dir=cache)
        assert found.pairs("en", "de") == [("bank", "bank"), ("house", "haus")]
        assert found.rejected_pairs("en", "de") == {("bank", "ufer"), ("mouse", "haus")}
        assert found.restrict(["de", "en"]).rejected == found.rejected
    assert not warnings
    # Another judgement is another dictionary; one that leaves no pair is no error.
    folder({"de-en.not.txt": "Ufer\tBank\nBank\tBank\nHaus\tHouse\n"})
    found = dictionary.load(path, ["en", "de"], cache_dir=cache)
    assert not found.pair_count and len(found.rejected) == 3


def test_a_file_of_another_format_is_refused(folder):
    """CC-CEDICT begins with lines of two columns."""
    entries = "".join(f"世{n} 世{n} [shi4 jie4] /world/\n" for n in range(20))
    text = "# CC-CEDICT\n#! version=1\n" + entries
    with pytest.raises(
        ValueError, match="zh-en.txt: 20 lines are no pair of words: line 3: expected 2"
    ):
        dictionary.load(folder({"zh-en.txt": text}))
    pairs = "".join(f"世{n} world\n" for n in range(21))
    assert dictionary.load(folder({"zh-en.txt": pairs + entries})).pair_count == 21
