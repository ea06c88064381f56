"""Words with one vector each, of one language or of a joint vocabulary."""

from __future__ import annotations

import dataclasses
import functools
import json
import struct
import zipfile
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from clwe_jax import atomic
from clwe_jax.embeddings.packed import Packed
from clwe_jax.text.words.characters import has_letter_or_digit

_ALIGNMENT = 64  # bytes; the numbers of an array start at a multiple, to be memory-mapped
_EXTRA = 0x4C43  # private id of the padding among zip's extra fields
_DAMAGED = (ValueError, KeyError, EOFError, IndexError, TypeError, zipfile.BadZipFile)
_STORED = (np.float32, np.float16, np.uint16)  # numbers that are mapped as they are
_FORMS = (
    {"vectors", "words"},
    {"vectors", "blob", "offsets"},
    {"codes", "steps", "scales", "blob", "offsets"},
)
_ZIP64 = 20  # bytes of the extra field that `zipfile` writes for force_zip64


def row_index(words: Sequence[str], keys: Sequence[str] = ()) -> dict[str, int]:
    """Word or key -> its row, for N words and their N keys (normalised words); (): the words themselves.

    Several rows may have one key, such as 'Haus' and 'haus'. A key leads to the row whose word equals it, here
    that of 'haus', or if there is none to its first row. A word that is no key leads to its first row.
    """
    rows = range(len(words) - 1, -1, -1)  # in reverse, because a dict keeps the last row of a word
    by_word = dict(zip(reversed(words), rows))
    by_key = dict(zip(reversed(keys), rows))
    equal_to_key = {word: row for word, row in by_word.items() if keys and keys[row] == word}
    return by_word | by_key | equal_to_key


@dataclasses.dataclass(frozen=True, eq=False)
class Vectors:
    """Words, most frequent first, and their vectors.

    Attributes:
      words: N distinct words, as their language writes them.
      vectors: float32 [N, D], read-only where a file is memory-mapped; float16 or `Packed` in the
        files of `encoders.spaces`, which hands out float32.
      counts: occurrences of each word in the text, int64 [N]; None where unknown.
      report: fault in `collect.MEANINGS` -> its occurrences in the file.
      examples: first place of each fault, as 'FILE:LINE: text'.
      keys: N keys by which the words are looked up (`text.words.normalize.Normalizer.key`), of which
        several may be equal; None: the words themselves.

    Raises:
      ValueError: the numbers of words, vectors, counts and keys differ.
    """

    words: Sequence[str]
    vectors: np.ndarray | Packed
    counts: np.ndarray | None = None
    report: Mapping[str, int] = dataclasses.field(default_factory=dict)
    examples: Mapping[str, str] = dataclasses.field(default_factory=dict)
    keys: Sequence[str] | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.vectors)
        if len(shape) != 2 or shape[0] != len(self.words):
            raise ValueError(f"{len(self.words)} words and vectors of shape {shape}")
        if self.counts is not None and len(self.counts) != len(self.words):
            raise ValueError(f"{len(self.words)} words and {len(self.counts)} counts")
        if self.keys is not None and len(self.keys) != len(self.words):
            raise ValueError(f"{len(self.words)} words and {len(self.keys)} keys")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self.vectors.shape[1]

    @functools.cached_property
    def signs(self) -> list[str]:
        """The keys without a letter or a number, such as those of punctuation."""
        return [key for key in self.own_keys if not has_letter_or_digit(key)]

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Word or key -> its row (`row_index`)."""
        return row_index(self.words, self.keys or ())

    @property
    def own_keys(self) -> Sequence[str]:
        """`keys`, or the words where they are their own keys."""
        return self.words if self.keys is None else self.keys

    def with_keys(self, key: Callable[[str], str]) -> Vectors:
        """The vectors with the key of each word."""
        keys = list(map(key, self.words))
        return self if keys == list(self.words) else dataclasses.replace(self, keys=keys)

    def with_spellings(self, spellings: Mapping[str, str]) -> Vectors:
        """The vectors of keys with the words as they are written.

        Args:
          spellings: key -> word, of those that differ.
        """
        if self.keys is not None or not spellings:
            return self
        words = [spellings.get(word, word) for word in self.words]
        return dataclasses.replace(self, words=words, keys=self.words)

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """The row of each word or key, int64 [words]; -1 for a word without a vector."""
        index = self.index
        return np.fromiter((index.get(word, -1) for word in words), np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Vectors:
        """The vectors of these rows, in this order, without the report."""
        rows = np.asarray(rows, np.int64)
        return Vectors(
            words=[self.words[row] for row in rows.tolist()],
            vectors=self.vectors[rows],
            counts=None if self.counts is None else self.counts[rows],
            keys=None if self.keys is None else [self.keys[row] for row in rows.tolist()],
        )

    def to_float16(self) -> Vectors:
        """The vectors in half precision."""
        return dataclasses.replace(self, vectors=self.vectors.astype(np.float16))

    def top(self, max_words: int | None) -> Vectors:
        """The first `max_words` words, None: all; vectors are not copied."""
        if max_words is None or max_words >= len(self):
            return self
        counts = None if self.counts is None else self.counts[:max_words]
        words = self.words[:max_words]
        vectors = self.vectors[:max_words]
        keys = None if self.keys is None else self.keys[:max_words]
        return Vectors(words, vectors, counts, self.report, self.examples, keys)

    def save(self, path: str, about: Mapping[str, Any] | None = None) -> None:
        """Writes an .npz file that `load` memory-maps and `numpy.load` reads.

        Its arrays are `blob` and `offsets` (the words in UTF-8, concatenated), `vectors` or what
        `Packed` holds, `counts` where known, and `about` (JSON).

        Args:
          about: further facts, serialisable as JSON.

        Raises:
          OSError: the file cannot be written.
        """
        encoded = [word.encode("utf-8", errors="replace") for word in self.words]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        faults = {"report": dict(self.report), "examples": dict(self.examples)}
        facts = {**faults, **(about or {})}
        if self.keys is not None:
            words_and_keys = enumerate(zip(self.words, self.keys))
            facts["keys"] = {str(row): key for row, (word, key) in words_and_keys if word != key}
        arrays = {
            "about": np.frombuffer(json.dumps(facts).encode("utf-8"), np.uint8),
            "blob": np.frombuffer(b"".join(encoded), np.uint8),
            "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            **_numbers(self.vectors),
        }
        if self.counts is not None:
            arrays["counts"] = np.asarray(self.counts, np.int64)
        with atomic.writing(path) as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                _write_aligned(archive, file.tell(), name + ".npy", array)

    @classmethod
    def load(cls, path: str) -> Vectors:
        """Reads a file that `save` wrote; its vectors are memory-mapped.

        It also reads another program's .npz file with `words` (strings, or bytes in UTF-8) and `vectors`.

        Raises:
          FileNotFoundError: the file does not exist.
          ValueError: the file is damaged or holds no vectors.
        """
        return load(path)[0]


def load(path: str, narrow: bool = False) -> tuple[Vectors, dict[str, Any]]:
    """Reads a file as `Vectors.load` does; also returns its facts `about`.

    Args:
      narrow: whether vectors in float16 and packed ones are mapped as they are; otherwise they become
        float32.

    Raises:
      ValueError: a damaged file, or one without the arrays of vectors.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            names = set(file.files)
            if not any(form <= names for form in _FORMS):
                raise ValueError(f"expected arrays words and vectors, found {sorted(names)}")
            counts = file["counts"] if "counts" in names else None
            if "words" in names:
                words = file["words"]
                if words.dtype.kind == "S":
                    words = np.char.decode(words, "utf-8", "replace")
                words = list(map(str, words))
                about = {}
            else:
                words = _words(file["blob"], file["offsets"])
                about = json.loads(file["about"].tobytes()) if "about" in names else {}
            if "codes" in names:
                codes = _map_array(path, file.zip, "codes.npy")
                codes = file["codes"] if codes is None else codes
                vectors = Packed(codes, file["steps"], file["scales"])
            else:
                vectors = _map_array(path, file.zip, "vectors.npy")
                vectors = file["vectors"] if vectors is None else vectors
            if vectors.dtype != np.float32 and not (narrow and vectors.dtype in _STORED):
                vectors = vectors.astype(np.float32)
        report = about.get("report", {})
        examples = about.get("examples", {})
        return Vectors(words, vectors, counts, report, examples, _keys(words, about)), about
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is damaged or holds no vectors ({error}): expected an .npz file written by "
            "clwe_jax.embeddings.files.write"
        ) from error


