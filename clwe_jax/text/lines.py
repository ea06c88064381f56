"""The only reader of lines of text: decodes and repairs them, counts, and names file and line."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import BinaryIO, Generator, Iterator, NoReturn

from absl import logging

from clwe_jax.text import encodings
from clwe_jax.text.unpacking import open_binary, open_with_place, strip_compression

BOM = b"\xef\xbb\xbf"
SHOWN = 80  # letters of a line that an error repeats
_UNPACKING = {".gz": "zcat", ".bz2": "bzcat", ".xz": "xzcat", ".zst": "zstdcat", ".zip": "unzip -p"}
_BAD_SHARE = 0.2  # share of lines that are not UTF-8 from which a file is in another encoding
_FEW_LINES = 50  # lines from which a part of a file shows its encoding; fewer are a whole file
_SAMPLED_LINES = 200  # lines by which another encoding is named
_BLOCK = 1 << 20  # bytes read at once
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class Provided(str):
    """The name of text that is no file of its own; readers take it where they take a path.

    Attributes:
      origin: a file that changes where the text does.
    """

    text: str
    origin: str

    def __new__(cls, name: str, text: str, origin: str) -> Provided:
        cell = super().__new__(cls, name)
        cell.text = text
        cell.origin = origin
        return cell


@dataclasses.dataclass
class LineCounts:
    """Counts of the lines that were read.

    Attributes:
      repaired_lines: lines that were not UTF-8; each bad byte became U+FFFD, which separates words.
      windows_lines: lines that ended in a carriage return, which was removed.
      share: fraction of the text that was read, by bytes in the files; 1 when all was read.
    """

    lines: int = 0
    repaired_lines: int = 0
    windows_lines: int = 0
    share: float = 0.0

    def add(self, other: LineCounts) -> None:
        """Adds the lines of another reading."""
        self.lines += other.lines
        self.repaired_lines += other.repaired_lines
        self.windows_lines += other.windows_lines

    def describe_repairs(self, where: str) -> dict[str, int]:
        """Fault -> number of mended lines, for the report; no zeros.

        Args:
          where: the words after 'lines', such as 'in de' or 'of de-en.tsv'.
        """
        repairs = {
            f"lines {where} that are not UTF-8": self.repaired_lines,
            f"lines {where} with Windows line ends": self.windows_lines,
        }
        return {fault: count for fault, count in repairs.items() if count}


def read_bytes(path: str) -> bytes:
    """The unpacked bytes of a text file; errors as of `open_binary`."""
    with open_binary(path) as file:
        return file.read()


def iterate_lines(path: str, counts: LineCounts | None = None) -> Iterator[str]:
    """Yields the lines of running text without line ends and byte order mark; bad bytes are U+FFFD.

    Args:
      counts: counts to which this reading is added.

    Raises:
      OSError: the file cannot be read.
      ValueError: as of `open_binary`; the file is in another encoding than UTF-8: in UTF-16, or a
        fifth of its lines are not UTF-8.
    """
    for block in iterate_blocks(path, counts or LineCounts()):
        yield from block


def iterate_blocks(
    path: str, counts: LineCounts, limit: float | None = None
) -> Generator[list[str], None, int]:
    """Yields the lines of a file in lists, as `iterate_lines`; returns the number of bytes of the file read.

    Args:
      limit: bytes to read; the line that crosses the limit is read completely. None reads all.
    """
    with open_with_place(path) as (file, raw):
        of_file = LineCounts()
        blocks: list[list[str]] = []
        for data in _whole_lines(file, path, limit):
            of_block = LineCounts()
            blocks.append(decode_lines(data, of_block))
            of_file.add(of_block)
            counts.add(of_block)
            # One bad byte in the first of some long lines does not show the encoding.
            if of_file.lines >= _FEW_LINES:
                _check_share(path, of_file)
                yield from blocks
                blocks = []
        if not file.read(1):
            _check_share(path, of_file)
        yield from blocks
        return raw.tell()


def _whole_lines(file: BinaryIO, path: str, limit: float | None) -> Iterator[bytes]:
    """Yields bytes that end before a newline."""
    tails: list[bytes] = []
    byte_count = 0
    while limit is None or byte_count < limit:
        block = file.read(_BLOCK if limit is None else max(1, min(_BLOCK, int(limit - byte_count))))
        if not block:
            break
        if not byte_count:
            refuse_wide(path, block)
        lines, newline, tail = (block if byte_count else block.removeprefix(BOM)).rpartition(b"\n")
        byte_count += len(block)
        if newline:
            yield b"".join([*tails, lines])
            tails = []
        tails.append(tail)
    end = file.readline().removesuffix(b"\n") if tails else b""
    if last := b"".join([*tails, end]):
        yield last


def decode_lines(data: bytes, counts: LineCounts) -> list[str]:
    """The lines in bytes that end before a newline; repaired and Windows lines are counted."""
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = []
        for line in data.split(b"\n"):
            try:
                lines.append(line.decode("utf-8"))
            except UnicodeDecodeError:
                counts.repaired_lines += 1
                lines.append(line.decode("utf-8", errors="replace"))
    if windows := data.count(b"\r\n") + data.endswith(b"\r"):
        counts.windows_lines += windows
        lines = [line.removesuffix("\r") for line in lines]
    counts.lines += len(lines)
    return lines


def _check_share(path: str, counts: LineCounts) -> None:
    """Raises ValueError where so many lines are not UTF-8 that the file is in another encoding."""
    if is_other_encoding(counts.lines, counts.repaired_lines):
        refuse_encoding(path, f"{counts.repaired_lines:,} of the first {counts.lines:,} lines")


def warn_of_repairs(path: str, counts: LineCounts) -> None:
    """Logs how many lines of a file were not UTF-8."""
    if counts.repaired_lines:
        logging.warning(
            "%s: %d of %d lines are not UTF-8; their bad bytes are treated as spaces",
            path,
            counts.repaired_lines,
            counts.lines,
        )


def is_other_encoding(lines: int, bad: int) -> bool:
    """Whether so many of the lines of a text are not UTF-8 that it is in another encoding."""
    return bool(bad) and bad >= _BAD_SHARE * lines


def refuse_encoding(path: str, share: str) -> NoReturn:
    """Raises ValueError with the first line that is not UTF-8, and the command that converts the file.

    Args:
      share: the lines that are not UTF-8, such as '3 of 4 lines'.
    """
    numbers: list[int] = []
    lines: list[bytes] = []
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                numbers.append(number)
                lines.append(line)
                if len(lines) == _SAMPLED_LINES:
                    break
    fault(
        path,
        numbers[0],
        f"not UTF-8 ({share}): convert the file with `{_iconv(encodings.guess(lines), path)}`, or "
        "from the encoding that it has",
    )


def _iconv(encoding: str, path: str) -> str:
    return _convert(f"iconv -f {encoding} -t UTF-8", path)


def _convert(conversion: str, path: str) -> str:
    """The command that converts a file, which may be compressed."""
    for ending, command in _UNPACKING.items():
        if path.endswith(ending):
            return f"{command} {path} | {conversion} > {strip_compression(path)}"
    return f"{conversion} < {path} > {path}.utf8"


def read_text(path: str) -> str:
    """The text of a file in UTF-8, with '\\n' line ends and without a byte order mark.

    It is for files in which one bad letter is a fault, such as labels.

    Args:
      path: the file, or the name of text that is at hand.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: as of `open_binary`, or a line is not UTF-8.
    """
    if isinstance(path, Provided):
        return path.text
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {path!r}: expected a file of text")
    data = read_bytes(path)
    refuse_wide(path, data[:_BLOCK])
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        refuse_encoding(path, f"byte {data[error.start]:#04x}")


def read_lines(path: str) -> list[tuple[int, str]]:
    """(number from 1, line without its end) of every line of a file; errors as of `read_text`."""
    # Not splitlines(): a word may hold U+0085 or U+2028.
    return list(enumerate(read_text(path).removesuffix("\n").split("\n"), 1))


def split_cells(line: str) -> list[str]:
    """The cells of a line between tabs; of one in quotes, with doubled ones inside, the text that CSV means."""
    return [
        cell[1:-1].replace('""', '"') if '""' in cell[1:-1] and _QUOTED.fullmatch(cell) else cell
        for cell in line.split("\t")
    ]


def refuse_wide(path: str, data: bytes) -> None:
    """Raises ValueError where the first bytes of a file have 16 or 32 bits a letter, or no end of a line
    but carriage returns."""
    if name := encodings.name_wide(data):
        fault(path, 1, f"not UTF-8 but {name}: convert the file with `{_iconv(name, path)}`")
    if data.count(b"\r") > 1 and b"\n" not in data:
        command = _convert("tr '\\r' '\\n'", path)
        fault(path, 1, f"all lines end in a carriage return: convert the file with `{command}`")


def fault(path: str, number: int, text: str) -> NoReturn:
    """Raises ValueError 'PATH:NUMBER: TEXT'."""
    raise ValueError(f"{path}:{number}: {text}")


def describe_json(line: str) -> str:
    """What makes columns of a line of JSON, to be added to an error; '' for another line."""
    if not line.lstrip("\ufeff ").startswith("{"):
        return ""
    return ". It is JSON: `jq -r '[.LABEL, .TEXT] | @tsv' FILE` makes columns of two of its keys"


def quote_line(line: str) -> str:
    """A line as an error repeats it."""
    return repr(line if len(line) <= SHOWN else f"{line[:SHOWN]}...")
