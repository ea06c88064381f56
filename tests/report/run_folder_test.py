"""Incomplete run folders, and the comparison of two runs."""

import json
import math

import pytest

from clwe_jax.report import run_folder


def test_a_folder_without_a_run_is_named_with_what_mends_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no config\.json.*--workdir=") as caught:
        run_folder.read(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("content, match", [("{\n oops", "line 2"), ("[1]", "expected an object")])
def test_a_damaged_config_is_named(tmp_path, content, match):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=match):
        run_folder.read(tmp_path)


def test_the_last_value_of_a_step_counts_and_a_cut_line_is_counted(write_run):
    folder = write_run()
    rows = [
        {"step": 20, "name": "train/loss", "value": 5.0},
        {"step": 10, "name": "train/loss", "value": 6.0},
        {"step": 20, "name": "train/loss", "value": 4.0},
        {"step": 30, "name": "train/loss", "value": math.nan},
    ]
    lines = [json.dumps(row) for row in rows]
    lines[2:2] = ["", "not json", '{"step": 1}', "[1, 2]"]
    (folder / "metrics.jsonl").write_bytes("\n".join(lines).encode() + b'\n{"step": 40, "na\xff')
    run = run_folder.read(folder)
    series = run.series["train/loss"]
    assert list(series) == [10, 20, 30]
    assert (series[10], series[20]) == (6.0, 4.0)
    assert run_folder.finite(series) == {10: 6.0, 20: 4.0}
    [problem] = run.problems
    assert problem.startswith("metrics.jsonl: 4 ") and "line 4" in problem


def test_figures_are_the_results_or_the_last_that_was_logged(write_run):
    folder = write_run()
    run = run_folder.read(folder)
    assert run.figures["eval/mlm/de/loss"] == run.results["eval/mlm/de/loss"]
    assert run.figures["train/loss"] == list(run.series["train/loss"].values())[-1]
    old = '{"step": 1, "name": "retrieval/ja-en/mean", "value": 0.9}\n'  # of a test set that is no longer measured
    with open(folder / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write(old)
    assert "retrieval/ja-en/mean" not in run_folder.read(folder).figures
    (folder / "results.json").unlink()
    run = run_folder.read(folder)
    series = run.series["eval/mlm/de/loss"]
    assert run.figures["eval/mlm/de/loss"] == series[3000] == list(series.values())[-1]


def test_only_numbers_are_results(write_run):
    folder = write_run()
    (folder / "results.json").write_text('{"a": 1, "b": "x", "c": true, "d": null, "e": [1]}')
    assert run_folder.read(folder).results == {"a": 1.0}


@pytest.mark.parametrize("file", ["results.json", "report.json"])
@pytest.mark.parametrize("content", ["{", "[]", "3", ""])
def test_damaged_extras_are_a_problem_and_not_the_end(write_run, file, content):
    folder = write_run()
    (folder / file).write_text(content)
    run = run_folder.read(folder)
    assert len(run.problems) == 1 and run.problems[0].startswith(file)


def change(folder, option, value):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    node = config
    *sections, key = option.split(".")
    for section in sections:
        node = node[section]
    node[key] = value
    path.write_text(json.dumps(config))


def differences(*folders):
    return run_folder.differences([run_folder.read(folder) for folder in folders])


def test_systems_may_differ_in_their_method_and_in_nothing_else(write_run):
    ours, theirs = write_run("a"), write_run("b", "mBERT", 0.3)
    change(ours, "report.compare_with", "b")
    found = differences(ours, theirs)
    assert {d.option for d in found} == {"system", "task.name", "task.cross_lingual_share"}
    assert all(d.fair for d in found)
    change(theirs, "evals", {"retrieval": {"every_steps": 5}})
    found = differences(ours, theirs)
    assert all(d.fair for d in found), "how often an evaluator runs changes no figure"
    change(theirs, "evals", {"retrieval": {"data": "tatoeba"}})
    found = differences(ours, theirs)
    assert [d.option for d in found if not d.fair] == ["evals.retrieval.data"]
    change(theirs, "evals", {})
    change(theirs, "data.languages", "en,de")
    change(theirs, "train.batch_size", 1)
    found = differences(ours, theirs)
    # Differences that make the comparison unfair come first.
    assert [(d.option, d.fair) for d in found[:3]] == [
        ("data.languages", False),
        ("train.batch_size", False),
        ("system", True),
    ]
    assert found[0].values == ("en,de,es,fr,ja,zh", "en,de")


def test_an_option_differs_where_any_of_several_runs_does(write_run):
    folders = [write_run(name) for name in "abc"]
    change(folders[2], "train.batch_size", 1)
    (found,) = differences(*folders)
    assert (found.option, found.values) == ("train.batch_size", (64, 64, 1))


def test_runs_of_the_same_name_are_distinguished_by_their_folders(write_run):
    folders = [write_run("a"), write_run("b"), write_run("c", "mBERT")]
    names = [run.name for run in run_folder.label_distinctly([run_folder.read(f) for f in folders])]
    assert names == [f"DICT-MLM-50 ({folders[0]})", f"DICT-MLM-50 ({folders[1]})", "mBERT"]
