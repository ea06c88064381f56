"""One program on 1, 4 and 8 simulated devices: same results, real shards, restore across meshes.

The tests start this file as a program in a process of its own with 8 devices.
"""

import functools
import json
import pathlib
import runpy
import tempfile

import jax
import numpy as np
import pytest

from clwe_jax.options.training import GroupOptions, MeshOptions
from clwe_jax.training import checkpoint, compiled_steps, optim, partition, train_state

HERE = pathlib.Path(__file__)
STEPS = 5
MESHES = {
    "one": MeshOptions(data=1),
    "data": MeshOptions(data=8),
    "four": MeshOptions(data=2, fsdp=2),
    "all": MeshOptions(data=2, fsdp=2, tensor=2),
}
OPTIMIZER = optim.Optimizer(name="lamb", learning_rate=0.02, warmup_steps=2)
MUON = optim.Optimizer(
    name="muon",
    learning_rate=0.002,
    warmup_steps=2,
    groups={"matrices": GroupOptions(pattern="backbone/layer_.*_kernel", learning_rate=0.02)},
)
TOY = runpy.run_path(str(HERE.parent / "training" / "toy_run.py"))


@functools.cache
def compiled(name, microbatches, expected, muon):
    """A mesh of the first devices, the plan of the toy run's state on it, and its compiled step."""
    sizes = MESHES[name]
    mesh = partition.make_mesh(sizes, jax.devices()[: sizes.data * sizes.fsdp * sizes.tensor])
    objective = TOY["objective"](TOY["labels"]() if expected else None)
    batch = next(TOY["Source"](entries=expected))
    optimizer = MUON if muon else OPTIMIZER
    tx = optimizer.build(STEPS)
    target = train_state.plan(objective, tx, batch, mesh)
    step = compiled_steps.trace_step(objective, optimizer, STEPS, microbatches, mesh, target, batch)
    return objective, tx, mesh, target, step.lower().compile()


class Run:
    """The toy run on a mesh of the first devices, step by step."""

    def __init__(self, name, microbatches=1, expected=False, muon=False):
        given = compiled(name, microbatches, expected, muon)
        objective, tx, self.mesh, self.target, self.step = given
        self.source = TOY["Source"](entries=expected)
        batch = next(self.source)
        self.state = train_state.start(objective, tx, batch, self.mesh, 0)
        self.losses = []

    def go(self, start, stop):
        self.source.set_state(str(start))
        for _ in range(start, stop):
            batch = partition.global_batch(next(self.source), self.mesh)
            self.state, metrics = self.step(self.state, batch)
            self.losses.append(float(metrics["loss"].mean()))
        return self

    def arrays(self):
        return TOY["arrays"](self.state)


def differ(a, b):
    """The largest difference of two runs' arrays, relative to each array's largest value."""
    return max(
        float(np.abs(a[path] - b[path]).max() / (np.abs(b[path]).max() + 1e-6))
        for path in b
        if b[path].dtype == np.float32
    )


def shards(run, path):
    """How many distinct pieces an array of the state is in, and the shape of one."""
    leaves = jax.tree_util.tree_flatten_with_path(run.state)[0]
    (leaf,) = [leaf for where, leaf in leaves if jax.tree_util.keystr(where).endswith(path)]
    pieces = {str(shard.index) for shard in leaf.addressable_shards}
    return [len(pieces), list(leaf.addressable_shards[0].data.shape)]


