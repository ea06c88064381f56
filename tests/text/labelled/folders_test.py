"""The language of a test file, from its name."""

import pytest

from clwe_jax.text.labelled import folders


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
