"""Reads files of vectors and counts their faults; writes files for other programs.

    vectors = files.read("wiki.de.vec", max_vocab=200_000)
    files.write("de.vec", vectors)

The first read leaves a binary copy, the twin, beside the file; later reads memory-map the twin.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import struct
import tempfile
from typing import BinaryIO, Callable, Mapping

from absl import logging
import numpy as np
import orjson

from clwe_jax import atomic
from clwe_jax.embeddings import file_kinds, text_files, vectors as stored
from clwe_jax.embeddings.collect import CONCEPT, Collector, keep_usable, writable
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.lines import refuse_wide
from clwe_jax.text.unpacking import (
    is_packed,
    list_members,
    strip_compression,
    unpack,
    unpacked_copy,
)

_ZIP = b"PK\x03\x04"
_BLOCK = 1 << 20  # bytes read at once
_SAMPLE = 4_096  # first bytes of a file, which show whether it is text
_LONGEST_WORD = 10_000  # maximum bytes of a word
_ROWS = 4_096  # rows written at once
FORMATS = (".vec", ".txt", ".bin", ".npz")


def read(
    path: str, max_vocab: int | None = 200_000, *, cache: bool | str = True, language: str = ""
) -> Vectors:
    """Reads words and their vectors in the file's order, which usually is by frequency.

    The formats are text (.vec, .txt or any name) with or without a first line of sizes, word2vec's
    and fastText's .bin, and .npz, plain or compressed. Faults are treated as described in
    `collect.MEANINGS`, counted in `.report`, shown with file and line in `.examples`, and logged.

    Args:
      max_vocab: maximum number of usable words; None: all.
      cache: place of the binary twin. True: beside the file, or in the user's cache folder if the
        file's folder is not writable; a string: that folder; False: no twin. A twin is valid as
        long as max_vocab and the file's size and modification time stay the same.
      language: of the words that are taken from a file that names the language of each word
        (ConceptNet Numberbatch, '/c/de/haus'); '': such words stay as they are.

    Raises:
      FileNotFoundError: the file does not exist.
      ValueError: max_vocab is below 1; the file is damaged or holds no vectors.
    """
    if max_vocab is not None and max_vocab < 1:
        raise ValueError(f"max_vocab={max_vocab}: must be at least 1, or None for all words")
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"{path} does not exist: expected a file of vectors ({', '.join(FORMATS)}, plain "
            "or compressed)"
        )
    if _is_npz(path):
        return keep_usable(path, Vectors.load(path), max_vocab)
    language = language if _names_languages(path) else ""
    twins = _twins(path, max_vocab, cache, language)
    key = _key(path, max_vocab)
    for twin in twins:
        cached = _read_twin(twin, key)
        if cached is not None:
            return cached
    vectors = _read(path, max_vocab, language)
    for twin in twins:
        try:
            os.makedirs(os.path.dirname(twin), exist_ok=True)
            vectors.save(twin, {"source": key})
            break
        except OSError as error:
            logging.info(
                "No binary twin at %s (%s): cache=FOLDER names another folder", twin, error
            )
    return vectors


def read_space(places: Mapping[str, str], option: str) -> dict[str, Vectors]:
    """The vectors of several languages in one space.

    Args:
      places: language -> path of its file.
      option: the option that names the files, for messages.

    Raises:
      FileNotFoundError, ValueError: as of `read`; files of different widths.
    """
    by_language: dict[str, Vectors] = {}
    for language, path in places.items():
        by_language[language] = read(path, language=language)
        first = next(iter(by_language))
        if by_language[language].dim != by_language[first].dim:
            raise ValueError(
                f"{option}: {path}, line 1: {by_language[language].dim} numbers a word, and "
                f"{by_language[first].dim} in {places[first]}, line 1: languages of one space have vectors of "
                "one width"
            )
    return by_language


def write(path: str, vectors: Vectors) -> None:
    """Writes vectors in the format that the name's suffix selects: .vec, .txt, .bin or .npz (.gz).

    Text has word2vec's first line and the shortest decimals that give the same float32, for gensim,
    MUSE and VecMap. Text and .bin leave out words that are empty or contain white space; the log
    counts them.

    Raises:
      ValueError: another suffix.
      OSError: the file cannot be written.
    """
    name = path.lower().removesuffix(".gz")
    is_plain = name == path.lower()
    if not name.endswith(FORMATS):
        raise ValueError(f"{path}: expected the ending {', '.join(FORMATS)}, plain or .gz")
    if name.endswith(".npz") and is_plain:
        vectors.save(path)
        return
    if not name.endswith(".npz"):
        rows = writable(vectors.words)
        if len(rows) < len(vectors):
            logging.warning(
                "%s: %d words are empty or contain white space and are not written",
                path,
                len(vectors) - len(rows),
            )
            vectors = vectors.take(rows)
    with atomic.writing(path) as raw:
        # Without name and time in gzip's header, equal vectors give equal files.
        file = raw if is_plain else gzip.GzipFile("", "wb", 6, raw, 0)
        _WRITERS[os.path.splitext(name)[1]](file, vectors)
        if file is not raw:
            file.close()


def _name(path: str) -> str:
    """The file's name without the ending of a compressed file, in lower case."""
    return strip_compression(os.path.basename(path).lower())


