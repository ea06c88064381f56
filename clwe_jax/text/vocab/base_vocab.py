"""The base class of vocabularies: words to piece ids and back, with five special pieces."""

from __future__ import annotations

import abc
import hashlib
from typing import Mapping, Sequence

import numpy as np

from clwe_jax.options.derived import padded_rows

PAD = "[PAD]"
UNK = "[UNK]"
CLS = "[CLS]"
SEP = "[SEP]"
MASK = "[MASK]"
SPECIALS = (PAD, UNK, CLS, SEP, MASK)
LONGEST_WORD = 100  # characters; WordPiece encodes a longer word as [UNK], like BERT
_CACHED_WORDS = 1 << 20


class Vocabulary(abc.ABC):
    """Words to piece ids and back.

    Attributes:
      kind: 'wordpiece', 'sentencepiece' or 'word'.
      size: len(pieces) rounded up to a multiple of 128; ids from len(pieces) on never occur.
      specials: name of each special piece -> its id.
      begins, ends: whether a text begins with [CLS], and whether it ends with [SEP].
    """

    kind: str
    begins = True
    ends = True

    def __init__(self, pieces: Sequence[str], specials: Mapping[str, int]):
        self.pieces = list(pieces)
        self.size = padded_rows(len(self.pieces))
        self.specials = dict(specials)
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            specials[name] for name in SPECIALS
        )
        self._cache: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of the five special pieces, sorted."""
        return tuple(sorted(self.specials[name] for name in SPECIALS))

    def encode_word(self, word: str) -> list[int]:
        """The piece ids of one normalised word: at least one, and no special piece except [UNK]."""
        ids = self._cache.get(word)
        if ids is None:
            ids = self._encode(word) or [self.unk_id]
            if len(self._cache) < _CACHED_WORDS:
                self._cache[word] = ids
        return ids

    def is_piece(self, word: str) -> bool:
        """Whether one piece is the normalised word; [UNK] is none."""
        ids = self.encode_word(word)
        return len(ids) == 1 and ids[0] != self.unk_id

    def real_places(self, length: int) -> np.ndarray:
        """int32 [length]: 1 at the places of a row, 0 at that of a [CLS] or [SEP] that texts lack."""
        places = np.ones(length, np.int32)
        places[0] = self.begins
        places[-1] = self.ends
        return places

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of a hash of the kind and the pieces."""
        text = "\n".join([self.kind, *self.pieces])
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    @abc.abstractmethod
    def _encode(self, word: str) -> list[int]: ...

    @abc.abstractmethod
    def save(self, directory: str) -> None:
        """Writes the files that `load` reads."""
