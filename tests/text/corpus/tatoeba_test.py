"""Parallel text for evaluations: Tatoeba-format folders, good and bad."""

import pathlib
import re

import pytest

from clwe_jax.text.corpus import parallel
from clwe_jax.text.words.languages import code_of

DATA = pathlib.Path(__file__).parents[4] / "shared" / "data" / "retrieval" / "tatoeba"


def write(folder, **files):
    """write(folder, deu_eng_deu='...') writes tatoeba.deu-eng.deu."""
    for name, text in files.items():
        path = folder / "tatoeba.{}-{}.{}".format(*name.split("_"))
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def find(place, languages):
    return parallel.test_pairs(str(place), languages, "evals.retrieval.data")


def read(files, limit=0):
    pairs = parallel.read(files, limit)
    return pairs.source, pairs.target


def test_both_namings_are_found(tmp_path, said):
    write(tmp_path, deu_eng_deu="a\n", deu_eng_eng="b\n", cmn_eng_cmn="c\n", cmn_eng_eng="d\n")
    (tmp_path / "fr-en.fr").write_text("e\n")
    (tmp_path / "fr-en.en").write_text("f\n")
    (tmp_path / "README").write_text("not a pair")
    found = find(tmp_path, ("en", "de", "fr", "zh"))
    assert [p.name for p in found] == ["de-en", "fr-en", "zh-en"]
    assert [read(p) for p in found] == [(["a"], ["b"]), (["e"], ["f"]), (["c"], ["d"])]
    assert [p.name for p in find(tmp_path, ("en", "fr"))] == ["fr-en"]
    assert "de-en, zh-en" in said.text.replace("zh-en, de-en", "de-en, zh-en")
    assert find(tmp_path, ("en", "xx")) == []


def test_a_pair_that_stands_there_twice_is_read_once(tmp_path, said):
    write(tmp_path, deu_eng_deu="a\n", deu_eng_eng="b\n")
    (tmp_path / "de-en.de").write_text("first\n")
    (tmp_path / "de-en.en").write_text("one\n")
    [found] = find(tmp_path, ("en", "de"))
    assert read(found) == (["first"], ["one"])
    assert "de-en is also in" in said.text


def test_a_pair_that_stands_there_in_both_orders_is_read_once(tmp_path, said):
    """Both would be measured in both directions, under the same names."""
    for name in ("de-en.de", "de-en.en", "en-de.en", "en-de.de", "en-fr.en", "en-fr.fr"):
        (tmp_path / name).write_text(f"{name}\n")
    pairs = find(tmp_path, ("en", "de", "fr"))
    assert [pair.name for pair in pairs] == ["de-en", "en-fr"]
    assert read(pairs[0]) == (["de-en.de"], ["de-en.en"])
    assert re.search("en-de.en: left out, as de-en is also in .*de-en.de", said.text)


def test_odd_bytes_are_taken(tmp_path, said):
    source = b"\xef\xbb\xbfeins\r\nzw\xffei\r\n \r\nvier\xe2\x80\xa8f\xc3\xbcnf\r\n\r\n\r\n"
    write(tmp_path, deu_eng_deu=source, deu_eng_eng="one\ntwo\nthree\nfour\n\n\n")
    [pair] = find(tmp_path, ("en", "de"))
    source, target = read(pair)
    assert source == ["eins", "zw\ufffdei", "vier\u2028f\u00fcnf"]
    assert target == ["one", "two", "four"]
    assert re.search("3 lines of .* with an empty side", said.text)
    assert read(pair, limit=2) == (source[:2], target[:2])


def test_missing_folder_or_pairs(tmp_path):
    (tmp_path / "tatoeba.DEU-ENG.DEU").write_text("upper case\n")
    for folder in (tmp_path, tmp_path / "no"):
        with pytest.raises(FileNotFoundError, match=r"tatoeba\.xxx-eng\.xxx"):
            find(folder, ("en", "de"))


def test_codes():
    known = {"cmn": "zh", "pes": "fa", "swh": "sw", "nob": "no", "ell": "el", "eng": "en"}
    known["yue"] = "yue"  # Wikipedia's own zh-yue would be two parts of a pair's name
    assert {code: code_of(code) for code in known} == known
    assert code_of("de") == "de" and code_of("ceb") == "ceb"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}")
def test_real_pairs():
    languages = ("en", "de", "es", "fr", "ru", "zh", "ja", "nl", "hu", "eu", "uk", "vi")
    found = find(DATA, languages)
    assert {p.source for p in found} == set(languages) - {"en"}
    for pair in found:
        source, target = read(pair)
        assert len(source) == len(target) == 1000
        assert pair.target == "en" and not any("\ufffd" in line for line in source + target)
    german = dict(zip(*read(next(p for p in found if p.source == "de"))))
    assert german["Maria sagte, sie wisse nicht, wo Tom sei."] == (
        "Mary said she didn't know where Tom was."
    )
