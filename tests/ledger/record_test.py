"""Records: what a command writes of itself, and what interrupted and repeated commands add."""

import importlib
import json
import os
import sys

import pytest

from clwe_jax.ledger import environment, hashes, record, rows


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
    made.write({"x/acc": 0.5, "x/acc_low": 0.4, "x/acc_high": 0.6, "y_low": 1.0}, code=["c0de"])
    found = record.read(str(tmp_path))
    assert found["finished"] and found["seed"] == 3 and "c0de" in found["code"]
    assert found["commands"][0].startswith("python -m clwe_jax.main --config=configs/mbert.py")
    assert found["figures"] == {"x/acc": [0.5, 0.4, 0.6], "y_low": 1.0}
    assert found["options"] == values
    assert [(x["name"], x["bytes"]) for x in found["data"]] == [("text", 3)]
    assert found["versions"]["python"] and found["machine"]["cores"] >= 1
    assert found["memory"]["host_peak"] > 1e6 and found["seconds"]["wall"] >= 0


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
    # A new run in the same folder starts from zero; a later evaluation does not.
    command("--config=configs/mbert.py", "--config.job=evaluate")
    again = record.Recorder(str(tmp_path), {}, again=True)
    again.write({"a": 2.0})
    found = record.read(str(tmp_path))
    assert found["starts"] == 3 and len(found["commands"]) == 2 and found["figures"] == {"a": 2.0}
    record.Recorder(str(tmp_path), {}).write({"a": 2.0})
    assert record.read(str(tmp_path))["starts"] == 1


def test_hashes_follow_content(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("1")
    values = {"encoder": f"vec:en={path},de={path}"}
    (first,) = hashes.of_data(values)
    path.write_text("2")
    (second,) = hashes.of_data(values)
    assert first["name"] == second["name"] == "x.vec" and first["hash"] != second["hash"]
    assert [x["name"] for x in hashes.of_data({"data": {"source": "pocket"}})] == ["pocket"]
    assert not hashes.of_data({"languages": "en,de", "system": "mbert"})


@pytest.mark.parametrize("name", ["a=b", "a,b", "a:b", "a,b=c:d"])
def test_marks_in_a_path_are_no_marks_of_an_option(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "x").write_text("1")
    for value in (f"{folder}", f"text:{folder}", f"de={folder}"):
        assert [x["name"] for x in hashes.of_data({"data": value})] == [name], value
    if "," not in name:
        values = f"vec:de={folder / 'x'},en={tmp_path}"
        assert {x["name"] for x in hashes.of_data({"data": values})} == {"x", tmp_path.name}


def test_comments_and_imports_do_not_change_the_hash_of_a_module(tmp_path):
    script = tmp_path / "script.py"
    script.write_text('"""One."""\nx = 1\n')
    texts = (('"""Two."""\n# why\nimport os\nx  =  1\n', True), ("x = 2\n", False))
    for text, same in texts:
        other = tmp_path / f"other{same}.py"
        other.write_text(text)
        assert (hashes.of_module(str(other)) == hashes.of_module(str(script))) is same


def test_the_hash_of_a_module_is_that_of_every_version_of_python(tmp_path):
    """Python 3.12 gave functions and classes a further field; its rows were said to have other code."""
    script = tmp_path / "script.py"
    script.write_text(
        "class A(B):\n    def f(self, *x, y=1):\n        return [z for z in x if y]\n"
    )
    assert hashes.of_module(str(script)) == "16a60a35"


@pytest.mark.parametrize(
    "module, counts", [("static.pictures", False), ("report.html", False), ("align.csls", True)]
)
def test_a_record_has_the_loaded_modules_that_decide_figures(tmp_path, module, counts):
    importlib.import_module(f"clwe_jax.{module}")
    record.Recorder(str(tmp_path), {}).write({}, code=["of a child"])
    path = os.path.join(environment.ROOT, "clwe_jax", *module.split(".")) + ".py"
    code = record.read(str(tmp_path))["code"]
    assert (hashes.of_module(path) in code) is counts
    assert "of a child" in code and set(code) - {"of a child"} <= hashes.of_project()


def test_a_command_that_goes_on_keeps_the_modules_of_its_earlier_start(tmp_path):
    record.Recorder(str(tmp_path), {}).write(code=["of the first start"])
    record.Recorder(str(tmp_path), {}).write({})
    assert "of the first start" in record.read(str(tmp_path))["code"]


def test_earlier_modules_that_gave_the_same_figures_are_known(monkeypatch):
    modules = hashes.of_project.__wrapped__
    today = sorted(modules())[0]
    changes = [
        {"old": ["oldest"], "new": ["older"]},
        {"old": ["other"], "new": ["gone"]},  # was changed again, and nothing is known of that
        {"old": ["older", "moved"], "new": [today]},
    ]
    monkeypatch.setattr(hashes, "same_code", lambda: changes)
    assert modules() - {today} >= {"oldest", "older", "moved"}
    assert not modules() & {"other", "gone"}
