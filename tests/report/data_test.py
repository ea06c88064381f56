"""Sections as JSON, and metrics that the page fills in."""

import json
from pathlib import Path

import pytest

from clwe_jax.report import data, fill_metrics
from clwe_jax.report.run_folder import RunFolder

SECTION = {
    "title": "Named entities",
    "text": "F1 of whole names.",
    "blocks": [
        {
            "kind": "table",
            "columns": ["Language", {"head": "F1", "form": "percent"}, "Words"],
            "rows": [
                [{"language": "de"}, {"metric": "ner/de/f1"}, [{"text": "Haus"}, "and more"]],
                ["zh", {"value": 0.25, "low": 0.2, "high": 0.3}, {"stack": ["a", 3]}],
            ],
            "total": ["mean", {"metric": "ner/mean_f1"}, None],
        },
        {
            "kind": "chart",
            "title": "F1 over training",
            "form": "percent",
            "lines": [{"label": "de", "metric": "ner/de/f1"}, {"points": [[0, 0.1], [1, 0.2]]}],
        },
        {
            "kind": "picture",
            "title": "Plane",
            "dots": [{"label": "de", "points": [[0, 1], [2, 3]]}],
        },
        {"kind": "facts", "facts": {"Sentences": {"value": 12}, "Tags": "BIO"}},
        {"kind": "text", "title": "Remarks", "points": ["one", "two"]},
        {"kind": "sentence", "language": "de", "words": [{"text": "Haus", "tagged": True}]},
        {"kind": "closed", "title": "More", "blocks": [{"kind": "text", "code": "x = 1"}]},
    ],
}


def run(name, figures, series=None):
    return RunFolder(Path(name), {"system": name}, figures, series or {}, {})


def test_a_section_comes_back_from_json():
    section = data.section_from_json(SECTION)
    table = section.blocks[0]
    assert isinstance(table, data.Table) and table.rows[0][1] == data.Metric("ner/de/f1")
    assert table.columns[1] == data.Column("F1", "percent")
    assert section.blocks[1].lines[0] == data.Line("de", "ner/de/f1")
    assert section.blocks[3].facts == {"Sentences": data.Number(12), "Tags": "BIO"}
    written = json.loads(json.dumps(data.to_json(section)))
    assert data.section_from_json(written) == section
    assert data.to_json(data.Column("F1")) == {"kind": "column", "head": "F1"}


@pytest.mark.parametrize(
    "change, named",
    [
        ({"titel": "x"}, "titel"),
        ({"blocks": [{"kind": "tabel"}]}, "'tabel' is none of"),
        ({"blocks": [{"kind": "table", "columns": ["a"]}]}, "rows"),
        ({"blocks": [{"kind": "table", "columns": ["a"], "rows": [[1, 2]]}]}, "row of 2 cells"),
        ({"blocks": [{"kind": "chart", "title": "x", "lines": [{"metrik": "y"}]}]}, "metrik"),
        ({"blocks": [{"kind": "table", "columns": ["a"], "rows": [[{"color": 1}]]}]}, "color"),
    ],
)
def test_an_error_names_the_field(change, named):
    with pytest.raises((TypeError, ValueError), match=named):
        data.section_from_json({**SECTION, **change})


