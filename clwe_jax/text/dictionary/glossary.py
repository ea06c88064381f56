"""Translation word by word with a dictionary: translate-train and translate-test without a model."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from typing import Iterable, Mapping, Sequence

from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.characters import has_letter
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


@dataclasses.dataclass(frozen=True)
class Glossary:
    """One translation for each word of a language.

    Words are looked up in lower case, and a translation takes the capital of its word. A word
    without a translation stays as it is, so names stay.

    Attributes:
      entries: word in lower case -> its translation.
    """

    source: str
    target: str
    entries: Mapping[str, str]

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """The translation of each word; as many words."""
        return tuple(map(self._word, words))

    def cut(self, text: str) -> list[str]:
        """The words of a text, with their capitals."""
        segmenter = Segmenter({self.source: self.entries})
        return segmenter.words(Normalizer(lower_case=False)(text, self.source), self.source)

    def text(self, text: str) -> str:
        """The translation of a text; a space between all words."""
        return " ".join(self.words(self.cut(text)))

    def coverage(self, sentences: Iterable[Sequence[str]]) -> float:
        """The share of running words with letters that have a translation, in [0, 1]."""
        words = itertools.chain.from_iterable(sentences)
        translated = [self._key(word) in self.entries for word in words if has_letter(word)]
        return sum(translated) / max(1, len(translated))

    def fingerprint(self) -> str:
        """A hash of the entries."""
        return hashlib.sha256(json.dumps(sorted(self.entries.items())).encode()).hexdigest()[:16]

    def _key(self, word: str) -> str:
        return Normalizer().key(word, self.source)

    def _word(self, word: str) -> str:
        translation = self.entries.get(self._key(word))
        if translation is None:
            return word
        return translation[:1].upper() + translation[1:] if word[:1].isupper() else translation


def of_dictionary(
    dictionary: Dictionary, source: str, target: str, counts: Mapping[str, int]
) -> Glossary:
    """The glossary of a dictionary.

    Args:
      dictionary: merged dictionary, normalised in lower case.
      counts: counts of words of the target language in lower case: of several translations, the
        one with the highest count is chosen, else the first one. Translations of several words
        are left out, since each word has one label.

    Raises:
      ValueError: the dictionary has no pair of the languages.
    """
    entries: dict[str, str] = {}
    for word, translation in dictionary.pairs(source, target):
        if " " in word or " " in translation:
            continue
        entry = entries.setdefault(word, translation)
        if counts.get(translation, 0) > counts.get(entry, 0):
            entries[word] = translation
    if not entries:
        raise ValueError(
            f"config.data.dictionaries has no pair of a word in {source!r} and one in {target!r} for "
            f"config.transfer.translate: add {source}-{target}.txt"
        )
    return Glossary(source, target, entries)
