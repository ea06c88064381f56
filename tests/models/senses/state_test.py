"""The sense state and selection against sequential NumPy; on several devices: devices_test.py."""

import collections
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.senses import projection, seeding, selection, translation
from clwe_jax.models.senses import state as senses
from clwe_jax.options.senses import SenseOptions

V, D, P, LANGUAGES = 7, 6, 3, 2
PLAIN = dict(projected=P, queue=12, refresh_every=4, warmup_steps=3, fast_start=False)

create = jax.jit(senses.create, static_argnums=(0, 1, 2, 4))
update = jax.jit(senses.update, static_argnums=1)


def after_step(*args):
    return senses.after_step(*args)[0]


STEP = jax.jit(after_step, static_argnums=1)
WHOLE = jax.jit(senses.after_step, static_argnums=1)


def config_of(**options):
    return SenseOptions(**{**PLAIN, **options})


def random_state(config, seed=0):
    """A state after the warm-up whose arrays are all random."""
    r = np.random.RandomState(seed)
    state = create(config, V, D, jax.random.key(seed), LANGUAGES)
    shape = (V, config.slots)
    enabled = r.rand(*shape) < 0.6
    enabled[:, 1] = True
    return state.replace(
        enabled=jnp.array(enabled),
        total=jnp.array(r.randint(0, 30, shape), jnp.int32),
        counts=jnp.array(r.randint(0, 30, (*shape, LANGUAGES)), jnp.int32),
        queue=jnp.array(r.randn(*state.queue.shape), jnp.float32),
        queue_filled=jnp.int32(8),
        queue_position=jnp.int32(8),
        warm=jnp.array(False),
    )


def occurrences(count, slots, seed=0):
    r = np.random.RandomState(seed)
    return (
        r.randint(0, V, count).astype(np.int32),
        r.randint(0, slots, count).astype(np.int32),
        r.randn(count, D).astype(np.float32),
        (r.rand(count) < 0.8).astype(np.float32),
        r.randint(0, LANGUAGES, count).astype(np.int32),
    )


def cosine(a, b):
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def clear_best(choices, score):
    """The choice of the largest score, by a margin beyond rounding."""
    scores = sorted(map(score, choices))
    assert len(scores) == 1 or scores[-1] - scores[-2] > 1e-5, "a near tie: take another seed"
    return max(choices, key=score)


def same(a, b, **tolerance):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, **tolerance)


# Assignment.


def test_assigns_the_enabled_sense_of_the_largest_projected_cosine():
    state = random_state(config_of())
    words, _, h, *_ = occurrences(50, 1)
    found = selection.assign(state, words, h)
    centers, p, enabled = map(np.array, (state.centers, state.projection, state.enabled))
    for word, x, sense in zip(words, h, found, strict=True):
        slots = np.flatnonzero(enabled[word])
        assert sense == clear_best(slots, lambda s: cosine(centers[word, s] @ p, x @ p))
    assert len(set(np.array(found))) > 2


def test_bfloat16_representations_are_assigned_in_float32():
    state = random_state(config_of())
    words, _, h, *_ = occurrences(50, 1)
    rounded = jnp.array(h, jnp.bfloat16)
    expected = selection.assign(state, words, rounded.astype(jnp.float32))
    np.testing.assert_array_equal(selection.assign(state, words, rounded), expected)


def test_nothing_is_differentiated():
    state = random_state(config_of())
    words, chosen, h, *rest = occurrences(5, 2)

    def moved(h):
        after = after_step(state, config_of(), jnp.int32(9), words, chosen, h, *rest)
        return after.centers.sum() + after.queue.sum()

    assert not np.any(jax.grad(moved)(jnp.array(h)))


# The update.


