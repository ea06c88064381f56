"""The loss of words by their senses, shared by all sense-aware objectives.

Multi-sense cross-lingual alignment, sections 3.1 and 3.2: an occurrence has the sense with the
nearest cluster center (`models.senses.selection`). The loss is the cross-entropy of its sense
vector (Eqs. 3-4), averaged with the cross-entropy of the best-fitting sense of its translations
into each other language where the dictionary has any (Eqs. 5-7).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, NamedTuple, Sequence

from flax.linen import LogicallyPartitioned
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.models import sampled_softmax
from clwe_jax.models.senses import seeding, selection, softmax
from clwe_jax.models.senses import state as states
from clwe_jax.models.senses import translation as translating
from clwe_jax.options.objectives import SenseLossOptions
from clwe_jax.options.senses import SenseOptions
from clwe_jax.types import Array, Sums


class Occurrences(NamedTuple):
    """N words to predict.

    Attributes:
      words: word ids, int [N].
      hidden: hidden states that predict them, [N, d].
      sense_input: inputs of sense selection, [N, d].
      weights: weights of the words in the loss, float32 [N].
      languages: language ids of the text, int [N].
    """

    words: Array
    hidden: Array
    sense_input: Array
    weights: Array
    languages: Array


class SenseTargets(NamedTuple):
    """The senses to predict for N words.

    Attributes:
      enabled: the senses in the softmax, bool [V padded, S].
      assigned: slots of the words' own senses, int32 [N].
      labels: the senses to predict.
    """

    enabled: Array
    assigned: Array
    labels: softmax.SenseLabels


@dataclasses.dataclass(frozen=True, eq=False)
class SenseLoss:
    """The loss of words by their senses.

    Attributes:
      options: of the model's senses.
      vocab_size: V, number of words; tables may have more rows, for padding.
      seed: the run's seed.
      never: ids below V that are never targets: softmaxes and samplers leave them out.
    """

    options: SenseLossOptions
    vocab_size: int
    seed: int = 0
    never: tuple[int, ...] = ()

    @property
    def aware(self) -> bool:
        """Whether words have senses."""
        return self.options.senses.senses > 1

    def config_of(self, number: int) -> SenseOptions:
        """The configuration of sense state `number`, with a seed of its own in each run and state."""
        senses = self.options.senses
        entropy = [x % 2**32 for x in (senses.seed, self.seed, number)]
        # A sum would give neighbouring runs and states the same seeds.
        [seed] = np.random.SeedSequence(entropy).generate_state(1)
        return dataclasses.replace(senses, seed=int(seed))

    def collections(
        self, shape: tuple[int, int], keys: Mapping[str, Array], translations: np.ndarray | None
    ) -> dict[str, Any]:
        """The collections that the loss reads, boxed with their logical axis names.

        Args:
          shape: (V padded, d).
          keys: name of each sense state -> PRNG key.
          translations: word ids, int [V, languages, T]; -1 pads a row.
        """
        collections: dict[str, Any] = {}
        translates = self.options.translation_share > 0
        if self.aware:
            languages = translations.shape[1] if translates else 1
            collections["senses"] = {
                direction: states.box(states.create(self.options.senses, *shape, key, languages))
                for direction, key in keys.items()
            }
        if translates:
            padding = (0, shape[0] - len(translations)), (0, 0), (0, 0)
            ids = jnp.asarray(np.pad(translations, padding, constant_values=-1), jnp.int32)
            ids = LogicallyPartitioned(ids, ("vocab", None, None))
            collections["translations"] = {"ids": ids}
        return collections

    def choose(
        self,
        occurrences: Occurrences,
        shape: tuple[int, int],
        state: states.SenseState | None,
        translations: Array | None,
    ) -> SenseTargets:
        """Selects the senses to predict.

        Args:
          occurrences: the words to predict.
          shape: (V padded, S).
          state: the senses; None for a model without senses.
          translations: word ids, int32 [V, languages, T], -1 pads a row; None, as in evaluation:
            no translations are predicted.
        """
        words = occurrences.words
        h = occurrences.sense_input
        ids = jnp.arange(shape[0])[:, None]
        enabled = ids < self.vocab_size
        for number in self.never:
            enabled &= ids != number
        enabled = jnp.broadcast_to(enabled, shape) & (True if state is None else state.enabled)
        assigned = jnp.zeros_like(words) if state is None else selection.assign(state, words, h)
        if translations is None:
            labels = softmax.SenseLabels(words[None], assigned[None], jnp.ones((1, len(words))))
            return SenseTargets(enabled, assigned, labels)
        # A word that translates to itself is left out: it would always fit best, and its other
        # translations would never be predicted.
        rows = translations[words]
        rows = jnp.where(rows == words[:, None, None], -1, rows)
        languages = translations.shape[1]

        def translate(distance: Array) -> tuple[Array, Array, Array]:
            # distance: int32 [], from a word's own language to another one.
            into = (occurrences.languages + distance) % languages
            into_rows = jnp.take_along_axis(rows, into[:, None, None], axis=1)[:, 0]
            return self._translate(into_rows, into, h, state)

        # One language after the other, so that memory does not grow with their number.
        other_words, other_senses, has = jax.lax.map(translate, jnp.arange(1, languages))
        # Each language has the same weight, however many translations it has (as D1).
        shares = self.options.translation_share * has / jnp.maximum(has.sum(0), 1)
        labels = softmax.SenseLabels(
            jnp.concatenate([words[None], other_words]),
            jnp.concatenate([assigned[None], other_senses]),
            jnp.concatenate([1 - shares.sum(0, keepdims=True), shares]),
        )
        return SenseTargets(enabled, assigned, labels)

    def score(
        self,
        occurrences: Occurrences,
        wanted: SenseTargets,
        table: Array,
        bias: Array,
        rng: Array | None,
        train: bool,
    ) -> dict[str, Sums]:
        """The sums of the metrics.

        In training 'loss' is the training loss; in evaluation it is the negative log-likelihood of
        the word, the sum over its senses, comparable with a model without senses.

        Args:
          occurrences: the words to predict.
          wanted: the result of `choose`.
          table: sense vectors, float32 [V, S, d].
          bias: float32 [V, S].
          rng: a PRNG key, in training only.
          train: whether this is training.
        """
        words, hidden, _, weights, _ = occurrences
        enabled = wanted.enabled
        labels = wanted.labels
        total = weights.sum()
        if not train:
            loss = -softmax.word_log_likelihood(hidden, table, bias, words, enabled)
            loss = jnp.where(weights > 0, loss, 0.0)  # the loss of padding is infinite
            best = softmax.best_words(hidden, table, bias, enabled)
            return {
                "loss": Sums((loss * weights).sum(), total),
                "accuracy": Sums(((best == words) * weights).sum(), total),
            }
        if self.options.negatives:
            sample_key, sense_key = jax.random.split(rng)
            samples = sampled_softmax.log_uniform_sample(
                sample_key, self.options.negatives, self.vocab_size, self.never
            )
            losses = softmax.sampled_sense_cross_entropy(
                hidden, table, bias, labels, enabled, samples, sense_key
            )
        else:
            losses = softmax.sense_cross_entropy(hidden, table, bias, labels, enabled)
        sums = {"loss": Sums((losses.loss * weights).sum(), total)}
        if len(labels.words) > 1:
            share = labels.weights[1:].sum(0)  # of all translations
            sums["translated"] = Sums((weights * (share > 0)).sum(), total)
            sums["sense_loss"] = Sums((losses.sense * weights).sum(), total)
            sums["translation_loss"] = Sums(
                (losses.translation * weights).sum(), (share * weights).sum()
            )
        return sums

    def _translate(self, rows, into, h, state) -> tuple[Array, Array, Array]:
        """The translations' words and senses, int32 [N], and whether a word has any, bool [N]."""
        if state is not None:
            return translating.choose(state, self.options.senses, rows, into, h)
        # Without senses: the most frequent translation.
        has = rows >= 0
        first = jnp.take_along_axis(rows, has.argmax(1)[:, None], axis=1)[:, 0]
        return jnp.maximum(first, 0), jnp.zeros_like(first), has.any(1)


