"""The sense state on 1, 2 and 8 simulated devices: the same after every step, and really cut.

The tests start this file as a program in a process of its own with 8 devices.
"""

import json
import pathlib

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.senses import seeding, selection, softmax, translation
from clwe_jax.models.senses import state as senses
from clwe_jax.options.senses import SenseOptions
from clwe_jax.options.training import MeshOptions
from clwe_jax.plan import slices
from clwe_jax.training import partition

V, D, N, STEPS = 512, 16, 32, 9
CONFIG = SenseOptions(
    senses=3,
    projected=4,
    queue=40,
    refresh_every=3,
    warmup_steps=4,
    init="kmeans",
    sample=6,
    prune_least=4,
    prune_every=4,
    prune_after=8,
    prune_share=0.2,
    alpha=0.1,
    sigma=1.0,
)
MESHES = {"one": dict(data=1), "two": dict(data=2), "eight": dict(data=2, fsdp=2, tensor=2)}


def batch_of(step):
    r = np.random.RandomState(step)
    words = r.randint(0, 20, N).astype(np.int32)
    h = (r.randn(N, D) * np.linspace(2, 0.2, D) + 0.3).astype(np.float32)
    return words, h, (r.rand(N) < 0.8).astype(np.float32), (words % 2).astype(np.int32)


def margin_of(cosines, weights):
    """The least lead of a best sense over the second best, of occurrences that count."""
    best = jax.lax.top_k(cosines.reshape(N, -1), 2)[0]
    return jnp.where((weights > 0) & (best[:, 1] > -2), best[:, 0] - best[:, 1], 2.0).min()


def run(name):
    """The state after some steps on a mesh, as arrays; where it lies."""
    sizes = MESHES[name]
    mesh = partition.make_mesh(MeshOptions(**sizes), jax.devices()[: np.prod(list(sizes.values()))])

    def create():
        return senses.create(CONFIG, V, D, jax.random.key(0), 2)

    shardings = partition.shardings_of(jax.eval_shape(lambda: senses.box(create())), mesh)
    rows = jax.sharding.NamedSharding(mesh, partition.BATCH_SPEC)
    r = np.random.RandomState(0)
    table = jax.device_put(np.float32(r.randn(V, CONFIG.slots, D)), shardings.centers)

    def step(state, number, words, h, weights, languages):
        chosen = selection.assign(state, words, h)
        others = jnp.stack([words ^ 1, words ^ 3], 1)
        other = translation.choose(state, CONFIG, others, 1 - languages, h)
        margin = jnp.minimum(
            margin_of(selection.cosines(state, words[:, None], h), weights),
            margin_of(translation.cosines(state, CONFIG, others, 1 - languages, h), weights),
        )
        after, _ = senses.after_step(state, CONFIG, number, words, chosen, h, weights, languages)
        share = 0.5 * other[2]
        labels = softmax.SenseLabels(
            jnp.stack([words, other[0]]),
            jnp.stack([chosen, other[1]]),
            jnp.stack([1 - share, share]),
        )
        losses = softmax.sense_cross_entropy(h, table, None, labels, state.enabled, 64)
        return after, (losses.loss * weights).sum(), margin

    with partition.use(mesh):
        state = jax.jit(create, out_shardings=shardings)()
        take = jax.jit(step, donate_argnums=0, out_shardings=(shardings, None, None))
        losses, margins = [], []
        for number in range(STEPS):
            batch = [jax.device_put(x, rows) for x in batch_of(number)]
            state, loss, margin = take(state, jnp.int32(number), *batch)
            losses.append(float(loss))
            margins.append(float(margin))
        statistics = {k: float(v) for k, v in senses.statistics(state).items()}
    centers = state.centers.addressable_shards
    pieces = len({str(shard.index) for shard in centers}), list(centers[0].data.shape)
    return {
        "state": [np.asarray(x, np.float32) for x in jax.tree.leaves(state)],
        "losses": losses,
        "margin": min(margins),
        "statistics": statistics,
        "pieces": pieces,
        "used": np.array(state.total[:, 1:].sum(0)).tolist(),
        "pruned": int((~np.array(state.enabled[:, 1:])).sum()),
    }


def gathered():
    """Bytes that the compiled update of many words' senses brings together from other devices.

    129 words in each of 128 runs, so that not every cut of them can be dealt out to 8 devices.
    """
    words = 128 * 129
    mesh = partition.make_mesh(MeshOptions(tensor=8), jax.devices())

    def create():
        table = jnp.zeros((2, words, CONFIG.slots, D), jnp.float32)
        return (
            senses.box(senses.create(CONFIG, words, D, jax.random.key(0), 2)),
            nn.LogicallyPartitioned(table, (None, "vocab", None, "embed")),
        )

    boxed = jax.eval_shape(create)
    state, table = jax.tree.map(
        lambda x, sharding: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding),
        partition.unbox(boxed),
        partition.shardings_of(boxed, mesh),
    )

    def step(state, table, number, words, *rest):
        chosen = selection.assign(state, words, rest[0])
        state, found = senses.after_step(state, CONFIG, number, words, chosen, *rest)
        return state, seeding.inherit(table, 1, found)

    with partition.use(mesh):
        compiled = jax.jit(step).lower(state, table, jnp.int32(3), *batch_of(0)).compile()
    found = slices.collectives(compiled.as_text())
    moved = {kind: traffic.bytes for kind, traffic in found.items()}
    return {"moved": moved, "centers": 4 * words * CONFIG.slots * D}


def main():
    """Everything at once; prints figures as JSON."""
    found = {name: run(name) for name in MESHES}
    states = {name: result.pop("state") for name, result in found.items()}
    for name, state in states.items():
        pairs = zip(state, states["one"], strict=True)
        found[name]["difference"] = max(float(np.abs(a - b).max()) for a, b in pairs)
    found["gathered"] = gathered()
    print(json.dumps(found))


if __name__ == "__main__":
    main()


@pytest.fixture(scope="module")
def found(run_python):
    """The output of `main`."""
    done = run_python(pathlib.Path(__file__), devices=8)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("mesh", ["two", "eight"])
def test_a_step_leaves_the_same_on_every_mesh(found, mesh):
    assert found[mesh]["difference"] < 1e-4
    np.testing.assert_allclose(found[mesh]["losses"], found["one"]["losses"], rtol=1e-5)
    assert found[mesh]["statistics"] == pytest.approx(found["one"]["statistics"], rel=1e-5)


def test_rounding_decided_no_sense(found):
    """The comparison of meshes needs senses that are far apart."""
    assert found["one"]["margin"] > 1e-5


def test_the_run_went_through_all_of_a_steps_parts(found):
    assert min(found["one"]["used"]) > 0 and found["one"]["pruned"] > 0


def test_the_centers_are_cut_by_words_and_dimensions(found):
    assert found["one"]["pieces"] == [1, [V, 4, D]]
    assert found["eight"]["pieces"] == [4, [V // 2, 4, D // 2]]


def test_no_table_is_brought_together(found):
    moved, centers = found["gathered"]["moved"], found["gathered"]["centers"]
    assert 0 < sum(moved.values()) < centers / 100, moved