def closed_form(state, config, words, chosen, h, weights, languages):
    """Eq. of Algorithm 1 for all moves of a center at once, key by key."""
    centers = np.array(state.centers, np.float64)
    counts = np.array(state.counts)
    rows = collections.defaultdict(list)
    for word, sense, x, weight, language in zip(words, chosen, h, weights, languages, strict=True):
        if weight > 0:
            rows[word, sense].append(x)
            counts[word, sense, language] += 1
    for key, own in rows.items():
        left = (1 - config.alpha) ** len(own)
        centers[key] = left * centers[key] + (1 - left) * np.mean(own, 0)
    return centers, counts, rows


def test_moves_the_centers_that_occurred_and_no_other():
    config = config_of(alpha=0.2)
    state = random_state(config)
    batch = occurrences(40, 2)
    after = update(state, config, *batch)
    centers, counts, rows = closed_form(state, config, *batch)
    np.testing.assert_allclose(after.centers, centers, atol=1e-6)
    np.testing.assert_array_equal(after.counts, counts)
    added = (counts - np.array(state.counts)).sum(2)
    np.testing.assert_array_equal(after.total - state.total, added)
    untouched = np.ones((V, config.slots), bool)
    untouched[tuple(np.array(list(rows)).T)] = False
    np.testing.assert_array_equal(after.centers[untouched], state.centers[untouched])
    np.testing.assert_allclose(after.projected, after.centers @ state.projection, atol=1e-5)
    assert max(map(len, rows.values())) > 3


@pytest.mark.parametrize("fast_start", [False, True])
def test_equals_sequential_moves(fast_start):
    # With equal representations the order does not matter: the result is that of the sequence.
    config = config_of(alpha=0.1, fast_start=fast_start, seed_weight=4)
    state = random_state(config).replace(total=jnp.zeros((V, config.slots), jnp.int32))
    x = np.random.RandomState(3).randn(D)
    center, total = np.array(state.centers[2, 1], np.float64), 4
    for count in (3, 1, 9):
        for _ in range(count):
            total += 1
            alpha = max(config.alpha, 1 / total) if fast_start else config.alpha
            center = (1 - alpha) * center + alpha * x
        batch = np.full(count, 2), np.full(count, 1), np.tile(x, (count, 1)), np.ones(count)
        batch += (np.arange(count) % LANGUAGES,)
        state = update(state, config, *batch)
        np.testing.assert_allclose(state.centers[2, 1], center, atol=1e-5)


def test_a_fast_start_is_the_mean_of_the_first():
    config = config_of(alpha=0.01, fast_start=True)
    state = create(config, V, D, jax.random.key(0))
    h = np.random.RandomState(0).randn(20, D).astype(np.float32)
    for part in (h[:1], h[1:8], h[8:]):
        zeros = np.zeros(len(part), int)
        batch = zeros + 4, zeros, part, np.ones(len(part)), zeros
        state = update(state, config, *batch)
    np.testing.assert_allclose(state.centers[4, 0], h.mean(0), atol=1e-6)


def test_rows_that_do_not_count_change_nothing():
    config = config_of(init="kmeans")
    state = create(config, V, D, jax.random.key(0))
    words, chosen, h, _, languages = occurrences(9, 1)

    def step(h, weights):
        return STEP(state, config, jnp.int32(0), words, chosen, h, weights, languages)

    same(step(h, np.zeros(9)), state)
    same(step(np.full_like(h, np.nan), np.ones(9)), state)
    weights = np.arange(9) % 2
    poisoned = np.where(weights[:, None] > 0, h, np.inf)
    same(step(poisoned, np.ones(9)), step(h, weights))


def test_the_order_of_the_occurrences_does_not_matter():
    config = config_of(alpha=0.3, fast_start=True)
    state = random_state(config)
    batch = occurrences(50, config.slots)
    # As a batch dealt to microbatches and put together again in another order.
    for order in (np.random.RandomState(0).permutation(50), np.arange(50).reshape(-1, 5).T.ravel()):
        shuffled = [x[order] for x in batch]
        same(update(state, config, *shuffled), update(state, config, *batch), atol=1e-6)


