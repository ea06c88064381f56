"""Mining by Apache Beam, of two texts that are larger than a machine.

Each text is cut into parts by a hash of its lines; lines that differ in case, punctuation, white space or a leading
number of a list alone count once (`text.corpus.repeats`). A task makes the vectors of a part, or searches a part of one
text among a part of the other, with both parts' vectors in memory; the nearest sentences of each are merged where Beam's
runner says. The pairs follow from these on the machine that starts the job, which holds some 300 bytes a sentence. The
search is exact: N x M products. A worker needs the package, and the model and the files at the paths that the command names.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
import threading
import uuid
import zlib
from typing import Iterable, Iterator, Sequence

import numpy as np

from clwe_jax import api, remote_files
from clwe_jax.align import csls, mining, search
from clwe_jax.align.mining import Nearest
from clwe_jax.text.corpus.repeats import sentence_key
from clwe_jax.text.lines import BOM, LineCounts, decode_lines, is_other_encoding, warn_of_repairs

_LOCK = threading.Lock()  # a worker runs several tasks at once
_ROWS = 1_024  # parts are filled up to a multiple of it, so that all searches are one program
_COUNTED = ("lines", "repaired lines")  # of each text

# (text 0 or 1, number of its part)
Part = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class MiningJob:
    """What a worker must know.

    Attributes:
      model: what `api.load` opens.
      files: absolute path of each text, or an absolute pattern with *.
      languages: of the texts.
      out: absolute; the names of the job's own files begin with it, and they go when the job ends.
      parts: parts of each text.
      pipeline_options: options of Beam's pipeline, such as --runner=DirectRunner.
    """

    model: str
    files: tuple[str, ...]
    languages: tuple[str, ...]
    out: str
    parts: int
    pipeline_options: tuple[str, ...]
    name: str = dataclasses.field(default_factory=lambda: f"beam_{uuid.uuid4().hex[:12]}")

    def path(self, name: str, part: Part | None = None) -> str:
        """The path of a file of the job's own."""
        place = "" if part is None else f"-{part[0]}-{part[1]}"
        return f"{self.out}.{self.name}-{name}{place}"


def mine(job: MiningJob, least: float) -> Iterator[tuple[float, str, str]]:
    """Yields margin, sentence and translation of the pairs of `mining.mine`, best first.

    Args:
      job: what to do.
      least: smallest margin of a pair.

    Raises:
      ValueError: an unknown language, a file that does not exist, or a text without sentences.
      FileNotFoundError: as of `api.load`.
      ImportError: Beam is not installed.
    """
    for path in job.files:
        if not remote_files.match_paths(path):
            raise ValueError(f"{path} is not a file")
    for language in job.languages:  # before any worker starts
        _model(job).encode([language], language)
    try:
        _run(job)
        yield from _pairs(job, least)
    finally:
        remote_files.remove(job.path(""))


def _run(job: MiningJob) -> None:
    """Writes the lines, the vectors and the nearest sentences of each part."""
    import apache_beam as beam

    settings = beam.options.pipeline_options.PipelineOptions(list(job.pipeline_options))
    # Beam's lines do not know where they stand, and a mark is one at the beginning of a file alone.
    files = itertools.chain.from_iterable(map(remote_files.match_paths, job.files))
    first_lines = map(remote_files.first_line, files)
    bom_lines = frozenset(line for line in first_lines if line.startswith(BOM))
    part_pairs = list(itertools.product(range(job.parts), repeat=2))
    with beam.Pipeline(options=settings) as flow:
        part_sizes = [
            flow
            | f"{side}: read" >> beam.io.ReadFromText(path, coder=beam.coders.BytesCoder())
            | f"{side}: lines" >> beam.FlatMap(functools.partial(_key_line, job, side, bom_lines))
            | f"{side}: parts" >> beam.GroupByKey()
            | f"{side}: vectors" >> beam.MapTuple(functools.partial(_write_vectors, job))
            for side, path in enumerate(job.files)
        ]
        sizes = part_sizes | beam.Flatten()
        _ = (
            flow
            | beam.Create(part_pairs)
            # Else Beam would search all pairs of parts in the task that lists them.
            | beam.Reshuffle()
            | "search" >> beam.FlatMap(_nearest, job, beam.pvalue.AsDict(sizes))
            | "merge" >> beam.CombinePerKey(_merge_parts)
            | "write" >> beam.MapTuple(functools.partial(_write_nearest, job))
        )
    metrics = flow.result.metrics()
    for side, path in enumerate(job.files):
        queries = [
            metrics.query(beam.metrics.MetricsFilter().with_name(f"{side}: {name}"))
            for name in _COUNTED
        ]
        counts = LineCounts(*(sum(x.result for x in query["counters"]) for query in queries))
        if is_other_encoding(counts.lines, counts.repaired_lines):
            raise ValueError(
                f"{path}: {counts.repaired_lines:,} of {counts.lines:,} lines are not UTF-8: convert "
                "the text with `iconv -f ENCODING -t UTF-8`"
            )
        warn_of_repairs(path, counts)


