"""Options of static vectors' training, of mining and of a dictionary's words."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Self

from clwe_jax.options.section import (
    AT,
    Amount,
    Count,
    OneOf,
    OptionError,
    Range,
    Options,
    Size,
    option,
)

# Passes of `epochs=0`, and a language's running words in all of them. Of 600,000 words of French and of English,
# 15 passes find six times as many translations as fastText's 5, and 40 fewer; of 2 million all are level.
_FEWEST = 5
_MOST = 15
_TRAINED = 15_000_000


@dataclasses.dataclass(frozen=True)
class PassesOptions(Options):
    """Passes of a skip-gram over its text."""

    epochs: Count = option(
        5,
        "passes over the text; 0: 15 for up to a million words of a language, fewer for more, 5"
        " from 3 million",
    )

    def over(self, words: int) -> Self:
        """These options with the number of passes over a text of so many running words a language."""
        passes = min(_MOST, max(_FEWEST, _TRAINED // max(1, words)))
        return dataclasses.replace(self, epochs=self.epochs or passes)


@dataclasses.dataclass(frozen=True)
class FastTextOptions(PassesOptions):
    """Hyperparameters of fastText's skip-gram; the defaults are fastText's (joint-align, 4.1)."""

    dim: Size = option(300, "width of a vector")
    min_count: Size = option(5, "minimum number of occurrences of a word with a vector")
    window: Size = option(
        5, "largest number of context words on either side; the width is drawn for every word"
    )
    negatives: Size = option(5, "noise words per pair by frequency**.5; duong: per word by **.75")
    learning_rate: Amount = option(0.05, "learning rate at the start; it falls to 0")
    min_n: Count = option(3, "shortest character n-grams")
    max_n: Count = option(6, "longest character n-grams; 0: none")
    buckets: Size = option(2_000_000, "number of hash buckets of n-grams")
    subsample: Amount = option(1e-4, "relative frequency above which words are left out at random")
    workers: Size = option(
        1,
        "threads. One thread always makes the same vectors from the same seed; several are "
        "faster and do not",
    )


@dataclasses.dataclass(frozen=True)
class DuongOptions(PassesOptions):
    """Hyperparameters."""

    dim: Size = option(300, "width of a vector")
    min_count: Size = option(
        5, "minimum number of occurrences of a word with a vector, in its language"
    )
    window: Size = option(
        5, "largest number of context words on either side; the width is drawn for every word"
    )
    negatives: Size = option(5, "noise words per word")
    learning_rate: Amount = option(0.05, "learning rate of AdaGrad at the start; it falls to 0")
    subsample: Amount = option(
        1e-4, "relative frequency in a language above which words are left out at random"
    )
    batch: Size = option(512, "of training='duong', words per step")


@dataclasses.dataclass(frozen=True)
class MiningOptions(Options):
    """Options of mining."""

    all_pairs: Count = option(
        10,
        "maximum number of languages whose pairs are all mined; the time grows with the square of the "
        "number; of more languages, each is mined with the hub alone",
    )
    rounds: Size = option(
        5, "maximum number of rounds of mining; it ends when a round finds no further pairs"
    )
    max_words: Size = option(40, "words of the longest sentences that are mined")
    neighbourhood: Size = option(4, "neighbours over which the margin averages")
    margin: Amount = option(1.02, "minimum margin of a pair")
    grow_lines: Count = option(
        2, "lines around a supported pair in which further pairs are looked for; 0: none"
    )
    unsupported_margin: Amount = option(
        0.0,
        "margin from which a pair counts without support, for texts whose lines are in no "
        "order; 0: support is always needed",
    )
    position_weight: Amount = option(
        4.0, "how strongly words link to the same place in the other sentence"
    )
    dim: Size = option(256, "random dimensions of words and sentences")


@dataclasses.dataclass(frozen=True)
class WordsOptions(Options):
    """Sources of a word's vector beside its entry in the dictionary."""

    unknown: Annotated[str, OneOf("ngrams", "beginnings")] = option(
        "ngrams",
        "what gives a word without an entry its vector: ngrams, a regression from character "
        "n-grams to the entries' vectors | beginnings, the entries that begin like it",
    )
    loans: bool = option(
        True,
        "with unknown=ngrams, whether a language's regression starts from the hub's, as far as "
        "that fits its entries; this helps with loans and related languages",
    )
    phrases: bool = option(
        True,
        "whether an entry of several words is read as one unit, whose English vector comes from"
        " its words",
    )
    spelling_dim: Count = option(
        256, "dimensions that hold a word's n-grams, in which names and loans are alike; 0: none"
    )
    meanings: str = option(
        "text",
        "what makes English synonyms (the hub's) near each other: text, the neighbours of words"
        " in its text | hf:DIR, an English encoder | '': nothing, only random directions",
    )
    meaning_dim: Size = option(256, "dimensions for these meanings")
    meaning_length: Amount = option(
        0.4, "length of this part of a vector; the random part has length 1"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.meanings not in ("", "text") and not self.meanings.startswith(("hf:", "run:")):
            raise OptionError(
                f"{AT}.meanings={self.meanings!r}: expected text, hf:DIR, run:DIR or ''"
            )


@dataclasses.dataclass(frozen=True)
class EmbeddingsOptions(FastTextOptions, DuongOptions):
    """Vectors that are trained on text."""

    max_vocab: Annotated[int, Range(2)] = option(200_000, "frequent words of a language")
