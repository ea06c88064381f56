"""The dictionary's part of a static space: alone, or before the vectors that were trained or given."""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple

from clwe_jax.embeddings import concatenate, dictionary_text
from clwe_jax.embeddings.ngrams import Regression
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_rows import WordRows
from clwe_jax.encoders.spaces import StaticSpaces


class DictionaryPart(NamedTuple):
    """What a dictionary and given pairs say of the words.

    Attributes:
      rows: of the dictionary.
      paired: language -> what given pairs teach of its words; {}: there are none.
    """

    rows: WordRows
    paired: Mapping[str, Regression]

    def put_before(
        self, spaces: StaticSpaces, trained: Mapping[str, Vectors], trained_length: float
    ) -> StaticSpaces:
        """The space in which a word's dictionary vector stands before its trained one.

        Args:
          trained: language -> trained vectors in the hub's space.
          trained_length: length of a trained vector; the dictionary's vectors have length 1.
        """
        known = dictionary_text.vectors(self.rows, self.paired)
        joined = concatenate.vectors(known, trained, trained_length)
        return dataclasses.replace(spaces, raw=joined, shared={}, alignments={})

    def spell_unknown(
        self, spaces: StaticSpaces, trained_dim: int, compared_share: float
    ) -> StaticSpaces:
        """The space in which words without a vector have one from their n-grams.

        Args:
          trained_dim: width of the part behind the dictionary's; 0: there is none.
          compared_share: as of `StaticOptions`.
        """
        spelling = dictionary_text.make_spelling(
            self.rows, trained_dim, compared_share, self.paired
        )
        return dataclasses.replace(spaces, spelling=spelling)
