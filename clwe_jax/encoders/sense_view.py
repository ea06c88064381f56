"""The senses of a model's words, the sense of a word in context, and its translation.

The directions of a bidirectional model have separate senses and numbers (A9).
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import Iterator, Mapping, NamedTuple, Sequence

import jax
import numpy as np

from clwe_jax.encoders.sense_index import NearSense, SenseIndex
from clwe_jax.encoders.senses import WordInContext
from clwe_jax.encoders.texts import Texts
from clwe_jax.options.section import nearest as suggestion
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables

_OCCURRENCES = 200  # occurrences of a word that are searched for examples


class SenseTranslation(NamedTuple):
    """A translation of a sense.

    Attributes:
      word: the translation.
      language: its language.
      share: share of the sense's occurrences in text for which `translate` gives this translation.
    """

    word: str
    language: str
    share: float


@dataclasses.dataclass(frozen=True)
class Sense:
    """A sense of a word.

    Attributes:
      word: the normalised word.
      language: the requested language; a word of two languages has the same senses in both.
      sense: number of the sense, from 1; 0 during a warm-up with a slot of its own.
      direction: name of its sense state.
      share: share of the word's latest uses in training; 0 for a dead sense.
      uses: number of uses since the senses were seeded.
      enabled: False if the sense was removed for its small share; only `SenseView.all` returns
        such senses.
      translations: translations of its occurrences in text, the most frequent first; empty for a
        model without a dictionary.
      nearest: nearest senses of other words, the same number for each language.
      examples: lines in which the word has this sense, largest margins first; lines of another
        language if the word's own language has none.
      score: cosine of the word in context with the sense's center; None without a context.
      margin: `score` minus the score of the word's next sense; None without a context.
    """

    word: str
    language: str
    sense: int
    direction: str
    share: float
    uses: int
    enabled: bool = True
    translations: tuple[SenseTranslation, ...] = ()
    nearest: tuple[NearSense, ...] = ()
    examples: tuple[str, ...] = ()
    score: float | None = None
    margin: float | None = None

    @property
    def label(self) -> str:
        """The label of the paper's figures: 'bank_1'."""
        return f"{self.word}_{self.sense}"


class Translated(NamedTuple):
    """The translation of a word in context.

    Attributes:
      word: the translation.
      language: its language.
      sense, direction: number and state of its sense that fits the context best.
      score: mean over directions of the context's largest cosine with the translation's centers.
      others: the other translations with their scores, best first.
    """

    word: str
    language: str
    sense: int
    direction: str
    score: float
    others: tuple[tuple[str, float], ...]


class _Read(NamedTuple):
    """N lines with a word, and the word's inputs to sense selection in them, float32 [N, D]."""

    lines: list[str]
    vectors: np.ndarray


