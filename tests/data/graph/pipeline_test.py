"""The whole stream: shares, shards, epochs, held-out text, and going on exactly where it stopped."""

import collections
import functools
import gzip
import lzma
import json
import os

from backports import zstd
import numpy as np
import pytest
import seqio
import tensorflow as tf

from clwe_jax import options, presets
from clwe_jax.data import prepare
from clwe_jax.data.graph import chunks, pipeline, sources, stream as stream_of
from clwe_jax.options.section import to_dict
from clwe_jax.options.tasks import Copies, DictMlm, DictTlm, Mlm
from clwe_jax.text import text_of_run
from clwe_jax.text.corpus import corpora
from clwe_jax.text.text_of_run import RunText

BATCH = 16


GIVEN = {
    "text",
    "batch_size",
    "seed",
    "process_index",
    "process_count",
    "dictionary",
    "dictionaries",
}


@functools.cache  # tracing takes seconds
def make(small, task=DictMlm(), **changes):
    given = dict(
        task=task,
        tokenizer=small.tokenizer,
        dictionary=small.dictionary,
        text=small.corpus,
        batch_size=BATCH,
        seed=0,
    )
    options = {name: changes.pop(name) for name in list(changes) if name not in GIVEN}
    return pipeline.build(small.config(**options), **{**given, **changes})


def build(small, task=DictMlm(), repeat=True, **changes):
    return make(small, task, **changes).source(repeat=repeat)


def take(source, count):
    return [next(source) for _ in range(count)]


def same(one, other):
    return all(np.array_equal(a[name], b[name]) for a, b in zip(one, other) for name in a)


@pytest.fixture(scope="module")
def stream(small):
    """A stream and its first batches: (source, batches)."""
    source = build(small)
    return source, take(source, 300)


def segments(batches):
    """Each segment as (language, piece ids): what was read, whatever the packing."""
    found = []
    for batch in batches:
        for ids, numbers, languages in zip(
            batch["targets"], batch["segment_ids"], batch["source_language_ids"]
        ):
            for number in range(1, numbers.max() + 1):
                mine = numbers == number
                found.append((int(languages[mine][0]), tuple(ids[mine].tolist())))
    return found


def test_batches_have_the_promised_form(small, stream):
    _, batches = stream
    for batch in batches[:3]:
        assert all(value.shape == (BATCH, 32) for value in batch.values())
        assert batch["loss_weights"].dtype == np.float32
        assert all(v.dtype == np.int32 for k, v in batch.items() if k != "loss_weights")
        assert batch["loss_weights"].sum(axis=1).max() <= 8  # a fifth of 32, in steps of four


def test_two_streams_are_the_same_and_a_stopped_one_goes_on(small, stream):
    _, first = stream
    source, other = build(small), make.__wrapped__(small).source()
    # Stopped at the very beginning, in the middle of a chunk's rows, and epochs later.
    for place in (0, 7, 150):
        while source.batches < place:
            next(source)
        other.set_state(source.get_state())
        assert same(take(other, 5), first[place : place + 5]), place
        assert other.stats()["pieces"] == sum(
            int((batch["segment_ids"] > 0).sum()) for batch in first[: place + 5]
        )


def test_another_seed_gives_other_batches(small, stream):
    assert not same(take(build(small, seed=1), 3), stream[1][:3])


