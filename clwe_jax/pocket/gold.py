"""Sentences with the gold sense of each ambiguous word, for evaluation."""

from __future__ import annotations

import collections
import functools
from itertools import islice
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from clwe_jax.pocket import generate

MIN_SHARE = 0.1  # smallest share of a word's occurrences for a sense to count
_SAMPLE = 6_000  # sentences in which senses are counted
_SAMPLE_SEED = "senses"
_PATIENCE = 200  # sentences read, at most, for each sentence of the result
_RARE = 600  # sentences read, at most, for each occurrence of a rare word


class GoldSentence(NamedTuple):
    """A sentence with gold senses.

    Attributes:
      words: the words of the tokenizer.
      senses: concept id of each ambiguous word, such as 'bank.money'; None for other words.
    """

    words: list[str]
    senses: list[str | None]
    language: str


@functools.cache
def shares(language: str, domains: tuple[str, ...] = ()) -> dict[str, dict[str, float]]:
    """The share of each concept among the occurrences of each word of `pocket.ambiguous`.

    Args:
      language: one of `pocket.LANGUAGES`.
      domains: some of `pocket.domains`; () means all.

    Returns:
      Lower-cased word -> {concept: share}, words and concepts by falling frequency. Words that do
      not occur in a sample of text about the domains are absent.
    """
    possible = generate.ambiguous(language)
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for sentence in islice(generate.sentences(language, _SAMPLE_SEED, among=domains), _SAMPLE):
        for token in sentence.tokens:
            word = token.text.lower()
            if token.concept and word in possible:
                counts[word][token.concept] += 1
    return {
        word: {concept: n / counter.total() for concept, n in counter.most_common()}
        for word, counter in sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    }


def senses(
    language: str, domains: tuple[str, ...] = (), min_share: float = MIN_SHARE
) -> dict[str, dict[str, float]]:
    """The words that are ambiguous in text about the domains, with the shares of their senses.

    `pocket.ambiguous` lists words with several senses in any text. A word with one sense in nearly
    all its occurrences cannot measure a clustering, because every clustering of it is pure.

    Args:
      language, domains: as of `shares`.
      min_share: smallest share of a word's occurrences for a sense to count.

    Returns:
      As `shares`, with two or more concepts for each word.
    """
    ambiguous = {}
    for word, of_word in shares(language, domains).items():
        main_senses = {concept: share for concept, share in of_word.items() if share >= min_share}
        if len(main_senses) > 1:
            ambiguous[word] = main_senses
    return ambiguous


def gold_sentences(
    languages: str | Sequence[str],
    domains: Sequence[str],
    seed: int,
    n: int,
    tokenizer: Any,
    *,
    words: Iterable[str] | None = None,
    min_share: float = MIN_SHARE,
) -> list[GoldSentence]:
    """`n` distinct held-out sentences of each language that contain an ambiguous word.

    Their meanings never occur in training text, for any seeds. A word has a gold sense where the
    tokenizer finds exactly the word that the grammar wrote; a tokenizer of Chinese or Japanese may
    cut elsewhere, and that word has none.

    Args:
      languages: one language code or several.
      domains: domains of the sentences, normally of the training text; () means all.
      tokenizer: an object with `words(text, language)` and `normalizer(text, language)`, such as
        `text.vocab.tokenizer.Tokenizer`.
      words: lower-cased ambiguous words; None means all of `senses`.
      min_share: as of `senses`.

    Raises:
      ValueError: an unknown language or domain, no ambiguous word in the domains, or fewer than `n`
        sentences.
    """
    sentences: list[GoldSentence] = []
    domains = tuple(domains)
    word_set = None if words is None else set(words)
    for language in [languages] if isinstance(languages, str) else languages:
        ambiguous = senses(language, domains, min_share)
        if word_set is not None:
            ambiguous = {word: shares for word, shares in ambiguous.items() if word in word_set}
        if not ambiguous and n:
            raise ValueError(
                f"No word of {language} is ambiguous in {', '.join(domains) or 'any domain'}: "
                "take more domains (config.data.pocket_domains)"
            )
        stream = _stream(language, domains, f"gold/{seed}", ambiguous, tokenizer, _PATIENCE * n)
        new_sentences = list(islice(stream, n))
        if len(new_sentences) < n:
            raise ValueError(
                f"Only {len(new_sentences)} of {n} different sentences of {language} hold one of "
                f"{len(ambiguous)} ambiguous words: ask for fewer"
            )
        sentences += new_sentences
    return sentences


def occurrences(
    language: str, domains: Sequence[str], seed: int, each: int, tokenizer: Any
) -> list[GoldSentence]:
    """Distinct sentences in which every word of several concepts occurs about `each` times.

    The concepts of the occurrences to which a model assigns a sense define the meaning of the
    sense, so rare concepts count here. A rare word occurs fewer times than `each`; a word that
    accompanies a rare word occurs more often. The sentences belong to the split 'train' and share
    no meaning with `gold_sentences`.

    Args:
      each: wanted occurrences of each word.
      domains, seed, tokenizer: as of `gold_sentences`.
    """
    domains = tuple(domains)
    ambiguous = senses(language, domains, 0.0)
    missing_counts = collections.Counter(dict.fromkeys(ambiguous, each))
    sentences: list[GoldSentence] = []
    stream = _stream(
        language, domains, f"senses/{seed}", ambiguous, tokenizer, _RARE * each, split="train"
    )
    for sentence in stream:
        words = [w for w, sense in zip(sentence.words, sentence.senses) if sense is not None]
        if any(missing_counts[word] > 0 for word in words):
            sentences.append(sentence)
            missing_counts.subtract(words)
        if max(missing_counts.values()) <= 0:
            break
    return sentences


def _stream(
    language: str,
    domains: tuple[str, ...],
    seed: str,
    known: Mapping[str, Mapping[str, float]],
    tokenizer: Any,
    patience: int,
    split: str = "heldout",
) -> Iterator[GoldSentence]:
    """Distinct sentences with a known sense, among the first `patience` sentences of a split."""
    seen_texts: set[str] = set()
    for sentence in islice(generate.sentences(language, seed, split, domains), patience):
        if sentence.text in seen_texts:
            continue
        labelled = _label_senses(sentence, known, tokenizer)
        if any(labelled.senses):
            seen_texts.add(sentence.text)
            yield labelled


def _label_senses(sentence, known, tokenizer) -> GoldSentence:
    """The tokenizer's words; a word gets the sense of the token at exactly its characters."""
    language = sentence.language
    place = 0
    spans: dict[tuple[int, int], str] = {}
    for token in sentence.tokens:
        size = len(tokenizer.normalizer(token.text, language))
        if token.concept in known.get(token.text.lower(), ()):
            spans[place, place + size] = token.concept
        place += size
    words = tokenizer.words(sentence.text, language)
    word_senses: list[str | None] = []
    place = 0
    for word in words:
        word_senses.append(spans.get((place, place + len(word))))
        place += len(word)
    return GoldSentence(words, word_senses, language)
