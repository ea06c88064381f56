"""Words with a vector each: one language's, or those of a joint vocabulary."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import struct
import tempfile
import zipfile
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

_VERSION = 1
_ALIGNMENT = 64  # bytes: where an array's numbers start in the file, so that they can be mapped
_EXTRA = 0x4C43  # the private id of the padding, as zip's extra fields have one
_DAMAGED = (ValueError, KeyError, EOFError, IndexError, AttributeError, zipfile.BadZipFile)
_ZIP64 = 20  # bytes of the extra field that `zipfile` itself puts in front with force_zip64


@dataclasses.dataclass(frozen=True, eq=False)
class Vectors:
    """Words, most frequent first, and their vectors.

    Attributes:
      words: N words, each once.
      vectors: float32 [N, D]; read-only where it is a file's memory.
      counts: int64 [N]: how often each word occurs in the text, or None where unknown.
      report: what reading the file met, by name: 'duplicates', 'wrong_width', ...
      examples: for each of them the first place, as 'FILE:LINE: what'.

    Raises:
      ValueError: the numbers of words, vectors and counts differ.
    """

    words: Sequence[str]
    vectors: np.ndarray
    counts: np.ndarray | None = None
    report: Mapping[str, int] = dataclasses.field(default_factory=dict)
    examples: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = np.shape(self.vectors)
        if len(shape) != 2 or shape[0] != len(self.words):
            raise ValueError(f"{len(self.words)} words and vectors of shape {shape}")
        if self.counts is not None and len(self.counts) != len(self.words):
            raise ValueError(f"{len(self.words)} words and {len(self.counts)} counts")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return self.vectors.shape[1]

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """word -> its row; of a word that is there twice, the first."""
        rows = range(len(self.words) - 1, -1, -1)
        return dict(zip(reversed(self.words), rows))

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """int64 [words]: the row of each word, -1 where it has no vector."""
        index = self.index
        return np.fromiter((index.get(word, -1) for word in words), np.int64)

    def take(self, rows: Sequence[int] | np.ndarray) -> Vectors:
        """The words of these rows, in their order; the report is left behind."""
        rows = np.asarray(rows, np.int64)
        return Vectors(
            words=[self.words[row] for row in rows.tolist()],
            vectors=self.vectors[rows],
            counts=None if self.counts is None else self.counts[rows],
        )

    def top(self, most: int | None) -> Vectors:
        """The first `most` words, without a copy of their vectors; all where there are fewer."""
        if most is None or most >= len(self):
            return self
        counts = None if self.counts is None else self.counts[:most]
        words, vectors = self.words[:most], self.vectors[:most]
        return Vectors(words, vectors, counts, self.report, self.examples)

    def save(self, path: str, about: Mapping[str, Any] | None = None) -> None:
        """Writes an .npz that `load` maps into memory and `numpy.load` reads; whole or not at all.

        Its arrays: `blob` and `offsets` (the words in UTF-8, one after the other), `vectors`,
        `counts` where known, `about` (JSON).

        Args:
          path: the file.
          about: more to keep in `about`.

        Raises:
          OSError: it cannot be written.
        """
        encoded = [word.encode("utf-8", errors="replace") for word in self.words]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        met = {"report": dict(self.report), "examples": dict(self.examples)}
        facts = {"version": _VERSION, **met, **(about or {})}
        arrays = {
            "about": np.frombuffer(json.dumps(facts).encode("utf-8"), np.uint8),
            "blob": np.frombuffer(b"".join(encoded), np.uint8),
            "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            "vectors": np.ascontiguousarray(self.vectors, np.float32),
        }
        if self.counts is not None:
            arrays["counts"] = np.asarray(self.counts, np.int64)
        folder = os.path.dirname(os.path.abspath(path))
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
                for name, array in arrays.items():
                    _write_aligned(archive, file.tell(), name + ".npy", array)
            publish(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str) -> Vectors:
        """Reads what `save` wrote; the vectors are mapped into memory and read when used.

        An .npz of other makers serves too if it has `words` (an array of strings) and `vectors`.

        Raises:
          FileNotFoundError: there is no such file.
          ValueError: it is damaged, or holds something else.
        """
        return load(path)[0]


def load(path: str) -> tuple[Vectors, dict[str, Any]]:
    """As `Vectors.load`, and what the file says about itself."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = set(stored.files)
            if not {"vectors", "words"} <= names and not {"vectors", "blob", "offsets"} <= names:
                raise ValueError(f"expected arrays words and vectors, found {sorted(names)}")
            counts = stored["counts"] if "counts" in names else None
            if "words" in names:
                words, about = [str(word) for word in stored["words"]], {}
            else:
                words = _words(stored["blob"], stored["offsets"])
                about = json.loads(stored["about"].tobytes()) if "about" in names else {}
            vectors = _mapped(path, stored.zip, "vectors.npy")
            if vectors is None:
                vectors = stored["vectors"].astype(np.float32, copy=False)
        report, examples = about.get("report", {}), about.get("examples", {})
        return Vectors(words, vectors, counts, report, examples), about
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is damaged or holds no vectors ({error}): expected an .npz as "
            "clwe_jax.embeddings.files.write makes it"
        ) from error


def _words(blob: np.ndarray, offsets: np.ndarray) -> list[str]:
    if len(offsets) < 1 or offsets[-1] != len(blob) or np.any(np.diff(offsets) < 0):
        raise ValueError("its words are cut off")
    data, ends = blob.tobytes(), offsets.tolist()
    if data.isascii():
        text = data.decode("ascii")
        return [text[a:b] for a, b in zip(ends[:-1], ends[1:])]
    return [data[a:b].decode("utf-8") for a, b in zip(ends[:-1], ends[1:])]


def publish(temporary: str, path: str) -> None:
    """Gives a file that `tempfile` made its name and the permissions of a usual file."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(temporary, 0o666 & ~mask)
    os.replace(temporary, path)


def _write_aligned(archive: zipfile.ZipFile, place: int, name: str, array: np.ndarray) -> None:
    """Stores an array, uncompressed, so that its numbers start at a multiple of `_ALIGNMENT`."""
    info = zipfile.ZipInfo(name)
    # A .npy header is a multiple of 64 bytes long: where the header starts is what counts.
    start = place + zipfile.sizeFileHeader + len(name) + _ZIP64 + 4
    padding = -start % _ALIGNMENT
    info.extra = struct.pack("<HH", _EXTRA, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def _mapped(path: str, archive: zipfile.ZipFile, name: str) -> np.ndarray | None:
    """An array of the file as it lies there; None if it is compressed, unaligned or no float32."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        return None
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
    if fortran or dtype != np.float32 or place % dtype.itemsize or not np.prod(shape):
        return None
    return np.memmap(path, np.float32, "r", place, shape).view(np.ndarray)
