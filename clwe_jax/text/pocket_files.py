"""The files of the embedded world in a run's folder, from the user's cache once they are made."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from typing import Any, Iterator, NamedTuple, Sequence

from absl import logging

from clwe_jax import atomic, options, time_parts, pocket
from clwe_jax.options.text import WorldOptions

TESTED = 1_000  # sentences of a language in the retrieval test
MAX_CACHED = 512 << 20  # bytes of files that the cache keeps
_PARALLEL_SEED = 1  # of parallel text to train on
_SEVERAL = 10_000  # sentences of a language from which on further processes pay
_SLOW = ("text", "shared")  # folders of the files that these processes write
_STALE = 86_400  # seconds after which an unfinished folder of the cache is nobody's
_PROGRAM = (
    "import json, sys; from clwe_jax.text import pocket_files; "
    "[pocket_files.keep(pocket_files.FileJob(*part)) for part in json.loads(sys.argv[1])]"
)


class FileJob(NamedTuple):
    """Files that one function of `pocket` writes.

    Attributes:
      arguments: its arguments after the folder.
      folder: name of the files' folder in the embedded world's.
    """

    function: str
    arguments: Sequence[Any]
    folder: str

    def write(self, folder: str) -> None:
        getattr(pocket, self.function)(folder, *self.arguments)

    @property
    def cache_folder(self) -> str:
        """The part's folder in the cache, named by the function, its arguments and the code."""
        key = json.dumps([self.function, self.arguments, _code()])
        return atomic.user_cache("pocket", hashlib.sha256(key.encode()).hexdigest()[:32])


def file_jobs(config: options.Run, languages: Sequence[str]) -> list[FileJob]:
    """The parts of the embedded world that a run needs."""
    count = config.data.pocket_sentences
    seed = config.seed
    languages = list(languages)
    among = domains(config.data)
    jobs = []
    if config.data.source == "pocket":
        text = (count, seed, among, shared_settings(config.data))
        jobs = [FileJob("write_corpus", ([x], *text), "text") for x in languages]
        if config.data.pocket_shared:
            pairs = itertools.combinations(languages, 2)
            jobs += [FileJob("write_shared", (pair, *text), "shared") for pair in pairs]
    jobs.append(FileJob("write_dictionaries", (languages,), "dictionaries"))
    jobs.append(FileJob("write_retrieval", (languages, TESTED, 0, among), "retrieval"))
    jobs.append(FileJob("write_bli", (languages,), "bli"))
    if "pocket" in (config.parallel, config.training_pairs, config.finish_pairs):
        arguments = (languages, count // 4, seed + _PARALLEL_SEED, among)
        jobs.append(FileJob("write_parallel", arguments, "parallel"))
    return jobs


def domains(data: WorldOptions) -> tuple[str, ...]:
    """The domains of the embedded world's text; () for all."""
    return tuple(name for name in data.pocket_domains.split(",") if name)


def shared_settings(data: WorldOptions) -> pocket.Shared:
    """The settings of the lines that the texts of the embedded world share."""
    return pocket.Shared(data.pocket_shared, data.pocket_shared_order, data.pocket_apart)


@time_parts.part(time_parts.TEXT)
def write(config: options.Run, languages: Sequence[str], folder: str) -> None:
    """Writes the folders of the embedded world's files that a run lacks, each whole or not at all.

    Raises:
      ValueError: a language that the embedded world does not speak, or an unknown domain.
    """
    jobs = file_jobs(config, languages)
    jobs = [part for part in jobs if not os.path.isdir(os.path.join(folder, part.folder))]
    if not jobs:
        return
    new_jobs = [part for part in jobs if not os.path.isdir(part.cache_folder)]
    if new_jobs:
        logging.info("Writing the embedded world to %s", folder)
        if config.data.pocket_sentences >= _SEVERAL:
            _keep_beside([part for part in new_jobs if part.folder in _SLOW])
    for name, parts in itertools.groupby(jobs, lambda part: part.folder):
        with atomic.making_folder(os.path.join(folder, name)) as new_folder:
            for part in parts:
                _take(part, new_folder)
    trim(MAX_CACHED)


def keep(part: FileJob) -> None:
    """Writes a part into the cache.

    Raises:
      OSError: the cache cannot be written.
    """
    with atomic.making_folder(part.cache_folder) as folder:
        part.write(folder)


def trim(max_bytes: int) -> None:
    """Deletes the cached parts that were used least recently until the others hold `max_bytes`."""
    folders = []
    size = 0
    for entry in _entries():
        with contextlib.suppress(OSError):  # another process deletes as well
            bytes_ = sum(file.stat().st_size for file in os.scandir(entry.path))
            last_use = entry.stat().st_mtime
            # Another process fills a folder that still has a temporary name.
            if "." not in entry.name or last_use < time.time() - _STALE:
                folders.append((last_use, bytes_, entry.path))
                size += bytes_
    for _, bytes_, path in sorted(folders):
        if size <= max_bytes:
            break
        atomic.remove_folder(path)
        size -= bytes_


def _entries() -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError):
        yield from os.scandir(atomic.user_cache("pocket"))


def _take(part: FileJob, folder: str) -> None:
    """Copies a part's files from the cache; without a usable cache they are written here."""
    try:
        if not os.path.isdir(part.cache_folder):
            keep(part)
        # `trim` deletes the parts with the oldest times.
        os.utime(part.cache_folder)
        for name in os.listdir(part.cache_folder):
            # A copy and not a link: a run's files may be edited.
            with (
                open(os.path.join(part.cache_folder, name), "rb") as source,
                atomic.writing(os.path.join(folder, name)) as target,
            ):
                shutil.copyfileobj(source, target)
    except OSError:
        part.write(folder)


def _keep_beside(new: Sequence[FileJob]) -> None:
    """Writes parts into the cache, shared out among as many processes as there are cores.

    A part that fails stays absent: `_take` writes it again in this process, where an error is seen.
    """
    cores = os.cpu_count() or 1
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(new[start::cores])],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for start in range(min(cores, len(new)) if cores > 1 else 0)
    ]
    try:
        for process in processes:
            process.wait()
    finally:  # an interrupted run leaves no process behind
        for process in processes:
            process.kill()
            process.wait()


@functools.cache
def _code() -> str:
    """A digest of the embedded world's code and lexicon, which its files depend on."""
    digest = hashlib.sha256()
    top = os.path.dirname(os.path.abspath(pocket.__file__))
    for folder, below, names in os.walk(top):
        below[:] = sorted(name for name in below if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            digest.update(os.path.relpath(path, top).encode())
            with open(path, "rb") as file:
                digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()
