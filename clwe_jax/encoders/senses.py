"""Inputs of sense selection for words in sentences, encoded as in the model's training."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.encoders.characters import encoder_of, reads_characters
from clwe_jax.encoders.batching import Row
from clwe_jax.encoders.encode import RowEncoder
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables


class WordInContext(NamedTuple):
    """A word in a sentence.

    Attributes:
      words: the sentence.
      place: index of the word in it.
      language: language of the sentence.
    """

    words: Sequence[str]
    place: int
    language: str


def rows(encoder: RowEncoder, words: Sequence[WordInContext], masked: bool = False) -> list[Row]:
    """One row for each word, with the word as its only group.

    A sentence longer than a row is cut to the part around the word.
    """
    context_rows = []
    room = encoder.max_length - 2
    for sentence, place, language in words:
        start = max(0, min(place - room // 2, len(sentence) - room))
        # Models with senses have vocabularies of whole words: an id is a word.
        ids, _ = encoder.tokenizer.encode_words(sentence[start : start + room])
        if masked:
            ids[place - start] = encoder.tokenizer.vocabulary.mask_id
        groups = [0 if i == place - start else -1 for i in range(len(ids))]
        context_rows.append(Row(ids, groups, encoder.tokenizer.language_id(language)))
    return context_rows


@dataclasses.dataclass(frozen=True, eq=False)
class SenseEncoder:
    """Encodes words into the representations that sense selection compares with centers.

    A projection does not apply, because centers are in the space in which they were learned.

    Attributes:
      objective: objective with senses (`types.HasSenses`).
      tokenizer: the run's tokenizer.
      batch_size: sentences encoded at once.
    """

    objective: Objective
    tokenizer: Tokenizer
    batch_size: int = 64

    def encode(self, variables: Variables, words: Sequence[WordInContext]) -> np.ndarray:
        """Inputs of sense selection, float32 [N, D]; a model of pieces reads the word masked."""
        context_rows = rows(self._encoder, words, masked=not reads_characters(self.objective))
        # The only group, in the last layer.
        return np.stack([x[0, -1] for x in self._encoder.means(variables, context_rows)])

    @functools.cached_property
    def _encoder(self) -> RowEncoder:
        return encoder_of(
            self.objective, self.tokenizer, batch_size=self.batch_size, for_senses=True
        )
