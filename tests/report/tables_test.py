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
    for name in ("mean_last4", "mean_last4_centered", "mean_last4_csls"):
        assert figures.percent(results[f"retrieval/{name}"]) in text
    layers = [results[f"retrieval/de-en/layer{k}/acc@1"] for k in range(1, 5)]
    (row,) = [line for line in text.splitlines() if "de-en" in line and "en-de" not in line]
    assert figures.percent(sum(layers) / 4) in row
    assert f"Report: {folder / 'report.html'}" in text
    assert figures.percent(results["bli/en-zh/p@1"]) in text


def test_no_report_no_path(write_run):
    assert "report.html" not in printed({"eval/mlm/de/loss": 2.0}, write_run())


def test_nothing_measured_prints_nothing(tmp_path):
    assert printed({}, tmp_path) == ""


def test_names_are_not_markup(tmp_path):
    assert "[red]x" in printed({"eval/mlm/[red]x/loss": 2.0}, tmp_path)


def test_many_languages_are_cut_and_counted(tmp_path):
    text = printed({f"eval/mlm/l{i:03}/loss": 2.0 for i in range(104)}, tmp_path)
    assert "l011" in text and "l012" not in text and "92 more in the report" in text
