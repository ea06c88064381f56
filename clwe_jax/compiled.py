"""Compiled programs that are kept between runs, in the user's cache.

XLA compiles a few hundred small programs in a run: half of the evaluation's time. JAX keeps them under a key of
the program, its own version and the compiler's flags, and a kept program is the same machine code.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import platform
import stat
import tempfile

from clwe_jax import atomic

MOST = 1 << 30  # bytes that are kept
MOST_FILES = 20_000  # to list more takes longer than to compile some
_FOLDER = "JAX_COMPILATION_CACHE_DIR"
# JAX keeps by itself what takes a second to compile.
_ALL_PROGRAMS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def keep(*names: str) -> bool:
    """Keeps the programs of this process and its children; call it before the first import of jax.

    JAX_COMPILATION_CACHE_DIR names another folder, JAX_ENABLE_COMPILATION_CACHE=false keeps nothing.

    Args:
      names: of the folder in the project's folder of the user's cache; `compiled` where none is given.

    Returns:
      Whether there is a folder; not where the user's cache cannot be written.
    """
    for name, value in _ALL_PROGRAMS.items():
        os.environ.setdefault(name, value)
    if not os.environ.get(_FOLDER):
        above = pathlib.Path(atomic.user_cache(*(names or ("compiled",))))
        if not above.is_absolute():  # there is no home directory
            return False
        try:
            folder = _make_folder(above)
            trim(above, MOST)
        except OSError:
            return False
        os.environ[_FOLDER] = str(folder)
    return True


def _make_folder(above: pathlib.Path) -> pathlib.Path:
    """The writable folder in `above` of programs for this kind of processor.

    Raises:
      OSError: the folder cannot be made or written.
    """
    # JAX's key does not tell processors apart, and hosts may share a home.
    folder = above / hashlib.sha256(_processor().encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    return folder


def trim(above: pathlib.Path, most: int, most_files: int = MOST_FILES) -> None:
    """Deletes the files that were used least recently until the others are few and small enough.

    Another run may read or trim the folder at the same time: JAX compiles a program again whose file
    is gone, and a file that is gone needs no deletion.

    Args:
      above: the folder.
      most: bytes that stay.
      most_files: files that stay.
    """
    # JAX's own limit (jax_compilation_cache_max_size) needs a further package, and reads the whole
    # folder for every program that it adds.
    files = []
    for path in above.rglob("*"):
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            files.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    size = sum(each[1] for each in files)
    count = len(files)
    for _, bytes_, path in sorted(files):
        if size <= most and count <= most_files:
            break
        path.unlink(missing_ok=True)
        size = size - bytes_
        count = count - 1


def _processor() -> str:
    """What tells kinds of processors apart: the instructions that it knows, else the host's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            flags = [line for line in file if line.startswith(("flags", "Features"))]
    except OSError:
        flags = []
    return f"{platform.machine()} {flags[0] if flags else platform.node()}"
