"""Lines of text files, plain or `.gz`, with errors that name the file and the line."""

from __future__ import annotations

import gzip
import os
import zlib
from typing import NoReturn

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
SHOWN = 80  # letters of a line that an error repeats


class Provided(str):
    """The name of text that is no file of its own; readers take it where they take a path.

    Attributes:
      origin: a file that changes where the text does.
    """

    text: str
    origin: str

    def __new__(cls, name: str, text: str, origin: str) -> Provided:
        cell = super().__new__(cls, name)
        cell.text, cell.origin = text, origin
        return cell


def read_text(path: str) -> str:
    """The text of a file in UTF-8, with '\\n' line ends and without a byte order mark.

    Args:
      path: the file, or the name of text that is at hand.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: the file is in another encoding, or a .gz file is damaged.
    """
    if isinstance(path, Provided):
        return path.text
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {path!r}: expected a file of labelled text")
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            data = file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}): fetch it again") from error
    refuse_utf16(path, data)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        fault(
            path,
            number,
            f"not UTF-8 (byte {data[error.start]:#04x}). CoNLL's own files are ISO-8859-1: convert "
            "the file with `iconv -f ISO-8859-1 -t UTF-8`",
        )


def read_lines(path: str) -> list[tuple[int, str]]:
    """(number from 1, line without its end) of every line of a file; errors as of `read_text`."""
    # Not splitlines(): a word may hold U+0085 or U+2028.
    return list(enumerate(read_text(path).removesuffix("\n").split("\n"), 1))


def refuse_utf16(path: str, data: bytes) -> None:
    """Raises ValueError where the beginning of a file has the mark of UTF-16."""
    if data.startswith(_UTF16):
        fault(path, 1, "not UTF-8 but UTF-16: convert the file with `iconv -f UTF-16 -t UTF-8`")


def fault(path: str, number: int, text: str) -> NoReturn:
    """Raises ValueError 'PATH:NUMBER: TEXT'."""
    raise ValueError(f"{path}:{number}: {text}")


def shown(line: str) -> str:
    """A line as an error repeats it."""
    return repr(line if len(line) <= SHOWN else f"{line[:SHOWN]}...")