# The queue and the projection.


def test_the_queue_is_first_in_first_out():
    config = config_of()
    state = create(config, V, D, jax.random.key(0))
    queue = collections.deque(maxlen=config.queue)
    push = jax.jit(senses.push)
    for seed, count in enumerate((5, 4, 9, 1, 30, 2)):
        _, _, h, weights, _ = occurrences(count, 1, seed)
        weights[0] = 1
        queue.extend(h[weights > 0])
        state = push(state, h, weights)
        assert state.queue_filled == len(queue)
        oldest = int(state.queue_position) if len(queue) == config.queue else 0
        np.testing.assert_array_equal(np.roll(state.queue, -oldest, 0)[: len(queue)], queue)


@pytest.mark.parametrize("filled", [8, 12])
def test_the_projection_is_numpys_pca(filled):
    state = random_state(config_of()).replace(queue_filled=jnp.int32(filled))
    rows = np.array(state.queue[:filled], np.float64)
    _, _, components = np.linalg.svd(rows - rows.mean(0))
    after = senses.refresh_projection(state)
    np.testing.assert_allclose(np.abs(after.projection.T @ components[:P].T), np.eye(P), atol=1e-4)
    largest = np.abs(after.projection).argmax(0)
    assert (np.array(after.projection)[largest, np.arange(P)] > 0).all()
    np.testing.assert_allclose(after.projected, after.centers @ after.projection, atol=1e-5)


def test_the_signs_do_not_depend_on_the_solver(monkeypatch):
    state = random_state(config_of())
    expected = projection.principal_components(state.queue, state.queue_filled, P)
    eigh = jnp.linalg.eigh
    monkeypatch.setattr(jnp.linalg, "eigh", lambda x: (eigh(x)[0], -eigh(x)[1]))
    found = projection.principal_components(state.queue, state.queue_filled, P)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_queue_of_too_few_leaves_the_projection():
    state = random_state(config_of()).replace(queue_filled=jnp.int32(P))
    np.testing.assert_array_equal(senses.refresh_projection(state).projection, state.projection)


# All of a step.


def sequential(config, centers, projection, stream):
    """Algorithms 1 and 2 as printed, one occurrence a step; warm-up with the slot 0 alone."""
    queue, used = collections.deque(maxlen=config.queue), []
    for step, (word, h) in enumerate(stream):
        allowed = [0] if step < config.warmup_steps else range(1, config.slots)
        sense = clear_best(allowed, lambda s: cosine(centers[word, s] @ projection, h @ projection))
        used.append(sense)
        centers[word, sense] = (1 - config.alpha) * centers[word, sense] + config.alpha * h
        queue.append(h)
        due = (step + 1) % config.refresh_every == 0 or step + 1 == config.warmup_steps
        if due and len(queue) > config.projected:
            rows = np.array(queue)
            _, _, components = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
            projection = components[: config.projected].T
    return used, centers


def test_equals_the_papers_algorithms_one_occurrence_at_a_time():
    config = config_of(init="paper", alpha=0.1, warmup_steps=10, refresh_every=8, sigma=1.0)
    state = create(config, V, D, jax.random.key(2))
    r = np.random.RandomState(0)
    scale = np.array([4, 3, 2, 1, 0.5, 0.2])  # components that cannot be mistaken for others
    stream = [(r.randint(V), r.randn(D) * scale) for _ in range(60)]
    used, centers = sequential(
        config, np.array(state.centers, np.float64), np.array(state.projection, np.float64), stream
    )

    @jax.jit
    def one(state, step, word, h):
        found = selection.assign(state, word, h)
        given = word, found, h, jnp.ones(1), jnp.zeros(1, jnp.int32)
        return after_step(state, config, step, *given), found[0]

    found = []
    for step, (word, h) in enumerate(stream):
        state, sense = one(state, jnp.int32(step), np.array([word]), np.float32(h)[None])
        found.append(int(sense))
    assert found == used and len(set(found)) > 2
    np.testing.assert_allclose(state.centers, centers, atol=1e-4)


