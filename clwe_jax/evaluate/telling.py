"""What tells the senses of words in sentences, read off a model as in its training."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.evaluate.encode import Row, RowEncoder
from clwe_jax.evaluate.character_encoder import encoder_of, reads_characters
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables


class Asked(NamedTuple):
    """A word in a sentence.

    Attributes:
      words: of the sentence.
      place: the word's.
      language: the sentence's.
    """

    words: Sequence[str]
    place: int
    language: str


def rows(encoder: RowEncoder, asked: Sequence[Asked], masked: bool = False) -> list[Row]:
    """A row a sentence, whose one mean is of the word alone.

    Of a sentence longer than the encoder's rows the part around the word is read.
    """
    found, room = [], encoder.max_length - 2
    for words, place, language in asked:
        start = max(0, min(place - room // 2, len(words) - room))
        ids, _ = encoder.tokenizer.encode_words(words[start : start + room])
        if masked:
            ids[place - start] = encoder.tokenizer.vocabulary.mask_id
        groups = [0 if i == place - start else -1 for i in range(len(ids))]
        found.append(Row(ids, groups, encoder.tokenizer.language_id(language)))
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class Teller:
    """Representations that are compared with the centers of senses (Algorithm 1).

    They are not those of `encode` after a projection: centers stay where they were learned.

    Attributes:
      objective: with senses (`types.HasSenses`).
      tokenizer: the run's.
      batch_size: sentences encoded at once.
    """

    objective: Objective
    tokenizer: Tokenizer
    batch_size: int = 64

    def __call__(self, variables: Variables, asked: Sequence[Asked]) -> np.ndarray:
        """float32 [N, D]."""
        found = rows(self._encoder, asked, masked=not reads_characters(self.objective))
        return np.stack([x[0, -1] for x in self._encoder.means(variables, found)])

    @functools.cached_property
    def _encoder(self) -> RowEncoder:
        return encoder_of(self.objective, self.tokenizer, 0, self.batch_size, for_senses=True)
