"""The tokenizer: words, pieces, files, building from text."""

import json
import os

import pytest

from clwe_jax.text.vocab import vocab
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer, mixed_counts

TEXT = {
    "en": "The bank gives money to the bank.\nLight and letters!\n" * 20,
    "de": "Die Bank gibt der Bank Geld.\nLicht und Briefe!\n" * 5,
    "zh": "银行给银行钱。\n光和信！\n" * 5,
}
DICTIONARY = Dictionary.from_pairs(
    {("en", "zh"): [("bank", "银行"), ("light", "光")], ("en", "de"): [("quark", "jokeſ")]},
    ("en", "de", "zh"),
)


def build(corpus, **options):
    options = {"kind": "wordpiece", "size": 200, "normalizer": Normalizer()} | options
    return Tokenizer.build(languages=tuple(TEXT), corpus=corpus, dictionary=DICTIONARY, **options)


@pytest.fixture(scope="module", params=vocab.KINDS)
def tokenizer(request, corpus):
    return build(corpus, kind=request.param, size=360)


def test_words_and_pieces(tokenizer):
    assert tokenizer.words("Die BANK\u00ad, 银行", "zh") == ["die", "bank", ",", "银行"]
    ids, index = tokenizer.encode("Die BANK, 银行!", "zh")
    words = tokenizer.words("Die BANK, 银行!", "zh")
    assert len(ids) == len(index) and sorted(set(index)) == list(range(len(words)))
    for number, word in enumerate(words):
        mine = [i for i, k in zip(ids, index) if k == number]
        assert mine == tokenizer.vocabulary.encode_word(word)
    ids, _ = tokenizer.encode("Die BANK 银行!", "zh")  # the text has no comma
    text = "".join(tokenizer.vocabulary.pieces[i] for i in ids)
    assert text.replace("##", "").replace("▁", "") == "diebank银行!"


def test_saved_and_loaded(tokenizer, tmp_path):
    folder = str(tmp_path / "vocab")
    tokenizer.save(folder)
    loaded = Tokenizer.load(folder)
    assert loaded.languages == ("en", "de", "zh") and loaded.normalizer == tokenizer.normalizer
    assert loaded.segmenter.lexicons == {"zh": {"银行", "光"}}
    for language, text in TEXT.items():
        assert loaded.encode(text, language) == tokenizer.encode(text, language)
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_text_cannot_name_special_pieces(tokenizer):
    ids, _ = tokenizer.encode("[MASK] [CLS] [PAD] <s> <mask> <script>alert(1)</script>", "en")
    special = set(tokenizer.vocabulary.special_ids) - {tokenizer.vocabulary.unk_id}
    assert not set(ids) & special


def test_the_dictionarys_characters_are_known(corpus):
    tokenizer = build(corpus, size=400)
    unknown = tokenizer.vocabulary.unk_id
    for word in DICTIONARY.words():
        assert unknown not in tokenizer.encode_words([word])[0], word


def test_temperature_evens_the_languages_out():
    counts = {"en": {"a": 900, "both": 60}, "de": {"b": 36, "both": 4}, "xx": {}}
    flat = mixed_counts(counts, 1e9)
    assert sum(flat.values()) == pytest.approx(1000)
    assert flat["a"] == pytest.approx(500 * 900 / 960)
    assert flat["b"] == pytest.approx(500 * 36 / 40)
    assert flat["both"] == pytest.approx(500 * 60 / 960 + 500 * 4 / 40)
    assert mixed_counts(counts, 1.0) == pytest.approx({"a": 900, "both": 64, "b": 36})


def test_given_vocabulary_is_used(corpus, tmp_path):
    first = build(corpus)
    first.save(str(tmp_path / "vocab"))
    for path in (tmp_path / "vocab", tmp_path / "vocab" / "vocab.txt"):
        second = build(None, path=str(path))
        assert second.vocabulary.pieces == first.vocabulary.pieces
    with pytest.raises(FileNotFoundError, match="config.vocab.path"):
        build(None, path=str(tmp_path / "absent"))


def test_no_text_and_no_vocabulary():
    with pytest.raises(ValueError, match="--config.vocab.path"):
        build(None)


def test_no_word_is_frequent_enough(corpus):
    with pytest.raises(ValueError, match="config.vocab.min_count above the count of every word"):
        build(corpus, min_count=1_000_000)


def test_languages_are_known_by_number(tokenizer):
    assert [tokenizer.language_id(name) for name in ("en", "de", "zh")] == [0, 1, 2]
    with pytest.raises(ValueError, match="'dee' .*de, en"):
        tokenizer.language_id("dee")


def test_folders_that_are_not_whole(tokenizer, tmp_path):
    with pytest.raises(FileNotFoundError, match="has no text.json.*WORKDIR/vocab"):
        Tokenizer.load(str(tmp_path))
    tokenizer.save(str(tmp_path))
    settings = tmp_path / "text.json"
    whole = settings.read_text()
    settings.write_text(whole[:20])
    with pytest.raises(ValueError, match="text.json is damaged"):
        Tokenizer.load(str(tmp_path))
    settings.write_text(json.dumps({"languages": ["en"]}))
    with pytest.raises(ValueError, match="text.json is damaged.*lower_case"):
        Tokenizer.load(str(tmp_path))
    settings.write_text(whole)
    os.remove(tmp_path / "lexicon.zh.txt")
    with pytest.raises(FileNotFoundError, match="lexicon.zh.txt"):
        Tokenizer.load(str(tmp_path))
