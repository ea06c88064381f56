"""Records: what a command writes of itself, and what interrupted and repeated commands add."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.ledger import rows
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.runs import data_hashes, environment, record


@pytest.fixture
def command(monkeypatch):
    """A function that makes this process look like a command."""

    def become(*words):
        main = str(rows.ROOT) + "/clwe_jax/main.py"
        monkeypatch.setattr(sys, "argv", [main, *words])

    return become


def test_a_record_says_how_figures_were_made(tmp_path, command):
    command("--config=configs/mbert.py", f"--workdir={tmp_path}")
    text = tmp_path / "text"
    text.mkdir()
    (text / "en.txt").write_text("a b")
    values = {"data": {"source": f"text:{text}", "languages": "en,de"}, "seed": 3}
    made = record.Recorder(str(tmp_path), values, 3)
    made.write({"x/acc": 0.5, "x/acc_low": 0.4, "x/acc_high": 0.6, "y_low": 1.0})
    found = record.read(str(tmp_path))
    assert found["finished"] and found["seed"] == 3
    assert found["commands"][0].startswith("python -m clwe_jax.main --config=configs/mbert.py")
    assert found["figures"] == {"x/acc": [0.5, 0.4, 0.6], "y_low": 1.0}
    assert found["options"] == values
    assert [(x["name"], x["bytes"]) for x in found["data"]] == [("text", 3)]
    assert found["versions"]["python"] and found["machine"]["cores"] >= 1
    assert len(found["machine"]["processor"]) > 2
    assert found["memory"]["host_peak"] > 1e6 and found["seconds"]["wall"] >= 0


def test_the_peak_of_memory_is_not_that_of_the_process_before():
    code = "from clwe_jax.runs import environment; print(environment.peak_memory()['host_peak'])"
    held = np.ones(50_000_000)  # 400 MB, with which the other process begins
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert 1e6 < int(done.stdout) < environment.peak_memory()["host_peak"] - held.nbytes / 2


@pytest.mark.parametrize("script", ["/anywhere/bin/clwe-jax", f"{rows.ROOT}/clwe_jax/__main__.py"])
@pytest.mark.parametrize("words", [["--config=mbert:small"], ["--config", "mbert:small"]])
def test_the_short_command_is_recorded_as_the_long_one(monkeypatch, script, words):
    monkeypatch.setattr(sys, "argv", [script, *words, "--config.train.steps=10"])
    said = " ".join(environment.command())
    assert said.replace("--config ", "--config=").startswith(
        "python -m clwe_jax.main --config=configs/mbert.py:small --config.train"
    )
    assert rows.name_of(said) == "mbert:small train.steps=10"


def test_an_interrupted_command_adds_its_time(tmp_path, command):
    command("--config=configs/mbert.py")
    record.Recorder(str(tmp_path), {}).write()
    earlier = record.read(str(tmp_path))
    assert not earlier["finished"]
    earlier["seconds"] = {"wall": 100.0, "processor": 50.0}
    (tmp_path / record.FILE).write_text(json.dumps(earlier))
    later = record.Recorder(str(tmp_path), {})
    later.write()
    later.write({"a": 1.0})
    found = record.read(str(tmp_path))
    assert found["starts"] == 2 and 100 <= found["seconds"]["wall"] < 110
    assert len(found["commands"]) == 1
    # A later evaluation adds to it, and so does a training with more steps, whose command then makes the run.
    command("--config=configs/mbert.py", "--config.job=evaluate")
    again = record.Recorder(str(tmp_path), {}, is_rerun=True)
    again.write({"a": 2.0})
    found = record.read(str(tmp_path))
    assert found["starts"] == 3 and len(found["commands"]) == 2 and found["figures"] == {"a": 2.0}
    command("--config=configs/mbert.py", "--config.train.steps=9")
    record.Recorder(str(tmp_path), {}).write({"a": 2.0})
    found = record.read(str(tmp_path))
    assert found["starts"] == 4 and found["seconds"]["wall"] >= 100
    assert [rows.name_of(x) for x in found["commands"]] == ["mbert train.steps=9"]
    # A benchmark keeps nothing of its last start.
    record.Recorder(str(tmp_path), {}, is_new=True).write({"a": 2.0})
    assert record.read(str(tmp_path))["starts"] == 1


def test_a_finished_record_stays_until_there_are_new_figures(tmp_path, command):
    command("--config=configs/mbert.py")
    outcomes = {"a": Outcomes(np.array([True, False]), np.arange(2))}
    record.Recorder(str(tmp_path), {"seed": 3}).write({"a": 0.5}, outcomes)
    first = record.read(str(tmp_path))
    for is_rerun in (True, False):
        command("--config=configs/mbert.py", "--config.job=evaluate")
        record.Recorder(str(tmp_path), {"seed": 4}, is_rerun=is_rerun).write()  # and fails
    later = record.read(str(tmp_path))
    assert later.pop("starts") == 3 and first.pop("starts") == 1
    assert {x: later[x] for x in later if first[x] != later[x]}.keys() <= {"seconds", "memory"}
    # Figures that another evaluation has not measured keep their outcomes.
    record.Recorder(str(tmp_path), {}, is_rerun=True).write({"a": 0.5, "b": 1.0})
    assert record.outcomes(record.read(str(tmp_path)), "a").right.tolist() == [True, False]


def test_hashes_follow_content(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("1")
    values = {"encoder": f"vec:en={path},de={path}"}
    (first,) = data_hashes.hash_data(values)
    path.write_text("2")
    (second,) = data_hashes.hash_data(values)
    assert first["name"] == second["name"] == "x.vec" and first["hash"] != second["hash"]
    assert [x["name"] for x in data_hashes.hash_data({"data": {"source": "pocket"}})] == ["pocket"]
    assert not data_hashes.hash_data({"languages": "en,de", "system": "mbert"})


def test_a_folder_named_by_a_bare_word_is_hashed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("verses", "tatoeba", "hub", "en", "mbert"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    values = {
        "system": "mbert",
        "data": {"pairs": "verses", "languages": "en"},
        "evals": {"retrieval": {"name": "retrieval", "data": "tatoeba"}},
        "static": {"hub": "en", "training": "hub"},
    }
    found = data_hashes.hash_data(values)
    assert [x["name"] for x in found] == ["tatoeba", "verses"]
    assert found[1:] == data_hashes.hash_data({"data": {"pairs": "./verses"}})
    assert [x["name"] for x in data_hashes.hash_data({"clcr": {"hub": "hub"}})] == ["hub"]
    # A benchmark's own options.
    assert [x["name"] for x in data_hashes.hash_data({"data": "tatoeba"})] == ["tatoeba"]


def test_the_beginning_of_names_and_selected_verses_are_hashed(tmp_path):
    hashes = set()
    for content in ("1", "2"):
        for name in ("train.de", "train.en"):
            (tmp_path / name).write_text(content)
        for end in ("/train", "@JHN", "@-JHN"):
            [entry] = data_hashes.hash_data({"data": {"pairs": f"{tmp_path}{end}"}})
            assert entry["name"] == f"{tmp_path}{end}".rpartition("/")[2] and entry["bytes"] == 2
            hashes.add((entry["name"], entry["hash"]))
    assert len(hashes) == 6


def test_hashes_follow_links_to_folders(tmp_path):
    text = tmp_path / "en"
    text.mkdir()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "en").symlink_to(text)
    hashes = []
    for content in ("1", "2"):
        (text / "some.txt").write_text(content)
        (found,) = data_hashes.hash_data({"source": f"text:{linked}"})
        hashes.append(found["hash"])
    assert found["bytes"] == 1 and hashes[0] != hashes[1]


def test_what_cannot_be_read_is_hashed_by_its_name(tmp_path, said):
    (tmp_path / "some.txt").write_text("1")
    (first,) = data_hashes.hash_data({"source": f"text:{tmp_path}"})
    for name in ("dangling.txt", "dangling.py"):
        (tmp_path / name).symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    (second,) = data_hashes.hash_data({"source": f"text:{tmp_path}"})
    assert second["bytes"] == first["bytes"] and second["hash"] != first["hash"]
    assert "dangling.txt is no file that can be read" in said.text and "pipe is no" in said.text


@pytest.mark.parametrize("name", ["a=b", "a,b", "a:b", "a,b=c:d", "anna@uni.de"])
def test_marks_in_a_path_are_no_marks_of_an_option(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "x").write_text("1")
    for value in (f"{folder}", f"text:{folder}", f"de={folder}"):
        for option in ({"data": value}, {"data": {"source": value}}):
            assert [x["name"] for x in data_hashes.hash_data(option)] == [name], value
    if "," not in name:
        values = f"vec:de={folder / 'x'},en={tmp_path}"
        assert {x["name"] for x in data_hashes.hash_data({"data": values})} == {"x", tmp_path.name}


def test_only_code_changes_the_hash_of_a_module_of_the_embedded_world(tmp_path):
    script = tmp_path / "script.py"
    hashes = []
    for text in ('"""One."""\nx = 1\n', '"""Two."""\n# why\nimport os\nx  =  1\n', "x = 2\n"):
        script.write_text(text)
        [entry] = data_hashes.hash_data({"data": str(script)})
        hashes.append(entry["hash"])
    assert hashes[0] == hashes[1] != hashes[2]
