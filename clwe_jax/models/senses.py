"""The sense state: cluster centers of every word's senses, followed while a model trains.

Multi-sense cross-lingual alignment, Algorithms 1 and 2 and section 3.2: an occurrence of a word
belongs to the sense whose center has the largest cosine with its contextual representation, both
projected to a few principal components; that center then moves a step towards the representation.

Everything here is a pure function of a `SenseState`, to be called inside a jitted step whose state
is donated. No function holds an array of the size of the centers beside them, and what a step
leaves behind depends neither on the order of its occurrences (but for which of them are the last
Q of the queue, and the last R of a word's sample) nor on how arrays are cut over devices.

Slots: a word has `SenseConfig.slots` centers. Until the end of the warm-up slot 0 alone is enabled;
then the senses are seeded and enabled. With `warmup_slot` the warm-up's slot is none of them and is
disabled from there on (SaELMo), without it is the first (SaBERT).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from flax import struct
from flax.linen import LogicallyPartitioned
import jax
import jax.numpy as jnp

from clwe_jax.models import sense_projection, sense_seeding
from clwe_jax.models.sense_config import SenseConfig
from clwe_jax.types import Array

_TINY = 1e-12


@struct.dataclass
class SenseState:
    """The state of the senses of V words with S slots each.

    Attributes:
      centers: float32 [V, S, d].
      projected: float32 [V, S, d'], the centers times the projection.
      counts: int32 [V, S, L], the latest uses in each language, as `age` leaves them. L is 1 where
        languages are not told apart.
      total: int32 [V, S], uses; of the enabled senses, since they were seeded.
      enabled: bool [V, S].
      projection: float32 [d, d'], P.
      queue: float32 [Q, d], a ring of representations.
      queue_position: int32 [], where the next one goes.
      queue_filled: int32 [], how many there are.
      warm: bool [], whether the senses are still to be seeded.
      sample: float32 [V, R, d], a ring of each word's representations, or None.
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
    config: SenseConfig, vocab_size: int, width: int, rng: Array, languages: int = 1
) -> SenseState:
    """The state before the first step: centers from N(0, sigma^2), P from N(0, 1).

    Args:
      config: see there.
      vocab_size: V, padding for sharding included.
      width: d.
      rng: a PRNG key.
      languages: L, whose uses are told apart.

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
        enabled=jnp.broadcast_to(jnp.array(config.enabled(warm)), shape),
        projection=projection,
        queue=jnp.zeros((config.queue, width), jnp.float32),
        queue_position=jnp.zeros((), jnp.int32),
        queue_filled=jnp.zeros((), jnp.int32),
        warm=jnp.array(warm),
        sample=jnp.zeros(sample, jnp.float32) if keeps_sample else None,
    )


def logical_axes(state: SenseState) -> SenseState:
    """The names of the axes of every array, as tuples in a SenseState."""
    words = ("vocab", None)
    return SenseState(
        centers=("vocab", None, "embed"),
        projected=("vocab", None, None),
        counts=("vocab", None, None),
        total=words,
        enabled=words,
        projection=(None, None),
        queue=(None, None),
        queue_position=(),
        queue_filled=(),
        warm=(),
        sample=None if state.sample is None else ("vocab", None, "embed"),
    )


def boxed(state: SenseState) -> SenseState:
    """The state with every array in a box that carries its axes' names, as linen's parameters."""
    names = jax.tree.leaves(logical_axes(state), is_leaf=lambda x: isinstance(x, tuple))
    leaves, treedef = jax.tree.flatten(state)
    return treedef.unflatten(map(LogicallyPartitioned, leaves, names))


def memory(config: SenseConfig, vocab_size: int, width: int, languages: int = 1) -> dict[str, int]:
    """Bytes of every array of the state, before anything is allocated."""
    state = jax.eval_shape(
        lambda key: create(config, vocab_size, width, key, languages),
        jax.eval_shape(jax.random.key, 0),
    )
    fields = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return {name: x.size * x.dtype.itemsize for name, x in fields.items() if x is not None}


def project(vectors: Array, projection: Array) -> Array:
    """Vectors [..., d] times P."""
    # Full precision: accelerators' default loses the digits that near-ties are decided by.
    return jnp.matmul(vectors, projection, precision=jax.lax.Precision.HIGHEST)


def similarity(projected: Array, enabled: Array, h: Array) -> Array:
    """Cosine of h with centers up to the factor 1 / |h P|, -inf where disabled: [N, k]."""
    norm = jnp.sqrt(jnp.square(projected).sum(-1))
    products = jnp.einsum("nkp,np->nk", projected, h, precision=jax.lax.Precision.HIGHEST)
    return jnp.where(enabled, products / jnp.maximum(norm, _TINY), -jnp.inf)


def assign(state: SenseState, words: Array, h: Array) -> Array:
    """The sense of every occurrence (Algorithm 1): the enabled center with the largest cosine.

    Args:
      state: the senses.
      words: int [N].
      h: [N, d], the representation of the word itself, also where its left neighbour's predicts it.

    Returns:
      int32 [N], slots; of equal ones the first. Not differentiated.
    """
    h = project(jax.lax.stop_gradient(h).astype(jnp.float32), state.projection)
    scores = similarity(state.projected[words], state.enabled[words], h)
    return scores.argmax(-1).astype(jnp.int32)


def update(
    state: SenseState,
    config: SenseConfig,
    words: Array,
    senses: Array,
    h: Array,
    weights: Array,
    languages: Array,
) -> SenseState:
    """Moves the centers that were chosen, and counts.

    n moves c <- (1 - a) c + a h in a row end, but for the order of the h, at
      (1 - a)^n c + (1 - (1 - a)^n) mean(h),
    which is what every center goes to. With `fast_start` the k-th representation of a center moves
    it by max(a, 1 / k), and (1 - a)^n is the product of what each of the n leaves of c.

    Args:
      state: the senses.
      config: see there.
      words: int [N]; senses: int [N]; h: [N, d]; weights: [N]; languages: int [N], of the text.
        Rows whose weight is 0 or whose h is not finite count nothing.
    """
    counted = _counted(h, weights)
    one = counted.astype(jnp.int32)
    # Rows that do not count lie beyond the table, and what is beyond is not written.
    words = jnp.where(counted, words, state.total.shape[0])
    total = state.total.at[words, senses].add(one, mode="drop")
    read = dict(mode="fill", fill_value=0)
    before = state.total.at[words, senses].get(**read)
    uses = total.at[words, senses].get(**read) - before
    left = _left(config, state.warm, before, uses)
    share = (1.0 - left) / jnp.maximum(uses, 1)
    h = jnp.where(counted[:, None], h.astype(jnp.float32), 0.0)
    if state.counts.shape[2] == 1:
        languages = jnp.zeros_like(words)
    moves = share[:, None] * (h - state.centers.at[words, senses].get(**read))
    return state.replace(
        centers=state.centers.at[words, senses].add(moves, mode="drop"),
        projected=state.projected.at[words, senses].add(
            project(moves, state.projection), mode="drop"
        ),
        counts=state.counts.at[words, senses, languages].add(one, mode="drop"),
        total=total,
    )


def _counted(h: Array, weights: Array) -> Array:
    return (weights > 0) & jnp.isfinite(h).all(-1)


def _left(config: SenseConfig, warm: Array, before: Array, uses: Array) -> Array:
    """float32: what remains of a center after `uses` moves, `before` others having gone first."""
    keep = jnp.float32(1.0 - config.alpha)
    if not config.fast_start or config.init == "paper":
        return keep**uses
    before = before + jnp.where(warm | (config.senses == 1), 0, config.seed_weight)
    averaged = jnp.clip(round(1.0 / config.alpha) - before, 0, uses)
    return before / jnp.maximum(before + averaged, 1) * keep ** (uses - averaged)


def push(state: SenseState, h: Array, weights: Array) -> SenseState:
    """Adds representations [N, d] to the queue in their order; the oldest ones leave."""
    queue, position, filled = sense_projection.push(
        state.queue, state.queue_position, state.queue_filled, h, _counted(h, weights)
    )
    return state.replace(queue=queue, queue_position=position, queue_filled=filled)


def refresh_projection(state: SenseState) -> SenseState:
    """P becomes the queue's first d' principal components (Algorithm 2).

    As long as the queue holds no more rows than there are components, P stays.
    """
    components = state.projection.shape[1]
    found = sense_projection.principal_components(state.queue, state.queue_filled, components)
    projection = jnp.where(state.queue_filled > components, found, state.projection)
    return state.replace(projection=projection, projected=project(state.centers, projection))


def seed(state: SenseState, config: SenseConfig) -> SenseState:
    """The end of the warm-up: centers of the senses, and which are enabled.

    A word that did not occur yet starts from the mean of the queue in place of its own.
    """
    centers = state.centers
    if config.init != "paper":
        mean, deviation = _noise(state, config)
        centers = sense_seeding.seeded(
            centers,
            state.total.sum(1),
            mean,
            deviation,
            config.senses,
            jax.random.fold_in(jax.random.key(config.seed), config.warmup_steps),
            state.sample,
            state.projection,
        )
    enabled = jnp.broadcast_to(jnp.array(config.enabled(warm=False)), state.enabled.shape)
    return state.replace(
        centers=centers,
        projected=project(centers, state.projection),
        counts=jnp.zeros_like(state.counts),
        total=jnp.where(enabled, 0, state.total),
        enabled=enabled,
        warm=jnp.array(False),
    )


def _noise(state: SenseState, config: SenseConfig) -> tuple[Array, Array]:
    """The queue's mean, [d], and the standard deviation of the noise of seeds, [d]."""
    mean, rows, count = sense_projection.moments(state.queue, state.queue_filled)
    return mean, config.noise * jnp.sqrt(jnp.square(rows).sum(0) / count)


def prune(state: SenseState, config: SenseConfig) -> SenseState:
    """Disables senses with less than `prune_share` of their word's uses (section 3.1).

    The sense that is used most stays whatever its share, and a word used less than `prune_least`
    times, or never, keeps all.
    """
    uses = jnp.where(state.enabled, state.counts.sum(2), 0)
    word_uses = uses.sum(1, keepdims=True)
    rare = uses < config.prune_share * word_uses
    most = jnp.arange(uses.shape[1]) == uses.argmax(1)[:, None]
    judged = word_uses >= max(config.prune_least, 1)
    enabled = state.enabled & ~(rare & ~most & judged)
    return state.replace(enabled=enabled)


def age(state: SenseState, config: SenseConfig) -> SenseState:
    """Halves the counts of words whose uses are enough to judge senses by: the latest ones do.

    Called at every check for senses to remove (without such checks at every refresh of the
    projection). A word with less than twice `prune_least` uses in a language keeps them all: a rare
    word's would be halved to nothing, and its senses in use look like its dead ones.
    """
    enough = state.counts.sum(1, keepdims=True) >= 2 * config.prune_least
    return state.replace(counts=jnp.where(enough, state.counts // 2, state.counts))


def after_step(
    state: SenseState,
    config: SenseConfig,
    step: Array,
    words: Array,
    senses: Array,
    h: Array,
    weights: Array,
    languages: Array,
) -> tuple[SenseState, Array]:
    """What a training step leaves of the senses: once a step, with all of its occurrences.

    Args:
      state: the senses that `assign` saw.
      config: see there.
      step: int [], steps taken before this one.
      words, senses: int [N]; h: [N, d]; weights: [N]; languages: int [N], as `update`.

    Returns:
      The senses; bool [], whether they were seeded and go on with the warm-up's output vectors.
    """
    h = jax.lax.stop_gradient(h)
    if state.sample is not None:
        kept = _counted(h, weights) & state.warm
        seen = state.total.sum(1)
        state = state.replace(sample=sense_seeding.remember(state.sample, seen, words, h, kept))
    state = update(state, config, words, senses, h, weights, languages)
    if config.senses == 1:
        return state, jnp.array(False)
    state = push(state, h, weights)
    done = step + 1
    # Not only at that very step: one that was skipped would leave the warm-up without an end.
    seeds = state.warm & (done >= config.warmup_steps)
    refreshes = seeds | (done % config.refresh_every == 0)
    # Senses that are seeded now have no uses to be judged by.
    checks = ~state.warm & (done % (config.prune_every or config.refresh_every) == 0)
    state = _if(refreshes, refresh_projection, state)
    state = _if(seeds, lambda state: seed(state, config), state)
    if config.prune_every:
        prunes = checks & (done >= config.prune_after)
        state = _if(prunes, lambda state: prune(state, config), state)
    state = _if(checks, lambda state: age(state, config), state)
    return state, seeds


def _if(now: Array, change: Callable[[Any], Any], held: Any) -> Any:
    return jax.lax.cond(now, change, lambda held: held, held)