class SenseView:
    """The senses of a model's words, as words and lines of text.

    Attributes:
      index: the senses as arrays.
      directions: names of the sense states.
    """

    def __init__(
        self,
        objective: Objective,
        tokenizer: Tokenizer,
        variables: Variables,
        frequent: Mapping[str, Sequence[str]],
        texts: Texts | None = None,
    ):
        """Args:
          objective, tokenizer, frequent: as for `SenseIndex`.
          variables: as for `SenseIndex`, with 'translations' for a model with a dictionary.
          texts: language -> lines of text, for examples and translations; None for no text.

        Raises:
          ValueError: a model without senses.
        """
        self.index = SenseIndex(objective, tokenizer, variables, frequent)
        self.directions = self.index.directions
        self._tokenizer = tokenizer
        self._table = variables.get("translations", {}).get("ids")
        self._texts = texts

    def all(
        self, word: str, lang: str, k: int = 5, direction: str | None = None, examples: int = 3
    ) -> list[Sense]:
        """The senses of a word, including removed ones, by direction and falling share.

        Args:
          word: a word of the vocabulary.
          lang: its language.
          k: number of nearest senses in each language.
          direction: one of `directions`; None: all.
          examples: number of lines for each sense; 0: no text is read, no translations are found.

        Raises:
          ValueError: an unknown language or direction, or a word that is not in the vocabulary.
        """
        key, number = self._word(word, lang)
        contexts = self._read(key, number, lang) if examples else {}
        answers = self._answers(number, lang, contexts[lang].vectors) if lang in contexts else {}
        senses = []
        for name in self._list_directions(direction):
            slots = {x: self._assign(name, number, part.vectors) for x, part in contexts.items()}
            rows = [
                Sense(
                    word=key,
                    language=lang,
                    sense=self.index.number(slot),
                    direction=name,
                    share=float(share),
                    uses=int(uses),
                    enabled=bool(enabled),
                    translations=_most_frequent(answers, slots[lang][0] == slot) if answers else (),
                    nearest=self.index.near(name, number, slot, k) if enabled else (),
                    examples=_clearest(contexts, slots, slot, examples),
                )
                for slot, uses, share, enabled in zip(*self.index.usage(name, number))
            ]
            senses += sorted(rows, key=lambda sense: (not sense.enabled, -sense.share))
        return senses

    def pick(
        self, word: str, lang: str, context: str, k: int = 5, direction: str | None = None
    ) -> Sense:
        """The sense of a word's first occurrence in a context.

        The direction with the largest margin decides.

        Raises:
          ValueError: as for `all`, or the word is not in the context.
        """
        key, number = self._word(word, lang)
        vector = self._in_context(key, lang, context)
        answers = []
        for name in self._list_directions(direction):
            cosines = self.index.cosines(name, np.array([number]), vector)[0, 0]
            slot, margin = _leader(cosines)
            answers.append((margin, name, slot, float(cosines[slot])))
        margin, name, slot, score = max(answers, key=lambda answer: answer[0])
        senses = self.all(key, lang, k, name, examples=0)
        sense = next(x for x in senses if x.sense == self.index.number(slot))
        return dataclasses.replace(sense, score=score, margin=margin)

    def translate_in_context(
        self, word: str, context: str, to: str, lang: str | None = None
    ) -> Translated:
        """As `api.Model.translate_in_context`."""
        self._tokenizer.language_id(to)
        lang = self._language_of(word, to) if lang is None else lang
        key, number = self._word(word, lang)
        if lang == to:
            raise ValueError(f"to={to!r}: {key!r} is already a word of that language")
        if self._table is None:
            raise ValueError(
                "Trained without a dictionary (config.objective.translation_share=0), this model has no "
                "translations: `senses` lists the nearest senses of each language"
            )
        candidates = self._candidates(number, to)
        if not len(candidates):
            raise ValueError(f"The model's dictionary has no translation of {key!r} to {to!r}")
        cosines = self._fits(candidates, to, self._in_context(key, lang, context))[:, 0]
        scores = cosines.max(-1).mean(0)
        best, *runners_up = np.argsort(-scores, kind="stable")
        direction, slot = np.unravel_index(cosines[:, best].argmax(), cosines[:, best].shape)
        pieces = self._tokenizer.vocabulary.pieces
        return Translated(
            word=pieces[candidates[best]],
            language=to,
            sense=self.index.number(slot),
            direction=self.directions[direction],
            score=float(scores[best]),
            others=tuple((pieces[candidates[i]], float(scores[i])) for i in runners_up),
        )

    def export(self, direction: str, max_senses: int) -> tuple[list[tuple], np.ndarray]:
        """The most used senses of the frequent words, for an embedding projector.

        Returns:
          Rows (label, word, sense, languages, share, uses); unit sense vectors, float32 [N, d].
        """
        senses = self.index.frequent_senses[direction]
        order = np.argsort(-senses.uses, kind="stable")[:max_senses]
        pieces = self._tokenizer.vocabulary.pieces
        rows = []
        for place in order:
            number = senses.ids[place]
            sense = self.index.number(senses.slots[place])
            languages = "+".join(x for x, member in self.index.members.items() if member[number])
            share = float(senses.shares[place])
            uses = int(senses.uses[place])
            word = pieces[number]
            rows.append((f"{word}_{sense}", word, sense, languages, share, uses))
        return rows, senses.vectors[order]

    def _list_directions(self, direction: str | None) -> tuple[str, ...]:
        if direction is not None and direction not in self.directions:
            advice = suggestion(direction, self.directions)
            raise ValueError(f"direction={direction!r}: this model has no such direction. {advice}")
        return self.directions if direction is None else (direction,)

    def _word(self, word: str, lang: str) -> tuple[str, int]:
        """The normalised word and its id; ValueError unless it is one word of the vocabulary."""
        self._tokenizer.language_id(lang)
        words = self._tokenizer.words(word, lang)
        vocabulary = self._tokenizer.vocabulary
        if len(words) != 1:
            raise ValueError(f"{word!r}: expected one word, found {len(words)}: {words}")
        if words[0] not in vocabulary.words:
            guesses = difflib.get_close_matches(words[0], self.index.frequent.get(lang, ()), 1)
            raise ValueError(
                f"{words[0]!r} is not among the vocabulary's {len(vocabulary):,} words, so it has "
                f"no senses.{f' Did you mean {guesses[0]!r}?' if guesses else ''}"
            )
        return words[0], vocabulary.id(words[0])

    def _in_context(self, word: str, lang: str, context: str) -> np.ndarray:
        """The word's input to sense selection in the context, float32 [1, D]."""
        words = self._tokenizer.words(context, lang)
        if word not in words:
            raise ValueError(
                f"{word!r} is not in the context {context!r}, whose words are: "
                f"{', '.join(words) or 'none'}"
            )
        return self.index.represent([WordInContext(words, words.index(word), lang)])

    def _read(self, word: str, number: int, lang: str) -> dict[str, _Read]:
        """The word's occurrences in `lang`, and in other languages if it is frequent there."""
        members = self.index.members
        by_language = {}
        # A sense of a word of several languages may occur only in another language's text.
        other_languages = [x for x in self._tokenizer.languages if x != lang and members[x][number]]
        for language in (lang, *other_languages):
            lines = list(self._lines_with(word, language))
            if lines:
                places = [WordInContext(words, words.index(word), language) for _, words in lines]
                texts = [line for line, _ in lines]
                by_language[language] = _Read(texts, self.index.represent(places))
        return by_language

    def _assign(self, direction: str, number: int, vectors: np.ndarray) -> tuple[np.ndarray, ...]:
        """The slots [N] of a word's occurrences, and their margins [N]."""
        cosines = self.index.cosines(direction, np.array([number]), vectors)[:, 0]
        slots, margins = zip(*map(_leader, cosines))
        return np.array(slots), np.array(margins)

    def _answers(
        self, number: int, lang: str, vectors: np.ndarray
    ) -> dict[str, tuple[list[str], np.ndarray]]:
        """Language -> a word's translations, and each occurrence's index into them, int [N]."""
        by_language = {}
        for to in self._tokenizer.languages if self._table is not None else ():
            candidates = self._candidates(number, to) if to != lang else ()
            if len(candidates):
                best = self._fits(candidates, to, vectors).max(-1).mean(0).argmax(-1)
                by_language[to] = [self._tokenizer.vocabulary.pieces[i] for i in candidates], best
        return by_language

    def _fits(self, candidates: np.ndarray, to: str, vectors: np.ndarray) -> np.ndarray:
        """Cosines of N occurrences with T translations' senses, float32 [directions, N, T, S]."""
        cosines = [self.index.translations(x, candidates, to, vectors) for x in self.directions]
        return np.stack(cosines)

    def _lines_with(self, word: str, lang: str) -> Iterator[tuple[str, list[str]]]:
        seen_lines: set[str] = set()
        for line in self._texts(lang) if self._texts is not None else ():
            if line in seen_lines or word not in self._tokenizer.normalizer(line, lang):
                continue
            words = self._tokenizer.words(line, lang)
            if word in words:
                seen_lines.add(line)
                yield line, words
                if len(seen_lines) == _OCCURRENCES:
                    return

    def _language_of(self, word: str, to: str) -> str:
        candidates = [x for x in self._tokenizer.languages if x != to]
        if not candidates:
            raise ValueError(
                f"This model has learned only {to!r}: it has no language to translate from"
            )
        if len(candidates) > 1:
            candidates = [x for x in candidates if self._is_listed(word, x)]
        if len(candidates) != 1:
            raise ValueError(
                f"The language of {word!r} is not clear: give lang=, one of "
                f"{', '.join(self._tokenizer.languages)}"
            )
        return candidates[0]

    def _is_listed(self, word: str, lang: str) -> bool:
        ids_of_words = self._tokenizer.vocabulary.words
        ids = [ids_of_words[x] for x in self._tokenizer.words(word, lang) if x in ids_of_words]
        return bool(self.index.members[lang][ids].any())

    def _candidates(self, number: int, to: str) -> np.ndarray:
        """Ids of the translations into the language `to`, int [T]."""
        row = np.asarray(jax.device_get(self._table[number, self._tokenizer.language_id(to)]))
        return row[row >= 0]


