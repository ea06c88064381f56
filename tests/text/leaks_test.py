"""Copies and near copies of test sentences by file and line; what is no copy; the command."""

import gzip
import os

import pytest

from clwe_jax.runs import leaked_tests
from clwe_jax.text import leaks

TEXT = [
    "the weather is fine today\tDas Wetter ist heute schön.",
    "He said: the old man walked slowly to the green house, and left.",
    "the old man ran quickly to the green house by night",
    "银行今天下午已经关门了，大家都回家。",
    "Thank you!",
]
TESTS = {
    "set.de": "Das WETTER ist heute schön\nDas Wetter war gestern schlecht.",
    "set.en": "The old man walked slowly to the green house.\nThank you.\nHe left.",
    "set.zh": "银行今天下午已经关门了。",
}


@pytest.fixture
def folders(tmp_path):
    text = tmp_path / "text"
    tests = tmp_path / "tests"
    text.mkdir()
    tests.mkdir()
    (text / "some.txt").write_text("\n".join(TEXT), encoding="utf-8")
    for name, content in TESTS.items():
        (tests / name).write_text(content, encoding="utf-8")
    return str(text), str(tests)


def test_copies_and_near_copies_are_named(folders):
    text, tests = folders
    found = leaks.find([text], [tests])
    assert [(x.test, x.text[1], x.share == 1) for x in found.leaks] == [
        ((f"{tests}/set.de", 1), 1, True),
        ((f"{tests}/set.en", 1), 2, False),
        ((f"{tests}/set.zh", 1), 4, False),
    ]
    # Two words occur anywhere; the third line of the text has too few of the same sequences.
    assert found.tests == 4 and found.lines == 6 and not found.unread
    assert "1 of 4 different test sentences stand in the 6 lines" in str(found)
    assert "near copies of 2 more; together 3, 1 of set.de, 1 of set.en, 1 of set.zh" in str(found)


def test_a_copy_of_a_test_may_be_a_near_copy_of_others(tmp_path):
    line = "The old man walked slowly to the green house"
    (tmp_path / "text").write_text(line, encoding="utf-8")
    (tmp_path / "tests").write_text(f"{line}.\n{line} today.", encoding="utf-8")
    found = leaks.find([f"{tmp_path}/text"], [f"{tmp_path}/tests"])
    assert [round(x.share, 2) for x in found.leaks] == [1, 0.88]


def test_a_file_of_tests_is_no_text(folders):
    text, tests = folders
    assert not leaks.find([tests], [tests]).leaks
    assert leaks.find([text, tests], [tests]).lines == 6
    assert leaks.find([text], [tests], limit=1).lines == 2


def test_the_command(folders, tmp_path, capsys):
    text, tests = folders
    (tmp_path / "text" / "wide.txt").write_bytes("a b c".encode("utf-16"))
    leaks.main([f"--text={text}", f"--tests={tests}", f"--out={tmp_path}/leaks.tsv"])
    said = capsys.readouterr().out
    assert f"{tests}/set.de:1 = {text}/some.txt:1: Das WETTER" in said
    assert "not read" in said and "wide.txt" in said
    assert len((tmp_path / "leaks.tsv").read_text(encoding="utf-8").splitlines()) == 4
    with pytest.raises(SystemExit, match="nowhere"):
        leaks.main([f"--text={text}", "--tests=nowhere"])
    with pytest.raises(SystemExit, match="no sentence of 3 words"):
        leaks.main([f"--text={text}", f"--tests={tmp_path}/text/wide.txt"])
    assert "not read" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="empty has no line of text"):
        leaks.main([f"--text={tmp_path}/empty", f"--tests={tests}"])


def test_links_to_folders_are_followed(folders, tmp_path):
    text, tests = folders
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "en").symlink_to(text)
    assert leaks.find([f"{tmp_path}/linked"], [tests]).lines == 6


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_treebanks_are_read_by_their_sentences(folders, tmp_path, ending):
    text, _ = folders
    line = "# text = The weather is fine today.\n1\tThe\tthe\tDET\n"
    with (gzip.open if ending else open)(f"{tmp_path}/en.conllu{ending}", "wb") as file:
        file.write(line.encode())
    [found] = leaks.find([text], [f"{tmp_path}/en.conllu{ending}"]).leaks
    assert found.test[1] == 1 and found.text[1] == 1


