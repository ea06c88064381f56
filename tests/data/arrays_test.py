"""Finite data: epochs are permutations, hosts share, buckets lose nothing, places are exact."""

import itertools
import json

import numpy as np
import pytest

from clwe_jax.data.arrays import Arrays, ArraySource
from clwe_jax.types import BatchSource


def dense(count):
    return dict(
        number=np.arange(count, dtype=np.int32),
        inputs=np.arange(3 * count, dtype=np.int32).reshape(count, 3),
        weight=np.ones(count, np.float32),
    )


def ragged(count, longest=20, seed=0):
    """Rows of 1 to `longest` ids; the first id is the row's number + 1."""
    lengths = np.random.default_rng(seed).integers(1, longest + 1, count)
    rows = [[number + 1, *[7] * (n - 1)] for number, n in enumerate(lengths.tolist())]
    return dict(number=list(range(count)), inputs=rows)


class Lazy:
    """Rows that are read when asked for."""

    def __init__(self, data):
        self._arrays = Arrays(data)
        self.read = []

    def __len__(self):
        return len(self._arrays)

    def rows(self, indices):
        assert len(indices)
        self.read += indices.tolist()
        return self._arrays.rows(indices)


class InFiles(Lazy):
    """The same in files of some sizes."""

    def __init__(self, data, sizes):
        super().__init__(data)
        self.sizes, self.expected = sizes, []

    def expect(self, files):
        self.expected.append(tuple(files))


def numbers(batches):
    return [int(number) for batch in batches for number in batch["number"]]


def take(source, count):
    return list(itertools.islice(source, count))


def same(one, other):
    return len(one) == len(other) and all(
        a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
        for a, b in zip(one, other)
    )


