"""Texts of words to windows: each row is a contiguous stream that continues from batch to batch."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

import numpy as np

from clwe_jax.data.graph.word_chunks import BEGINS, LANGUAGE, MIRRORED, WORD, Spellings
from clwe_jax.text.vocab.word_vocab import WordVocabulary
from clwe_jax.types import Batch


class WindowRows:
    """Distributes texts to rows: a row takes the next text when its own ends."""

    def __init__(self, rows: int, length: int, padding: int):
        """`padding`: id after the end of a row."""
        self._length = length
        self._padding = padding
        self._texts: list[np.ndarray] = [np.zeros((0, 4), np.int32)] * rows
        self._places = [0] * rows
        # The last word of the previous window.
        self._previous = np.full(rows, padding, np.int32)

    def window(self, texts: Iterator[np.ndarray]) -> dict[str, np.ndarray] | None:
        """The next window of all rows; None if neither the rows nor `texts` have a word left.

        Returns:
          'words' and 'reverse', int32 [rows, length + 1], the numbers of the window's words and of
          the word after it; 'previous', int32 [rows], the last word of the previous window;
          'filled' bool, 'begins' bool (whether a text begins), 'language' int32, [rows, length].
        """
        rows = len(self._texts)
        width = self._length + 1
        window = np.zeros((rows, width, 4), np.int32)
        window[:, :, [WORD, MIRRORED]] = self._padding
        for row, (text, place) in enumerate(zip(self._texts, self._places)):
            column = 0
            while column < width:
                size = min(width - column, len(text) - place)
                window[row, column : column + size] = text[place : place + size]
                column = column + size
                place = place + size
                if column < width:
                    text = next(texts, None)
                    place = 0
                    if text is None:
                        # An empty text, whose place becomes 0 below.
                        text = self._texts[row][:0]
                        place = 1
                        break
            # The word after this window is the first word of the next one.
            self._texts[row] = text
            self._places[row] = place - 1
        words = window[:, :, WORD]
        filled = words[:, :-1] != self._padding
        if not filled.any():
            return None
        # The last column is the word after the window.
        previous = self._previous
        self._previous = words[:, -2].copy()
        return dict(
            words=words,
            reverse=window[:, :, MIRRORED],
            previous=previous,
            filled=filled,
            begins=window[:, :-1, BEGINS] > 0,
            language=window[:, :-1, LANGUAGE],
        )

    def texts(self) -> list[np.ndarray]:
        """The current text of each row; an empty one for a row without a text."""
        return list(self._texts)

    def state(self) -> dict[str, np.ndarray]:
        """The places in the current texts, without the texts."""
        return {"places": np.array(self._places, np.int64), "previous": self._previous.copy()}

    def restore(self, state: Mapping[str, np.ndarray], texts: Sequence[np.ndarray]) -> None:
        """Restores what `state` and `texts` returned."""
        self._texts = list(texts)
        self._places = state["places"].tolist()
        self._previous = state["previous"].astype(np.int32)


class BatchMaker:
    """Windows to batches.

    The keys of a batch, int32 [rows, length] unless stated otherwise:

      words: ids of `<S>`, words and `</S>`, sentence after sentence; `[PAD]` after the end.
      spelling: the row of `characters` that spells each word.
      characters: [distinct, max_characters], characters of the batch's words, then padding.
        `spelling` counts through the rows of all hosts: those of a host lie in its own shards.
      language_ids: language id of the text that contains the word.
      reset: float32, 1 where a text begins and the state is zeroed first; else 0.
      loss_weights: float32, 1 at words, 0 at padding.
      target_forward: id of the next word; at the end of the window, the first of the next window.
      weights_forward: float32, `loss_weights`, but 0 at `</S>`, which only `<S>` follows.
      target_backward: id of the previous word; at the beginning of the window, the last of the
        previous window.
      weights_backward: float32, `loss_weights`, but 0 at `<S>`.

    The backward model may have a separate stream of the same texts, each from its last word to its
    first, for which language_ids, reset and loss_weights hold too:

      words_reverse, spelling_reverse: as words and spelling.
      target_reverse: id of the next word of the reversed stream, the previous word of the text.
      weights_reverse: float32, `loss_weights`, but 0 at `<S>`.

    Attributes:
      unspelt: number of words of the last batch without room in `characters`, spelt `<UNK>`.
    """

    def __init__(
        self,
        vocabulary: WordVocabulary,
        spellings: Spellings,
        distinct: int,
        *,
        reset: bool,
        reverse: bool,
        shards: Sequence[int] = (0,),
    ):
        """Args:
        distinct: rows of `characters`, a multiple of the number of shards.
        shards: the numbers of this host's shards among those of a batch of all hosts.
        """
        self._vocabulary = vocabulary
        self._spellings = spellings
        self._distinct = distinct
        self._reset = reset
        self._reverse = reverse
        shard_rows = distinct // len(shards)
        first_rows = np.array(shards, np.int32) * shard_rows
        self._global_rows = np.add.outer(first_rows, np.arange(shard_rows, dtype=np.int32)).ravel()
        self._padding = spellings.characters(np.array([vocabulary.pad_id]))
        self.unspelt = 0

    def __call__(self, window: Mapping[str, np.ndarray]) -> Batch:
        begin = self._vocabulary.cls_id
        end = self._vocabulary.sep_id
        numbers = window["words"]
        words = self._ids(numbers)
        now = words[:, :-1]
        filled = window["filled"]
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
        spelled_numbers = numbers[None, :, :-1]
        if self._reverse:
            reverse = self._ids(window["reverse"])
            batch["words_reverse"] = reverse[:, :-1]
            batch["target_reverse"] = reverse[:, 1:]
            weights = filled & (batch["words_reverse"] != begin)
            batch["weights_reverse"] = weights.astype(np.float32)
            spelled_numbers = np.stack([numbers[:, :-1], window["reverse"][:, :-1]])
        spelling, batch["characters"] = self._spell(spelled_numbers)
        for name, part in zip(("spelling", "spelling_reverse"), spelling):
            batch[name] = part
        return {name: np.ascontiguousarray(value) for name, value in batch.items()}

    def _ids(self, numbers: np.ndarray) -> np.ndarray:
        return np.where(numbers < self._spellings.size, numbers, self._vocabulary.unk_id)

    def _spell(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.unspelt = 0
        distinct, inverse = np.unique(numbers, return_inverse=True)
        inverse = inverse.reshape(numbers.shape)
        if len(distinct) > self._distinct:
            # The most frequent words are spelt; ids are numbered by frequency.
            unknown = self._vocabulary.unk_id
            spelt_words = np.union1d(distinct[: self._distinct - 1], [unknown])
            place = np.searchsorted(spelt_words, distinct)
            is_kept = spelt_words[np.minimum(place, len(spelt_words) - 1)] == distinct
            self.unspelt = int((~is_kept)[inverse].sum())
            place = np.where(is_kept, place, np.searchsorted(spelt_words, unknown))
            distinct = spelt_words
            inverse = place[inverse]
        characters = np.empty((self._distinct, self._padding.shape[1]), np.int32)
        characters[: len(distinct)] = self._spellings.characters(distinct)
        characters[len(distinct) :] = self._padding
        return self._global_rows[inverse], characters
