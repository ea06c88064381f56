"""Held-out sentences with gold senses of the tokenizer's words."""

import collections
import itertools

import pytest

from clwe_jax import pocket
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

DOMAINS = ("money", "nature", "sport", "music")


class Words:
    """The two steps of a tokenizer that cut text into words."""

    def __init__(self, lexicons):
        self.normalizer, self.segmenter = Normalizer(), Segmenter(lexicons)

    def words(self, text, language):
        return self.segmenter.words(self.normalizer(text, language), language)


@pytest.fixture(scope="module")
def tokenizer():
    return Words({x: [word for _, word in pocket.dictionary("en", x)] for x in ("ja", "zh")})


@pytest.fixture(scope="module")
def gold(tokenizer):
    return pocket.gold_sentences(pocket.LANGUAGES, DOMAINS, 0, 60, tokenizer)


def test_as_many_as_asked_and_none_twice(gold):
    assert [s.language for s in gold] == [x for x in pocket.LANGUAGES for _ in range(60)]
    assert len({(s.language, tuple(s.words)) for s in gold}) == len(gold)
    for sentence in gold:
        assert len(sentence.words) == len(sentence.senses) and any(sentence.senses)


def test_senses_are_those_of_the_words(gold):
    count = 0
    for sentence in gold:
        known = pocket.senses(sentence.language, DOMAINS)
        for word, sense in zip(sentence.words, sentence.senses):
            if sense is not None:
                count += 1
                assert sense in known[word]
                assert word in pocket.translations(sense)[sentence.language]
    assert count >= len(gold)


def test_every_ambiguous_token_bears_its_sense(gold, tokenizer):
    """Against the tokens of the grammar, where the tokenizer finds the same words."""
    stream = pocket.sentences("en", "gold/0", "heldout", DOMAINS)
    known = pocket.senses("en", DOMAINS)
    mine = {tuple(s.words): s.senses for s in gold if s.language == "en"}
    seen = 0
    for sentence in itertools.islice(stream, 2_000):
        expected = [
            t.concept if t.concept in known.get(t.text.lower(), ()) else None
            for t in sentence.tokens
        ]
        words = tuple(t.text.lower() for t in sentence.tokens)
        if words in mine:
            seen += 1
            assert mine[words] == expected
    assert seen >= 60


def test_words_are_cut_as_the_tokenizer_does(gold, tokenizer):
    plain = Words({})  # cuts Japanese and Chinese into characters, or runs of kana
    cut = pocket.gold_sentences(["zh", "ja"], DOMAINS, 0, 30, plain)
    labelled = [w for s in cut for w, sense in zip(s.words, s.senses) if sense is not None]
    # Only a word that equals the token of the grammar has its sense.
    assert labelled and all(plain.words(word, "zh") == [word] for word in labelled)
    whole = [word for s in gold if s.language == "ja" for word, x in zip(s.words, s.senses) if x]
    assert any(len(word) > 2 for word in whole)
    for sentence in gold:
        text = "".join(sentence.words)
        assert tokenizer.words(text, sentence.language) == sentence.words or (
            sentence.language not in ("ja", "zh")
        )


def test_meanings_are_held_out(gold, tokenizer):
    trained = set()
    for language in ("en", "zh"):
        stream = pocket.sentences(language, 0, "train", DOMAINS)
        trained |= {
            (language, *tokenizer.words(s.text, language)) for s in itertools.islice(stream, 4_000)
        }
    mine = [(s.language, *s.words) for s in gold if s.language in ("en", "zh")]
    # Two meanings may have the same text, so a few texts may occur in both splits.
    assert sum(words in trained for words in mine) <= 0.02 * len(mine)


def test_only_words_that_are_ambiguous_in_the_domains_count():
    found = pocket.senses("en", DOMAINS)
    assert set(found["bank"]) == {"bank.money", "bank.river"}
    assert "bank" not in pocket.senses("en", ("money",)) and "bank" in pocket.ambiguous("en")
    for shares in found.values():
        assert len(shares) > 1 and min(shares.values()) >= 0.1
    # A smaller least share keeps rarer senses.
    assert len(pocket.senses("en", DOMAINS, 0.01)) > len(found)


def test_shares_list_words_of_one_concept_too():
    found = pocket.shares("en", ("money",))
    assert found["bank"] == {"bank.money": 1.0}
    for word, of_word in found.items():
        assert sum(of_word.values()) == pytest.approx(1)
        assert set(of_word) <= set(pocket.ambiguous("en")[word])
    many = {word for word, of_word in found.items() if len(of_word) > 1}
    assert many == set(pocket.senses("en", ("money",), 0.0))


def test_occurrences_of_every_word_of_several_concepts(tokenizer):
    known = pocket.senses("en", DOMAINS, 0.0)
    found = pocket.occurrences("en", DOMAINS, 0, 7, tokenizer)
    assert len({tuple(s.words) for s in found}) == len(found)
    counts = collections.Counter()
    for sentence in found:
        for word, sense in zip(sentence.words, sentence.senses):
            if sense is not None:
                assert sense in known[word]
                counts[word] += 1
    assert min(counts[word] for word in known) >= 7
    # Each sentence was needed: the last one contains a word that was still missing.
    last = [w for w, sense in zip(found[-1].words, found[-1].senses) if sense is not None]
    assert any(counts[word] <= 7 + last.count(word) - 1 for word in last)
    # No sentence is held out.
    held_out = pocket.gold_sentences("en", DOMAINS, 0, 500, tokenizer)
    assert not {tuple(s.words) for s in held_out} & {tuple(s.words) for s in found}
    # Rare senses have labels here, unlike in `gold_sentences`.
    rare = {w for w in known if w not in pocket.senses("en", DOMAINS)}
    assert rare & set(counts)


def test_seeds_and_chosen_words(gold, tokenizer):
    again = pocket.gold_sentences("en", DOMAINS, 0, 20, tokenizer)
    assert again == [s for s in gold if s.language == "en"][:20]
    other = pocket.gold_sentences("en", DOMAINS, 1, 20, tokenizer)
    assert len({tuple(s.words) for s in other} & {tuple(s.words) for s in again}) < 3
    banks = pocket.gold_sentences("en", DOMAINS, 0, 20, tokenizer, words=["bank"])
    assert {sense for s in banks for sense in s.senses} == {None, "bank.money", "bank.river"}


def test_what_there_is_not(tokenizer):
    with pytest.raises(ValueError, match=" en .* money.*pocket_domains"):
        pocket.gold_sentences("en", ("money",), 0, 5, tokenizer, words=["bank"])
    with pytest.raises(ValueError, match="no domain 'mony'"):
        pocket.gold_sentences("en", ("mony",), 0, 5, tokenizer)
    with pytest.raises(ValueError, match="'xx'"):
        pocket.gold_sentences("xx", DOMAINS, 0, 5, tokenizer)