def _is_npz(path: str) -> bool:
    """Whether a file is a zip archive of arrays; an archive of one text file is none."""
    members = list_members(path)
    return bool(members) and all(name.endswith(".npy") for name in members)


def _key(path: str, max_vocab: int | None) -> list[int | None]:
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, max_vocab]


def _names_languages(path: str) -> bool:
    """Whether the words of a file of text are ConceptNet's, '/c/de/haus'."""
    with unpack(path) as file:
        lines = file.read(_SAMPLE).split(b"\n")[:2]
    return any(line.startswith(CONCEPT) for line in lines)


def _twins(path: str, max_vocab: int | None, cache: bool | str, language: str) -> list[str]:
    """Possible paths of the binary twin, the first choice first."""
    if not cache:
        return []
    path = os.path.abspath(path)
    part = f".{language}" if language else ""
    name = f"{os.path.basename(path)}{part}.{'all' if max_vocab is None else max_vocab}.npz"
    # The digest tells files of one name in different folders apart.
    digest = hashlib.sha256(path.encode("utf-8", errors="surrogateescape")).hexdigest()[:12]
    if isinstance(cache, str):
        return [os.path.join(cache, f"{digest}-{name}")]
    hidden = os.path.join(os.path.dirname(path), f".{name}")
    return [hidden, atomic.user_cache(f"{digest}-{name}")]


def _read_twin(twin: str, key: list[int | None]) -> Vectors | None:
    if not os.path.exists(twin):
        return None
    try:
        vectors, about = stored.load(twin)
    except (ValueError, OSError) as error:
        logging.warning("The binary twin %s is unusable and is replaced (%s)", twin, error)
        return None
    return vectors if about.get("source") == key else None


def _read(path: str, max_vocab: int | None, language: str) -> Vectors:
    size = None if is_packed(path) else os.path.getsize(path)
    with unpack(path) as file:
        start = file.read(_SAMPLE)
        file.seek(0)
        if start.startswith(_ZIP):
            return _read_packed_npz(file, path, max_vocab)
        file_kinds.refuse_others(start, path)
        if file_kinds.is_fasttext(start):
            return _read_fasttext(path, max_vocab)
        refuse_wide(path, start.partition(b"\n")[0])
        body = start.partition(b"\n")[2]
        # Text has no bytes below the tab's, and float32s soon have one.
        if _name(path).endswith(".bin") or any(byte < 9 for byte in body):
            return _read_binary(file, path, max_vocab, size)
        return text_files.read(file, path, max_vocab, size, language)


def _read_fasttext(path: str, max_vocab: int | None) -> Vectors:
    """Reads fastText's binary model; a word's vector is the mean of its own and its n-grams'."""
    from gensim.models.fasttext import load_facebook_vectors

    try:
        # gensim unpacks a file by its name.
        model = load_facebook_vectors(unpacked_copy(path))
    except (AssertionError, RuntimeError, ValueError, EOFError, struct.error) as error:
        raise ValueError(
            f"{path} is not a complete fastText model ({error}): fetch it again"
        ) from error
    counts = [model.get_vecattr(word, "count") for word in model.index_to_key]
    vectors = Vectors(model.index_to_key, model.vectors, np.array(counts, np.int64))
    return keep_usable(path, vectors, max_vocab)


