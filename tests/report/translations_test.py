"""The section on translation: figures as metrics, examples with their languages."""

import dataclasses

from clwe_jax.report import data, pages, translations
from clwe_jax.report.run_folder import RunFolder

FIGURES = {
    "bleu/en-de": 31.0,
    "chrf/en-de": 50.0,
    "bleu/mean": 31.0,
    "chrf/mean": 50.0,
    "mining/de-en/f1": 0.5,
    "mining/de-en/precision": 0.6,
    "mining/f1": 0.5,
}
ROW = dict(
    kind="bleu",
    direction="en-de",
    source="a cat",
    translation="eine katze",
    reference="katze",
    signature="nrefs:1",
)


def test_tables_a_chart_and_examples():
    [made] = translations.sections(FIGURES, [dict(kind="right"), ROW])
    table, chart, examples, mined = data.section_from_json(made).blocks
    assert [cell.metric for cell in table.rows[0][1:]] == ["bleu/en-de", "chrf/en-de"]
    assert "half of each side" in made["text"] and "Word by word" not in made["text"]
    assert len(table.rows) == 1 and table.note.endswith("of BLEU and chrF: nrefs:1")
    assert chart.lines[0].metric == "bleu/en-de"
    assert [(x.text, x.language) for x in examples.rows[0][1:]] == [
        ("a cat", "en"),
        ("eine katze", "de"),
        ("katze", "de"),
    ]
    assert [row[1].metric for row in mined.rows] == ["mining/de-en/precision"]


def test_translations_word_by_word_stand_beside():
    floors = {"floor/bleu/en-de": 6.0, "floor/bleu/mean": 6.0}
    [made] = translations.sections(FIGURES | floors, [])
    table = data.section_from_json(made).blocks[0]
    assert [x.head for x in table.columns[1:]] == ["BLEU", "chrF", "BLEU word by word, dictionary"]
    assert [cell.metric for cell in table.rows[0][1:]] == [
        "bleu/en-de",
        "chrf/en-de",
        "floor/bleu/en-de",
    ]
    assert table.total[-1].metric == "floor/bleu/mean"
    assert "Word by word" in made["text"]
    assert "Mining" not in translations.sections({"bleu/en-de": 1.0}, [])[0]["text"]


def test_no_section_without_figures():
    assert translations.sections({"retrieval/de-en/mean": 0.1}, [ROW]) == []


def test_a_translator_has_bleu_among_its_headlines():
    """Static vectors, which translate word by word, do not."""
    run = RunFolder(
        "", {"objective": {"name": "translation"}}, {**FIGURES, "floor/bleu/mean": 6.0}, {}, {}
    )
    tile = pages.of(run).tiles(run, ())[0]
    assert (tile.label, tile.value) == ("BLEU", "31")
    assert "word by word, dictionary: 6" in tile.notes
    static = dataclasses.replace(run, config={"job": "static"})
    assert "BLEU" not in [x.label for x in pages.of(static).tiles(static, ())]
