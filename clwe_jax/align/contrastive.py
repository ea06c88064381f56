"""Contrastive finish of an alignment: linear maps of both sides, trained by InfoNCE on the pairs."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, NamedTuple

from absl import logging
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax import registry
from clwe_jax.align import alignment
from clwe_jax.options.aligners import ContrastiveOptions
from clwe_jax.options.section import change_section
from clwe_jax.types import Array

_PRECISION = jax.lax.Precision.HIGHEST
_FEWEST = 20  # source words from which on a share of them is set aside
_MIN_SQUARE = 1e-12  # squared length of a vector that is divided by its length
_NEVER = -1e9  # score of a word that is no negative


@dataclasses.dataclass(frozen=True)
class Contrastive(ContrastiveOptions):
    """InfoNCE on dictionary pairs, from the maps that another aligner has found.

    The first stage of Li et al. 2022, Improving Word Translation via Two-Stage Contrastive Learning,
    with random negatives: a word and its translation attract each other; the other words of the
    batch, and random frequent words of the other language, repel it. Both sides get a linear map,
    the identity at first. A share of the dictionary's source words is set aside, and the maps of
    the epoch with the lowest loss on them are kept: those of the start where no epoch is better.
    The start learns from all pairs, since it would be worse without some, so that the choice leans to it.
    """

    seed: int = 0  # of the draws, also those of the start

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns both maps.

        Args:
          source: source vectors [N, D], most frequent word first.
          target: target vectors [M, D'], most frequent word first.
          pairs: training dictionary, integers [P, 2].

        Returns:
          An Alignment with the start's preprocessing and the maps [D, K] and [D', K]; `info` has
          'pairs', the training 'loss' of each epoch, the loss 'set_aside' before the first and
          after each epoch, and 'epoch', the number of the kept one.

        Raises:
          ValueError: an unknown start, or one without a dictionary; an option that cannot work;
            vectors or pairs that `alignment.prepare` refuses.
        """
        if self.temperature <= 0 or self.batch_size < 1 or not 0 <= self.validation < 1:
            raise ValueError(
                f"contrastive: temperature={self.temperature} must be positive, "
                f"batch_size={self.batch_size} at least 1, validation={self.validation} in [0, 1)"
            )
        start_class = registry.lookup("aligner", self.start)
        start = change_section(
            start_class(**alignment.seed_argument(start_class, self.seed)),
            self.start_options,
            "config.align.contrastive.start_options",
            registry.options_class,
        ).fit(source, target, pairs)
        if pairs is None:
            raise ValueError("contrastive learns from a dictionary: give pairs")
        x = start.apply(source)
        y = start.apply_target(target)
        info: dict[str, Any] = {
            "aligner": "contrastive",
            "start": self.start,
            "pairs": [len(pairs)],
            "loss": [],
            "set_aside": [],
            "epoch": 0,
        }
        maps = self._train(x, y, np.asarray(pairs, np.int64), info)
        target_map = maps.y if start.target_map is None else start.target_map @ maps.y
        return alignment.Alignment(
            np.asarray(start.source_map @ maps.x, np.float32),
            np.asarray(target_map, np.float32),
            start.source_steps,
            start.target_steps,
            info,
        )

    def _train(self, x: np.ndarray, y: np.ndarray, pairs: np.ndarray, info: dict) -> SideMaps:
        rng = np.random.default_rng(self.seed)
        train_pairs, aside_pairs = self._part(pairs, rng)
        eye = np.eye(x.shape[1], dtype=np.float32)
        maps = best = SideMaps(eye, eye)
        rule = optax.adam(self.learning_rate)
        state = rule.init(maps)

        @jax.jit
        def step(maps: SideMaps, state: Any, words: BatchSides) -> tuple[SideMaps, Any, Array]:
            value, slope = jax.value_and_grad(loss)(maps, words, self.temperature)
            updates, state = rule.update(slope, state)
            return optax.apply_updates(maps, updates), state, value

        measure = jax.jit(lambda maps, words: loss(maps, words, self.temperature))
        # The same batches and negatives for every epoch, so that the losses on them compare. They are of
        # equal size, and leave out fewer pairs than there are batches.
        count = -(-len(aside_pairs) // self.batch_size)
        size = len(aside_pairs) // max(count, 1)
        aside_rng = np.random.default_rng(self.seed)
        aside_batches = list(self._batches(x, y, aside_pairs, aside_rng, size))

        def measure_aside(maps: SideMaps) -> float:
            return float(np.mean([measure(maps, words) for words in aside_batches]))

        if aside_batches:
            info["set_aside"].append(measure_aside(maps))
        for epoch in range(1, self.epochs + 1):
            values = []
            size = min(self.batch_size, len(train_pairs))
            for words in self._batches(x, y, rng.permutation(train_pairs), rng, size):
                maps, state, value = step(maps, state, words)
                values.append(value)
            info["loss"].append(float(np.mean(values)))
            if aside_batches:
                info["set_aside"].append(measure_aside(maps))
            # Entry 0 is the loss of the start, which stays the best where no epoch is better.
            if not aside_batches or info["set_aside"][-1] < info["set_aside"][info["epoch"]]:
                best = maps
                info["epoch"] = epoch
            if epoch - info["epoch"] >= self.patience:
                break
        logging.info("contrastive: epoch %d of %d is the best", info["epoch"], self.epochs)
        return SideMaps(*(np.asarray(side) for side in best))

    def _part(self, pairs: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The pairs to learn from, and those of the source words that are set aside."""
        # All pairs of a source word are on one side of the split.
        words = np.unique(pairs[:, 0])
        count = int(self.validation * len(words)) if len(words) >= _FEWEST else 0
        is_aside = np.isin(pairs[:, 0], rng.permutation(words)[:count])
        return pairs[~is_aside], pairs[is_aside]

    def _batches(
        self, x: np.ndarray, y: np.ndarray, pairs: np.ndarray, rng: np.random.Generator, size: int
    ) -> Iterator[BatchSides]:
        """Batches of `size` pairs, each with its negatives; the pairs of the last, smaller one are left out."""
        for first in range(0, len(pairs) - size + 1, max(size, 1)) if size else ():
            rows = pairs[first : first + size]
            sides = []
            for vectors, pair_rows in ((x, rows[:, 0]), (y, rows[:, 1])):
                negatives = rng.integers(0, min(self.max_words, len(vectors)), self.negatives)
                sides.append(Side(vectors[pair_rows], pair_rows, vectors[negatives], negatives))
            yield BatchSides(*sides)


class SideMaps(NamedTuple):
    """The linear maps of both sides, [K, K]."""

    x: Array
    y: Array


class Side(NamedTuple):
    """One side of a batch: the words of P pairs, and N words that are negatives only.

    Attributes:
      pairs: vectors, [P, K].
      pair_ids: the words' rows in the vocabulary, int [P].
      others: vectors, [N, K].
      other_ids: the words' rows, int [N].
    """

    pairs: Array
    pair_ids: Array
    others: Array
    other_ids: Array


class BatchSides(NamedTuple):
    """Both sides of a batch; pair i is row i of either."""

    x: Side
    y: Side


def loss(maps: SideMaps, words: BatchSides, temperature: float) -> Array:
    """InfoNCE in both directions, the mean over the pairs.

    A translation of a word is none of its negatives: the negatives of pair i lack the other pairs
    that share a word with it, and the random words that are its own.

    Args:
      temperature: divisor of the cosines.
    """
    x, y = (_unit(side, matrix) for side, matrix in zip(words, maps))
    total = 0.0
    for a, b, a_side, b_side in ((x, y, words.x, words.y), (y, x, words.y, words.x)):
        count = len(a_side.pair_ids)
        scores = jnp.dot(a[:count], b.T, precision=_PRECISION) / temperature  # [P, P + N]
        # -1 is no word: a random negative of the other side is in no pair.
        of_own = jnp.pad(a_side.pair_ids, (0, len(b_side.other_ids)), constant_values=-1)
        of_other = jnp.concatenate([b_side.pair_ids, b_side.other_ids])
        shared = (a_side.pair_ids[:, None] == of_own) | (b_side.pair_ids[:, None] == of_other)
        scores = jnp.where(shared & ~jnp.eye(*scores.shape, dtype=bool), _NEVER, scores)
        total -= jnp.diagonal(jax.nn.log_softmax(scores)).mean()
    return total / 2


def _unit(side: Side, matrix: Array) -> Array:
    """All vectors of a side, mapped, of unit length: [P + N, K]."""
    mapped = jnp.concatenate([side.pairs, side.others])
    mapped = jnp.dot(mapped, matrix, precision=_PRECISION)
    return mapped * jax.lax.rsqrt(
        jnp.maximum(jnp.square(mapped).sum(1, keepdims=True), _MIN_SQUARE)
    )
