"""The objective that a config names; training, plan and api build it here."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from ml_collections import ConfigDict
import numpy as np

from clwe_jax import config as options
from clwe_jax import registry
from clwe_jax.types import Objective


def build_objective(
    config: ConfigDict,
    vocab_size: int,
    padded_vocab_size: int,
    translations: np.ndarray | None = None,
    specials: Mapping[str, int] | None = None,
) -> Objective:
    """The objective with its model.

    Args:
      config: the run's config.
      vocab_size: number of pieces; ids from there to padded_vocab_size are never predicted.
      padded_vocab_size: rows of the embedding table, which devices divide evenly.
      translations: word ids, int32 [vocab_size, languages, T], for objectives that translate.
      specials: name of each special piece -> its id in the vocabulary.
    """
    given = dict(
        vocab_size=vocab_size,
        padded_vocab_size=padded_vocab_size,
        max_predictions=options.max_predictions(config),
        translations=translations,
        backward=config.task.get("backward"),
        seed=config.seed,
        specials=specials or {},
    )
    model = _build(
        "model",
        config.model,
        vocab_size=padded_vocab_size,
        languages=len(options.languages(config)),
        max_length=config.data.sequence_length,
    )
    return _build("objective", config.objective, model=model, **given)


def _build(kind: str, spec: ConfigDict, **given: Any) -> Any:
    """`registry.build` with the values of `given` that are fields of the class."""
    fields = {field.name for field in dataclasses.fields(registry.lookup(kind, spec["name"]))}
    spec = {
        key: value.to_dict() if isinstance(value, ConfigDict) else value
        for key, value in spec.items()
    }
    taken = {name: value for name, value in given.items() if name in fields}
    return registry.build(kind, spec, **taken)