def _read_packed_npz(file: BinaryIO, path: str, max_vocab: int | None) -> Vectors:
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "vectors.npz")
        with open(copy, "wb") as target:
            shutil.copyfileobj(file, target, _BLOCK)
        try:
            vectors = Vectors.load(copy)
        except ValueError as error:
            raise ValueError(str(error).replace(copy, path)) from error
        return keep_usable(path, vectors, max_vocab)


def _read_binary(file: BinaryIO, path: str, max_vocab: int | None, size: int | None) -> Vectors:
    """Reads word2vec's format: a line with both sizes, then each word, a space and its float32s."""
    fields = file.readline(_SAMPLE).split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or not int(fields[1]):
        raise ValueError(
            f"{path}:1: expected the number of words and the number of dimensions, found "
            f"{b' '.join(fields)[:60]!r}. Text files are named .vec or .txt"
        )
    announced, dim = map(int, fields)
    width = 4 * dim
    # The first line of a damaged file may announce more words than memory can hold.
    capacity = None if size is None else min(announced, size // width)
    collector = Collector(path, dim, max_vocab, capacity)
    buffer = b""
    start = 0
    number = 0
    ended = False
    while number < announced and not collector.full and not ended:
        # Wide vectors need larger blocks, so that each block has whole rows.
        block = file.read(max(_BLOCK, 8 * width))
        ended = not block
        data = buffer[start:] + block
        start = 0
        words = []
        places = []
        while number + len(words) < announced:
            space = data.find(b" ", start)
            if space < 0 or space + 1 + width > len(data):
                break
            # Some programs write a line end before each word.
            words.append(data[start:space].lstrip(b"\n"))
            places.append(space + 1)
            start = space + 1 + width
        buffer = data
        if words:
            rows = [np.frombuffer(data, "<f4", dim, place) for place in places]
            numbers = range(number + 1, number + 1 + len(words))
            collector.add(words, np.stack(rows), numbers)
            number += len(words)
        # No word is that long: the file has another format.
        elif len(data) > _LONGEST_WORD + width + _BLOCK:
            break
    if number < announced and not collector.full:
        collector.report["missing_words"] = announced - number
        collector.examples["missing_words"] = f"{path}:1: {announced} {dim}"
    return collector.vectors("word2vec's binary format")


def _write_text(file: BinaryIO, vectors: Vectors) -> None:
    file.write(f"{len(vectors)} {vectors.dim}\n".encode())
    for first in range(0, len(vectors), _ROWS):
        part = np.ascontiguousarray(vectors.vectors[first : first + _ROWS], np.float32)
        # The text of a list of rows, "[[1,2],[3,4]]", cut into one text a row.
        rows = orjson.dumps(part, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].split(b"],[")
        words = vectors.words[first : first + _ROWS]
        file.write(
            b"".join(
                b"%b %b\n" % (word.encode("utf-8", errors="replace"), row.replace(b",", b" "))
                for word, row in zip(words, rows)
            )
        )


def _write_binary(file: BinaryIO, vectors: Vectors) -> None:
    file.write(f"{len(vectors)} {vectors.dim}\n".encode())
    for first in range(0, len(vectors), _ROWS):
        part = np.asarray(vectors.vectors[first : first + _ROWS], "<f4")
        file.write(
            b"".join(
                b"%b %b\n" % (word.encode("utf-8", errors="replace"), row.tobytes())
                for word, row in zip(vectors.words[first : first + _ROWS], part)
            )
        )


def _write_npz(file: BinaryIO, vectors: Vectors) -> None:
    # A gzip stream cannot seek back, as writing a zip archive needs.
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "vectors.npz")
        vectors.save(copy)
        with open(copy, "rb") as source:
            shutil.copyfileobj(source, file, _BLOCK)


_WRITERS: dict[str, Callable[[BinaryIO, Vectors], None]] = {
    ".vec": _write_text,
    ".txt": _write_text,
    ".bin": _write_binary,
    ".npz": _write_npz,
}
