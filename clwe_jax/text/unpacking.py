"""Opens files of text, plain or compressed, and says what other files are.

How a file is read follows from its first bytes, not from its name: plain, gzip, bzip2, xz, Zstandard, or a zip
archive of one file. A file of another kind is refused with the command that makes text of it.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import lzma
import os
import shutil
import sys
import zipfile
import zlib
from typing import BinaryIO, Iterable, Iterator, Mapping, cast

from absl import logging

from clwe_jax import atomic

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
ENDING = r"(?:\.gz|\.bz2|\.xz|\.zst|\.zip)?"  # the same, in patterns of names
_BLOCK = 1 << 20  # bytes read at once
HEAD = 512  # first bytes of a file, which show its kind: tar's mark is at 257
_GZIP = b"\x1f\x8b"
_BZIP2 = b"BZh"
_XZ = b"\xfd7zXZ\0"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
# First bytes -> what a file is, and what makes text of it.
_OTHER_KINDS = (
    (b"PK\x05\x06", "an empty zip archive: fetch it again"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it with `7z x {path}`"),
    (b"Rar!", "a RAR archive: unpack it with `unrar x {path}`"),
    (b"\x1f\x9d", "compressed by `compress`: unpack it with `uncompress {path}`"),
    (b"\x04\x22\x4d\x18", "LZ4: unpack it with `lz4 -d {path}`"),
    (b"%PDF", "a PDF: expected plain text, such as `pdftotext {path}` writes"),
    (b"\xd0\xcf\x11\xe0", "a document of Word or Excel: save it as plain text in UTF-8"),
    (b"SQLite format 3", "a database of SQLite: write its text to a file, a sentence a line"),
    (b"PAR1", "a Parquet table: write its text to a file, a sentence a line"),
    (b"\x89HDF", "an HDF5 file: write its text to a file, a sentence a line"),
    (b"\x93NUMPY", "an array of NumPy: expected text"),
    (b"version https://git-lfs", "a pointer of Git LFS: fetch the file itself with `git lfs pull`"),
)
_ENCRYPTED = 1  # flag of a file in a zip archive
_WEB_PAGE = (b"<!doctype html", b"<html")
# Zip archives of Word, Excel, LibreOffice and EPUB have one of them.
_OFFICE = {"[Content_Types].xml", "mimetype"}
# A zip archive made by macOS has them beside the files.
_NO_CONTENT = ("__MACOSX/", ".DS_Store")


def strip_compression(name: str) -> str:
    """A file's name without the ending of a compressed file: 'a.txt.xz' -> 'a.txt'."""
    for ending in COMPRESSED:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def find_packed(path: str) -> str:
    """The file of a name, plain or compressed; '' for none."""
    names = (f"{path}{ending}" for ending in ("", *COMPRESSED))
    return next(filter(os.path.isfile, names), "")


def list_folder(folder: str) -> list[str]:
    """The names of a folder, sorted, without hidden ones, such as the ._NAME that macOS writes beside NAME."""
    return sorted(name for name in os.listdir(folder) if name[0] != ".")


def is_program(path: str) -> bool:
    """Whether a file is a script, which names its interpreter first."""
    return is_readable(path) and _read_head(path).startswith(b"#!")


def is_readable(path: str) -> bool:
    """Whether a path leads to a file that may be read: to no pipe, and by no dangling link."""
    return os.path.isfile(path) and os.access(path, os.R_OK)


@contextlib.contextmanager
def open_binary(path: str) -> Iterator[BinaryIO]:
    """Opens a file of text and yields its unpacked bytes.

    Raises:
      OSError: the file cannot be read.
      ValueError: the file is damaged, which may show within the `with` statement, or of a kind that
        is no text.
    """
    with open_with_place(path) as (file, _):
        yield file


@contextlib.contextmanager
def unpack(path: str) -> Iterator[BinaryIO]:
    """Opens a file and yields its unpacked bytes, of text or not; errors as of `open_binary`."""
    with _unpack(path) as (file, _):
        yield file


