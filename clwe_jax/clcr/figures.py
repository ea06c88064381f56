"""Figures of the maps between two models: the spread of words in the common space, links and pivots."""

from __future__ import annotations

from typing import Sequence

from absl import logging
import numpy as np

from clwe_jax.align import pivots
from clwe_jax.clcr import steps as clcr_steps
from clwe_jax.clcr.results import Split
from clwe_jax.clcr.vectors import Views


def measure_spread(words: Views) -> dict[str, float]:
    """The variances and ranks of the test words in the common space; a collapse is a warning."""
    figures = {}
    for side, name in enumerate(("mapped", "target")):
        variance, rank = clcr_steps.variance_and_rank(words.common(side).words)
        figures |= {f"clcr/variance/{name}": variance, f"clcr/rank/{name}": rank}
        if clcr_steps.has_collapsed(variance, rank):
            logging.warning(
                "The %s representations have collapsed: variance %.4f of a dimension, effective rank "
                "%.1f. Lower config.clcr.tune.learning_rate or .rounds, or train T for more steps",
                name,
                variance,
                rank,
            )
    return figures


def measure_links(
    test: Split, distances: Sequence[np.ndarray], curve: clcr_steps.Curve
) -> dict[str, float]:
    """The figures of links and pivots against the gold links of the test sentences."""
    figures = clcr_steps.aligner_figures(test.words, test.rows)
    nearest = clcr_steps.link_scores([pivots.links(x) for x in distances], test.rows)
    figures |= {f"clcr/alignment_{name}": value for name, value in nearest.items()}
    pivot_scores = clcr_steps.link_scores(test.links, test.rows)
    figures |= {f"clcr/pivots/{name}": value for name, value in pivot_scores.items()}
    at = curve.precision_at(clcr_steps.RECALL)
    return figures if at is None else {**figures, f"clcr/pivots/precision@{clcr_steps.RECALL}": at}
