"""Readers of labelled texts: the published formats, bad input; test files of a folder."""

import gzip

import pytest

from clwe_jax.text.labelled import Labelled
from clwe_jax.text.labelled.tagged import Ner
from clwe_jax.text.labelled.texts import MlDoc, PawsX, Sentiment, Topics, Xnli


def read(folder, task, text, language="de", name="de.tsv"):
    path = folder / name
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return task.read(str(path), language)


REVIEWS = """<?xml version="1.0" encoding="utf-8"?>
<items>
<item><rating>5.0</rating><summary>Schön</summary><text>Sehr
gut &amp; nett.</text></item>
<item><rating>1.0</rating><summary></summary><text>Schlecht.</text></item>
<item><rating>3.0</rating><summary>x</summary><text>y</text></item>
</items>
"""


@pytest.mark.parametrize(
    "task, text, name, rows",
    [
        (Xnli(), "Er sang.\tEr schwieg.\tcontradiction\n", "de.tsv", [("Er sang.", "Er schwieg.")]),
        (
            Xnli(),
            "premise\thypo\tlabel\nEr sang.\tEr schwieg.\tcontradictory\n",
            "de.tsv.gz",
            [("Er sang.", "Er schwieg.")],
        ),
        (
            Xnli(),
            "language\tgold_label\tsentence1_parse\tsentence1\tsentence2\n"
            "fr\tneutral\t(x)\tIl chanta.\tOui.\nde\tneutral\t(x)\tEr sang.\tEr schwieg.\n",
            "xnli.test.tsv",
            [("Er sang.", "Er schwieg.")],
        ),
        (PawsX(), "id\tsentence1\tsentence2\tlabel\n1\ta b\tb a\t0\n", "de.tsv", [("a b", "b a")]),
        (PawsX(), "a b\tb a\t1\r\n", "de.tsv", [("a b", "b a")]),
        (PawsX(), '"a" b\t"" c ""\t1\n', "de.tsv", [('"a" b', '"" c ""')]),
        (PawsX(), '"a"\tb\t1\n', "de.tsv", [('"a"', "b")]),
        (MlDoc(), "CCAT\tDie Bank.\n", "de.tsv", [("Die Bank.",)]),
        (
            Topics(),
            'index_id\tcategory\ttext\n1\ttravel\t"Er sagte ""ja"" dazu."\n',
            "de.tsv",
            [('Er sagte "ja" dazu.',)],
        ),
        (Sentiment(), "pos\tSchön\tSehr gut.\n", "de.tsv", [("Schön Sehr gut.",)]),
        (Sentiment(), REVIEWS, "test.review", [("Schön Sehr gut & nett.",), ("Schlecht.",)]),
        (PawsX(), '"a, b","c ""d""",1\n', "de.csv", [("a, b", 'c "d"')]),
        (
            PawsX(),
            "Ein Hund.\tDer Hund.\t1\na\tb\t0\n",
            "de.csv",
            [("Ein Hund.", "Der Hund."), ("a", "b")],
        ),
    ],
)
def test_formats(tmp_path, task, text, name, rows):
    assert [row.texts for row in read(tmp_path, task, text, name=name).rows] == rows


def test_labels(tmp_path):
    text = "a\tb\tentailment\nc\td\tcontradictory\n"
    labels = [row.label for row in read(tmp_path, Xnli(), text).rows]
    assert labels == ["entailment", "contradiction"]
    examples = read(tmp_path, Sentiment(), REVIEWS, name="test.review")
    assert [row.label for row in examples.rows] == ["pos", "neg"]
    assert examples.skipped == {"no agreed label (-)": 1}
    assert read(tmp_path, PawsX(), "a,b,1\n", name="de.csv").rows == (
        Labelled(("a", "b"), "paraphrase"),
    )


def test_rows_without_texts_are_counted(tmp_path):
    text = "a\tb\t1\nNS\tb\t0\n\tb\t0\n\nc\td\t0\n"
    examples = read(tmp_path, PawsX(), text)
    assert [row.label for row in examples.rows] == ["paraphrase", "different"]
    assert examples.skipped == {"not translated (NS)": 1, "an empty text": 1}


