"""Parts of speech of words, from tagged text; lexicon induction has figures for each of them."""

from __future__ import annotations

import collections
import gzip
import os
import re

from absl import logging

from clwe_jax.text.corpus import test_files
from clwe_jax.text.words.normalize import Normalizer

# The universal parts of speech (Petrov et al. 2012, Universal Dependencies, version 2).
UPOS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
_NAME = re.compile(r"([a-z]{2,3})([._-].*)?\.(tsv|conllu|conll|txt)(\.gz)?")


def read(directory: str, language: str, normalizer: Normalizer = Normalizer()) -> dict[str, str]:
    """The most frequent part of speech of each word of a language.

    Args:
      directory: folder with `{lang}*.tsv` or `{lang}*.conllu`, also `.gz`. A line is a token: its
        columns are separated by tabs, the form is the first one (in CoNLL-U the second, after the
        token's number), and one of the next three is a universal part of speech. Other lines are
        ignored.
      language: two or three letters, with which the file's name begins.
      normalizer: normalizer of the vectors' words.

    Returns:
      word -> 'NOUN', 'PROPN', ...; empty where no file is in the language.

    Raises:
      FileNotFoundError: the folder is missing.
      ValueError: a file of the language without a tagged token.
    """
    counts: dict[str, collections.Counter[str]] = {}
    expected = f"tagged text, as {language}.tsv with columns form, lemma, part of speech,"
    for match in test_files.matching(
        directory, _NAME, "config.evals.bli.tags", expected, required=False
    ):
        if match[1] != language:
            continue
        path = os.path.join(directory, match[0])
        tokens = 0
        with (gzip.open if match[4] else open)(path, "rt", encoding="utf-8") as file:
            for line in file:
                token = _token(line.rstrip("\n").split("\t"))
                if token is not None:
                    tokens += 1
                    word = normalizer(token[0], language)
                    counts.setdefault(word, collections.Counter())[token[1]] += 1
        if not tokens:
            raise ValueError(
                f"{path} holds no tagged token: expected lines of form, lemma and universal part "
                "of speech, separated by tabs"
            )
    if not counts:
        logging.info("%s holds no tagged text in %s", directory, language)
    # The tag's name breaks ties, so that the order of the files does not matter.
    return {word: min(tags, key=lambda tag: (-tags[tag], tag)) for word, tags in counts.items()}


def _token(columns: list[str]) -> tuple[str, str] | None:
    if len(columns) < 2 or columns[0].startswith("#"):
        return None
    first = 1 if columns[0].isdigit() and len(columns) > 4 else 0
    for tag in columns[first + 1 : first + 4]:
        if tag in UPOS:
            return columns[first], tag
    return None
