"""Encoding for models that read the characters of words: no word is out of the vocabulary."""

from __future__ import annotations

import copy
from typing import Sequence

import numpy as np

from clwe_jax.encoders.batching import Row, Spot
from clwe_jax.encoders.encode import RowEncoder
from clwe_jax.text.vocab import spelling
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import WordVocabulary
from clwe_jax.types import Batch, EncodeFn, Objective

_SHORT = 8  # positions of a batch whose keys alone are read
_MIN_DISTINCT = 256  # spellings of a batch, times a power of four: few shapes to compile


class _Words(WordVocabulary):
    """A word vocabulary that gives new words the next free ids.

    Attributes:
      unknown: words with the ids len(pieces), len(pieces) + 1, ...
    """

    def __init__(self, vocabulary: WordVocabulary):
        self.__dict__.update(vocabulary.__dict__)
        self.unknown: list[str] = []
        self._numbers: dict[str, int] = {}

    def _encode(self, word: str) -> list[int]:
        number = self.words.get(word)
        if number is None:
            number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.pieces) + len(self.unknown)
            self.unknown.append(word)
        return [number]


class CharacterEncoder(RowEncoder):
    """A `RowEncoder` for models that read characters; every word has a vector of its own."""

    def __init__(
        self,
        encode_fn: EncodeFn,
        tokenizer: Tokenizer,
        max_length: int,
        max_characters: int,
        batch_size: int = 64,
    ):
        """Args:
        encode_fn, tokenizer, max_length, batch_size: as of `RowEncoder`.
        max_characters: number of characters of a word's frame, that of the training.

        Raises:
          ValueError: the tokenizer's vocabulary is not one of words.
        """
        if not isinstance(tokenizer.vocabulary, WordVocabulary):
            raise ValueError(
                "A model that reads characters needs a vocabulary of whole words; this tokenizer's "
                f"vocabulary is {tokenizer.vocabulary.kind}"
            )
        # The run's own tokenizer keeps its vocabulary, in which new words are <UNK>.
        tokenizer = copy.copy(tokenizer)
        self._known = spelling.spell_vocabulary(tokenizer.vocabulary, max_characters)
        tokenizer.vocabulary = _Words(tokenizer.vocabulary)
        super().__init__(encode_fn, tokenizer, max_length, batch_size)

    def batch(
        self, rows: Sequence[Row], size: int, length: int, spots: Sequence[Spot] | None = None
    ) -> Batch:
        del spots  # every row has a row of the batch of its own
        vocabulary = self.tokenizer.vocabulary
        words = np.full((size, length), vocabulary.pad_id, np.int32)
        groups = np.full((size, length), -1, np.int32)
        filled = np.zeros((size, length), np.float32)
        languages = np.zeros((size, length), np.int32)
        weighted = bool(rows) and rows[0].weights is not None
        weights = np.zeros((size, length), np.float32) if weighted else None
        for place, row in enumerate(rows):
            end = row.positions
            words[place, :end] = [vocabulary.cls_id, *row.ids, vocabulary.sep_id]
            groups[place, 1 : end - 1] = row.groups
            filled[place, :end] = 1.0
            languages[place] = row.language
            if weights is not None:
                weights[place, 1 : end - 1] = row.weights
        # A word's characters are read once a batch; its positions refer to their row.
        distinct, spelled = np.unique(words, return_inverse=True)
        count = _MIN_DISTINCT
        while count < len(distinct):
            count *= 4
        characters = np.full((count, self._known.shape[1]), spelling.PAD, np.int32)
        characters[: len(distinct)] = self._spell(distinct)
        batch = {
            "spelling": spelled.reshape(words.shape).astype(np.int32),
            "characters": characters,
            "loss_weights": filled,
            "language_ids": languages,
            "groups": groups,
        }
        return batch if weights is None else {**batch, "weights": weights}

    def _spell(self, numbers: np.ndarray) -> np.ndarray:
        vocabulary = self.tokenizer.vocabulary
        size = self._known.shape[1]
        in_vocabulary = numbers < len(vocabulary.pieces)
        spelled = np.empty((len(numbers), size), np.int32)
        spelled[in_vocabulary] = self._known[numbers[in_vocabulary]]
        words = [vocabulary.unknown[n - len(vocabulary.pieces)] for n in numbers[~in_vocabulary]]
        spelled[~in_vocabulary] = spelling.spell_all([word.encode("utf-8") for word in words], size)
        return spelled


def reads_characters(objective: Objective) -> bool:
    """Whether the objective's batches hold the characters of words."""
    return "characters" in objective.batch_shapes(1, _SHORT)


def encoder_of(
    objective: Objective,
    tokenizer: Tokenizer,
    max_length: int = 0,
    batch_size: int = 64,
    for_senses: bool = False,
) -> RowEncoder:
    """The row encoder of a model.

    Args:
      objective: objective that encodes (`types.Encodes`).
      max_length: pieces of the longest row, special pieces included; 0: the model's maximum.
      batch_size: rows computed at once.
      for_senses: whether to call the objective's `encode_for_senses` instead of its `encode`.
    """
    # The two functions differ for a projected model.
    encode = objective.encode_for_senses if for_senses else objective.encode
    longest_row = max_length or objective.max_length
    shapes = objective.batch_shapes(1, _SHORT)
    if "characters" in shapes:
        frame = shapes["characters"].shape[1]
        return CharacterEncoder(encode, tokenizer, longest_row, frame, batch_size)
    return RowEncoder(encode, tokenizer, longest_row, batch_size, "segment_ids" in shapes)