def run(config, steps, rows=8, seed=0, state=None, start=0, weight=lambda step: 1.0):
    state = create(config, V, D, jax.random.key(seed)) if state is None else state
    for step in range(start, start + steps):
        r = np.random.RandomState(step)
        words, h = r.randint(0, V - 1, rows), np.float32(r.randn(rows, D) + 1)
        chosen = selection.assign(state, words, h)
        weights = np.full(rows, weight(step))
        given = words, chosen, h, weights, np.zeros(rows, np.int32)
        state = STEP(state, config, jnp.int32(step), *given)
    return state


@pytest.mark.parametrize(
    "init, warmup_slot", [("seeded", True), ("kmeans", False), ("paper", True)]
)
def test_one_sense_until_the_end_of_the_warm_up(init, warmup_slot):
    config = config_of(init=init, warmup_slot=warmup_slot)
    before = run(config, config.warmup_steps - 1)
    alone = np.arange(config.slots) == 0
    assert (np.array(before.enabled) == alone).all() and before.warm
    after = run(config, 1, state=before, start=config.warmup_steps - 1)
    extra = int(warmup_slot)
    assert after.enabled.shape[1] == config.senses + extra
    assert (np.array(after.enabled) == (np.arange(config.slots) >= extra)).all() and not after.warm
    later = run(config, 3, state=after, start=config.warmup_steps)
    assert (np.array(later.enabled) == np.array(after.enabled)).all()
    assert later.total[:, extra:].sum() == 3 * 8


def test_the_warm_up_ends_though_its_last_step_was_skipped():
    config = config_of()
    state = run(config, config.warmup_steps - 1)
    state = run(config, 1, state=state, start=config.warmup_steps)
    assert not state.warm


def test_seeds_lie_around_the_words_own_mean():
    config = config_of(noise=0.05, fast_start=True)
    state = run(config, config.warmup_steps - 1, rows=40)
    words, h = np.arange(V - 1), np.ones((V - 1, D), np.float32)  # V - 1 has never occurred
    weights = np.zeros(V - 1)
    given = words, words * 0, h, weights, words * 0
    last = STEP(state, config, jnp.int32(config.warmup_steps - 1), *given)
    rows = np.array(state.queue)
    base = np.array(state.centers[:, 0])
    base[V - 1] = rows.mean(0)
    away = (np.array(last.centers[:, 1:]) - base[:, None]) / rows.std(0)
    assert 0.03 < away.std() < 0.07 and np.abs(away).max() < 0.25
    assert len(np.unique(away)) == away.size
    np.testing.assert_array_equal(last.centers[:, 0], state.centers[:, 0])
    np.testing.assert_allclose(last.projected, last.centers @ last.projection, atol=1e-5)


def test_kmeans_finds_planted_clusters_and_leaves_rare_words_to_the_noise():
    config = config_of(init="kmeans", senses=3, sample=12, noise=0.01, fast_start=True)
    poles = np.random.RandomState(0).randn(V, 3, D) * 3
    state = create(config, V, D, jax.random.key(0))
    for step in range(3):
        r = np.random.RandomState(step)
        words, pole = np.tile(np.arange(V), 3), np.repeat([0, 1, 2], V)
        weights = np.float32((words > 0) | ((np.arange(3 * V) == 0) & (step == 0)))
        h = np.float32(poles[words, pole] + 0.1 * r.randn(3 * V, D))
        base = state.centers[0, 0]
        state = STEP(state, config, jnp.int32(step), words, words * 0, h, weights, words * 0)
    means = np.array(state.centers[:, 1:])
    for word in range(1, V):
        apart = np.abs(means[word][:, None] - poles[word][None]).max(-1)
        assert sorted(apart.argmin(1)) == [0, 1, 2] and apart.min(1).max() < 0.4
    # One occurrence is one cluster; the other senses start around the word's mean.
    away = np.abs(means[0] - base).max(-1)
    assert (away < 0.3).all() and len(np.unique(means[0], axis=0)) == 3
    assert np.linalg.norm(base) > 1


