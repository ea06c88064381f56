"""Monolingual models in one space by learned networks: CLCR (B1-B6)."""

from __future__ import annotations

from clwe_jax.api.pair import PairModel
from clwe_jax.encoders.clcr_models import ClcrModels


class ClcrModel(ClcrModels, PairModel):
    """The models of a CLCR run and of its hub; see `ClcrModels` for its attributes."""