def _key_line(
    job: MiningJob, side: int, marked: frozenset[bytes], line: bytes
) -> Iterator[tuple[Part, str]]:
    """A line with its part.

    Args:
      marked: first lines of files that begin with a byte-order mark.
    """
    from apache_beam.metrics import Metrics

    counts = LineCounts()
    if line.rstrip(b"\r") in marked:
        line = line.removeprefix(BOM)
    [text] = decode_lines(line, counts)
    for name, count in zip(_COUNTED, (1, counts.repaired_lines)):
        Metrics.counter("clwe_jax", f"{side}: {name}").inc(count)
    if not text.strip():
        return
    yield (side, zlib.crc32(sentence_key(text).encode()) % job.parts), text


@functools.cache
def _model(job: MiningJob) -> api.Model:
    # Workers call it within `_LOCK`: two tasks would else load the model twice.
    return api.load_for(job.model, job.languages)


def _write_vectors(job: MiningJob, part: Part, lines: Iterable[str]) -> tuple[Part, int]:
    """Writes the lines of a part and their vectors; a repeated try writes the same ones."""
    by_key: dict[str, str] = {}
    for line in sorted(lines):
        by_key.setdefault(sentence_key(line), line)
    distinct = sorted(by_key.values())
    with _LOCK:
        vectors = _model(job).encode(distinct, job.languages[part[0]])
    with remote_files.writing(job.path("lines", part)) as file:
        file.write("\n".join(distinct).encode())
    _write(job, "vectors", part, vectors)
    return part, len(distinct)


def _nearest(
    numbers: tuple[int, int], job: MiningJob, sizes: dict[Part, int]
) -> Iterator[tuple[Part, Nearest]]:
    """Yields the nearest sentences of a part of either text in a part of the other."""
    parts = list(enumerate(numbers))
    if not all(part in sizes for part in parts):
        return
    rows = -(-max(sizes.values()) // _ROWS) * _ROWS
    vectors = {}
    for part in parts:
        part_vectors = _read(job, "vectors", part)
        vectors[part] = np.pad(part_vectors, ((0, rows - len(part_vectors)), (0, 0)))
    for part, other_part in (parts, parts[::-1]):
        k = min(mining.NEIGHBOURHOOD, sizes[other_part])
        # Rows that fill a part up are infinitely far from every query.
        absent = np.where(np.arange(rows) < sizes[other_part], 0, np.inf)
        keys = search.chunk_keys(vectors[other_part], absent, k)
        nearest = search.search(vectors[part], keys, 1.0, k, csls.MEMORY_BYTES)
        near, cosines = (np.asarray(x)[: sizes[part]] for x in nearest)
        # Sentences are numbered through all parts of a text.
        first_number = sum(sizes.get((other_part[0], number), 0) for number in range(other_part[1]))
        yield part, Nearest(near.astype(np.int64) + first_number, cosines)


def _merge_parts(parts: Iterable[Nearest]) -> Nearest:
    return mining.merge_nearest(parts, mining.NEIGHBOURHOOD)


def _write_nearest(job: MiningJob, part: Part, nearest: Nearest) -> None:
    for name, values in nearest._asdict().items():
        _write(job, name, part, values)


def _filled_parts(job: MiningJob, side: int) -> list[Part]:
    """The parts of a text that have lines."""
    parts = [(side, number) for number in range(job.parts)]
    return [part for part in parts if remote_files.exists(job.path("lines", part))]


def _read_nearest(job: MiningJob, parts: Sequence[Part]) -> Nearest:
    """The nearest sentences of a text, its parts one after the other."""
    fields = []
    for name in Nearest._fields:
        fields.append(np.concatenate([_read(job, name, part) for part in parts]))
    return Nearest(*fields)


def _pairs(job: MiningJob, least: float) -> Iterator[tuple[float, str, str]]:
    texts = [_filled_parts(job, side) for side in (0, 1)]
    for path, parts in zip(job.files, texts):
        if not parts:
            raise ValueError(f"{path}: expected sentences")
    sides = [_read_nearest(job, parts) for parts in texts]
    k = min(side.keys.shape[1] for side in sides)  # fewer where a text has fewer sentences
    mined = mining.best_first(*(Nearest(keys[:, :k], cosines[:, :k]) for keys, cosines in sides))
    mined = mined.take(mined.scores >= least)
    lines = [_lines(job, parts, rows) for parts, rows in zip(texts, (mined.source, mined.target))]
    for margin, source, target in zip(mined.scores, *lines):
        yield float(margin), source, target


def _lines(job: MiningJob, parts: Iterable[Part], rows: np.ndarray) -> list[str]:
    """The lines of some rows, with those of one part in memory beside them."""
    row_lines = [""] * len(rows)
    first = 0
    order = np.argsort(rows)
    sorted_rows = rows[order]
    for part in parts:
        lines = remote_files.read(job.path("lines", part)).decode().split("\n")
        begin, end = np.searchsorted(sorted_rows, (first, first + len(lines)))
        for place in order[begin:end].tolist():
            row_lines[place] = lines[rows[place] - first]
        first += len(lines)
    return row_lines


def _write(job: MiningJob, name: str, part: Part, values: np.ndarray) -> None:
    with remote_files.writing(job.path(name, part)) as file:
        np.save(file, values, allow_pickle=False)


def _read(job: MiningJob, name: str, part: Part) -> np.ndarray:
    return np.load(io.BytesIO(remote_files.read(job.path(name, part))), allow_pickle=False)
