"""The sense state: cluster centers of every word's senses, updated while a model trains.

Multi-sense cross-lingual alignment, Algorithms 1 and 2 and section 3.2: an occurrence belongs to
the sense whose center has the largest projected cosine with its representation (`selection`); that
center then moves a step towards the representation.

All functions are pure, for use inside a jitted step whose state is donated. No function makes a
second array of the size of the centers. The result of a step depends neither on the order of its
occurrences (except for which ones stay in the queue and in a word's sample) nor on how arrays are
sharded.

Slots: a word has `SenseOptions.slots` centers. During the warm-up only slot 0 is enabled; then the
senses are seeded and enabled. With `warmup_slot` slot 0 is disabled after the warm-up (SaELMo);
without it slot 0 becomes the first sense (SaBERT).
"""

from __future__ import annotations

from typing import Any, Callable

from flax import struct
from flax.linen import LogicallyPartitioned
import jax
import jax.numpy as jnp

from clwe_jax.models.senses import projection as projections, seeding
from clwe_jax.options.senses import SenseOptions
from clwe_jax.models.senses.projection import project
from clwe_jax.types import Array

_TINY = 1e-12


@struct.dataclass
class SenseState:
    """The state of the senses of V words with S slots each.

    Attributes:
      centers: float32 [V, S, d].
      projected: centers times P, float32 [V, S, d'].
      counts: uses in each language, int32 [V, S, L]; with `age_counts` only the latest uses. L is 1
        where languages are not distinguished.
      total: uses, int32 [V, S]; of an enabled sense, since the senses were seeded.
      enabled: bool [V, S].
      projection: P, float32 [d, d'].
      queue: ring of representations, float32 [Q, d].
      queue_position: place of the next representation, int32 [].
      queue_filled: number of representations in the ring, int32 [].
      warm: bool [], True until the senses are seeded.
      sample: ring of each word's representations, float32 [V, R, d], or None.
    """

    centers: Array
    projected: Array
    counts: Array
    total: Array
    enabled: Array
    projection: Array
    queue: Array
    queue_position: Array
    queue_filled: Array
    warm: Array
    sample: Array | None


def create(
    config: SenseOptions, vocab_size: int, width: int, rng: Array, languages: int = 1
) -> SenseState:
    """The state before the first step: centers from N(0, sigma^2), P from N(0, 1).

    Args:
      config: the senses' configuration.
      vocab_size: V, including padding for sharding.
      width: d.
      rng: a PRNG key.
      languages: L.

    Raises:
      ValueError: more components than dimensions or than representations in the queue.
    """
    if config.projected > min(width, config.queue):
        raise ValueError(
            f"projected={config.projected} components, but representations have {width} dimensions "
            f"and the queue holds {config.queue}: take at most {min(width, config.queue)}"
        )
    center_key, projection_key = jax.random.split(rng)
    shape = (vocab_size, config.slots)
    centers = config.sigma * jax.random.normal(center_key, (*shape, width), jnp.float32)
    projection = jax.random.normal(projection_key, (width, config.projected), jnp.float32)
    warm = config.senses > 1 and config.warmup_steps > 0
    keeps_sample = warm and config.init == "kmeans"
    sample = (vocab_size, config.sample, width)
    return SenseState(
        centers=centers,
        projected=project(centers, projection),
        counts=jnp.zeros((*shape, languages), jnp.int32),
        total=jnp.zeros(shape, jnp.int32),
        enabled=jnp.broadcast_to(jnp.array(config.enabled_slots(warm)), shape),
        projection=projection,
        queue=jnp.zeros((config.queue, width), jnp.float32),
        queue_position=jnp.zeros((), jnp.int32),
        queue_filled=jnp.zeros((), jnp.int32),
        warm=jnp.array(warm),
        sample=jnp.zeros(sample, jnp.float32) if keeps_sample else None,
    )


def box(state: SenseState) -> SenseState:
    """The state with every array boxed with its logical axis names, like linen's parameters."""
    names = SenseState(
        centers=("vocab", None, "embed"),
        projected=("vocab", None, None),
        counts=("vocab", None, None),
        total=("vocab", None),
        enabled=("vocab", None),
        projection=(None, None),
        queue=(None, None),
        queue_position=(),
        queue_filled=(),
        warm=(),
        sample=None if state.sample is None else ("vocab", None, "embed"),
    )
    names = jax.tree.leaves(names, is_leaf=lambda x: isinstance(x, tuple))
    leaves, treedef = jax.tree.flatten(state)
    return treedef.unflatten(map(LogicallyPartitioned, leaves, names))