def test_the_sample_holds_each_words_latest():
    size = 3
    rings = collections.defaultdict(lambda: collections.deque(maxlen=size))
    sample, seen = jnp.zeros((V, size, D)), np.zeros(V, np.int32)
    remember = jax.jit(seeding.remember)
    for seed in range(4):
        words, _, h, weights, _ = occurrences(20, 1, seed)
        # A copy: the array is read when the step runs, which may be after the loop below.
        sample = remember(sample, seen.copy(), words, h, weights > 0)
        for word, x, weight in zip(words, h, weights, strict=True):
            if weight:
                rings[word].append(x)
                seen[word] += 1
    for word, ring in rings.items():
        oldest = seen[word] % size if len(ring) == size else 0
        np.testing.assert_array_equal(np.roll(sample[word], -oldest, 0)[: len(ring)], ring)


# Inheritance.


@pytest.mark.parametrize("warmup_slot", [True, False])
def test_the_warm_ups_vectors_seed_the_senses(warmup_slot):
    config = config_of(warmup_slot=warmup_slot)
    warm = create(config, V, D, jax.random.key(0))
    words, _, h, weights, languages = occurrences(20, 1)
    for step, now in ((config.warmup_steps - 2, False), (config.warmup_steps - 1, True)):
        _, seeded = WHOLE(warm, config, jnp.int32(step), words, words * 0, h, weights, languages)
        assert seeded == now


def test_all_slots_have_the_entries_of_the_first():
    table = np.random.RandomState(0).randn(2, V, 4, D).astype(np.float32)
    inherit = jax.jit(seeding.inherit, static_argnums=1)
    expected = np.repeat(table[:, :, :1], 4, axis=2)
    for now in (True, False):
        found = inherit(table, 1, jnp.array(now))
        np.testing.assert_array_equal(found, expected if now else table)
        found = inherit(table[0, :, :, 0], 0, jnp.array(now))  # biases
        np.testing.assert_array_equal(found, (expected if now else table)[0, :, :, 0])


# Pruning.


