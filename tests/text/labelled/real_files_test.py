"""Readers on real files: rows and words equal the counts that the index of the data states."""

import collections
import pathlib
import re

import pytest

from clwe_jax import registry
from clwe_jax.text.labelled.entities import scheme

DATA = pathlib.Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is absent")

TASKS = {
    "ner": "ner",
    "pos": "pos",
    "nli": "xnli",
    "paraphrase": "pawsx",
    "classification/sib200": "topics",
    "classification/cls10_books": "sentiment",
}
HEADERS = ("sib200", "esxnli", "xnli_extension", "pawsx/test")


def task_of(path):
    name = next(task for start, task in TASKS.items() if path.startswith(start))
    return registry.lookup("transfer_task", name)()


def index():
    """(path, language, lines, tokens, note) of every labelled file."""
    if not DATA.is_dir():
        return
    for line in (DATA / "INDEX.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 9 and cells[1].startswith(tuple(TASKS)) and cells[3].isdigit():
            yield cells[1], cells[2].split(",")[0], int(cells[3]), int(cells[4]), cells[9]


FILES = list(index())
FEW = [file for file in FILES if re.search(r"[/.]de[._].*", file[0]) and "test" in file[0]]


def check(path, language, lines, tokens, note):
    task = task_of(path)
    examples = task.read(str(DATA / path), language)
    rows = examples.rows
    if task.kind == "texts":
        left_out = sum(examples.skipped.values())
        languages = 2 if "esxnli" in path else 1
        header = any(name in path for name in HEADERS)
        assert languages * (len(rows) + left_out) == lines - header
        return
    words = sum(len(row.words) for row in rows)
    stated = re.match(r"\D*?(\d+)(?: of \d+)? sentences", note)
    assert not stated or "at most" in note or len(rows) == int(stated[1])
    if task.name == "pos":
        return
    # The index counts columns, and a line of each sentence is blank; CoNLL's document marks are
    # lines, too.
    columns = 3 if "conll2002" in path or "nerkor" in path else 2
    marks = (DATA / path).read_text(encoding="utf-8").count("-DOCSTART-") // 2
    assert words * columns + marks * columns == tokens
    assert scheme([row.tags for row in rows]) == "IOB2"


@pytest.mark.parametrize("file", FEW, ids=lambda file: file[0])
def test_german_files_have_the_stated_counts(file):
    check(*file)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file[0])
def test_files_have_the_stated_counts(file):
    check(*file)


def test_labels_of_real_files():
    rows = task_of("nli").read(str(DATA / "nli/xnli/test.de.tsv"), "de").rows
    counts = collections.Counter(row.label for row in rows)
    assert counts == {"entailment": 1670, "neutral": 1670, "contradiction": 1670}
    examples = task_of("paraphrase").read(str(DATA / "paraphrase/pawsx/dev.de.tsv"), "de")
    assert examples.skipped == {"not translated (NS)": 68}
    rows = (
        task_of("classification/cls10_books")
        .read(str(DATA / "classification/cls10_books/de.test.tsv"), "de")
        .rows
    )
    assert collections.Counter(row.label for row in rows) == {"pos": 500, "neg": 500}


@pytest.mark.parametrize(
    "folder, languages",
    [
        ("ner/conll2002", "es nl"),
        ("ner/wikineural", "de en es fr nl ru"),
        ("pos/ud", "de en es eu fr hu ja nl ru zh"),
        ("nli/xnli", "de en es fr ru zh"),
        ("nli/esxnli", "en es"),
        ("classification/sib200", "de en es eu fr hu ja nl ru zh"),
    ],
)
def test_test_files_of_real_folders(folder, languages):
    found = task_of(folder).files(str(DATA / folder))
    assert sorted(found) == languages.split()
    assert all("train" not in path and "dev" not in path for path in found.values())
