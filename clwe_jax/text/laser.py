"""The text of LASER's released encoder: Moses' words in lower case, and fastBPE codes.

The release (Artetxe and Schwenk 2019) has `93langs.fcodes`, lines `a b count`; the encoder's file has
the ids of the pieces, in which '@@' ends a piece that is not its word's last. `93langs.fvocab` lists
the same pieces, and is not read.
"""

from __future__ import annotations

from typing import Mapping, Sequence
import unicodedata

from clwe_jax.text.xlm import FastBpeVocabulary, MosesSegmenter

_GOES_ON, _END = "@@", "</w>"
_ENTITIES = {
    "&bar;": "|", "&#124;": "|", "&lt;": "<", "&gt;": ">", "&bra;": "[", "&ket;": "]",
    "&quot;": '"', "&apos;": "'", "&#91;": "[", "&#93;": "]", "&amp;": "&",
}  # fmt: skip
# The release segments or transcribes these languages with other programs.
_OTHERS = {"zh": "jieba", "ja": "MeCab", "el": "transliterate"}


class LaserSegmenter(MosesSegmenter):
    """Raw text to words, as the release cuts it."""

    laser = True

    def __init__(self) -> None:
        """Raises:
        ModuleNotFoundError: sacremoses is not installed.
        """
        super().__init__(lower_case=True)

    def words(self, text: str, language: str) -> list[str]:
        """The words of raw text.

        Raises:
          ValueError: Chinese, Japanese or Greek, for which the release needs other programs.
        """
        if language in _OTHERS:
            raise ValueError(
                f"The release of LASER reads text of the language {language!r} with the program "
                f"{_OTHERS[language]}, which is not here: take multilingual BERT or XLM-R for it"
            )
        text = "".join(" " if unicodedata.category(x).startswith("C") else x for x in text)
        text = self._normalizer(language).normalize(text)
        for name, character in _ENTITIES.items():
            text = text.replace(name, character)
        words = self._tokenizer(language).tokenize(text, return_str=False, escape=False)
        return [word.lower() for word in words if word]


def vocabulary(ids: Mapping[str, int], codes: Sequence[str]) -> FastBpeVocabulary:
    """The vocabulary of the release.

    Args:
      ids: piece -> id, of the encoder's file.
      codes: the lines of the codes.

    Raises:
      ValueError: a line of another form, ids that are not 0, 1, 2, ..., or codes that belong to
        another vocabulary.
    """
    pieces = sorted(ids, key=ids.get)
    if [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise ValueError(f"the dictionary: expected the ids 0 to {len(pieces) - 1}, each once")
    pieces = [_ours(piece) for piece in pieces]
    merges = []
    for number, line in enumerate(codes, 1):
        parts = line.split(" ")
        if len(parts) != 3 or not parts[2].isdigit():
            raise ValueError(f"codes, line {number}: expected 'a b count', found {line[:80]!r}")
        merges.append(tuple(parts[:2]))
    made = {a + b for a, b in merges}
    long = [x for x in pieces if len(x.removesuffix(_END)) > 1 and not x.startswith("<")]
    absent = [x for x in long if x not in made]
    if len(absent) > len(long) // 10:
        raise ValueError(
            f"the codes do not make {len(absent):,} of the {len(long):,} pieces with an id, such as "
            f"{absent[0].removesuffix(_END)!r}: they belong to another vocabulary"
        )
    return FastBpeVocabulary(pieces, merges, split=True)



def _ours(piece: str) -> str:
    """A piece as `FastBpeVocabulary` writes it: the last one of a word has a mark."""
    if piece.startswith("<") and piece.endswith(">") and len(piece) > 2:
        return piece  # <s>, <pad>, </s>, <unk>
    return piece.removesuffix(_GOES_ON) if piece.endswith(_GOES_ON) else piece + _END
