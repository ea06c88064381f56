"""Downloads the dictionaries of English Wiktionary that the repository of WECHSEL holds (MIT).

Minixhofer et al. 2022 scraped the translations of 1,596 languages from the dump of December 2021:
`dicts/data/{language's English name}.txt`, with lines of an English word, a tab and a translation. The
words themselves are Wiktionary's (CC BY-SA).
"""

from __future__ import annotations

import os
import re
from typing import Sequence

from absl import logging

from clwe_jax import atomic
from clwe_jax.text.corpus import download
from clwe_jax.text.dictionary import pair_files
from clwe_jax.text.words import languages as language_codes
from clwe_jax.text.words import spellings
from clwe_jax.text.words.characters import has_letter
from clwe_jax.text.words.normalize import Normalizer

# The same folder as in the repository https://github.com/CPJKU/wechsel.
ADDRESS = "https://raw.githubusercontent.com/CPJKU/wechsel/main/dicts/data/"
LICENCE = (
    "The dictionaries are from the repository of WECHSEL (MIT), which took them from English Wiktionary "
    "(CC BY-SA)."
)
RAW = "wiktionary"  # folder of the files as they were fetched
_MAX_WORDS = 3  # of an entry on either side; longer ones are explanations
_MARKUP = re.compile(r"[\[\]{}|<>=*#]|https?:")


def download_languages(
    directory: str, languages: Sequence[str], *, address: str = ADDRESS, **options
) -> dict[str, tuple[int, int]]:
    """Downloads dictionaries and writes DIRECTORY/en-xx.wiktionary.txt, as `dictionary.load` reads it.

    The files as they were fetched stay in DIRECTORY/wiktionary, where an interrupted transfer goes on
    and complete files are checked (`download.download_files`).

    Args:
      directory: destination folder, which may hold dictionaries of other sources.
      languages: codes such as 'cy', or a code and the name of its file: 'xyz:some language'.
      address: URL of the folder that holds the files, with a slash at the end.
      **options: as of `download.download_files`.

    Returns:
      code -> (pairs that were written, lines that were left out).

    Raises:
      ValueError: a code without a name, or a file that differs from the manifest.
      OSError: a file could not be downloaded.
    """
    all_names = download.names_of("wiktionary")
    names = {}
    for language in languages:
        tag, _, name = language.partition(":")
        code = language_codes.parse_tag(tag).code
        name = (name or all_names.get(code, "")).replace("_", " ")
        if not name or not pair_files.parse_name(f"en-{code}.txt"):
            raise ValueError(
                f"--languages={language}: there is no name for this code here; add that of the file in "
                f"{ADDRESS}, as in --languages=hsb:upper_sorbian. "
                f"{language_codes.hint(tag, all_names)}"
            )
        names[code] = f"{name}.txt"
    raw = os.path.join(directory, RAW)
    download.download_files(raw, list(names.values()), address=address, **options)
    counts = {}
    for code, name in names.items():
        lines, left_out = clean_pairs(os.path.join(raw, name), code)
        path = os.path.join(directory, f"en-{code}.{pair_files.WIKTIONARY}.txt")
        atomic.write(path, "".join(f"{a}\t{b}\n" for a, b in lines).encode("utf-8"))
        counts[code] = len(lines), left_out
        logging.info("%s: %s pairs, %s lines left out", path, len(lines), left_out)
    return counts


def clean_pairs(path: str, language: str) -> tuple[list[tuple[str, str]], int]:
    """The pairs of a fetched file in lower case, and the number of lines that are none.

    Left out are lines without two columns, with markup, with more than three words a side or without a
    letter on one, and repetitions.
    """
    normalizer = Normalizer()
    entries = pair_files.read_pairs(path)
    pairs: dict[tuple[str, ...], tuple[str, str]] = {}
    bad_count = entries.bad_count
    for source, target in zip(entries.left, entries.right):
        keys = tuple(_key(text, code) for text, code in ((source, "en"), (target, language)))
        if all(keys) and keys not in pairs:
            spelled = (
                spellings.as_written(text, normalizer, code)
                for text, code in ((source, "en"), (target, language))
            )
            pairs[keys] = tuple(spelled)
        else:
            bad_count += 1
    return list(pairs.values()), bad_count


def _key(text: str, language: str) -> str:
    """The key of an entry that is one to three words with a letter; else ''."""
    key = Normalizer().key(text, language)
    words = key.split(" ")
    good = len(words) <= _MAX_WORDS and has_letter(key) and not _MARKUP.search(text)
    return key if good else ""
