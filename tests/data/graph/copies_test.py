"""Sentences and their code-switched copies: rows, labels of languages, cuts, and the place in the stream."""

import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph import pipeline
from clwe_jax.data.graph.copies import CopyMaker
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.examples import COUNTERS
from clwe_jax.options.tasks import Copies
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.types import COPY, piece_shapes

PIECES = [*SPECIALS, "the", "cat", "sees", "a", "dog", ".", "kat", "##ze", "hund", "x", "##x"]
PAIRS = [("cat", "katze"), ("dog", "hund")]
KEYS = set(piece_shapes(1, 1))


def toy(lines, length=12, share=1.0, drop=0.0, pairs=False):
    """The rows of English lines, or of English and German ones in turn, and the counters."""
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter({}), WordPieceVocabulary(PIECES))
    encoder = TextEncoder(tokenizer, Dictionary.from_pairs({("en", "de"): PAIRS}))
    task = Copies(copy_switch_rate=share, drop=drop)
    maker = CopyMaker(encoder, tokenizer.vocabulary, task, length, 4, pairs)
    made = maker.rows.python_function(
        tf.constant(0, tf.int64),
        tf.constant(0, tf.int64),
        tf.constant(lines, tf.string),
        tf.range(len(lines)) % (2 if pairs else 1),
    )
    rows = {name: value.numpy() for name, value in made.items()}
    return rows, dict(zip(COUNTERS, rows.pop("counters").sum(axis=0).tolist()))


def text(ids):
    return " ".join(PIECES[number] for number in ids).replace(" [PAD]", "")


def test_golden():
    """One sentence a row, in its order; sentences that are short or without a switch are left out."""
    rows, counts = toy(
        ["A cat sees. The dog sees a cat.", "The a the a.", "A dog", "", "A dog sees"]
    )
    assert set(rows) == KEYS | {COPY + key for key in KEYS}
    assert [text(row) for row in rows["inputs"]] == [
        "[CLS] a cat sees . [SEP]",
        "[CLS] the dog sees a cat . [SEP]",
        "[CLS] a dog sees [SEP]",
    ]
    assert [text(row) for row in rows[COPY + "inputs"]] == [
        "[CLS] a kat ##ze sees . [SEP]",
        "[CLS] the hund sees a kat ##ze . [SEP]",
        "[CLS] a hund sees [SEP]",
    ]
    for prefix in ("", COPY):
        filled = rows[prefix + "segment_ids"] > 0
        np.testing.assert_array_equal(filled, rows[prefix + "inputs"] != 0)
        np.testing.assert_array_equal(rows[prefix + "positions"], np.arange(12) * filled)
        assert not rows[prefix + "loss_weights"].any()
        np.testing.assert_array_equal(rows[prefix + "targets"], rows[prefix + "inputs"])
    # Switched words are in the language of their synonym, and stand in an English text.
    assert rows[COPY + "language_ids"][0].tolist() == [0, 0, 1, 1, *[0] * 8]
    assert not rows["language_ids"].any() and not rows[COPY + "source_language_ids"].any()
    assert counts["switched_words"] == 5 and counts["lines"] == 5 and counts["cut_pieces"] == 0


def test_sentences_and_words_longer_than_a_row_are_cut_and_counted():
    rows, counts = toy(["The cat sees a dog the a", "xxxxxxxxx a cat"], length=6)
    assert [text(row) for row in rows["inputs"]] == [
        "[CLS] the cat sees a [SEP]",
        "[CLS] x ##x ##x ##x [SEP]",
    ]
    assert text(rows[COPY + "inputs"][0]) == "[CLS] the kat ##ze sees [SEP]"
    assert counts["cut_words"] == 1 and counts["cut_pieces"] == 3 + 4 + 7 + 8


def test_a_sentence_and_its_copy_lose_words_on_their_own():
    """Words keep their order; of n words a side loses n * drop / 2 on average, and never all."""
    line, count = "The cat sees a dog x the dog sees the cat", 400
    rows, _ = toy([line] * count, length=30, drop=0.8)
    whole, _ = toy([line], length=30)
    sizes = {}
    for prefix in ("", COPY):
        full = text(whole[prefix + "inputs"][0]).split()
        found = [text(row).split() for row in rows[prefix + "inputs"]]
        assert len(found) == count
        for row in found:
            left = iter(full)
            assert all(piece in left for piece in row)  # in the order of the whole sentence
        sizes[prefix] = np.array([len(row) - 2 for row in found])  # without [CLS] and [SEP]
        assert sizes[prefix].min() >= 1 and sizes[prefix].max() == len(full) - 2
        assert 1 - sizes[prefix].mean() / (len(full) - 2) == pytest.approx(0.4, abs=0.05)
    assert abs(np.corrcoef(sizes[""], sizes[COPY])[0, 1]) < 0.15


