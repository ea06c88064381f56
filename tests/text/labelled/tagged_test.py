"""Readers of tagged sentences: the published formats, and bad input."""

import gzip

import pytest

from clwe_jax import registry
from clwe_jax.text.labelled import petrov
from clwe_jax.text.labelled.tagged import PETROV, UPOS, Ner, Pos


def read(folder, text, task=Ner(), language="de", name="de.tsv"):
    path = folder / name
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return task.read(str(path), language)


def pairs(examples):
    return [" ".join(f"{w}/{t}" for w, t in zip(row.words, row.tags)) for row in examples.rows]


BERLIN = ["Angela/B-PER Merkel/I-PER in/O Berlin/B-LOC", "Ja/O"]


@pytest.mark.parametrize(
    "text",
    [
        # CoNLL-2002 and 2003 with parts of speech and chunks; document marks.
        "-DOCSTART- -X- O O\n\nAngela NNP B-NP B-PER\nMerkel NNP I-NP I-PER\nin IN B-PP O\n"
        "Berlin NNP B-NP B-LOC\n\nJa UH O O\n",
        # IOB1, as the German CoNLL-2003 has it.
        "Angela x I-PER\nMerkel x I-PER\nin x O\nBerlin x I-LOC\n\nJa x O\n",
        # PAN-X with and without the language.
        "de:Angela\tB-PER\nde:Merkel\tI-PER\nde:in\tO\nde:Berlin\tB-LOC\n\nde:Ja\tO\n",
        "Angela\tB-PER\nMerkel\tI-PER\nin\tO\nBerlin\tB-LOC\n\n\n\nJa\tO",
        # WikiNEuRal numbers words from 0, Universal NER from 1, with further columns.
        "0\tAngela\tB-PER\n1\tMerkel\tI-PER\n2\tin\tO\n3\tBerlin\tB-LOC\n\n0\tJa\tO\n",
        "# sent_id = 1\n# text = Angela Merkel\n1\tAngela\tB-PER\t-\t-\n2\tMerkel\tI-PER\t-\t-\n"
        "3\tin\tO\t-\t-\n4\tBerlin\tB-LOC\t-\t-\n\n1\tJa\tO\t-\t-\n",
        # Windows' line ends, and a byte order mark.
        "\ufeffAngela B-PER\r\nMerkel I-PER\r\nin O\r\nBerlin B-LOC\r\n\r\nJa O\r\n",
        "Angela S-PER\nJa O\n".replace("S-PER", "B-PER\nMerkel E-PER\nin O\nBerlin S-LOC\n"),
    ],
)
def test_formats_of_entities(tmp_path, text):
    if text.endswith("Ja O\n") and "E-PER" in text:
        text = text.replace("Ja O", "\nJa O")
    examples = read(tmp_path, text)
    assert pairs(examples) == BERLIN
    assert examples.skipped == {}


NUMBERED = {
    "a blank line is missing": "1\tEr\tO\n2\tBonn\tB-LOC\n1\tSie\tO\n2\tKiel\tB-LOC\n\n1\tHa\tO\n",
    "through the document": "1\tEr\tO\n2\tBonn\tB-LOC\n\n3\tSie\tO\n4\tKiel\tB-LOC\n\n5\tHa\tO\n",
    "ranges": "1\tEr\tO\n2-3\tim\tO\n2\tBonn\tB-LOC\n\n1\tSie\tO\n2\tKiel\tB-LOC\n2.1\tx\tO\n\n1\tHa\tO\n",
    "sentences too": "0\t1\tEr\tO\n0\t2\tBonn\tB-LOC\n1\t1\tSie\tO\n1\t2\tKiel\tB-LOC\n\n2\t1\tHa\tO\n",
}


