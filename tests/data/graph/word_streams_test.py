"""Contiguous streams of words: what a batch says, read back word by word; places, shards, shares."""

import collections
import dataclasses
import functools
import os

import numpy as np
import pytest
import tensorflow as tf
from absl import logging

from clwe_jax.data import prepare
from clwe_jax.data.graph import chunks, pipeline, word_chunks
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.tasks import BiLm
from clwe_jax.text.corpus import corpora
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer

LANGUAGES = ("en", "fr", "ja")
LENGTH, ROWS = 11, 8
GIVEN = {"task", "text", "batch_size", "process_index", "process_count", "seed"}


@pytest.fixture(scope="module")
def corpus(small):
    return corpora.TextCorpus(small.directory, LANGUAGES)


@pytest.fixture(scope="module")
def words(small, corpus):
    """A tokenizer of words, some of the text's unknown to it."""
    return Tokenizer.build(
        languages=LANGUAGES,
        normalizer=Normalizer(),
        corpus=corpus,
        dictionary=small.dictionary,
        kind="word",
        size=800,
    )


@pytest.fixture(scope="module")
def make(small, corpus, words):
    @functools.cache  # tracing takes seconds
    def make(**changes):
        given = dict(
            task=BiLm(), tokenizer=words, dictionary=None, text=corpus, batch_size=ROWS, seed=0
        )
        given |= {name: changes.pop(name) for name in list(changes) if name in GIVEN}
        shards = changes.pop("shards", ())
        config = small.config(**{"sequence_length": LENGTH, "chunk_lines": 64, **changes})
        return dataclasses.replace(pipeline.build(config, **given), shards=shards)

    return make


@pytest.fixture(scope="module")
def build(make):
    return lambda repeat=True, **changes: make(**changes).source(repeat)


def take(source, count):
    return [next(source) for _ in range(count)]


def same(one, other):
    assert len(one) == len(other)
    return all(np.array_equal(a[name], b[name]) for a, b in zip(one, other) for name in a)


def spelt(characters):
    """[50] characters -> the word; '<S>' and '</S>' where they are those."""
    return _spelt(characters.tobytes())


@functools.cache
def _spelt(characters):
    inside = np.frombuffer(characters, np.int32)[1:].tolist()
    inside = inside[: inside.index(259)]
    if inside in ([256], [257]):
        return {256: "<S>", 257: "</S>"}[inside[0]]
    return bytes(inside).decode("utf-8")


def rows_of(batches, name="spelling"):
    """Each row's words as they are spelt, and their languages, padding left out."""
    rows = [([], []) for _ in batches[0]["words"]]
    for batch in batches:
        text = [spelt(c) if c[0] != 260 else None for c in batch["characters"]]
        for row, (found, languages) in enumerate(rows):
            filled = batch["loss_weights"][row] > 0
            found += [text[i] for i in batch[name][row][filled]]
            languages += batch["language_ids"][row][filled].tolist()
    return rows


def sentences_of(rows):
    """(language, words) of the whole sentences; every one stands in its frame."""
    found = []
    for words, languages in rows:
        place = words.index("<S>")
        while "</S>" in words[place:]:
            assert words[place] == "<S>"
            end = words.index("</S>", place)
            assert "<S>" not in words[place + 1 : end] and len(set(languages[place : end + 1])) == 1
            found.append((languages[place], tuple(words[place + 1 : end])))
            place = end + 1
    return found


def lines_of(corpus, tokenizer, share, evaluation):
    """(language, words) of the lines that are held out, or of the others."""
    found = collections.Counter()
    for number, language in enumerate(tokenizer.languages):
        lines = list(corpus.lines(language))
        held = chunks.heldout(tf.constant(lines), share).numpy()
        for line, is_held in zip(lines, held):
            if is_held == evaluation:
                found[number, tuple(tokenizer.words(line, language))] += 1
    return found


