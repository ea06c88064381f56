"""The summary in the terminal."""

import io
import json

from rich.console import Console

from clwe_jax.report import figures, tables


def printed(results, workdir):
    out = io.StringIO()
    tables.print_summary(results, workdir, Console(file=out, width=100))
    return out.getvalue()


def test_the_figures_and_the_path_of_the_report(write_run):
    folder = write_run()
    (folder / "report.html").write_text("")
    results = json.loads((folder / "results.json").read_text())
    text = printed(results, folder)
    for name in ("mean_last4", "mean_last4_centered", "mean_last4_csls", "de-en/mean_last4"):
        assert figures.percent(results[f"retrieval/{name}"]) in text
    assert "de → en" in text.replace("\u00a0", " ")
    assert f"Report: {folder / 'report.html'}" in text
    assert figures.percent(results["bli/en-zh/p@1"]) in text


def test_no_report_no_path(write_run):
    assert "report.html" not in printed({"eval/mlm/de/loss": 2.0}, write_run())


def test_nothing_measured_prints_nothing(write_run):
    assert printed({}, write_run()) == ""


def test_names_are_not_markup(write_run):
    assert "[red]x" in printed({"eval/mlm/[red]x/loss": 2.0}, write_run())


def test_sections_of_the_job_are_printed_too(write_run):
    table = {"kind": "table", "columns": ["Test", {"head": "F1", "form": "percent"}, "Row"]}
    table["rows"] = [[{"language": "de"}, {"metric": "ner/de/f1"}, {"text": "Haus [red]"}]]
    damaged = {"blocks": [table]}
    sections = [damaged, {"title": "Named entities", "blocks": [table]}]
    folder = write_run(extras={"sections": sections})
    text = printed({"ner/de/f1": 0.7512}, folder)
    assert "Named entities" in text and "de" in text and "75.1%" in text
    assert "Haus [red]" in text and "Word" not in text


def test_sentences_and_stacks_are_printed_as_their_words(write_run):
    sentence = [{"text": "the", "style": "soft"}, {"text": "house", "style": "strong"}]
    stack = {"stack": [{"text": "above"}, [{"text": "be"}, {"text": "low"}]]}
    table = {"kind": "table", "columns": ["Words", "Stack"], "rows": [[sentence, stack]]}
    folder = write_run(extras={"sections": [{"title": "Pivots", "blocks": [table]}]})
    text = printed({}, folder)
    assert "the house" in text and "above" in text and "be low" in text
    assert "Word(" not in text and "Stack(" not in text


def test_many_languages_are_cut_and_counted(write_run):
    text = printed({f"eval/mlm/l{i:03}/loss": 2.0 for i in range(104)}, write_run())
    assert "l011" in text and "l012" not in text and "92 more in the report" in text


def test_a_log_has_room_for_all_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert tables._standard_console().width == 140
    monkeypatch.setenv("COLUMNS", "90")
    assert tables._standard_console().width == 90
