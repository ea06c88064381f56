"""Remarks of --plan on settings that make no sense."""

import pytest

from clwe_jax import options, presets
from clwe_jax.plan import notes as plan_notes

RESULT = dict(devices=8, chips=4, rows_a_device=64, microbatches=1)


@pytest.mark.parametrize(
    "paths, result, expected",
    [
        ({}, {}, None),
        ({}, dict(rows_a_device=1), "computes 1 row at a time"),
        ({}, dict(rows_a_device=8, microbatches=4), "computes 2 rows at a time"),
        ({"model.width": 100}, {}, "config.model.width=100 is no multiple of 128"),
        ({"model.width": 100}, dict(chips=0), None),  # on a CPU it is as good as any other
        ({"model.heads": 16}, {}, "heads of 8 dimensions"),
        ({"train.steps": 100}, {}, "config.optimizer.warmup_steps=100 is not below"),
        ({"optimizer.learning_rate": 3.0}, {}, "config.optimizer.learning_rate=3: adamw diverges"),
    ],
)
def test_remarks(paths, result, expected):
    config = presets.bert("laptop")
    config.update_from_flattened_dict(paths)
    found = plan_notes.remarks(options.parse(config), RESULT | result)
    assert len(found) == (expected is not None)
    assert expected is None or expected in found[0]
