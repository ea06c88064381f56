"""The lock on a run's folder: one process at a time works in it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from typing import Iterator

from absl import logging
import jax
from jax.experimental import multihost_utils
import numpy as np

FILE = ".lock"
_TAKEN = (errno.EAGAIN, errno.EACCES)  # network file systems answer with either


class InUse(OSError):
    """Another process works in the folder."""


@contextlib.contextmanager
def hold(workdir: str) -> Iterator[None]:
    """Holds WORKDIR/.lock in the block, for all hosts of this run.

    The system gives the lock back however its process ends, so that a dead process blocks nobody. On
    a network file system (NFS 4, Lustre with `flock`) it holds for all machines; where a file system
    has no locks, a warning says so.

    Raises:
      InUse: another process holds it, on every host of this run.
    """
    path = os.path.join(workdir, FILE)
    handle = None
    message = ""
    if jax.process_index() == 0:
        try:
            handle = _lock(path)
        except InUse as error:
            message = str(error)
    if jax.process_count() > 1 and multihost_utils.process_allgather(np.array(bool(message))).any():
        message = message or f"{workdir} is in use by another run"
    if message:
        raise InUse(message)
    try:
        yield
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                # Removed while it is held: afterwards the file may be the lock of another process.
                os.remove(path)
            os.close(handle)


def _lock(path: str) -> int:
    """Locks the file, and writes there who holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                holder = os.read(handle, 200).decode(errors="replace")
                os.close(handle)
                raise InUse(
                    f"{os.path.dirname(path)} is in use by {holder or 'another process'}: wait for its "
                    "end, or give another folder with --workdir=DIR"
                ) from error
            logging.warning("%s cannot be locked (%s): start one run there at a time", path, error)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):  # not removed by its last holder
                os.truncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
                return handle
        os.close(handle)
