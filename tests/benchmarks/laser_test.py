"""The benchmark of LASER trains on its made-up batch."""

import pathlib

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def test_our_side_takes_steps(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import laser
    import run_config

    config = run_config.load(
        "laser",
        changes={
            "model.layers": 1,
            "model.width": 4,
            "model.cells": 4,
            "model.decoder_cells": 4,
            "vocab.size": 128,
            "train.batch_size": 2,
        },
    )
    step = laser.our_step(config, 5)
    step.run(2)
    assert step.parameters > 3 * 128 * 4