def test_a_report_has_a_line(folders, tmp_path):
    text, tests = folders
    values = {
        "data": {"source": f"text:{text}", "dictionaries": "", "pairs": "mined"},
        "evals": {"retrieval": {"data": tests}, "mlm": {}},
    }
    os.symlink("nowhere", f"{tests}/dangling.de")
    line = leaked_tests.describe(values, str(tmp_path))
    assert line.startswith("Test sentences in the text that the run learned from: 1 of 4")
    assert line.endswith(f"clwe-jax leaks --text={text} --tests={tests} names them.")
    assert leaked_tests.describe({"data": {"source": "tfds:x"}, "evals": {}}, "") == ""


@pytest.mark.parametrize("section", ["compare", "clcr"])
def test_a_report_looks_at_the_parallel_text_of_comparisons_and_of_clcr(folders, tmp_path, section):
    _, tests = folders
    text = tmp_path / "pairs"
    text.mkdir()
    (text / "en-de.tsv").write_text(TEXT[0], encoding="utf-8")
    values = {
        "data": {"languages": "en,de", "source": "pocket"},
        section: {"parallel": str(text)},
        "evals": {"similarity": {"data": tests}},
    }
    assert "1 of 4 different" in leaked_tests.describe(values, str(tmp_path))


def test_a_report_reads_only_the_files_that_the_run_reads(folders, tmp_path):
    _, tests = folders
    text = tmp_path / "corpora"
    for path in (text / "en" / "new.2020.txt", text / "de.txt", text / "zh.txt"):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("\n".join(TEXT), encoding="utf-8")
    values = {
        "data": {"source": f"text:{text}", "languages": "en,de", "pairs": "mined"},
        "evals": {"retrieval": {"data": tests}, "similarity": {"data": f"{tests}/nowhere"}},
    }
    assert leaked_tests.describe(values, str(tmp_path)) == ""  # no parallel text among the tests
    for name in ("tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng", "de-fr.tsv", "zh_gsd.test.tsv"):
        with open(f"{tests}/{name}", "w", encoding="utf-8") as file:
            file.write(f"a sentence that only {name} has")
    assert "0 of 2 different test" in leaked_tests.describe(values, str(tmp_path))
    with open(f"{tests}/new.en-de.tsv", "w", encoding="utf-8") as file:  # no Newari
        file.write("The weather is fine today\tDas Wetter ist heute schön")
    line = leaked_tests.describe(values, str(tmp_path))
    assert "2 of 4 different test sentences stand in the 12 lines" in line
    assert f"--text={text} --tests={tests} names" in line
    values["data"]["pairs"] = f"{tests}/new"  # DIR/new for DIR/new.en and DIR/new.de
    for language in ("en", "de"):
        with open(f"{tests}/new.{language}", "w", encoding="utf-8") as file:
            file.write("a line\nanother line")
    line = leaked_tests.describe(values, str(tmp_path))
    assert (
        "in the 16 lines" in line and f"--text={text},{tests}/new.de,{tests}/new.en --tests" in line
    )


def test_a_report_looks_at_pairs_without_the_verses_that_are_tested(folders, tmp_path):
    _, tests = folders
    text = tmp_path / "bibles"
    text.mkdir()
    for name, line in zip(("en.tsv", "de.tsv"), TEXT[0].split("\t")):
        (text / name).write_text(f"MAT 1:1\t{line}\nJHN 1:1\t{line}\n", encoding="utf-8")
    values = {
        "data": {"languages": "en,de", "source": "pairs", "pairs": f"{text}@-JHN"},
        "evals": {"retrieval": {"data": f"{text}@JHN"}, "similarity": {"data": tests}},
    }
    assert "1 of 4 different" in leaked_tests.describe(values, str(tmp_path))


def test_a_report_knows_labelled_tests_by_any_code(tmp_path):
    (tmp_path / "tests").mkdir()
    for path in (tmp_path / "train.tsv", tmp_path / "tests" / "de.test.tsv"):
        path.write_text("The weather is fine today\tsport\n", encoding="utf-8")
    values = {
        "data": {"languages": "en,deu"},
        "transfer": {"train": f"en:{tmp_path}/train.tsv", "tests": f"{tmp_path}/tests"},
    }
    assert "1 of 1 different" in leaked_tests.describe(values, str(tmp_path))


def test_a_later_report_reads_the_text_again_only_where_it_changed(folders, tmp_path, monkeypatch):
    text, tests = folders
    values = {"data": {"source": f"text:{text}"}, "evals": {"retrieval": {"data": tests}}}
    line = leaked_tests.describe(values, str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(leaks, "find", None)
        assert leaked_tests.describe(values, str(tmp_path)) == line
    with open(f"{text}/some.txt", "a", encoding="utf-8") as file:
        file.write("\nDas Wetter war gestern schlecht")
    assert "2 of 4" in leaked_tests.describe(values, str(tmp_path))
