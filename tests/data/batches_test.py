"""Prepared batches: written, read without TensorFlow, in an order that can be taken up again."""

import collections
import json
import os

import numpy as np
import pytest

from clwe_jax import config as options
from clwe_jax import presets
from clwe_jax.data import batches
from clwe_jax.types import BATCH_DTYPES

LENGTH, LANGUAGES = 12, ("de", "en")


def random_rows(count, seed=0):
    rng = np.random.default_rng(seed)
    rows = {
        name: rng.integers(0, 50, (count, LENGTH)).astype(dtype)
        for name, dtype in BATCH_DTYPES.items()
    }
    rows["inputs"] = rng.integers(0, 40_000, (count, LENGTH)).astype(np.int32)
    rows["language_ids"] %= 2
    rows["source_language_ids"] %= 2
    rows["loss_weights"] = (rng.random((count, LENGTH)) < 0.15).astype(np.float32)
    rows["targets"] = np.where(rows["loss_weights"] > 0, rows["targets"], rows["inputs"])
    return rows


def number_rows(rows, first):
    """Marks every row by its number in `inputs`."""
    rows["inputs"][:, 0] = np.arange(first, first + len(rows["inputs"]))
    rows["loss_weights"][:, 0] = 0
    rows["targets"][:, 0] = rows["inputs"][:, 0]
    return rows


@pytest.fixture
def folder(tmp_path):
    sizes = [50, 50, 23]
    for number, size in enumerate(sizes):
        rows = number_rows(random_rows(size, number), sum(sizes[:number]))
        batches.write_rows(str(tmp_path / batches.shard_name(number)), rows)
    meta = dict(
        version=1, languages=list(LANGUAGES), shards=sizes, fingerprint="1", heldout=["de"],
        sequence_length=LENGTH, max_predictions=4, task={"name": "mlm"},
    )  # fmt: skip
    (tmp_path / "heldout").mkdir()
    batches.write_rows(str(tmp_path / "heldout" / "de.npz"), random_rows(10))
    (tmp_path / batches.META).write_text(json.dumps(meta))
    return str(tmp_path)


def source(folder, size=7, seed=0, index=0, hosts=1):
    return batches.open_folder(folder).source(
        batch_size=size, seed=seed, process_index=index, process_count=hosts
    )


def numbers(several):
    return [int(number) for batch in several for number in batch["inputs"][:, 0]]


def test_what_is_written_is_read(tmp_path):
    rows = random_rows(20)
    path = str(tmp_path / "rows.npz")
    batches.write_rows(path, rows)
    stored = batches.read_rows(path)
    assert stored["inputs"].dtype == np.uint16 and stored["segment_ids"].dtype == np.uint8
    found = batches.unpack(stored, np.arange(20))
    for name, dtype in BATCH_DTYPES.items():
        assert found[name].dtype == dtype
        np.testing.assert_array_equal(found[name], rows[name])
    assert os.listdir(tmp_path) == ["rows.npz"]  # nothing temporary is left


