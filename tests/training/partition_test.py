"""The mesh and the errors for sizes that do not fit; sharding itself: multi_device_test.py."""

import types

import jax
import numpy as np
import pytest

from clwe_jax.options.training import MeshOptions
from clwe_jax.training import partition


def test_mesh_takes_what_is_left():
    mesh = partition.make_mesh(MeshOptions())
    assert dict(mesh.shape) == {"data": len(jax.devices()), "fsdp": 1, "tensor": 1}


@pytest.mark.parametrize(
    "sizes, message",
    [
        (dict(data=3, fsdp=1), r"does not cover \d+ devices"),
        (dict(data=-1, fsdp=-1), "one of them may be -1"),
        (dict(data=0), "sizes are positive"),
    ],
)
def test_meshes_that_cannot_be(sizes, message):
    with pytest.raises(ValueError, match=message):
        partition.make_mesh(MeshOptions(**sizes), jax.devices()[:1])


@pytest.mark.parametrize(
    "batch_size, microbatches, message",
    [(10, 4, "batch_size=8 or 12"), (3, 4, "batch_size=4"), (7, 2, "batch_size=6 or 8")],
)
def test_batch_size_names_the_nearest_that_work(batch_size, microbatches, message):
    mesh = partition.make_mesh(MeshOptions(data=1), jax.devices()[:1])
    partition.check_batch_size(12, 4, mesh)
    with pytest.raises(ValueError, match=message):
        partition.check_batch_size(batch_size, microbatches, mesh)


def test_hosts_divide_the_batch():
    assert partition.host_rows(12, 4) == 3
    with pytest.raises(ValueError, match="multiple of 4 .hosts.. Try --config.train.batch_size=8"):
        partition.host_rows(10, 4)


@pytest.mark.parametrize(
    "owners, shares",
    [
        ([[0], [0], [1], [1]], {0: 0, 1: 1}),
        ([[1], [1], [0], [0]], {0: 0, 1: 1}),
        ([[0, 0], [1, 1]], {0: 0, 1: 1}),
        ([[0, 1]], {0: 0, 1: 0}),
        ([[0, 1], [2, 3]], {0: 0, 1: 0, 2: 1, 3: 1}),
    ],
)
def test_hosts_that_hold_the_same_rows_read_one_share(owners, shares):
    assert partition.shares_of(np.array(owners)) == shares


@pytest.mark.parametrize(
    "owners, shards", [([0, 1, 1, 0], (0, 3)), ([1, 1, 0, 0], (2, 3)), ([[0, 1], [0, 1]], (0, 1))]
)
def test_a_host_has_its_own_shards_of_the_rows(owners, shards):
    """Of a ring of TPUs they are no neighbours; with tensor=2 two hosts hold each shard."""
    owners = np.array(owners).reshape(-1, 1, np.ndim(owners))
    devices = np.vectorize(lambda host: types.SimpleNamespace(process_index=host))(owners)
    mesh = types.SimpleNamespace(devices=devices, shape=dict(zip(partition.AXES, owners.shape)))
    assert partition.row_shards(mesh) == shards


def test_hosts_that_share_a_part_of_their_rows_are_refused():
    with pytest.raises(ValueError, match="config.mesh.tensor"):
        partition.shares_of(np.array([[0, 0], [0, 1], [1, 1]]))
