"""The contrastive finish: a short second training of a masked language model; its settings.

After the pretraining, sentences and their code-switched copies, or translations, attract each other
(`objectives.contrastive`). The finish has a folder of its own, and its checkpoints are the run's
final parameters.
"""

from __future__ import annotations

import dataclasses
import os

from jax.sharding import Mesh
import numpy as np

from clwe_jax import options
from clwe_jax.objectives.contrastive import ContrastiveObjective
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.training import FinishOptions, TrainOptions
from clwe_jax.training import checkpoint, optim, partition
from clwe_jax.training.optim import Optimizer
from clwe_jax.types import Objective

FOLDER = "finish"


def steps(config: options.Run) -> int:
    """Steps of the run's finish; 0: the run has none."""
    return config.finish.steps if isinstance(config, PretrainRun) else 0


def final_folder(workdir: str) -> str:
    """The folder whose checkpoints/ hold the run's final parameters.

    It is WORKDIR/finish where the run's finish has a checkpoint, else WORKDIR.
    """
    folder = os.path.join(workdir, FOLDER)
    if not checkpoint.complete_steps(os.path.join(folder, "checkpoints")):
        return workdir
    return folder if steps(options.read_config(workdir)) else workdir


def objective(
    settings: FinishOptions, base: Objective, weights: np.ndarray | None = None
) -> ContrastiveObjective:
    """The loss of the finish on the pretraining's model.

    Args:
      base: the pretraining's objective.
      weights: of pieces in the vector of a sentence, float32 [languages, V]; None: all weigh the same.
    """
    return ContrastiveObjective(
        base, settings.temperature, settings.microbatches, weights, settings.against
    )


def optimizer(config: PretrainRun) -> Optimizer:
    """The pretraining's optimizer with the rate of the finish and no weight decay.

    Without decay, parameters that the loss does not reach (the head) stay as they are. A pull to the start
    (`decay_to_start`) goes on, to the pretraining's end. Frozen groups stay frozen; the rates of the other
    groups keep their ratios to the rate of all.
    """
    pretraining = optim.from_config(config.optimizer, config.data.sequence_length)
    rate = config.finish.learning_rate
    groups = {}
    for name, group in pretraining.groups.items():
        group_rate = pretraining.for_group(name).learning_rate
        groups[name] = dataclasses.replace(
            group,
            learning_rate=rate * group_rate / pretraining.learning_rate,
            weight_decay=0.0,
            warmup_steps=None,
            schedule=None,
            final_share=None,
        )
    return dataclasses.replace(
        pretraining,
        learning_rate=rate,
        warmup_steps=config.finish.warmup_steps,
        schedule="linear",
        final_share=0.0,
        weight_decay=0.0,
        scale=1.0,
        groups=groups,
    )


def length(config: PretrainRun) -> int:
    """Pieces of a row of the finish; a row holds one sentence."""
    return min(config.finish.sequence_length, config.data.sequence_length)


def train_options(config: PretrainRun, mesh: Mesh) -> TrainOptions:
    """The finish's options in the form of `config.train`; all groups learn all the time.

    Raises:
      ValueError: pairs that cannot be dealt out to the devices of the mesh.
    """
    settings = config.finish
    partition.check_batch_size(settings.batch_size, settings.microbatches, mesh, "config.finish")
    return dataclasses.replace(
        config.train,
        steps=settings.steps,
        batch_size=settings.batch_size,
        microbatches=1,  # the objective cuts its batch itself: all pairs repel each other
        phases=(),
        repeat_phases=False,
    )
