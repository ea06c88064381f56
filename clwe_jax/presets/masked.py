"""Text and evaluations of masked language models of word pieces (D1-D8)."""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, Values, at, set_values


def _evals(every_steps: int) -> dict[str, Any]:
    """The evaluations of a model that is trained on real text."""
    return dict(
        mlm=dict(every_steps=every_steps, batches=8),
        retrieval=dict(data="tatoeba", every_steps=every_steps),
        bli=dict(data="dictionaries"),
    )


_WIKIPEDIA: Values = {
    "data": dict(
        source="tfds:wikipedia/20230601",
        languages=options.MBERT_LANGUAGES,
        dictionaries="dictionaries",
        sample_bytes=5_000_000,
        lower_case=False,
        heldout_share=0.0005,
    ),
    "train": dict(log_every_steps=100),
    "evals": _evals(20_000),
}
_SCALES: dict[str, Values] = {
    "laptop": {
        # A part of the domains: minutes, not hours.
        "data": dict(pocket_domains=DOMAINS),
        "checkpoint": dict(every_steps=250),
        "evals": dict(mlm=dict(every_steps=1_000, batches=8), retrieval=dict(every_steps=1_500)),
    },
    "small": {
        "data": dict(YOUR_TEXT, languages="en,de,es,fr,ru,zh", sample_bytes=5_000_000),
        "train": dict(log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
        "evals": _evals(2_000),
    },
    "base": {**_WIKIPEDIA, "checkpoint": dict(every_steps=5_000)},
    "paper": {**_WIKIPEDIA, "checkpoint": dict(every_steps=2_000)},
}


def masked_model(scale: str) -> ConfigDict:
    """Text, evaluations and checkpoints of a masked language model of word pieces.

    The config file sets its sizes, `task`, `optimizer` and `train`.

    Args:
      scale: 'laptop', 'small', 'base' or 'paper', as in all presets.

    Raises:
      ValueError: an unknown scale.
    """
    return set_values(at(scale), _SCALES[scale])
