"""Files that are complete or absent, whenever a program is stopped; and the error of one that is damaged."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from typing import IO, Any, Iterator
import zipfile
import zlib

# What reading a damaged file raises: a wrong format, absent names, values of other types, an early end.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, zlib.error)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A file to write to, which replaces the file at `path` when the block ends without an error.

    Until then the old file stays. Where the block fails, nothing is left behind. A pipe or a device is
    written directly, and stays one.

    Args:
      path: place of the file; its folder must exist.
      mode, options: arguments of `open`; text is UTF-8 with '\\n' line ends unless options say
        otherwise.
    """
    if "b" not in mode:
        options = {"encoding": "utf-8", "newline": "\n", **options}
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, **options) as file:
            yield file
        return
    # Several processes may write the same file; each has a temporary file of its own.
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, mode, **options) as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file, text as UTF-8."""
    with writing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def write_json(
    path: str | os.PathLike[str], value: Any, indent: int | None = 1, sort_keys: bool = False
) -> None:
    """Writes a JSON file; letters of all scripts are not escaped."""
    write(path, json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False))


@contextlib.contextmanager
def naming_damage(path: str | os.PathLike[str], advice: str = "") -> Iterator[None]:
    """Turns what reading a damaged file raises into a ValueError that names it; errors of the system stay.

    Args:
      advice: what to do, a sentence at the end of the message.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except (*_DAMAGE, zipfile.BadZipFile) as error:
        # A damaged archive names places before its beginning: EINVAL.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        # Of a KeyError and its like the text alone says nothing.
        reason = str(error) if isinstance(error, (ValueError, OSError)) else repr(error)
        reason = reason.removeprefix(f"{path} is damaged: ")  # said by a block within this one
        end = f". {advice}" if advice else ""
        raise ValueError(f"{path} is damaged: {reason}{end}") from error


def read_json(path: str | os.PathLike[str], advice: str = "") -> Any:
    """The content of a JSON file; errors as of `naming_damage`."""
    with naming_damage(path, advice), open(path, encoding="utf-8") as file:
        return json.load(file)


@contextlib.contextmanager
def making_folder(path: str | os.PathLike[str]) -> Iterator[str]:
    """A folder to fill that takes its place at `path` when the block ends without an error.

    Where another process was faster, its folder stays. Where the block fails, nothing is left behind.

    Args:
      path: where the folder belongs; the folders above it are made.
    """
    above, name = os.path.split(os.path.abspath(path))
    os.makedirs(above, exist_ok=True)
    temporary = tempfile.mkdtemp(prefix=f"{name}.", suffix=".tmp", dir=above)
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(temporary, 0o777 & ~mask)  # as any new folder
    try:
        yield temporary
        with contextlib.suppress(OSError):  # a folder with files is never replaced
            os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_folder(path: str) -> None:
    """Deletes a folder, which has another name while some of its files are left; an error leaves the rest."""
    unwanted = f"{path.removesuffix('.tmp')}.{os.getpid()}.tmp"
    with contextlib.suppress(OSError):
        os.rename(path, unwanted)
        shutil.rmtree(unwanted)


def user_cache(*names: str) -> str:
    """A path in the project's folder of the user's cache: XDG_CACHE_HOME, else ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "clwe_jax", *names)
