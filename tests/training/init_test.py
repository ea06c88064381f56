"""Parameters from other runs and arrays: exactly what was named, or an error that names it."""

import json
import os
import pathlib
import shutil
import sys

import jax
import numpy as np
import pytest

from clwe_jax.options.training import InitOptions, MeshOptions
from clwe_jax.training import init, partition, paths
from clwe_jax.training.checkpoint import restore_variables

HERE = pathlib.Path(__file__)


@pytest.fixture(scope="module")
def trained(toy, tmp_path_factory):
    """The folder of a run of three steps, and its parameters by path."""
    folder = tmp_path_factory.mktemp("trained")
    result = toy.fit(folder, steps=3)
    return folder, arrays(result.state.params)


@pytest.fixture(scope="module")
def fresh(toy, tmp_path_factory):
    """The initialised parameters, by path, of a run that takes no step."""
    return arrays(toy.fit(tmp_path_factory.mktemp("fresh"), steps=0).state.params)


def arrays(params):
    return {path: np.asarray(leaf) for path, leaf in paths.flat(params).items()}


def begin(toy, folder, initial, **options):
    """The first state of a run."""
    return toy.fit(folder, steps=0, initial=initial, **options)


def test_all_parameters_of_a_run(toy, tmp_path, trained):
    folder, theirs = trained
    result = begin(toy, tmp_path, init.Initial(f"run:{folder}"))
    for path, value in arrays(result.state.params).items():
        np.testing.assert_array_equal(value, theirs[path], err_msg=path)
    count = sum(value.size for value in theirs.values())
    assert result.initial == {
        "source": f"run:{folder}",
        "step": 3,
        "parts": "",
        "arrays": len(theirs),
        "parameters": count,
    }
    assert int(result.state.step) == 0
    assert restore_variables(str(tmp_path))[1]["initial"] == result.initial


def test_parts_of_a_run_and_initialisers_for_the_rest(toy, tmp_path, trained, fresh):
    """The other run's MLP is of another shape: only the parts that are named have to fit."""
    folder, theirs = trained
    initial = init.Initial(f"run:{folder}", "backbone/token_embedding, head/.*")
    result = begin(toy, tmp_path, initial, model=dict(mlp_dim=8))
    taken = 0
    for path, value in arrays(result.state.params).items():
        named = path == "backbone/token_embedding" or path.startswith("head/")
        taken += named
        if "/mlp/" not in path:
            np.testing.assert_array_equal(value, (theirs if named else fresh)[path], err_msg=path)
    assert result.initial["arrays"] == taken > 3


def test_arrays_of_a_file(toy, tmp_path, fresh):
    name = "backbone/token_embedding"
    table = np.random.RandomState(0).standard_normal(fresh[name].shape).astype(np.float16)
    np.savez(tmp_path / "table.npz", **{name: table, "other/array": np.zeros(3)})
    result = begin(toy, tmp_path / "run", init.Initial(f"npz:{tmp_path}/table.npz", name))
    found = arrays(result.state.params)
    np.testing.assert_array_equal(found[name], table.astype(np.float32))
    for path in set(found) - {name}:
        np.testing.assert_array_equal(found[path], fresh[path], err_msg=path)


def params():
    return {"model": {"table": jax.numpy.zeros((4, 3)), "bias": jax.numpy.ones(3)}}


def test_any_mapping():
    given = {"model/table": np.full((4, 3), 2.0), "model/bias": [1.0, 2.0, 3.0]}
    found, record = init.Initial(given, origin="config.encoder=run:a").apply_to(params(), {})
    assert record["source"] == "config.encoder=run:a"
    np.testing.assert_array_equal(found["model"]["table"], given["model/table"])
    np.testing.assert_array_equal(found["model"]["bias"], [1, 2, 3])
    assert found["model"]["table"].dtype == np.float32


@pytest.mark.parametrize(
    "given, parts, message",
    [
        (
            {"model/table": np.zeros((4, 2))},
            "model/table",
            r"model/table: \[4, 2\] in the source, \[4, 3\] in the model",
        ),
        (
            {"model/table": np.zeros((4, 3))},
            "",
            r"model/bias: absent in the source. Near: model/table",
        ),
        (
            {"model/tabel": np.zeros((4, 3))},
            "model/ta.*",
            "model/tabel: absent in the model. Near: model/t",
        ),
        ({"model/table": np.zeros((4, 3))}, "tabel", "config.init.parts='tabel' matches no param"),
    ],
)
def test_what_does_not_fit_is_named(given, parts, message):
    with pytest.raises(ValueError, match=message):
        init.Initial(given, parts).apply_to(params(), {})


