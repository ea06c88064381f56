"""Checkpoints: what goes in comes out, and what happens when files or disks are not as they were."""

import os
import shutil

from absl import logging
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.options.training import CheckpointOptions, MeshOptions
from clwe_jax.training import checkpoint, optim, orbax_extras, partition, train_state
from clwe_jax.training.checkpoint import Checkpointer, restore_variables


class Model:
    """Parameters, and statistics beside them."""

    def __init__(self, width=6):
        self.width = width

    def init(self, rng, batch):
        kernel = jax.random.normal(rng, (4, self.width))
        params = {"dense": {"kernel": kernel, "bias": jnp.zeros(self.width)}}
        return {"params": params, "senses": {"counts": jnp.arange(5, dtype=jnp.int32)}}


TX = optim.Optimizer(name="lamb").build(10)
META = {"vocabulary": "abc", "config": {"seed": 3}}


def mesh():
    return partition.make_mesh(MeshOptions(), jax.devices()[:1])


def make_state(step, width=6):
    state = train_state.start(Model(width), TX, {"x": jnp.zeros(1)}, mesh(), seed=step)
    moved = jax.tree.map(lambda x: x + jnp.asarray(step, x.dtype), state.opt_state)
    return state.replace(step=jnp.int32(step), opt_state=moved, skipped=jnp.int32(7))


def target(width=6):
    return train_state.plan(Model(width), TX, {"x": jnp.zeros(1)}, mesh())


def save(folder, *steps, **options):
    checkpointer = Checkpointer(str(folder / "checkpoints"), CheckpointOptions(**options))
    for step in steps:
        assert checkpointer.save(make_state(step), b"place %d" % step, META)
    checkpointer.close()


def restore(folder, meta=META, width=6):
    checkpointer = Checkpointer(str(folder / "checkpoints"))
    try:
        return checkpointer.restore(lambda step: target(width), meta)
    finally:
        checkpointer.close()


def assert_is(restored, step):
    jax.tree.map(np.testing.assert_array_equal, restored.state, make_state(step))
    assert restored.data == b"place %d" % step
    assert restored.meta["config"] == {"seed": 3}


def steps(folder):
    return checkpoint.complete_steps(str(folder / "checkpoints"))


def test_everything_comes_back(tmp_path):
    save(tmp_path, 3)
    assert_is(restore(tmp_path), 3)
    items = {path.name for path in (tmp_path / "checkpoints" / "3").iterdir() if path.is_dir()}
    assert items == {"params", "opt_state", "senses", "data", "meta"}


def test_nothing_to_restore(tmp_path):
    assert restore(tmp_path) is None


def test_the_last_ones_stay(tmp_path):
    save(tmp_path, 1, 2, 3, 4, keep=2)
    assert steps(tmp_path) == [3, 4]


@pytest.mark.parametrize("mode, best", [("max", 2), ("min", 1)])
def test_the_best_one_stays(tmp_path, mode, best):
    kept = CheckpointOptions(keep=1, best="acc", best_mode=mode)
    checkpointer = Checkpointer(str(tmp_path / "checkpoints"), kept)
    for step, value in ((1, 0.1), (2, 0.9), (3, 0.5), (4, None), (5, 0.4)):
        metrics = {} if value is None else {"acc": value, "other": 1.0}
        checkpointer.save(make_state(step), b"", META, metrics)
    checkpointer.close()
    assert steps(tmp_path) == [best, 5]


@pytest.mark.parametrize("mode", ["max", "min"])
def test_the_best_by_another_metric_stays_from_now_on(tmp_path, mode):
    for best, found in (("acc", (1, 2)), ("loss", (3, 4, 5))):
        kept = CheckpointOptions(keep=1, best=best, best_mode=mode)
        checkpointer = Checkpointer(str(tmp_path / "checkpoints"), kept)
        for step in found:
            checkpointer.save(make_state(step), b"", META, {best: 0.5})
        checkpointer.close()
        assert checkpointer.failures == 0
    assert steps(tmp_path)[-1] == 5 and len(steps(tmp_path)) <= 2 and 1 not in steps(tmp_path)


def test_saving_twice_is_saving_once(tmp_path):
    save(tmp_path, 3, 3)
    assert_is(restore(tmp_path), 3)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def truncate_arrays(folder):
    for path in folder.rglob("d/*"):
        truncate(path)


@pytest.mark.parametrize("item", ["params", "opt_state", "senses", "data", "meta"])
def test_a_truncated_newest_is_set_aside_loudly(tmp_path, item, caplog):
    save(tmp_path, 1, 2)
    folder = tmp_path / "checkpoints" / "2" / item
    if item in ("data", "meta"):
        truncate(folder / ("host_0_of_1.bin" if item == "data" else "metadata"))
    else:
        truncate_arrays(folder)
    assert_is(restore(tmp_path), 1)
    assert "checkpoints/2 is damaged" in caplog.text
    assert steps(tmp_path) == [1]
    assert (tmp_path / "checkpoints_damaged" / "2.0").is_dir()
    save(tmp_path, 2)
    assert_is(restore(tmp_path), 2)


