"""Prepared batches: written, read without TensorFlow, in an order that can be taken up again."""

import collections
import gc
import json
import os
import weakref

import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.data import prepare, prepared
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import to_dict
from clwe_jax.runs import inputs
from clwe_jax.types import piece_shapes

LENGTH, LANGUAGES = 12, ("de", "en")


def random_rows(count, seed=0):
    rng = np.random.default_rng(seed)
    rows = {
        name: rng.integers(0, 50, (count, LENGTH)).astype(x.dtype)
        for name, x in piece_shapes(count, LENGTH).items()
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
        prepared.write_rows(str(tmp_path / prepared.shard_name(number)), rows)
    meta = dict(
        version=prepared.VERSION,
        languages=list(LANGUAGES),
        shards=sizes,
        fingerprint="1",
        heldout={"de": 10},
        batch=prepared.form_of(rows),
        sequence_length=LENGTH,
        max_predictions=4,
        task={"name": "mlm"},
    )
    (tmp_path / "heldout").mkdir()
    prepared.write_rows(str(tmp_path / "heldout" / "de.npz"), random_rows(10))
    (tmp_path / prepared.META).write_text(json.dumps(meta))
    return str(tmp_path)


def source(folder, size=7, seed=0, index=0, hosts=1):
    return prepared.open_folder(folder).source(
        batch_size=size, seed=seed, process_index=index, process_count=hosts
    )


def numbers(several):
    return [int(number) for batch in several for number in batch["inputs"][:, 0]]


def assert_round_trip(path, rows):
    prepared.write_rows(path, rows)
    chosen = np.random.default_rng(0).permutation(len(next(iter(rows.values()))))[:15]
    found = prepared.unpack(prepared.read_rows(path), prepared.form_of(rows), chosen)
    assert list(found) == list(rows)
    for name, value in rows.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value[chosen])


def test_what_is_written_is_read(tmp_path):
    path = str(tmp_path / "rows.npz")
    assert_round_trip(path, random_rows(20))
    stored = prepared.read_rows(path)
    assert stored["inputs"].dtype == np.uint16 and stored["segment_ids"].dtype == np.uint8
    assert os.listdir(tmp_path) == ["rows.npz"]  # nothing temporary is left


def test_batches_of_any_task_are_written(tmp_path):
    """Labels of a row, of its pieces, fractions, bits of any shape, negative numbers."""
    rng = np.random.default_rng(1)
    rows = dict(
        inputs=rng.integers(0, 90_000, (20, 5)).astype(np.int32),
        tags=rng.integers(-1, 9, (20, 5)).astype(np.int32),
        label=rng.integers(0, 3, 20).astype(np.int32),
        weight=rng.random(20).astype(np.float32),
        mask=rng.integers(0, 2, (20, 3, 3)).astype(np.float32),
        known=rng.integers(0, 2, 20).astype(bool),
        nothing=np.zeros((20, 4), np.float32),
    )
    rows["label_again"] = np.where(rng.random(20) < 0.2, -5, rows["label"]).astype(np.int32)
    assert_round_trip(str(tmp_path / "rows.npz"), rows)


