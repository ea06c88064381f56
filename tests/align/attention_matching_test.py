"""Attention matching: its equations by hand, annealing, a planted translation, bad input."""

import dataclasses

import jax
import numpy as np
import pytest

from clwe_jax.align import attention_matching as matching, pivots
from clwe_jax.align.attention_matching import AttentionMatching
from clwe_jax.align.sentences import sentences


def params(seed, width=5, hidden=4, wanted=3):
    r = np.random.default_rng(seed)
    return {
        "linear": r.normal(size=(width, wanted)),
        "bias": r.normal(size=wanted),
        "inner": r.normal(size=(width, hidden)),
        "inner_bias": r.normal(size=hidden),
        "outer": r.normal(size=(hidden, wanted)),
    }


def by_hand(given, source, target, temperature):
    """D(T(source) || target) of Eq. 1-3, one word after the other; no padding."""
    total = []
    for words, others in zip(source, target):
        mapped = []
        for r in words:
            inner = [max(0.0, r @ given["inner"][:, k] + given["inner_bias"][k]) for k in range(4)]
            mapped.append(r @ given["linear"] + given["bias"] + np.array(inner) @ given["outer"])
        for r in others:
            powers = np.exp([r @ m / np.sqrt(len(r)) / temperature for m in mapped])
            attended = sum(a * m for a, m in zip(powers / powers.sum(), mapped))
            total.append(((attended - r) ** 2).mean())
    return np.mean(total)


def padded(texts):
    found = sentences([x.astype("f4") for x in texts])
    return found.vectors[found.rows], found.rows > 0


def test_the_distance_is_the_papers_and_padding_does_not_count():
    r = np.random.default_rng(0)
    source = [r.normal(size=(n, 5)) for n in (3, 1, 4)]
    target = [r.normal(size=(n, 3)) for n in (2, 5, 1)]
    (x, real), (y, there) = padded(source), padded(target)
    given = params(1)
    for temperature in (1.0, 0.2):
        found = matching.distance(given, x, y, (real, there), temperature)
        assert float(found) == pytest.approx(by_hand(given, source, target, temperature), rel=1e-4)


def test_a_low_temperature_chooses_one_word():
    r = np.random.default_rng(2)
    keys, queries = r.normal(size=(1, 4, 6)), r.normal(size=(1, 3, 6))
    real = np.array([[True, True, True, False]])
    weights = np.asarray(matching.attention(keys, real, queries, 1e-6))
    best = (queries[0] @ keys[0, :3].T).argmax(1)
    assert np.allclose(weights[0], np.eye(4)[best], atol=1e-5)
    even = np.asarray(matching.attention(keys, real, queries, 1e9))
    assert np.allclose(even, [[[1 / 3, 1 / 3, 1 / 3, 0]] * 3], atol=1e-5)


def test_the_temperature_falls_as_in_equation_3():
    options = AttentionMatching(beta=0.01)
    assert [options.temperature(x) for x in (0, 100, 900)] == pytest.approx([1, 0.5, 0.1])
    assert AttentionMatching(beta=0).temperature(500) == 1


def test_the_identity_can_be_learned_and_the_first_map_is_0():
    given = {
        **params(0, 4, 4, 4),
        "linear": np.eye(4),
        "bias": np.zeros(4),
        "outer": np.zeros((4, 4)),
    }
    x = np.random.default_rng(0).normal(size=(7, 4))
    assert np.allclose(matching.transform(given, x), x)
    start = AttentionMatching().initial(4, 6, 0)
    assert np.asarray(matching.transform(start, x)).shape == (7, 6)
    assert not np.asarray(matching.transform(start, x)).any()


def planted(seed=0, words=40, width=16, count=400):
    """Sentences of random words, and the same words turned and in another order."""
    r = np.random.default_rng(seed)
    table = r.normal(size=(words, width))
    turn = np.linalg.qr(r.normal(size=(width, width)))[0]
    source, target, orders = [], [], []
    for _ in range(count):
        chosen = r.choice(words, r.integers(3, 7), replace=False)
        order = r.permutation(len(chosen))
        source.append((table[chosen] + 0.1 * r.normal(size=(len(chosen), width))).astype("f4"))
        target.append((table[chosen[order]] @ turn).astype("f4"))
        orders.append(order)
    return sentences(source), sentences(target), orders


def right(match, source, target, orders):
    """The share of target words whose nearest mapped source word is their own."""
    found = []
    for place, order in enumerate(orders):
        own = target.of(place)
        links = pivots.symmetric_distances(
            pivots.Mapped(own, own), pivots.Mapped(*[match.apply(source.of(place))] * 2)
        )
        found += list(links.argmin(1) == order)
    return np.mean(found)


QUICK = {"steps": 300, "hidden": 8, "batch_size": 32, "learning_rate": 1e-2}