def test_whichever_file_is_truncated_nothing_wrong_is_restored(tmp_path):
    """Some files are not needed for the arrays; then all is as it was saved."""
    save(tmp_path, 1, 2)
    whole = tmp_path / "checkpoints" / "2"
    fallen_back = set()
    for path in sorted(path for path in whole.rglob("*") if path.is_file()):
        name = path.relative_to(whole)
        if name.parts[0] not in ("params", "data", "meta"):
            continue
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "checkpoints", copy / "checkpoints")
        truncate(copy / "checkpoints" / "2" / name)
        restored = restore(copy)
        step = int(restored.state.step)
        assert_is(restored, step)
        if step == 1:
            fallen_back.add(name.parts[0])
        shutil.rmtree(copy)
    assert fallen_back == {"params", "data", "meta"}


def test_a_missing_item_is_damage_too(tmp_path):
    save(tmp_path, 1, 2)
    os.rename(tmp_path / "checkpoints" / "2" / "opt_state", tmp_path / "elsewhere")
    assert_is(restore(tmp_path), 1)


def test_all_damaged_is_an_error(tmp_path):
    save(tmp_path, 1, 2)
    for step in "12":
        truncate_arrays(tmp_path / "checkpoints" / step / "params")
    with pytest.raises(checkpoint.Damaged, match=r"tried \[1, 2\]"):
        restore(tmp_path)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(width=8), r"dense.kernel: \[4, 6\] in the checkpoint, \[4, 8\] in the model"),
        (dict(meta={"vocabulary": "xyz"}), "another vocabulary .fingerprint abc, this one has xyz"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, options, message):
    save(tmp_path, 1, 2)
    with pytest.raises(ValueError, match=message):
        restore(tmp_path, **options)
    assert steps(tmp_path) == [1, 2]


def test_tables_of_another_dictionary_are_refused_and_nothing_is_moved(toy, tmp_path):
    """The label table follows the dictionary; the old one goes on from the newest checkpoint."""
    old = toy.labels()
    new = old._replace(**{x: getattr(old, x)[:-1] for x in ("pieces", "languages", "weights")})

    def fit(table, steps):
        labelled, source = toy.objective(table), toy.Source(entries=True)
        return toy.fit(tmp_path, objective=labelled, source=source, steps=steps)

    fit(old, 4)
    with pytest.raises(checkpoint.Mismatch, match=r"(?s)/4/labels was .*pieces: .*dictionaries"):
        fit(new, 8)
    assert steps(tmp_path) == [3, 4] and not (tmp_path / "checkpoints_damaged").exists()
    assert fit(old, 8).step == 8


def test_an_optimizer_of_another_kind_is_refused(tmp_path):
    save(tmp_path, 1)
    other = optim.Optimizer(name="adagrad").build(10)
    target = train_state.plan(Model(), other, {"x": jnp.zeros(1)}, mesh())
    checkpointer = Checkpointer(str(tmp_path / "checkpoints"))
    with pytest.raises(checkpoint.Mismatch, match="1/opt_state"):
        checkpointer.restore(lambda step: target, META)
    checkpointer.close()
    assert steps(tmp_path) == [1]


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError(),
        OSError(116, "Stale file handle"),
        ValueError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."),
    ],
)
def test_a_checkpoint_that_cannot_be_read_now_stays(tmp_path, monkeypatch, problem):
    save(tmp_path, 1, 2)

    def read(self, *arguments):
        raise problem

    with monkeypatch.context() as short:
        short.setattr(Checkpointer, "_read", read)
        with pytest.raises(OSError, match="checkpoints/2 could not be read now"):
            restore(tmp_path)
    assert steps(tmp_path) == [1, 2]
    assert_is(restore(tmp_path), 2)


