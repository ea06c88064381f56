"""Two sides in turns: the protocol between the interpreters, and the ratio."""

import argparse
import importlib.util
import pathlib
import sys

import pytest

from benchmarks.ledger import rows

PATH = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "side_by_side.py"
spec = importlib.util.spec_from_file_location("side_by_side", PATH)
side_by_side = importlib.util.module_from_spec(spec)
# dataclasses look their module up by name.
sys.modules["side_by_side"] = side_by_side
spec.loader.exec_module(side_by_side)

PEER = """
import sys
sys.path.insert(0, {folder!r})
import side_by_side

def setup(options):
    print("output of a library does not mix with the answers")
    rates = iter(options["rates"])
    def measure():
        print("more noise")
        return next(rates)
    return {{"peer": options["name"]}}, measure

side_by_side.serve(setup)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "peer.py"
    path.write_text(PEER.format(folder=str(PATH.parent)))
    return str(path)


def test_rounds_are_in_turns_and_the_first_is_not_counted(script):
    rates = [1.0, 10.0, 40.0, 20.0]
    ours = iter([1.0, 20.0, 40.0, 100.0])
    with side_by_side.Peer(sys.executable, script, {"name": "x", "rates": rates}) as peer:
        assert peer.facts == {"peer": "x"}
        found = side_by_side.alternate(lambda: next(ours), peer, rounds=3)
    assert (found.ours, found.theirs) == ([20.0, 40.0, 100.0], [10.0, 40.0, 20.0])
    # The median of 2, 1 and 5, not the ratio of the medians.
    assert found.figures("peer", "words/s")["ratio"] == 2.0
    table = found.table("peer", {"version": "1"})
    assert "ratio 2.00 (rounds: 1.00 to 5.00, 3 of them)" in table and "version: 1" in table


def test_who_goes_first_changes():
    calls = []

    class Other:
        def measure(self):
            calls.append("peer")
            return 1.0

    def ours():
        calls.append("ours")
        return 1.0

    side_by_side.alternate(ours, Other(), rounds=2)
    assert calls[2:] == ["ours", "peer", "peer", "ours"]


def test_a_round_has_as_many_steps_as_fill_its_time(monkeypatch):
    now = [0.0]
    done = []

    def run(steps):
        done.append(steps)
        now[0] += 0.5 * steps

    monkeypatch.setattr(side_by_side.time, "perf_counter", lambda: now[0])
    monkeypatch.setitem(side_by_side.CLOCKS, "wall", lambda: now[0])
    rounds = side_by_side.rounds_of(run, units=10, seconds=4.0, clock="wall")
    assert rounds.steps == 8 and rounds.measure() == 20.0 and done == [2, 2, 8]
    assert side_by_side.rounds_of(run, 10, 0.0, "wall", least=1).steps == 1


def test_without_a_peer_our_rounds_alone_are_published(capsys):
    options = argparse.Namespace(peer_python="", rounds=2)
    rates = iter([1.0, 20.0, 40.0])
    found, facts = side_by_side.compare(options, lambda: next(rates), "none.py", {})
    assert found.ours == [20.0, 40.0] and facts == {}
    assert set(found.figures("x", "words/s")) == {
        "clwe_jax, words/s",
        "clwe_jax, words/s_low",
        "clwe_jax, words/s_high",
    }
    assert "ratio" not in found.table("x", {})


def test_a_peer_that_cannot_start_is_named_with_what_mends_it(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("raise SystemExit(3)")
    with pytest.raises(
        RuntimeError, match=r"broken\.py ended with exit status 3.*pip install torch"
    ):
        side_by_side.Peer(sys.executable, str(path), {})


def test_a_benchmark_writes_a_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(PATH.with_name("csls.py")), "--words=20", "--seed=3"])
    found = side_by_side.Comparison([2.0, 4.0], [1.0, 1.0])
    side_by_side.publish(found, "peer", {"torch": "2"}, {"words": 20, "seed": 3}, "words/s")
    row = rows.row_of(str(tmp_path / "runs" / "benchmarks" / "csls_words=20-3"))
    assert row["name"] == "csls words=20" and row["seed"] == 3 and row["facts"] == {"torch": "2"}
    assert row["commands"] == ["python benchmarks/csls.py --words=20 --seed=3"] and row["date"]
    assert row["figures"]["ratio"] == [3.0, 2.0, 4.0]
    assert row["figures"]["peer, words/s"] == [1.0, 1.0, 1.0]
