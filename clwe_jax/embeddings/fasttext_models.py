"""Reads fastText's binary models: a word's vector is the mean of its own and its hashed n-grams'."""

from __future__ import annotations

import struct
from typing import BinaryIO, Sequence

import numpy as np
from scipy import sparse

from clwe_jax.embeddings.file_kinds import FASTTEXT
from clwe_jax.embeddings.vectors import Vectors

_SETTINGS = struct.Struct("<12id")  # dim, ..., at 8 bucket, minn, maxn, ...
_SIZES = struct.Struct("<3iq")  # entries, words, labels; running words
_PRUNED = struct.Struct("<q")  # entries of pruned n-grams
_ENTRY = struct.Struct("<qb")  # count and kind of a word, behind its text and a zero byte
_SHAPE = struct.Struct("<2q")
_END = "</s>"  # has no n-grams
_WORDS = 10_000  # whose n-grams are added at once
_BLOCK = 1 << 20  # bytes read at once
_OFFSET = 2_166_136_261  # of the hash FNV-1a
_PRIME = 16_777_619


def read(file: BinaryIO, path: str) -> Vectors:
    """All words of a model, with their counts (fastText's `FastText::loadModel`, `Dictionary::load`).

    Raises:
      ValueError: the model is cut off.
    """
    data = _Bytes(file)
    try:
        is_first_format = data.peek(len(FASTTEXT)) != FASTTEXT
        if not is_first_format:
            data.take(8)  # with the version
        settings = data.unpack(_SETTINGS)
        size, count = data.unpack(_SIZES)[:2]
        pruned = 0 if is_first_format else max(0, data.unpack(_PRUNED)[0])
        entries = [data.entry() for _ in range(size)][:count]
        data.take(8 * pruned)
        if not is_first_format:
            data.take(1)  # whether the matrix is compressed; `file_kinds` refuses such a model
        table = data.matrix(*data.unpack(_SHAPE))
    except (EOFError, ValueError) as error:
        raise ValueError(
            f"{path} is not a complete fastText model ({error}): fetch it again"
        ) from error
    words = [word for word, _ in entries]
    rows, grams = table[:count], table[count:]
    shortest, longest = settings[9:11]
    for first in range(0, count if len(grams) else 0, _WORDS):
        some = slice(first, first + _WORDS)
        hashed = hash_grams(words[some], shortest, longest, len(grams))
        rows[some] += hashed @ grams
        rows[some] /= 1 + np.asarray(hashed.sum(1), np.float32)
    return Vectors(words, rows, np.array([count for _, count in entries], np.int64))


def hash_grams(
    words: Sequence[str], shortest: int, longest: int, buckets: int
) -> sparse.csr_matrix:
    """How often each word has an n-gram of each bucket, float32 [words, buckets].

    fastText hashes the UTF-8 of n-grams by FNV-1a, with signed bytes.
    """
    encoded = [b"" if word == _END else f"<{word}>".encode() for word in words]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    data = np.frombuffer(b"".join(encoded), np.uint8)
    follows = np.append((data & 0xC0) == 0x80, False)  # a byte within a character
    data = np.append(data.astype(np.int8), np.int8(0)).astype(np.uint32)
    starts = np.flatnonzero(~follows[:-1])
    word = np.repeat(np.arange(len(words)), lengths)[starts]
    end = np.cumsum(lengths)[word]
    begins = starts == end - lengths[word]
    place = starts.copy()
    hashes = np.full(len(starts), _OFFSET, np.uint32)
    owners = [np.zeros(0, np.int64)]
    columns = [np.zeros(0, np.uint32)]
    for size in range(1, longest + 1):
        # The n-grams that end before the word does get its next character.
        inside = np.flatnonzero(place < end)
        word, end, begins, place, hashes = (x[inside] for x in (word, end, begins, place, hashes))
        for byte in range(4):  # of a character
            more = (place < end) & (follows[place] | (byte == 0))
            step = (hashes ^ data[place]) * np.uint32(_PRIME)
            hashes = np.where(more, step, hashes)
            place = place + more
        if size >= shortest:
            # A mark alone is no n-gram.
            said = (size > 1) | ~(begins | (place == end))
            owners.append(word[said])
            columns.append(hashes[said] % np.uint32(buckets))
    owner = np.concatenate(owners)
    ones = np.ones(len(owner), np.float32)
    shape = (len(words), buckets)
    return sparse.csr_matrix((ones, (owner, np.concatenate(columns).astype(np.int64))), shape)


class _Bytes:
    """A file that is read from its start to its end."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._data = b""
        self._place = 0

    def peek(self, count: int) -> bytes:
        """The next bytes, which stay the next."""
        while len(self._data) - self._place < count:
            block = self._file.read(_BLOCK)
            if not block:
                raise EOFError(f"{count} more bytes were expected")
            self._data = self._data[self._place :] + block
            self._place = 0
        return self._data[self._place : self._place + count]

    def take(self, count: int) -> bytes:
        """The next bytes."""
        found = self.peek(count)
        self._place += count
        return found

    def unpack(self, form: struct.Struct) -> tuple:
        """The next numbers."""
        return form.unpack(self.take(form.size))

    def entry(self) -> tuple[str, int]:
        """The next word and its count."""
        size = 0
        while (size := self._data.find(b"\0", self._place + size) - self._place) < 0:
            size = len(self._data) - self._place
            self.peek(size + 1)
        word = self.take(size + 1)[:-1].decode("utf-8", errors="replace")
        return word, self.unpack(_ENTRY)[0]

    def matrix(self, rows: int, columns: int) -> np.ndarray:
        """The next float32s, [rows, columns]."""
        values = np.empty((rows, columns), "<f4")
        left = memoryview(values).cast("B")
        known = self._data[self._place : self._place + len(left)]
        left[: len(known)] = known
        left = left[len(known) :]
        while len(left):
            count = self._file.readinto(left[: 1 << 30])
            if not count:
                raise EOFError(f"{len(left):,} more bytes were expected")
            left = left[count:]
        return values