def test_a_dead_sense_goes_and_a_used_one_never():
    config = config_of(prune_every=4, prune_share=0.1, prune_least=3, senses=3, warmup_slot=False)
    counts = np.array([[90, 0, 10], [90, 1, 9], [0, 0, 0], [0, 2, 0], [34, 33, 33], [5, 0, 95]])
    enabled = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 1]], bool)
    state = create(config, 6, D, jax.random.key(0))
    counts = np.stack([counts // 2, counts - counts // 2], -1)
    state = state.replace(counts=jnp.array(counts), enabled=jnp.array(enabled))
    after = senses.prune(state, config)
    expected = [[1, 0, 1], [1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1]]
    np.testing.assert_array_equal(after.enabled, np.array(expected, bool))


def test_one_sense_stays_whatever_the_share():
    config = config_of(prune_share=0.9, senses=4, warmup_slot=False)
    state = create(config, V, D, jax.random.key(0))
    counts = jnp.array(np.random.RandomState(0).randint(1, 9, (V, 4)))
    state = state.replace(counts=counts[..., None], enabled=jnp.ones((V, 4), bool))
    after = np.array(senses.prune(state, config).enabled)
    np.testing.assert_array_equal(after, np.arange(4) == np.array(counts).argmax(1)[:, None])


def test_checks_for_pruning_begin_at_the_configured_step():
    config = config_of(prune_every=2, prune_after=8, prune_share=0.45, alpha=0.3)
    enabled = [int(run(config, steps, rows=30).enabled.sum()) for steps in (3, 7, 8)]
    assert enabled[0] == enabled[1] == V * config.senses
    assert V <= enabled[2] < V * config.senses


@pytest.mark.parametrize(
    "options, every",
    [(dict(prune_every=4, prune_after=99), 4), (dict(), 3), (dict(age_counts=False), 99)],
)
def test_uses_age_at_checks_and_without_them_when_components_are_refreshed(options, every):
    """Only counts of words with enough uses in a language to judge their senses."""
    config = config_of(refresh_every=3, warmup_steps=2, senses=3, prune_least=20, **options)
    state = random_state(config).replace(warm=jnp.array(False))
    before = np.array(state.counts)
    enough = before.sum(1, keepdims=True) >= 40
    assert enough.any() and not enough.all() and (enough[..., 0] != enough[..., 1]).any()
    zeros = np.zeros(3, np.int32)
    none = zeros, zeros, np.ones((3, D), np.float32), np.zeros(3), zeros
    for step in range(5, 12):
        after, _ = WHOLE(state, config, jnp.int32(step), *none)
        aged = np.where(enough, before // 2, before) if (step + 1) % every == 0 else before
        np.testing.assert_array_equal(after.counts, aged)


# Figures, errors, memory.


def test_statistics():
    counts = np.array([[4, 4, 0, 9], [8, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    enabled = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]], bool)
    counts = np.stack([counts // 2, counts - counts // 2], -1)
    config = config_of(senses=4, warmup_slot=False)
    state = create(config, 4, D, jax.random.key(0))
    found = senses.statistics(state.replace(counts=jnp.array(counts), enabled=jnp.array(enabled)))
    assert found["words_in_use"] == 2 and found["enabled_senses"] == 2.5
    np.testing.assert_allclose(found["senses_in_use"], 3 / 5)
    np.testing.assert_allclose(found["sense_entropy"], np.log(2) / 2, rtol=1e-5)


def test_one_sense_is_a_model_without_senses():
    config = config_of(senses=1)
    state = run(config, 5)
    assert state.centers.shape[1] == 1 and state.enabled.all() and state.queue_filled == 0
    assert not selection.assign(state, *occurrences(9, 1)[:3:2]).any()


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(senses=0), "senses=0"),
        (dict(init="kmean"), "seeded, kmeans, paper"),
        (dict(warmup_steps=0), "warmup_steps=0: take at least one step, or init='paper'"),
        (dict(alpha=1.0), "alpha=1.0"),
        (dict(queue=0), "queue=0"),
        (dict(senses=5, translated_share=0.3), "translated_share=0.3"),
    ],
)
def test_configs_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        config_of(**options)


@pytest.mark.parametrize("options", [dict(projected=D + 1), dict(projected=4, queue=3)])
def test_more_components_than_possible(options):
    with pytest.raises(ValueError, match="take at most"):
        senses.create(config_of(**options), V, D, jax.random.key(0))


def test_every_array_has_the_names_of_its_axes():
    for init in ("seeded", "kmeans"):
        state = create(config_of(init=init), V, D, jax.random.key(0))
        for box in jax.tree.leaves(senses.box(state), is_leaf=lambda x: hasattr(x, "names")):
            assert len(box.names) == box.value.ndim
            assert ("vocab" in box.names) == (box.value.shape[:1] == (V,))
            assert box.names[:1] == ("vocab",) or "vocab" not in box.names


def test_the_same_seed_is_the_same_state():
    config = config_of(init="kmeans")
    same(run(config, 5), run(config, 5))
    other = run(dataclasses.replace(config, seed=1), 5)
    assert not np.allclose(other.centers, run(config, 5).centers)


@pytest.mark.parametrize("init", ["seeded", "kmeans"])
def test_nothing_as_large_as_the_centers_is_made(init):
    words, width, rows = 4096, 64, 128
    config = SenseOptions(
        senses=5, queue=256, warmup_steps=3, refresh_every=2, prune_every=2, init=init
    )
    state = jax.eval_shape(lambda: senses.create(config, words, width, jax.random.key(0)))

    def step(state, words, h):
        found = selection.assign(state, words, h)
        given = words, found, h, jnp.ones(rows), jnp.zeros_like(words)
        return senses.after_step(state, config, jnp.int32(1), *given)

    ids = jax.ShapeDtypeStruct((rows,), jnp.int32)
    h = jax.ShapeDtypeStruct((rows, width), jnp.float32)
    memory = jax.jit(step, donate_argnums=0).lower(state, ids, h).compile().memory_analysis()
    size = state.centers.size * 4
    assert memory.alias_size_in_bytes > size  # in place
    assert memory.temp_size_in_bytes < 0.6 * size


# Planted senses: words 0-7 are of one language, 8-15 of another; each has two of four topics.

TOPICS = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3], [0, 1], [2, 3]] * 2)


