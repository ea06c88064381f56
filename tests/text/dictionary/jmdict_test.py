"""The JMdict reader, on a small file in the published format."""

import gzip

import pytest

from clwe_jax.text import dictionary
from clwe_jax.text.dictionary import jmdict

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE JMdict [
<!ELEMENT JMdict (entry*)>
<!ENTITY n "noun (common) (futsuumeishi)">
<!ENTITY uk "word usually written using kana alone">
]>
<JMdict>
"""
ENTRIES = """<entry><ent_seq>1</ent_seq>
<k_ele><keb>銀行</keb></k_ele><k_ele><keb>ＡＴＭ銀行</keb></k_ele><r_ele><reb>ぎんこう</reb></r_ele>
<sense><pos>&n;</pos><gloss>bank</gloss><gloss>banking institution</gloss>
<gloss xml:lang="ger">Bank</gloss><gloss xml:lang="xyz">nowhere</gloss></sense></entry>
<entry><ent_seq>2</ent_seq><r_ele><reb>バス</reb></r_ele>
<sense><gloss>bus (vehicle)</gloss><gloss>(esp. in Japan) coach</gloss></sense></entry>
<entry><ent_seq>3</ent_seq><k_ele><keb>食べる</keb></k_ele><r_ele><reb>たべる</reb></r_ele>
<sense><gloss>to eat</gloss><gloss>to live on (e.g. a salary) for long years</gloss></sense></entry>
<entry><ent_seq>4</ent_seq><k_ele><keb>林檎</keb></k_ele><r_ele><reb>りんご</reb></r_ele>
<sense><misc>&uk;</misc><gloss>apple</gloss><gloss></gloss></sense></entry>
"""


@pytest.fixture(params=["JMdict_e", "JMdict.gz"])
def path(request, tmp_path):
    data = (HEAD + ENTRIES + "</JMdict>\n").encode("utf-8")
    path = tmp_path / request.param
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def pairs(path, language):
    return [(word, gloss) for word, code, gloss in jmdict.iterate(path) if code == language]


def test_english(path):
    assert pairs(path, "en") == [
        ("銀行", "bank"),
        ("ＡＴＭ銀行", "bank"),
        ("銀行", "banking institution"),
        ("ＡＴＭ銀行", "banking institution"),
        ("バス", "bus"),
        ("バス", "coach"),
        ("食べる", "eat"),
        ("林檎", "apple"),
        ("りんご", "apple"),
    ]


def test_other_languages(path):
    assert pairs(path, "de") == [("銀行", "Bank"), ("ＡＴＭ銀行", "Bank")]
    assert pairs(path, "fr") == []


def test_is_found_in_a_directory_and_merged(path, tmp_path):
    (tmp_path / "en-ja.txt").write_text("bank 銀行\nbus バス停\n", encoding="utf-8")
    loaded = dictionary.load(str(tmp_path), ["en", "ja"])
    assert loaded.synonyms("bank", "en") == {"ja": ["銀行", "atm 銀行"]}
    assert set(loaded.synonyms("bus", "en")["ja"]) == {"バス", "バス停"}
    assert loaded.synonyms("りんご", "ja") == {"en": ["apple"]}
    assert dictionary.load(str(tmp_path), ["de", "ja"]).synonyms("bank", "de") == {
        "ja": ["銀行", "atm 銀行"]
    }


def test_streams(tmp_path):
    # The reader yields an entry before it reads the file to its end.
    path = tmp_path / "JMdict"
    path.write_text(HEAD + ENTRIES * 2000 + "<entry><broken>", encoding="utf-8")
    first = next(jmdict.iterate(str(path)))
    assert first == ("銀行", "en", "bank")


@pytest.mark.parametrize("name", ["JMdict", "JMdict.gz"])
def test_damaged(tmp_path, name):
    path = tmp_path / name
    data = (HEAD + ENTRIES).encode("utf-8")
    path.write_bytes(gzip.compress(data)[:-30] if name.endswith("gz") else data)
    fault = "damaged" if name.endswith("gz") else "not a complete JMdict XML file.*Fetch JMdict"
    with pytest.raises(ValueError, match=f"{name} is {fault}"):
        list(jmdict.iterate(str(path)))
