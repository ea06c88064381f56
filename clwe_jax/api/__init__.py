"""Use a trained model: vectors of sentences and of words in context, nearest words, senses.

    from clwe_jax import api

    model = api.load("runs/dict_mlm_50")
    vectors = model.encode(["Die Bank ist geschlossen."], lang="de")

TensorFlow is not needed.
"""

from __future__ import annotations

import os

from clwe_jax import config as options
from clwe_jax import registry
from clwe_jax.api.model import Model, Neighbour
from clwe_jax.api.pair import PairModel
from clwe_jax.api.senses import Sense, SenseView, Translated
from clwe_jax.api.static import StaticModel, Translation

__all__ = [
    "Model", "Neighbour", "PairModel", "Sense", "SenseView", "StaticModel", "Translated", "Translation", "load",
]  # fmt: skip


def load(workdir: str | os.PathLike[str], step: int | None = None) -> Model | PairModel | StaticModel:
    """The trained model in a run's folder: a `Model`, a `PairModel` of two projected monolingual
    runs, or a `StaticModel` of static vectors.

    Args:
      workdir: the run's folder: config.json, vocab/ and checkpoints/, and words.json for
        `neighbours`; of static vectors config.json, spaces.json, spaces/ and alignments/.
      step: number of a checkpoint of the pretraining; None: the final parameters, of the newest
        checkpoint that can be read. Static vectors have none.

    Raises:
      FileNotFoundError: the folder holds no run, no tokenizer, no checkpoint or no vectors.
      ValueError: a file of the run is damaged, the folder has an older layout, or the checkpoint is
        of another model or vocabulary.
    """
    workdir = os.fspath(workdir)
    return registry.lookup("loader", options.read_config(workdir).job)(workdir, step)
