"""The language of a test file, from its name."""

import zipfile

import pytest

from clwe_jax.text.labelled import folders, tables


@pytest.mark.parametrize(
    "name, language, is_test",
    [
        ("de.tsv", "de", True),
        ("ceb.tsv", "ceb", True),
        ("test-war.tsv", "war", True),
        ("yue.test.tsv", "yue", True),
        ("kab.test.tsv", "kab", True),
        ("esp.testb", "es", True),
        ("deu.dev.tsv.gz", "de", False),
        ("ud-test.en.tsv", "en", True),
        ("my.data.de.tsv", "de", True),
        ("de.new.tsv", "de", True),
        ("test_de.tsv", "de", True),
        ("pan_x.de.tsv", "de", True),
        ("uk_iu-ud-test.conllu", "uk", True),
        ("zh_hk.test.tsv", "zh", True),
        ("yue_hk-ud-dev.conllu", "yue", False),
        ("xnli.test.tsv", "", True),
        ("de.md", "", True),
        # A region or a treebank right behind a language is none.
        ("pt-br.test.tsv", "pt", True),
        ("zh-tw.test.tsv", "zh", True),
        ("en-us.tsv", "en", True),
        ("hsb-de.test.tsv", "hsb", True),
        ("test-de.tsv", "de", True),
        ("bh.tsv", "bh", True),
        ("Thumbs.db", "", True),
    ],
)
def test_languages_of_names(name, language, is_test):
    found, rank = folders.split_name(name)
    assert found == language and (rank < 2) == is_test


def test_files_without_a_language_are_named(tmp_path, said):
    for name in ("de.tsv", "ceb.tsv", "qqq.tsv"):
        (tmp_path / name).write_text("a\tO\n")
    found = folders.find(str(tmp_path))
    assert found == {x: str(tmp_path / f"{x}.tsv") for x in ("de", "ceb")}
    assert "qqq.tsv" in said.text


def test_programs_and_hidden_files_hold_no_rows(tmp_path):
    """CoNLL's data have conlleval.pl beside them, and macOS writes a ._NAME beside NAME."""
    (tmp_path / "conlleval.pl").write_text("#!/usr/bin/perl -w\nuse strict;\n")
    (tmp_path / "._de.tsv").write_bytes(b"\0\x05\x16\x07")
    for name in ("de.tsv", "pl.tsv"):
        (tmp_path / name).write_text("a\tO\n")
    files = folders.find(str(tmp_path))
    assert files == {x: str(tmp_path / f"{x}.tsv") for x in ("de", "pl")}


def test_files_beside_a_shared_one_need_not_be_text(tmp_path, said):
    path = tmp_path / "xnli.test.tsv"
    path.write_text("language\tpremise\thypothesis\tlabel\nen\ta\tb\tneutral\n")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.5\n")
    with zipfile.ZipFile(tmp_path / "XNLI-1.0.zip", "w") as archive:
        archive.writestr("xnli.dev.tsv", "")
        archive.writestr("xnli.test.tsv", "")
    assert folders.find_shared_files(str(tmp_path), tables.languages) == {"en": str(path)}
    assert "paper.pdf is a PDF" in said.text and "zip archive of 2 files" in said.text