def test_every_row_once_an_epoch_in_another_order(folder):
    found = numbers(next(s) for s in [source(folder, size=41)] * 9)  # 3 epochs of 123 rows
    epochs = [found[:123], found[123:246], found[246:]]
    assert all(sorted(epoch) == list(range(123)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    # Files are taken one after the other, so that each is read once.
    assert len({number // 50 for number in epochs[0][:23]}) == 1


def test_seeds_differ_and_repeat(folder):
    first = numbers([next(source(folder))])
    assert first == numbers([next(source(folder))])
    assert first != numbers([next(source(folder, seed=1))])


def test_goes_on_where_it_stopped(folder):
    whole = source(folder)
    expected = [next(whole) for _ in range(60)]
    for place in (0, 1, 17, 18, 40):
        stopped = source(folder)
        for _ in range(place):
            next(stopped)
        other = source(folder)
        other.set_state(stopped.get_state())
        for batch in expected[place : place + 10]:
            got = next(other)
            assert all(np.array_equal(batch[name], got[name]) for name in BATCH_DTYPES)
    rest = source(folder)
    rest.set_state(whole.get_state())
    assert rest.stats() == whole.stats()


def test_hosts_together_read_what_one_reads(folder):
    alone = source(folder, size=8)
    hosts = [source(folder, size=2, index=index, hosts=4) for index in range(4)]
    for _ in range(40):
        assert numbers([next(alone)]) == numbers(next(host) for host in hosts)


def test_stats(folder):
    stream = source(folder, size=123)
    batch = next(stream)
    stats, filled = stream.stats(), batch["segment_ids"] > 0
    assert stats["pieces"] == filled.sum()
    german = (batch["source_language_ids"][filled] == 0).mean()
    assert stats["language_share/de"] == pytest.approx(german)
    predicted = batch["loss_weights"] > 0
    crossing = batch["language_ids"] != batch["source_language_ids"]
    assert stats["cross_lingual_share"] == pytest.approx(crossing[predicted].mean())


def test_states_of_other_batches_are_refused(folder):
    state = source(folder).get_state()
    for other in (source(folder, seed=1), source(folder, size=5), source(folder, hosts=2)):
        with pytest.raises(ValueError, match="other batches"):
            other.set_state(state)
    with pytest.raises(ValueError, match="damaged"):
        source(folder).set_state(b"{}")


def test_heldout_rows_are_dealt(folder):
    prepared = batches.open_folder(folder)
    one = prepared.heldout(batch_size=4, most=9)["de"]
    assert [int(batch["segment_ids"].any(axis=1).sum()) for batch in one] == [4, 4, 2]
    halves = [
        prepared.heldout(batch_size=2, most=9, process_index=host, process_count=2)["de"]
        for host in range(2)
    ]
    for batch, *parts in zip(one, *halves, strict=True):
        merged = np.concatenate([part["inputs"] for part in parts])
        np.testing.assert_array_equal(merged, batch["inputs"])
    assert len(prepared.heldout(batch_size=4, most=1)["de"]) == 1


def test_a_missing_or_unfinished_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.*clwe_jax.data.prepare"):
        batches.open_folder(str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="unfinished"):
        batches.open_folder(str(tmp_path))
    (tmp_path / batches.META).write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        batches.open_folder(str(tmp_path))
    (tmp_path / batches.META).write_text('{"version": 99}')
    with pytest.raises(ValueError, match="version 99"):
        batches.open_folder(str(tmp_path))


def test_a_damaged_file_is_named(folder):
    path = os.path.join(folder, batches.shard_name(1))
    with open(path, "rb+") as file:
        file.truncate(os.path.getsize(path) // 2)
    stream = source(folder, size=123)
    with pytest.raises(ValueError, match="train-00001.npz is missing or damaged"):
        next(stream)


def test_the_config_must_be_that_of_the_batches(folder):
    prepared = batches.open_folder(folder)
    config = options.base_config()
    config.data.languages, config.data.sequence_length = "de,en", LENGTH
    config.data.max_predictions = 4
    prepared.check(config)
    config.data.sequence_length = 64
    config.task.name = "dict_mlm"
    with pytest.raises(ValueError, match="12 prepared, 64 wanted") as error:
        prepared.check(config)
    assert "config.task" in str(error.value) and "languages" not in str(error.value)


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_text", "seqio", "tensorflow_datasets"):
            raise ModuleNotFoundError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocker())
from clwe_jax.data import batches
prepared = batches.open_folder(sys.argv[1])
source = prepared.source(batch_size=8, seed=0)
print([next(source)["inputs"].shape for _ in range(3)])
print(prepared.tokenizer.words("Die Katze!", "de"), sorted(prepared.heldout(batch_size=2, most=1)))
try:
    import clwe_jax.data.pipeline
except ModuleNotFoundError as error:
    print("blocked:", error)
"""


def test_prepared_and_read_without_tensorflow(small, tmp_path, run_python):
    """End to end: text is prepared, and read by a process in which TensorFlow cannot be imported."""
    from clwe_jax.data import prepare

    config = presets.bert("laptop")
    config.task.update(name="dict_mlm", cross_lingual_share=0.5, choice="uniform")
    config.data.update(small.config())
    config.data.dictionaries = os.path.join(os.path.dirname(small.directory), "dictionaries")
    vocabulary = str(tmp_path / "vocab")
    small.tokenizer.save(vocabulary)
    config.vocab.path = vocabulary
    out = str(tmp_path / "out")
    meta = prepare.prepare(config, out, rows=700, heldout_rows=64)
    assert meta["rows"] == 700 == sum(meta["shards"])
    assert sorted(os.listdir(out)) == [
        "extras.json", "heldout", "meta.json", "train-00000.npz", "vocab",
    ]  # fmt: skip
    done = run_python("-c", BLOCKED, out)
    assert "[(8, 32), (8, 32), (8, 32)]" in done.stdout
    assert "['die', 'katze', '!']" in done.stdout and "blocked" in done.stdout

    prepared = batches.open_folder(out)
    prepared.check(config)
    assert len(prepared.extras["examples"]) == 12
    batch = next(prepared.source(batch_size=700, seed=0))
    vocabulary = small.tokenizer.vocabulary
    predicted = batch["loss_weights"] > 0
    assert abs((batch["inputs"][predicted] == vocabulary.mask_id).mean() - 0.8) < 0.05
    np.testing.assert_array_equal(batch["inputs"][~predicted], batch["targets"][~predicted])
    shares = collections.Counter(batch["source_language_ids"][:, 0].tolist())
    assert set(shares) == set(range(6))
    with pytest.raises(ValueError, match="holds prepared batches already"):
        prepare.prepare(config, out)
