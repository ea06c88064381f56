"""The text of LASER's released encoder: Moses' words in lower case, and fastBPE codes.

The release (Artetxe and Schwenk 2019) has `93langs.fcodes`, lines `a b count`; the encoder's file has
the ids of the pieces, in which '@@' ends a piece that is not its word's last. `93langs.fvocab` lists
the same pieces; only `read`, of a vocabulary without the encoder, needs it.
"""

from __future__ import annotations

import functools
import logging
from typing import Callable, Mapping, Sequence
import unicodedata

from clwe_jax.text.vocab.xlm import END_MARK, FastBpeVocabulary, MosesSegmenter, order_pieces
from clwe_jax.text.words.languages import parse_tag

_GOES_ON = "@@"
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3
# &amp; stands last: before the others it would turn &amp;lt; into <.
_ENTITIES = {
    "&bar;": "|",
    "&#124;": "|",
    "&lt;": "<",
    "&gt;": ">",
    "&bra;": "[",
    "&ket;": "]",
    "&quot;": '"',
    "&apos;": "'",
    "&#91;": "[",
    "&#93;": "]",
    "&amp;": "&",
}


def _jieba() -> Callable[[str], str]:
    """The program that cuts Chinese."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return lambda line: " ".join(jieba.cut(line))


def _mecab() -> Callable[[str], str]:
    """The program that cuts Japanese, with the dictionary of the release."""
    import ipadic
    import MeCab

    return MeCab.Tagger(f"{ipadic.MECAB_ARGS} -Owakati").parse


def _greek() -> Callable[[str], str]:
    """The program that writes Greek in Latin letters."""
    import transliterate

    return lambda line: transliterate.translit(line, "el", reversed=True)


# Programs that the release runs after Moses' tokenizer.
_PROGRAMS = {"zh": _jieba, "ja": _mecab, "el": _greek}


class LaserSegmenter(MosesSegmenter):
    """Raw text to words, as the release cuts it."""

    laser = True

    def __init__(self) -> None:
        """Raises:
        ModuleNotFoundError: sacremoses is not installed.
        """
        super().__init__(lower_case=True)
        self._program = functools.cache(_program)

    def words(self, text: str, language: str) -> list[str]:
        """The words of raw text.

        Raises:
          ModuleNotFoundError: Chinese, Japanese or Greek, and the release's program for it is not
            installed.
        """
        text = "".join(" " if unicodedata.category(x).startswith("C") else x for x in text)
        code = parse_tag(language).code
        text = self._normalizer(code).normalize(text)
        for name, character in _ENTITIES.items():
            text = text.replace(name, character)
        line = self._tokenizer(code).tokenize(text, return_str=True, escape=False)
        return self._program(code)(line).lower().split()


def _program(language: str) -> Callable[[str], str]:
    try:
        return _PROGRAMS[language]() if language in _PROGRAMS else str
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"LASER's words of the language {language!r} need the package {error.name}: "
            "pip install 'clwe_jax[laser]'"
        ) from error


def lines(codes: str) -> list[str]:
    """The lines of a file of codes, whose last one may lack its end."""
    # `splitlines` would cut at characters that codes may hold, such as U+2028.
    return codes.removesuffix("\n").split("\n")


def vocabulary(ids: Mapping[str, int], codes: Sequence[str]) -> FastBpeVocabulary:
    """The vocabulary of the release.

    Args:
      ids: piece -> id, of the encoder's file.

    Raises:
      ValueError: a line of another form, ids that are not 0, 1, 2, ..., or codes that belong to
        another vocabulary.
    """
    pieces = [_ours(piece) for piece in order_pieces(ids, "the dictionary")]
    merges = []
    for number, line in enumerate(codes, 1):
        parts = line.split(" ")
        if len(parts) != 3 or not parts[2].isdigit():
            raise ValueError(f"codes, line {number}: expected 'a b count', found {line[:80]!r}")
        merges.append(tuple(parts[:2]))
    merged = {a + b for a, b in merges}
    long = [x for x in pieces if len(x.removesuffix(END_MARK)) > 1 and not x.startswith("<")]
    absent = [x for x in long if x not in merged]
    if len(absent) > len(long) // 10:
        raise ValueError(
            f"the codes do not make {len(absent):,} of the {len(long):,} pieces with an id, such as "
            f"{absent[0].removesuffix(END_MARK)!r}: they belong to another vocabulary"
        )
    return FastBpeVocabulary(pieces, merges, split=True)


def read(codes: str, listed: str) -> FastBpeVocabulary:
    """The vocabulary of fastBPE's files, with LASER's special pieces before its own.

    Args:
      codes: path of the codes, lines `a b count`.
      listed: path of the pieces, lines `piece count`.

    Raises:
      ValueError: a line of another form, or codes that belong to another vocabulary.
    """
    ids = {piece: number for number, piece in enumerate(_SPECIAL)}
    with open(listed, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            piece, _, count = line.rstrip("\n").rpartition(" ")
            if not piece or not count.isdigit() or piece in ids:
                raise ValueError(
                    f"{listed}, line {number}: expected 'piece count' with a new piece, found "
                    f"{line[:80]!r}"
                )
            ids[piece] = len(ids)
    with open(codes, encoding="utf-8") as file:
        try:
            return vocabulary(ids, lines(file.read()))
        except ValueError as error:
            raise ValueError(f"{codes}: {error}") from error


def _ours(piece: str) -> str:
    """A piece as `FastBpeVocabulary` writes it: the last one of a word has a mark."""
    if piece.startswith("<") and piece.endswith(">") and len(piece) > 2:
        return piece  # <s>, <pad>, </s>, <unk>
    return piece.removesuffix(_GOES_ON) if piece.endswith(_GOES_ON) else piece + END_MARK
