"""Mining by Apache Beam, of two texts that are larger than a machine; see `over_files`.

Each text is cut into parts by a hash of its lines, equal lines once. A task makes the vectors of a part,
or searches a part of one text among a part of the other; the nearest sentences of each are merged where
Beam's runner says. The pairs follow from these here, from 48 bytes a sentence. The search is exact: N x M
products. A worker needs the package, and the model and the files at the paths that the command names.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
import threading
import uuid
import zlib
from typing import Iterable, Iterator

from absl import logging
import numpy as np

from clwe_jax import api, compiled, places
from clwe_jax.align import csls, mining
from clwe_jax.align.mining import Nearest
from clwe_jax.api.loaded import LoadedModel

_LOCK = threading.Lock()  # a worker runs several tasks at once

# (text 0 or 1, number of its part)
Part = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Job:
    """What a worker must know.

    Attributes:
      model: what `api.load` opens.
      files: file of each text, or a pattern with *.
      languages: of the texts.
      out: beginning of the names of the job's own files, which go when it ends.
      parts: parts of each text.
      pipeline_options: options of Beam's pipeline, such as --runner=DirectRunner.
    """

    model: str
    files: tuple[str, str]
    languages: tuple[str, str]
    out: str
    parts: int
    pipeline_options: tuple[str, ...]
    name: str = dataclasses.field(default_factory=lambda: f"beam_{uuid.uuid4().hex[:12]}")

    def path(self, name: str) -> str:
        """The path of a file of the job's own."""
        return f"{self.out}.{self.name}-{name}"

    def part(self, line: str) -> int:
        """The part that a line belongs to."""
        return zlib.crc32(line.encode()) % self.parts


def mine(job: Job, least: float) -> Iterator[tuple[float, str, str]]:
    """Yields margin, sentence and translation of the pairs of `mining.mine`, best first.

    Raises:
      ValueError: a file that does not exist, or a text without sentences.
      ImportError: Beam is not installed.
    """
    for path in job.files:
        if not places.matching(path):
            raise ValueError(f"{path} is not a file")
    try:
        _run(job)
        yield from _pairs(job, least)
    finally:
        places.remove(job.path("*"))


def _run(job: Job) -> None:
    """Writes the lines, the vectors and the nearest sentences of each part."""
    import apache_beam as beam

    logging.info("Mining %d x %d parts of the texts by Apache Beam", job.parts, job.parts)
    settings = beam.options.pipeline_options.PipelineOptions(list(job.pipeline_options))
    every = list(itertools.product(range(job.parts), repeat=2))
    with beam.Pipeline(options=settings) as flow:
        made = [
            flow
            | f"{language}: read" >> beam.io.ReadFromText(path, coder=beam.coders.BytesCoder())
            | f"{language}: lines" >> beam.FlatMap(functools.partial(_keyed, job, side))
            | f"{language}: parts" >> beam.GroupByKey()
            | f"{language}: vectors" >> beam.MapTuple(functools.partial(_write_vectors, job))
            for side, (path, language) in enumerate(zip(job.files, job.languages))
        ]
        sizes = made | beam.Flatten()
        _ = (
            flow
            | beam.Create(every)
            | beam.Reshuffle()
            | "search" >> beam.FlatMap(_nearest, job, beam.pvalue.AsDict(sizes))
            | "merge" >> beam.CombinePerKey(_merged)
            | "write" >> beam.MapTuple(functools.partial(_write_nearest, job))
        )


def _keyed(job: Job, side: int, line: bytes) -> Iterator[tuple[Part, str]]:
    text = line.decode("utf-8", "ignore").lstrip("\ufeff").rstrip("\r\n")
    if text.strip():
        yield (side, job.part(text)), text


@functools.cache
def _model(job: Job) -> LoadedModel:
    compiled.keep()
    return api.load(job.model, languages=job.languages if job.model.startswith("hf:") else ())


def _write_vectors(job: Job, part: Part, lines: Iterable[str]) -> tuple[Part, int]:
    """Writes the lines of a part and their vectors, always the same ones, so that a repeated try does no harm."""
    distinct = sorted(set(lines))
    with _LOCK:
        vectors = _model(job).sentence_vectors(distinct, job.languages[part[0]])
    with places.writing(job.path("lines-{}-{}".format(*part))) as file:
        file.write("\n".join(distinct).encode())
    _write(job, "vectors", part, vectors)
    return part, len(distinct)


def _nearest(
    numbers: tuple[int, int], job: Job, sizes: dict[Part, int]
) -> Iterator[tuple[Part, Nearest]]:
    """Yields the nearest sentences of a part of either text in a part of the other."""
    parts = list(enumerate(numbers))
    if not all(part in sizes for part in parts):
        return
    vectors = {part: _read(job, "vectors", part) for part in parts}
    for part, other in (parts, parts[::-1]):
        k = min(mining.NEIGHBOURHOOD, sizes[other])
        keys, cosines = map(np.asarray, csls.nearest(vectors[part], vectors[other], k))
        first = sum(sizes.get((other[0], number), 0) for number in range(other[1]))
        yield part, Nearest(keys.astype(np.int64) + first, cosines)


def _merged(found: Iterable[Nearest]) -> Nearest:
    return mining.merged(found, mining.NEIGHBOURHOOD)


def _write_nearest(job: Job, part: Part, nearest: Nearest) -> None:
    for name, values in nearest._asdict().items():
        _write(job, name, part, values)


def _pairs(job: Job, least: float) -> Iterator[tuple[float, str, str]]:
    sides, lines = [], []
    for side in (0, 1):
        parts = [(side, n) for n in range(job.parts) if places.exists(job.path(f"keys-{side}-{n}"))]
        if not parts:
            raise ValueError(f"{' and '.join(job.files)}: expected sentences in both files")
        values = ([_read(job, name, part) for part in parts] for name in Nearest._fields)
        sides.append(Nearest(*map(np.concatenate, values)))
        texts = (places.read(job.path("lines-{}-{}".format(*part))).decode() for part in parts)
        lines.append([line for text in texts for line in text.split("\n")])
    k = min(side.keys.shape[1] for side in sides)  # below the paper's where a text has fewer sentences
    mined = mining.best_first(*(Nearest(keys[:, :k], cosines[:, :k]) for keys, cosines in sides))
    for i, j, margin in zip(*mined.take(mined.scores >= least)):
        yield float(margin), lines[0][i], lines[1][j]


def _write(job: Job, name: str, part: Part, values: np.ndarray) -> None:
    with places.writing(job.path(f"{name}-{part[0]}-{part[1]}")) as file:
        np.save(file, values, allow_pickle=False)


def _read(job: Job, name: str, part: Part) -> np.ndarray:
    return np.load(io.BytesIO(places.read(job.path(f"{name}-{part[0]}-{part[1]}"))), allow_pickle=False)
