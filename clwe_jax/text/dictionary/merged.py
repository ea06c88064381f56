"""The merged dictionary: the synonyms of each word in all other languages."""

from __future__ import annotations

import functools
import itertools
from typing import Iterable, Iterator, Mapping, Sequence

import numpy as np

from clwe_jax.text.words.spellings import Spellings


class Dictionary:
    """An immutable map from (language, word) to synonyms by language (DICT-MLM, section 2.3).

    Words are numbered by language and, within a language, by first appearance, which in the public
    dictionaries is the order of frequency. Each word has at least one synonym. The synonyms of a
    word in one language are a group. Masking draws a group uniformly, then a synonym of the group
    uniformly.

    Attributes:
      languages: language codes; `word_language` and `group_language` are indices into them.
      language_splits: int64 [languages + 1]; the words of language l are numbered from
        language_splits[l] up to language_splits[l + 1].
      entry_splits: int32 [words + 1]; the groups of word w are entry_splits[w] up to [w + 1].
      group_language: int16 [groups]; language of each group.
      group_splits: int32 [groups + 1]; the targets of group g are group_splits[g] up to [g + 1].
      target_ids: int32 [directed pairs]; word numbers.
      blob, offsets: uint8 [bytes], int64 [words + 1]; all words in UTF-8, concatenated.
      skipped: file name -> number of lines that could not be read.
      windows: file name -> number of lines with Windows line ends, where there are any.
      unpaired: language -> words that were read but have no synonym here, such as the words of
        excluded test pairs. The segmenter needs them (`lexicon`), or they would never occur as
        words in scripts without spaces.
      left_out: number of undirected pairs that were removed because of their test words.
      spellings: language -> key -> its most frequent spelling in the files, of the words that are
        written otherwise than their key.
      rejected: pairs that a person has rejected: (language, word, other language, other word).
    """

    ARRAYS = (
        "language_splits",
        "entry_splits",
        "group_language",
        "group_splits",
        "target_ids",
        "blob",
        "offsets",
    )

    def __init__(
        self,
        languages: Sequence[str],
        arrays: Mapping[str, np.ndarray],
        skipped: Mapping[str, int] | None = None,
        unpaired: Mapping[str, Sequence[str]] | None = None,
        left_out: int = 0,
        windows: Mapping[str, int] | None = None,
        spellings: Spellings | None = None,
        rejected: Iterable[Sequence[str]] = (),
    ):
        self.rejected = tuple(sorted(set(map(tuple, rejected))))
        self.spellings = {x: dict(by_key) for x, by_key in (spellings or {}).items()}
        self.languages = tuple(languages)
        self.skipped = dict(skipped or {})
        self.windows = dict(windows or {})
        self.left_out = left_out
        self.unpaired = {x: tuple(words) for x, words in (unpaired or {}).items() if words}
        for name in self.ARRAYS:
            array = np.asarray(arrays[name])
            array.setflags(write=False)
            setattr(self, name, array)

    @classmethod
    def empty(
        cls, languages: Sequence[str], rejected: Iterable[Sequence[str]] = ()
    ) -> "Dictionary":
        """A dictionary without pairs."""
        words: list[list[str]] = [[]] * len(languages)
        return cls.from_edges(languages, words, np.zeros(0), np.zeros(0), rejected=rejected)

    @classmethod
    def from_edges(
        cls,
        languages: Sequence[str],
        words: Sequence[Sequence[str]],
        source: np.ndarray,
        target: np.ndarray,
        max_translations: int = 0,
        skipped: Mapping[str, int] | None = None,
        left_out: int = 0,
        windows: Mapping[str, int] | None = None,
        spellings: Spellings | None = None,
        rejected: Iterable[Sequence[str]] = (),
    ) -> "Dictionary":
        """Makes a dictionary of pairs of words, in both directions and without duplicates.

        Args:
          words: the words of each language; the numbers in `source` and `target` count through the
            words of all languages. Words without a pair become `unpaired`.
          source, target: integers [pairs]; word numbers of two different languages.
          max_translations: largest number of translations of a word into one language; the pairs
            of words with more are removed. 0 removes none.
          skipped, left_out, windows, spellings, rejected: the attributes of these names.
        """
        sizes = np.array([len(part) for part in words], np.int64)
        splits = np.concatenate([[0], np.cumsum(sizes)])
        count = int(splits[-1])
        # Sorting one number a pair sorts by source, then by target, and so by target language.
        source = source.astype(np.int64)
        target = target.astype(np.int64)
        keys = np.concatenate([source * count + target, target * count + source])
        keys.sort()
        if len(keys):
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        source = (keys // max(count, 1)).astype(np.int32)
        target = (keys % max(count, 1)).astype(np.int32)
        del keys
        if max_translations > 0:
            source, target = _without_crowds(source, target, splits, max_translations)

        has_pair = np.zeros(count, np.bool_)
        has_pair[source] = True
        number = np.cumsum(has_pair, dtype=np.int32) - 1
        source = number[source]
        target = number[target]
        paired_words = []
        unpaired = {}
        for language, part, first, last in zip(languages, words, splits[:-1], splits[1:]):
            is_used = has_pair[first:last].tolist()
            paired_words.append([word for word, keep in zip(part, is_used) if keep])
            unpaired[language] = [word for word, keep in zip(part, is_used) if not keep]
        encoded = [word.encode("utf-8") for word in itertools.chain.from_iterable(paired_words)]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        language_splits = np.concatenate([[0], np.cumsum([len(part) for part in paired_words])])
        groups = _groups(source, target, language_splits)
        first = np.flatnonzero(groups)
        target_language = _language_of(target[first], language_splits)
        arrays = {
            "language_splits": language_splits.astype(np.int64),
            "entry_splits": np.searchsorted(source[first], np.arange(len(encoded) + 1)).astype(
                np.int32
            ),
            "group_language": target_language.astype(np.int16),
            "group_splits": np.append(first, len(target)).astype(np.int32),
            "target_ids": target,
            "blob": np.frombuffer(b"".join(encoded), np.uint8),
            "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        }
        return cls(languages, arrays, skipped, unpaired, left_out, windows, spellings, rejected)

    @classmethod
    def from_pairs(
        cls,
        pairs: Mapping[tuple[str, str], Iterable[tuple[str, str]]],
        languages: Sequence[str] | None = None,
    ) -> "Dictionary":
        """Makes a dictionary of normalised word pairs, listed by (language, language)."""
        if languages is None:
            languages = sorted(set(itertools.chain.from_iterable(pairs)))
        numbers: dict[str, dict[str, int]] = {language: {} for language in languages}
        edges = []
        for (left, right), word_pairs in pairs.items():
            left_numbers = numbers[left]
            right_numbers = numbers[right]
            for a, b in word_pairs:
                i = left_numbers.setdefault(a, len(left_numbers))
                j = right_numbers.setdefault(b, len(right_numbers))
                edges.append((languages.index(left), i, languages.index(right), j))
        table = np.array(edges, np.int64).reshape(-1, 4)
        first = np.cumsum([0] + [len(numbers[language]) for language in languages])
        source = first[table[:, 0]] + table[:, 1]
        target = first[table[:, 2]] + table[:, 3]
        return cls.from_edges(languages, [list(numbers[x]) for x in languages], source, target)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def pair_count(self) -> int:
        """Number of undirected pairs of words."""
        return len(self.target_ids) // 2

    @functools.cached_property
    def word_language(self) -> np.ndarray:
        """int16 [words]: index into `languages` of each word's language."""
        return np.repeat(
            np.arange(len(self.languages), dtype=np.int16), np.diff(self.language_splits)
        )

    def word(self, number: int) -> str:
        first = self.offsets[number]
        last = self.offsets[number + 1]
        return self.blob[first:last].tobytes().decode("utf-8")

    def id(self, word: str, language: str) -> int:
        """The number of a normalised word; -1 where the dictionary lacks it."""
        return self._numbers(language).get(word, -1)

    def language_words(self, language: str) -> list[str]:
        """The words of a language, in the order of their numbers; [] for an unknown language."""
        if language not in self.languages:
            return []
        index = self.languages.index(language)
        first = self.language_splits[index]
        last = self.language_splits[index + 1]
        offsets = self.offsets[first : last + 1]
        data = self.blob[offsets[0] : offsets[-1]].tobytes()
        ends = (offsets - offsets[0]).tolist()
        return [data[a:b].decode("utf-8") for a, b in zip(ends[:-1], ends[1:])]

    def words(self) -> Iterator[str]:
        """Yields the words of all languages, in the order of their numbers."""
        for language in self.languages:
            yield from self.language_words(language)

    def lexicon(self, language: str) -> Iterator[str]:
        """The words of a language for a segmenter: words with synonyms, then `unpaired` words."""
        return itertools.chain(self.language_words(language), self.unpaired.get(language, ()))

    def _numbers(self, language: str) -> dict[str, int]:
        cache = self.__dict__.setdefault("_number_cache", {})
        if language not in cache:
            start = 0
            if language in self.languages:
                start = int(self.language_splits[self.languages.index(language)])
            words = self.language_words(language)
            cache[language] = dict(zip(words, range(start, start + len(words))))
        return cache[language]

    def synonyms(self, word: str, language: str) -> dict[str, list[str]]:
        """The synonyms of a normalised word: language -> words; {} for an unknown word."""
        number = self.id(word, language)
        if number < 0:
            return {}
        result = {}
        for group in range(self.entry_splits[number], self.entry_splits[number + 1]):
            targets = self.target_ids[self.group_splits[group] : self.group_splits[group + 1]]
            result[self.languages[self.group_language[group]]] = [self.word(i) for i in targets]
        return result

    def pairs(self, source: str, target: str) -> list[tuple[str, str]]:
        """All pairs (word of `source`, word of `target`), in the order of the source words."""
        if source not in self.languages or target not in self.languages:
            return []
        src_id = self.languages.index(source)
        tgt_id = self.languages.index(target)
        sources, targets = self.edges()
        mask = (self.word_language[sources] == src_id) & (self.word_language[targets] == tgt_id)
        source_words = self.language_words(source)
        target_words = self.language_words(target)
        first = self.language_splits[src_id]
        second = self.language_splits[tgt_id]
        return [
            (source_words[a], target_words[b])
            for a, b in zip((sources[mask] - first).tolist(), (targets[mask] - second).tolist())
        ]

    def rejected_pairs(self, source: str, target: str) -> set[tuple[str, str]]:
        """The rejected pairs (word of `source`, word of `target`)."""
        ahead = {(a, b) for x, a, y, b in self.rejected if (x, y) == (source, target)}
        return ahead | {(b, a) for x, a, y, b in self.rejected if (y, x) == (source, target)}

    def pairs_per_word(self) -> np.ndarray:
        """int32 [words]: number of synonyms of each word, over all languages."""
        return np.diff(self.group_splits[self.entry_splits])

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The word numbers (source, target) of all directed pairs, int32 [directed pairs] each."""
        numbers = np.arange(len(self), dtype=np.int32)
        return np.repeat(numbers, self.pairs_per_word()), self.target_ids

    def restrict(self, languages: Sequence[str]) -> "Dictionary":
        """The dictionary of the pairs between the given languages, which keep their order."""
        sources, targets = self.edges()
        order = np.full(len(self.languages), -1)
        for index, language in enumerate(languages):
            if language in self.languages:
                order[self.languages.index(language)] = index
        mask = (order[self.word_language[sources]] >= 0) & (order[self.word_language[targets]] >= 0)
        words = [list(self.lexicon(language)) for language in languages]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in words])])
        # Maps numbers of this dictionary to numbers that count through `words`.
        shift = starts[np.maximum(order, 0)] - self.language_splits[:-1]
        number = np.arange(len(self)) + shift[self.word_language]
        return Dictionary.from_edges(
            languages,
            words,
            number[sources[mask]],
            number[targets[mask]],
            skipped=self.skipped,
            spellings=self.spellings,
            rejected=self.rejected,
        )


def _language_of(numbers: np.ndarray, splits: np.ndarray) -> np.ndarray:
    return np.searchsorted(splits, numbers, side="right") - 1


def _groups(source: np.ndarray, target: np.ndarray, splits: np.ndarray) -> np.ndarray:
    """bool [pairs]: whether a sorted pair differs from the last in source or target language."""
    if not len(source):
        return np.zeros(0, np.bool_)
    language = _language_of(target, splits)
    changes = (source[1:] != source[:-1]) | (language[1:] != language[:-1])
    return np.concatenate([[True], changes])


def _without_crowds(source, target, splits, max_translations):
    """The sorted pairs, except those of words with more than `max_translations` translations."""
    group = np.cumsum(_groups(source, target, splits)) - 1
    crowded = np.bincount(group)[group] > max_translations
    # Pairs stand in both directions: removing one direction removes the other.
    count = int(splits[-1])
    dropped = source[crowded].astype(np.int64) * count + target[crowded]
    reverse = target.astype(np.int64) * count + source
    mask = ~(crowded | np.isin(reverse, dropped))
    return source[mask], target[mask]
