"""Vectors as text, one word and its numbers per line: word2vec's, fastText's and GloVe's format.

The numbers of a block of lines are parsed at once, as JSON. Python parses the blocks in which that
fails (a word with a space, a cut line, a field that is not a number) line by line, so that one bad
line slows down its block and not the file.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import BinaryIO, Iterator

import numpy as np
import orjson

from clwe_jax.embeddings.collect import Collector
from clwe_jax.embeddings.vectors import Vectors

_BLOCK = 2 << 20  # bytes read at once
_LONGEST_LINE = 64 << 20  # maximum bytes of a line
_PROBED = 100  # lines that determine the width of the vectors
_BOM = b"\xef\xbb\xbf"
_NUMERIC = b"0123456789+-.eE "  # all characters of decimals and the space between them
EXPECTED = "lines of a word and its numbers, separated by spaces"


@dataclasses.dataclass(frozen=True)
class _Layout:
    """The layout of a file's lines.

    Attributes:
      dim: width of a vector.
      trailing: whether lines end in a space, as fastText writes them.
      tabs: whether tabs separate the fields.
    """

    dim: int
    trailing: bool
    tabs: bool


@dataclasses.dataclass
class _Parsed:
    """The good rows of a block and its bad lines.

    Attributes:
      words: n words in bytes.
      vectors: float32 [n, D].
      places: n line numbers.
      faults: (name, line number, text) of bad lines, the arguments of `Collector.note`.
    """

    words: list[bytes]
    vectors: np.ndarray
    places: np.ndarray | range
    faults: list[tuple[str, int, str]]


def read(
    file: BinaryIO, path: str, max_vocab: int | None, size: int | None, language: str = ""
) -> Vectors:
    """Reads vectors from text, with or without a first line of sizes.

    Args:
      file: open file at its beginning.
      path: path of the file, for messages.
      max_vocab: maximum number of words; None: all.
      size: bytes of the file; None: unknown.
      language: of the words that are taken where a word names its language; '': all.

    Raises:
      ValueError: no line is a word with its numbers; the message shows the first line.
    """
    blocks = _blocks(file, path)
    first_block = next(blocks, (b"", 1))[0]
    announced, body = _header(first_block)
    start = 1 if announced is None else 2
    layout = _layout(body, announced and announced[1], path, start)
    # A number takes two bytes or more with its space, and a line has an end.
    capacity = None if size is None else size // (2 * layout.dim + 1) + 1
    collector = Collector(path, layout.dim, max_vocab, capacity, language)
    lines = start - 1

    for block in itertools.chain([(body, start)] if body else [], blocks):
        parsed = _parse(*block, layout)
        for fault in parsed.faults:
            collector.note(*fault)
        collector.add(parsed.words, parsed.vectors, parsed.places)
        lines += len(parsed.words) + len(parsed.faults)
        if collector.full:
            break
    missing = 0 if announced is None else announced[0] - (lines - 1)
    if missing > 0 and not collector.full:
        collector.report["missing_words"] = missing
        collector.examples["missing_words"] = f"{path}:1: {announced[0]} {announced[1]}"
    return collector.vectors(EXPECTED)


def _blocks(file: BinaryIO, path: str) -> Iterator[tuple[bytes, int]]:
    """Yields (complete lines, number of the first line)."""
    line = 1
    partial_line = b""
    is_first = True
    while block := file.read(_BLOCK):
        if is_first:
            block = block.removeprefix(_BOM)
            is_first = False
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            lines = partial_line + head + newline
            yield lines, line
            line = line + lines.count(b"\n")
            partial_line = tail
        else:
            partial_line += block
            if len(partial_line) > _LONGEST_LINE:
                raise ValueError(
                    f"{path}:{line}: a line of more than {_LONGEST_LINE >> 20} MB: expected "
                    f"{EXPECTED}. Binary files are named .bin or .npz"
                )
    if partial_line:
        yield partial_line, line


def _header(block: bytes) -> tuple[tuple[int, int] | None, bytes]:
    """Splits off a first line of two sizes, (words, width), where the block has one."""
    line, _, body = block.partition(b"\n")
    fields = line.split()
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
        return (int(fields[0]), int(fields[1])), body
    return None, block


def _layout(block: bytes, announced: int | None, path: str, start: int) -> _Layout:
    lines = [line for line in block.split(b"\n", _PROBED)[:_PROBED] if line.strip()]
    widths = [len(line.split()) - 1 for line in lines]
    if not widths:
        raise ValueError(f"{path} is empty: expected {EXPECTED}")
    dim = announced if announced else collections.Counter(widths).most_common(1)[0][0]
    if not dim or (announced and max(widths) < dim and len(lines) > 1):
        place = start + block.split(b"\n").index(lines[0])
        says = f" as {path}:1 says" if announced else ""
        raise ValueError(
            f"{path}:{place}: expected a word and {dim or 'its'} numbers{says}, found "
            f"{lines[0][:60].decode('utf-8', errors='replace')!r}"
        )
    sample_line = next((line for line, width in zip(lines, widths) if width == dim), lines[0])
    return _Layout(dim, sample_line.rstrip(b"\r").endswith(b" "), b"\t" in sample_line)


def _parse(block: bytes, first_line: int, layout: _Layout) -> _Parsed:
    if layout.tabs:
        block = block.replace(b"\t", b" ")
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    lone = b"\r" in block and block.count(b"\r") != block.count(b"\r\n")
    if not lone:
        table = _table(block, layout.dim, layout.trailing)
        if table is not None and len(table[0]) == lines:
            return _Parsed(*table, range(first_line, first_line + lines), [])
    return _by_line(block, first_line, layout.dim)


def _table(block: bytes, dim: int, trailing: bool) -> tuple[list[bytes], np.ndarray] | None:
    """Words and vectors of lines of one layout; None if a line differs."""
    lines = block.removesuffix(b"\n").split(b"\n")
    fields = [line.removesuffix(b"\r").partition(b" ") for line in lines]
    numbers = [field[2] for field in fields]
    if trailing:
        if not all(row.endswith(b" ") for row in numbers):
            return None
        numbers = [row[:-1] for row in numbers]
    if any(row.count(b" ") != dim - 1 for row in numbers):
        return None
    joined = b" ".join(numbers)
    if joined.translate(None, _NUMERIC):  # JSON has other values than numbers
        return None
    try:
        values = orjson.loads(b"[%b]" % joined.replace(b" ", b","))
    except orjson.JSONDecodeError:  # decimals that JSON does not have: 1. or +1 or an empty field
        return None
    with np.errstate(over="ignore"):  # the collector counts what is not finite
        vectors = np.array(values, np.float32).reshape(len(lines), dim)
    return [field[0] for field in fields], vectors


def _by_line(block: bytes, first_line: int, dim: int) -> _Parsed:
    usual_lines: list[int] = []
    odd_lines: list[int] = []
    lines = [line.rstrip(b" \r") for line in block.split(b"\n")]
    for i, line in enumerate(lines):
        if line:
            plain = line.count(b" ") == dim and b"\r" not in line and not line.startswith(_BOM)
            (usual_lines if plain else odd_lines).append(i)
    table = _table(b"\n".join(lines[i] for i in usual_lines), dim, False) if usual_lines else None
    if table is None:
        odd_lines = sorted(usual_lines + odd_lines)
        usual_lines = []
        words = []
        vectors = np.empty((0, dim), np.float32)
    else:
        words, vectors = table
    rows = []
    odd_vectors = []
    faults = []
    for i in odd_lines:
        parsed = _line(lines[i], dim)
        if isinstance(parsed, str):
            text = lines[i][:80].decode("utf-8", errors="replace")
            faults.append((parsed, first_line + i, text))
        else:
            rows.append(i)
            words.append(parsed[0])
            odd_vectors.append(parsed[1])
    places = np.array(usual_lines + rows, np.int64)
    # Back in the order of the file, which is usually by frequency.
    order = np.argsort(places)
    vectors = np.concatenate([vectors, np.array(odd_vectors, np.float32).reshape(-1, dim)])[order]
    return _Parsed([words[i] for i in order.tolist()], vectors, first_line + places[order], faults)


def _line(line: bytes, dim: int) -> tuple[bytes, list[np.float32]] | str:
    """Word and numbers of an odd line, or the name of its fault."""
    fields = line.rsplit(None, dim)
    if len(fields) <= dim:
        return "empty_words" if len(fields) == dim and line[:1].isspace() else "wrong_width"
    try:
        if b"_" in b"".join(fields[1:]):  # float() would ignore it
            raise ValueError
        with np.errstate(over="ignore"):
            numbers = [np.float32(float(field)) for field in fields[1:]]
    except ValueError:
        return "not_numbers"
    # 'new york' is a word; 'york 0.25' is a word and a surplus number.
    if any(b"." in part and _is_number(part) for part in fields[0].split()[1:]):
        return "wrong_width"
    return fields[0].strip(), numbers


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
