import collections

import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.piece_ids import PieceEncoder
from clwe_jax.text.vocab import vocab


@pytest.fixture(scope="module")
def words(small):
    counts = collections.Counter()
    for language in small.tokenizer.languages:
        for line, _ in zip(small.corpus.lines(language), range(300)):
            counts.update(small.tokenizer.words(line, language))
    return counts


def odd_words(words, rng):
    """Words of the text, and what was never seen: cut, joined, foreign, long."""
    known = sorted(words)
    letters = sorted({character for word in known for character in word})
    made = ["".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(1_000)]
    return known + made + ["Ω", "aΩb", "漢a語b", "🙂", "x" * 100, "x" * 101, "é" * 101, "銀行"]


def assert_same(vocabulary, words):
    ids, sizes = PieceEncoder(vocabulary)(tf.constant(words))
    ids, ends = ids.numpy(), np.cumsum(sizes.numpy())
    assert len(ends) == len(words) and ends[-1] == len(ids)
    for word, part in zip(words, np.split(ids, ends[:-1])):
        assert part.tolist() == vocabulary.encode_word(word), word


@pytest.mark.parametrize(
    "kind, whole", [*((kind, 0.0) for kind in vocab.KINDS), ("unigram", 0.2), ("wordpiece", 0.2)]
)
def test_twin_of_every_kind(kind, whole, words):
    # The characters of all six languages, and a few words: training is not what is tested.
    few = dict(words.most_common(600))
    vocabulary = vocab.train(kind, few, 1_500, list(few)[::2], whole)
    assert_same(vocabulary, odd_words(words, np.random.default_rng(0)))


def bert_vocabulary(tmp_path, words):
    """A file as BERT's: unused pieces, Han characters one by one, a piece twice, one too long."""
    letters = sorted({character for word in words for character in word})
    pieces = [
        "[PAD]",
        "[unused0]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "the",
        "",
        "z" * 300,
    ]
    pieces += letters + ["##" + letter for letter in letters[::2]] + ["##ing", "銀", "行", "##行"]
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(pieces), encoding="utf-8")
    return vocab.load(str(path))


def test_bert_vocabulary_splits_han(tmp_path, words):
    vocabulary = bert_vocabulary(tmp_path, words)
    assert vocabulary.split_han
    ids, sizes = PieceEncoder(vocabulary)(tf.constant(["銀行", "a銀行b"]))
    assert sizes.numpy().tolist() == [2, 4]
    assert_same(vocabulary, odd_words(words, np.random.default_rng(1)))


def test_special_pieces_never_come_from_text(small):
    lines = tf.constant(["[MASK] [CLS] a [mask] [PAD]"])
    encoder = TextEncoder(small.tokenizer, None)
    vocabulary = small.tokenizer.vocabulary
    pieces = encoder.encode(lines, tf.constant([1])).pieces.numpy()
    assert not set(pieces) & (set(vocabulary.special_ids) - {vocabulary.unk_id})


def test_no_words(small):
    ids, sizes = PieceEncoder(small.tokenizer.vocabulary)(tf.constant([], tf.string))
    assert ids.shape == (0,) and sizes.shape == (0,)


def test_a_word_of_no_pieces_is_unknown(small):
    encoder = PieceEncoder(small.tokenizer.vocabulary)
    ids, sizes = encoder._fill(tf.constant([7, 8, 9]), tf.constant([0, 2, 0, 1]))
    unknown = small.tokenizer.vocabulary.unk_id
    assert ids.numpy().tolist() == [unknown, 7, 8, unknown, 9]
    assert sizes.numpy().tolist() == [1, 2, 1, 1]


def test_other_vocabularies_are_refused():
    with pytest.raises(TypeError, match="no twin"):
        PieceEncoder(object())
