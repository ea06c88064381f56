"""Freed memory is used again without the system's help."""

import sys

import numpy as np
import pytest

from clwe_jax import allocator
from clwe_jax.encoders import sharded_call

CODE = """
import resource, sys
import numpy as np
from clwe_jax import allocator
if sys.argv[1] == "keep":
    assert allocator.keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def fill():
    np.empty(64 << 20, np.uint8).fill(1)
fill()
before = faults()
for _ in range(4):
    fill()
print(faults() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_large_blocks_are_kept(run_python):
    kept, given_back = (
        int(run_python("-c", CODE, mode).stdout.split()[-1]) for mode in ("keep", "default")
    )
    # 64 MiB four times over, in pages of 4 KiB, or of 2 MiB where the system takes those.
    assert given_back >= 4 * 32
    assert kept < given_back / 10


ARENAS = """
import ctypes, threading
import clwe_jax, numpy, jax
block = threading.Barrier(4)
def allocate():
    kept = [bytes(1000) for _ in range(1000)]
    block.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
jax.numpy.ones(9).block_until_ready()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_threads_share_one_arena(run_python):
    assert run_python("-c", ARENAS).stderr.count("Arena ") == 1


def test_encoding_keeps_the_memory_between_batches(monkeypatch):
    kept = []
    monkeypatch.setattr(allocator, "keep_freed_memory", lambda: kept.append(True))
    call = sharded_call.ShardedCall(lambda variables, batch: variables + batch)
    assert [int(call(np.int32(1), np.int32(x))) for x in (1, 2)] == [2, 3]
    assert kept == [True]  # when the program is made
