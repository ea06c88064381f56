"""The evaluators of a run, made from config.evals and what the run's data give."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import registry
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Batch, Evaluator, Objective


def build(
    config: ConfigDict,
    objective: Objective,
    tokenizer: Tokenizer,
    folders: Mapping[str, str],
    sample: Mapping[str, Sequence[str]],
    *,
    heldout: Mapping[str, Sequence[Batch]] | None = None,
    domains: Sequence[str] = (),
    only: Sequence[str] | None = None,
) -> list[Evaluator]:
    """The evaluators of config.evals that have data; the others are named in the log.

    Args:
      config: `evals`.
      objective, tokenizer: of the model.
      folders: see `text.world.resolve_folders`.
      sample: a language: a few lines of text.
      heldout: a language: its held-out batches.
      domains: of the embedded world's text; all where there are none.
      only: keys of config.evals; None: all.
    """
    made = []
    for key, spec in config.evals.items():
        if only is not None and key not in only:
            continue
        spec = spec.to_dict()
        given: dict[str, Any] = {"objective": objective}
        if key == "mlm":
            del spec["batches"]  # how many; the evaluator is given the batches
            given["batches"] = heldout
        elif key == "wsd":
            given["tokenizer"] = tokenizer
        else:
            spec["data"] = folders.get(key, spec["data"])
            given["tokenizer"] = tokenizer
        if key == "senses":
            given["domains"] = domains
        if key == "bli":
            given["lines"] = sample
        if not (given.get("batches") or spec.get("data") or spec.get("training")):
            logging.warning("config.evals.%s has no data: left out", key)
            continue
        if key == "bli" and not sample:
            logging.warning("config.evals.bli needs running text, which this source has not")
            continue
        made.append(registry.build("evaluator", spec, **given))
    return made