@pytest.fixture(scope="module")
def epoch(build):
    """All batches of one pass through the text."""
    return list(build(repeat=False))


def test_an_epoch_has_every_sentence_once(corpus, words, epoch):
    """Read back from the characters: words in and out of the vocabulary, whole and in order."""
    found = collections.Counter(sentences_of(rows_of(epoch)))
    expected = lines_of(corpus, words, 0.05, evaluation=False)
    assert found == expected and sum(found.values()) > 3_000
    unknown = [w for _, s in found for w in s if w not in words.vocabulary.words]
    assert len(unknown) > 500  # so that they are tested


def test_ids_are_those_of_the_spelling(words, epoch):
    vocabulary = words.vocabulary
    for batch in epoch[::40]:
        text = [spelt(c) if c[0] != 260 else "[PAD]" for c in batch["characters"]]
        special = {"<S>": 0, "</S>": 1, "[PAD]": vocabulary.pad_id}
        ids = np.array([special.get(w, vocabulary.id(w)) for w in text])
        for which in ("", "_reverse"):
            np.testing.assert_array_equal(ids[batch["spelling" + which]], batch["words" + which])
        # Every distinct word is there once.
        used = np.unique([batch["spelling"], batch["spelling_reverse"]])
        assert len({text[i] for i in used}) == len(used) and used.max() < len(text)


def test_targets_are_the_neighbours_in_the_stream(words, epoch):
    join = lambda name: np.concatenate([batch[name] for batch in epoch], axis=1)
    stream, filled = join("words"), join("loss_weights") > 0
    # A row's end is the only place that has no successor.
    forward, backward = join("target_forward"), join("target_backward")
    np.testing.assert_array_equal(forward[:, :-1], stream[:, 1:])
    np.testing.assert_array_equal(backward[:, 1:], stream[:, :-1])
    assert (filled[:, 1:] <= filled[:, :-1]).all() and (stream[~filled] == 3).all()
    np.testing.assert_array_equal(join("weights_forward") > 0, filled & (stream != 1))
    np.testing.assert_array_equal(join("weights_backward") > 0, filled & (stream != 0))
    # Neither padding nor the frame of another sentence has a weight.
    assert not np.isin(forward[join("weights_forward") > 0], (0, 3)).any()
    assert not np.isin(backward[join("weights_backward") > 0], (1, 3)).any()
    reverse = join("words_reverse")
    np.testing.assert_array_equal(join("target_reverse")[:, :-1], reverse[:, 1:])
    np.testing.assert_array_equal(join("weights_reverse") > 0, filled & (reverse != 0))
    assert (join("weights_forward").sum(axis=1) == join("weights_reverse").sum(axis=1)).all()


def test_the_backward_stream_is_the_text_reversed(epoch):
    rows = rows_of(epoch)
    for (there, _), (back, _) in zip(rows, rows_of(epoch, "spelling_reverse")):
        place = 0
        while place < len(there):
            end = there.index("</S>", place) + 1
            assert back[place:end] == there[place:end][::-1]
            place = end


def test_another_epoch_is_shuffled_anew(build, epoch):
    endless = build()
    first, second = take(endless, len(epoch)), take(endless, len(epoch))
    assert same(take(build(), 3), first[:3])
    one, two = (sentences_of(rows_of(part)) for part in (first, second))
    shared = len(set(one) & set(two))
    assert shared > 0.9 * len(set(one)) and one[:20] != two[:20]
    assert not same(take(build(seed=1), 3), first[:3])
    stats = endless.stats()
    assert stats["pieces"] == 2 * len(epoch) * ROWS * LENGTH and stats["filled_share"] == 1
    assert 0.05 < stats["unknown_words"] / stats["words"] < 0.5
    assert stats["unspelt_words"] == stats["cut_words"] == 0


