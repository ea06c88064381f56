"""Vectors of each language before alignment, and the words that it shares with the hub."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Mapping

from absl import logging
import numpy as np

from clwe_jax.embeddings.reallocate import Reallocation, reallocate
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.static import StaticOptions, StaticRun
from clwe_jax.text.words.spellings import Spellings

Raw = Mapping[str, Vectors]
Shared = Mapping[str, frozenset[str]]
Counts = Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class UnalignedVectors:
    """Vectors of several languages before alignment.

    Attributes:
      raw: language -> its vectors, most frequent word first.
      shared: language -> the words that it shares with the hub.
      before: `raw` and `shared` before reallocation; None where nothing was reallocated.
      description: what the report says of the shared words; {} where nothing is shared.
      made_with: record of the files of given vectors, on which their alignment depends.
      skipped: fault -> number of lines that were left out of these files.
    """

    raw: Raw
    shared: Shared = dataclasses.field(default_factory=dict)
    before: tuple[Raw, Shared] | None = None
    description: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    made_with: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    skipped: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def description_as_written(self, spellings: Spellings) -> dict[str, Any]:
        """The description with its examples as their language writes them."""
        examples = {
            language: [spellings.get(language, {}).get(word, word) for word in words]
            for language, words in self.description.get("examples", {}).items()
        }
        return {**self.description, **({"examples": examples} if examples else {})}


def language_part(
    joint: Vectors, counts: Mapping[str, int], words: Iterable[str], max_words: int
) -> Vectors:
    """The vectors of a language's words, of which those most frequent in its own text (`counts`) stay."""
    rows = [(joint.index[word], counts.get(word, 0)) for word in words if word in joint.index]
    # Words of one count keep the order of the vectors, so that the choice repeats.
    rows.sort(key=lambda item: (-item[1], item[0]))
    rows = rows[:max_words]
    vectors = joint.take([row for row, _ in rows])
    return dataclasses.replace(vectors, counts=np.array([n for _, n in rows], np.int64))


def split_by_text(joint: Vectors, counts: Counts, hub: str, max_words: int) -> UnalignedVectors:
    """Each language's part of joint vectors: a word in the texts of two languages is one shared word."""
    raw = {
        language: language_part(joint, words, words, max_words)
        for language, words in counts.items()
    }
    shared_words = _words_in_common(raw, hub)
    description = {
        "text": "One set of vectors: a word that occurs in the text of two languages is one word.",
        "languages": {
            language: {"words": len(raw[language]), "shared": len(words)}
            for language, words in shared_words.items()
        },
    }
    return UnalignedVectors(raw, shared_words, description=description)


def reallocate_words(
    config: StaticRun, joint: Vectors, counts: Counts, hub: str, separate: Raw | None
) -> UnalignedVectors:
    """As `split_by_text`; a word that belongs to one language is no longer shared (joint-align, Eqs 5-6).

    Args:
      config: the run's config; `static.gamma`, `static.rule`, `embeddings.max_vocab` and `seed`
        are read.
      counts: language -> word -> occurrences in its text.
      separate: language -> vectors of its text alone, which the rule 'neighbours' compares; None
        for other rules.
    """
    max_words = config.embeddings.max_vocab
    first = split_by_text(joint, counts, hub, max_words)
    reallocation = reallocate(
        counts,
        config.static.gamma,
        words=joint.words,
        rule=config.static.rule,
        vectors=separate,
        seed=config.seed,
    )
    parts = {
        language: language_part(joint, words, reallocation.vocabulary(language), max_words)
        for language, words in counts.items()
    }
    description = _describe_reallocation(config.static, first.raw, parts, reallocation)
    for language, row in description["languages"].items():
        logging.info(
            "%s: %s words, %s before reallocation, %s of them shared",
            language,
            f"{len(parts[language]):,}",
            f"{row['words']:,}",
            f"{row['shared']:,}",
        )
    # After reallocation a word is shared if both languages still have it.
    return UnalignedVectors(
        parts, _words_in_common(parts, hub), (first.raw, first.shared), description
    )


def _words_in_common(raw: Raw, hub: str) -> dict[str, frozenset[str]]:
    return {
        language: frozenset(word for word in vectors.words if word in raw[hub].index)
        for language, vectors in raw.items()
        if language != hub
    }


def _describe_reallocation(
    settings: StaticOptions, before: Raw, after: Raw, decided: Reallocation
) -> dict[str, Any]:
    if settings.rule == "ratio":
        gamma = settings.gamma
        text = (
            "A word stays shared by the languages in which its relative frequency is at least "
            f"{(1 - gamma) / gamma:.3f} of its highest relative frequency in any language (gamma "
            f"{gamma:g}); otherwise only the language with the highest one keeps it."
        )
    else:
        text = (
            "A word stays shared by the languages in which its neighbours agree more than the "
            "neighbours of different words do; otherwise only the language in which it is most "
            "frequent keeps it."
        )
    languages = {}
    for language, vectors in after.items():
        shared_count = sum(word in decided.sharers for word in vectors.words)
        languages[language] = {
            "words": len(before[language]),
            "own": len(vectors) - shared_count,
            "shared": shared_count,
            "lost": sum(word not in vectors.index for word in before[language].words),
        }
    return {"text": text, "languages": languages, "examples": decided.examples()}