@pytest.mark.parametrize("last", ["pad", "drop", "join"])
@pytest.mark.parametrize("count, size", [(10, 1), (10, 5), (11, 4), (7, 7), (130, 8)])
def test_every_epoch_is_a_permutation(count, size, last):
    source = ArraySource(dense(count), size, last=last, padding={"number": -1})
    rows = {"pad": -(-count // size) * size, "drop": count // size * size, "join": count}[last]
    found = numbers(take(source, 4 * rows // size + 1))
    epochs = [found[start : start + rows] for start in range(0, 4 * rows, rows)]
    for epoch in epochs:
        real = [number for number in epoch if number >= 0]
        assert len(set(real)) == len(real) == min(rows, count)
        assert set(real) <= set(range(count))
    assert count < 8 or len({tuple(epoch) for epoch in epochs}) == 4


def test_seeds_differ_and_repeat():
    first = numbers(take(ArraySource(dense(50), 10), 5))
    assert first == numbers(take(ArraySource(dense(50), 10), 5))
    assert first != numbers(take(ArraySource(dense(50), 10, seed=1), 5))
    assert numbers(take(ArraySource(dense(50), 10, shuffle=False), 5)) == list(range(50))


def test_columns_belong_together():
    for batch in take(ArraySource(dense(30), 7), 10):
        filled = batch["weight"] > 0
        np.testing.assert_array_equal(batch["inputs"][filled, 0], 3 * batch["number"][filled])
        assert {key: value.dtype for key, value in batch.items()} == {
            key: value.dtype for key, value in dense(1).items()
        }


@pytest.mark.parametrize("column", [[[], [1, 2]], [[1, 2], []], [[], [[1.5, 2.5]] * 2]])
def test_an_empty_row_has_no_type(column):
    kind = np.float32 if 1.5 in np.ravel(column[-1]) else np.int32
    rows = Arrays({"inputs": column}).rows(np.arange(2))["inputs"]
    assert [len(row) for row in rows] == [len(row) for row in column]
    assert [row.dtype for row in rows] == [kind] * 2


def test_a_single_pass_ends():
    source = ArraySource(dense(10), 4, shuffle=False, epochs=1, padding={"number": -1})
    batches = list(source)
    assert numbers(batches) == [*range(10), -1, -1]
    assert not batches[-1]["weight"][2:].any() and not batches[-1]["inputs"][2:].any()
    assert next(source, None) is None and source.stats()["epochs"] == 1
    assert len(list(ArraySource(dense(10), 4, epochs=3, last="drop"))) == 6


OPTIONS = [
    dict(last="join"),
    dict(last="pad"),
    dict(last="drop"),
    dict(last="pad", buckets=(5, 9, 20)),
    dict(last="drop", buckets=(5, 9, 20)),
    dict(shuffle=False, epochs=2, buckets=(8, 20)),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("hosts", [2, 3])
def test_hosts_together_read_what_one_reads(options, hosts):
    data = ragged(29)
    alone = ArraySource(data, 6, **options)
    parts = [
        ArraySource(data, 6 // hosts, process_index=host, process_count=hosts, **options)
        for host in range(hosts)
    ]
    count = 0
    for whole, *shares in itertools.islice(zip(alone, *parts, strict=True), 20):
        count += 1
        for key, value in whole.items():
            np.testing.assert_array_equal(np.concatenate([x[key] for x in shares]), value)
    assert count >= 9


@pytest.mark.parametrize(
    "options, files",
    [(x, files) for x in OPTIONS for files in (False, True) if not (files and "buckets" in x)],
    ids=str,
)
def test_interrupted_is_uninterrupted_at_every_place(options, files):
    data = ragged(23)

    def make():
        if not files:
            return ArraySource(data, 5, **options)
        lengths = Arrays(data).lengths
        return ArraySource(InFiles(data, [9, 1, 13]), 5, lengths=lengths, **options)

    whole = take(make(), 15)
    for place in range(len(whole) + 1):
        stopped, other = make(), make()
        take(stopped, place)
        next(other)  # a source that was used goes there, too
        other.set_state(stopped.get_state())
        assert same(take(other, 15 - place), whole[place:]), place
        assert other.stats() == make_stats(make(), len(whole))


def make_stats(source, steps):
    take(source, steps)
    return source.stats()


def test_a_place_does_not_depend_on_the_number_of_hosts():
    one = ArraySource(dense(29), 6)
    before = take(one, 7)
    halves = [ArraySource(dense(29), 3, process_index=i, process_count=2) for i in range(2)]
    for half in halves:
        half.set_state(one.get_state())
    expected = next(one)
    found = np.concatenate([next(half)["number"] for half in halves])
    np.testing.assert_array_equal(found, expected["number"])
    assert not np.array_equal(found, before[-1]["number"])


@pytest.mark.parametrize("count, size", [(200, 8), (37, 5), (3, 8), (1, 1)])
def test_buckets_lose_nothing(count, size):
    data, widths = ragged(count), (4, 8, 20)
    source = ArraySource(data, size, buckets=widths)
    for _ in range(3):
        found = {}
        for batch in take(source, -(-count // size)):
            width = batch["inputs"].shape[1]
            assert batch["inputs"].shape == (size, width) and width in widths
            longest = 0
            for row in batch["inputs"]:
                ids = row[row > 0].tolist()
                assert not row[len(ids) :].any()
                longest = max(longest, len(ids))
                if ids:
                    assert ids[0] not in found
                    found[ids[0]] = ids
        assert found == {row[0]: list(row) for row in data["inputs"]}


def test_buckets_put_rows_of_like_length_together():
    data, widths = ragged(1_000), (5, 10, 20)
    batches = take(ArraySource(data, 10, buckets=widths), 100)
    loose = 0
    for batch in batches:
        width = batch["inputs"].shape[1]
        lengths = (batch["inputs"] > 0).sum(axis=1)
        loose += (lengths <= {5: 0, 10: 5, 20: 10}[width]).sum()
    # Only what a bucket has left over stands among longer rows: less than a batch of each.
    assert loose < 20
    # The widths are mixed over the epoch.
    shown = [batch["inputs"].shape[1] for batch in batches]
    assert set(shown[:30]) == set(widths) and shown != sorted(shown)


def test_without_buckets_all_rows_have_the_width_of_the_longest():
    data = dict(a=[[1], [1, 2, 3]], b=[[4, 5], [6]], c=[0.5, 1.5], d=[[[1, 2]], [[3, 4], [5, 6]]])
    source = ArraySource(data, 3, shuffle=False, padding={"b": -1})
    batch = next(source)
    np.testing.assert_array_equal(batch["a"], [[1, 0, 0], [1, 2, 3], [0, 0, 0]])
    np.testing.assert_array_equal(batch["b"], [[4, 5, -1], [6, -1, -1], [-1, -1, -1]])
    np.testing.assert_array_equal(batch["c"], [0.5, 1.5, 0])
    assert batch["d"].shape == (3, 3, 2) and batch["d"][1, 1].tolist() == [5, 6]
    assert [batch[key].dtype for key in "abcd"] == [np.int32, np.int32, np.float32, np.int32]


def test_a_table_is_read_row_by_row():
    table = Lazy(dense(10))
    whole = take(ArraySource(dense(10), 4), 6)
    assert same(take(ArraySource(table, 4), 6), whole)
    # A host reads its own rows, and one more where it has none.
    table = Lazy(dense(5))
    second = list(ArraySource(table, 4, shuffle=False, epochs=1, process_index=1, process_count=2))
    assert table.read == [4] and second[0]["number"].tolist() == [4, 0, 0, 0]
    table = Lazy(dense(3))
    second = list(ArraySource(table, 4, epochs=1, process_index=1, process_count=2))
    assert len(table.read) == 1 and not second[0]["weight"].any()


def test_files_are_read_one_after_the_other():
    sizes = [4, 6, 3]
    table = InFiles(dense(13), sizes)
    source = ArraySource(table, 2, last="join")
    found = numbers(take(source, 39))
    file_of = np.repeat([0, 1, 2], sizes)
    files, turns = [], []  # in turn, and the turn of each row
    for start in range(0, 78, 13):
        epoch = found[start : start + 13]
        assert sorted(epoch) == list(range(13))
        for file, rows in itertools.groupby(file_of[epoch]):
            turns += [len(files)] * len(list(rows))
            files.append(file)
    assert len(files) == 6 * 3
    # The file of a batch's first row is expected, and the one after it, of the next epoch too.
    for turn, expected in zip(turns[::2], table.expected, strict=True):
        assert len(expected) == 2
        assert list(expected[: len(files) - turn]) == files[turn : turn + 2]


class Summed:
    def count(self, batch):
        return {"sum": int(batch["number"].sum())}

    def stats(self, sums):
        return {"sum": sums["sum"]}


def test_figures_are_saved_with_the_place():
    source = ArraySource(dense(10), 5, counts=Summed())
    batches = take(source, 3)
    assert source.stats() == {"epochs": 1.5, "sum": sum(numbers(batches))}
    other = ArraySource(dense(10), 5, counts=Summed())
    other.set_state(source.get_state())
    assert other.stats() == source.stats()


def test_states_of_other_sources_are_refused():
    def make(data=None, size=5, table=None, **options):
        return ArraySource(table or data or ragged(20), size, **options)

    state = make().get_state()
    make().set_state(state)
    changed = ragged(20)
    changed["inputs"][3] = [1_000, *changed["inputs"][3][1:]]
    others = [
        make(seed=1),
        make(size=4),
        make(shuffle=False),
        make(last="drop"),
        make(epochs=2),
        make(ragged(20, seed=1)),
        make(ragged(19)),
        make(changed),
        make(buckets=(10, 20)),
        make(padding={"number": -1}),
        make(process_count=2),
    ]
    for other in others:
        with pytest.raises(ValueError, match="--workdir"):
            other.set_state(state)
    state = make(table=Lazy(dense(9)), fingerprint="a").get_state()
    with pytest.raises(ValueError, match="other data"):
        make(table=Lazy(dense(9)), fingerprint="b").set_state(state)
    for damaged in (b"", b"no", b"{}", b"[1]", json.dumps(dict(json.loads(state), step="x"))):
        with pytest.raises(ValueError, match="another release"):
            make().set_state(damaged)


def test_what_cannot_be_read_is_said():
    with pytest.raises(ValueError, match="equally many rows.*'b': 3"):
        ArraySource(dict(a=np.zeros(2), b=np.zeros(3)), 1)
    with pytest.raises(ValueError, match="equally many rows"):
        ArraySource({}, 1)
    with pytest.raises(ValueError, match="0 rows"):
        ArraySource(dict(a=np.zeros(0)), 1)
    with pytest.raises(ValueError, match="batches of 0"):
        ArraySource(dense(3), 0)
    with pytest.raises(ValueError, match="last='some': one of pad, drop, join"):
        ArraySource(dense(3), 1, last="some")
    with pytest.raises(ValueError, match="4 rows .* 3"):
        ArraySource(dense(3), 2, last="drop", process_count=2)
    with pytest.raises(ValueError, match="last='join' needs"):
        ArraySource(dense(3), 1, last="join", epochs=2)
    with pytest.raises(ValueError, match="must ascend"):
        ArraySource(ragged(3), 1, buckets=(20, 10))
    with pytest.raises(ValueError, match="Row 1 has 9 .* 8"):
        ArraySource(dict(a=[[1], [1] * 9]), 1, buckets=(4, 8))
    with pytest.raises(ValueError, match="buckets="):
        ArraySource(dense(3), 1, buckets=(4,))
    with pytest.raises(ValueError, match="'inputs' .*lengths"):
        next(ArraySource(Lazy(ragged(3)), 1))
    with pytest.raises(ValueError, match="int32"):
        ArraySource(dict(a=[2**40]), 1)


def test_is_a_batch_source():
    source = ArraySource(dense(3), 2)
    methods = [name for name in vars(BatchSource) if callable(getattr(BatchSource, name))]
    assert {"get_state", "set_state", "stats", "__next__"} <= set(methods)
    assert all(callable(getattr(source, name)) for name in methods)
    assert iter(source) is source and isinstance(source.get_state(), bytes)


def test_sources_with_one_width_seed_have_batches_of_the_same_widths():
    rng = np.random.default_rng(0)
    rows = {"x": [np.arange(n, dtype=np.int32) for n in rng.integers(1, 17, 70)]}

    def widths(seed, width_seed):
        source = ArraySource(
            rows, 4, seed=seed, epochs=1, buckets=(4, 8, 16), width_seed=width_seed
        )
        return [batch["x"].shape[1] for batch in source]

    first, second = widths(1, 9), widths(2, 9)
    assert first[:-1] == second[:-1] and len(set(first)) == 3  # the last batch holds what remains
    assert widths(1, None)[:-1] != widths(2, None)[:-1]