@pytest.mark.parametrize("text", NUMBERED.values(), ids=NUMBERED)
def test_numbers_before_words_are_never_the_words(tmp_path, text):
    rows = read(tmp_path, text).rows
    words = [word for row in rows for word in row.words]
    assert words == ["Er", "Bonn", "Sie", "Kiel", "Ha"]
    tags = [tag for row in rows for tag in row.tags]
    assert tags == ["O", "B-LOC", "O", "B-LOC", "O"]


def test_a_row_without_its_number_is_named(tmp_path):
    text = "".join(f"{n}\ta\tO\n" for n in range(20)) + "x\ta\tO\n"
    with pytest.raises(ValueError, match=r"de.tsv:21: expected a number in column 1"):
        read(tmp_path, text)
    assert pairs(read(tmp_path, "1999\tCD\tO\nwar\tVB\tO\n")) == ["1999/O war/O"]


def test_gz(tmp_path):
    assert len(read(tmp_path, "Ja O\n", name="de.tsv.gz").rows) == 1


def test_a_number_sign_may_be_a_word(tmp_path):
    assert pairs(read(tmp_path, "# O\n1 O\n")) == ["#/O 1/O"]
    assert pairs(read(tmp_path, "#\tO\n1\tO\n")) == ["#/O 1/O"]
    assert pairs(read(tmp_path, "# id = 1\n#hash=1\tO\n1\tO\n")) == ["#hash=1/O 1/O"]


def test_words_with_spaces_and_odd_characters_are_kept(tmp_path):
    text = "10 000\tO\n\u3000\tO\n\u00a0\tO\na\u2028b\tO\nc\x85d\tO\n"
    assert read(tmp_path, text).rows[0].words == (
        "10 000",
        "\u3000",
        "\u00a0",
        "a\u2028b",
        "c\x85d",
    )


def test_a_language_is_cut_off_only_where_all_words_have_it(tmp_path):
    assert pairs(read(tmp_path, "de:a\tO\nb\tO\n")) == ["de:a/O b/O"]
    assert pairs(read(tmp_path, "at 9:00:a\tO\nat 9:00:b\tO\n")) == ["at 9:00:a/O at 9:00:b/O"]


@pytest.mark.parametrize("prefix, language", [("de", "deu"), ("als", "gsw"), ("bh", "bho")])
def test_a_run_may_call_the_language_by_another_code(tmp_path, prefix, language):
    """WikiANN has Wikipedia's codes: als is Alemannic there."""
    text = f"{prefix}:a\tO\n{prefix}:b\tO\n"
    assert pairs(read(tmp_path, text, language=language)) == ["a/O b/O"]


def test_a_runs_own_code_means_the_languages_tags(tmp_path):
    text = "Er PPER O\ngeht VVFIN O\n. $. O\n"
    assert pairs(read(tmp_path, text, Pos(tags=12), "deu")) == ["Er/PRON geht/VERB ./."]


def test_japanese_words_are_not_cut(tmp_path):
    row = read(tmp_path, "東京都\tB-LOC\nに\tO\n", language="ja").rows[0]
    assert row.words == ("東京都", "に")


def test_i_after_o_is_counted(tmp_path):
    examples = read(tmp_path, "a O\nb I-PER\nc I-PER\nd B-LOC\ne I-PER\n")
    assert pairs(examples) == ["a/O b/B-PER c/I-PER d/B-LOC e/B-PER"]
    assert examples.skipped == {"I- without B- before it, read as B-": 2}


def test_empty_words_and_sentences_are_counted(tmp_path):
    examples = read(tmp_path, "a\tO\n\tO\n\n\tO\n\nb\tO\n")
    assert pairs(examples) == ["a/O", "b/O"]
    assert examples.skipped == {"empty words": 2, "sentences without words": 1}
    # A name goes on after the word at which it began.
    assert pairs(read(tmp_path, "a\tO\n\tB-PER\nx\tI-PER\n\nb\tO\n")) == ["a/O x/B-PER", "b/O"]


