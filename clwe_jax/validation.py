"""Settings that cannot work, refused with errors that help.

This module imports neither jax nor TensorFlow, so that an error comes at once.
"""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import config_static


def validate(config: ConfigDict) -> None:
    """Raises ValueError for settings that cannot work, before anything slow has started."""
    if "static" in config:
        config_static.validate(config)
        return
    options.languages(config)
    source = config.data.source
    kinds = ("text:", "tfds:", "batches:")
    if source != "pocket" and not source.startswith(kinds):
        raise ValueError(
            f"config.data.source={source!r}: expected pocket, text:DIR, tfds:NAME or batches:DIR"
        )
    for path, least in (
        ("train.steps", 1),
        ("train.batch_size", 1),
        ("train.microbatches", 1),
        ("data.sequence_length", 8),
        ("data.chunk_lines", 1),
        ("vocab.size", 16),
    ):
        section, key = path.split(".")
        if config[section][key] < least:
            raise ValueError(f"config.{path}={config[section][key]}: must be at least {least}")
    if config.train.batch_size % config.train.microbatches:
        raise ValueError(
            f"config.train.batch_size={config.train.batch_size} is not divisible by "
            f"config.train.microbatches={config.train.microbatches}"
        )
    if not 0 <= config.data.heldout_share < 0.5:
        raise ValueError("config.data.heldout_share must be in [0, 0.5)")
