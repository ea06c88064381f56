"""The command clwe-jax dictionary."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from absl import logging

from clwe_jax import atomic, terminal
from clwe_jax.text.corpus import corpora
from clwe_jax.text.dictionary import load
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that the arguments name; exits with 1 and a message on an error."""
    parser = argparse.ArgumentParser(
        prog="clwe-jax dictionary",
        description="Shows bilingual dictionaries; `clwe-jax data` fetches public ones.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="print the synonyms of a word")
    show.add_argument("--word", required=True)
    show.add_argument("--lang", help="language of the word; default: all that have it")
    stats = commands.add_parser("stats", help="print pairs and words of each language")
    stats.add_argument("--text", help="a folder of text, to print how much of it is covered")
    stats.add_argument("--sample_bytes", type=int, default=corpora.SAMPLE_BYTES)
    for command in (show, stats):
        command.add_argument(
            "directory", metavar="DIR", help="a folder of dictionaries: xx-yy.txt, JMdict"
        )
        command.add_argument("--languages", default="", help="only these languages, as in en,de,zh")
        command.add_argument(
            "--cache", default=atomic.user_cache(), help="where merged maps are kept"
        )
        command.add_argument("--keep_case", action="store_true", help="do not lower-case the words")
    options = parser.parse_args(arguments)
    terminal.command_log(logging.WARNING)
    try:
        {"show": _show, "stats": _stats}[options.command](options)
    except (OSError, ValueError) as error:
        sys.exit(f"Error: {error}")


def _load(options: argparse.Namespace) -> Dictionary:
    return load(
        options.directory,
        [name for name in options.languages.split(",") if name] or None,
        normalizer=Normalizer(lower_case=not options.keep_case),
        cache_dir=options.cache,
    )


def _show(options: argparse.Namespace) -> None:
    dictionary = _load(options)
    if options.lang and options.lang not in dictionary.languages:
        raise ValueError(
            f"There are no words in {options.lang!r}; languages: {', '.join(dictionary.languages)}"
        )
    normalizer = Normalizer(lower_case=not options.keep_case)
    has_entry = False
    for language in [options.lang] if options.lang else dictionary.languages:
        word = normalizer.key(options.word, language)
        synonyms = dictionary.synonyms(word, language)
        if synonyms:
            has_entry = True
            entries: list[str] = []
            for name, translations in synonyms.items():
                entries += [f"{name}:{translation}" for translation in translations]
            print(f"{language}: {word}   {', '.join(entries)}")
    if not has_entry:
        scope = f" as a word in {options.lang}" if options.lang else ""
        raise ValueError(f"{options.directory} has no {options.word!r}{scope}")


def _stats(options: argparse.Namespace) -> None:
    dictionary = _load(options)
    rows = [["language", "words", "pairs", "languages reached", "unspaced words"]]
    per_word = dictionary.pairs_per_word()
    for index, language in enumerate(dictionary.languages):
        first, last = dictionary.language_splits[index : index + 2]
        groups = slice(dictionary.entry_splits[first], dictionary.entry_splits[last])
        reached = len(set(dictionary.group_language[groups].tolist()))
        segmenter = Segmenter({language: dictionary.lexicon(language)})
        rows.append(
            [language]
            + [f"{n:,}" for n in (last - first, per_word[first:last].sum(), reached)]
            + [f"{len(segmenter.lexicons[language]):,}"]
        )
    if options.text:
        _add_coverage(rows, dictionary, options)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]))
    print(f"\n{dictionary.pair_count:,} pairs of {len(dictionary):,} words.")
    if dictionary.skipped:
        listed = ", ".join(f"{name}: {count:,}" for name, count in dictionary.skipped.items())
        print(f"Lines skipped: {listed}")


def _add_coverage(rows: list[list[str]], dictionary: Dictionary, options) -> None:
    """Adds the share of running words with an entry, for each language that has text."""
    languages = [x for x in dictionary.languages if corpora.files_of(options.text, x)]
    if not languages:
        raise ValueError(f"--text={options.text} has no text in {', '.join(dictionary.languages)}")
    corpus = corpora.TextCorpus(options.text, languages)
    normalizer = Normalizer(lower_case=not options.keep_case)
    segmenter = Segmenter({x: dictionary.lexicon(x) for x in dictionary.languages})
    words = lambda text, language: segmenter.words(normalizer(text, language), language)
    described = corpora.inspect(corpus, words, dictionary, options.sample_bytes)
    rows[0].append("coverage")
    for row in rows[1:]:
        stats = described.get(row[0])
        row.append(f"{stats.coverage:.1%}" if stats else "")


if __name__ == "__main__":
    terminal.until_stopped(main)
