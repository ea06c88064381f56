"""Words counted, and rows of a task made, by Apache Beam: for text that is larger than a machine.

The text is read in parts, each as one of so many hosts of a run reads its own. A part is a shard of a
seqio task, which seqio's transforms run where Beam's runner says. A worker needs the package, and text,
parallel text and output at the paths that the config and the command name; vocabulary, dictionary and
embedded world come to it through the output, which may be any folder that Beam writes.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import json
import os
import pathlib
import posixpath
import re
import tempfile
import threading
import uuid
import zipfile
from typing import Any, Callable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np
import seqio
import tensorflow as tf

from clwe_jax import options, remote_files, terminal
from clwe_jax.data import prepared
from clwe_jax.data.counts import PieceCounts
from clwe_jax.data.graph import pipeline, sources, texts
from clwe_jax.data.graph.examples import COUNTERS
from clwe_jax.data.graph.segmentation import GraphSegmenter
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text import text_of_run
from clwe_jax.text.corpus import corpora
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.lines import LineCounts
from clwe_jax.text.text_of_run import RunText
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter

_FILE_ROWS = 8_192
_BLOCKS = 64  # blocks of text whose words are counted at once
_DICTIONARY = "dictionary.npz"
_LOCK = threading.Lock()  # a worker runs several parts at once
_FOLDERS: list[tempfile.TemporaryDirectory] = []  # of fetched files; they go when the worker ends

# (number of the part, number of parts) -> the examples of the part
Part = Callable[[int, int], tf.data.Dataset]


@dataclasses.dataclass(frozen=True)
class CachingJob:
    """What a worker must know; it is small, because every task carries it.

    Attributes:
      config: the run's config, as JSON.
      out: folder of the output.
      parts: number of parts of the text.
      rows: rows to make; 0 means one pass through the text.
      pipeline_options: options of Beam's pipeline, such as --runner=DirectRunner.
      name: first part of the names of the tasks, and of the files in `out` that go when the job ends.
    """

    config: str
    out: str
    parts: int
    rows: int
    pipeline_options: tuple[str, ...]
    name: str = dataclasses.field(default_factory=lambda: f"beam_{uuid.uuid4().hex[:12]}")

    def path(self, name: str) -> str:
        """The path of a file of the job's own."""
        return posixpath.join(self.out, f"{self.name}-{name}")

    def task(self, name: str) -> str:
        """The name of a task; seqio allows letters and digits."""
        return f"{self.name}_{re.sub(r'[^0-9a-zA-Z]', '_', name)}"

    def rows_of(self, part: int) -> int:
        """The rows that a part makes of `rows`."""
        return self.rows // self.parts + (part < self.rows % self.parts)


def run_text(job: CachingJob, config: PretrainRun, work: str) -> RunText:
    """The text side of a run, as `text_of_run.build` makes it, from counts of the whole text.

    Repaired lines are counted, lines with Windows line ends are not.
    """
    folders = text_of_run.resolve_folders(config, work)
    normalizer = text_of_run.normalizer_of(config)
    dictionary = training_dictionary.load(config, folders, work, normalizer)
    if config.vocab.path:  # such a vocabulary may segment in its own way
        text_of_run.load_tokenizer(config, work, None, dictionary, normalizer)
    _open(config, work)  # names a missing text before a worker does
    _send(job, work, dictionary)
    _run(job, options.languages(config), words=True)

    def count_words(language: str) -> corpora.WordCounts:
        counts = collections.defaultdict(collections.Counter)
        for (kind, name), count in _results(job, language):
            counts[kind][name] = count
        lines = counts["lines"]
        return counts["words"], LineCounts(lines["lines"], lines["repaired"], share=1.0)

    return text_of_run.build(config, work, count_words)


def write_rows(
    job: CachingJob, work: str, text: RunText
) -> tuple[list[int], prepared.Form, dict[str, float]]:
    """Writes files of rows to the output, as `prepared` reads them.

    Returns:
      The number of rows of each file, the form of a row, and the figures of a `GraphSource`.
    """
    _send(job, work, text.dictionary)
    _run(job, ["rows"], words=False)
    files = sorted(_results(job, "rows"), key=lambda file: file["path"])
    sums: collections.Counter[str] = collections.Counter()
    for file in files:
        sums.update(file["sums"])
    stats = PieceCounts(text.languages).stats(sums) | {name: sums[name] for name in COUNTERS}
    shards = [file for file in files if file["rows"]]
    names = [posixpath.join(job.out, prepared.shard_name(number)) for number in range(len(shards))]
    if shards:
        remote_files.systems().rename([file["path"] for file in shards], names)
    return [file["rows"] for file in shards], shards[0]["form"] if shards else {}, stats


