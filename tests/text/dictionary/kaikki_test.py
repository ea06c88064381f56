"""Wiktionary's JSON lines of kaikki.org, files of other formats, and languages without the hub."""

import gzip
import json

import pytest

from clwe_jax.text import dictionary
from clwe_jax.text.dictionary import files, kaikki


def entry(word, *glosses, code="uk", **more):
    senses = [
        {"glosses": list(gloss) if isinstance(gloss, tuple) else [gloss]} for gloss in glosses
    ]
    return json.dumps({"word": word, "lang_code": code, "senses": senses, **more}) + "\n"


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "-").replace("_", ".")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(folder)


def test_glosses_of_words_and_translations_of_english_ones(tmp_path):
    text = entry(
        "книга", "book", "a (large) volume, tome", ("thing", "thing of several words here")
    )
    text += entry("книги", "x").replace('"glosses": ["x"]', '"glosses": ["x"], "form_of": [1]')
    text += entry("читати", "(transitive) to read", ("to peruse", "to skim"))
    english = {
        "translations": [{"lang_code": "uk", "word": "вода"}, {"code": "de", "word": "Wasser"}]
    }
    text += json.dumps({"word": "water", "lang_code": "en", "senses": [english]}) + "\n"
    path = tmp_path / "kaikki.org-dictionary-Ukrainian.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode()))
    expected = [
        ("uk", "книга", "book"),
        ("uk", "книга", "volume"),
        ("uk", "книга", "tome"),
        ("uk", "читати", "read"),
        ("uk", "читати", "skim"),
        ("uk", "вода", "water"),
        ("de", "Wasser", "water"),
    ]
    assert list(kaikki.iterate(str(path))) == expected
    merged = dictionary.load(str(tmp_path), ["uk", "en"])
    assert set(merged.pairs("uk", "en")) == {pair[1:] for pair in expected[:6]}


def test_a_line_that_is_no_entry_is_named(tmp_path):
    path = tmp_path / "uk.jsonl"
    path.write_text(entry("книга", "book") + '{"word": "x", "senses": 5, "lang_code": "uk"}\n')
    with pytest.raises(ValueError, match='uk.jsonl:2: .*expected {"word"'):
        list(kaikki.iterate(str(path)))


def test_the_names_of_vecmap(tmp_path):
    folder = write(tmp_path, de__en_train_txt="a x\nb y\n", de__en_test_txt="c z\nb y\n")
    merged = dictionary.load(folder, ["de", "en"], exclude=folder)
    assert merged.pairs("de", "en") == [("a", "x")] and merged.left_out == 1
    write(tmp_path, de__en_txt="a x\nb y\nc z\nd w\n")
    assert dictionary.load(folder, ["de", "en"]).pair_count == 4


@pytest.mark.parametrize(
    "name, message",
    [
        ("apertium-ukr-eng.ukr-eng.dix", "It has apertium-ukr-eng.ukr-eng.dix.*lt-expand"),
        ("freedict_tei", "It has freedict.tei, which is not read: .*pyglossary"),
        ("other_json", "It has other.json, which is not read: write lines"),
        ("UK__EN_txt", "rename it uk-en.txt"),
        ("notes_md", "It has notes.md"),
    ],
)
def test_files_of_other_formats_are_named(tmp_path, name, message):
    folder = write(tmp_path, **{name: "книга book\n"})
    with pytest.raises(ValueError, match=message):
        dictionary.load(folder, ["uk", "en"])


def test_a_third_column_says_what_to_do(tmp_path):
    folder = write(tmp_path, uk__en_txt="книга {ж}\tbook\tnoun\n")
    with pytest.raises(ValueError, match="found 3 .*cut -f1,2.*dict.cc"):
        dictionary.load(folder, ["uk", "en"])


def test_languages_without_the_hub_go_through_it(tmp_path):
    folder = write(
        tmp_path,
        en__uk_txt="book книга\nwater вода\nhouse дім\n",
        en__fa_txt="book کتاب\nwater آب\n",
        en__de_txt="book Buch\n",
    )
    merged = dictionary.load(folder, ["uk", "fa"])
    assert merged.languages == ("uk", "fa")
    assert set(merged.pairs("uk", "fa")) == {("книга", "کتاب"), ("вода", "آب")}
    named = [file.path.rpartition("/")[2] for file in files.find(folder, ["uk", "fa"])]
    assert named == ["en-fa.txt", "en-uk.txt"]
    # A dictionary of their own is enough, and is not mixed with composed pairs.
    write(tmp_path, fa__uk_txt="کتاب книжка\n")
    assert dictionary.load(folder, ["uk", "fa"]).pairs("uk", "fa") == [("книжка", "کتاب")]


def test_a_language_that_only_english_joins_goes_through_it(tmp_path):
    folder = write(
        tmp_path,
        uk__fa_txt="книга کتاب\n",
        en__uk_txt="book книга\nwater вода\n",
        en__br_txt="book levr\nwater dour\n",
    )
    merged = dictionary.load(folder, ["uk", "fa", "br"])
    assert set(merged.pairs("uk", "br")) == {("книга", "levr"), ("вода", "dour")}
    assert merged.pairs("uk", "fa") == [("книга", "کتاب")]
    with pytest.raises(ValueError, match="fa,br"):
        dictionary.load(folder, ["fa", "br"])


def test_translations_of_english_words_join_other_languages(tmp_path):
    words = [{"code": code, "word": f"{code}1"} for code in ("ab", "uk", "fa")]
    text = json.dumps({"word": "one", "lang_code": "en", "translations": words}) + "\n"
    folder = write(tmp_path, english_jsonl=text)
    assert dictionary.load(folder, ["uk", "fa"]).pairs("uk", "fa") == [("uk1", "fa1")]
    assert dictionary.load(folder, ["uk", "en"]).pairs("uk", "en") == [("uk1", "one")]
    assert files.pivot_of(files.find(folder, ["uk", "en"]), ["uk", "en"]) == ""


def test_a_run_may_name_languages_by_other_codes(tmp_path):
    entry = '{"word": "hund", "lang_code": "de", "senses": [{"glosses": ["dog"]}]}'
    (tmp_path / "german.jsonl").write_text(entry)
    xml = "<JMdict><entry><r_ele><reb>いぬ</reb></r_ele><sense><gloss>dog</gloss></sense></entry></JMdict>"
    (tmp_path / "JMdict_e").write_text(xml)
    read = dictionary.load(str(tmp_path), ["deu", "eng", "jpn"])
    assert list(read.pairs("deu", "eng")) == [("hund", "dog")]
    assert list(read.pairs("jpn", "eng")) == [("いぬ", "dog")]


@pytest.mark.parametrize(
    "name, advice",
    [
        ("de-en.dic", "rename it xx-yy.txt"),
        ("de-en.full.txt", "rename it xx-yy.txt"),
        ("de-en.csv", "with a tab between them"),
    ],
)
def test_a_file_that_is_no_dictionary_by_its_name(tmp_path, name, advice):
    (tmp_path / name).write_text("hund dog\n")
    with pytest.raises(ValueError, match=f"{name}, .*{advice}"):
        dictionary.load(str(tmp_path), ["de", "en"])
