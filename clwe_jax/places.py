"""Files in any place that Apache Beam reads and writes: a disk, a bucket. Needs the extra 'beam'."""

from __future__ import annotations

import contextlib
import io
from typing import IO, Any, Iterator


def systems() -> Any:
    """Beam's way to files in any place. Beam is imported where it is needed, as it is an extra."""
    from apache_beam.io.filesystems import FileSystems

    return FileSystems


@contextlib.contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """A file in any place that Beam writes, which appears when the block ends without an error."""
    content = io.BytesIO()
    yield content
    with systems().create(path) as file:
        file.write(content.getvalue())


def read(path: str) -> bytes:
    """The content of a file."""
    with systems().open(path) as file:
        return file.read()


def exists(path: str) -> bool:
    """Whether there is a file."""
    return systems().exists(path)


def matching(pattern: str) -> list[str]:
    """The paths of the files that a pattern with * matches."""
    return [file.path for file in systems().match([pattern])[0].metadata_list]


def remove(pattern: str) -> None:
    """Removes the files that a pattern with * matches."""
    if paths := matching(pattern):
        systems().delete(paths)
