"""Monolingual models in one space by a learned network, with the steps after the transform."""

from __future__ import annotations

import dataclasses

from clwe_jax.api.pair import PairModel
from clwe_jax.encoders.clcr import ClcrEncoder, Steps


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ClcrModel(PairModel):
    """Monolingual models; the source's is mapped to the target's space by T, as those of its hub are.

    Attributes:
      steps: predictors of pivots and of their order.
    """

    steps: Steps
    described = "CLCR's pairs of models"

    def reduced(
        self, extract: bool = True, reorder: bool = True, threshold: float | None = None
    ) -> ClcrEncoder:
        """The encoder with the steps E and R: vectors of pivots alone, in one language's order.

        Args:
          extract, reorder: see `ClcrEncoder`.
          threshold: least probability of a pivot; None: the run's.
        """
        steps = self.steps
        if threshold is not None:
            steps = dataclasses.replace(steps, threshold=threshold)
        return ClcrEncoder(self.encoder(), steps, extract, reorder)