def test_a_full_disk_in_the_background_is_survived(tmp_path, monkeypatch, caplog):
    """Room for some files and not for the last; then room again."""
    save(tmp_path, 1)
    checkpointer = Checkpointer(str(tmp_path / "checkpoints"))

    async def write(self, directory, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(orbax_extras.BytesHandler, "_write", write)
        checkpointer.save(make_state(2), b"place 2", META)
        checkpointer.check(wait=True)
    assert checkpointer.failures == 1
    assert "step 2 " in caplog.text
    assert "No space left" in caplog.text and "checkpoints/1." in caplog.text
    assert steps(tmp_path) == [1]
    checkpointer.save(make_state(3), b"place 3", META)
    checkpointer.close()
    assert checkpointer.failures == 1
    assert_is(restore(tmp_path), 3)


@pytest.mark.parametrize("reason", ["read-only", "full", "gone"])
def test_a_disk_that_cannot_be_written_is_survived(tmp_path, caplog, monkeypatch, reason):
    save(tmp_path, 1)
    folder = tmp_path / "checkpoints"
    checkpointer = Checkpointer(str(folder))

    def refuse(path, *arguments, **options):
        raise OSError(30, "Read-only file system", str(path))

    with monkeypatch.context() as disk:
        if reason == "read-only":
            disk.setattr(os, "mkdir", refuse)
        elif reason == "full":
            usage = shutil.disk_usage(tmp_path)._replace(free=10)
            disk.setattr(shutil, "disk_usage", lambda path: usage)
        else:
            os.rename(folder, tmp_path / "moved")
            folder.write_text("a file in its place")
        assert not checkpointer.save(make_state(2), b"place 2", META)
        checkpointer.check(wait=True)
    if reason == "gone":
        folder.unlink()
        os.rename(tmp_path / "moved", folder)
    assert checkpointer.failures == 1 and "Training goes on" in caplog.text
    assert steps(tmp_path) == [1]
    checkpointer.save(make_state(3), b"place 3", META)
    checkpointer.close()
    assert_is(restore(tmp_path), 3)


@pytest.mark.parametrize("host", [0, 1])
def test_no_host_saves_where_the_first_cannot_write(tmp_path, monkeypatch, caplog, host):
    """Orbax would wait for the first one for ever."""
    checkpointer = Checkpointer(str(tmp_path / "checkpoints"))
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    answers = []

    def all_hosts(good):
        answers.append(good)
        return len(answers) == 1  # what is left of other saves is gone; the probe fails

    with monkeypatch.context() as hosts:
        hosts.setattr(shutil, "disk_usage", lambda path: usage)
        hosts.setattr(jax, "process_index", lambda: host)
        hosts.setattr(checkpoint, "_all_hosts", all_hosts)
        assert not checkpointer.save(make_state(2), b"", META)
    assert answers == [True, host == 1]
    assert ("10 free" if host == 0 else "the first host") in caplog.text
    checkpointer.close()


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "checkpoints").write_text("not a folder")
    with pytest.raises(OSError, match="--workdir=DIR"):
        Checkpointer(str(tmp_path / "checkpoints"))


def test_what_an_interrupted_save_left_is_no_checkpoint(tmp_path):
    save(tmp_path, 1)
    left = tmp_path / "checkpoints" / "2.orbax-checkpoint-tmp-123"
    (left / "params").mkdir(parents=True)
    assert_is(restore(tmp_path), 1)
    assert not left.exists()


def test_another_number_of_hosts_loses_the_place_only(tmp_path):
    save(tmp_path, 1)
    data = tmp_path / "checkpoints" / "1" / "data"
    os.rename(data / "host_0_of_1.bin", data / "host_0_of_2.bin")
    restored = restore(tmp_path)
    assert restored.data is None
    jax.tree.map(np.testing.assert_array_equal, restored.state, make_state(1))


def test_best_mode_is_checked():
    with pytest.raises(ValueError, match="best_mode='maximum': must be one of max, min"):
        CheckpointOptions(best="acc", best_mode="maximum")


def test_parameters_alone(tmp_path):
    save(tmp_path, 1, 2)
    for found, meta in (
        restore_variables(str(tmp_path)),
        restore_variables(str(tmp_path), target().params),
    ):
        jax.tree.map(np.testing.assert_array_equal, found["params"], make_state(2).params)
        assert meta["step"] == 2 and meta["vocabulary"] == "abc"
    found, meta = restore_variables(str(tmp_path), step=1)
    jax.tree.map(np.testing.assert_array_equal, found["params"], make_state(1).params)


def test_variables_of_absent_devices_come_to_the_first(tmp_path):
    """A run on an accelerator is opened on a CPU."""
    save(tmp_path, 1)
    for path in (tmp_path / "checkpoints" / "1").rglob("_sharding"):
        path.write_text(path.read_text().replace('\\"id\\": 0', '\\"id\\": 3'))
    found, _ = restore_variables(str(tmp_path), target().params, collections=("senses", "labels"))
    assert found["senses"]["counts"].devices() == {jax.local_devices()[0]}
    np.testing.assert_array_equal(found["senses"]["counts"], np.arange(5))


def test_parameters_fall_back_and_leave_the_folder_alone(tmp_path, caplog):
    save(tmp_path, 1, 2)
    truncate_arrays(tmp_path / "checkpoints" / "2" / "params")
    _, meta = restore_variables(str(tmp_path))
    assert meta["step"] == 1 and "damaged" in caplog.text
    assert steps(tmp_path) == [1, 2]
    truncate_arrays(tmp_path / "checkpoints" / "1" / "params")
    with pytest.raises(checkpoint.Damaged):
        restore_variables(str(tmp_path))


def test_parameters_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="Train first"):
        restore_variables(str(tmp_path))
    save(tmp_path, 1)
    with pytest.raises(FileNotFoundError, match=r"step 5.*\[1\]"):
        restore_variables(str(tmp_path), step=5)
    with pytest.raises(ValueError, match="dense.kernel"):
        restore_variables(str(tmp_path), target(width=8).params)


def test_the_log_is_not_flooded(tmp_path, caplog):
    logging.set_verbosity(logging.INFO)
    save(tmp_path, 1)
    assert not [record for record in caplog.records if "orbax" in record.pathname]
