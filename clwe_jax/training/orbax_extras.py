"""Additions to orbax: a byte string of each host as a checkpoint item, shapes, errors, a quiet log."""

from __future__ import annotations

import dataclasses
import errno
import logging as python_logging
import pathlib
import re
from typing import Any, Mapping
import zlib

from absl import logging
import jax
import orbax.checkpoint as ocp

# States of XLA and TensorStore that say nothing about the files.
_PASSING = "RESOURCE_EXHAUSTED|UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED|CANCELLED|PERMISSION_DENIED"


class BytesHandler(ocp.handlers.AsyncCheckpointHandler):
    """Saves one byte string for each host, with its checksum."""

    def _path(self, directory: Any) -> Any:
        return directory / f"host_{jax.process_index()}_of_{jax.process_count()}.bin"

    async def _write(self, directory: Any, data: bytes) -> None:
        self._path(directory).write_bytes(zlib.crc32(data).to_bytes(4, "little") + data)

    async def async_save(self, directory: Any, args: BytesSave) -> list[ocp.future.Future]:
        # orbax makes the directory before it runs the coroutine.
        write = self._write(directory, args.item)
        return [ocp.future.CommitFutureAwaitingContractedSignals(write, name="bytes")]

    def save(self, directory: Any, args: BytesSave) -> None:
        raise TypeError("the data item is saved asynchronously only")

    def restore(self, directory: Any, args: BytesRestore) -> bytes | None:
        """This host's bytes; None where another number of hosts wrote the item.

        Raises:
          OSError: the file is damaged.
        """
        path = self._path(directory)
        if not path.exists():
            return None
        data = path.read_bytes()
        if zlib.crc32(data[4:]).to_bytes(4, "little") != data[:4]:
            raise OSError(f"{path}: the file is damaged, its checksum is wrong")
        return data[4:]


@ocp.args.register_with_handler(BytesHandler, for_save=True)
@dataclasses.dataclass
class BytesSave(ocp.args.CheckpointArgs):
    """The bytes of this host to save."""

    item: bytes


@ocp.args.register_with_handler(BytesHandler, for_restore=True)
@dataclasses.dataclass
class BytesRestore(ocp.args.CheckpointArgs):
    """Restores the bytes of this host."""

    item: None = None


def quiet() -> None:
    """Keeps orbax's lines below ERROR out of the log: it logs every barrier and thread."""
    logging.get_absl_logger().addFilter(_is_no_orbax_info)  # adds the same filter once


def _is_no_orbax_info(record: python_logging.LogRecord) -> bool:
    loud = "orbax" in record.pathname or "functional_saver" in record.pathname
    return record.levelno >= python_logging.ERROR or not loud


def flat(tree: Any) -> dict[str, Any]:
    """Path -> leaf, so that the file does not depend on optax's tuples and placeholders."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def unflat(leaves: Mapping[str, Any], like: Any) -> Any:
    """The tree `like` with the leaves of `flat` of such a tree."""
    return jax.tree.unflatten(jax.tree.structure(like), [leaves[key] for key in flat(like)])


def sizes(params: Any) -> dict[str, list[int]]:
    """Parameter path -> shape."""
    return {key: list(leaf.shape) for key, leaf in flat(params).items()}


def saved_arrays(item: str) -> Any:
    """The arrays in the folder of a checkpoint's item, as ShapeDtypeStructs on the first device."""
    place = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place),
        ocp.StandardCheckpointHandler().metadata(pathlib.Path(item)).tree,
    )


def may_pass(problem: Exception | None) -> bool:
    """Whether files may be readable later: memory is short, or the disk does not answer."""
    number = getattr(problem, "errno", None)
    return (
        isinstance(problem, MemoryError | TimeoutError)
        or number not in (None, errno.ENOENT)
        or bool(re.search(_PASSING, str(problem)))
    )