def test_types_outside_the_list_are_refused_or_ignored(tmp_path):
    text = "a B-PER\nb B-MISC\n"
    with pytest.raises(ValueError, match=r"de.tsv:2: 'B-MISC' .*PER,LOC"):
        read(tmp_path, text, Ner(types="PER,LOC"))
    assert pairs(read(tmp_path, text, Ner(types="PER,LOC", ignored="MISC"))) == ["a/B-PER b/O"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("a B-PER\nb O x\n", r"de.tsv:2: expected 2 columns with spaces .* found 3: 'b O x'"),
        ("a\tB-PER\n\nb\n", r"de.tsv:3: expected 2 columns with tabs .* found 1: 'b'"),
        ("allein\n", r"de.tsv:1: expected 2 columns .* found 1"),
        ("a O\nb PER\n", r"de.tsv:2: 'PER' in column 2 is no tag of an entity"),
        ("a B-PER\nb Z-PER\n", r"de.tsv:2: 'Z-PER' in column 2 is no tag"),
        ("", r"de.tsv holds no tagged word"),
        ("\n\n", r"de.tsv holds no tagged word"),
        (b"gut O\nM\xfcnchen B-LOC\n", r"de.tsv:2: not UTF-8 .*iconv -f WINDOWS-1252"),
        ("a O\n".encode("utf-16"), r"de.tsv:1: not UTF-8 .*iconv -f UTF-16"),
    ],
)
def test_bad_files_are_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)


def test_damaged_and_absent_files(tmp_path):
    (tmp_path / "de.tsv.gz").write_bytes(gzip.compress(b"a O\n" * 99)[:20])
    with pytest.raises(ValueError, match="is damaged"):
        Ner().read(str(tmp_path / "de.tsv.gz"), "de")
    with pytest.raises(FileNotFoundError, match="a file"):
        Ner().read(str(tmp_path / "fr.tsv"), "fr")


CONLLU = """# text = Vom Haus
1-2\tVom\t_\t_\t_\t_\t_\t_\t_\t_
1\tVon\tvon\tADP\tAPPR\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\tART\t_\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\tNN\t_\t0\troot\t_\t_
3.1\tx\tx\tVERB\t_\t_\t_\t_\t_\t_

1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_
"""


@pytest.mark.parametrize(
    "text",
    [
        CONLLU,
        "Von\tvon\tADP\ndem\tder\tDET\nHaus\tHaus\tNOUN\n\n#\t#\tSYM\n",
        "Von\tADP\ndem\tDET\nHaus\tNOUN\n\n#\tSYM\n",
    ],
)
def test_formats_of_parts_of_speech(tmp_path, text):
    assert pairs(read(tmp_path, text, Pos())) == ["Von/ADP dem/DET Haus/NOUN", "#/SYM"]


def test_twelve_tags(tmp_path):
    examples = read(tmp_path, "a\tPROPN\nb\tCCONJ\nc\tPUNCT\nd\tAUX\n", Pos(tags=12))
    assert examples.rows[0].tags == ("NOUN", "CONJ", ".", "VERB")
    assert read(tmp_path, "a\tPRT\n", Pos(tags=12)).rows[0].tags == ("PRT",)
    assert len(UPOS) == 17 and len(PETROV) == 12


def test_tags_of_universal_dependencies_1_are_counted(tmp_path):
    examples = read(tmp_path, "a\tCONJ\nb\tNOUN\n", Pos())
    assert examples.rows[0].tags == ("CCONJ", "NOUN")
    assert list(examples.skipped.values()) == [1]


@pytest.mark.parametrize(
    "text, message",
    [
        ("a\tNOUN\nb\tPRT\n", r"de.tsv:2: 'PRT' in column 2 is none of the 17.*tags=12 reads it"),
        ("a\tNOUN\nb\tNN\n", r"de.tsv:2: 'NN' in column 2 is none of the 17 universal"),
        ("1\tx\tx\t_\t_\t_\t_\t_\t_\t_\n", r"de.tsv:1: '_' in column 4 is none"),
    ],
)
def test_bad_parts_of_speech_are_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, Pos())


