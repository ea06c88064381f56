"""Parts of speech of words, from tagged text; lexicon induction has figures for each of them."""

from __future__ import annotations

import collections
import itertools
import os
import re

from absl import logging

from clwe_jax.text.corpus import test_files
from clwe_jax.text.labelled import tagged
from clwe_jax.text.words.languages import name_in
from clwe_jax.text.unpacking import ENDING
from clwe_jax.text.words.normalize import Normalizer

_OPTION = "config.evals.bli.tags"
_NAME = re.compile(rf"([a-z]{{2,3}})([._-].*)?\.(tsv|conllu|conll|txt){ENDING}")


def read(
    directory: str, language: str, normalizer: Normalizer = Normalizer(), option: str = _OPTION
) -> dict[str, str]:
    """The most frequent part of speech of each word of a language.

    Args:
      directory: folder with `{lang}*.tsv` or `{lang}*.conllu`, plain or compressed, in the formats of
        `text.labelled.tagged`. Words without a universal part of speech are left out.
      language: two or three letters, with which the file's name begins.
      normalizer: normalizer of the vectors' words.
      option: the config option that names the folder, for errors.

    Returns:
      word -> 'NOUN', 'PROPN', ...; empty where no file is in the language.

    Raises:
      FileNotFoundError: the folder is missing.
      ValueError: a file of the language without a tagged token, or a line with other columns.
    """
    counts: dict[str, collections.Counter[str]] = {}
    expected = f"tagged text, as {language}.tsv with columns form, lemma, part of speech,"
    for match in test_files.match_names(directory, _NAME, option, expected, required=False):
        if name_in(match[1], [language]) != language:
            continue
        path = os.path.join(directory, match[0])
        sentences, form, tag = tagged.universal(path, language)
        rows = itertools.chain.from_iterable(sentences)
        tokens = [(row.columns[form], row.columns[tag]) for row in rows]
        tokens = [(word, tag) for word, tag in tokens if tag in tagged.UPOS]
        if not tokens:
            raise ValueError(
                f"{path} holds no tagged token: expected lines of form, lemma and universal part "
                "of speech, separated by tabs"
            )
        for word, tag in tokens:
            counts.setdefault(normalizer.key(word, language), collections.Counter())[tag] += 1
    if not counts:
        logging.info("%s holds no tagged text in %s", directory, language)
    # The tag's name breaks ties, so that the order of the files does not matter.
    return {word: min(tags, key=lambda tag: (-tags[tag], tag)) for word, tags in counts.items()}
