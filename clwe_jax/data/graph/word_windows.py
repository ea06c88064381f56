"""Texts of words to windows: every row a contiguous stream that goes on from batch to batch."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

import numpy as np

from clwe_jax.data.graph.word_chunks import BEGINS, LANGUAGE, MIRRORED, WORD, Spellings
from clwe_jax.text.word_vocab import WordVocabulary
from clwe_jax.types import Batch


class Rows:
    """Deals texts to rows: each takes the next one when its own ends."""

    def __init__(self, rows: int, length: int, padding: int):
        """Args:
        rows: how many.
        length: of a window.
        padding: id after the end of a row.
        """
        self._length = length
        self._padding = padding
        self._texts: list[np.ndarray] = [np.zeros((0, 4), np.int32)] * rows
        self._places = [0] * rows
        # The last word of the window before.
        self._previous = np.full(rows, padding, np.int32)

    def window(self, texts: Iterator[np.ndarray]) -> dict[str, np.ndarray] | None:
        """The next window of all rows; None where neither they nor `texts` have a word left.

        Returns:
          'words', 'reverse' int32 [rows, length + 1]: word numbers, with the one that follows;
          'previous' int32 [rows]; 'filled' bool, 'begins' bool (a text), 'language' int32
          [rows, length].
        """
        rows, width = len(self._texts), self._length + 1
        window = np.zeros((rows, width, 4), np.int32)
        window[:, :, [WORD, MIRRORED]] = self._padding
        for row, (text, place) in enumerate(zip(self._texts, self._places)):
            column = 0
            while column < width:
                size = min(width - column, len(text) - place)
                window[row, column : column + size] = text[place : place + size]
                column, place = column + size, place + size
                if column < width:
                    text, place = next(texts, None), 0
                    if text is None:
                        text, place = self._texts[row][:0], 1
                        break
            # The word that follows is the first of the next window.
            self._texts[row], self._places[row] = text, place - 1
        words = window[:, :, WORD]
        filled = words[:, :-1] != self._padding
        if not filled.any():
            return None
        previous, self._previous = self._previous, words[:, -2].copy()
        return dict(
            words=words, reverse=window[:, :, MIRRORED], previous=previous, filled=filled,
            begins=window[:, :-1, BEGINS] > 0, language=window[:, :-1, LANGUAGE],
        )  # fmt: skip

    def texts(self) -> list[np.ndarray]:
        """The text that each row is in the middle of; an empty one where it is in none."""
        return list(self._texts)

    def state(self) -> dict[str, np.ndarray]:
        """The place in the streams, without the texts."""
        return {"places": np.array(self._places, np.int64), "previous": self._previous.copy()}

    def restore(self, state: Mapping[str, np.ndarray], texts: Sequence[np.ndarray]) -> None:
        """Goes to a place that `state` gave, with the texts that `texts` gave then."""
        self._texts = list(texts)
        self._places = state["places"].tolist()
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
      unspelt: words of the last batch without room in `characters`; they are spelt `<UNK>`.
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
        """A batch of a window of `Rows.window`."""
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
        self.unspelt = 0
        distinct, which = np.unique(numbers, return_inverse=True)
        which = which.reshape(numbers.shape)
        if len(distinct) > self._distinct:
            # The most frequent words are spelt; ids are numbered by frequency.
            unknown = self._vocabulary.unk_id
            kept = np.union1d(distinct[: self._distinct - 1], [unknown])
            place = np.searchsorted(kept, distinct)
            known = kept[np.minimum(place, len(kept) - 1)] == distinct
            self.unspelt = int((~known)[which].sum())
            place = np.where(known, place, np.searchsorted(kept, unknown))
            distinct, which = kept, place[which]
        characters = np.empty((self._distinct, self._padding.shape[1]), np.int32)
        characters[: len(distinct)] = self._spellings.characters(distinct)
        characters[len(distinct) :] = self._padding
        return (which + self._first).astype(np.int32), characters
