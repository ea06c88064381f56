"""InfoNCE on sentences and copies: NumPy, finite differences, microbatches, several devices."""

import json
import sys

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.contrastive import ContrastiveObjective, _sides, info_nce
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.options.training import MeshOptions
from clwe_jax.training import partition
from clwe_jax.types import COPY, piece_shapes

LENGTH, TEMPERATURE = 9, 0.05


def make(**options):
    sizes = TransformerOptions(layers=2, width=8, heads=2, mlp_dim=12, dropout=0.5)
    model = Transformer(sizes, 24, 3, LENGTH)
    return ContrastiveObjective(
        MlmObjective(model=model, vocab_size=21, max_predictions=3), **options
    )


def make_batch(rows, seed=0, empty=()):
    """Sentences of 1 to 7 pieces and copies of other lengths; rows that are `empty` hold none."""
    r = np.random.RandomState(seed)
    batch = {}
    for prefix in ("", COPY):
        filled = np.arange(LENGTH) < r.randint(3, LENGTH + 1, (rows, 1))
        filled[list(empty)] = False
        side = {key: np.zeros(x.shape, x.dtype) for key, x in piece_shapes(rows, LENGTH).items()}
        side["inputs"][:] = r.randint(5, 21, filled.shape) * filled
        side["segment_ids"][:] = filled
        side["positions"][:] = np.arange(LENGTH) * filled
        side["language_ids"][:] = r.randint(0, 3, filled.shape) * filled
        batch |= {prefix + key: value for key, value in side.items()}
    return batch


def random_variables(objective):
    tree = nn.unbox(jax.jit(objective.init)(jax.random.key(0), make_batch(2)))
    r = np.random.RandomState(0)
    return jax.tree.map(lambda x: x + np.float32(0.4 * r.standard_normal(x.shape)), tree)


@pytest.fixture(scope="module")
def variables():
    return random_variables(make())


def of_side(batch, prefix):
    return {key: batch[prefix + key] for key in piece_shapes(1, 1)}


def oracle(a, b, temperature):
    """Loss, accuracy and cosines of pairs of vectors, pair by pair."""
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in np.asarray((a, b), np.float64))
    loss, right, others = 0.0, 0, []
    for i in range(len(a)):
        for query, keys in ((a[i], b), (b[i], a)):
            scores = [query @ key / temperature for key in keys]
            loss += np.log(sum(np.exp(x) for x in scores)) - scores[i]
            right += scores[i] == max(scores)
        others += [a[i] @ b[j] for j in range(len(a)) if i != j]
    count = len(a)
    return loss / 2 / count, right / 2 / count, (a * b).sum(1).mean(), np.mean(others)


WEIGHTS = np.random.RandomState(3).uniform(0.1, 1, (3, 24)).astype("f4")  # of SIF


def pooled(objective, variables, side, rows, weights, layers):
    """The vectors of some rows of a batch, piece by piece."""
    hidden = objective.base.encode(variables, side).layers
    mean = np.mean([np.asarray(hidden[k]) for k in layers], axis=0)
    vectors = []
    for i in rows:
        places = range(1, side["segment_ids"][i].sum() - 1)
        by = [weights[side["language_ids"][i, k], side["inputs"][i, k]] for k in places]
        vectors.append(sum(w * mean[i, k] for w, k in zip(by, places)) / sum(by))
    return vectors


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["mean", "sif"])
@pytest.mark.parametrize("against", ["layers", "table"])
def test_the_loss_is_that_of_the_sentences_with_pieces(variables, weights, against):
    objective, batch = make(weights=weights, against=against), make_batch(7, empty=(2, 5))
    sums, observed = objective.loss(variables, batch, step=0, train=False)
    assert observed == {} and float(sums["padding"].mean()) == pytest.approx(
        np.mean([batch[prefix + "segment_ids"] == 0 for prefix in ("", COPY)])
    )
    rows, by = (0, 1, 3, 4, 6), np.ones_like(WEIGHTS) if weights is None else weights
    (a, a0), (b, b0) = (
        [pooled(objective, variables, of_side(batch, x), rows, by, k) for k in ((1, 2), (0,))]
        for x in ("", COPY)
    )
    pairs = [(a, b)] if against == "layers" else [(a, b0), (a0, b)]
    expected = np.mean([oracle(*pair, TEMPERATURE) for pair in pairs], axis=0)
    names = ("loss", "accuracy", "pair_cosine", "other_cosine")
    found = [float(sums[name].mean()) for name in names]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert float(sums["loss"].weight) == 5 and expected[1] < 1


def test_the_vectors_of_the_table_are_targets_and_do_not_learn(variables):
    objective, batch = make(against="table"), make_batch(6)
    vectors = jax.jit(lambda v: [objective._vectors(v, side) for side in _sides(batch)])
    first, second = (jnp.asarray(np.asarray(table)) for _, table, _ in vectors(variables))

    def expected(v):
        (a, _, rows), (b, _, _) = vectors(v)
        pairs = (a, second), (first, b)
        return sum(info_nce(*pair, rows, TEMPERATURE)["loss"].mean() for pair in pairs) / 2

    slopes = jax.jit(jax.grad(expected))(variables)
    _, found = gradient(objective, variables, batch)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(slopes)):
        np.testing.assert_allclose(x, y, atol=1e-5)


