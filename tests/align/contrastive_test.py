"""The contrastive finish of an alignment: its loss against NumPy, its start, what it adds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import registry
from clwe_jax.align import contrastive, csls
from clwe_jax.align.contrastive import Contrastive, SideMaps, Side, BatchSides
from clwe_jax.align.procrustes import Procrustes
from clwe_jax.align.self_learning import SelfLearning


def words(seed=0, pairs=5, others=3, width=4):
    """A batch in which pairs 0 and 1 share their source word, and a random word is pair 2's own."""
    r = np.random.RandomState(seed)
    x_ids, y_ids = np.arange(pairs), 10 + np.arange(pairs)
    x_ids[1] = x_ids[0]
    other_y = 50 + np.arange(others)
    other_y[0] = y_ids[2]
    sides = []
    for ids, more in ((x_ids, 50 + np.arange(others)), (y_ids, other_y)):
        vectors = r.standard_normal((100, width)).astype("f4")
        sides.append(Side(vectors[ids], ids, vectors[more], more))
    return BatchSides(*sides)


def random_maps(width=4, seed=1):
    return SideMaps(*np.random.RandomState(seed).standard_normal((2, width, width)).astype("f4"))


def numpy_loss(maps, words, temperature):
    """The loss word by word; a word's negatives are listed one after the other."""
    total, count = 0.0, len(words.x.pair_ids)
    for own, other, own_map, other_map in (
        (words.x, words.y, maps.x, maps.y),
        (words.y, words.x, maps.y, maps.x),
    ):
        for i in range(count):
            query = own.pairs[i] @ own_map
            scores = []
            for j in range(count + len(other.other_ids)):
                in_pairs = j < count
                key = other.pairs[j] if in_pairs else other.others[j - count]
                name = other.pair_ids[j] if in_pairs else other.other_ids[j - count]
                if j != i and (name == other.pair_ids[i]):
                    continue
                if j != i and in_pairs and own.pair_ids[j] == own.pair_ids[i]:
                    continue
                key = key @ other_map
                cosine = query @ key / np.linalg.norm(query) / np.linalg.norm(key)
                scores.append((j, cosine / temperature))
            total += np.log(sum(np.exp(s) for _, s in scores)) - dict(scores)[i]
    return total / 2 / count


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_the_loss_equals_numpy(temperature):
    maps, batch = random_maps(), words()
    found = float(contrastive.loss(maps, batch, temperature))
    assert found == pytest.approx(numpy_loss(maps, batch, temperature), rel=1e-4)


def test_the_gradient_equals_finite_differences():
    with jax.enable_x64(True):
        batch = jax.tree.map(
            lambda x: jnp.asarray(x, "f8" if x.dtype == "f4" else x.dtype), words()
        )
        maps = SideMaps(*(np.asarray(x, "f8") for x in random_maps()))
        direction = SideMaps(*np.random.RandomState(2).standard_normal((2, 4, 4)))
        slope = jax.grad(contrastive.loss)(maps, batch, 0.1)
        along = sum(float((a * b).sum()) for a, b in zip(slope, direction))
        ends = [
            float(
                contrastive.loss(
                    SideMaps(*(m + way * 1e-6 * d for m, d in zip(maps, direction))), batch, 0.1
                )
            )
            for way in (1, -1)
        ]
        assert along == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def bent(count=600, width=12, seed=0):
    """Vectors in clusters, and their noisy image under a map that no rotation undoes."""
    r = np.random.RandomState(seed)
    x = (
        r.standard_normal((count, width))
        + 2 * r.standard_normal((30, width))[r.randint(0, 30, count)]
    )
    one, other = (np.linalg.qr(r.standard_normal((width, width)))[0] for _ in range(2))
    y = x @ one * np.geomspace(4.0, 0.25, width) @ other
    y += 0.2 * y.std(0) * r.standard_normal(y.shape)
    return x.astype("f4"), y.astype("f4")


def found_share(alignment, x, y, given):
    best = csls.nearest(alignment.apply(x), alignment.apply_target(y), 1, "csls")[0]
    return (np.asarray(best)[given:, 0] == np.arange(given, len(x))).mean()


