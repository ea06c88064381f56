"""The dictionary's part of a static space: alone, or before the vectors that were trained or given."""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple

from clwe_jax.embeddings import concatenate, dictionary_text
from clwe_jax.embeddings.ngrams import Regression
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_rows import WordRows
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.static import StaticOptions
from clwe_jax.static.finished_space import FinishedSpace


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
        of_dictionary = dictionary_text.vectors(self.rows, self.paired)
        joined = concatenate.vectors(of_dictionary, trained, trained_length)
        return dataclasses.replace(spaces, raw=joined, shared={}, alignments={})

    def spell_unknown(
        self,
        spaces: StaticSpaces,
        trained_dim: int,
        settings: StaticOptions,
        finished: FinishedSpace | None = None,
    ) -> StaticSpaces:
        """The space in which words without a vector have one from their n-grams, if the options say so.

        Args:
          trained_dim: width of the part behind the dictionary's; 0: there is none.
          settings: `config.static`.
          finished: space that these languages are added to; None: they stay alone.
        """
        if settings.words.unknown != "ngrams":
            return spaces
        spelling = dictionary_text.make_spelling(
            self.rows, trained_dim, settings.compared_share, self.paired
        )
        spelled = dataclasses.replace(spaces, spelling=spelling)
        return finished.extend(spelled) if finished else spelled