def update(
    state: SenseState,
    config: SenseOptions,
    words: Array,
    senses: Array,
    h: Array,
    weights: Array,
    languages: Array,
) -> SenseState:
    """Moves the centers of the assigned senses, and counts their uses.

    Algorithm 1 moves a center c by (1 - a) c + a h for each representation h. The result of n moves
    in any order is, up to that order,
      (1 - a)^n c + (1 - (1 - a)^n) mean(h).
    With `fast_start` the k-th representation of a center has the step max(a, 1 / k) in place of a.

    Args:
      state: the senses.
      config: their configuration.
      words: word ids, int [N].
      senses: slots, int [N].
      h: representations, [N, d].
      weights: [N]; a row with weight 0 or with an h that is not finite does not count.
      languages: language ids of the text, int [N].
    """
    is_counted = _is_counted(h, weights)
    increment = is_counted.astype(jnp.int32)
    # A row that does not count gets an id beyond the table, where writes are dropped.
    words = jnp.where(is_counted, words, state.total.shape[0])
    total = state.total.at[words, senses].add(increment, mode="drop")
    fill_options = dict(mode="fill", fill_value=0)
    old_uses = state.total.at[words, senses].get(**fill_options)
    uses = total.at[words, senses].get(**fill_options) - old_uses
    factor = _remaining_factor(config, state.warm, old_uses, uses)
    # The moves of one center are added: each goes an equal share of the whole way.
    share = (1.0 - factor) / jnp.maximum(uses, 1)
    h = jnp.where(is_counted[:, None], h.astype(jnp.float32), 0.0)
    if state.counts.shape[2] == 1:
        languages = jnp.zeros_like(words)
    moves = share[:, None] * (h - state.centers.at[words, senses].get(**fill_options))
    return state.replace(
        centers=state.centers.at[words, senses].add(moves, mode="drop"),
        # The projection is linear: the projected moves suffice, without a product for all centers.
        projected=state.projected.at[words, senses].add(
            project(moves, state.projection), mode="drop"
        ),
        counts=state.counts.at[words, senses, languages].add(increment, mode="drop"),
        total=total,
    )


def _is_counted(h: Array, weights: Array) -> Array:
    # h: [N, d]; weights: [N].
    return (weights > 0) & jnp.isfinite(h).all(-1)


def _remaining_factor(config: SenseOptions, warm: Array, before: Array, uses: Array) -> Array:
    """The factor, float32 [N], of a center after `uses` more moves than its `before` ones."""
    keep = jnp.float32(1.0 - config.alpha)
    if not config.fast_start or config.init == "paper":
        return keep**uses
    # A seeded center is worth several representations; a center of before the first step none.
    before = before + jnp.where(warm | (config.senses == 1), 0, config.seed_weight)
    # While the step is 1 / k, the factors 1 - 1 / k multiply to before / (before + averaged).
    averaged = jnp.clip(round(1.0 / config.alpha) - before, 0, uses)
    return before / jnp.maximum(before + averaged, 1) * keep ** (uses - averaged)


def push(state: SenseState, h: Array, weights: Array) -> SenseState:
    """Adds the representations [N, d] with a positive weight [N] to the queue in their order."""
    queue, position, filled = projections.push(
        state.queue, state.queue_position, state.queue_filled, h, _is_counted(h, weights)
    )
    return state.replace(queue=queue, queue_position=position, queue_filled=filled)


def refresh_projection(state: SenseState) -> SenseState:
    """Sets P to the first d' principal components of the queue (Algorithm 2).

    P stays while the queue holds no more rows than components.
    """
    components = state.projection.shape[1]
    principal = projections.principal_components(state.queue, state.queue_filled, components)
    projection = jnp.where(state.queue_filled > components, principal, state.projection)
    return state.replace(projection=projection, projected=project(state.centers, projection))


def seed(state: SenseState, config: SenseOptions) -> SenseState:
    """Ends the warm-up: sets the centers of the senses, and enables them.

    A word that has not occurred starts from the mean of the queue instead of its own mean.
    """
    centers = state.centers
    if config.init != "paper":
        mean, rows, count = projections.moments(state.queue, state.queue_filled)
        centers = seeding.seed_slots(
            centers,
            state.total.sum(1),
            mean,
            config.noise * jnp.sqrt(jnp.square(rows).sum(0) / count),
            config.senses,
            jax.random.fold_in(jax.random.key(config.seed), config.warmup_steps),
            state.sample,
            state.projection,
        )
    enabled = jnp.broadcast_to(jnp.array(config.enabled_slots(warm=False)), state.enabled.shape)
    return state.replace(
        centers=centers,
        projected=project(centers, state.projection),
        counts=jnp.zeros_like(state.counts),
        total=jnp.where(enabled, 0, state.total),
        enabled=enabled,
        warm=jnp.array(False),
    )


