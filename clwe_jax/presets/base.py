"""Values that the presets of all families share."""

from __future__ import annotations

from typing import Any, Mapping

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.systems import Run

Values = Mapping[str, Mapping[str, Any]]

# Domains of the embedded world's text at `:laptop`; training on all domains would take hours.
DOMAINS = "money,nature,kitchen,sport,travel,school,music,animals"
YOUR_TEXT = dict(source="text:corpora", dictionaries="dictionaries")


def at(scale: str, kind: type[Run] = PretrainRun) -> ConfigDict:
    """The defaults of a kind of run, at a scale.

    Raises:
      ValueError: an unknown scale.
    """
    if scale not in options.SCALES:
        raise ValueError(
            f"Unknown scale {scale!r} after the config's ':'. Known: {', '.join(options.SCALES)}."
        )
    return options.config_dict(kind(scale=scale))


def set_values(config: ConfigDict, values: Values) -> ConfigDict:
    """Sets options, section by section, and returns the config."""
    for section, some in values.items():
        config[section].update(some)
    return config