@contextlib.contextmanager
def open_with_place(path: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """`open_binary` that also yields the file itself, whose place says how much of it was read.

    Raises:
      ValueError: a file of a kind that is not read; the message has the command that makes text of it.
    """
    with _unpack(path) as (file, raw):
        head = file.read(HEAD)
        if kind := describe_kind(head, path):
            raise ValueError(f"{path} is {kind}")
        file.seek(0)
        yield file, raw


@contextlib.contextmanager
def _unpack(path: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    head = _read_head(path)
    with open(path, "rb") as raw, _damage_named(path), contextlib.ExitStack() as stack:
        yield _decompress(raw, head, path, stack), raw


def _read_head(path: str) -> bytes:
    with open(path, "rb") as raw:
        return raw.read(len(_XZ))


@contextlib.contextmanager
def _damage_named(path: str) -> Iterator[None]:
    """Gives the errors of all ways of compression one type, and the file's name."""
    try:
        yield
    except (
        EOFError,
        gzip.BadGzipFile,
        zlib.error,
        lzma.LZMAError,
        zstd.ZstdError,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(f"{path} is damaged ({error}): fetch it again") from error


def is_packed(path: str) -> bool:
    """Whether a file is compressed, whatever its name."""
    return _read_head(path).startswith((_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP))


def _decompress(raw: BinaryIO, head: bytes, path: str, stack: contextlib.ExitStack) -> BinaryIO:
    openers = {_GZIP: gzip.open, _BZIP2: bz2.open, _XZ: lzma.open, _ZSTD: zstd.open}
    for mark, opener in openers.items():
        if head.startswith(mark):
            return cast(BinaryIO, stack.enter_context(opener(raw)))
    if head.startswith(_ZIP):
        archive = stack.enter_context(zipfile.ZipFile(raw))
        return cast(BinaryIO, stack.enter_context(archive.open(_only_member(archive, path))))
    return raw


def list_members(path: str) -> list[str]:
    """The files in a zip archive; [] for a file that is none."""
    if not _read_head(path).startswith(_ZIP):
        return []
    with _damage_named(path), zipfile.ZipFile(path) as archive:
        return _members(archive)


def _members(archive: zipfile.ZipFile) -> list[str]:
    names = (item.filename for item in archive.infolist() if not item.is_dir())
    return [name for name in names if not name.startswith(_NO_CONTENT)]


def _only_member(archive: zipfile.ZipFile, path: str) -> str:
    names = _members(archive)
    if any(name.endswith("/data.pkl") for name in names):
        raise ValueError(
            f"{path} is a file of PyTorch, which is not read: write its content as text"
        )
    if not _OFFICE.isdisjoint(names):
        raise ValueError(
            f"{path} is a document of an office program or an e-book: save it as plain text in UTF-8"
        )
    if len(names) != 1:
        shown_names = ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
        raise ValueError(
            f"{path} is a zip archive of {len(names)} files ({shown_names}): unpack it with "
            f"`unzip {path}` and name the file that you mean"
        )
    if archive.getinfo(names[0]).flag_bits & _ENCRYPTED:
        raise ValueError(f"{path} is a zip archive with a password: unpack it with `unzip {path}`")
    return names[0]


def advise(path: str, advice: Mapping[str, str], default: str) -> str:
    """What to do with a file that is not read: unpack it, what its ending asks for, or the default.

    Args:
      advice: ending of a name without that of a compressed file -> what to do.
    """
    with unpack(path) as file:
        kind = describe_kind(file.read(HEAD), path)
    name = strip_compression(path).lower()
    ending = next(filter(name.endswith, advice), "")
    return f"it is {kind}" if kind else advice.get(ending, default)


def describe_unread(paths: Iterable[str], advice: Mapping[str, str], default: str) -> str:
    """'It has NAME, which is not read: ...' of one of some files, the best known; '' without any.

    Args:
      advice, default: as of `advise`.
    """
    advice_of = {os.path.basename(path): advise(path, advice, default) for path in sorted(paths)}
    # A README is no text of theirs.
    for name in sorted(advice_of, key=lambda x: (advice_of[x] == default, "." not in x))[:1]:
        return f"It has {name}, which is not read: {advice_of[name]}. "
    return ""


def describe_kind(head: bytes, path: str) -> str:
    """What a file is whose unpacked bytes begin so, and what makes text of it; '' for text."""
    for mark, kind in _OTHER_KINDS:
        if head.startswith(mark):
            return kind.format(path=path)
    if head.startswith(_ZIP):
        return "a zip archive within a compressed file: unpack both"
    if head[257:262] == b"ustar":
        return f"a tar archive: unpack it with `tar -xf {path}` and name the file that you mean"
    if head.startswith(b"\x80") and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle of Python, which is not read: write its content as text"
    if head.lstrip().lower().startswith(_WEB_PAGE):
        return "a web page, such as a server sends in place of a missing file: fetch it again"
    if head and not head.strip(b"\0"):
        return "full of null bytes, as a broken transfer leaves them: fetch it again"
    return ""


def unpacked_copy(path: str) -> str:
    """A path of the same text for programs that read plain and gzip files by their names.

    The copy of another file is kept in the user's cache; a changed file gets another copy, and none is deleted.
    """
    is_gzip = _read_head(path).startswith(_GZIP)
    if is_gzip == path.endswith(".gz") and is_gzip == is_packed(path):
        return path
    status = os.stat(path)
    key = f"{os.path.abspath(path)} {status.st_size} {status.st_mtime_ns}"
    digest = hashlib.sha256(key.encode("utf-8", errors="surrogateescape")).hexdigest()[:16]
    name = os.path.basename(strip_compression(path))
    copy = atomic.user_cache("unpacked", f"{digest}-{name}")
    if not os.path.exists(copy):
        logging.info("%s is unpacked to %s", path, copy)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open_binary(path) as file, atomic.writing(copy) as target:
            shutil.copyfileobj(file, target, _BLOCK)
    return copy
