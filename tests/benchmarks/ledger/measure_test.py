"""Rows measured again: their order, what is repeated, and which figures count as different."""

import json
import shlex

import pytest

from benchmarks.ledger import measure, rows

# A command that counts its starts, writes its record and does nothing in a finished folder, as runs do.
TOY = """
import json, os, sys
folder = sys.argv[1].partition("=")[2]
with open("starts", "a") as file:
    file.write(folder + "\\n")
if folder == "broken":
    sys.exit("no such file: x.txt")
place = os.path.join("runs", "benchmarks", f"toy_kind={folder}")
os.makedirs(place, exist_ok=True)
if os.path.exists(os.path.join(place, "record.json")):
    sys.exit()
commit = open("commit").read()
values = dict(commands=["python benchmarks/toy.py --kind=" + folder], finished=True, commit=commit,
              date="2020-03-01", figures={"a/acc": 0.7, "a, s": 2.0}, options={}, data=[],
              seconds={"processor": 1, "wall": 1})
json.dump(values, open(os.path.join(place, "record.json"), "w"))
"""


def row(kind, date, seconds=1.0, **more):
    command = f"python benchmarks/toy.py --kind={kind}"
    return {
        "name": rows.name_of(command),
        "commands": [command],
        "commit": "old",
        "date": date,
        "figures": {"a/acc": [0.5, 0.4, 0.6], "a, s": 1.0},
        "options": {},
        "data": [],
        "seconds": {"processor": seconds, "wall": seconds},
        **more,
    }


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "toy.py").write_text(TOY)
    monkeypatch.setattr(measure, "ROOT", str(tmp_path))
    commit = tmp_path / "commit"
    commit.write_text("new")
    monkeypatch.setattr(rows.environment, "commit", lambda: {"commit": commit.read_text()})
    return tmp_path


def write(checkout, some):
    ledger = checkout / "ledger"
    ledger.mkdir()
    (ledger / "toy.jsonl").write_text("".join(json.dumps(x) + "\n" for x in some))
    return str(ledger)


def test_rows_are_measured_again_the_oldest_first(checkout, capsys):
    every = [row("new", "2020-02-02"), row("old", "2020-01-01"), row("broken", "2020-01-15")]
    ledger = write(checkout, [*every, row("long", "2020-01-02", seconds=9e9)])
    assert not measure.measure(measure.Asked("toy *"), ledger)
    assert (checkout / "starts").read_text().split() == ["old", "broken", "new"]
    said = capsys.readouterr().out
    assert "toy kind=old, seed 0: 0.0 minutes, 1 of 2 figures differ from 2020-01-01" in said
    assert "a/acc: 0.5 -> 0.7" in said and "a, s" not in said
    assert "FAILED toy kind=broken" in said and "no such file: x.txt" in said
    assert "2 rows measured, 1 failed, 1 left" in said
    made = {x["name"]: x["figures"]["a/acc"] for x in rows.read(ledger)}
    assert made["toy kind=old"] == made["toy kind=new"] == 0.7
    assert made["toy kind=long"] == made["toy kind=broken"] == [0.5, 0.4, 0.6]
    # A row of this commit is not measured twice; one of another commit is.
    measure.measure(measure.Asked("toy kind=[no]*"), ledger)
    assert (checkout / "starts").read_text().split() == ["old", "broken", "new"]
    (checkout / "commit").write_text("newer")
    assert measure.measure(measure.Asked("toy kind=old"), ledger)
    assert (checkout / "starts").read_text().split() == ["old", "broken", "new", "old"]
    assert {x["name"]: x["commit"] for x in rows.read(ledger)}["toy kind=old"] == "newer"


def test_a_row_that_cannot_be_read_has_failed_and_a_core_must_exist(checkout, monkeypatch, capsys):
    """A failure in the thread ended it, and the command reported none."""
    ledger = write(checkout, [row("one", "2020-02-02"), row("two", "2020-01-01")])

    def read(folder):
        raise ValueError(f"{folder}: damaged")

    monkeypatch.setattr(rows, "row_of", read)
    assert not measure.measure(measure.Asked("toy *"), ledger)
    assert "0 rows measured, 2 failed, 0 left" in capsys.readouterr().out
    with pytest.raises(ValueError, match="not use core 9999"):
        measure.measure(measure.Asked("toy *", cores=(0, 9999)), ledger)