def test_a_run_of_another_shape_is_refused(toy, tmp_path, trained):
    folder, _ = trained
    message = r"backbone/layer_0/mlp/in_kernel: \[16, 32\] in the source, \[16, 8\] in the model"
    with pytest.raises(ValueError, match=message):
        begin(toy, tmp_path, init.Initial(f"run:{folder}"), model=dict(mlp_dim=8))


@pytest.mark.parametrize("name", ["run:{}/absent", "npz:{}/absent.npz"])
def test_an_absent_source_is_named(toy, tmp_path, name):
    name = name.format(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        begin(toy, tmp_path / "run", init.Initial(name))


@pytest.mark.parametrize("change", ["deleted", pytest.param("trained on", marks=pytest.mark.slow)])
def test_a_resumed_run_does_not_look_at_the_source(toy, tmp_path, trained, change):
    source = tmp_path / "source"
    shutil.copytree(trained[0], source)
    initial = init.Initial(f"run:{source}")
    whole = toy.fit(tmp_path / "whole", steps=6, initial=initial)
    toy.fit(tmp_path / "parts", steps=3, initial=initial)
    if change == "deleted":
        shutil.rmtree(source)
    else:
        toy.fit(source, steps=5)
    # The rate depends on the number of steps: both halves are as long as the whole run.
    again = toy.fit(tmp_path / "whole", steps=6, initial=initial)
    parts = toy.fit(tmp_path / "parts", steps=6, initial=initial)
    assert parts.finished and parts.initial == whole.initial == again.initial
    assert parts.initial["step"] == 3
    for path, value in toy.arrays(whole.state).items():
        np.testing.assert_array_equal(toy.arrays(again.state)[path], value)


@pytest.mark.parametrize(
    "spec, message",
    [
        (dict(parameters="DIR"), "parameters='DIR': expected run:DIR, npz:FILE or hf:DIR"),
        (dict(parameters="run:"), "expected run:DIR, npz:FILE or hf:DIR"),
        (dict(parts="model/.*"), "parts='model/.\\*' needs a source"),
    ],
)
def test_wrong_options_are_answered(spec, message):
    with pytest.raises(ValueError, match=message):
        InitOptions(**spec)


def test_the_options_make_a_source():
    assert init.from_config(InitOptions()) is None
    given = InitOptions(parameters="run:a", parts="b")
    assert init.from_config(given) == init.Initial("run:a", "b")


def main():
    """On four devices: each holds its shard of what a run of one device left, and no more."""
    import runpy

    toy = runpy.run_path(str(HERE.parent / "toy_run.py"))
    workdir, source = sys.argv[1:]
    result = toy["fit"](
        workdir, steps=0, initial=init.Initial(f"run:{source}"), mesh=dict(fsdp=2, tensor=2)
    )
    mesh = partition.make_mesh(MeshOptions(fsdp=2, tensor=2))
    table = result.state.params["backbone"]["token_embedding"]
    given = {"table": np.arange(table.size).reshape(table.shape)}
    again = init.Initial(given).apply_to({"table": table}, {})[0]["table"]
    assert again.sharding == table.sharding and table.sharding.mesh == mesh
    np.testing.assert_array_equal(np.asarray(again).ravel(), np.arange(table.size))
    np.savez(os.path.join(workdir, "params.npz"), **arrays(result.state.params))
    print(json.dumps([x.data.shape for x in table.addressable_shards]))


def test_arrays_go_to_their_shards(tmp_path, trained, run_python):
    folder, theirs = trained
    done = run_python(HERE, tmp_path, folder, devices=4)
    assert json.loads(done.stdout.splitlines()[-1]) == [[32, 8]] * 4
    found = np.load(tmp_path / "params.npz")
    for path, value in theirs.items():
        np.testing.assert_array_equal(found[path], value, err_msg=path)


if __name__ == "__main__":
    main()
