"""The sections on translation and on mining: figures as metrics, examples with their languages."""

import pytest

from clwe_jax.evaluate import bleu_page, mining
from clwe_jax.report import evaluations, overview
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
    direction="en-de",
    source="a cat",
    translation="eine katze",
    reference="katze",
    signature="nrefs:1",
)


@pytest.fixture
def run():
    return RunFolder("", {}, dict(FIGURES), {}, {"evaluations": {"bleu": [ROW]}})


def test_tables_a_chart_and_examples(run):
    made = bleu_page.section(run, ())
    table, chart, examples = made.blocks
    assert "ord by word" not in made.text
    assert [cell.metric for cell in table.rows[0][1:]] == ["bleu/en-de", "chrf/en-de"]
    assert len(table.rows) == 1 and table.note.endswith(": nrefs:1")
    assert chart.lines[0].metric == "bleu/en-de"
    words = [(x.text, x.language) for x in examples.rows[0][1:]]
    assert words == [("a cat", "en"), ("eine katze", "de"), ("katze", "de")]


def test_mining_by_pair(run):
    [table] = mining.section(run, ()).blocks
    assert [row[1].metric for row in table.rows] == ["mining/de-en/precision"]


def test_translations_word_by_word_stand_beside(run):
    run.results.update({"floor/bleu/en-de": 6.0, "floor/bleu/mean": 6.0})
    made = bleu_page.section(run, ())
    table = made.blocks[0]
    assert [x.head for x in table.columns[1:]] == ["BLEU", "chrF", "BLEU word by word, dictionary"]
    paths = [cell.metric for cell in table.rows[0][1:]]
    assert paths == ["bleu/en-de", "chrf/en-de", "floor/bleu/en-de"]
    assert table.total[-1].metric == "floor/bleu/mean"
    assert "Word by word" in made.text


def test_no_section_without_figures(run):
    run.results.clear()
    run.results["retrieval/de-en/mean"] = 0.1
    assert bleu_page.section(run, ()) is None and mining.section(run, ()) is None


def test_bleu_is_a_headline_with_its_floor(run):
    run.results["floor/bleu/mean"] = 6.0
    [tile] = [x for x in overview.tiles(run, (), evaluations.headlines()) if x.label == "BLEU"]
    assert tile.value == "31" and "dictionary floor 6" in tile.notes
