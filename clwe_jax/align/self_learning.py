"""VecMap: a map and a dictionary that improve each other, from a dictionary or from none."""

from __future__ import annotations

import dataclasses

import numpy as np
from absl import logging

from clwe_jax.align import alignment, preprocess, procrustes, stochastic, weighting
from clwe_jax.types import Array


@dataclasses.dataclass(frozen=True)
class SelfLearning:
    """Robust self-learning (Artetxe et al. 2018), and VecMap's supervised map.

    Mikel Artetxe, Gorka Labaka, Eneko Agirre: A Robust Self-Learning Method for Fully Unsupervised
    Cross-Lingual Mappings of Word Embeddings. In turns, the orthogonal map that fits the dictionary
    is found, and a dictionary is drawn that fits the map; when the objective has not improved for
    `interval` iterations, the draws become less random, and after the last stage the symmetrically
    re-weighted map of the last dictionary is the result.

    With `self_learning` False nothing is iterated: the re-weighted map of the given pairs, as
    VecMap's --supervised finds it. With pairs it is as --semi_supervised, without as
    --unsupervised.
    """

    self_learning: bool = True
    max_words: int = 20_000  # most frequent words of each side in self-learning
    initial_words: int = 4_000  # ... in the initialisation without pairs
    neighbourhood: int = 10  # of CSLS
    keep: float = 0.1  # probability that an entry of the similarity matrix is kept, at first
    multiplier: float = 2.0  # of it, where the objective stalls
    interval: int = 50  # iterations without improvement after which it stalls
    threshold: float = 1e-6  # the least improvement
    reweight: float | None = 0.5  # power of the cross-correlations; None: the map stays orthogonal
    seed: int = 0
    preprocess: tuple[str, ...] = ("unit", "center", "unit")

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the maps of both sides.

        Args:
          source: [N, D] and
          target: [M, D], most frequent words first.
          pairs: integers [P, 2], rows of source and target; None: the initial dictionary comes
            from the similarities within either side.

        Returns:
          An Alignment with [D, D] maps of both sides (without re-weighting of the source alone,
          orthogonal); `info` has 'pairs' (the size of the last dictionary), 'initial_pairs' and,
          of each iteration, 'objective' (the mean cosine of words with the nearest word of the
          other side) and 'keep'.

        Raises:
          ValueError: options out of range; no pairs where self-learning is off; see also
            `alignment.check_vectors` and `alignment.check_pairs`.
        """
        self._check()
        alignment.check_vectors(source, target)
        if pairs is not None or not self.self_learning:
            pairs = alignment.check_pairs(pairs, source, target, "self_learning")
        x, source_steps = preprocess.fit(source, self.preprocess)
        y, target_steps = preprocess.fit(target, self.preprocess)
        if pairs is None:
            pairs = self._initial(x, y)
        info: dict = {"aligner": "self_learning", "initial_pairs": len(pairs)}
        if self.self_learning:
            pairs = self._learned(x[: self.max_words], y[: self.max_words], pairs, info)
        info["pairs"] = len(pairs)
        ends = x[pairs[:, 0]], y[pairs[:, 1]]
        if self.reweight is None:
            maps = procrustes.orthogonal(*ends).astype(np.float32), None
        else:
            maps = tuple(
                side.astype(np.float32) for side in weighting.symmetric(*ends, self.reweight)
            )
        return alignment.Alignment(*maps, source_steps, target_steps, info)

    def _check(self) -> None:
        if not 0 < self.keep <= 1 or self.multiplier <= 1:
            raise ValueError(
                f"keep must be in (0, 1] and multiplier more than 1; got {self.keep} and "
                f"{self.multiplier}"
            )
        if min(self.max_words, self.initial_words, self.neighbourhood, self.interval) < 1:
            raise ValueError(
                "max_words, initial_words, neighbourhood and interval must be at least 1; got "
                f"{self.max_words}, {self.initial_words}, {self.neighbourhood} and {self.interval}"
            )

    def _initial(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Section 3.2: words whose sorted similarities to their own language are alike."""
        count = min(len(x), len(y), self.initial_words)
        if count < self.neighbourhood:
            logging.warning(
                "self_learning: %d words a side are too few to be told apart without a dictionary",
                count,
            )
        profiles = []
        for side in (x, y):
            similarity = weighting.root_similarity(side[:count])
            similarity.sort(axis=1)
            profiles.append(preprocess.fit(similarity, self.preprocess)[0])
        return stochastic.induce(*profiles, neighbourhood=self.neighbourhood).pairs

    def _learned(self, x: np.ndarray, y: np.ndarray, pairs: np.ndarray, info: dict) -> np.ndarray:
        """The dictionary that self-learning ends with."""
        rng = np.random.default_rng(self.seed)
        info["objective"], info["keep"] = [], []
        best, keep, since = -np.inf, self.keep, 0
        while True:
            if since >= self.interval:
                if keep >= 1:
                    return pairs
                keep, since = min(1.0, self.multiplier * keep), 0
            matrix = procrustes.orthogonal(x[pairs[:, 0]], y[pairs[:, 1]])
            last = pairs
            pairs, objective = stochastic.induce(
                x @ matrix.astype(np.float32),
                y,
                keep=keep,
                neighbourhood=self.neighbourhood,
                rng=rng,
            )
            info["objective"].append(objective)
            info["keep"].append(keep)
            since += 1
            if objective - best >= self.threshold:
                best, since = objective, 0
            if keep >= 1 and np.array_equal(last, pairs):
                return pairs  # nothing is random any more: it would stay so
            logging.log_every_n(
                logging.INFO,
                "self_learning: iteration %d, objective %.4f, keep %.2f",
                10,
                len(info["objective"]),
                objective,
                keep,
            )