def test_dropout_is_off(variables):
    objective, batch = make(), make_batch(4)
    one, two = (
        objective.loss(variables, batch, step=0, rngs={"dropout": jax.random.key(n)})[0]["loss"]
        for n in (0, 1)
    )
    assert float(one.value) == float(two.value)


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_the_gradient_equals_finite_differences(temperature):
    with jax.enable_x64(True):
        r = np.random.RandomState(1)
        a, b, direction = r.standard_normal((3, 5, 4))
        value = lambda a: info_nce(a, b, jnp.ones(5), temperature)["loss"].mean()
        slope = float((jax.grad(value)(a) * direction).sum())
        step = 1e-6
        ends = [float(value(a + way * step * direction)) for way in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / 2 / step, rel=1e-5)


def test_order_lengths_and_empty_rows_do_not_count():
    r = np.random.RandomState(2)
    a, b = r.standard_normal((2, 6, 4)).astype("f4")
    loss = lambda a, b, weights: float(info_nce(a, b, weights, 0.1)["loss"].mean())
    whole = loss(a, b, np.ones(6, "f4"))
    order = r.permutation(6)
    assert loss(a[order], b[order], np.ones(6, "f4")) == pytest.approx(whole, rel=1e-5)
    assert loss(a * r.uniform(1, 9, (6, 1)), 3 * b, np.ones(6, "f4")) == pytest.approx(
        whole, rel=1e-5
    )
    more = [np.concatenate([x, r.standard_normal((2, 4)).astype("f4")]) for x in (a, b)]
    assert loss(*more, np.float32([1] * 6 + [0] * 2)) == pytest.approx(whole, rel=1e-5)
    assert loss(*more, np.ones(8, "f4")) > whole  # more pairs repel more


def test_equal_vectors_lose_the_logarithm_of_the_batch():
    ones = np.ones((8, 3), "f4")
    found = info_nce(ones, ones, np.ones(8, "f4"), 0.05)
    assert float(found["loss"].mean()) == pytest.approx(np.log(8), rel=1e-5)


def test_a_batch_of_empty_rows_has_no_loss_and_finite_gradients(variables):
    found, slopes = gradient(make(), variables, make_batch(8, empty=range(8)))
    assert float(found) == 0
    assert all(not np.asarray(x).any() for x in jax.tree.leaves(slopes))


def gradient(objective, variables, batch):
    value = lambda v, batch: objective.loss(v, batch, step=0)[0]["loss"].mean()
    return jax.jit(jax.value_and_grad(value))(variables, batch)


@pytest.fixture(scope="module")
def undivided(variables):
    """A batch, its loss and gradient in one part, and the mean loss of halves that do not see each other."""
    batch = make_batch(8, empty=(3,))
    halves = [{key: x[part::2] for key, x in batch.items()} for part in (0, 1)]
    loss = jax.jit(lambda half: make().loss(variables, half, step=0)[0]["loss"].mean())
    return (
        batch,
        *gradient(make(), variables, batch),
        np.mean([float(loss(half)) for half in halves]),
    )


@pytest.mark.parametrize("parts", [2, 4])
def test_microbatches_leave_loss_and_gradient_as_they_are(variables, undivided, parts):
    batch, whole, slopes, apart = undivided
    loss, found = gradient(make(microbatches=parts), variables, batch)
    assert float(loss) == pytest.approx(float(whole), rel=1e-5)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(slopes)):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert abs(apart - float(whole)) > 0.05


def main():
    """Prints the loss and a sum over the gradient on 1 and 8 devices, in one and in two parts."""
    batch, variables, found = make_batch(8), random_variables(make()), {}
    variables = jax.tree.map(np.asarray, variables)
    for devices, parts in ((1, 1), (8, 1), (8, 2)):
        sizes = dict(data=1) if devices == 1 else dict(data=4, tensor=2)
        mesh = partition.make_mesh(MeshOptions(**sizes), jax.devices()[:devices])
        with partition.use(mesh):
            rows = partition.global_batch(batch, mesh)
            loss, slopes = gradient(make(microbatches=parts), variables, rows)
        norm = sum(float(np.abs(np.asarray(x)).sum()) for x in jax.tree.leaves(slopes))
        found[f"{devices} devices, {parts} parts"] = [float(loss), norm]
    print(json.dumps(found))


def test_all_devices_repel_each_other(run_python):
    """On 8 devices, with rows in 4 shards, the loss is that of the whole batch on one device."""
    done = run_python(__file__, devices=8, JAX_DISABLE_MOST_OPTIMIZATIONS="1")
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 3
    for name, values in found.items():
        np.testing.assert_allclose(values, found["1 devices, 1 parts"], rtol=1e-4, err_msg=name)


def test_a_temperature_must_be_positive():
    with pytest.raises(ValueError, match=r"config.finish.temperature=0: .*0\.05"):
        make(temperature=0)


if __name__ == "__main__":
    sys.exit(main())
