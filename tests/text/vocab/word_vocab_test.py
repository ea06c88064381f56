"""Word-level vocabularies: order, special entries, files, the tokenizer with them; bad input."""

import os

import numpy as np
import pytest

from clwe_jax.text.vocab import vocab, word_vocab
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary

TEXT = {
    "en": "The bank gives money to the bank.\n" * 20 + "Once only!\n",
    "de": "Die Bank gibt der Bank Geld.\n" * 5,
    "zh": "银行给银行钱。\n" * 5,
}
DICTIONARY = Dictionary.from_pairs({("en", "zh"): [("bank", "银行"), ("give", "给")]}, ("en", "zh"))


def build(corpus, **options):
    given = dict(
        languages=tuple(TEXT),
        normalizer=Normalizer(),
        corpus=corpus,
        dictionary=DICTIONARY,
        kind="word",
        size=200,
    )
    return Tokenizer.build(**{**given, **options})


def random_counts(seed=0, words=500):
    rng = np.random.default_rng(seed)
    return {f"w{i}": float(n) for i, n in enumerate(rng.integers(1, 40, words))}


def test_ids_are_ordered_by_frequency_after_the_special_ones():
    counts = random_counts()
    vocabulary = vocab.train("word", counts, 300)
    assert tuple(vocabulary.pieces[:5]) == SPECIALS == ("<S>", "</S>", "<UNK>", "[PAD]", "[MASK]")
    assert (vocabulary.cls_id, vocabulary.sep_id, vocabulary.unk_id) == (0, 1, 2)
    assert (vocabulary.pad_id, vocabulary.mask_id) == (3, 4)
    assert len(vocabulary) == 300 and vocabulary.size == 384
    kept = vocabulary.pieces[5:]
    assert kept == sorted(counts, key=lambda word: (-counts[word], word))[:295]
    np.testing.assert_array_equal(vocabulary.counts[5:], [counts[word] for word in kept])
    # The count of <UNK> is the sum of all other words.
    assert vocabulary.counts.sum() == sum(counts.values())
    assert vocabulary.counts[2] == sum(counts[word] for word in set(counts) - set(kept))


def test_order_does_not_depend_on_the_order_of_the_counts():
    shuffled = list(random_counts().items())
    np.random.default_rng(1).shuffle(shuffled)
    again = vocab.train("word", {word: float(n) for word, n in shuffled}, 300)
    first = vocab.train("word", random_counts(), 300)
    assert again.pieces == first.pieces and again.fingerprint() == first.fingerprint()
    assert vocab.train("word", random_counts(1), 300).fingerprint() != first.fingerprint()


def test_words_have_one_id_and_no_text_names_a_special_one():
    vocabulary = vocab.train("word", {"bank": 3.0, "银行": 2.0, "<S>": 9.0, "[MASK]": 9.0}, 100)
    assert [vocabulary.encode_word(word) for word in ("bank", "银行", "money")] == [[5], [6], [2]]
    for name in (*SPECIALS, "[CLS]"):
        assert vocabulary.encode_word(name) == [vocabulary.unk_id]
    assert vocabulary.id("bank") == 5 and len(vocabulary) == 7


def test_tokenizer_counts_words_of_all_languages(corpus):
    tokenizer = build(corpus)
    vocabulary = tokenizer.vocabulary
    # A form of two languages is one entry; the words of Chinese are those of the dictionary.
    assert {"bank", "die", "银行", "给", "钱"} <= set(vocabulary.words)
    assert vocabulary.pieces.count("bank") == 1 and "行" not in vocabulary.words
    assert vocabulary.id("bank") == 5
    ids, index = tokenizer.encode("The BANK, 银行!", "zh")
    assert index == [0, 1, 2, 3, 4]
    assert [vocabulary.pieces[i] for i in ids] == ["the", "bank", "<UNK>", "银行", "!"]


def test_temperature_brings_the_languages_together(corpus):
    proportional = build(corpus, temperature=1.0).vocabulary
    even = build(corpus, temperature=1e9).vocabulary
    words = proportional.words
    assert words["the"] < words["银行"]
    assert even.words["银行"] < even.words["the"]


def test_rare_words_are_left_out(corpus):
    words = set(build(corpus, min_count=2).vocabulary.words)
    assert words == set(build(corpus).vocabulary.words) - {"once", "only", "!"}
    # The count is over all languages.
    assert "bank" in build(corpus, min_count=50).vocabulary.words
    assert "die" not in build(corpus, min_count=50).vocabulary.words


def test_saved_and_loaded(corpus, tmp_path):
    tokenizer = build(corpus)
    tokenizer.save(str(tmp_path))
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
    loaded = Tokenizer.load(str(tmp_path))
    first, second = tokenizer.vocabulary, loaded.vocabulary
    assert isinstance(second, WordVocabulary) and second.pieces == first.pieces
    np.testing.assert_allclose(second.counts, first.counts, rtol=1e-11)
    assert second.fingerprint() == first.fingerprint()
    for language, text in TEXT.items():
        assert loaded.encode(text, language) == tokenizer.encode(text, language)
    assert build(None, path=str(tmp_path / "words.txt")).vocabulary.pieces == first.pieces


def test_reads_the_vocabulary_of_an_elmo(tmp_path):
    """One word a line without counts, padding and mask; the file may have any name."""
    path = tmp_path / "vocab-2016.txt"
    path.write_text("<S>\r\n</S>\r\n<UNK>\r\nthe\r\n,\r\n[\r\n", encoding="utf-8")
    loaded = vocab.load(str(path))
    assert loaded.pieces == ["<S>", "</S>", "<UNK>", "the", ",", "[", "[PAD]", "[MASK]"]
    assert (loaded.pad_id, loaded.mask_id, loaded.id("the")) == (6, 7, 3)
    assert not loaded.counts.any()


@pytest.mark.parametrize(
    "lines, error",
    [
        (["<S>", "the", "<UNK>"], r"words.txt: The vocabulary begins with <S>, the, <UNK>"),
        (["<S>", "</S>", "<UNK>", "a\t3", "a\t2"], r"words.txt: line 5: 'a' stands in line 4"),
        (["<S>", "", "</S>", "<UNK>", "a", "", "a"], r"words.txt: line 7: 'a' stands in line 5"),
        (["<S>", "</S>", "<UNK>", "a\tmany"], r"words.txt: line 4: expected `word` or `word TAB"),
    ],
)
def test_damaged_files_are_named(tmp_path, lines, error):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=error):
        vocab.load(str(path))


def test_vocabularies_that_cannot_be():
    with pytest.raises(ValueError, match="'a' twice"):
        WordVocabulary([*SPECIALS[:3], "a", "a"])
    with pytest.raises(ValueError, match="config.vocab.size=5 leaves no room"):
        word_vocab.train({"a": 1.0}, 5)
    with pytest.raises(ValueError, match="no words"):
        vocab.train("word", {"x" * 10_000: 4.0}, 100)
