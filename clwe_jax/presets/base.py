"""Values that the presets of all families share."""

from __future__ import annotations

from typing import Any, Mapping

from ml_collections import ConfigDict

from clwe_jax import config as options

Values = Mapping[str, Mapping[str, Any]]

# Domains of the embedded world's text at `:laptop`; training on all domains would take hours.
DOMAINS = "money,nature,kitchen,sport,travel,school,music,animals"
YOUR_TEXT = dict(source="text:corpora", dictionaries="dictionaries")
MASKING = dict(masking_rate=0.15, mask_share=0.8, keep_share=0.1, random_share=0.1)
TRANSFORMER = dict(
    name="transformer", layers=4, dropout=0.1, norm="post", dtype="auto",
    remat=False,
)  # fmt: skip
ADAMW = dict(
    name="adamw", schedule="linear", weight_decay=0.01, b1=0.9, b2=0.999, eps=1e-6, clip=1.0,
    groups={},
)  # fmt: skip


def at(scale: str) -> ConfigDict:
    """The base options at a scale.

    Raises:
      ValueError: an unknown scale.
    """
    if scale not in options.SCALES:
        raise ValueError(
            f"Unknown scale {scale!r} after the config's ':'. Known: {', '.join(options.SCALES)}."
        )
    config = options.base_config()
    config.scale = scale
    return config


def set_values(config: ConfigDict, values: Values) -> ConfigDict:
    """Sets options, section by section, and returns the config."""
    for section, some in values.items():
        config[section].update(some)
    return config
