"""Words predicted by their senses: the part that all sense-aware objectives share.

Multi-sense cross-lingual alignment, sections 3.1 and 3.2: which sense of a word occurs is told by
the cluster centers (`models.senses`); the loss is that of the sense vector (Eqs. 3-4), joined with
that of the best-fitting sense of a translation where the dictionary has one (Eqs. 5-7).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, NamedTuple, Sequence

from flax.linen import LogicallyPartitioned
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax import registry
from clwe_jax.models import sampled_softmax, sense_seeding, sense_softmax, sense_translation, senses
from clwe_jax.models.sense_config import SenseConfig
from clwe_jax.types import Array, Sums, Variables

TRANSLATIONS = ("none", "joint", "switch")
_LANGUAGES = 3  # what draws of target languages are apart by from a step's other draws


class Occurrences(NamedTuple):
    """N words to be predicted.

    Attributes:
      words: int [N].
      hidden: [N, d], what predicts them.
      own: [N, d], the representations of the words themselves, which tell their senses.
      weights: float32 [N].
      languages: int [N], of the text that they stand in.
    """

    words: Array
    hidden: Array
    own: Array
    weights: Array
    languages: Array


class Wanted(NamedTuple):
    """The senses of N words that are to be predicted.

    Attributes:
      enabled: bool [V padded, S], the senses that softmaxes run over.
      assigned: int32 [N], the words' own senses.
      labels: what is predicted.
      translated: bool [N], where a translation is; None without.
    """

    enabled: Array
    assigned: Array
    labels: sense_softmax.Labels
    translated: Array | None


@dataclasses.dataclass(frozen=True, eq=False)
class SenseLoss:
    """The loss of words by their senses.

    Attributes:
      config: of the senses; senses=1 is a model without.
      vocab_size: V, words that exist; tables may be padded beyond.
      negatives: words drawn for a batch in training, a sense of each; 0: all senses of all words.
      translation: 'none'; 'joint', the mean of a word's own loss and its translation's (Eq. 7);
        'switch', the translation's sense alone for a share of the words that have one: DICT-MLM
        at the level of senses.
      switch_share: that share.
    """

    config: SenseConfig
    vocab_size: int
    negatives: int = 0
    translation: str = "none"
    switch_share: float = 0.5

    def __post_init__(self) -> None:
        if self.translation not in TRANSLATIONS:
            raise ValueError(
                f"config.objective.translation={self.translation!r}: "
                f"{registry.nearest(self.translation, TRANSLATIONS)}"
            )
        if self.negatives < 0:
            raise ValueError(f"config.objective.negatives={self.negatives}: is negative")
        if not 0 <= self.switch_share <= 1:
            raise ValueError(f"config.objective.switch_share={self.switch_share}: from 0 to 1")

    @property
    def aware(self) -> bool:
        """Whether words have senses."""
        return self.config.senses > 1

    def collections(
        self, shape: tuple[int, int], keys: Mapping[str, Array], translations: np.ndarray | None
    ) -> dict[str, Any]:
        """The collections that the loss reads, boxed with their logical axis names.

        Args:
          shape: (V, d), padded.
          keys: direction -> PRNG key, of the senses.
          translations: int [V', languages, T], -1 where there are no more; V' words without
            padding.
        """
        found: dict[str, Any] = {}
        translates = self.translation != "none"
        if self.aware:
            languages = translations.shape[1] if translates else 1
            found["senses"] = {
                direction: senses.boxed(senses.create(self.config, *shape, key, languages))
                for direction, key in keys.items()
            }
        if translates:
            padding = (0, shape[0] - len(translations)), (0, 0), (0, 0)
            ids = jnp.asarray(np.pad(translations, padding, constant_values=-1), jnp.int32)
            ids = LogicallyPartitioned(ids, ("vocab", None, None))
            found["translations"] = {"ids": ids}
        return found

    def __call__(
        self,
        occurrences: Occurrences,
        table: Array,
        bias: Array,
        state: senses.SenseState | None,
        translations: Array | None,
        rng: Array | None,
        train: bool,
    ) -> tuple[dict[str, Sums], Array]:
        """The sums of the metrics, and the senses int32 [N] that were assigned.

        'loss' is what is optimised in training, and the negative log-likelihood of the word (the
        sum over its senses) in evaluation, comparable with that of a model without senses.

        Args:
          table: float32 [V, S, d]; bias: float32 [V, S].
          state: of the senses; None without them.
          translations: int32 [V, languages, T], -1 where there are no more; None without a
            dictionary. One of the other languages that translate a word is drawn for each occurrence.
          rng: of the negatives and switches; only in training.
        """
        wanted = self.choose(occurrences, bias.shape, state, translations, rng)
        return self.score(occurrences, wanted, table, bias, rng, train), wanted.assigned

    def choose(
        self,
        occurrences: Occurrences,
        shape: tuple[int, int],
        state: senses.SenseState | None,
        translations: Array | None,
        rng: Array | None,
    ) -> Wanted:
        """What is to be predicted, as the state of the senses tells it.

        Args:
          shape: (V, S), padded.
          state, translations, rng: as of a call; without `rng`, as in evaluation, no translations.
        """
        words, own = occurrences.words, occurrences.own
        exists = (jnp.arange(shape[0]) < self.vocab_size)[:, None]
        enabled = jnp.broadcast_to(exists, shape) & (True if state is None else state.enabled)
        assigned = jnp.zeros_like(words) if state is None else senses.assign(state, words, own)
        labels = sense_softmax.Labels(words, assigned)
        if rng is None or self.translation == "none":
            return Wanted(enabled, assigned, labels, None)
        # A word fits itself best whatever it means: nothing would be learned of the others.
        rows = translations[words]
        rows = jnp.where(rows == words[:, None, None], -1, rows)
        key = jax.random.fold_in(rng, _LANGUAGES)
        rows, into = _of_another_language(rows, occurrences.languages, key)
        other, other_sense, has = self._translate(rows, into, own, state)
        if self.translation == "joint":
            labels = sense_softmax.Labels(words, assigned, other, other_sense, has)
        else:
            switch_key = jax.random.split(rng, 3)[2]
            has &= jax.random.uniform(switch_key, has.shape) < self.switch_share
            labels = sense_softmax.Labels(
                jnp.where(has, other, words), jnp.where(has, other_sense, assigned)
            )
        return Wanted(enabled, assigned, labels, has)

    def score(
        self,
        occurrences: Occurrences,
        wanted: Wanted,
        table: Array,
        bias: Array,
        rng: Array | None,
        train: bool,
    ) -> dict[str, Sums]:
        """The sums of the metrics of what was chosen; arguments as of a call."""
        words, hidden, _, weights, _ = occurrences
        enabled, labels, total = wanted.enabled, wanted.labels, weights.sum()
        if not train:
            loss = -sense_softmax.word_log_likelihood(hidden, table, bias, words, enabled)
            best = sense_softmax.top_words(hidden, table, bias, enabled)[0][:, 0]
            return {
                "loss": Sums((loss * weights).sum(), total),
                "accuracy": Sums(((best == words) * weights).sum(), total),
            }
        if self.negatives:
            sample_key, sense_key, _ = jax.random.split(rng, 3)
            samples = sampled_softmax.log_uniform_sample(
                sample_key, self.negatives, self.vocab_size
            )
            found = sense_softmax.sampled_sense_cross_entropy(
                hidden, table, bias, labels, enabled, samples, sense_key
            )
        else:
            found = sense_softmax.sense_cross_entropy(hidden, table, bias, labels, enabled)
        sums = {"loss": Sums((found.loss * weights).sum(), total)}
        if wanted.translated is not None:
            translated = weights * wanted.translated
            sums["translated"] = Sums(translated.sum(), total)
        if self.translation == "joint":
            sums["sense_loss"] = Sums((found.sense * weights).sum(), total)
            sums["translation_loss"] = Sums(
                (found.translation * translated).sum(), translated.sum()
            )
        return sums

    def _translate(self, rows, into, own, state) -> tuple[Array, Array, Array]:
        """The translations' words and senses, int32 [N], and where there are any, bool [N]."""
        if state is not None:
            return sense_translation.choose(state, self.config, rows, into, own)
        # Without senses nothing tells translations apart: the most frequent one.
        has = rows >= 0
        first = jnp.take_along_axis(rows, has.argmax(1)[:, None], axis=1)[:, 0]
        return jnp.maximum(first, 0), jnp.zeros_like(first), has.any(1)


def _of_another_language(rows: Array, languages: Array, key: Array) -> tuple[Array, Array]:
    """Of translations int32 [N, L, T] those into one language that has any, and not the word's own.

    Returns:
      int32 [N, T]; int32 [N], the language.
    """
    has = (rows >= 0).any(2) & (jnp.arange(rows.shape[1]) != languages[:, None])
    draws = jnp.where(has, jax.random.uniform(key, has.shape), -1.0)
    into = draws.argmax(1).astype(jnp.int32)
    chosen = jnp.take_along_axis(rows, into[:, None, None], axis=1)[:, 0]
    return jnp.where(has.any(1)[:, None], chosen, -1), into


def initial_table(key: Array, shape: Sequence[int], deviation: float) -> Array:
    """Sense vectors [..., S, d] from N(0, deviation^2).

    Each slot's are of a key of its own: with the same seed a model and its twin of one sense a word
    are the same until the warm-up ends, and compared without the luck of their first vectors.
    """
    *words, slots, width = shape

    def draw(slot: Array) -> Array:
        return jax.random.normal(jax.random.fold_in(key, slot), (*words, width), jnp.float32)

    return deviation * jax.vmap(draw, out_axes=-2)(jnp.arange(slots))


def inherited(variables: Variables, now: Array) -> dict[str, Any]:
    """Variables in which all senses go on from the warm-up's: vectors, biases, and their moments.

    No prediction changes: all words have then as many senses of the same probability.

    Args:
      variables: 'params' and all 'moments' with 'sense_table' [..., V, S, d] and 'sense_bias'
        [..., V, S].
      now: bool [], else they stay as they are.
    """

    def of(tree: Mapping[str, Any]) -> dict[str, Any]:
        # A frozen parameter has no moments.
        found = {
            name: sense_seeding.inherit(tree[name], tree[name].ndim - below, now)
            for name, below in (("sense_table", 3), ("sense_bias", 2))
            if not isinstance(tree[name], optax.MaskedNode)
        }
        return {**tree, **found}

    found = {**variables, "params": of(variables["params"])}
    if "moments" in variables:
        found["moments"] = tuple(map(of, variables["moments"]))
    return found


def sense_config(options: SenseConfig | Mapping[str, Any]) -> SenseConfig:
    """The configuration that `config.objective.senses` describes.

    Raises:
      ValueError: an unknown option (the nearest known one is named) or a value that cannot work.
    """
    if isinstance(options, SenseConfig):
        return options
    registry.check_keys(SenseConfig, options, where="config.objective.senses")
    return SenseConfig(**options)


def check_translations(translation: str, translations: np.ndarray | None) -> None:
    """Raises ValueError where translations are asked for and there is no dictionary."""
    if translation != "none" and translations is None:
        raise ValueError(
            f"config.objective.translation={translation!r} needs a dictionary: set "
            "--config.data.dictionaries=DIR, or --config.objective.translation=none"
        )
