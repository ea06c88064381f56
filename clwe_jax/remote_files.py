"""Files in any place that Apache Beam reads and writes: a disk, a bucket. Needs the extra 'beam'."""

from __future__ import annotations

import contextlib
import glob
import io
import os
import uuid
from typing import IO, Any, Iterator


def systems() -> Any:
    """Beam's way to files in any place. Beam is imported where it is needed, as it is an extra."""
    from apache_beam.io.filesystems import FileSystems

    return FileSystems


@contextlib.contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """A file in any place that Beam writes, which appears when the block ends without an error."""
    from apache_beam.io.filesystem import CompressionTypes

    content = io.BytesIO()
    unfinished = f"{path}.{uuid.uuid4().hex[:8]}"
    yield content
    with systems().create(unfinished, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        file.write(content.getvalue())
    systems().rename([unfinished], [path])


def absolute(path: str) -> str:
    """A path of a disk from its root on, as Beam needs it; one of another place as it is."""
    return path if "://" in path else os.path.abspath(path)


def read(path: str) -> bytes:
    """The content of a file.

    Raises:
      OSError: it cannot be read.
    """
    with systems().open(path) as file:
        return file.read()


def first_line(path: str) -> bytes:
    """The first line of a file, also of a compressed one, without its end."""
    with systems().open(path) as file:
        return file.readline().rstrip(b"\r\n")


def exists(path: str) -> bool:
    """Whether there is a file."""
    return systems().exists(path)


def match_paths(pattern: str) -> list[str]:
    """The paths of the files that an absolute pattern with * matches."""
    return [file.path for file in systems().match([pattern])[0].metadata_list]


def remove(beginning: str) -> None:
    """Removes the files whose absolute paths begin so."""
    if paths := match_paths(glob.escape(beginning) + "*"):
        systems().delete(list(map(glob.escape, paths)))  # it reads patterns