def prune(state: SenseState, config: SenseOptions) -> SenseState:
    """Disables senses with less than `prune_share` of their word's uses (section 3.1).

    The most used sense of a word always stays; so do all senses of a word with fewer than
    `prune_least` uses.
    """
    uses = jnp.where(state.enabled, state.counts.sum(2), 0)
    word_uses = uses.sum(1, keepdims=True)
    rare = uses < config.prune_share * word_uses
    most_used = jnp.arange(uses.shape[1]) == uses.argmax(1)[:, None]
    judged = word_uses >= max(config.prune_least, 1)
    enabled = state.enabled & ~(rare & ~most_used & judged)
    return state.replace(enabled=enabled)


def age(state: SenseState, config: SenseOptions) -> SenseState:
    """Halves the counts of a word in a language where they are at least twice `prune_least`.

    The counts are then those of the latest uses. Small counts stay, because after repeated halving
    the used senses of a rare word would have count 0 and look unused.
    """
    enough = state.counts.sum(1, keepdims=True) >= 2 * config.prune_least
    return state.replace(counts=jnp.where(enough, state.counts // 2, state.counts))


def after_step(
    state: SenseState,
    config: SenseOptions,
    step: Array,
    words: Array,
    senses: Array,
    h: Array,
    weights: Array,
    languages: Array,
) -> tuple[SenseState, Array]:
    """The senses after a training step; called once a step, with all of its occurrences.

    Args:
      state: the senses that the step's occurrences were assigned by.
      config: their configuration.
      step: steps before this one, int [].
      words, senses, h, weights, languages: as `update`.

    Returns:
      The senses; bool [], whether this step seeded them: the caller then copies the warm-up's
      output vectors to the senses.
    """
    h = jax.lax.stop_gradient(h)
    if state.sample is not None:
        # Before `update`, which counts the occurrences of this step.
        is_kept = _is_counted(h, weights) & state.warm
        counts = state.total.sum(1)
        state = state.replace(sample=seeding.remember(state.sample, counts, words, h, is_kept))
    state = update(state, config, words, senses, h, weights, languages)
    if config.senses == 1:
        return state, jnp.array(False)
    state = push(state, h, weights)
    steps_done = step + 1
    # Also in a later step, because the training loop may have skipped that one.
    seeds = state.warm & (steps_done >= config.warmup_steps)
    refreshes = seeds | (steps_done % config.refresh_every == 0)
    # Senses that are seeded in this step have no uses yet.
    checks = ~state.warm & (steps_done % (config.prune_every or config.refresh_every) == 0)
    # The components come before the seeds, because k-means compares projected representations.
    state = _if(refreshes, refresh_projection, state)
    state = _if(seeds, lambda state: seed(state, config), state)
    if config.prune_every:
        prunes = checks & (steps_done >= config.prune_after)
        state = _if(prunes, lambda state: prune(state, config), state)
    if config.age_counts:
        state = _if(checks, lambda state: age(state, config), state)
    return state, seeds


def _if(now: Array, change: Callable[[Any], Any], held: Any) -> Any:
    return jax.lax.cond(now, change, lambda held: held, held)


def statistics(state: SenseState) -> dict[str, Array]:
    """Statistics of the words that have at least as many uses (`counts`) as slots.

    Returns:
      'senses_in_use': share of their enabled senses that were used.
      'sense_entropy': entropy of a word's uses over its enabled senses, in nats, averaged over
        words weighted by their uses.
      'enabled_senses': mean number of a word's enabled senses.
      'words_in_use': number of these words.
    """
    counts = jnp.where(state.enabled, state.counts.sum(2), 0)
    uses = counts.sum(1)
    word = uses >= state.enabled.shape[1]
    enabled = jnp.where(word[:, None], state.enabled, False).sum()
    used_senses = ((counts > 0) & word[:, None]).sum()
    share = counts / jnp.maximum(uses, 1)[:, None]
    entropy = -jnp.where(share > 0, share * jnp.log(jnp.maximum(share, _TINY)), 0.0).sum(1)
    weight = jnp.where(word, uses, 0).astype(jnp.float32)
    words = word.sum()
    return {
        "senses_in_use": used_senses / jnp.maximum(enabled, 1),
        "sense_entropy": (entropy * weight).sum() / jnp.maximum(weight.sum(), 1.0),
        "enabled_senses": enabled / jnp.maximum(words, 1),
        "words_in_use": words.astype(jnp.float32),
    }