def test_pipelines_that_make_rows_alike_share_their_graph(small):
    maker = make(small)._maker
    assert make(small, seed=1, batch_size=BATCH // 2)._maker is maker
    for other in (dict(sequence_length=24), dict(task=DictMlm(masking_rate=0.2))):
        assert make(small, **other)._maker is not maker


def test_states_of_other_streams_are_refused(small, stream):
    source, _ = stream
    with pytest.raises(ValueError, match="other settings"):
        build(small, seed=1).set_state(source.get_state())
    for damaged in (b"", b"not a state"):
        with pytest.raises(ValueError, match="damaged"):
            source.set_state(damaged)
    with pytest.raises(ValueError, match="damaged"):
        source.set_state(source.get_state()[:-100])


def test_a_place_in_a_text_that_has_changed_is_refused(small, tmp_path):
    """Its bytes would be read from the middle of other lines. Folders may move."""
    corpus = split_corpus(small, str(tmp_path / "text"), parts=2, lines=60)
    source = lambda text: make.__wrapped__(small, Mlm(), text=text).source()
    state = source(corpus).get_state()
    moved = corpora.TextCorpus(
        str((tmp_path / "text").rename(tmp_path / "moved")), corpus.languages
    )
    source(moved).set_state(state)
    plain, packed = tmp_path / "moved" / "de" / "0.txt", tmp_path / "moved" / "en" / "1.txt.gz"
    lines = plain.read_text().splitlines()
    plain.write_text("\n".join(reversed(lines)) + "\n")  # of the same size
    packed.rename(packed.with_name("2.txt.gz"))
    other = corpora.TextCorpus(moved.directory, moved.languages)
    names = "de/0.txt, en/1.txt.gz, en/2.txt.gz"
    with pytest.raises(ValueError, match=f"text .*: {names}. Bring"):
        source(other).set_state(state)


def test_a_place_in_the_synonyms_of_another_dictionary_is_refused(small):
    """A place of an earlier release, which has no stamps of dictionaries, is read."""
    source = lambda **stamps: make.__wrapped__(
        small, DictMlm(), dictionaries=lambda: stamps
    ).source()
    state, other = source(de="1 a").get_state(), source(de="1 b", fr="1 c")
    with pytest.raises(ValueError, match="dictionary .*: de, fr. Bring"):
        other.set_state(state)
    with stream_of.unpack(state) as arrays:
        own = json.loads(arrays["own.json"].tobytes())
        del own["dictionaries"]
        arrays["own.json"] = np.frombuffer(json.dumps(own).encode(), np.uint8)
    other.set_state(stream_of.pack(arrays))


@pytest.mark.parametrize(
    "task, counts",
    [
        (DictMlm(), True),
        (Mlm(), False),
        (Mlm(only_words_with_entries=True), True),
        (Copies(), True),
        (Copies(parallel="DIR"), False),
    ],
)
def test_dictionaries_count_where_the_task_reads_them(small, task, counts, tmp_path):
    (tmp_path / "de-en.txt").write_text("hund dog\n")
    folders = {"dictionaries": str(tmp_path), "tests": ""}
    text = RunText(small.tokenizer, folders, small.corpus)
    config = presets.start_from("mbert", "laptop")
    config.evals.bli.data = ""
    made = pipeline.of_run(options.parse(config), text, BATCH, task=task)
    assert list(made.dictionaries()) == (["de-en.txt"] if counts else [])


def test_a_run_knows_the_stamps_of_its_dictionaries(small, tmp_path):
    split_corpus(small, str(tmp_path / "text"), parts=1, lines=60)
    path = tmp_path / "de-en.txt"
    config = presets.start_from("mbert", "laptop")
    config.data.update(
        to_dict(small.config(source=f"text:{tmp_path / 'text'}")), dictionaries=str(tmp_path)
    )
    config.evals.retrieval.data = config.evals.bli.data = ""
    config.vocab.size = 1_000

    def stamps(content):
        path.write_text(content)
        text = text_of_run.build(options.parse(config), str(tmp_path / "run"))
        return pipeline.of_run(options.parse(config), text, BATCH, task=DictMlm()).dictionaries()

    first = stamps("hund dog\nkatze cat\n")
    assert list(first) == ["de-en.txt"] and stamps("hund dog\nkatze dog\n") != first


def test_batches_prepared_from_another_text_are_other_data(small, tmp_path):
    """Though as many rows of the same config: a run does not go on with them."""
    split_corpus(small, str(tmp_path / "text"), parts=1, lines=60)
    config = presets.start_from("mbert", "laptop")
    config.data.update(to_dict(small.config(source=f"text:{tmp_path / 'text'}")), dictionaries="")
    config.evals.retrieval.data = config.evals.bli.data = ""
    config.vocab.size = 1_000
    config = options.parse(config)

    def fingerprint(out):
        return prepare.prepare(config, str(tmp_path / out), rows=16, heldout_rows=8)["fingerprint"]

    first = fingerprint("first")
    assert fingerprint("again") == first
    with open(tmp_path / "text" / "de" / "0.txt", "a", encoding="utf-8") as file:
        file.write("mehr\n")
    assert fingerprint("other") != first


def test_languages_have_the_shares_that_the_temperature_asks_for(small, stream):
    source, _ = stream
    stats = source.stats()
    shares = [stats[f"language_share/{name}"] for name in small.tokenizer.languages]
    assert abs(sum(shares) - 1) < 1e-9
    assert max(abs(share - 1 / 6) for share in shares) < 0.03
    assert 0.4 < stats["cross_lingual_share"] < 0.6
    assert stats["filled_share"] > 0.9
    # At least as many pieces were read as came out; held-out lines are not counted.
    assert stats["pieces"] > stats["words"] * 0.9 and stats["cut_pieces"] == 0


def test_masks_differ_between_epochs(small, stream):
    """300 batches are several epochs: the same sentence comes again with other masks."""
    _, batches = stream
    seen = collections.defaultdict(set)
    for batch in batches:
        own = batch["language_ids"] == batch["source_language_ids"]
        for text, masked, numbers, plain in zip(
            batch["targets"], batch["loss_weights"] > 0, batch["segment_ids"], own
        ):
            for number in range(1, numbers.max() + 1):
                mine = numbers == number
                # Without a label in another language the labels are the sentence.
                if plain[mine].all() and mine.sum() > 10:
                    seen[tuple(text[mine])].add(tuple(masked[mine]))
    repeated = [variants for variants in seen.values() if len(variants) > 1]
    assert len(repeated) > 20


def test_hosts_partition_the_text(small, tmp_path):
    corpus = split_corpus(small, str(tmp_path / "text"), parts=2, lines=60)
    shards = []
    for host in range(2):
        source = build(
            small,
            Mlm(masking_rate=0.0),
            text=corpus,
            repeat=False,
            heldout_share=0.0,
            process_index=host,
            process_count=2,
        )
        shards.append(collections.Counter(segments(source)))
    whole = collections.Counter()
    vocabulary = small.tokenizer.vocabulary
    for number, language in enumerate(small.tokenizer.languages):
        for line in corpus.lines(language):
            ids, _ = small.tokenizer.encode(line, language)
            if len(ids) <= 30:
                whole[number, (vocabulary.cls_id, *ids, vocabulary.sep_id)] += 1
    together = sum(shards, collections.Counter())
    assert sum(whole.values()) > 600 and min(map(len, shards)) > 200
    assert all(together[key] == count for key, count in whole.items())


@pytest.mark.parametrize("hosts", [2, 3, 5])
@pytest.mark.parametrize("files", [1, 3, 10])
def test_sources_deal_files_or_lines(tmp_path, hosts, files):
    names, lines = [], []
    for number in range(files):
        own = [f"{number} {line}" for line in range(50 + number)]
        names.append(str(tmp_path / (f"{number}.txt" + ".gz" * (number % 2))))
        with (gzip.open if number % 2 else open)(names[-1], "wt") as file:
            file.write("\n".join(own))
        lines += own
    source = sources.LineSource(names, "en", 0, 16)
    dealt = [
        [line.decode() for line in source.lines(True, 0, shard).as_numpy_iterator()]
        for shard in (seqio.ShardInfo(host, hosts) for host in range(hosts))
    ]
    assert sorted(sum(dealt, [])) == sorted(lines)
    assert all(dealt)


def test_a_tiny_file_beside_a_large_one_is_read(tmp_path):
    """A pass never ended where no draw fell on it."""
    (tmp_path / "large.txt").write_text("large\n" * 200_000)
    (tmp_path / "tiny.txt").write_text("tiny\n")
    names = [str(tmp_path / "large.txt"), str(tmp_path / "tiny.txt")]
    lines = sources.LineSource(names, "en", 0, 0).lines(True, 0)
    assert b"tiny" in set(lines.take(8_192).as_numpy_iterator())


def split_corpus(small, folder, parts, lines):
    for language in small.tokenizer.languages:
        os.makedirs(os.path.join(folder, language))
        found = [line for line, _ in zip(small.corpus.lines(language), range(parts * lines))]
        for part in range(parts):
            path = os.path.join(folder, language, f"{part}.txt" + (".gz" if part % 2 else ""))
            with (gzip.open if part % 2 else open)(path, "wt", encoding="utf-8") as file:
                file.write("\n".join(found[part * lines : (part + 1) * lines]) + "\n")
    return corpora.TextCorpus(folder, small.tokenizer.languages)


def test_heldout_lines_are_never_trained_on(small):
    plain = Mlm(masking_rate=0.0)
    # Rows long enough for whole sentences: parts of different ones may be alike.
    trained = set(segments(build(small, plain, repeat=False, sequence_length=128)))
    held = make(small, plain, batch_size=4, sequence_length=128).heldout(100)
    assert set(held) == set(small.tokenizer.languages)
    count = 0
    for number, language in enumerate(small.tokenizer.languages):
        kept = segments(held[language])
        assert {language for language, _ in kept} == {number}
        assert not set(kept) & trained
        count += len(kept)
    assert 260 < count < 460  # a share of .05 of six times 1,200 lines

    # The same again, and the same on two hosts together as on one.
    given = dict(sequence_length=128)
    few = held["de"][:2]
    again = make.__wrapped__(small, plain, batch_size=4, **given).heldout(2)["de"]
    assert len(few) == len(again) == 2 and same(few, again)
    halves = [
        make(small, plain, batch_size=2, process_index=host, process_count=2, **given).heldout(2)[
            "de"
        ]
        for host in range(2)
    ]
    for whole, *parts in zip(few, *halves):
        merged = np.concatenate([part["inputs"] for part in parts])
        np.testing.assert_array_equal(merged, whole["inputs"])


def test_heldout_is_by_content():
    lines = tf.constant([f"line {n}" for n in range(20_000)])
    held = chunks.heldout(lines, 0.1).numpy()
    assert abs(held.mean() - 0.1) < 0.01
    np.testing.assert_array_equal(held, chunks.heldout(lines[::-1], 0.1).numpy()[::-1])
    assert not chunks.heldout(lines, 0.0).numpy().any()


@pytest.mark.parametrize("task", [DictMlm(), DictTlm()])
def test_examples_show_switched_words(small, task):
    found = make(small, task).examples(12)
    assert len(found) == 12
    assert {example["language"] for example in found} == set(small.tokenizer.languages)
    for example in found:
        columns = [example[name] for name in ("original", "transformed", "masked", "languages")]
        assert len({len(column) for column in columns}) == 1
        switched = 0
        for before, after, masked, language in zip(*columns):
            if language == example["language"]:
                assert before == after
                continue
            switched += 1
            choices = small.dictionary.synonyms(before, example["language"])
            assert after in choices[language]
            assert masked or isinstance(task, DictTlm)  # where the copy is switched
        assert switched


def test_bad_text_is_repaired_and_counted(small, tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    lines = [
        b"\xef\xbb\xbfwith a mark",
        b"windows line\r",
        b"",
        b"nul\x00byte",
        b"bad \xff byte",
        b"  ",
    ]
    (folder / "en.txt").write_bytes(b"\n".join(lines) + b"\n" + b"the cat " * 350_000 + b"\n")
    corpus = corpora.TextCorpus(str(folder), ("en",))
    tokenizer = type(small.tokenizer)(
        ("en",), small.tokenizer.normalizer, small.tokenizer.segmenter, small.tokenizer.vocabulary
    )
    source = pipeline.build(
        small.config(languages="en", heldout_share=0.0, sequence_length=512),
        task=Mlm(),
        tokenizer=tokenizer,
        dictionary=None,
        text=corpus,
        batch_size=64,
        seed=0,
    ).source(repeat=False)
    batches = list(source)
    stats = source.stats()
    assert stats["words"] == 700_000 + 3 + 2 + 2 + 2
    assert stats["repaired_lines"] == 1
    assert stats["empty_lines"] == 2 and stats["cut_pieces"] == 0
    rows = sum(int((batch["segment_ids"][:, 0] > 0).sum()) for batch in batches)
    assert stats["pieces"] >= stats["words"] + 2 * rows


def test_a_mixture_without_a_language_on_this_host_goes_on(small, tmp_path):
    (tmp_path / "de.txt").write_text("nur eine zeile\n", encoding="utf-8")
    (tmp_path / "en.txt").write_text("line one\nline two\nline three\n", encoding="utf-8")
    blocks = sources.mix(
        {
            name: sources.LineSource([str(tmp_path / f"{name}.txt")], name, number, 4)
            for number, name in enumerate(("de", "en"))
        },
        {"de": 0.5, "en": 0.5},
        seed=0,
        process_index=1,
        process_count=2,
    )
    seen = {line.decode() for block in blocks.take(20) for line in block["lines"].numpy()}
    assert seen == {"line two"}


def test_sample_estimates_the_size(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["x" * int(n) for n in rng.integers(1, 200, 30_000)]
    text = "\n".join(lines) + "\n"
    (tmp_path / "a.txt").write_text(text)
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("".join(f"{n} {n * n} {n % 7}\n" for n in range(100_000)))
    plain = sources.LineSource([str(tmp_path / "a.txt")], "a", 0, 0).sample()
    assert abs(len(plain.texts) * plain.times / len(lines) - 1) < 0.2
    # The blocks have the empty lines too.
    (tmp_path / "c.txt").write_text("\n\n".join(lines) + "\n")
    sparse = sources.LineSource([str(tmp_path / "c.txt")], "a", 0, 0).sample()
    assert abs(len(sparse.texts) * sparse.times / (2 * len(lines)) - 1) < 0.2
    assert 0.4 < np.mean([not x for x in sparse.texts]) < 0.6
    both = sources.LineSource([str(tmp_path / "a.txt"), str(tmp_path / "b.txt.gz")], "a", 0, 0)
    estimate = both.sample().lines
    assert 0.4 < estimate[str(tmp_path / "b.txt.gz")] / 100_000 < 2.5


def test_wrong_settings_are_answered(small):
    with pytest.raises(ValueError, match="temperature=0"):
        build(small, temperature=0.0)
    with pytest.raises(ValueError, match="tfds:NAME"):
        build(small, text="somewhere")


def test_texts_of_all_ways_of_compression_are_the_same_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = "".join(f"line {number}\n" for number in range(20)).encode()
    packed = {"a.txt": text, "b.txt.gz": gzip.compress(text), "c.txt.xz": lzma.compress(text)}
    # The content decides: a server may have unpacked the last one.
    packed |= {"d.txt.zst": zstd.compress(text), "e.txt.gz": text}
    for name, data in packed.items():
        (tmp_path / name).write_bytes(data)
        source = sources.LineSource([str(tmp_path / name)], "en", 0, 0)
        lines = source.lines(shuffle=False, seed=0).as_numpy_iterator()
        assert list(lines) == text.splitlines() == source.sample().texts[:20]