def _clearest(
    read: Mapping[str, _Read], assigned: Mapping[str, tuple[np.ndarray, ...]], slot: int, limit: int
) -> tuple[str, ...]:
    """Lines with a sense in the first language that has any, largest margins first."""
    for language, (lines, _) in read.items():
        slots, margins = assigned[language]
        places = sorted(np.flatnonzero(slots == slot), key=lambda i: (-margins[i], lines[i]))
        if places:
            return tuple(lines[i] for i in places[:limit])
    return ()


def _most_frequent(
    answers: Mapping[str, tuple[list[str], np.ndarray]], chosen: np.ndarray
) -> tuple[SenseTranslation, ...]:
    """The translations of the chosen occurrences, bool [N], by language and falling share."""
    translations = []
    for language, (words, best) in answers.items():
        counts = np.bincount(best[chosen], minlength=len(words))
        for i in np.argsort(-counts, kind="stable"):
            if counts[i]:
                share = float(counts[i] / counts.sum())
                translations.append(SenseTranslation(words[i], language, share))
    return tuple(translations)


def _leader(cosines: np.ndarray) -> tuple[int, float]:
    """The best slot of [S], and its margin over the second best; margin 0 for a single slot."""
    best, *others = np.argsort(-cosines, kind="stable")
    margin = cosines[best] - cosines[others[0]] if others else np.inf
    # A word with one sense has an infinite margin in every context, which says nothing.
    return int(best), float(margin) if np.isfinite(margin) else 0.0
