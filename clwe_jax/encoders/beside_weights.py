"""Weights of an encoder beside another, chosen on verses that the second one's training has left out."""

from __future__ import annotations

import time
from typing import Sequence

from absl import logging
import numpy as np

from clwe_jax.align import both_sides
from clwe_jax.encoders.concatenated import ConcatenatedEncoder
from clwe_jax.encoders.encode import MEAN_LAST4, select_layer
from clwe_jax.options.transfer import BESIDE
from clwe_jax.text.corpus.parallel import SentencePairs
from clwe_jax.types import Encoder

_TRIED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
_MAX_VERSES = 300  # the shortest ones: they are the hardest and the most like other sentences
_MIN_VERSES = 30
_NEIGHBOURS = 10


def choose_weights(
    first: Encoder, second: Encoder, languages: tuple[str, str], pairs: SentencePairs
) -> np.ndarray | None:
    """The weights by which most verses find their translation by CSLS, in both directions.

    Of those within a standard error of the best one (the rule of Breiman et al. 1984, section 3.4.3),
    the weight nearest to `BESIDE` is taken.

    Args:
      first, second: see `ConcatenatedEncoder`.
      languages: of the two sides.
      pairs: verses that neither encoder was trained on.

    Returns:
      float32 [layers + 1]: of each layer of the first encoder, and of the mean of its last four; None
      where there are too few verses.
    """
    started = time.monotonic()
    order = sorted(range(len(pairs.source)), key=lambda n: len(pairs.source[n] + pairs.target[n]))
    if len(order) < _MIN_VERSES:
        return None
    sides = [[some[n] for n in order[:_MAX_VERSES]] for some in (pairs.source, pairs.target)]
    views = [x.pairwise_space(*languages) for x in (first, second)]
    own, beside = (
        [view.sentences(texts, language) for texts, language in zip(sides, languages)]
        for view in views
    )
    found = np.array([_accuracies(views, own, beside, weight) for weight in _TRIED])
    best = found.max(0)
    errors = np.sqrt(best * (1 - best) / (2 * len(sides[0])))
    distances = np.abs(np.log(np.array(_TRIED) / BESIDE))[:, None]
    chosen = np.where(found >= best - errors, distances, np.inf).argmin(0)
    weights = np.array(_TRIED, np.float32)[chosen]
    # An encoder with one vector of a sentence has more layers for words.
    weights = np.pad(weights, (first.layers + 1 - len(weights), 0), "edge")
    logging.info(
        "%s-%s: weight %.2g of the second encoder, %.2g beside the last layer, chosen on %d verses, %.0f s",
        *languages,
        weights[-1],
        weights[-2],
        len(sides[0]),
        time.monotonic() - started,
    )
    return weights


def _accuracies(
    views: Sequence[Encoder], own: Sequence[np.ndarray], beside: Sequence[np.ndarray], weight: float
) -> np.ndarray:
    """The shares of verses that find their translation: of each layer, and of the mean of the last four."""
    both = ConcatenatedEncoder(*views, weight)
    x, y = (both.join(*parts) for parts in zip(own, beside))
    shares = []
    for layer in (*range(x.shape[1]), MEAN_LAST4):
        sides = (np.asarray(select_layer(vectors, layer)) for vectors in (x, y))
        [_, nearest] = both_sides.best(*sides, (_NEIGHBOURS,))
        shares.append(np.mean([rows == np.arange(len(x)) for rows in nearest]))
    return np.array(shares)
