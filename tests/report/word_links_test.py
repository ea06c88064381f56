"""The section on word alignment: figures as metrics, links as lines."""

from clwe_jax.report import data, word_links
from clwe_jax.report.data import Chart, Picture, Table

FIGURES = {
    **{f"word_alignment/de-en/{x}": 0.5 for x in ("aer", "precision", "recall", "f1", "sentences")},
    **{f"word_alignment/de-en/layer{k}/aer": 0.1 * k for k in range(3)},
    "word_alignment/aer": 0.5,
    "retrieval/de-en/mean": 0.1,
}
ROW = dict(
    kind="word_alignment",
    languages=["de", "en"],
    source=["das", "Haus", "."],
    target=["house", "."],
    sure=[[1, 0], [2, 1]],
    possible=[[1, 0], [2, 1]],
    found=[[0, 0]],
)


def test_a_table_a_chart_and_pictures_of_found_and_gold_links():
    other = dict(ROW, sure=[[0, 1], [1, 0]], found=[])  # its links cross
    [made] = word_links.sections(FIGURES, [ROW, other, ROW])
    assert not data.section_from_json(made).blocks[2].joins
    [made] = word_links.sections(FIGURES, [dict(kind="right"), ROW])
    section = data.section_from_json(made)
    table, chart, found, gold = section.blocks
    assert isinstance(table, Table) and isinstance(chart, Chart) and isinstance(found, Picture)
    assert [cell.metric for cell in table.rows[0][1:]][0] == "word_alignment/de-en/aer"
    assert chart.lines[0].metric == "word_alignment/de-en/layer*/aer"
    assert [dots.labels for dots in found.dots] == [["das", "Haus", "."], ["house", "."]]
    assert [[list(p) for p in join] for join in found.joins] == [[[0, 0], [1, 0]]]
    assert len(gold.joins) == 2


def test_no_section_without_figures():
    assert word_links.sections({"retrieval/de-en/mean": 0.1}, [ROW]) == []
