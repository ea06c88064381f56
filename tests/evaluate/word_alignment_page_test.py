"""The section on word alignment: figures as metrics, links as lines."""

from clwe_jax.evaluate import word_alignment_page
from clwe_jax.report.data import Chart, Picture, Table
from clwe_jax.report.run_folder import RunFolder

FIGURES = {
    **{f"word_alignment/de-en/{x}": 0.5 for x in ("aer", "precision", "recall", "f1", "sentences")},
    **{f"word_alignment/de-en/layer{k}/aer": 0.1 * k for k in range(3)},
    "word_alignment/aer": 0.5,
    "retrieval/de-en/mean": 0.1,
}
ROW = dict(
    languages=["de", "en"],
    source=["das", "Haus", "."],
    target=["house", "."],
    sure=[[1, 0], [2, 1]],
    possible=[[1, 0], [2, 1]],
    found=[[0, 0]],
)


def section_of(figures, rows):
    run = RunFolder("", {}, figures, {}, {"evaluations": {"word_alignment": rows}})
    return word_alignment_page.section(run, ())


def test_a_table_a_chart_and_pictures_of_found_and_gold_links():
    other = dict(ROW, sure=[[0, 1], [1, 0]], found=[])  # its links cross
    assert not section_of(FIGURES, [ROW, other, ROW]).blocks[2].joins
    table, chart, found, gold = section_of(FIGURES, [ROW]).blocks
    assert isinstance(table, Table) and isinstance(chart, Chart) and isinstance(found, Picture)
    assert [cell.metric for cell in table.rows[0][1:]][0] == "word_alignment/de-en/aer"
    assert chart.lines[0].metric == "word_alignment/de-en/layer*/aer"
    assert [dots.labels for dots in found.dots] == [["das", "Haus", "."], ["house", "."]]
    assert [[list(p) for p in join] for join in found.joins] == [[[0, 0], [1, 0]]]
    assert len(gold.joins) == 2


def test_no_section_without_figures():
    assert section_of({"retrieval/de-en/mean": 0.1}, [ROW]) is None