def _keys(words: Sequence[str], about: Mapping[str, Any]) -> list[str] | None:
    """The keys of words in the facts of a file."""
    if "keys" not in about:
        return None
    keys = list(words)
    for row, key in about["keys"].items():
        keys[int(row)] = key
    return keys


def _words(blob: np.ndarray, offsets: np.ndarray) -> list[str]:
    if len(offsets) < 1 or offsets[-1] != len(blob) or np.any(np.diff(offsets) < 0):
        raise ValueError("its words are cut off")
    data = blob.tobytes()
    ends = offsets.tolist()
    # In ASCII a byte is a character, so that one decoding serves all words.
    if data.isascii():
        text = data.decode("ascii")
        return [text[a:b] for a, b in zip(ends[:-1], ends[1:])]
    return [data[a:b].decode("utf-8") for a, b in zip(ends[:-1], ends[1:])]


def _write_aligned(archive: zipfile.ZipFile, place: int, name: str, array: np.ndarray) -> None:
    """Stores an array uncompressed, with its numbers at a multiple of `_ALIGNMENT`."""
    info = zipfile.ZipInfo(name)
    # A .npy header is a multiple of 64 bytes long, so aligning the header aligns the numbers.
    start = place + zipfile.sizeFileHeader + len(name) + _ZIP64 + 4
    padding = -start % _ALIGNMENT
    # Readers of zip files skip an extra field that they do not know.
    info.extra = struct.pack("<HH", _EXTRA, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def _map_array(path: str, archive: zipfile.ZipFile, name: str) -> np.ndarray | None:
    """Memory-maps an array; None if it is compressed, unaligned or of other numbers."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        return None
    # np.load maps no member of an archive, so that its place is read from the headers.
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        header = file.read(zipfile.sizeFileHeader)
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        start = info.header_offset + len(header) + name_length + extra_length
        file.seek(start)
        if np.lib.format.read_magic(file) != (1, 0):
            return None
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        place = file.tell()
        if place + int(np.prod(shape)) * dtype.itemsize > start + info.file_size:
            raise ValueError(f"{name} is cut off")
    # An empty array cannot be mapped.
    if fortran or dtype not in _STORED or place % dtype.itemsize or not np.prod(shape):
        return None
    return np.memmap(path, dtype, "r", place, shape).view(np.ndarray)


def _numbers(vectors: np.ndarray | Packed) -> dict[str, np.ndarray]:
    """The arrays that hold the vectors in a file."""
    if isinstance(vectors, Packed):
        return {
            "codes": np.ascontiguousarray(vectors.codes),
            "steps": vectors.steps,
            "scales": vectors.scales,
        }
    dtype = np.float16 if vectors.dtype == np.float16 else np.float32
    return {"vectors": np.ascontiguousarray(vectors, dtype)}