def _run(job: CachingJob, names: Sequence[str], words: bool) -> None:
    """Runs tasks, whose results go to a file each."""
    import apache_beam as beam
    from seqio import beam_utils

    action = "Counting the words of" if words else "Making the rows of"
    logging.info("%s %d parts of the text by Apache Beam", action, job.parts)
    settings = beam.options.pipeline_options.PipelineOptions(list(job.pipeline_options))
    # seqio logs whole examples.
    with terminal.log_only(logging.WARNING), beam.Pipeline(options=settings) as flow:
        for name in names:
            task = seqio.Task(job.task(name), _Parts(job), {}, preprocessors=[])
            # The provenance names the file of a batch, so that a repeated try writes the same one.
            results = flow | f"{name}: examples" >> beam_utils.PreprocessTask(
                task, "train", setup_fn=functools.partial(_set_up, job, words), add_provenance=True
            )
            if words:
                results |= f"{name}: words" >> beam.FlatMap(_word_counts)
                results |= f"{name}: sums" >> beam.CombinePerKey(sum)
            else:
                results |= f"{name}: files" >> beam.Map(functools.partial(_write, job))
            path = job.path(f"{name}.json")
            _ = results | f"{name}: results" >> beam_utils.WriteJson(path, prettify=False)


def _results(job: CachingJob, name: str) -> Iterator[Any]:
    return map(json.loads, remote_files.read(job.path(f"{name}.json")).splitlines())


class _Parts(seqio.DataSource):
    """The parts of a text as shards. Without a function that reads them it only names them."""

    supports_arbitrary_sharding = False

    def __init__(self, job: CachingJob, part: Part | None = None):
        super().__init__(splits=("train",))
        self._count = job.parts
        self._part = part

    def list_shards(self, split: str) -> Sequence[str]:
        return [f"part {number} of {self._count}" for number in range(self._count)]

    def get_dataset(
        self, split="train", shuffle=True, seed=None, shard_info=None, **_: Any
    ) -> tf.data.Dataset:
        return self._part(shard_info.index, shard_info.num_shards)


def _set_up(job: CachingJob, words: bool) -> None:
    with _LOCK:
        _register(job, words)


@functools.cache
def _register(job: CachingJob, words: bool) -> None:
    """Registers the job's tasks in this worker."""
    _FOLDERS.append(tempfile.TemporaryDirectory())
    work = _FOLDERS[-1].name
    zipfile.ZipFile(io.BytesIO(remote_files.read(job.path("work.zip")))).extractall(work)
    config = options.parse(json.loads(job.config))
    dictionary = dictionaries.from_cache(os.path.join(work, _DICTIONARY))
    make = _word_parts if words else functools.partial(_row_parts, job)
    for name, part in make(config, work, dictionary).items():
        seqio.TaskRegistry.add(job.task(name), _Parts(job, part), {}, preprocessors=[])


def _open(config: PretrainRun, work: str) -> corpora.TextCorpus | str:
    """`RunText.text` of a run."""
    if config.data.source.startswith("tfds:"):
        return config.data.source
    folder = text_of_run.folders_of(config, work)["text"]
    return corpora.TextCorpus(folder, options.languages(config))


