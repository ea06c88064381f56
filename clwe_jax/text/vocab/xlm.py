"""XLM's tokenizer: Moses' words, lower case without accents, and fastBPE (Lample, Conneau 2019).

The ids equal those of `transformers.XLMTokenizer`. Moses' rules are those of the package sacremoses.
The data graph has no twin of them, so that runs train with other vocabularies.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from typing import Any, Mapping, Sequence
import unicodedata

from clwe_jax import atomic
from clwe_jax.text.vocab.base_vocab import CLS, MASK, PAD, SEP, UNK, Vocabulary
from clwe_jax.text.words.languages import parse_tag

FILE = "fastbpe.json"
# XLM segments these languages with programs of their own.
_SEGMENTED = ("ja", "th", "zh")
_SPECIAL = {PAD: "<pad>", UNK: "<unk>", CLS: "<s>", SEP: "</s>", MASK: "<special1>"}
END_MARK = "</w>"  # ends the last piece of a word
# Moses' replace-unicode-punctuation.perl.
_PUNCTUATION = str.maketrans(
    {
        **dict(zip("，、”“∶：？《》）！（；」「～’━〈〉【】％", ',,""::?"")!(;""~\'-<>[]%')),
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        "…": "...",
    }
)
_FULL_STOP = re.compile(r"[。．]\s*")
# The program that removes diacritics from Romanian text (wmt16-scripts).
_ROMANIAN = str.maketrans("ŞşŢţȘșȚțĂăÂâÎî", "SsTtSsTtAaAaIi")


class MosesSegmenter:
    """Raw text to words, as XLM cuts it; it takes the place of `words.Segmenter`.

    Attributes:
      raw: True: the text is not normalised before.
      laser: whether the words are those of LASER's release, in lower case.
      lexicons: {}: there are none.
      lower_case: whether words are in lower case without accents.
    """

    raw = True
    bert = False
    laser = False

    def __init__(self, lower_case: bool):
        """Raises:
        ModuleNotFoundError: sacremoses is not installed.
        """
        try:
            import sacremoses
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Moses' tokenizer needs the package sacremoses: pip install 'clwe_jax[xlm]'"
            ) from error
        self.lexicons: Mapping[str, Any] = {}
        self.lower_case = lower_case
        self._normalizer = functools.cache(lambda x: sacremoses.MosesPunctNormalizer(lang=x))
        self._tokenizer = functools.cache(lambda x: sacremoses.MosesTokenizer(lang=x))

    def words(self, text: str, language: str) -> list[str]:
        """The words of raw text.

        Raises:
          ValueError: Chinese, Japanese or Thai, which XLM segments with other programs.
        """
        code = parse_tag(language).code  # 'jpn' and 'zho_Hant' have the rules of 'ja' and 'zh'
        if code in _SEGMENTED:
            raise ValueError(
                f"XLM segments text of the language {language!r} with a program that is not here: "
                "take multilingual BERT or XLM-R for it"
            )
        text = _FULL_STOP.sub(". ", text).translate(_PUNCTUATION)
        text = self._normalizer(code).normalize(text)
        text = "".join(x for x in text if not unicodedata.category(x).startswith("C"))
        if code == "ro":
            text = text.translate(_ROMANIAN)
        words = self._tokenizer(code).tokenize(text, return_str=False, escape=False)
        if self.lower_case:
            low = unicodedata.normalize("NFD", " ".join(words).lower())
            low = "".join(x for x in low if unicodedata.category(x) != "Mn")
            # `transformers` lower-cases once more after the accents are gone.
            words = low.lower().split(" ")
        return [word for word in words if word]


class FastBpeVocabulary(Vocabulary):
    """Byte pair encoding of the characters of a word; the last piece ends in '</w>'."""

    kind = "fastbpe"

    def __init__(self, pieces: Sequence[str], merges: Sequence[Sequence[str]], split: bool = False):
        """Args:
        pieces: pieces in the order of their ids; `split` adds a mask at the end.
        merges: pairs of pieces, the first one first.
        split: whether a merged piece without an id is divided again, as by fastBPE with a
          vocabulary; else it is unknown.

        Raises:
          ValueError: `pieces` lacks a special piece.
        """
        if split and _SPECIAL[MASK] not in pieces:
            pieces = [*pieces, _SPECIAL[MASK]]
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        absent = [piece for piece in _SPECIAL.values() if piece not in self._ids]
        if absent:
            raise ValueError(f"The vocabulary has no {', '.join(absent)}, which XLM's have")
        self.merges = [tuple(pair) for pair in merges]
        self.split = split
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self._parts = {"".join(pair): pair for pair in self.merges} if split else {}
        super().__init__(pieces, {name: self._ids[piece] for name, piece in _SPECIAL.items()})

    def _encode(self, word: str) -> list[int]:
        parts = [*word[:-1], word[-1:] + END_MARK]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:]))
            best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            new_parts = []
            place = 0
            while place < len(parts):
                is_pair = place + 1 < len(parts) and pairs[place] == best
                new_parts.append("".join(best) if is_pair else parts[place])
                place += 2 if is_pair else 1
            parts = new_parts
        return list(itertools.chain.from_iterable(map(self._ids_of, parts)))

    def _ids_of(self, part: str) -> list[int]:
        if part in self._ids or part not in self._parts:
            return [self._ids.get(part, self.unk_id)]
        return list(itertools.chain.from_iterable(map(self._ids_of, self._parts[part])))

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        content = {"pieces": self.pieces, "merges": self.merges, "split": self.split}
        atomic.write_json(os.path.join(directory, FILE), content, indent=None)


def load(path: str) -> FastBpeVocabulary:
    """The vocabulary that `FastBpeVocabulary.save` wrote.

    Raises:
      ValueError: the file is damaged.
    """
    with atomic.naming_damage(path):
        content = atomic.read_json(path)
        return FastBpeVocabulary(content["pieces"], content["merges"], content.get("split", False))


def order_pieces(ids: Mapping[str, int], where: str) -> list[str]:
    """The pieces by their ids, which have to be 0, 1, 2, ...; else ValueError, which names `where`."""
    pieces = sorted(ids, key=ids.get)
    if [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise ValueError(f"{where}: expected the ids 0 to {len(pieces) - 1}, each once")
    return pieces


def read(vocab: Mapping[str, int], merges: str) -> FastBpeVocabulary:
    """The vocabulary in a folder of Hugging Face.

    Args:
      vocab: the content of vocab.json, piece -> id.
      merges: the content of merges.txt: two pieces and their count a line.

    Raises:
      ValueError: a line without two pieces, or ids that are not 0, 1, 2, ...
    """
    pieces = order_pieces(vocab, "vocab.json")
    pairs = []
    for number, line in enumerate(merges.split("\n")[:-1], 1):
        parts = line.split()
        if len(parts) < 2:
            raise ValueError(f"merges.txt, line {number}: expected two pieces, found {line[:80]!r}")
        pairs.append(parts[:2])
    return FastBpeVocabulary(pieces, pairs)