def test_languages_have_the_shares_that_the_temperature_asks_for(build, words, corpus, tmp_path):
    for number, language in enumerate(words.languages):
        lines = list(corpus.lines(language))[: 1_000 if number == 0 else 250]
        (tmp_path / f"{language}.txt").write_text("\n".join(lines), encoding="utf-8")
    corpus = corpora.TextCorpus(str(tmp_path), LANGUAGES)
    counts = [corpus.count_words(x, lambda t: words.words(t, x))[0].total() for x in LANGUAGES]
    for temperature in (1.0, 1e6):
        source = build(text=corpus, temperature=temperature, heldout_share=0.0)
        batches = take(source, 400)
        shown = np.concatenate([batch["language_ids"].ravel() for batch in batches])
        share = np.bincount(shown)[0] / len(shown)
        assert abs(share - (counts[0] / sum(counts) if temperature == 1 else 1 / 3)) < 0.04
        assert share == pytest.approx(source.stats()["language_share/en"])
        # Rows are not of one language for long: neighbours of the text are apart.
        changes = [len(set(batch["language_ids"][:, 0])) for batch in batches]
        assert np.mean(changes) > 2


@pytest.mark.parametrize("few", [1 << 16, 60])
def test_a_stopped_stream_goes_on(make, build, monkeypatch, few):
    """At the very beginning, within a chunk, an epoch later; also where unknown words are forgotten."""
    monkeypatch.setattr(word_chunks, "_FEW", few)
    source, other = build(), make.__wrapped__().source()
    place, first = source.get_state(), take(source, 630)
    assert few > 60 or len(source._spellings.state()[0]) < 500
    source.set_state(place)
    for place in (0, 1, 50, 600):
        while source.batches < place:
            next(source)
        other.set_state(source.get_state())
        assert same(take(other, 12), first[place : place + 12]), place
        assert other.stats()["pieces"] == (place + 12) * ROWS * LENGTH
    assert other.batches == 612


def test_forgetting_unknown_words_changes_no_word(build, epoch, monkeypatch):
    monkeypatch.setattr(word_chunks, "_FEW", 60)
    again = list(build(repeat=False))
    assert rows_of(again) == rows_of(epoch)


def test_states_of_other_streams_are_refused(build):
    source = build()
    next(source)
    state = source.get_state()
    for other in (dict(sequence_length=12), dict(task=BiLm(reset="document"))):
        with pytest.raises(ValueError, match="other settings"):
            build(**other).set_state(state)
    for damaged in (b"", b"not a state"):
        with pytest.raises(ValueError, match="damaged"):
            source.set_state(damaged)
    with pytest.raises(ValueError, match="damaged"):
        source.set_state(state[:-100])


def test_hosts_partition_the_text(build, corpus, words):
    """Each word has its own characters, though the shards of a host are no neighbours, as on a TPU."""
    found = collections.Counter()
    for host, shards in enumerate([[0, 3], [1, 2]]):
        source = build(repeat=False, process_index=host, process_count=2, shards=tuple(shards))
        batches = list(source)
        for batch in batches:
            # As jax places them: a host's part in its own shards. Padding stands for the other's.
            parts = np.split(batch["characters"], len(shards))
            placed = np.full((4, *parts[0].shape), 260, np.int32)
            placed[shards] = parts
            batch["characters"] = np.concatenate(placed)
        found += collections.Counter(sentences_of(rows_of(batches)))
        assert not any(None in row for row, _ in rows_of(batches, "spelling_reverse"))
    assert found == lines_of(corpus, words, 0.05, evaluation=False)


