"""Batches that Apache Beam prepares: those of the process itself, and their counts and coverage."""

import gzip
import os
import shutil

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="Apache Beam is of the extra 'beam'")
from apache_beam.io import localfilesystem  # noqa: E402

from clwe_jax import options, presets  # noqa: E402
from clwe_jax.data import prepare, prepared  # noqa: E402
from clwe_jax.data.graph import pipeline  # noqa: E402
from clwe_jax.options.section import to_dict  # noqa: E402
from clwe_jax.text import text_of_run  # noqa: E402

DIRECT = ["--runner=DirectRunner"]
LANGUAGES = "de,en,zh"


class Bucket(localfilesystem.LocalFileSystem):
    """A place that Beam writes and the operating system does not know: bucket:///PATH."""

    @classmethod
    def scheme(cls):
        return "bucket"

    def _local(self, path):
        return path.removeprefix("bucket://")

    def create(self, path, *args, **kwargs):
        return super().create(self._local(path), *args, **kwargs)

    def open(self, path, *args, **kwargs):
        return super().open(self._local(path), *args, **kwargs)

    def exists(self, path):
        return super().exists(self._local(path))

    def mkdirs(self, path):
        super().mkdirs(self._local(path))

    def rename(self, source_file_names, destination_file_names):
        super().rename(
            list(map(self._local, source_file_names)),
            list(map(self._local, destination_file_names)),
        )

    def delete(self, paths):
        for path in map(self._local, paths):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def _list(self, dir_or_prefix):
        for found in super()._list(self._local(dir_or_prefix)):
            found.path = f"bucket://{found.path}"
            yield found

    def split(self, path):
        head, tail = super().split(self._local(path))
        return f"bucket://{head}", tail


@pytest.fixture(scope="module")
def config(small, tmp_path_factory):
    """A run on text with faults: bytes that are not UTF-8, a mark at the beginning, empty lines."""
    folder = tmp_path_factory.mktemp("text")
    for language in LANGUAGES.split(","):
        lines = [line.encode() for line in small.corpus.lines(language)][:700]
        lines[3] += b" \xff\xfe broken"
        lines[5] = b""
        (folder / language).mkdir()
        (folder / language / "a.txt").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines[:300]))
        rest = gzip.compress(b"\n".join(lines[300:]) + b"\n")
        (folder / language / "b.txt.gz").write_bytes(rest)
    config = presets.start_from("mbert", "laptop")
    config.task.update(name="dict_mlm", cross_lingual_share=0.5, choice="uniform")
    config.data.update(to_dict(small.config(source=f"text:{folder}", languages=LANGUAGES)))
    config.data.dictionaries = os.path.join(os.path.dirname(small.directory), "dictionaries")
    config.evals.retrieval.data = config.evals.bli.data = ""
    config.vocab.size = 1_500
    return options.parse(config)


@pytest.fixture(scope="module")
def alone(config, tmp_path_factory):
    """What this process prepares: (folder, meta.json)."""
    folder = str(tmp_path_factory.mktemp("alone") / "out")
    return folder, prepare.prepare(config, folder, heldout_rows=64)


def files_of(folder):
    paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): open(path, "rb").read() for path in paths}


def extras_of(folder):
    return prepared.open_folder(folder).extras


def test_one_part_is_what_this_process_prepares(config, alone, tmp_path):
    """Rows, held-out rows, vocabulary, counts, coverage and figures, byte for byte."""
    prepare.prepare(config, str(tmp_path), heldout_rows=64, pipeline_options=DIRECT, parts=1)
    mine, theirs = files_of(alone[0]), files_of(tmp_path)
    assert mine.keys() == theirs.keys()
    assert not [name for name in mine if mine[name] != theirs[name]]


def test_parts_are_those_of_hosts(config, alone, tmp_path):
    out = f"bucket://{tmp_path}/out"
    meta = prepare.prepare(config, out, heldout_rows=64, pipeline_options=DIRECT, parts=3)
    folder = f"{tmp_path}/out"
    with pytest.raises(ValueError, match="prepared batches"):
        prepare.prepare(config, out, pipeline_options=DIRECT)
    names = [prepared.shard_name(number) for number in range(3)]
    assert sorted(os.listdir(folder)) == ["extras.json", "heldout", "meta.json", *names, "vocab"]

    # Counts of all words, the coverage and the vocabulary are those of the whole text.
    assert extras_of(folder) == extras_of(alone[0])
    assert all(x["repaired"] == 1 for x in extras_of(folder)["description"]["languages"].values())
    assert meta["vocabulary"] == alone[1]["vocabulary"]
    for name in (
        "lines",
        "empty_lines",
        "repaired_lines",
        "words",
        "words_with_entry",
        "cut_words",
    ):
        assert meta["stats"][name] == alone[1]["stats"][name], name

    # The rows of a part are those of a host of three, in their order.
    text = text_of_run.build(config, str(tmp_path / "work"))
    for host, size in enumerate(meta["shards"]):
        source = pipeline.of_run(config, text, 64, host, 3).source(repeat=False)
        batches = [prepared.drop_empty_rows(batch) for batch in source]
        stored = prepared.read_rows(os.path.join(folder, prepared.shard_name(host)))
        found = prepared.unpack(stored, meta["batch"], np.arange(size))
        for name, values in found.items():
            wanted = np.concatenate([batch[name] for batch in batches])
            np.testing.assert_array_equal(values, wanted)

    # Training reads them as any others.
    opened = prepared.open_folder(folder)
    opened.check(config)
    assert len(next(opened.source(batch_size=32, seed=0))["inputs"]) == 32


def test_a_number_of_rows(config, alone, tmp_path, monkeypatch):
    """More than the text has, so that it is read again with other masks."""
    rows = 2 * alone[1]["rows"] + 1
    meta = prepare.prepare(
        config, str(tmp_path), rows=rows, heldout_rows=8, pipeline_options=DIRECT, parts=2
    )
    assert meta["rows"] == rows and meta["shards"] == [rows - rows // 2, rows // 2]
    batch = next(prepared.open_folder(str(tmp_path)).source(batch_size=rows, seed=0))
    assert batch["segment_ids"].any(axis=1).all()
    assert len(np.unique(batch["inputs"], axis=0)) > 0.9 * rows
    assert meta["stats"]["pieces"] == (batch["segment_ids"] > 0).sum()  # of these rows alone


def test_nothing_is_left_of_a_job_that_fails(config, tmp_path):
    with pytest.raises(Exception):
        prepare.prepare(config, str(tmp_path), pipeline_options=["--runner=NoSuchRunner"])
    assert not os.listdir(tmp_path)