def test_a_chunk_without_sentences_makes_no_rows():
    for lines in ([], ["the a the a"]):
        rows, counts = toy(lines)
        assert {value.shape for value in rows.values()} == {(0, 12)}


def test_translations_take_the_place_of_copies():
    """A pair a row; pairs with a short side are left out, and both sides lose words on their own."""
    lines = [
        "A cat sees the dog.",
        "Katze sees x hund.",
        "A dog",
        "Hund sees a katze",
        "The a cat",
        "X x hund",
    ]
    rows, counts = toy(lines, pairs=True)
    assert [text(row) for row in rows["inputs"]] == [
        "[CLS] a cat sees the dog . [SEP]",
        "[CLS] the a cat [SEP]",
    ]
    assert [text(row) for row in rows[COPY + "inputs"]] == [
        "[CLS] kat ##ze sees x hund . [SEP]",
        "[CLS] x x hund [SEP]",
    ]
    for prefix, language in (("", 0), (COPY, 1)):
        filled = rows[prefix + "segment_ids"] > 0
        np.testing.assert_array_equal(rows[prefix + "language_ids"], language * filled)
        np.testing.assert_array_equal(rows[prefix + "source_language_ids"], language * filled)
    assert not counts["switched_words"] and counts["lines"] == 6
    dropped, _ = toy(lines[:2] * 50, pairs=True, drop=0.8)
    sizes = [(dropped[prefix + "segment_ids"] > 0).sum(1) for prefix in ("", COPY)]
    assert abs(np.corrcoef(*sizes)[0, 1]) < 0.4 and min(map(min, sizes)) >= 3


def build(small, task=Copies(), **changes):
    given = dict(
        task=task,
        tokenizer=small.tokenizer,
        dictionary=small.dictionary,
        text=small.corpus,
        batch_size=16,
        seed=0,
    )
    return pipeline.build(small.config(), **{**given, **changes})


@pytest.fixture(scope="module")
def made(small):
    return build(small)


@pytest.fixture(scope="module")
def translated(small, tmp_path_factory):
    """Of given pairs, which differ from all text of the run; no dictionary is needed."""
    folder = tmp_path_factory.mktemp("parallel")
    sides = [small.corpus.lines(language) for language in ("de", "en")]
    lines = [f"{one}\t{other}\n" for one, other, _ in zip(*sides, range(60))]
    (folder / "de-en.tsv").write_text("".join(lines))
    return build(small, Copies(parallel=str(folder)), dictionary=None)


def test_a_stream_without_a_row_is_refused(small, tmp_path):
    """It searched for ever."""
    (tmp_path / "de-en.de").write_text("Ein Satz aus Worten.\n\n" * 20)
    (tmp_path / "de-en.en").write_text("\nA sentence of words.\n" * 20)
    with pytest.raises(ValueError, match=f"{tmp_path}: none of its sentences makes a row"):
        build(small, Copies(parallel=str(tmp_path)), dictionary=None).source()
    nothing = Dictionary.from_pairs({("de", "en"): [("xyzzy", "plugh")]})
    whole = nothing.restrict(small.tokenizer.languages)
    with pytest.raises(ValueError, match="the text: none of its sentences"):
        build(small, dictionary=whole).source()


def test_batches_of_translations(translated):
    batch = next(translated.source())
    assert {len(value) for value in batch.values()} == {16}
    for prefix, language in (("", 0), (COPY, 1)):
        filled = batch[prefix + "segment_ids"] > 0
        assert filled.any(1).all() and set(batch[prefix + "language_ids"][filled]) == {language}


def test_a_share_of_the_words_with_translations_is_switched(made):
    source = made.source()
    for _ in range(12):
        batch = next(source)
    assert {len(value) for value in batch.values()} == {16}
    stats = source.stats()
    # Of all words with an entry, the sentences that are left out among them.
    assert 0.87 < stats["switched_words"] / stats["words_with_entry"] < 0.93
    own = batch[COPY + "language_ids"] != batch[COPY + "source_language_ids"]
    assert 0.3 < own[batch[COPY + "segment_ids"] > 0].mean() < 0.95
    assert (batch["language_ids"] == batch["source_language_ids"]).all()


@pytest.mark.parametrize("kind", ["made", "translated"])
def test_a_restored_place_gives_the_same_batches(kind, request):
    made = request.getfixturevalue(kind)
    source = made.source()
    for _ in range(3):
        next(source)
    state = source.get_state()
    expected = [next(source) for _ in range(3)]
    other = made.source()
    other.set_state(state)
    for batch in expected:
        again = next(other)
        assert set(again) == set(batch)
        for name, value in batch.items():
            np.testing.assert_array_equal(again[name], value, err_msg=name)
    assert not np.array_equal(expected[0]["inputs"], expected[1]["inputs"])


def test_a_place_of_another_share_is_refused(small, made):
    with pytest.raises(ValueError, match="other settings"):
        build(small, Copies(copy_switch_rate=0.5)).source().set_state(made.source().get_state())
