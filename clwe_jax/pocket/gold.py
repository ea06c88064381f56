"""Sentences whose ambiguous words bear the sense that was meant, for evaluation."""

from __future__ import annotations

import collections
import functools
from itertools import islice
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from clwe_jax.pocket import generate

LEAST_SHARE = 0.1  # of a word's occurrences that its second sense has, at least
_SAMPLE = 6_000  # sentences that senses are counted in
_SAMPLE_SEED = "senses"
_PATIENCE = 200  # sentences read for one that is wanted
_RARE = 600  # sentences read for one occurrence of a rare word


class GoldSentence(NamedTuple):
    """A sentence with gold senses.

    Attributes:
      words: as the tokenizer cuts them.
      senses: for every ambiguous word its concept's id, as 'bank.money'; None for the others.
      language: code.
    """

    words: list[str]
    senses: list[str | None]
    language: str


@functools.cache
def shares(language: str, domains: tuple[str, ...] = ()) -> dict[str, dict[str, float]]:
    """What the words of `pocket.ambiguous` mean in text about the domains, and how often.

    Args:
      language: which of `pocket.LANGUAGES`.
      domains: see `pocket.domains`; all where there are none.

    Returns:
      word (lower-cased): {concept: share}, one or more, the most frequent first; words in the order
      of their frequency. Words that hardly occur in the domains are not there.
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
    language: str, domains: tuple[str, ...] = (), least_share: float = LEAST_SHARE
) -> dict[str, dict[str, float]]:
    """The words that really are ambiguous in text about the domains, and their senses' shares.

    `pocket.ambiguous` lists what may be; of a word of one sense in these domains, or of nearly one
    sense, any clustering is pure.

    Args:
      language, domains: as `shares`.
      least_share: senses that have less of the word's occurrences do not count.

    Returns:
      As `shares`, two or more concepts of each word.
    """
    found = {}
    for word, of_word in shares(language, domains).items():
        kept = {concept: share for concept, share in of_word.items() if share >= least_share}
        if len(kept) > 1:
            found[word] = kept
    return found


def gold_sentences(
    languages: str | Sequence[str],
    domains: Sequence[str],
    seed: int,
    n: int,
    tokenizer: Any,
    *,
    words: Iterable[str] | None = None,
    least_share: float = LEAST_SHARE,
) -> list[GoldSentence]:
    """`n` different held-out sentences of each language that hold an ambiguous word.

    None of their meanings is one of the training text's, whatever the seeds. A word bears a sense
    where the tokenizer cuts it out as it was written; where it cuts otherwise (Chinese, Japanese)
    it bears none.

    Args:
      languages: a code or several.
      domains: what they are about, as of the training text; all where there are none.
      seed: other seeds, other sentences.
      n: how many of each language.
      tokenizer: has `words(text, language)` and `normalizer(text, language)`, as
        `text.tokenizer.Tokenizer`.
      words: lower-cased; only these are taken for ambiguous; all of `senses` otherwise.
      least_share: see `senses`.

    Raises:
      ValueError: an unknown language or domain, or no such word in the domains.
    """
    found: list[GoldSentence] = []
    domains = tuple(domains)
    chosen = None if words is None else set(words)
    for language in [languages] if isinstance(languages, str) else languages:
        known = senses(language, domains, least_share)
        if chosen is not None:
            known = {word: shares for word, shares in known.items() if word in chosen}
        if not known and n:
            raise ValueError(
                f"No word of {language} is ambiguous in {', '.join(domains) or 'any domain'}: "
                "take more domains (config.data.pocket_domains)"
            )
        stream = _stream(language, domains, f"gold/{seed}", known, tokenizer, _PATIENCE * n)
        own = list(islice(stream, n))
        if len(own) < n:
            raise ValueError(
                f"Only {len(own)} of {n} different sentences of {language} hold one of "
                f"{len(known)} ambiguous words: ask for fewer"
            )
        found += own
    return found


def occurrences(
    language: str, domains: Sequence[str], seed: int, each: int, tokenizer: Any
) -> list[GoldSentence]:
    """Different sentences in which every word of several concepts occurs `each` times.

    However rare its concepts are: what a sense means is told by where it was assigned. Fewer times
    where a word is rare; more where it stands beside one that is. Their meanings are those that the
    training text draws from, and none is one of `gold_sentences`.

    Args:
      language: code.
      domains, seed, tokenizer: as `gold_sentences`.
    """
    domains = tuple(domains)
    known = senses(language, domains, 0.0)
    missing = collections.Counter(dict.fromkeys(known, each))
    found: list[GoldSentence] = []
    stream = _stream(
        language, domains, f"senses/{seed}", known, tokenizer, _RARE * each, split="train"
    )
    for sentence in stream:
        words = [w for w, sense in zip(sentence.words, sentence.senses) if sense is not None]
        if any(missing[word] > 0 for word in words):
            found.append(sentence)
            missing.subtract(words)
        if max(missing.values()) <= 0:
            break
    return found


def _stream(
    language: str,
    domains: tuple[str, ...],
    seed: str,
    known: Mapping[str, Mapping[str, float]],
    tokenizer: Any,
    patience: int,
    split: str = "heldout",
) -> Iterator[GoldSentence]:
    """The different ones that bear a known sense, of as many sentences of a split as `patience`."""
    seen: set[str] = set()
    for sentence in islice(generate.sentences(language, seed, split, domains), patience):
        if sentence.text in seen:
            continue
        labelled = _labelled(sentence, known, tokenizer)
        if any(labelled.senses):
            seen.add(sentence.text)
            yield labelled


def _labelled(sentence, known, tokenizer) -> GoldSentence:
    """The tokenizer's words, with the senses of tokens of the same characters."""
    language, place = sentence.language, 0
    spans: dict[tuple[int, int], str] = {}
    for token in sentence.tokens:
        size = len(tokenizer.normalizer(token.text, language))
        if token.concept in known.get(token.text.lower(), ()):
            spans[place, place + size] = token.concept
        place += size
    words = tokenizer.words(sentence.text, language)
    found: list[str | None] = []
    place = 0
    for word in words:
        found.append(spans.get((place, place + len(word))))
        place += len(word)
    return GoldSentence(words, found, language)
