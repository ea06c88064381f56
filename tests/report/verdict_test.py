"""The verdict on a run: its figure beside the floor, and the next step of a run below it."""

import json

import pytest
from rich.console import Console

from clwe_jax.report import run_folder, tables, verdict

BELOW = {"floor/retrieval/sif/mean_csls": 0.999, "retrieval/chance": 0.001}


@pytest.fixture
def judged(write_run):
    """Writes a run with further figures and options; its verdict."""

    folders = []

    def made(figures, options={}, extras={}):
        folder = write_run(f"run{len(folders)}")
        folders.append(folder)
        path = folder / "results.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | figures))
        for name, more in (("config.json", options), ("report.json", extras)):
            path = folder / name
            path.write_text(json.dumps(json.loads(path.read_text()) | more))
        return folder, verdict.of(run_folder.read(folder))

    return made


def test_a_model_from_random_parameters_is_sent_to_the_warm_start(judged):
    command = "python -m clwe_jax.main --config=configs/dict_mlm_50.py --workdir=x --config.data.source=text:d"
    _, found = judged(BELOW, extras={"command": command.split()})
    assert "The dictionary floor" in found.text and "99.9%" in found.text
    assert "(chance: 0.1%)" in found.text and "below its floor" in found.text and "days" in found.text
    assert found.command == "clwe-jax --config=warm_dict_mlm --config.data.source=text:d"

    _, small = judged(BELOW, {"scale": "small"}, {"command": command.split()})
    assert small.command == "clwe-jax --config=warm_dict_mlm:small --config.data.source=text:d"


def test_other_systems_have_other_next_steps(judged):
    _, warm = judged(BELOW, {"init": {"embeddings": "joint"}})
    assert warm.command == "clwe-jax --config=joint_dictionary" and "days" not in warm.text
    static = {"job": "static", "static": {"training": "joint", "dictionary_dim": 0}}
    assert judged(BELOW, static)[1].command == "clwe-jax --config=joint_dictionary"
    static["static"]["dictionary_dim"] = 512
    found = judged(BELOW, static)[1]
    assert not found.command and "more text" in found.text


def test_above_the_floor_and_without_one(judged):
    _, found = judged({"floor/retrieval/sif/mean_csls": 0.01})
    assert found.text.endswith("points.") and "+" in found.text and not found.command
    _, found = judged({})
    assert "floor" not in found.text
    _, found = judged({"floor/retrieval/sif/mean": 0.01})
    assert "by plain" in found.text


def test_it_is_the_first_sentence_of_the_page_and_the_end_of_the_run(judged, page_of):
    folder, found = judged(BELOW)
    page = page_of(folder)
    assert found.text in page.all("p", **{"class": "lead"})[0].text
    assert found.command in page.all("pre", **{"class": "command"})[0].text
    console = Console(record=True, width=100)
    tables.print_summary(json.loads((folder / "results.json").read_text()), folder, console)
    last = " ".join(console.export_text().split("Report:")[0].split())
    assert last.endswith(f"{found.text} {found.command}")


def test_the_floor_of_static_vectors_weighs_words_as_they_do(judged):
    own = {"retrieval/mean_csls": 0.7, "floor/retrieval/mean_csls": 0.65}
    folder, _ = judged(own | BELOW)
    path = folder / "results.json"
    kept = {x: y for x, y in json.loads(path.read_text()).items() if "last4" not in x}
    path.write_text(json.dumps(kept))
    (folder / "metrics.jsonl").unlink()  # figures of steps count too
    found = verdict.of(run_folder.read(folder))
    assert found.text.startswith("70.0%") and "is 65.0%: +5.0 points." in found.text