def planted(config, steps=400, rows=32):
    """The state, and words, topics, representations and senses of the last steps."""
    r = np.random.RandomState(0)
    width = 16
    topics, own, language = (s * r.randn(n, width) for s, n in ((1, 4), (0.7, 16), (1, 2)))
    words = r.randint(0, 16, (steps, rows))
    topic = TOPICS[words, r.randint(0, 2, words.shape)]
    h = own[words] + language[words // 8] + topics[topic] + 0.4 * r.randn(steps, rows, width)

    def one(state, batch):
        step, words, h = batch
        chosen = selection.assign(state, words, h)
        given = words, chosen, h, jnp.ones(rows), words // 8
        return after_step(state, config, step, *given), chosen

    state = create(config, 16, width, jax.random.key(0), LANGUAGES)
    batches = jnp.arange(steps), jnp.array(words), jnp.array(h, jnp.float32)
    state, chosen = jax.jit(lambda state: jax.lax.scan(one, state, batches))(state)
    last = slice(steps - 150, None)
    return state, *(
        np.array(x)[last].reshape(150 * rows, -1).squeeze() for x in (words, topic, h, chosen)
    )


def purity(words, topic, chosen):
    most = 0
    for word, sense in set(zip(words, chosen, strict=True)):
        most += np.bincount(topic[(words == word) & (chosen == sense)]).max()
    return most / len(words)


PLANTED = dict(
    senses=3, projected=8, queue=512, refresh_every=50, warmup_steps=100, fast_start=True
)


@pytest.mark.parametrize("init", ["seeded", "kmeans"])
def test_planted_senses_are_recovered_and_matched_across_languages(init):
    config = SenseOptions(**PLANTED, init=init)
    state, words, topic, h, chosen = planted(config)
    assert purity(words, topic, chosen) > 0.97
    # A slot means the topic that it is assigned to; every word's translation is the word
    # of the other language that has the same two topics.
    meaning = {
        key: np.bincount(topic[(words == key[0]) & (chosen == key[1])]).argmax()
        for key in set(zip(words, chosen, strict=True))
    }
    first = words < 8
    translations = np.stack([words + 8, words * 0 - 1], 1)[first]
    into = np.ones(first.sum(), np.int32)
    word, sense, has = translation.choose(state, config, translations, into, h[first])
    assert has.all() and (np.array(word) == words[first] + 8).all()
    right = [
        meaning.get((int(w), int(s))) == t
        for w, s, t in zip(word, sense, topic[first], strict=True)
    ]
    assert np.mean(right) > 0.9


def test_as_printed_the_senses_collapse():
    state, words, topic, _, chosen = planted(
        SenseOptions(**PLANTED, init="paper", alpha=0.05, sigma=0.01)
    )
    assert purity(words, topic, chosen) < 0.75
    assert senses.statistics(state)["senses_in_use"] < 0.7