def test_a_run_is_kept_if_its_commit_and_commands_are_the_same(tmp_path, monkeypatch):
    now = {"commit": "new", "clean": True}
    monkeypatch.setattr(rows.environment, "commit", lambda: now)
    train = "python -m clwe_jax.main --config=configs/mbert.py"
    commands = [train, f"{train} --config.job=evaluate"]

    def is_finished(made, finished=True, **code):
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        made = [f"{command} --workdir={folder}" for command in made]
        values = {"commands": made, "finished": finished, **now, **code}
        (folder / "record.json").write_text(json.dumps(values))
        return rows.drop_stale_run(str(folder), commands), folder.exists()

    assert is_finished(commands) == (True, True)
    # Stopped between two commands, or in one.
    assert is_finished(commands[:1]) == is_finished(commands, finished=False) == (False, True)
    assert is_finished(commands, commit="old") == (False, False)
    assert is_finished(commands, commit="old", finished=False) == (False, False)
    assert is_finished(commands, clean=False) == (False, False)
    assert is_finished([f"{train} --config.train.steps=9"]) == (False, False)
    assert not rows.drop_stale_run(str(tmp_path / "absent"), commands)


def test_rows_beside_another_program_need_its_interpreter(capsys):
    peer = {**row("x", "2020-01-01"), "commands": ["python benchmarks/csls.py --peer-python=p"]}
    every = [peer, row("y", "2020-01-02")]
    assert measure.choose_rows(every, measure.Asked()) == every[1:]
    assert "1 rows beside other programs" in capsys.readouterr().out
    assert measure.choose_rows(every, measure.Asked(peer="python3")) == every


def test_figures_differ_beyond_both_intervals():
    old = {"a": [0.5, 0.46, 0.54], "b": 1.0, "c": 2.0, "stage/x": 3.0, "gone": 1.0}
    new = {"a": [0.54, 0.51, 0.57], "b": 1.000001, "c": 2.001, "stage/x": 9.0}
    found = list(measure.differing_figures(old, new))
    assert found == [("c", 2.0, 2.001), ("gone", 1.0, None)]  # .04 is within hypot(.04, .03)
    new["a"] = [0.56, 0.53, 0.59]
    assert next(iter(measure.differing_figures(old, new))) == ("a", 0.5, 0.56)


def test_a_run_is_measured_in_a_folder_of_its_own():
    row = {"seed": 2, "commands": ["python -m clwe_jax.main --config=configs/mbert.py"]}
    names = ["mbert", "mbert " + 200 * "x" + "1", "mbert " + 200 * "x" + "2"]
    folders = {measure.folder_of({**row, "name": name}) for name in names}
    assert len(folders) == len(names)
    assert all(x.startswith("runs/measured/mbert") and x.endswith("-2") for x in folders)


def test_each_seed_of_a_benchmark_has_a_folder_of_its_own():
    row = {"name": "csls", "commands": ["python benchmarks/csls.py --seed=1"]}
    found = [measure.folder_of({**row, "seed": seed}) for seed in (0, 1, 2)]
    assert found == [f"runs/benchmarks/csls{end}" for end in ("", "-1", "-2")]


def test_a_benchmark_takes_the_runs_of_this_commit_with_its_options(
    tmp_path, monkeypatch, load_script
):
    tables = load_script("tables")
    code = {"commit": "old"}
    starts = []

    def run(config, folder, options, log):
        starts.append(dict(options))
        words = tables.arguments_of(config, folder, options)
        (tmp_path / "run").mkdir()
        values = {"commands": [shlex.join(["python", *words])], "finished": True, **code}
        (tmp_path / "run" / "record.json").write_text(json.dumps(values))
        (tmp_path / "run" / "results.json").write_text(json.dumps({"a": len(starts)}))
        return True

    monkeypatch.setattr(tables, "run", run)
    monkeypatch.setattr(rows.environment, "commit", lambda: code)
    one, two = {"data.pairs": "one"}, {"data.pairs": "two"}
    expected = [(one, 1), (one, 1), (two, 2), (two, 2)]
    folder = str(tmp_path / "run")
    found = [(x, tables.measured("bible:small", folder, x)["a"]) for x, _ in expected]
    assert found == expected
    code["commit"] = "new"
    assert tables.measured("bible:small", folder, two) == {"a": 3}


def test_kills_of_other_code_do_not_count(tmp_path, monkeypatch, load_script):
    script = load_script("kill_and_resume")
    monkeypatch.setattr(script, "_code", lambda: "new")
    batches = [{"kills": 1}, {"kills": 2, "code": "old"}, {"kills": 4, "code": "new"}]
    path = tmp_path / "kills.json"
    path.write_text(json.dumps(batches))
    assert script.read_batches(path) == batches[2:]
    assert script.read_batches(tmp_path / "absent.json") == []
