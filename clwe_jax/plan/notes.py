"""Remarks of `--plan` on settings that run and yet make no sense."""

from __future__ import annotations

from typing import Any, Mapping

from clwe_jax.options.pretrain import PretrainRun

_FEW_ROWS = 8  # rows of a device and microbatch below which its matrix units are mostly idle
_UNITS = 128  # width of a TPU's matrix units
_HIGH_RATE = 0.1  # learning rate above which Adam and its relatives diverge


def remarks(config: PretrainRun, result: Mapping[str, Any]) -> list[str]:
    """Sentences on a config, each with the option to change.

    Args:
      config: the run's config.
      result: the result of `pretraining.run`; its devices, rows_a_device, microbatches and chips are read.
    """
    sentences = []
    rows = result["rows_a_device"] // result["microbatches"]
    if rows < _FEW_ROWS and result["devices"] > 1:
        plural = "s" if rows > 1 else ""
        parts = result["microbatches"]
        fewer = f"lower config.train.microbatches ({parts}), " if parts > 1 else ""
        sentences.append(
            f"A device computes {rows} row{plural} at a time and is mostly idle: raise "
            f"config.train.batch_size ({config.train.batch_size:,}), {fewer}or plan a smaller "
            "slice."
        )
    width, heads = config.model.width, getattr(config.model, "heads", 0)
    if result["chips"] and width % _UNITS:
        sentences.append(
            f"config.model.width={width} is no multiple of {_UNITS}, the width of the chips' "
            "matrix units: a part of each stays idle."
        )
    if heads and width // heads < 16:
        sentences.append(
            f"config.model.heads={heads} gives heads of {width // heads} dimensions; 32 to 128 are "
            "usual."
        )
    warmup, steps = config.optimizer.warmup_steps, config.train.steps
    if warmup >= steps:
        sentences.append(
            f"config.optimizer.warmup_steps={warmup:,} is not below config.train.steps={steps:,}: "
            "the learning rate never falls."
        )
    rate = config.optimizer.learning_rate
    if config.optimizer.name != "adagrad" and rate > _HIGH_RATE:
        sentences.append(
            f"config.optimizer.learning_rate={rate:g}: {config.optimizer.name} diverges at rates "
            f"above {_HIGH_RATE:g}; 1e-4 to 5e-3 are usual."
        )
    return sentences