def test_scores_of_the_tasks():
    gold = [["B-PER", "I-PER", "O"], ["B-LOC"]]
    assert Ner().score(gold, gold)["f1"] == 1.0
    assert Ner().score(gold, [["B-PER", "O", "O"], ["B-LOC"]])["f1"] == 0.5
    gold, guess = [["DET", "NOUN", "NOUN"]], [["DET", "NOUN", "VERB"]]
    # Of the three predicted runs DET is right; the run NOUN NOUN is not found.
    assert Pos().score(gold, guess) == {"acc": pytest.approx(2 / 3), "f1": pytest.approx(2 / 5)}


@pytest.mark.parametrize("name", registry.TABLES["transfer_task"])
def test_tasks_have_the_protocol(name):
    task = registry.lookup("transfer_task", name)()
    assert task.name == name and task.kind in ("tags", "texts", "spans")
    if not task.embedded:
        return
    if task.kind == "spans":
        gold = [row.labels for row in generated(task)]
        assert_figure(task, gold, [*gold[1:], ()])
        assert {len(row.spans) for row in generated(task)} == {task.texts}
        assert task.score(gold, gold)[task.metric] == pytest.approx(1.0)
        return
    assert task.texts == (0 if task.kind == "tags" else len(generated(task)[0].texts))
    rows = generated(task)
    gold = [row.tags for row in rows] if task.kind == "tags" else [row.label for row in rows]
    assert task.score(gold, gold)[task.metric] == pytest.approx(1.0)
    others = [tags[::-1] for tags in gold] if task.kind == "tags" else gold[::-1]
    assert_figure(task, gold, others)


def assert_figure(task, gold, predicted):
    """The figure follows from the sums of the rows' counts."""
    right, wanted, found = task.counts(gold, predicted).sum(0)
    figure = 2 * right / (wanted + found)
    assert task.score(gold, predicted)[task.metric] == pytest.approx(figure)


def generated(task):
    return task.generate("en", "train", 6, 0).rows


@pytest.mark.parametrize(
    "language, text, expected",
    [
        ("es", "El DA O\nAbogado NC B-PER\n, Fc O\n", "El/DET Abogado/NOUN ,/."),
        ("nl", "Wie Pron O\nBert N B-PER\nziet V O\n", "Wie/PRON Bert/NOUN ziet/VERB"),
        ("en", "EU NNP B-NP B-ORG\nto TO O O\n. . O O\n", "EU/NOUN to/PRT ./."),
        ("de", "Er PPER B-NC O\ngeht VVFIN B-VC O\n. $. O O\n", "Er/PRON geht/VERB ./."),
    ],
)
def test_the_languages_own_parts_of_speech_become_universal(tmp_path, language, text, expected):
    """C7: the columns of CoNLL-2002 and 2003."""
    assert pairs(read(tmp_path, text, Pos(tags=12), language)) == [expected]
    with pytest.raises(ValueError, match="config.transfer.tags=12 reads it"):
        read(tmp_path, text, Pos(), language)


def test_a_languages_own_tag_may_have_the_name_of_a_universal_one(tmp_path):
    """Penn's SYM is X in the release, and the SYM of Universal Dependencies is punctuation."""
    penn = "the DT B-NP O\n% SYM O O\nrose VBD B-VP O\n"
    assert pairs(read(tmp_path, penn, Pos(tags=12), "en")) == ["the/DET %/X rose/VERB"]
    ud = "the\tthe\tDET\n%\t%\tSYM\nrose\trise\tVERB\n"
    assert pairs(read(tmp_path, ud, Pos(tags=12), "en")) == ["the/DET %/. rose/VERB"]


