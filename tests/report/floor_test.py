"""The dictionary floor and chance stand in the tables and charts of retrieval and induction."""

import json

import pytest

from clwe_jax.report import tables


@pytest.fixture
def folder(write_run):
    folder = write_run()
    results = json.loads((folder / "results.json").read_text())
    languages = [x.split("/")[1].split("-")[0] for x in results if x.endswith("/mean_last4")]
    languages = [x for x in languages if len(x) == 2]
    added = {"floor/retrieval/mean": 0.456, "floor/retrieval/mean_csls": 0.789}
    added["retrieval/chance"] = 0.001
    added |= {"floor/bli/p@1_csls": 0.222, "bli/chance": 0.002}
    for place, language in enumerate(languages):
        pair = f"{language}-en"
        added[f"retrieval/{pair}/chance"] = 0.001
        added[f"floor/retrieval/{pair}/mean"] = 0.4 + place / 100
        added[f"floor/retrieval/{pair}/mean_csls"] = 0.5 + place / 100
        added[f"retrieval/sif/{pair}/mean_last4"] = 0.71 + place / 100
        added[f"bli/en-{language}/chance"] = 0.002
        added[f"floor/bli/en-{language}/p@1_csls"] = 0.2 + place / 100
    added |= {f"retrieval/sif/layer{k}/acc@1": 0.7 for k in range(5)}
    (folder / "results.json").write_text(json.dumps(results | added))
    return folder


def test_tables_have_both_columns(folder, page_of):
    page = page_of(folder)
    head, *rows = page.section("Sentence retrieval").rows()
    # Beside the model's CSLS stands the floor's CSLS, the same figure as on the card.
    assert head[-3:] == ["CSLS", "Dictionary floor, CSLS", "Chance"]
    plain, weighted = [row for row in rows if row[0].startswith("German") and "50.0%" in row]
    assert plain[-2:] == weighted[-2:] == ["50.0%", "0.1%"] and weighted[1] == "71.0%"
    totals = [row for row in rows if row[0] == "mean" and "52.0%" in row]
    assert [row[-2:] for row in totals] == [["52.0%", "0.1%"]] * 2
    assert "mean of the accuracies of layers 1 to 4, SIF" in page.section("Sentence retrieval").text
    head, *rows = page.section("Lexicon induction").rows()
    assert head[-2:] == ["Dictionary floor", "Chance"]
    assert rows[0][-2:] == ["20.0%", "0.2%"]


def test_a_run_without_the_floors_csls_has_its_plain_figure(folder, page_of):
    results = json.loads((folder / "results.json").read_text())
    kept = {
        x: y for x, y in results.items() if not (x.startswith("floor/") and x.endswith("_csls"))
    }
    (folder / "results.json").write_text(json.dumps(kept))
    head, *rows = page_of(folder).section("Sentence retrieval").rows()
    assert head[-2] == "Dictionary floor, plain" and any("40.0%" in row for row in rows)


def test_charts_have_level_lines(folder, page_of):
    page = page_of(folder)
    for title in ("Sentence retrieval", "Lexicon induction"):
        legends = [x.text for x in page.section(title).all("span", **{"class": "legend"})]
        assert any("dictionary floor" in x and x.endswith("chance") for x in legends), legends
    legends = [
        x.text for x in page.section("Sentence retrieval").all("span", **{"class": "legend"})
    ]
    assert legends[0] == "meanSIFdictionary floorchance"


def test_tiles_name_the_floor_and_no_other_section_repeats_it(folder, page_of):
    page = page_of(folder)
    assert "dictionary floor 42.0%" in page.text and "dictionary floor 52.0%" in page.text
    assert "floor/retrieval" not in page.section("Other figures").text


def test_other_runs_add_no_column_of_it(folder, write_run, page_of):
    other = write_run("mbert", "mBERT", 0.33)
    head, *_ = page_of(folder, compare_with=str(other)).section("Sentence retrieval").rows()
    assert head.count("Dictionary floor, CSLS") == 1 and not any("floor, mBERT" in x for x in head)


def test_the_terminal_prints_it(folder, capsys):
    results = json.loads((folder / "results.json").read_text())
    tables.print_summary(results, folder)
    said = capsys.readouterr().out
    assert "Dictionary floor" in said and "52.0%" in said and "Chance" in said


def test_a_run_without_a_floor_has_none(write_run, page_of):
    assert "ictionary floor" not in page_of(write_run()).text
