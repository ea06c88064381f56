"""The folders of fine-tuned models: their initial parameters, development figures, best epochs."""

from __future__ import annotations

import json
import os
from typing import Any

import jax

from clwe_jax.objectives.labelling import LabellingObjective
from clwe_jax.training import checkpoint, metrics, partition, paths
from clwe_jax.types import Variables

FOLDER = "tuned"
BACKBONE = "backbone/"
_NAMES = ("backbone", "model")  # of the backbone in the parameters of masked language models
_LASER = ("source_pieces", "encoder")  # the parts of LASER's encoder


def folder(workdir: str, number: int) -> str:
    """The folder of a seed, numbered from 0."""
    return os.path.join(workdir, FOLDER, f"seed{number}")


def backbone_of(variables: Variables) -> dict[str, Any]:
    """The parameters of a masked language model's backbone or of LASER's encoder, by their paths in
    `TunedModel`."""
    params = variables["params"]
    laser = {name: params[name] for name in _LASER if name in params}
    backbone = laser or next(params[name] for name in _NAMES if name in params)
    return {BACKBONE + path: x for path, x in paths.flat(backbone).items()}


def history(directory: str, metric: str) -> dict[int, float]:
    """step -> a metric of a training folder."""
    values = {}
    with open(os.path.join(directory, metrics.FILE), encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["name"] == metric:
                values[int(row["step"])] = float(row["value"])
    return dict(sorted(values.items()))


def best(directory: str, objective: LabellingObjective, metric: str) -> Variables:
    """The parameters of the checkpoint with the highest metric."""
    figures = history(directory, metric)
    steps = checkpoint.complete_steps(os.path.join(directory, "checkpoints"))
    # Of equal figures the earliest counts.
    step = max(steps, key=lambda step: (figures.get(step, float("-inf")), -step))
    batch = objective.batch_shapes(1, objective.max_length)
    boxed = jax.eval_shape(objective.init, jax.random.key(0), batch)
    place = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    target = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place),
        partition.unbox(boxed["params"]),
    )
    return checkpoint.restore_variables(directory, target, step)[0]
