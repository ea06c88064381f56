"""Runs a model over files: clwe-jax align, align-documents, mine and tag.

    clwe-jax align --model=RUN --languages=de,en FILE FILE      # 0-0 1-2 ..., a line for each pair of sentences
    clwe-jax mine  --model=RUN --languages=de,en FILE FILE      # margin, sentence and translation, separated by tabs
    clwe-jax tag   --model=RUN --languages=de    FILE           # a word and its label on each line, as in CoNLL
    clwe-jax align-documents --model=RUN --languages=de,en FILE FILE --out=de-en.tsv

RUN is anything that `api.load` opens. Each line of a file, plain or compressed, is a sentence. Without --out the result
goes to the standard output. Files are read and written in parts, so that memory does not grow with them; `mine` keeps a
vector of each sentence. There, lines of a file that differ in case, punctuation, white space or a leading number of a
list alone count once.

`align-documents` is for two files that translate each other and have the same order, but join, split, leave out or add
sentences. Its lines have the sentence, its translation, a score and the numbers of their lines
in the files, 12-13:14, separated by tabs. --config.data.pairs reads a file that is called de-en.tsv.

Words are split at spaces, and links number them from 0 (Pharaoh's format). --words=own splits with the model's own
tokenizer, as languages without spaces need; `align` then writes the words after the links: links, source words,
target words, separated by tabs.

With --pipeline_options Apache Beam does the work of `mine`, on as many machines as its runner has. FILE may then be a
pattern with *, and FILE and --out may lie in a bucket (docs/clusters.md).
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import itertools
import math
import os
import sys
from typing import IO, Callable, Iterator, Sequence, TypeVar

from absl import logging

from clwe_jax import api, atomic, compiled, remote_files, terminal
from clwe_jax.api.answers import WORDS
from clwe_jax.options import extras
from clwe_jax.text.lines import LineCounts, iterate_lines, warn_of_repairs
from clwe_jax.text.words.words import is_unspaced

_AT_ONCE = 1_024  # lines read, labelled and written together
_END = object()
_MARKS = "。，、！？「」『』.,!?"  # around a run of such characters
_LONG = 8  # characters without a space in a word of a script that has none
_Line = TypeVar("_Line")


def align(
    model: api.Model, files: Sequence[str], languages: Sequence[str], words: str = WORDS[0]
) -> Iterator[str]:
    """Yields the links of each line's words with those of the other file's line, '0-0 1-2'."""
    for part, (source, target) in enumerate(_parallel(files)):
        words_of_lines = [[]] * len(source), [[]] * len(target)
        if words == "own":
            pairs = model.align_all(source, target, *languages)
            words_of_lines = tuple(
                _cut_lines(model, lines, language)
                for lines, language in zip((source, target), languages)
            )
        else:
            if not part:
                _warn_without_spaces(files, (source, target))
            pairs = model.align_all(source, target, *languages, words=words)
        for left, right, links in zip(*words_of_lines, pairs, strict=True):
            places = " ".join(f"{link.source_place}-{link.target_place}" for link in links)
            yield (
                "\t".join([places, _join_words(left), _join_words(right)])
                if words == "own"
                else places
            )


def _cut_lines(model: api.Model, lines: Sequence[str], language: str) -> list[list[str]]:
    """The words that the model cuts lines into."""
    encoder = model.encoder()
    return [encoder.words(line, language) for line in lines]


def _join_words(words: Sequence[str]) -> str:
    """Words with spaces between them; a word of several has a line below in the place of its spaces."""
    return " ".join(word.replace(" ", "_") for word in words)


def _warn_without_spaces(files: Sequence[str], sides: Sequence[Sequence[str]]) -> None:
    """Warns of a text in a script without spaces, whose lines would be words."""
    for path, lines in zip(files, sides):
        tokens = list(itertools.chain.from_iterable(map(str.split, lines)))
        long = sum(
            len(token)
            for token in tokens
            if is_unspaced(token.strip(_MARKS)) and len(token) > _LONG
        )
        if long > sum(map(len, tokens)) / 2:
            logging.warning(
                "%s: the text has few spaces, between which words are numbered: --words=own cuts it "
                "into words",
                path,
            )


def mine(
    model: api.Model, files: Sequence[str], languages: Sequence[str], least: float
) -> Iterator[str]:
    """Yields margin, sentence and translation of the pairs that `Model.mine` finds, best first.

    Raises:
      ValueError: a file without sentences.
    """
    texts, other_texts = ([line for line in _lines(file) if line.strip()] for file in files)
    for path, lines in zip(files, (texts, other_texts)):
        if not lines:
            raise ValueError(f"{path}: expected sentences")
    for i, j, margin in model.mine(texts, languages[0], other_texts, languages[1], least):
        yield _pair(margin, texts[i], other_texts[j])


def _pair(margin: float, *sentences: str) -> str:
    return "\t".join([f"{margin:.4f}", *(x.replace("\t", " ") for x in sentences)])


def align_documents(
    model: api.Model, files: Sequence[str], languages: Sequence[str], least: float
) -> Iterator[str]:
    """Yields sentence, translation, score and lines of the beads of `Model.align_documents`."""
    sides = [_number_lines(path) for path in files]
    (numbers, texts), (other_numbers, other_texts) = sides
    beads = model.align_documents(texts, languages[0], other_texts, languages[1])
    linked_counts = [0, 0]
    for bead in beads:
        if bead.score < least:
            continue
        linked_counts = [linked_counts[0] + len(bead.source), linked_counts[1] + len(bead.target)]
        lines = f"{_span(numbers, bead.source)}:{_span(other_numbers, bead.target)}"
        yield "\t".join(
            [
                _join_texts(texts, bead.source),
                _join_texts(other_texts, bead.target),
                f"{bead.score:.3f}",
                lines,
            ]
        )
    for path, (_, lines), count in zip(files, sides, linked_counts, strict=True):
        logging.info("%s: %d of %d lines have no translation", path, len(lines) - count, len(lines))


def _number_lines(path: str) -> tuple[list[int], list[str]]:
    """The numbers, from 1, and the texts of a file's lines that are not empty."""
    lines = [(number, line) for number, line in enumerate(_lines(path), 1) if line.strip()]
    if not lines:
        raise ValueError(f"{path}: expected sentences")
    return [number for number, _ in lines], [line for _, line in lines]


