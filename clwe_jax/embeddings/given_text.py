"""Translated sentences that are given, as words: what counts as text, and which words face each other."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.embeddings import corpus
from clwe_jax.embeddings.corpus import APART, Corpus
from clwe_jax.text.corpus.parallel import Given
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


@dataclasses.dataclass(frozen=True, eq=False)
class GivenText:
    """Translated sentences of several languages as words.

    Attributes:
      corpus: the sentences; the place of each is its row in `parallel.sentences`.
      parallel: the same sentences as text, and the rows that translate each other.
    """

    corpus: Corpus
    parallel: Given

    @classmethod
    def cut(cls, parallel: Given, normalizer: Normalizer, segmenter: Segmenter) -> GivenText:
        """Cuts the sentences into words."""
        text = cls(corpus.of_sentences(parallel.sentences, normalizer, segmenter), parallel)
        for (a, b), rows in parallel.pairs.items():
            logging.info("%s-%s: %s pairs of sentences are given", a, b, f"{len(rows):,}")
        return text

    def word_rows(self, language: str, index: Mapping[str, int]) -> list[np.ndarray]:
        """The rows of each sentence's words in an index; words that it lacks are left out."""
        cut_text = self.corpus
        words = self.corpus.words
        ids = cut_text.ids[language]
        places = cut_text.places[language]
        splits = cut_text.splits[language]
        row_of = np.full(len(words), -1, np.int64)
        for word in np.unique(ids).tolist():
            row_of[word] = index.get(words[word], -1)
        rows = row_of[ids]
        owners = np.repeat(places, np.diff(splits))[rows >= 0]
        count = len(self.parallel.sentences[language])
        return np.split(rows[rows >= 0], np.searchsorted(owners, np.arange(1, count)))

    def append_to(self, text: Corpus | None, languages: Sequence[str]) -> Corpus:
        """The text and, behind it, the sentences that it lacks; None: the sentences alone.

        Sentences that join others are no text, and a sentence that the text has counts once.
        """
        words = list(text.words) if text else []
        numbers = {word: number for number, word in enumerate(words)}
        number_of = np.array(
            [numbers.setdefault(word, len(numbers)) for word in self.corpus.words], np.int32
        )
        ids = {}
        splits = {}
        places = {}
        for language in languages:
            own_ids, own_splits, own_places = self._texts(language, number_of)
            if text is None:
                ids[language] = own_ids
                splits[language] = own_splits
                places[language] = own_places
                continue
            text_keys = set(_as_bytes(text.ids[language], text.splits[language]))
            new = np.array([x not in text_keys for x in _as_bytes(own_ids, own_splits)], np.bool_)
            lengths = np.diff(own_splits)
            ends = text.splits[language][-1] + np.cumsum(lengths[new])
            behind = text.places[language][-1] + APART
            ids[language] = np.concatenate([text.ids[language], own_ids[np.repeat(new, lengths)]])
            splits[language] = np.concatenate([text.splits[language], ends])
            places[language] = np.concatenate([text.places[language], behind + own_places[new]])
        spelled = dict(self.corpus.spellings)
        files = {}
        mended = {}
        if text is not None:
            files = text.files
            mended = text.mended
            for language, spellings in text.spellings.items():
                spelled[language] = {**spelled.get(language, {}), **spellings}
        return Corpus(list(numbers), ids, splits, places, files, mended, spelled)

    def _texts(
        self, language: str, number_of: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids, splits and places of the sentences that are text; none of a language without any."""
        if language not in self.corpus.ids:
            return np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int64)
        places = self.corpus.places[language]
        splits = self.corpus.splits[language]
        count = int(np.searchsorted(places, self.parallel.texts[language]))
        ids = number_of[self.corpus.ids[language][: splits[count]]]
        return ids, splits[: count + 1], places[:count]


def _as_bytes(ids: np.ndarray, splits: np.ndarray) -> list[bytes]:
    """Each sentence as a key."""
    ends = splits.tolist()
    return [ids[first:last].tobytes() for first, last in zip(ends[:-1], ends[1:])]