def test_heldout_streams(make, corpus, words, epoch):
    held = make().heldout(1_000)
    assert list(held) == list(words.languages)
    found = collections.Counter()
    for number, language in enumerate(words.languages):
        sentences = sentences_of(rows_of(held[language]))
        assert {mine for mine, _ in sentences} == {number}
        found += collections.Counter(sentences)
        assert held[language][0]["loss_weights"].all()
        assert {b["characters"].shape for b in held[language]} == {epoch[0]["characters"].shape}
    assert found == lines_of(corpus, words, 0.05, evaluation=True)
    few = make().heldout(2)["fr"]
    assert len(few) == 2 and same(few, held["fr"][:2])
    # Two hosts have the rows of one.
    halves = [
        make(batch_size=ROWS // 2, process_index=host, process_count=2).heldout(2)["fr"]
        for host in range(2)
    ]
    for whole, *parts in zip(few, *halves):
        for name in ("words", "words_reverse", "target_backward", "loss_weights"):
            np.testing.assert_array_equal(np.concatenate([p[name] for p in parts]), whole[name])


def test_room_for_distinct_words(build, epoch):
    """The estimate holds all words of every batch and is less than one place a word."""
    for rows, length in ((ROWS, LENGTH), (64, 16)):
        source = build(batch_size=rows, sequence_length=length)
        batches = take(source, 100)
        room = len(batches[0]["characters"])
        assert room % 128 == 0 and source.stats()["unspelt_words"] == 0
        most = max(len(np.unique(batch["spelling"])) for batch in batches)
        assert most < room
    assert room < 0.8 * 2 * rows * length


def test_room_is_divided_by_the_devices(make):
    """It was a multiple of 128, which 3 devices divide by chance only."""
    assert make(shards=(0, 1, 2))._distinct % 3 == 0
    assert make(shards=(0, 1, 2), distinct_words=25)._distinct == 27


def test_words_without_room_are_spelt_as_unknown(build, words, monkeypatch):
    warnings = []
    monkeypatch.setattr(logging, "warning", lambda text, *given: warnings.append(text % given))
    task = BiLm(backward="window")
    source, full = build(distinct_words=24, task=task), build(task=task)
    count = 0
    for _ in range(20):
        batch, whole = next(source), next(full)
        assert "words_reverse" not in batch and batch["characters"].shape == (24, 50)
        np.testing.assert_array_equal(batch["words"], whole["words"])
        for spelling, expected, number in zip(
            batch["spelling"].ravel(), whole["spelling"].ravel(), whole["words"].ravel()
        ):
            got = spelt(batch["characters"][spelling])
            if got != spelt(whole["characters"][expected]):
                count += 1
                assert got == "<UNK>" and (number == 2 or number > 8)  # or a rare one
    assert count == source.stats()["unspelt_words"] > 50
    assert len(warnings) == 1 and "(24)" in warnings[0] and "distinct_words" in warnings[0]


def chunk_texts(words, lines, task=BiLm(), language=0):
    """The framed texts of lines or documents, as words."""
    vocabulary = words.vocabulary
    encoder = word_chunks.ChunkEncoder(
        TextEncoder(words, None), vocabulary.unk_id, task.sentences == "marks"
    )
    chunk = encoder(tf.constant(lines), tf.fill([len(lines)], language))
    spellings = word_chunks.Spellings(vocabulary, task.max_characters)
    arrays = {name: value.numpy() for name, value in chunk.items()}
    texts, counters = word_chunks.frame(arrays, spellings, 0, 1)
    for text in texts:
        np.testing.assert_array_equal(text[:, word_chunks.MIRRORED], text[::-1, word_chunks.WORD])
        assert (text[:, word_chunks.LANGUAGE] == language).all()
    numbers = np.unique(np.concatenate([text[:, word_chunks.WORD] for text in texts]))
    names = dict(zip(numbers.tolist(), map(spelt, spellings.characters(numbers).astype(np.int32))))
    named = [" ".join(names[i] for i in text[:, word_chunks.WORD].tolist()) for text in texts]
    return named, dict(zip(word_chunks.COUNTERS, counters.tolist()))


def test_documents_and_marks(words):
    lines = ["One two. Three!\n\nFour", "", "  ", "five. six"]
    found, counters = chunk_texts(words, lines)
    assert found == ["<S> one two . three ! </S> <S> four </S>", "<S> five . six </S>"]
    assert counters["lines"] == 4 and counters["empty_lines"] == 2 and counters["words"] == 9
    found, _ = chunk_texts(words, lines, BiLm(sentences="marks"))
    assert found == [
        "<S> one two . </S> <S> three ! </S> <S> four </S>",
        "<S> five . </S> <S> six </S>",
    ]


def test_odd_words_are_read_and_counted(words):
    long = "x" * 10_000
    found, counters = chunk_texts(words, [f"the {long} the \udcff".encode("utf-8", "replace")])
    assert found == ["<S> the " + "x" * 48 + " the ? </S>"]
    assert counters["cut_words"] == 1 and counters["unknown_words"] == 1  # a mark is no word
    found, counters = chunk_texts(words, [b"the \xff bank", b"<S> [PAD] </S>"])
    assert found == ["<S> the bank </S>", "<S> < s > [ pad ] < / s > </S>"]
    assert counters["repaired_lines"] == 1


def test_resets_where_texts_begin(build):
    source = build(task=BiLm(reset="document"))
    batches = take(source, 50)
    reset = np.concatenate([batch["reset"] for batch in batches], axis=1)
    first = np.concatenate([batch["words"] for batch in batches], axis=1) == 0
    np.testing.assert_array_equal(reset > 0, first)  # a line is a text
    assert not any(batch["reset"].any() for batch in take(build(), 50))


def corpus_of(folder, texts):
    for language, text in texts.items():
        with open(os.path.join(folder, f"{language}.txt"), "w", encoding="utf-8") as file:
            file.write(text)
    return corpora.TextCorpus(str(folder), list(texts))


def test_text_that_is_too_short(small, tmp_path, monkeypatch):
    warnings = []
    monkeypatch.setattr(logging, "warning", lambda text, *given: warnings.append(text % given))

    def make(text, **changes):
        corpus = corpus_of(tmp_path, {"en": "the bank .\n" * 2, "de": text})
        tokenizer = Tokenizer.build(
            languages=("en", "de"),
            normalizer=Normalizer(),
            corpus=corpus,
            dictionary=None,
            kind="word",
            size=50,
        )
        config = small.config(heldout_share=0.0, **changes)
        return pipeline.build(
            config,
            task=BiLm(),
            tokenizer=tokenizer,
            dictionary=None,
            text=corpus,
            batch_size=4,
            seed=0,
        ).source()

    with pytest.raises(ValueError, match="de .*heldout_share"):
        make(" \n\n \n", sequence_length=8)
    with pytest.raises(ValueError, match="sequence_length=18: .*15 words"):
        make("die bank .\n", sequence_length=18)
    assert not warnings
    source = make("die bank .\n", sequence_length=12)
    assert "(15 words)" in warnings[0]
    assert len(sentences_of(rows_of(take(source, 20)))) > 150


def test_nothing_is_switched(make):
    assert make().examples(3) == []


def test_what_cannot_be_is_said(build, small, tmp_path):
    with pytest.raises(ValueError, match="wordpiece.*vocab.kind=word"):
        pipeline.build(
            small.config(),
            task=BiLm(),
            tokenizer=small.tokenizer,
            dictionary=None,
            text=small.corpus,
            batch_size=4,
            seed=0,
        ).source()
    with pytest.raises(ValueError, match="distinct_words=3: .*8"):
        build(distinct_words=3)
    for options, message in (
        (dict(sentences="words"), "sentences='words': must be one of lines, marks"),
        (dict(reset="always"), "reset='always': must be one of never, document"),
        (dict(backward="both"), "backward='both': must be one of reversed, window"),
        (dict(max_characters=2), r"max_characters=2: must be in \[3, 256\]"),
        (dict(max_characters=257), r"max_characters=257: must be in \[3, 256\]"),
    ):
        with pytest.raises(ValueError, match=message):
            BiLm(**options)
    config = PretrainRun(task=BiLm())
    with pytest.raises(ValueError, match="bilm"):
        prepare.prepare(config, str(tmp_path))
