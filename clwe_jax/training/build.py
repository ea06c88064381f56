"""From a config to the objective and the optimizer it names; shared by training, plan and api."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import registry
from clwe_jax.types import Objective


def build_objective(config: ConfigDict, vocab_size: int, padded_vocab_size: int) -> Objective:
    """The objective with its model.

    Args:
      config: the run's config.
      vocab_size: pieces that exist; ids from there to padded_vocab_size are never predicted.
      padded_vocab_size: rows of the embedding table, a multiple that shards.
    """
    model = registry.build(
        "model",
        config.model,
        vocab_size=padded_vocab_size,
        languages=len(options.languages(config)),
        max_length=config.data.sequence_length,
    )
    return registry.build(
        "objective",
        config.objective,
        model=model,
        vocab_size=vocab_size,
        max_predictions=options.max_predictions(config),
    )
