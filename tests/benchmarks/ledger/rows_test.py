"""Rows of the ledger: names, order, replacement."""

import json

import pytest

from benchmarks.ledger import layout, rows
from clwe_jax.runs import record


def run_in(folder, command, figures, seed=0, finished=True):
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "commands": [command],
        "finished": finished,
        "seed": seed,
        "figures": figures,
        "options": "0",
        "data": [],
        "seconds": {"wall": 1, "processor": 1},
    }
    (folder / record.FILE).write_text(json.dumps(made))
    return str(folder)


MAIN = "python -m clwe_jax.main --config=configs/"


@pytest.mark.parametrize(
    "command, name",
    [
        (MAIN + "mbert.py --workdir=runs/x --config.seed=3", "mbert"),
        (
            MAIN + "mbert.py --config.seed=3 --config.init.embeddings=runs/3/x",
            "mbert init.embeddings=runs/x",
        ),
        (MAIN + "mbert.py:small --config.train.steps=10", "mbert:small train.steps=10"),
        (MAIN.replace("=", " ") + "mbert.py:laptop", "mbert"),
        ("python benchmarks/csls.py --words 20 --flag --peer-python=x", "csls flag words=20"),
        (
            "python benchmarks/laser.py --config=configs/mbert.py:base --length=3",
            "laser config=mbert:base length=3",
        ),
    ],
)
def test_a_row_has_the_name_of_its_command(command, name):
    assert rows.name_of(command) == name


def test_rows_are_sorted_and_replaced(tmp_path):
    ledger = str(tmp_path / "ledger")
    two = run_in(tmp_path / "two", MAIN + "mbert.py --config.seed=2", {"retrieval/mean": 0.2})
    one = run_in(
        tmp_path / "one", MAIN + "mbert.py", {"retrieval/mean": [0.123456789, 0, 1], "bli/pairs": 3}
    )
    wide = run_in(tmp_path / "wide", MAIN + "mbert.py --config.model.width=64", {}, 1)
    (tmp_path / "two" / record.FILE).write_text(
        (tmp_path / "two" / record.FILE).read_text().replace('"seed": 0', '"seed": 2')
    )
    assert rows.add([two, wide, one], ledger) == ["mbert", "mbert model.width=64", "mbert"]
    found = rows.read(ledger)
    assert [rows.key(row) for row in found] == [
        ("mbert", 0),
        ("mbert", 2),
        ("mbert model.width=64", 1),
    ]
    assert found[0]["figures"] == {"retrieval/mean": [0.123457, 0, 1]}
    run_in(tmp_path / "one", MAIN + "mbert.py", {"retrieval/mean": 0.5})
    rows.add([one], ledger)
    assert [row["figures"] for row in rows.read(ledger)][0] == {"retrieval/mean": 0.5}
    assert len((tmp_path / "ledger" / "mbert.jsonl").read_text().splitlines()) == 3


@pytest.fixture(name="root")
def _root(tmp_path, monkeypatch):
    """A project's folder of which `tmp_path` is neither a part nor a neighbour, wherever both lie."""
    root = str(tmp_path / "home" / "project")
    monkeypatch.setattr(rows, "ROOT", root)
    return root


def test_options_lose_the_places_of_this_machine(tmp_path, root):
    folder = run_in(tmp_path / "x", MAIN + "mbert.py", {})
    path = tmp_path / "x" / record.FILE
    options = {"data": {"source": f"text:{tmp_path}/text", "names": [f"{root}/docs"]}, "a": 1}
    path.write_text(json.dumps({**json.loads(path.read_text()), "options": options}))
    assert rows.row_of(folder)["options"] == {
        "data": {"source": "text:text", "names": ["docs"]},
        "a": 1,
    }


def test_rows_keep_the_figures_that_orders_of_runs_need():
    _, _, items = layout.items(rows.FOLDER)
    asked = {
        metric.replace("*-*", "de-en")
        for item in items
        for order in item.orders
        for metric in (order.metric, order.other)
        if metric.startswith("retrieval/")
    }
    assert asked and not [metric for metric in asked if not rows._KEPT.fullmatch(metric)]


def test_an_unfinished_run_is_refused(tmp_path):
    folder = run_in(tmp_path / "x", MAIN + "mbert.py", {}, finished=False)
    with pytest.raises(ValueError, match="unfinished"):
        rows.add([folder], str(tmp_path / "ledger"))
    with pytest.raises(FileNotFoundError, match="record.json"):
        rows.add([str(tmp_path)], str(tmp_path / "ledger"))
    assert not (tmp_path / "ledger").exists()


def test_a_damaged_line_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"name": "a"}\n{"name"\n')
    with pytest.raises(ValueError, match=r"a\.jsonl:2"):
        rows.read(str(tmp_path))


def test_paths_of_one_machine_do_not_enter_rows(tmp_path, root):
    folder = run_in(
        tmp_path / "x",
        f"{MAIN}mbert.py --config.data.source=text:{root}/corpora --config.encoder=hf:{tmp_path}/e5",
        {},
    )
    (command,) = rows.row_of(folder)["commands"]
    assert command.endswith("--config.data.source=text:corpora --config.encoder=hf:e5")
