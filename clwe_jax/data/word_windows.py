"""Texts of words to windows: every row a contiguous stream that goes on from batch to batch."""

from __future__ import annotations

from typing import Iterator, Mapping

import numpy as np

from clwe_jax.data.word_chunks import Spellings, Text
from clwe_jax.text.word_vocab import WordVocabulary
from clwe_jax.types import Batch


class Rows:
    """Deals texts to rows: each takes the next one when its own ends.

    Attributes:
      length: of a window.
    """

    def __init__(self, rows: int, length: int, padding: int):
        """Args:
        rows: how many.
        length: of a window.
        padding: what stands where a row has ended.
        """
        self.length = length
        self._padding = padding
        self._texts: list[Text | None] = [None] * rows
        self._places = np.zeros(rows, np.int64)
        # The last word of the window before.
        self._previous = np.full(rows, padding, np.int32)

    def window(self, texts: Iterator[Text]) -> dict[str, np.ndarray] | None:
        """The next window of all rows; None where neither they nor `texts` have a word left.

        Returns:
          'words', 'reverse' int32 [rows, length + 1]: word numbers, with the one that follows;
          'previous' int32 [rows]; 'filled' bool, 'begins' bool (a text), 'language' int32
          [rows, length].
        """
        rows, length = len(self._texts), self.length
        words = np.full((rows, length + 1), self._padding, np.int32)
        reverse = words.copy()
        language = np.zeros((rows, length), np.int32)
        filled, begins = np.zeros((2, rows, length), np.bool_)
        for row in range(rows):
            text, place, column = self._texts[row], int(self._places[row]), 0
            while True:
                if text is None or place == len(text.words):
                    text, place = next(texts, None), 0
                    if text is None:
                        break
                if column == length:
                    words[row, length] = text.words[place]
                    reverse[row, length] = text.reverse[place]
                    break
                size = min(length - column, len(text.words) - place)
                here, there = slice(column, column + size), slice(place, place + size)
                words[row, here] = text.words[there]
                reverse[row, here] = text.reverse[there]
                language[row, here] = text.language
                filled[row, here] = True
                begins[row, column] = not place
                column, place = column + size, place + size
            self._texts[row], self._places[row] = text, place
        if not filled.any():
            return None
        previous, self._previous = self._previous, words[:, length - 1].copy()
        return dict(
            words=words, reverse=reverse, previous=previous, filled=filled, begins=begins,
            language=language,
        )  # fmt: skip

    def texts(self) -> list[Text]:
        """The texts that rows are in the middle of."""
        return [text for text in self._texts if text is not None]

    def replace(self, texts: list[Text]) -> None:
        """Takes other numbers for the words of `texts()`."""
        given = iter(texts)
        self._texts = [None if text is None else next(given) for text in self._texts]

    def state(self) -> dict[str, np.ndarray]:
        """The place in the streams, without the texts."""
        return {
            "has_text": np.array([text is not None for text in self._texts]),
            "places": self._places.copy(),
            "previous": self._previous.copy(),
        }

    def restore(self, state: Mapping[str, np.ndarray], texts: list[Text]) -> None:
        """Goes to a place that `state` gave, with the texts that `texts` gave then."""
        given = iter(texts)
        self._texts = [next(given) if has else None for has in state["has_text"]]
        self._places = state["places"].astype(np.int64)
        self._previous = state["previous"].astype(np.int32)


class BatchMaker:
    """Windows to batches.

    The keys of a batch, int32 [rows, length] where nothing else is said:

      words: ids; `<S>`, words and `</S>` of one sentence after another; `[PAD]` after the end.
      spelling: for each word the row of `characters` that spells it.
      characters: [distinct, max_characters], of the batch's distinct words; padding after them.
        With several hosts `spelling` counts through the characters of all hosts in their order.
      language_ids: of the text that the word stands in.
      reset: float32, 1 where a text begins and the state is to be zeroed before; else 0.
      loss_weights: float32, 1 at words, 0 at padding.
      target_forward: the id that follows; at the window's end the first of the next window.
      weights_forward: float32, `loss_weights`, but 0 at `</S>`, which only `<S>` follows.
      target_backward: the id before; at the window's beginning the last of the window before.
      weights_backward: float32, `loss_weights`, but 0 at `<S>`.

    A stream of its own for the backward model, of the same texts, each from its last word to its
    first; language_ids, reset and loss_weights hold for both:

      words_reverse, spelling_reverse: as words and spelling.
      target_reverse: the id that follows in the reversed stream: the one before in the text.
      weights_reverse: float32, `loss_weights`, but 0 at `<S>`.

    Attributes:
      unspelt: how many words of all batches had no room in `characters`; they are spelt `<UNK>`.
    """

    def __init__(
        self,
        vocabulary: WordVocabulary,
        spellings: Spellings,
        distinct: int,
        *,
        reset: bool,
        reverse: bool,
        process_index: int = 0,
    ):
        self._vocabulary = vocabulary
        self._spellings = spellings
        self._distinct = distinct
        self._reset = reset
        self._reverse = reverse
        self._first = process_index * distinct
        self._padding = spellings.characters(np.array([vocabulary.pad_id]))
        self.unspelt = 0

    def __call__(self, window: Mapping[str, np.ndarray]) -> Batch:
        """A batch of what `Rows.window` gave."""
        begin, end = self._vocabulary.cls_id, self._vocabulary.sep_id
        numbers = window["words"]
        words = self._ids(numbers)
        now, filled = words[:, :-1], window["filled"]
        batch = {
            "words": now,
            "language_ids": window["language"],
            "reset": (window["begins"] & self._reset).astype(np.float32),
            "loss_weights": filled.astype(np.float32),
            "target_forward": words[:, 1:],
            "weights_forward": (filled & (now != end)).astype(np.float32),
            "target_backward": np.concatenate(
                [self._ids(window["previous"])[:, None], now[:, :-1]], axis=1
            ),
            "weights_backward": (filled & (now != begin)).astype(np.float32),
        }
        shown = numbers[None, :, :-1]
        if self._reverse:
            reverse = self._ids(window["reverse"])
            batch["words_reverse"] = reverse[:, :-1]
            batch["target_reverse"] = reverse[:, 1:]
            weights = filled & (batch["words_reverse"] != begin)
            batch["weights_reverse"] = weights.astype(np.float32)
            shown = np.stack([numbers[:, :-1], window["reverse"][:, :-1]])
        spelling, batch["characters"] = self._spell(shown)
        for name, part in zip(("spelling", "spelling_reverse"), spelling):
            batch[name] = part
        return {name: np.ascontiguousarray(value) for name, value in batch.items()}

    def _ids(self, numbers: np.ndarray) -> np.ndarray:
        return np.where(numbers < self._spellings.size, numbers, self._vocabulary.unk_id)

    def _spell(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distinct, which = np.unique(numbers, return_inverse=True)
        which = which.reshape(numbers.shape)
        if len(distinct) > self._distinct:
            # The most frequent words are spelt; ids are numbered by frequency.
            unknown = self._vocabulary.unk_id
            kept = np.union1d(distinct[: self._distinct - 1], [unknown])
            place = np.searchsorted(kept, distinct)
            known = kept[np.minimum(place, len(kept) - 1)] == distinct
            self.unspelt += int((~known)[which].sum())
            place = np.where(known, place, np.searchsorted(kept, unknown))
            distinct, which = kept, place[which]
        characters = np.empty((self._distinct, self._padding.shape[1]), np.int32)
        characters[: len(distinct)] = self._spellings.characters(distinct)
        characters[len(distinct) :] = self._padding
        return (which + self._first).astype(np.int32), characters