@pytest.mark.parametrize("start", ["procrustes", "rcsls"])
def test_it_finds_words_that_its_start_does_not(start):
    (x, y), given = bent(), 200
    pairs = np.stack([np.arange(given)] * 2, 1)
    first = registry.lookup("aligner", start)().fit(x, y, pairs)
    after = Contrastive(start=start).fit(x, y, pairs)
    before, now = (found_share(each, x, y, given) for each in (first, after))
    assert now > before + 0.15, (before, now)
    aside = after.info["set_aside"]
    assert min(aside) == aside[after.info["epoch"]] < aside[0]


def test_without_a_better_epoch_the_start_is_kept():
    """Labels without any order: what is learned does not hold for the words set aside."""
    r = np.random.RandomState(0)
    x, y = r.standard_normal((2, 300, 20)).astype("f4")
    pairs = np.stack([np.arange(200), r.permutation(200)], 1)
    first = Procrustes().fit(x, y, pairs)
    found = Contrastive(start="procrustes", patience=3).fit(x, y, pairs)
    assert found.info["epoch"] == 0 and len(found.info["loss"]) == 3
    np.testing.assert_allclose(found.apply(x), first.apply(x), atol=1e-5)
    np.testing.assert_allclose(found.apply_target(y), first.apply_target(y), atol=1e-5)


def test_the_last_pairs_that_are_set_aside_are_measured(monkeypatch):
    """A last batch that is smaller was left out, and it was the same in every epoch."""
    x, y = bent(count=200)
    pairs = np.stack([np.arange(200)] * 2, 1)
    aside = []
    seen = []
    part, batches = Contrastive._part, Contrastive._batches

    def split(self, *arguments):
        sides = part(self, *arguments)
        aside.append(sides[1])
        return sides

    def count(self, x, y, pairs, *rest):
        for words in batches(self, x, y, pairs, *rest):
            if pairs is aside[0]:
                seen.append(len(words.x.pair_ids))
            yield words

    monkeypatch.setattr(Contrastive, "_part", split)
    monkeypatch.setattr(Contrastive, "_batches", count)
    size = 16
    Contrastive(batch_size=size, negatives=4, epochs=1, validation=0.3).fit(x, y, pairs)
    assert len(aside[0]) % size  # else the test shows nothing
    assert len(set(seen)) == 1 and len(aside[0]) - sum(seen) < len(seen) and max(seen) <= size


def test_the_start_gets_its_options_and_maps_different_widths():
    x, y = bent(300)
    pairs = np.stack([np.arange(200)] * 2, 1)
    found = Contrastive(start="geomm", start_options=dict(l2=10.0), epochs=2).fit(
        x, y[:, :9], pairs
    )
    assert found.apply(x).shape == (300, 9) == found.apply_target(y[:, :9]).shape
    with pytest.raises(ValueError, match="no option 'l3'.*l2"):
        Contrastive(start="geomm", start_options=dict(l3=10.0)).fit(x, y, pairs)


def test_a_seed_repeats_its_maps():
    x, y = bent(200)
    pairs = np.stack([np.arange(100)] * 2, 1)
    fit = lambda seed: Contrastive(start="procrustes", epochs=3, seed=seed).fit(x, y, pairs)
    one, same, other = fit(0), fit(0), fit(1)
    np.testing.assert_array_equal(one.source_map, same.source_map)
    assert not np.array_equal(one.source_map, other.source_map)


def test_the_start_draws_by_the_seed(monkeypatch):
    seeds = []
    fit = lambda self, *words: seeds.append(self.seed) or Procrustes().fit(*words)
    monkeypatch.setattr(SelfLearning, "fit", fit)
    x, y = bent(100)
    pairs = np.stack([np.arange(50)] * 2, 1)
    for seed in (0, 7):
        Contrastive(start="self_learning", epochs=0, seed=seed).fit(x, y, pairs)
    assert seeds == [0, 7]


@pytest.mark.parametrize(
    "options", [dict(temperature=0.0), dict(batch_size=0), dict(validation=1.0)]
)
def test_wrong_options_are_answered(options):
    x, y = bent(50)
    with pytest.raises(ValueError, match=f"{next(iter(options))}="):
        Contrastive(**options).fit(x, y, np.stack([np.arange(40)] * 2, 1))