def initial_tables(
    key: Array, shape: Sequence[int], deviation: float
) -> dict[str, LogicallyPartitioned]:
    """The parameters of words' senses, boxed with their logical axis names.

    Each slot has a key of its own, so that with the same seed a model and its twin with one sense
    for each word are identical until the warm-up ends.

    Args:
      key: a PRNG key.
      shape: (V, S, d) or (directions, V, S, d).
      deviation: standard deviation of the vectors.

    Returns:
      'sense_table', [..., V, S, d], from N(0, deviation^2); 'sense_bias', zeros [..., V, S].
    """
    *words, slots, width = shape

    def draw(slot: Array) -> Array:
        # slot: int32 [].
        return jax.random.normal(jax.random.fold_in(key, slot), (*words, width), jnp.float32)

    table = deviation * jax.vmap(draw, out_axes=-2)(jnp.arange(slots))
    axes = (*(None,) * (len(words) - 1), "vocab", None)
    return {
        "sense_table": LogicallyPartitioned(table, (*axes, "embed")),
        "sense_bias": LogicallyPartitioned(jnp.zeros(shape[:-1], jnp.float32), axes),
    }


def inherit_senses(tree: Mapping[str, Any], now: Array) -> dict[str, Any]:
    """Copies the warm-up's vector and bias of a word to all its senses.

    No prediction changes, because all senses of a word are then equally probable.

    Args:
      tree: parameters or moments, with 'sense_table' [..., V, S, d] and 'sense_bias' [..., V, S].
      now: bool []; False leaves them as they are.
    """
    copies = {
        name: seeding.inherit(tree[name], tree[name].ndim - below, now)
        for name, below in (("sense_table", 3), ("sense_bias", 2))
        if not isinstance(tree[name], optax.MaskedNode)  # the moments of a frozen parameter
    }
    return {**tree, **copies}


def never_targets(specials: Mapping[str, int], *targets: str) -> tuple[int, ...]:
    """The sorted ids of the special pieces without `targets`, the names of the predicted ones."""
    return tuple(sorted(number for name, number in specials.items() if name not in targets))


def check_translations(share: float, translations: np.ndarray | None) -> None:
    """Raises ValueError where translations have a `share` and `translations` is None."""
    if share and translations is None:
        raise ValueError(
            f"config.objective.translation_share={share} needs a dictionary: set "
            "--config.data.dictionaries=DIR, or --config.objective.translation_share=0"
        )