def _span(numbers: Sequence[int], places: range) -> str:
    first = numbers[places[0]]
    last = numbers[places[-1]]
    return str(first) if first == last else f"{first}-{last}"


def _join_texts(texts: Sequence[str], places: range) -> str:
    return " ".join(texts[place].replace("\t", " ").strip() for place in places)


def tag(
    model: api.Model, files: Sequence[str], languages: Sequence[str], words: str = WORDS[0]
) -> Iterator[str]:
    """Yields 'word<tab>label' for the words of each line, and '' after a line."""
    for part, lines in enumerate(_parts(_lines(files[0]))):
        if words != "own" and not part:
            _warn_without_spaces(files, [lines])
        texts = lines if words == "own" else [line.split() for line in lines]
        for pairs in model.tag(texts, languages[0]):
            yield "".join(f"{word}\t{label}\n" for word, label in pairs)


# Command -> its number of files, and what it does.
_COMMANDS: dict[str, tuple[int, Callable[..., Iterator[str]]]] = {
    "align": (2, align),
    "mine": (2, mine),
    "tag": (1, tag),
    "align-documents": (2, align_documents),
}
_LEAST = {"mine": 1.05, "align-documents": 0.0}  # default of the smallest margin or score


def _lines(path: str) -> Iterator[str]:
    """Yields the lines of a file; at its end the log says how many were not UTF-8."""
    counts = LineCounts()
    yield from iterate_lines(path, counts)
    warn_of_repairs(path, counts)


def _parts(lines: Iterator[_Line]) -> Iterator[list[_Line]]:
    while part := list(itertools.islice(lines, _AT_ONCE)):
        yield part