@pytest.mark.parametrize(
    "task, text, message",
    [
        (Xnli(), "a\tb\tneutral\na\tb\n", r"de.tsv:2: expected 3 columns .premise, hyp.* found 2"),
        (Xnli(), "a\tb\tmaybe\n", r"de.tsv:1: 'maybe' is no label of xnli: expected one of contra"),
        (
            Xnli(),
            "premise\tlabel\na\tneutral\n",
            r"de.tsv:1: expected columns premise.*, found premise, label",
        ),
        (Xnli(), "", r"de.tsv holds no row: expected premise, hypothesis, label"),
        (Xnli(), "a\tb\t-\n", r"de.tsv has no row with text and a label: .'no agreed label"),
        (
            PawsX(),
            "a\tb\t2\n",
            r"'2' is no label of pawsx: expected one of different, paraphrase, 0, 1, ",
        ),
        (MlDoc(), "GSPO\tTor!\n", r"'GSPO' is no label of mldoc: expected one of CCAT, ECAT"),
        (Sentiment(), "<items><item>", r"de.tsv:1: not XML"),
        (Sentiment(), "<items><item></item></items>", r"item 1: <rating></rating> is no number"),
    ],
)
def test_bad_files_are_named(tmp_path, task, text, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, task, text)


def test_a_language_that_the_file_lacks(tmp_path):
    text = "language\tpremise\thypothesis\tlabel\nen\ta\tb\tneutral\nfr\ta\tb\tneutral\n"
    with pytest.raises(ValueError, match="'de'; .*en, fr"):
        read(tmp_path, Xnli(), text)
    [row] = read(tmp_path, Xnli(), text, language="fra").rows  # another code of French
    assert row.texts == ("a", "b")


def names(folder, *files, task=Ner()):
    for name in files:
        (folder / name).write_text("language\tpremise\thypothesis\tlabel\nen\ta\tb\tneutral\n")
    return {k: v.rpartition("/")[2] for k, v in task.files(str(folder)).items()}


@pytest.mark.parametrize(
    "files, found",
    [
        (["de.tsv", "en.tsv.gz", "README.md"], {"de": "de.tsv", "en": "en.tsv.gz"}),
        (["test-de.tsv", "dev-de.tsv", "train-de.tsv"], {"de": "test-de.tsv"}),
        (["de_gsd-ud-test.conllu", "de_gsd-ud-dev.conllu"], {"de": "de_gsd-ud-test.conllu"}),
        (
            ["esp.testa", "esp.testb", "esp.train", "ned.testa"],
            {"es": "esp.testb", "nl": "ned.testa"},
        ),
        (["dev.de.tsv", "en.train.tsv"], {"de": "dev.de.tsv"}),
        (["de.tsv", "de.dev.tsv", ".en.tsv"], {"de": "de.tsv"}),
    ],
)
def test_test_files_of_a_folder(tmp_path, files, found):
    assert names(tmp_path, *files) == found


def test_one_file_of_several_languages(tmp_path):
    assert names(tmp_path, "xnli.test.tsv", task=Xnli()) == {"en": "xnli.test.tsv"}


def test_folders_without_test_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no folder"):
        Ner().files(str(tmp_path / "no"))
    with pytest.raises(ValueError, match="no test file"):
        names(tmp_path, "en.train.tsv")
    with pytest.raises(ValueError, match="DE.tsv: .* rename it de.tsv"):
        names(tmp_path, "DE.tsv")


def test_two_files_of_one_language(tmp_path):
    with pytest.raises(ValueError, match=" de: de_gsd.test.tsv, de_pud.test.tsv"):
        names(tmp_path, "de_gsd.test.tsv", "de_pud.test.tsv")


def test_comments_before_the_first_row_are_left_out(tmp_path):
    path = tmp_path / "de.tsv"
    path.write_text("# source\thttps://example.org\npremise\thypothesis\tlabel\na\tb\tneutral\n")
    [row] = Xnli().read(str(path), "de").rows
    assert (row.texts, row.label) == (("a", "b"), "neutral")
    path.write_text("# a\tb\tneutral\nc\td\tneutral\n")
    assert len(Xnli().read(str(path), "de").rows) == 2


def test_an_open_quote_is_named(tmp_path):
    path = tmp_path / "de.csv"
    path.write_text('CCAT,"open\n' + "CCAT,a text of some words\n" * 8_000)
    with pytest.raises(ValueError, match=r"de.csv:\d+: field larger .* quote may be open"):
        MlDoc().read(str(path), "de")