def test_a_planted_translation_is_recovered_without_alignment_and_annealing_helps():
    source, target, orders = planted()
    annealed = AttentionMatching(**QUICK, beta=0.05).fit(source, target)
    assert right(annealed, source, target, orders) > 0.98
    flat = AttentionMatching(**QUICK, beta=0.0).fit(source, target)
    assert annealed.distances(source, target)[0] < 0.5 * flat.distances(source, target)[0]
    steps, losses = zip(*annealed.history)
    assert steps[-1] == 300 and losses[-1] < losses[0] / 2


def test_regression_on_the_means_of_sentences_is_a_linear_map():
    source, target, orders = planted(1)
    found = matching.regression(source, target)
    assert sorted(found.params) == ["bias", "linear"]
    assert right(found, source, target, orders) > 0.9


def test_distances_are_those_of_single_sentences():
    source, target, _ = planted(2, count=5)
    given = {name: x.astype("f4") for name, x in params(3, 16, 4, 16).items()}
    match = matching.Match(given, 0.5)
    squared, cosine = match.distances(source, target)
    texts = [source.of(k) for k in range(5)], [target.of(k) for k in range(5)]
    assert squared == pytest.approx(by_hand(given, *texts, 0.5), rel=1e-4)
    near, own = [], []
    for x, y in zip(*texts):
        keys = match.apply(x)[None]
        weights = matching.attention(keys, np.ones((1, len(x)), bool), y[None], 0.5)
        near += list(np.asarray(weights[0] @ keys[0]))
        own += list(y)
    expected = [1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(near, own)]
    assert cosine == pytest.approx(np.mean(expected), rel=1e-4)


def test_many_words_are_mapped_part_by_part(monkeypatch):
    match = matching.Match({name: x.astype("f4") for name, x in params(0).items()}, 1.0)
    x = np.random.default_rng(0).normal(size=(10, 5)).astype("f4")
    whole = match.apply(x)
    monkeypatch.setattr(matching, "_ROWS", 4)
    np.testing.assert_allclose(match.apply(x), whole, atol=1e-5)
    assert match.apply(x[:0]).shape == (0, 3)


def test_widths_may_differ():
    r = np.random.default_rng(0)
    sides = [sentences([r.normal(size=(3, d)).astype("f4")] * 4) for d in (6, 4)]
    found = AttentionMatching(steps=2, hidden=3, batch_size=2).fit(*sides)
    assert found.apply(np.zeros((5, 6), "f4")).shape == (5, 4)


def test_sides_of_different_length_and_a_diverging_training_are_refused():
    source, target, _ = planted(0, count=6)
    with pytest.raises(ValueError, match="6 .* 5"):
        AttentionMatching().fit(source, target._replace(rows=target.rows[:5]))
    broken = source._replace(vectors=np.full_like(source.vectors, np.nan))
    with pytest.raises(ValueError, match="step 50: .*learning rate"):
        AttentionMatching(steps=50, hidden=0, batch_size=2).fit(broken, target)
    with pytest.raises(ValueError, match="at least one pair"):
        sentences([])


def test_the_start_on_pivots_is_the_orthogonal_map_of_mutually_nearest_words():
    source, target, orders = planted(count=200)
    r = np.random.default_rng(5)  # a third of the sources has a word without a translation
    texts = [
        np.concatenate([source.of(k), r.normal(size=(int(k % 3 == 0), 16))]) for k in range(200)
    ]
    source = sentences(texts)
    found = matching.pivot_map(source, target)
    # By hand: both regressions, all distances of a pair, mutual neighbours, Procrustes.
    there, back = matching.regression(source, target), matching.regression(target, source)
    pairs = []
    for k in range(200):
        x, y = source.of(k), target.of(k)
        gaps = [
            [
                ((there.apply(a[None])[0] - b) ** 2).sum()
                + ((back.apply(b[None])[0] - a) ** 2).sum()
                for b in y
            ]
            for a in x
        ]
        gaps = np.array(gaps)
        pairs += [
            (a, b)
            for i, a in enumerate(x)
            for j, b in enumerate(y)
            if gaps[i].argmin() == j and gaps[:, j].argmin() == i
        ]
    left, right_ = (np.array(side) for side in zip(*pairs))
    u, _, vt = np.linalg.svd(left.T @ right_)
    np.testing.assert_allclose(found, u @ vt, atol=1e-4)
    start = matching.Match({"linear": found, "bias": np.zeros(16, "f4")}, 1)
    assert right(start, source, target, orders) > 0.9
    short = AttentionMatching(**{**QUICK, "steps": 5})
    started = dataclasses.replace(short, start="procrustes").fit(source, target)
    assert started.history[0][1] < 0.8 * short.fit(source, target).history[0][1]
    narrow = target._replace(vectors=target.vectors[:, :9])
    rows = matching.pivot_map(source, narrow)
    np.testing.assert_allclose(rows.T @ rows, np.eye(9), atol=1e-5)


def test_the_gradient_reaches_all_parameters():
    (x, real), (y, there) = padded([np.ones((2, 5))]), padded([np.ones((2, 3))])
    grads = jax.grad(matching.distance)(
        jax.tree.map(lambda x: x.astype("f4"), params(0)), x, y, (real, there), 1.0
    )
    assert set(grads) == {"linear", "bias", "inner", "inner_bias", "outer"}