def test_the_page_shows_sections_of_report_json_as_they_are(write_run, page_of):
    damaged = {"title": "Part of speech", "blocks": [{"kind": "tabel"}]}
    folders = [
        write_run(name, name, extras={"sections": [SECTION, damaged]})
        for name in ("ours", "theirs")
    ]
    for folder, f1 in zip(folders, (0.75, 0.5)):
        found = {"ner/de/f1": f1, "ner/de/f1_low": 0.7, "ner/de/f1_high": 0.8, "ner/zh/f1": 0.1}
        (folder / "results.json").write_text(json.dumps(found))
        rows = [{"step": i, "name": "ner/de/f1", "value": f1 * i / 9} for i in range(10)]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = page_of(folders[0], compare_with=str(folders[1]))
    section = page.section("Named entities")
    assert section.rows() == [
        ["Language", "F1", "F1, theirs", "Words"],
        ["German", "75.0%70.0–80.0", "50.0% +25.0", "Hausand more"],
        ["Chinese", "25.0%20.0–30.0", "", "a3"],
        ["mean", "–", "–", ""],
    ]
    for part in ("F1 of whole names.", "Sentences12", "TagsBIO", "Remarks", "two", "x = 1"):
        assert part in section.text, part
    drawn = [drawing.attributes["aria-label"] for drawing in section.all("svg")]
    assert drawn == ["F1 over training", "Plane"]
    assert section.all("span", **{"class": "legend"})[0].text == "GermanGerman, theirs"
    # A damaged section is named; a figure that a section shows is not repeated.
    assert "sections[1] is left out (ValueError: kind 'tabel' is none of" in page.text
    others = page.section("Other figures")
    assert [row[0] for row in others.rows()] == ["Figure", "ner/zh/f1"]


def test_a_star_in_a_metric_stands_for_the_x_axis():
    ours = run("a", {"probe/layer2/acc": 0.3, "probe/layer10/acc": 0.4, "probe/acc": 1.0})
    theirs = run("b", {"probe/layer2/acc": 0.1})
    chart = data.Chart("Probe", [data.Line(metric="probe/layer*/acc")], x="layer")
    (filled,) = fill_metrics.resolve([chart], [ours, theirs])
    assert [(line.label, line.points, line.dash) for line in filled.lines] == [
        ("a", [(2, 0.3), (10, 0.4)], 0),
        ("b", [(2, 0.1)], 1),
    ]


def test_blocks_without_figures_are_left_out():
    table = data.Table(["a"], [])
    chart = data.Chart("Loss", [data.Line("loss", "train/loss")])
    closed = data.Closed("More", [chart, table])
    text = data.Text("stays")
    blocks = [table, chart, closed, text]
    assert fill_metrics.resolve(blocks, [run("a", {})]) == [text]
    # A curve of another run alone is no figure of this run.
    other = run("b", {}, {"train/loss": {1: 2.0}})
    assert fill_metrics.resolve(blocks, [run("a", {}), other]) == [text]


def test_facts_show_the_figure_of_a_metric():
    facts = data.Facts({"rank": data.Metric("x/rank"), "languages": "de, en", "none": None})
    (filled,) = fill_metrics.resolve(
        [facts], [run("a", {"x/rank": 7.5}), run("b", {"x/rank": 9.0})]
    )
    assert filled.facts == {"rank": data.Number(7.5), "languages": "de, en", "none": None}


def test_columns_of_other_runs_stand_where_they_have_figures():
    table = data.Table(
        [data.Column("Set"), data.Column("F1", "percent"), data.Column("Words", main=False)],
        [["x", data.Metric("x/f1"), data.Metric("x/words")]],
        filters=[2],
    )
    runs = [run(name, {"x/f1": f1, "x/words": 3}) for name, f1 in (("a", 0.5), ("b", 0.4))]
    (filled,) = fill_metrics.resolve([table], [*runs, run("c", {"y": 1.0})])
    assert [column.head for column in filled.columns] == ["Set", "F1", "F1, b", "Words"]
    _, ours, theirs, _ = filled.rows[0]
    assert (ours.value, theirs.value) == (0.5, 0.4)
    assert theirs.change == pytest.approx(0.1) and filled.filters == [3]


def test_columns_of_dashes_are_left_out():
    table = data.Table(
        ["Set", data.Column("F1", "percent"), "Seconds", "Kind", "Words"],
        [
            ["a", data.Metric("x"), data.Number(None), "–", data.Word("w")],
            ["b", data.Metric("y"), data.Number(None), "", data.Word("w")],
        ],
        total=["mean", data.Number(None), data.Number(None), "–", ""],
        filters=(4,),
    )
    (filled,) = fill_metrics.resolve([table], [run("a", {"x": 0.5})])
    assert [column.head for column in filled.columns] == ["Set", "F1", "Words"]
    assert [len(row) for row in (*filled.rows, filled.total)] == [3, 3, 3] and filled.filters == [2]