def _parallel(files: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yields parts of two files.

    Raises:
      ValueError: one file has more lines.
    """
    lines_before = 0
    for part in _parts(itertools.zip_longest(*map(_lines, files), fillvalue=_END)):
        for number, pair in enumerate(part, lines_before + 1):
            if _END in pair:
                shorter = files[pair.index(_END)]
                raise ValueError(
                    f"{shorter} ends after {number - 1:,} lines, and {files[1 - pair.index(_END)]} goes on: line n of "
                    "one file has to be the translation of line n of the other"
                )
        lines_before += len(part)
        yield tuple(map(list, zip(*part)))


@contextlib.contextmanager
def _output(path: str) -> Iterator[IO[str]]:
    if path:
        with atomic.writing(path, "w") as file:
            yield file
    else:
        yield sys.stdout
        sys.stdout.flush()


def _arguments(command: str, argv: Sequence[str]) -> argparse.Namespace:
    count, _ = _COMMANDS[command]
    parser = argparse.ArgumentParser(
        prog=f"clwe-jax {command}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", required=True, help="a run's folder, hf:DIR or files of vectors")
    parser.add_argument(
        "--languages", required=True, help="codes of the files' languages, in their order"
    )
    if command not in _LEAST:
        parser.add_argument(
            "--words", choices=WORDS, default=WORDS[0], help="how text is split into words"
        )
    parser.add_argument("--out", default="", help="file to write; without it, the standard output")
    if command in _LEAST:
        parser.add_argument(
            "--least",
            type=float,
            default=_LEAST[command],
            help="smallest margin or score of a pair",
        )
    if command == "mine":
        parser.add_argument(
            "--pipeline_options",
            help="options of Apache Beam, separated by commas: --runner=DirectRunner",
        )
        parser.add_argument(
            "--parts", type=int, help="parts of each text for Apache Beam (default: 16)"
        )
    parser.set_defaults(pipeline_options=None)
    parser.add_argument("files", nargs=count, metavar="FILE")
    args = parser.parse_args(argv)
    args.languages = args.languages.split(",")
    if len(args.languages) != count:
        parser.error(f"--languages={','.join(args.languages)}: expected {count}, one for each file")
    by_beam = args.pipeline_options is not None
    if command in _LEAST and math.isnan(args.least):
        parser.error("--least=nan: expected a number")
    if command == "mine" and args.parts is not None and (args.parts < 1 or not by_beam):
        parser.error(f"--parts={args.parts}: at least 1, and with --pipeline_options only")
    texts = args.files
    if by_beam:
        if not args.out:
            parser.error("--pipeline_options needs --out=FILE")
        # Those of this machine: Beam looks for the others, which may lie in a bucket.
        matches = itertools.chain.from_iterable(map(glob.glob, args.files))
        texts = list(filter(os.path.isfile, matches))
    for path in texts:
        if not os.path.isfile(path):
            parser.error(f"{path} is not a file")
    exists = os.path.exists(args.out)
    if args.out in args.files or exists and any(os.path.samefile(args.out, path) for path in texts):
        parser.error(f"--out={args.out} would take the place of the text: name another file")
    if by_beam and "://" in args.out:
        return args
    folder = os.path.dirname(args.out) or "."
    if not os.path.isdir(folder):
        parser.error(f"--out={args.out}: there is no folder {folder}")
    if os.path.isdir(args.out):
        parser.error(f"--out={args.out} is a folder: name a file")
    return args


def main(command: str, argv: Sequence[str]) -> None:
    """The command line of align, align-documents, mine and tag."""
    args = _arguments(command, argv)
    terminal.command_log(logging.INFO)
    compiled.keep()
    try:
        with terminal.log_only(logging.WARNING):
            if args.pipeline_options is None:
                _run(command, args)
            else:
                _mine_by_beam(args)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(
            f"error: {extras.explain_error(error) if isinstance(error, ImportError) else error}"
        )


def _run(command: str, args: argparse.Namespace) -> None:
    model = api.load_for(args.model, args.languages)
    total = sum(1 for _ in iterate_lines(args.files[0]))
    options = {"least": args.least} if command in _LEAST else {"words": args.words}
    lines = _COMMANDS[command][1](model, args.files, args.languages, **options)
    written = 0
    with _output(args.out) as out, terminal.task("lines", total) as advance:
        for line in lines:
            out.write(line + "\n")
            written += 1
            advance(1)
    _check_found(args, written)


def _check_found(args: argparse.Namespace, written: int) -> None:
    if not written:
        logging.warning(
            "Nothing is found in %s: the files are empty, have no words of the model, or (mine) no pair of that margin",
            " and ".join(args.files),
        )


def _mine_by_beam(args: argparse.Namespace) -> None:
    from clwe_jax.api import beam_mining  # it imports jax, before which `compiled.keep` must run

    job = beam_mining.MiningJob(
        args.model,
        tuple(map(remote_files.absolute, args.files)),
        tuple(args.languages),
        remote_files.absolute(args.out),
        args.parts or 16,
        tuple(filter(None, args.pipeline_options.split(","))),
    )
    written = 0
    with remote_files.writing(job.out) as file:
        for written, pair in enumerate(beam_mining.mine(job, args.least), 1):
            file.write(f"{_pair(*pair)}\n".encode())
    _check_found(args, written)


if __name__ == "__main__":
    main(sys.argv[0].split()[-1], sys.argv[1:])  # the command puts its name there