@pytest.mark.parametrize(
    "language, tags",
    [
        # Tags that a reader of the names alone would map otherwise; of de-tiger and de-negra, nl-alpino,
        # es-eagles and en-ptb of slavpetrov/universal-pos-tags.
        (
            "de",
            "PROAV/PRON PWAV/PRON PWAT/PRON PIDAT/PRON KOKOM/CONJ APZR/ADP CARD/NUM PTKVZ/PRT ADJD/ADJ "
            "ITJ/X TRUNC/X NE/NOUN $(/. $*LRB*/. --/.",
        ),
        ("nl", "Int/X Misc/X Prep/ADP Punc/. Num/NUM Art/DET Conj/CONJ"),
        (
            "es",
            "W/X Z/NUM Zm/NUM Y/X I/X DA/DET P0/PRON AO/ADJ VMI/VERB RN/ADV SP/ADP Fpa/. "
            "VMN0000+PP3CN000/VERB",
        ),
        ("en", "TO/PRT POS/PRT EX/DET WP$/PRON UH/X LS/X SYM/X NN|SYM/NOUN MD/VERB WRB/ADV"),
    ],
)
def test_tags_are_mapped_as_in_the_release(language, tags):
    for pair in tags.split():
        tag, _, expected = pair.rpartition("/")
        assert petrov.universal_tag(tag, language) == expected, tag
    assert petrov.universal_tag("B-PER", language) == ""  # no part of speech


GERMEVAL = (
    "#\tn-tv.de vom 26.02.2005\t[2005-02-26]\n"
    "1\tSchartau\tB-PER\tO\n2\tsagte\tO\tO\n\n"
    "#\thttp://de.example/\t[2009]\n1\tBerliner\tB-ORG\t{nested}\n2\tZeitung\tI-ORG\tO\n"
)


@pytest.mark.parametrize("nested, warned", [("O", False), ("B-LOC", True)])
def test_comments_have_tabs_and_names_are_nested(tmp_path, said, nested, warned):
    path = tmp_path / "de.tsv"
    path.write_text(GERMEVAL.format(nested=nested))
    rows = Ner().read(str(path), "de").rows
    assert [row.words for row in rows] == [("Schartau", "sagte"), ("Berliner", "Zeitung")]
    assert [row.tags for row in rows] == [("B-PER", "O"), ("B-ORG", "I-ORG")]
    assert ("the names of column 3 are read, and not the 1 words" in said.text) == warned


@pytest.mark.parametrize(
    "text",
    [
        "# text\twith\ttabs\nAnna\tB-PER\nkam\tO\n",
        "# a comment\twith a tab\nAnna B-PER\nkam O\n",
        "#global.columns = FORM TAG\nAnna B-PER\nkam O\n",
        "token\tlabel\nAnna\tB-PER\nkam\tO\n",
        "# id\tO\nAnna\tB-PER\nkam\tO\n",
        "# one\ttwo\nAnna   B-PER\nkam    O\n",
        "#\tB\nAnna\tB-PER\nkam\tO\n",
    ],
)
def test_first_lines_that_are_no_words(tmp_path, text):
    path = tmp_path / "de.tsv"
    path.write_text(text)
    [row] = Ner().read(str(path), "de").rows
    assert (row.words, row.tags) == (("Anna", "kam"), ("B-PER", "O"))


def test_phrases_of_conll_are_no_names(tmp_path):
    path = tmp_path / "en.txt"
    path.write_text("EU NNP B-NP O\nsees VBZ B-VP O\nit PRP B-NP O\n")
    [row] = Ner().read(str(path), "en").rows
    assert row.tags == ("O", "O", "O")


@pytest.mark.parametrize("name, kinds", [("ner", "tags"), ("edge/entities", "labels")])
def test_ignored_types_are_no_names_of_the_embedded_world_either(name, kinds):
    task = registry.lookup("transfer_task", name)
    found = []
    for ignored in ("", "LOC,ORG"):
        rows = task(ignored=ignored).generate("en", "train", 40, 0).rows
        found.append({x[-3:] for row in rows for x in getattr(row, kinds) if x != "O"})
    assert found[1] == found[0] - {"LOC", "ORG"} and len(found[1]) < len(found[0])
