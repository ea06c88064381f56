"""Host memory that is freed and needed again: kept instead of given back."""

from __future__ import annotations

import ctypes

# Of malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
_MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Lets the process keep what it frees; on the CPU, call it before training.

    A step on the CPU takes its temporary memory from malloc and frees it at its end. glibc gives so
    large blocks back to the system, which zeroes every page again in the next step: a fifth of a
    step's time was seen to go into that. The process stays as large as it ever was.

    Returns:
      Whether the C library is one that can (glibc).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    options = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _MOST), (_ARENA_MAX, 1))
    return all([mallopt(option, value) == 1 for option, value in options])
