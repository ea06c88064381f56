"""Parallel text: which files are pairs, what is refused, and the stream of both kinds of rows."""

import gzip
import json
import lzma

import numpy as np
import pytest
import seqio
import tensorflow as tf

from clwe_jax import options, presets
from clwe_jax.data import prepared
from clwe_jax.data.graph import chunks, offline, parallel, pipeline, texts
from clwe_jax.options.section import to_dict
from clwe_jax.options.tasks import Tlm
from clwe_jax.text import text_of_run

LANGUAGES = ("de", "en", "fr")


def write(folder, files):
    for name, lines in files.items():
        open_file = gzip.open if name.endswith(".gz") else open
        with open_file(folder / name, "wt", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


def pairs_of(source, **options):
    return [
        (first.decode(), second.decode())
        for block in source.get_dataset(**{"shuffle": False, "seed": 0, **options})
        for first, second in zip(block["first"].numpy(), block["second"].numpy())
    ]


def test_files_are_paired(tmp_path):
    german, english = [f"de {n}" for n in range(20)], [f"en {n}" for n in range(20)]
    write(
        tmp_path,
        {
            "de-en.en": english,
            "de-en.de": german,
            "de-fr.tsv.gz": ["eins\tun", "zwei\tdeux\ttrois", "nur eine Spalte"],
            "ja-zh.tsv": ["a\tb"],
            "README.md": ["not a pair"],
            "en-fr.fr.gz": ["un"],
            "en-fr.en.gz": ["one"],
        },
    )
    found = parallel.find(str(tmp_path), LANGUAGES, 100)
    assert set(found) == {"de-en", "de-fr", "en-fr"}
    assert found["de-en"].languages == (0, 1)
    assert pairs_of(found["de-en"]) == list(zip(german, english))
    assert pairs_of(found["de-fr"]) == [("eins", "un"), ("zwei", "deux")]
    assert pairs_of(found["en-fr"]) == [("one", "un")]
    # Shuffled and dealt to hosts, lines stay with their translations.
    dealt = [
        pairs_of(found["de-en"], shuffle=True, shard_info=seqio.ShardInfo(host, 3))
        for host in range(3)
    ]
    assert sorted(sum(dealt, [])) == sorted(zip(german, english))
    assert dealt[0] != sorted(dealt[0])


def test_a_compressed_side_is_stamped_by_its_own_name(tmp_path, monkeypatch):
    """Its unpacked copy has another name after the file was moved, and restarts were refused."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, text in (("de-en.de.xz", b"eins\n"), ("de-en.en.xz", b"one\n")):
        (tmp_path / name).write_bytes(lzma.compress(text))
    [source] = parallel.find(str(tmp_path), LANGUAGES, 100).values()
    assert pairs_of(source) == [("eins", "one")]
    assert list(source.list_shards("train")) == [
        str(tmp_path / "de-en.de.xz"),
        str(tmp_path / "de-en.en.xz"),
    ]


def test_the_beginning_of_the_files_names_is_a_place(tmp_path):
    write(tmp_path, {"train.en": ["one"], "train.de": ["eins"], "train.fr.gz": ["un"]})
    found = parallel.find(str(tmp_path / "train"), LANGUAGES, 100)
    assert {name: pairs_of(source) for name, source in found.items()} == {
        "de-en": [("eins", "one")],
        "de-fr": [("eins", "un")],
        "en-fr": [("one", "un")],
    }
    assert found["en-fr"].languages == (1, 2)


def test_a_pair_counts_alike_in_one_file_and_in_two(small, tmp_path):
    """Its share of the rows does not depend on how its text is stored."""
    german, english = (list(small.corpus.lines(x))[:300] for x in ("de", "en"))
    two, one = tmp_path / "two", tmp_path / "one"
    two.mkdir(), one.mkdir()
    write(two, {"de-en.de": german, "de-en.en": english})
    # Tables of Tatoeba have a third column, the licence, which is no text.
    write(
        one, {"de-en.tsv": [f"{a}\t{b}\tCC-BY 2.0 (tatoeba.org)" for a, b in zip(german, english)]}
    )
    languages, encoder = small.tokenizer.languages, texts.TextEncoder(small.tokenizer, None)
    found = {x.name: parallel.find(str(x), languages, 100)["de-en"] for x in (two, one)}
    rates = texts.rates(found, encoder, 1.0)
    assert rates["one"] == pytest.approx(rates["two"], rel=0.05)
    assert set(found["one"].sample().languages) == set(found["one"].languages)


def test_bad_folders_are_answered(tmp_path):
    with pytest.raises(FileNotFoundError, match="config.task.parallel=.*nowhere"):
        parallel.find(str(tmp_path / "nowhere"), LANGUAGES, 10)
    with pytest.raises(FileNotFoundError, match="xx-yy.xx"):
        parallel.find(str(tmp_path), LANGUAGES, 10)
    write(tmp_path, {"de-en.de": ["a", "b"], "de-en.en": ["a"]})
    with pytest.raises(ValueError, match="2 lines and .*de-en.en 1"):
        parallel.find(str(tmp_path), LANGUAGES, 10)
    (tmp_path / "de-en.en").unlink()
    with pytest.raises(ValueError, match="de-en.en"):
        parallel.find(str(tmp_path), LANGUAGES, 10)


@pytest.mark.parametrize(
    "name, content, message",
    [
        (
            "de-en.tsv",
            b"eins ||| one\nzwei ||| two\n",
            "no line has a sentence and its translation",
        ),
        ("de-en.tsv", b"", "no line has a sentence and its translation"),
        ("de-en.tsv", "eins\tone\n".encode("utf-16"), "UTF-16"),
        (
            "de-en.tsv.gz",
            gzip.compress(b"eins\tone\n", mtime=0)[:-9],
            "is damaged .*: fetch it again",
        ),
    ],
)
def test_text_without_a_pair_that_can_be_read_is_answered(tmp_path, name, content, message):
    """A stream without a pair would search for ever."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        parallel.find(str(tmp_path), LANGUAGES, 10)


def test_rows_of_both_kinds_alternate(small, tmp_path):
    sides = {}
    for language in ("de", "en"):
        lines = [line for line, _ in zip(small.corpus.lines(language), range(200))]
        sides[f"de-en.{language}"] = lines
    write(tmp_path, sides)

    def build():
        return pipeline.build(
            small.config(sequence_length=64),
            task=Tlm(parallel=str(tmp_path), parallel_share=0.25),
            tokenizer=small.tokenizer,
            dictionary=None,
            text=small.corpus,
            batch_size=16,
            seed=0,
        ).source()

    source = build()
    batches = [next(source) for _ in range(12)]
    vocabulary = small.tokenizer.vocabulary
    for batch in batches:
        first = batch["segment_ids"] == 1
        is_pair = ((batch["targets"] == vocabulary.sep_id) & first).sum(axis=1) == 2
        assert is_pair.sum() == 4
        # Spread over the batch, so that its parts on several devices are alike.
        assert [int(part.sum()) for part in np.split(is_pair, 4)] == [1, 1, 1, 1]
        for row in np.flatnonzero(is_pair):
            mine = first[row]
            languages = batch["source_language_ids"][row][mine]
            assert languages[0] == 0 and languages[-1] == 1
            change = int(np.flatnonzero(np.diff(languages))[0]) + 1
            expected = [*range(change), *range(mine.sum() - change)]
            assert batch["positions"][row][mine].tolist() == expected
            # Both sides are masked over, and both are predicted in their own language.
            np.testing.assert_array_equal(
                batch["language_ids"][row], batch["source_language_ids"][row]
            )
    assert 0.1 < source.stats()["masked_share"] < 0.2

    other = build()
    other.set_state(source.get_state())
    for _ in range(5):
        one, two = next(source), next(other)
        assert all(np.array_equal(one[name], two[name]) for name in one)

    with open(tmp_path / "de-en.en", "a", encoding="utf-8") as file:
        file.write("One more\n")
    with open(tmp_path / "de-en.de", "a", encoding="utf-8") as file:
        file.write("Einer mehr\n")
    with pytest.raises(ValueError, match="text has changed .*: de-en.de, de-en.en. Bring"):
        build().set_state(source.get_state())


def test_a_pass_through_sentence_pairs_alone_ends(small, tmp_path):
    """Each pair without a held-out side once; `prepare` without a number of rows would fill the disk."""
    sides = [list(small.corpus.lines(language))[:100] for language in ("de", "en")]
    write(tmp_path, {"de-en.tsv": [f"{a}\t{b}" for a, b in zip(*sides)]})
    source = pipeline.build(
        small.config(sequence_length=128),
        task=Tlm(parallel=str(tmp_path), parallel_share=1.0),
        tokenizer=small.tokenizer,
        dictionary=None,
        text=small.corpus,
        batch_size=16,
        seed=0,
    ).source(repeat=False)
    pairs = 0
    for batch, _ in zip(source, range(100)):
        assert len(batch["inputs"]) == 16
        pairs += int(batch["segment_ids"].max(axis=1).sum())
    heldout = [chunks.heldout(tf.constant(side), 0.05).numpy() for side in sides]
    # Some pairs have a held-out side in one language, some in the other: neither is trained on.
    assert heldout[0].any() and heldout[1].any()
    assert pairs == 100 - np.any(heldout, axis=0).sum()


def test_a_part_of_a_pass_by_beam_keeps_the_text(small, tmp_path):
    """The last batch of each part was dropped: up to 128 rows of text."""
    sides = [list(small.corpus.lines(language))[:100] for language in ("de", "en")]
    write(tmp_path, {"de-en.tsv": [f"{a}\t{b}" for a, b in zip(*sides)]})
    config = presets.start_from("xlm", "laptop")
    config.data.update(to_dict(small.config(sequence_length=32)))
    config.task.parallel = str(tmp_path)
    config = options.parse(config)
    small.tokenizer.save(str(tmp_path / "vocab"))
    job = offline.CachingJob(json.dumps(to_dict(config)), str(tmp_path), 2, 0, ())
    part = offline._row_parts(job, config, str(tmp_path), None)["rows"]
    run_text = text_of_run.RunText(small.tokenizer, {"parallel": str(tmp_path)}, small.corpus)
    alone = options.with_values(config, {"task.parallel_share": 0.0})

    def filled_rows(batches):
        inputs = [prepared.drop_empty_rows(batch)["inputs"] for batch in batches]
        return [row.tobytes() for row in np.concatenate(inputs)]

    rows = filled_rows(part(1, 2).as_numpy_iterator())
    text = filled_rows(pipeline.of_run(alone, run_text, 256, 1, 2).source(repeat=False))
    # All rows of the part's text, the last ones too, and as many of pairs.
    assert not set(text) - set(rows)
    assert len(rows) == 2 * len(text) and len(text) % 128


@pytest.mark.parametrize("rows, share, pairs", [(1, 0.5, 0), (1, 0.7, 1), (16, 0.01, 0)])
def test_a_share_of_too_few_rows_is_refused(small, rows, share, pairs):
    """Else a host would read no sentence pair, or nothing else."""
    message = (
        f"config.task.parallel_share={share} of a host's {rows} rows is {pairs}: .*train.batch_size"
    )
    with pytest.raises(ValueError, match=message):
        pipeline.build(
            small.config(),
            task=Tlm(parallel="DIR", parallel_share=share),
            tokenizer=small.tokenizer,
            dictionary=None,
            text=small.corpus,
            batch_size=rows,
            seed=0,
        ).dataset(repeat=True)


def test_sentence_pairs_without_parallel_text_are_answered(small):
    with pytest.raises(ValueError, match="config.data.pairs=DIR"):
        pipeline.build(
            small.config(),
            task=Tlm(parallel=""),
            tokenizer=small.tokenizer,
            dictionary=None,
            text=small.corpus,
            batch_size=16,
            seed=0,
        ).dataset(repeat=True)