def _word_parts(
    config: PretrainRun, work: str, dictionary: dictionaries.Dictionary | None
) -> dict[str, Part]:
    """Language -> function that makes examples of distinct words and their counts."""
    languages = options.languages(config)
    normalizer = text_of_run.normalizer_of(config)
    segmenter = Segmenter({x: dictionary.lexicon(x) for x in languages} if dictionary else {})
    if os.path.exists(os.path.join(work, "vocab")):
        tokenizer = Tokenizer.load(os.path.join(work, "vocab"))
        normalizer = tokenizer.normalizer
        segmenter = tokenizer.segmenter
    segment = GraphSegmenter(languages, normalizer, segmenter.lexicons)

    @functools.partial(  # traced once
        tf.function,
        autograph=False,
        input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.int32)],
    )
    def count_words(lines, number):
        words = segment(lines, tf.fill([tf.size(lines)], number))
        word, _, times = tf.unique_with_counts(words.text)
        return dict(word=word, times=times, lines=tf.size(lines), repaired=words.repaired)

    def part(number: int, source: sources.TextSource, index: int, count: int) -> tf.data.Dataset:
        lines = source.lines(shuffle=False, seed=0, shard=seqio.ShardInfo(index, count))
        blocks = tf.data.Dataset.zip(
            lines.batch(_BLOCKS * source.block_lines), sources.repeat_number(number)
        )
        return blocks.map(tf.autograph.experimental.do_not_convert(count_words))

    opened = texts.open_texts(_open(config, work), languages, 0, config.data.tfds_dir)
    return {x: functools.partial(part, n, source) for n, (x, source) in enumerate(opened.items())}


def _word_counts(example: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], int]]:
    for word, times in zip(example["word"].numpy().tolist(), example["times"].numpy().tolist()):
        yield ("words", word.decode("utf-8")), times
    yield from ((("lines", name), int(example[name])) for name in ("lines", "repaired"))


def _row_parts(
    job: CachingJob, config: PretrainRun, work: str, dictionary: dictionaries.Dictionary | None
) -> dict[str, Part]:
    """A function that makes batches of rows, each of which fills a file."""
    text = RunText(
        tokenizer=Tokenizer.load(os.path.join(work, "vocab")),
        folders=text_of_run.folders_of(config, work),
        text=_open(config, work),
        dictionary=dictionary,
    )
    # Of small batches, because rows of pairs are spread over each.
    run_pipeline = pipeline.of_run(config, text, prepared.BATCH)

    def part(index: int, count: int) -> tf.data.Dataset:
        batches = run_pipeline.for_host(index, count).dataset(repeat=bool(job.rows))
        files = -(-job.rows_of(index) // _FILE_ROWS) if job.rows else -1
        return batches.rebatch(_FILE_ROWS).take(files)

    return {"rows": part}


def _write(job: CachingJob, example: Mapping[str, Any]) -> dict[str, Any]:
    """Writes a batch to a file, always the same one, so that a repeated try does no harm."""
    from seqio import beam_utils

    index = int(example[beam_utils.SOURCE_SHARD_ID_PROVENANCE_KEY])
    number = int(example[beam_utils.ID_WITHIN_SHARD_PROVENANCE_KEY])
    batch = {x: y.numpy() for x, y in example.items() if x not in beam_utils.PROVENANCE_KEYS}
    if job.rows:  # the part's last file ends with the last of its rows, and counts no further ones
        count = job.rows_of(index) - number * _FILE_ROWS
        full = batch["segment_ids"].any(axis=1).cumsum()
        batch = {name: value[: np.searchsorted(full, count) + 1] for name, value in batch.items()}
    sums = dict(zip(COUNTERS, batch.pop("counters").sum(axis=0).tolist()))
    sums |= PieceCounts(options.languages(options.parse(json.loads(job.config)))).count(batch)
    batch = prepared.drop_empty_rows(batch)
    rows = len(batch["inputs"])
    path = job.path(f"rows-{index:05d}-{number:05d}.npz")
    if rows:
        prepared.write_rows(path, batch, remote_files.writing)
    return {"path": path, "rows": rows, "form": prepared.form_of(batch), "sums": sums}


def _send(job: CachingJob, work: str, dictionary: dictionaries.Dictionary | None) -> None:
    """Sends the folder `work` and the dictionary to the workers."""
    if dictionary is not None:
        dictionaries.to_cache(dictionary, os.path.join(work, _DICTIONARY))
    with (
        remote_files.writing(job.path("work.zip")) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in _files(work):
            archive.write(path, os.path.relpath(path, work))


def _files(folder: str) -> list[str]:
    return [str(path) for path in pathlib.Path(folder).rglob("*") if path.is_file()]


def copy_folder(folder: str, out: str, last: str) -> None:
    """Copies a folder of this machine to any place that Beam writes, the file `last` at the end."""
    for path in sorted(_files(folder), key=lambda path: path.endswith(last)):
        target = posixpath.join(out, *os.path.relpath(path, folder).split(os.sep))
        with open(path, "rb") as file, remote_files.writing(target) as copy:
            copy.write(file.read())
