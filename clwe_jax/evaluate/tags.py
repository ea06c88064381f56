"""Parts of speech of words from tagged text, by which lexicon induction is split."""

from __future__ import annotations

import collections
import gzip
import os
import re

from absl import logging

from clwe_jax.text.normalize import Normalizer

# The universal parts of speech (Petrov et al. 2012, Universal Dependencies, version 2).
UPOS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
_NAME = re.compile(r"([a-z]{2,3})([._-].*)?\.(tsv|conllu|conll|txt)(\.gz)?")


def read(directory: str, language: str, normalizer: Normalizer = Normalizer()) -> dict[str, str]:
    """The most frequent part of speech of each word of a language.

    Args:
      directory: holds `{lang}*.tsv` or `{lang}*.conllu`, also `.gz`: a token a line, columns
        separated by tabs, the form first (or after its number, as in CoNLL-U) and a universal
        part of speech among the next ones; other lines are ignored.
      language: two or three letters, with which the file's name begins.
      normalizer: spells words as the vectors do.

    Returns:
      word -> 'NOUN', 'PROPN', ...; empty where no file is in the language.

    Raises:
      FileNotFoundError: there is no such folder.
      ValueError: a file of the language without a single tagged token.
    """
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{directory} is not a folder (config.evals.bli.tags). Expected tagged text there, "
            f"as {language}.tsv with columns form, lemma, part of speech; "
            "--config.evals.bli.tags='' leaves the split out"
        )
    counts: dict[str, collections.Counter[str]] = {}
    for name in sorted(os.listdir(directory)):
        match = _NAME.fullmatch(name)
        if not match or match[1] != language:
            continue
        path = os.path.join(directory, name)
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
                f"{path} holds no tagged token: expected a token a line, its columns (form, "
                "lemma, universal part of speech) separated by tabs"
            )
    if not counts:
        logging.info("%s holds no tagged text in %s", directory, language)
    # Of equal counts the first by name, so that the order of the files does not matter.
    return {word: min(found, key=lambda tag: (-found[tag], tag)) for word, found in counts.items()}


def _token(columns: list[str]) -> tuple[str, str] | None:
    if len(columns) < 2 or columns[0].startswith("#"):
        return None
    first = 1 if columns[0].isdigit() and len(columns) > 4 else 0
    for tag in columns[first + 1 : first + 4]:
        if tag in UPOS:
            return columns[first], tag
    return None