def test_every_row_once_an_epoch_in_another_order(folder):
    stream = source(folder)
    found = numbers(next(stream) for _ in range(53))  # 3 epochs of 123 rows, and two rows more
    epochs = [found[:123], found[123:246], found[246:369]]
    assert all(sorted(epoch) == list(range(123)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    # Files are taken one after the other, so that each is read once.
    assert len({number // 50 for number in epochs[0][:23]}) == 1


class Rows(dict):
    """A dict that can be watched."""


def test_only_two_files_are_in_memory(folder, monkeypatch):
    seen, read_rows = [], prepared.read_rows

    def watched(path):
        rows = Rows(read_rows(path))
        seen.append(weakref.ref(rows))
        return rows

    monkeypatch.setattr(prepared, "read_rows", watched)
    stream = source(folder)
    for _ in range(60):
        next(stream)
        if sum(rows() is not None for rows in seen) > 2:
            gc.collect()
        assert sum(rows() is not None for rows in seen) <= 2
    assert len(seen) >= 8  # more than three epochs of three files, some read once for two epochs


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
            assert all(np.array_equal(batch[name], got[name]) for name in piece_shapes(1, 1))
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
    assert stats["pieces"] == filled.sum() and stats["filled_share"] == filled.mean()
    assert stats["epochs"] == 1
    german = (batch["source_language_ids"][filled] == 0).mean()
    assert stats["language_share/de"] == pytest.approx(german)
    predicted = batch["loss_weights"] > 0
    assert stats["masked_share"] == pytest.approx(predicted.sum() / filled.sum())
    crossing = batch["language_ids"] != batch["source_language_ids"]
    assert stats["cross_lingual_share"] == pytest.approx(crossing[predicted].mean())


def test_states_of_other_batches_are_refused(folder):
    state = source(folder).get_state()
    for other in (source(folder, seed=1), source(folder, size=5), source(folder, hosts=2)):
        with pytest.raises(ValueError, match="other data"):
            other.set_state(state)
    meta = os.path.join(folder, prepared.META)
    with open(meta, encoding="utf-8") as file:
        changed = {**json.load(file), "fingerprint": "2"}
    with open(meta, "w", encoding="utf-8") as file:
        json.dump(changed, file)
    with pytest.raises(ValueError, match="other data"):
        source(folder).set_state(state)


def test_heldout_rows_are_dealt(folder):
    found = prepared.open_folder(folder)
    one = found.heldout(batch_size=4, max_batches=9)["de"]
    assert [int(batch["segment_ids"].any(axis=1).sum()) for batch in one] == [4, 4, 2]
    halves = [
        found.heldout(batch_size=2, max_batches=9, process_index=host, process_count=2)["de"]
        for host in range(2)
    ]
    for batch, *parts in zip(one, *halves, strict=True):
        merged = np.concatenate([part["inputs"] for part in parts])
        np.testing.assert_array_equal(merged, batch["inputs"])
    assert len(found.heldout(batch_size=4, max_batches=1)["de"]) == 1


def test_without_a_maximum_all_heldout_rows_are_read(folder):
    """It crashed: 0 rows fill no batch."""
    config = options.with_values(
        options.parse(presets.start_from("mbert", "laptop")),
        {"data.source": f"batches:{folder}", "train.batch_size": 4, "evals.mlm.batches": 0},
    )
    batches = inputs.build(config, None).heldout["de"]
    assert sum(int(batch["segment_ids"].any(axis=1).sum()) for batch in batches) == 10


def test_a_missing_or_unfinished_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.*clwe_jax.data.prepare"):
        prepared.open_folder(str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="incomplete"):
        prepared.open_folder(str(tmp_path))
    (tmp_path / prepared.META).write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        prepared.open_folder(str(tmp_path))
    (tmp_path / prepared.META).write_text('{"version": 1}')
    with pytest.raises(ValueError, match="version 1, .* 2.*data.prepare"):
        prepared.open_folder(str(tmp_path))


def test_a_damaged_file_is_named(folder):
    path = os.path.join(folder, prepared.shard_name(1))
    with open(path, "rb+") as file:
        file.truncate(os.path.getsize(path) // 2)
    stream = source(folder, size=123)
    with pytest.raises(ValueError, match="train-00001.npz"):
        next(stream)


def test_the_config_must_be_that_of_the_batches(folder):
    found = prepared.open_folder(folder)
    data = dict(languages="de,en", sequence_length=LENGTH, max_predictions=4)
    config = options.with_values(PretrainRun(), {"data": data})
    found.check(config)
    other = {"data.sequence_length": 64, "task.name": "dict_mlm"}
    with pytest.raises(ValueError, match="12 prepared, 64 wanted") as error:
        found.check(options.with_values(config, other))
    assert "config.task" in str(error.value) and "data.languages" not in str(error.value)
    found.meta["task"] = {"name": "tlm", "parallel": "pairs"}  # the folder need not be there
    found.check(options.with_values(config, {"task": dict(name="tlm", parallel="")}))
    with pytest.raises(ValueError, match="config.task: .*'parallel_share': 0.3"):
        found.check(options.with_values(config, {"task": dict(name="tlm", parallel_share=0.3)}))
    found.meta["task"] = {"name": "dict_mlm", "kept": "text"}  # the option's name in 0.2.0
    found.check(options.with_values(config, {"task": dict(name="dict_mlm", kept_piece="text")}))


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_text", "seqio", "tensorflow_datasets"):
            raise ModuleNotFoundError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocker())
from clwe_jax.data import prepare, prepared
found = prepared.open_folder(sys.argv[1])
source = found.source(batch_size=8, seed=0)
print([next(source)["inputs"].shape for _ in range(3)])
print(found.tokenizer.words("Die Katze!", "de"), sorted(found.heldout(batch_size=2, max_batches=1)))
try:
    import clwe_jax.data.graph.pipeline
except ModuleNotFoundError as error:
    print("blocked:", error)
"""


def test_prepared_and_read_without_tensorflow(small, tmp_path, run_python):
    """End to end: text is prepared, and read by a process in which TensorFlow cannot be imported."""
    from clwe_jax.data import prepare

    config = presets.start_from("dict_mlm_50", "laptop")
    config.data.update(to_dict(small.config()))
    config.data.dictionaries = os.path.join(os.path.dirname(small.directory), "dictionaries")
    vocabulary = str(tmp_path / "vocab")
    small.tokenizer.save(vocabulary)
    config.vocab.path = vocabulary
    config = options.parse(config)
    out = str(tmp_path / "out")
    meta = prepare.prepare(config, out, rows=700, heldout_rows=7)
    assert meta["rows"] == 700 == sum(meta["shards"])
    assert set(meta["heldout"].values()) == {7}  # it was a batch of 256, or all
    assert sorted(os.listdir(out)) == [
        "extras.json",
        "heldout",
        "labels.npz",
        "meta.json",
        "train-00000.npz",
        "vocab",
    ]
    done = run_python("-c", BLOCKED, out)
    assert "[(8, 32), (8, 32), (8, 32)]" in done.stdout
    assert "['die', 'katze', '!']" in done.stdout and "blocked" in done.stdout

    found = prepared.open_folder(out)
    found.check(config)
    assert len(found.extras["examples"]) == 12
    batch = next(found.source(batch_size=700, seed=0))
    for key, shape in piece_shapes(700, 32, entries=True).items():
        assert (batch[key].shape, batch[key].dtype) == (shape.shape, shape.dtype)
    vocabulary = small.tokenizer.vocabulary
    predicted = batch["loss_weights"] > 0
    assert abs((batch["inputs"][predicted] == vocabulary.mask_id).mean() - 0.2) < 0.05
    # The labels of the entries are beside the rows, and an entry has its word among them.
    labels = found.labels()
    entries = batch["entries"][predicted] - 1
    first, last = labels.splits[entries], labels.splits[entries + 1]
    own = zip(first[:50], last[:50], batch["targets"][predicted][:50])
    assert all(target in labels.pieces[a:b] for a, b, target in own)
    os.remove(os.path.join(out, "labels.npz"))
    with pytest.raises(ValueError, match="labels.npz is missing"):
        found.labels()
    shares = collections.Counter(batch["source_language_ids"][:, 0].tolist())
    assert set(shares) == set(range(6))
    with pytest.raises(ValueError, match="prepared batches"):
        prepare.prepare(config, out)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="--out=.*file"):
        prepare.prepare(options.from_file("configs/mbert.py"), str(tmp_path / "file"))


def test_a_job_without_batches_is_refused(tmp_path):
    with pytest.raises(ValueError, match="static"):
        prepare.prepare(options.from_file("configs/align_procrustes.py"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_model_of_hugging_face_brings_its_vocabulary(tmp_path):
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters)]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    described = dict(
        model_type="bert",
        num_hidden_layers=1,
        hidden_size=8,
        num_attention_heads=2,
        intermediate_size=8,
        vocab_size=len(pieces),
        max_position_embeddings=64,
    )
    (tmp_path / "config.json").write_text(json.dumps(described))
    values = {
        "init.parameters": f"hf:{tmp_path}",
        "data.languages": "en,de",
        "data.pocket_sentences": 50,
    }
    config = options.with_values(options.parse(presets.start_from("mbert", "laptop")), values)
    prepare.prepare(config, str(tmp_path / "out"), rows=10)
    assert (tmp_path / "out" / "vocab" / "vocab.txt").read_text().split() == pieces
