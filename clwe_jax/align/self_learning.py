"""VecMap: self-learning of a map and a dictionary, with or without an initial dictionary."""

from __future__ import annotations

import dataclasses

import numpy as np
from absl import logging

from clwe_jax.align import alignment, preprocess, procrustes, stochastic, weighting
from clwe_jax.options.aligners import SelfLearningOptions
from clwe_jax.types import Array


@dataclasses.dataclass(frozen=True)
class SelfLearning(SelfLearningOptions):
    """Robust self-learning (Artetxe et al. 2018), and VecMap's supervised map.

    A Robust Self-Learning Method for Fully Unsupervised Cross-Lingual Mappings of Word Embeddings.
    Every iteration fits an orthogonal map to the dictionary and draws a dictionary that fits the
    map. When the objective has not improved for `interval` iterations, the draws become less
    random. The result is the symmetrically re-weighted map of the last dictionary.

    `fit` with pairs is VecMap's --semi_supervised, and without pairs its --unsupervised. With
    `self_learning` False it is --supervised: the re-weighted map of the given pairs.
    """

    seed: int = 0

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the maps; `pairs` is the initial dictionary.

        Without pairs the similarities within either side give the initial dictionary. The maps of
        both sides are [D, D]; with `reweight` None only the source has a map, which is orthogonal.
        `info` has 'pairs' (sizes of the first and the last dictionary) and, for each iteration,
        'objective' (mean cosine of words with the nearest word of the other side) and 'keep'.
        """
        self._check()
        is_needed = pairs is not None or not self.self_learning
        x, y, pairs, steps = alignment.prepare(
            "self_learning", source, target, pairs, self.preprocess, dictionary=is_needed
        )
        if pairs is None:
            pairs = self._initial(x, y)
        info: dict = {"aligner": "self_learning", "pairs": [len(pairs)]}
        if self.self_learning:
            pairs = self._learn_dictionary(x, y, pairs, info)
            info["pairs"].append(len(pairs))
        ends = x[pairs[:, 0]], y[pairs[:, 1]]
        if self.reweight is None:
            maps = procrustes.orthogonal(*ends).astype(np.float32), None
        else:
            sides = weighting.symmetric(*ends, self.reweight)
            maps = tuple(side.astype(np.float32) for side in sides)
        return alignment.Alignment(*maps, *steps, info)

    def _check(self) -> None:
        if not 0 < self.keep <= 1 or self.multiplier <= 1:
            raise ValueError(
                f"keep must be in (0, 1] and multiplier more than 1; got {self.keep} and "
                f"{self.multiplier}"
            )

    def _initial(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Pairs words whose sorted similarities within their own side are similar (section 3.2)."""
        count = min(len(x), len(y), self.initial_words)
        if count < self.neighbourhood:
            logging.warning(
                "self_learning: %d words per side are too few to align without a dictionary", count
            )
        profiles = []
        for side in (x, y):
            similarity = weighting.root_similarity(side[:count])
            # Sorted, similarities do not depend on the words: both languages compare.
            similarity.sort(axis=1)
            profiles.append(preprocess.fit(similarity, self.preprocess)[0])
        return stochastic.induce(*profiles, neighbourhood=self.neighbourhood).pairs

    def _learn_dictionary(
        self, x: np.ndarray, y: np.ndarray, pairs: np.ndarray, info: dict
    ) -> np.ndarray:
        """The last dictionary of self-learning; `max_words` limits all but the first one, as in VecMap."""
        rng = np.random.default_rng(self.seed)
        info |= {"objective": [], "keep": []}
        best = -np.inf
        keep = self.keep
        since = 0
        while True:
            if since >= self.interval:
                if keep >= 1:
                    return pairs
                keep = min(1.0, self.multiplier * keep)
                since = 0
            matrix = procrustes.orthogonal(x[pairs[:, 0]], y[pairs[:, 1]])
            last_pairs = pairs
            mapped = x[: self.max_words] @ matrix.astype(np.float32)
            pairs, objective = stochastic.induce(
                mapped, y[: self.max_words], keep=keep, neighbourhood=self.neighbourhood, rng=rng
            )
            info["objective"].append(objective)
            info["keep"].append(keep)
            since += 1
            if objective - best >= self.threshold:
                best = objective
                since = 0
            if keep >= 1 and np.array_equal(last_pairs, pairs):
                return pairs  # the next iteration would be the same
            message = "self_learning: iteration %d, objective %.4f, keep %.2f"
            count = len(info["objective"])
            logging.log_every_n(logging.INFO, message, 10, count, objective, keep)
