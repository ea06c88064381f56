"""The codes of languages, both ways."""

import pytest

from clwe_jax.evaluate import similarity
from clwe_jax.text.corpus import alignment_files, parallel
from clwe_jax.text.dictionary import files, test_dictionaries
from clwe_jax.text.words import languages

FLORES = (
    "ace_Arab ace_Latn als_Latn arb_Arab ayr_Latn bod_Tibt ckb_Arab deu_Latn eng_Latn fuv_Latn gaz_Latn "
    "kmr_Latn lin_Latn ltg_Latn min_Arab min_Latn nob_Latn pbt_Arab quy_Latn snd_Arab sot_Latn tsn_Latn "
    "aka_Latn twi_Latn uzn_Latn zho_Hans zho_Hant"
).split()


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        *(("sq", "als_Latn"), ("als", "als_Latn"), ("tn", "tsn_Latn"), ("sd", "snd_Arab")),
        *(("ku", "kmr_Latn"), ("ckb", "ckb_Arab"), ("om", "gaz_Latn"), ("ay", "ayr_Latn")),
        *(("ff", "fuv_Latn"), ("qu", "quy_Latn"), ("ps", "pbt_Arab"), ("no", "nob_Latn")),
        *(("nb", "nob_Latn"), ("tw", "twi_Latn"), ("ak", "aka_Latn"), ("ger", "deu_Latn")),
        *(("min", "min_Latn"), ("min_Arab", "min_Arab"), ("ace-Arab", "ace_Arab")),
        *(("zh", "zho_Hans"), ("zh-TW", "zho_Hant"), ("cmn", "zho_Hans"), ("zho_Hant", "zho_Hant")),
        *(("DE", "deu_Latn"), ("uz", "uzn_Latn"), ("ar", "arb_Arab")),
        # A relative is another language.
        *(("lv", ""), ("yue", ""), ("nn", ""), ("sdh", ""), ("gsw", ""), ("arz", "")),
    ],
)
def test_the_name_of_a_language_in_a_set(wanted, name):
    assert languages.find_name(wanted, FLORES) == name


def test_two_members_or_scripts_that_would_do_are_listed():
    assert languages.find_name("din", ["dik_Latn", "dip_Latn"]) == "dik_Latn"
    assert languages.find_name("pnb", ["lah"]) == "lah" and not languages.find_name("yue", ["zh"])
    assert languages.find_name("ff", ["fuc", "fuv"]) == "fuc"  # the one of CLDR
    with pytest.raises(ValueError, match="fub or fuv"):
        languages.find_name("ff", ["fub", "fuv"])
    with pytest.raises(ValueError, match="sr_Xxxx or sr_Yyyy"):
        languages.find_name("sr", ["sr_Xxxx", "sr_Yyyy"])


def test_codes_come_from_both_iso_tables_and_from_wikipedia():
    pairs = "deu:de ger:de heb:he iw:he ind:id cmn:zh swh:sw tgl:tl fil:tl nob:no gsw:gsw als:sq zza:zza"
    for pair in pairs.split():
        name, code = pair.split(":")
        assert languages.code_of(name) == code
    assert languages.parse_tag("zh-yue").code == "yue"
    assert languages.parse_tag("zh-min-nan").code == "nan"
    assert languages.parse_tag("pt-BR") == ("pt", "pt", "")


def test_a_run_keeps_its_own_codes():
    assert languages.name_in("deu", ("deu", "eng")) == "deu"
    assert languages.name_in("ger", ("deu", "eng")) == "deu"
    assert languages.name_in("deu", ("de", "en")) == "de"
    assert languages.name_in("deu", None) == "deu"


def test_hints_name_the_same_language_or_a_relative_and_no_look_alike():
    assert languages.hint("cmn", ["mn", "zh"]) == "'cmn' is 'zh' here."
    assert languages.hint("ku", ["uz", "de"]) == "Known: de, uz."
    assert languages.hint("ku", ["uz", "ckb"]) == "Related to it: 'ckb'."
    assert languages.hint("de", ["deu", "eng"]) == "'de' is 'deu' here."


def test_readers_of_files_take_any_code_of_a_run_s_languages(tmp_path):
    names = ("deu-eng.txt", "deu-eng.5000-6500.txt", "deu_words.tsv", "DEU_set.txt")
    for name in names:
        (tmp_path / name).write_text("haus house\n")
    (tmp_path / "deu-eng.gold").write_text("0-0\n")
    for side in ("deu", "eng"):
        (tmp_path / f"deu-eng.{side}").write_text("haus\n")
    folder = str(tmp_path)
    for run in (("de", "en"), ("deu", "eng"), ("ger", "en")):
        expected = [tuple(run)]
        assert [(f.source, f.target) for f in files.find(folder, run)] == expected
        assert list(test_dictionaries.files(folder, run)) == expected
        aligned = alignment_files.find(folder, run, "data")
        assert [(f.source, f.target) for f in aligned] == expected
        assert {f.source for f in similarity.find(folder, run)} == {run[0]}
        assert [f.name for f in parallel.test_pairs(folder, run, "data")] == ["-".join(run)]
