"""The dictionaries of a run of static vectors: test dictionaries, training pairs, induced ones."""

from __future__ import annotations

import os
from typing import Mapping, Sequence

import numpy as np

from clwe_jax import atomic, options
from clwe_jax.align import induce, search
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.static import StaticRun
from clwe_jax.text.dictionary import test_dictionaries, training_dictionary
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.dictionary.test_dictionaries import TestSet
from clwe_jax.text.spread import spread
from clwe_jax.text.words.characters import has_letter
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

_TOGETHER = 10_000  # pairs whose cosines are computed at once
_EXAMPLES = 3  # words of either side, in the message on an uncovered dictionary


def tests(config: options.Run, folders: Mapping[str, str], normalizer: Normalizer) -> list[TestSet]:
    """The test dictionaries of the directions that a run evaluates.

    Args:
      config: the run's config.
      folders: option -> its folder, from `text_of_run.resolve_folders`.
      normalizer: makes the keys by which words are compared.

    Raises:
      FileNotFoundError: a folder of test dictionaries is missing.
      ValueError: a test dictionary has no pairs.
    """
    # Language models are tested with all pairs.
    pairs = options.pairs(config) if isinstance(config, StaticRun) else ()
    test_sets: list[TestSet] = []
    for folder in training_dictionary.test_folders(config.evals, folders):
        test_sets += test_dictionaries.find(folder, options.languages(config), normalizer, pairs)
    return test_sets


def segmenter(
    languages: Sequence[str], dictionary: Dictionary | None, tests: Sequence[TestSet]
) -> Segmenter:
    """The segmenter of the run's text, for scripts without spaces between words.

    It has to know the words of the test sets, or they would not occur in the segmented text. Their
    translations are not used.
    """
    lexicons = {
        language: set(dictionary.lexicon(language)) if dictionary is not None else set()
        for language in languages
    }
    for test in tests:
        lexicons[test.source] |= set(test.entries)
        lexicons[test.target] |= set().union(*test.entries.values())
    return Segmenter(lexicons)


def training_pairs(
    pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors, where: str = ""
) -> np.ndarray:
    """The rows of the pairs whose words both have vectors.

    Args:
      pairs: (source word, target word) pairs.
      where: name of the dictionary in the message, such as 'de-en'.

    Returns:
      int32 [P, 2], rows of `source` and `target`.

    Raises:
      ValueError: no pair is covered; the message shows the coverage and examples of both spellings.
    """
    rows = np.stack(
        [source.rows(a for a, _ in pairs), target.rows(b for _, b in pairs)], axis=1
    ).astype(np.int32)
    rows = rows[(rows >= 0).all(1)]
    if len(pairs) and not len(rows):
        raise ValueError(_find_uncovered(pairs, source, target, where))
    return rows


def _find_uncovered(
    pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors, where: str
) -> str:
    """The message on a dictionary without a pair in the vectors."""
    lines = [f"No pair of the dictionary {where} has both of its words in the vectors:"]
    for side, vectors, column in (("source", source, 0), ("target", target, 1)):
        words = list(dict.fromkeys(pair[column] for pair in pairs))
        have = sum(word in vectors.index for word in words)
        lines.append(
            f"  {side}: {have} of {len(words)} dictionary words are covered; the dictionary "
            f"spells {_examples(words)}, the vectors {_examples(vectors.words)}"
        )
    if lower_case_helps(pairs, source, target):
        lines.append(
            "In lower case they would be covered: --config.align.lower_case_dictionary=True."
        )
    else:
        lines.append("Check the languages, their order (config.data.languages) and the case.")
    return "\n".join(lines)


def lower_case_helps(pairs: Sequence[tuple[str, str]], source: Vectors, target: Vectors) -> bool:
    """Whether lower-casing the pairs would cover more than 1.5 times as many of them."""
    as_is = sum(a in source.index and b in target.index for a, b in pairs)
    lower = sum(a.lower() in source.index and b.lower() in target.index for a, b in pairs)
    return lower > 1.5 * as_is


def _examples(words: Sequence[str]) -> str:
    # Words from the whole list, because the most frequent ones are punctuation.
    return ", ".join(map(repr, spread(words, _EXAMPLES)))


def induce_all(
    model: StaticSpaces, wanted: Sequence[tuple[str, str]], max_words: int, workdir: str
) -> dict[str, int]:
    """Writes WORKDIR/induced/xx-yy.txt for each pair of languages, in one direction.

    Args:
      max_words: frequent words of each language; 0: none.

    Returns:
      'de-en' -> number of pairs in its dictionary.
    """
    sizes: dict[str, int] = {}
    for source, target in wanted if max_words else ():
        if f"{target}-{source}" not in sizes:
            spaces = model.word_space(source, target, max_words)
            judged = model.entries.accepted, model.entries.rejected
            pairs = induce_pairs(*spaces, *(x.pairs_between(source, target) for x in judged))
            write(os.path.join(workdir, "induced", f"{source}-{target}.txt"), pairs)
            sizes[f"{source}-{target}"] = len(pairs)
    return sizes


def induce_pairs(
    source: Vectors, target: Vectors, entries: np.ndarray, rejected: np.ndarray
) -> list[tuple[str, str]]:
    """Pairs of words that are each other's nearest, most frequent source word first.

    The nearest of a word with entries is that with the largest cosine; of another word it is that by CSLS.
    Pairs in which a word has no letter are left out.

    Args:
      source: vectors of the source language, most frequent word first.
      target: vectors of the target language in the same space and order.
      entries, rejected: int [P, 2], rows of a dictionary's pairs and of those that it rejects.
    """
    rows = induce.induce_dictionary(source.vectors, target.vectors, method="csls", max_words=None)
    entries = entries[(entries < [len(source), len(target)]).all(1)]
    has_entry = np.isin(rows[:, 0], entries[:, 0]) | np.isin(rows[:, 1], entries[:, 1])
    rows = np.concatenate([rows[~has_entry], _mutual_nearest(entries, source, target)])
    never = set(map(tuple, rejected.tolist()))
    rows = rows[[pair not in never for pair in map(tuple, rows.tolist())]]
    rows = rows[np.argsort(rows[:, 0])]
    pairs = [(source.words[a], target.words[b]) for a, b in rows.tolist()]
    return [pair for pair in pairs if all(has_letter(word) for word in pair)]


def _mutual_nearest(pairs: np.ndarray, source: Vectors, target: Vectors) -> np.ndarray:
    """Those of some pairs of rows, int [P, 2], in which each word has the largest cosine of all its pairs."""
    x = np.asarray(search.unit(source.vectors))
    y = np.asarray(search.unit(target.vectors))
    parts = (pairs[start : start + _TOGETHER] for start in range(0, len(pairs), _TOGETHER))
    cosines = [np.einsum("pd,pd->p", x[block[:, 0]], y[block[:, 1]]) for block in parts]
    # The best pair first: the first one of each word is that of its largest cosine.
    pairs = pairs[np.argsort(-np.concatenate([*cosines, np.empty(0, np.float32)]), kind="stable")]
    first = [np.unique(pairs[:, side], return_index=True)[1] for side in (0, 1)]
    return pairs[np.intersect1d(*first)]


def write(path: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Writes a dictionary in MUSE's format: a line `source target` for each pair.

    A tab separates words that contain spaces.
    """
    lines = (f"{a}\t{b}\n" if " " in a or " " in b else f"{a} {b}\n" for a, b in pairs)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    atomic.write(path, "".join(lines))
