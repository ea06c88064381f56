"""The benchmark of the bidirectional language model trains on its made-up batch."""

import pathlib
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def test_a_made_up_batch_has_all_keys_of_the_objective(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bilm

    sizes = "--layers=1 --cells=8 --width=8 --features=64 --rows=2 --window=6 --vocab=128"
    monkeypatch.setattr(sys, "argv", ["bilm.py", *sizes.split(), "--negatives=8"])
    args = bilm.arguments()
    step = bilm.our_step(args, bilm.made_up_batch(args))
    step.run(2)
    assert step.parameters > 2 * 128 * 8