def main():
    """Everything at once, since compiling is what takes the time; prints figures as JSON."""
    found = {}
    one = Run("one")
    start = one.arrays()
    one.go(0, STEPS)
    for name in ("data", "all"):
        run = Run(name)
        found[f"{name} start"] = differ(run.arrays(), start)
        run.go(0, STEPS)
        found[name] = [differ(run.arrays(), one.arrays()), run.losses]
        if name == "all":
            for path in (
                ".params['backbone']['token_embedding']",
                ".params['backbone']['layer_0']['attention']['qkv_kernel']",
                ".params['backbone']['layer_0']['mlp']['in_kernel']",
                ".params['backbone']['layer_0']['mlp_norm']['scale']",
                ".mu['backbone']['token_embedding']",
                ".nu['backbone']['layer_0']['mlp']['out_kernel']",
            ):
                found[path] = shards(run, path)
            found["bytes"] = [
                sum(shard.data.nbytes for shard in leaf.addressable_shards if shard.device.id == 0)
                / leaf.nbytes
                for leaf in [run.state.params["backbone"]["token_embedding"]]
            ]
    found["microbatches"] = differ(
        Run("four", 2).go(0, 1).arrays(), Run("one", 2).go(0, 1).arrays()
    )
    found["one"] = [0.0, one.losses]
    alone, cut = (Run(name, expected=True).go(0, 2) for name in ("one", "all"))
    found["expected"] = [differ(cut.arrays(), alone.arrays()), alone.losses, cut.losses]
    alone, cut = (Run(name, muon=True).go(0, STEPS) for name in ("one", "all"))
    found["muon"] = [differ(cut.arrays(), alone.arrays()), alone.losses, cut.losses]
    found["muon momentum"] = shards(cut, ".mu['backbone']['layer_0']['mlp']['in_kernel']")

    # 8 -> 4 -> 1 devices, each going on from the checkpoint of the one before.
    with tempfile.TemporaryDirectory() as folder:
        for name, start, stop in (("all", 0, 2), ("four", 2, 4), ("one", 4, STEPS)):
            run = Run(name)
            checkpointer = checkpoint.Checkpointer(folder)
            restored = checkpointer.restore(lambda step: run.target, {})
            if restored is not None:
                run.state = restored.state
                for leaf, like in zip(jax.tree.leaves(run.state), jax.tree.leaves(run.target)):
                    assert leaf.sharding.is_equivalent_to(like.sharding, leaf.ndim)
            assert int(run.state.step) == start
            run.go(start, stop)
            checkpointer.save(run.state, b"", {})
            checkpointer.close()
        found["restored"] = differ(run.arrays(), one.arrays())
    print(json.dumps(found))


if __name__ == "__main__":
    main()


@pytest.fixture(scope="module")
def found(run_python):
    """The output of `main`."""
    return json.loads(run_python(HERE, devices=8, timeout=600).stdout.splitlines()[-1])


@pytest.mark.parametrize("mesh", ["data", "all"])
def test_initial_parameters_do_not_depend_on_the_mesh(found, mesh):
    assert found[f"{mesh} start"] < 1e-6


@pytest.mark.parametrize("mesh", ["data", "all"])
def test_training_does_not_depend_on_the_mesh(found, mesh):
    """With dropout: its masks are the same on every mesh."""
    difference, losses = found[mesh]
    assert difference < 2e-3
    np.testing.assert_allclose(losses, found["one"][1], rtol=1e-4)
    assert len(set(losses)) == STEPS


def test_labels_in_expectation_do_not_depend_on_the_mesh(found):
    difference, alone, cut = found["expected"]
    assert difference < 2e-3
    np.testing.assert_allclose(alone, cut, rtol=1e-4)
    assert alone[0] != found["one"][1][0]


def test_muon_does_not_depend_on_the_mesh(found):
    difference, alone, cut = found["muon"]
    assert difference < 2e-3
    np.testing.assert_allclose(alone, cut, rtol=1e-4)
    assert alone[-1] != found["one"][1][-1]
    assert found["muon momentum"] == [4, [8, 16]]


def test_microbatches_do_not_depend_on_the_mesh(found):
    assert found["microbatches"] < 2e-3


@pytest.mark.parametrize(
    "path, pieces, shape",
    [
        (".params['backbone']['token_embedding']", 4, [32, 8]),
        (".params['backbone']['layer_0']['attention']['qkv_kernel']", 4, [8, 3, 1, 8]),
        (".params['backbone']['layer_0']['mlp']['in_kernel']", 4, [8, 16]),
        (".params['backbone']['layer_0']['mlp_norm']['scale']", 1, [16]),
        (".mu['backbone']['token_embedding']", 4, [32, 8]),
        (".nu['backbone']['layer_0']['mlp']['out_kernel']", 4, [16, 8]),
    ],
)
def test_fsdp_and_tensor_axes_cut_arrays(found, path, pieces, shape):
    """Parameters and optimizer state alike: each device holds its piece and no more."""
    assert found[path] == [pieces, shape]


def test_a_device_holds_a_quarter_of_the_table(found):
    assert found["bytes"] == [0.25]


def test_restores_on_fewer_devices(found):
    assert found["restored"] < 2e-3
