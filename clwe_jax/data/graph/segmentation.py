"""Lines to words inside the graph: the twin of `text.words.normalize` and `text.words.words`.

Both sides read the same character tables, so they agree by construction except for the longest
match, for which a fast WordPiece tokenizer is used here, with the lexicon as its vocabulary.
"""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from clwe_jax.data.graph.selection import places, select
from clwe_jax.text.words import characters, clitics
from clwe_jax.text.words.normalize import DOTTED_I, LOWER_DOTTED_I, Normalizer
from clwe_jax.text.words.words import (
    CLUSTER_END,
    close_clusters,
    end_syllables,
    is_chinese,
    rules_of,
)

# Replaces each character that the lexicon lacks, which would make a whole run unknown.
_ABSENT = 0xE000
_LONGEST_RUN = 1 << 30  # bytes; the tokenizer makes longer runs unknown
_APOSTROPHE, _MIDDLE_DOT, _DOUBLE_QUOTE = map(ord, "'·\"")
_LETTER_APOSTROPHE = ord(characters.LETTER_APOSTROPHE)
# LineWords, letters, apostrophes and Tibetan in the syntax of RE2. Clitics stand at the edge of a word: not
# behind a mark inside one.
_APOSTROPHES = "".join(map(chr, characters.apostrophes()))
_WORD = r"\pL\pM\pN"
_LETTER = r"[\pL\pM]"
_BEFORE = f"(^|[^{_WORD}{_APOSTROPHES}·]|[{_APOSTROPHES}]{{2}})([{_APOSTROPHES}]*)"
_BEHIND = f"([^{_WORD}]|$)"
_TIBETAN = "".join(f"\\x{{{a:x}}}-\\x{{{b:x}}}" for a, b in characters.TIBETAN)


class LineWords(NamedTuple):
    """The words of a list of lines, in order; W words.

    Attributes:
      text: [W] string, the word after normalisation.
      line: [W] int32, the word's line.
      ends_sentence: [W] bool, whether the word is a mark that ends a sentence, or the last word
        before a line break.
      repaired: scalar int32, number of lines that were not UTF-8.
    """

    text: tf.Tensor
    line: tf.Tensor
    ends_sentence: tf.Tensor
    repaired: tf.Tensor


class GraphSegmenter:
    """Normalises and segments lines of several languages at once."""

    def __init__(
        self,
        languages: Sequence[str],
        normalizer: Normalizer,
        lexicons: Mapping[str, Iterable[str]],
    ):
        """Args:
        languages: languages of the run; language ids are indices into them.
        normalizer: normalizer whose options apply.
        lexicons: lexicons of a `text.words.words.Segmenter`.
        """
        table = np.arange(characters.CODE_POINTS, dtype=np.int32)
        if normalizer.lower_case:
            table = characters.lower_table()
        alike = table if normalizer.bert else characters.one_of_each_table()[table]
        self._characters = tf.constant(alike)
        self._marks = None if normalizer.bert else _WordMarks(languages)
        # Removed characters are recognised after normalisation and before lower-casing, which keeps
        # classes.
        self._classes = tf.constant(normalizer.classes)
        self._form = normalizer.form
        self._splits_dotted_i = (
            normalizer.bert and normalizer.lower_case and not normalizer.strip_accents
        )
        self._stretches = tf.constant(characters.stretch_table())
        self._ends = tf.constant(characters.sentence_end_table())
        self._simplified = None
        chinese = list(map(is_chinese, languages))
        if normalizer.simplify_chinese and any(chinese):
            self._simplified = tf.constant(characters.simplified_table()[alike])
            self._is_chinese = tf.constant(chinese)
        self._matchers = {
            languages.index(language): _LongestMatch(map(end_syllables, words))
            for language, words in lexicons.items()
            if language in languages and words and not normalizer.bert
        }

    def __call__(self, lines: tf.Tensor, languages: tf.Tensor) -> LineWords:
        """The words of lines, [N] string, in languages, [N] int32."""
        if self._marks is not None:
            lines = tf.strings.regex_replace(lines, f"[{characters.SPACED_APOSTROPHES}]", "'")
        if self._form:
            lines = tf_text.normalize_utf8(lines, self._form)
        if self._marks is not None:
            lines = self._marks.set_clitics_apart(lines, languages)
        if self._splits_dotted_i:
            # Its lower case is two characters, which the table of single ones cannot hold.
            lines = tf.strings.regex_replace(lines, DOTTED_I, LOWER_DOTTED_I)
        raw, line = _decode(lines)
        # Thai, Lao and Tibetan have rules of their own.
        has_marks = tf.reduce_any((raw >= 0x0E00) & (raw < 0x1000)) & (self._marks is not None)
        raw, line = tf.cond(has_marks, lambda: _decode(_apply_marks(lines)), lambda: (raw, line))
        kind = tf.gather(self._classes, raw)
        ignored = tf.equal(kind, characters.IGNORED)
        raw, line, kind = tf.cond(
            tf.reduce_any(ignored),
            lambda: tuple(select(x, ~ignored) for x in (raw, line, kind)),
            lambda: (raw, line, kind),
        )
        count = tf.size(raw)
        character = tf.gather(self._characters, raw)
        if self._simplified is not None:
            chinese = tf.gather(self._is_chinese, tf.gather(languages, line))
            character = tf.where(chinese, tf.gather(self._simplified, raw), character)
        if self._marks is not None:
            kind, character = self._marks.join(
                raw, line, tf.gather(languages, line), kind, character
            )

        # A word begins at the first character of a line, and where the class changes.
        is_first = tf.concat([[True], tf.not_equal(line[1:], line[:-1])], 0)[:count]
        previous_kind = tf.concat([kind[:1], kind[:-1]], 0)
        differs = tf.logical_or(is_first, tf.not_equal(kind, previous_kind))
        begins = tf.logical_or(differs, tf.equal(kind, characters.SINGLE))
        begins = self._cut_runs(begins, character, kind, tf.gather(languages, line))
        is_written = tf.not_equal(kind, characters.SPACE)
        begins = tf.logical_and(begins, is_written)

        # Every written character belongs to the last word that began before it.
        spelt = select(character, is_written)
        place = places(select(begins, is_written))
        splits = tf.concat([place, tf.size(spelt)[None]], 0)
        text = tf.strings.unicode_encode(
            tf.RaggedTensor.from_row_splits(spelt, splits, validate=False), "UTF-8"
        )
        text = tf.cond(
            has_marks,
            lambda: tf.strings.regex_replace(text, f"{characters.TSHEG}+$", ""),
            lambda: text,
        )
        single = tf.equal(splits[1:] - splits[:-1], 1)
        ends = tf.logical_and(single, tf.gather(self._ends, tf.gather(spelt, place)))
        # A line break inside a document ends a sentence; it raises the count at the next word.
        at = places(begins)
        breaks = tf.gather(tf.cumsum(tf.cast(tf.equal(raw, ord("\n")), tf.int32)), at)
        broken = tf.concat([breaks[1:] > breaks[:-1], [False]], 0)[: tf.size(at)]
        # Decoding puts U+FFFD in the place of bytes that are not UTF-8.
        bad = select(line, tf.equal(raw, 0xFFFD))
        return LineWords(
            text=text,
            line=tf.gather(line, at),
            ends_sentence=tf.logical_or(ends, broken),
            repaired=tf.size(tf.unique(bad)[0]),
        )

    def _cut_runs(self, begins, character, kind, language):
        """`begins`, with the beginnings of words inside runs of unspaced characters added."""
        unspaced = tf.equal(kind, characters.UNSPACED)

        def cut():
            run_places = places(unspaced)
            letters = tf.gather(character, run_places)
            run_starts = tf.gather(begins, run_places)
            token_starts = tf.ones_like(run_starts)
            in_lexicon = tf.zeros_like(run_starts)
            spoken = tf.gather(language, run_places)
            for number, matcher in self._matchers.items():
                spots = places(tf.equal(spoken, number))
                starts, words = matcher(tf.gather(letters, spots), tf.gather(run_starts, spots))
                token_starts = tf.tensor_scatter_nd_update(token_starts, spots[:, None], starts)
                in_lexicon = tf.tensor_scatter_nd_update(in_lexicon, spots[:, None], words)
            # A character outside the lexicon joins one of its class; a mark joins any character.
            stretch = tf.where(
                in_lexicon, tf.cast(characters.ALONE, tf.uint8), tf.gather(self._stretches, letters)
            )
            before = tf.concat([stretch[:1], stretch[:-1]], 0)
            joins = tf.logical_or(
                tf.equal(stretch, characters.MARK),
                tf.logical_and(tf.not_equal(stretch, characters.ALONE), tf.equal(stretch, before)),
            )
            inner = tf.logical_and(token_starts, tf.logical_not(joins))
            return tf.tensor_scatter_nd_update(
                begins, run_places[:, None], tf.logical_or(run_starts, inner)
            )

        return tf.cond(tf.reduce_any(unspaced), cut, lambda: begins)


def _decode(lines: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """All characters of all lines in one vector, [C], and the line of each."""
    decoded = tf.strings.unicode_decode(lines, "UTF-8", errors="replace")
    return decoded.flat_values, tf.cast(decoded.value_rowids(), tf.int32)


def _apply_marks(lines: tf.Tensor) -> tf.Tensor:
    """SARA AM in one character, a tsheg behind every Tibetan syllable (`words.end_syllables`), none elsewhere."""
    for sign, tones, vowel, am in characters.SARA_AM:
        lines = tf.strings.regex_replace(lines, f"{sign}([{tones}]?)[{vowel}{am}]", rf"\1{am}")
    tsheg = characters.TSHEG
    lines = tf.strings.regex_replace(
        lines, f"([{_TIBETAN}])([^{_TIBETAN}{tsheg}]|$)", rf"\1{tsheg}\2"
    )
    return tf.strings.regex_replace(lines, f"(^|[^{_TIBETAN}{tsheg}]){tsheg}+", r"\1 ")


class _WordMarks:
    """Apostrophes, middle dots and double quotes inside words, as `words.spaced_word` matches them."""

    def __init__(self, languages: Sequence[str]):
        self._letters = tf.constant(characters.letter_table())
        self._hebrew = tf.constant(characters.hebrew_table())
        self._alike = tf.constant(characters.one_of_each_table())
        # Language id -> patterns and what replaces them.
        self._patterns: dict[int, list[tuple[str, str]]] = {}
        rules = [rules_of(language) for language in languages]
        for number, language in enumerate(rules):
            patterns = []
            if short_words := clitics.PROCLITICS.get(language):
                pattern = f"(?i){_BEFORE}({short_words})[{_APOSTROPHES}]({_LETTER})"
                patterns.append((pattern, r"\1\2\3 ' \4"))
            if short_words := clitics.ENCLITICS.get(language):
                pattern = f"(?i)({_LETTER})[{_APOSTROPHES}]({short_words}){_BEHIND}"
                patterns.append((pattern, r"\1 ' \2\3"))
            if patterns:
                self._patterns[number] = patterns
        self._initial = [n for n, x in enumerate(rules) if x in clitics.INITIAL]
        self._final = {
            n: list(map(ord, clitics.FINAL[x])) for n, x in enumerate(rules) if x in clitics.FINAL
        }

    def set_clitics_apart(self, lines: tf.Tensor, languages: tf.Tensor) -> tf.Tensor:
        """The lines with spaces around the apostrophes that separate short words."""
        for number, patterns in self._patterns.items():
            language_lines = tf.boolean_mask(lines, tf.equal(languages, number))
            # A match takes the letter with which the next one may begin: j'l'ai.
            for pattern, replacement in 2 * patterns:
                language_lines = tf.strings.regex_replace(language_lines, pattern, replacement)
            rows = tf.where(tf.equal(languages, number))
            lines = tf.tensor_scatter_nd_update(lines, rows, language_lines)
        return lines

    def join(self, raw, line, language, kind, character):
        """The classes and characters, [C] each, with marks inside words as parts of the words."""
        alike = tf.gather(self._alike, raw)
        starts = tf.concat([[True], tf.not_equal(line[1:], line[:-1])], 0)[: tf.size(raw)]
        ends = tf.concat([starts[1:], [True]], 0)[: tf.size(raw)]

        def before(values):
            return tf.concat([values[:1], values[:-1]], 0)

        def after(values):
            return tf.concat([values[1:], values[-1:]], 0)

        def is_between(table):
            flags = tf.gather(table, raw)
            return before(flags) & ~starts & after(flags) & ~ends

        apostrophe = tf.equal(alike, _APOSTROPHE) | tf.equal(alike, _LETTER_APOSTROPHE)
        is_joined = (apostrophe | tf.equal(alike, _MIDDLE_DOT)) & is_between(self._letters)
        is_joined |= tf.equal(alike, _DOUBLE_QUOTE) & is_between(self._hebrew)
        for number in self._initial:
            free = starts | tf.not_equal(before(kind), characters.WORD)
            free &= starts | tf.not_equal(before(alike), _APOSTROPHE)
            letter = after(tf.gather(self._letters, raw)) & ~ends
            is_joined |= apostrophe & free & letter & tf.equal(language, number)
        for number, letters in self._final.items():
            behind = tf.reduce_any(tf.equal(before(raw)[:, None], letters), 1) & ~starts
            is_joined |= apostrophe & behind & tf.equal(language, number)
        character = tf.where(is_joined & apostrophe, _APOSTROPHE, character)
        is_middle = tf.equal(kind, characters.MIDDLE)
        kind = tf.where(is_joined, tf.cast(characters.WORD, kind.dtype), kind)
        kind = tf.where(is_middle & ~is_joined, tf.cast(characters.SINGLE, kind.dtype), kind)
        return kind, character


class _LongestMatch:
    """Greedy longest match from left to right against a lexicon."""

    def __init__(self, words: Iterable[str]):
        lexicon = sorted(set(map(close_clusters, words)))
        # WordPiece makes a run unknown if a part of it has no piece: characters are pieces too.
        single_characters = sorted(set("".join(lexicon)) - set(lexicon))
        vocabulary = [chr(_ABSENT)] + single_characters + lexicon
        self._lengths = tf.constant([len(piece) for piece in vocabulary], tf.int32)
        self._first_word = 1 + len(single_characters)
        present = np.full(characters.CODE_POINTS, _ABSENT, np.int32)
        codes = list(map(ord, "".join(vocabulary)))
        present[codes] = codes
        self._present = tf.constant(present)
        self._marks = tf.constant(characters.stretch_table() == characters.MARK)
        self._tokenizer = tf_text.FastWordpieceTokenizer(
            vocabulary,
            # Without a mark inside words WordPiece is a longest match at every place of a run.
            suffix_indicator="",
            unknown_token=chr(_ABSENT),
            no_pretokenization=True,
            token_out_type=tf.int32,
            max_bytes_per_word=_LONGEST_RUN,
            support_detokenization=False,
        )

    def __call__(self, character: tf.Tensor, starts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Cuts runs.

        Args:
          character: [C] int32, characters of all runs.
          starts: [C] bool, whether a run starts at the character.

        Returns:
          [C] bool, whether a lexicon word, or a character outside all lexicon words, starts; and
          [C] bool, whether the character belongs to a lexicon word.
        """
        # As in `words.close_clusters`: a mark of its own behind a character that no combining mark follows.
        marks = tf.gather(self._marks, character)
        closed = tf.concat([~marks[1:] | starts[1:], [True]], 0)[: tf.size(character)]
        sizes = 1 + tf.cast(closed, tf.int32)
        place = tf.cumsum(sizes, exclusive=True)
        count = tf.reduce_sum(sizes)
        closed_at = tf.boolean_mask(place + 1, closed)
        text = tf.tensor_scatter_nd_update(
            tf.repeat(tf.gather(self._present, character), sizes),
            closed_at[:, None],
            tf.fill([tf.size(closed_at)], ord(CLUSTER_END)),
        )
        splits = tf.concat([tf.boolean_mask(place, starts), count[None]], 0)
        runs = tf.strings.unicode_encode(
            tf.RaggedTensor.from_row_splits(text, splits, validate=False), "UTF-8"
        )
        pieces = self._tokenizer.tokenize(runs).flat_values
        lengths = tf.gather(self._lengths, pieces)
        at = tf.cumsum(lengths, exclusive=True)
        begins = tf.tensor_scatter_nd_update(
            tf.zeros([count], tf.bool), at[:, None], tf.ones_like(at, tf.bool)
        )
        matched = tf.repeat(pieces >= self._first_word, lengths)
        return tf.gather(begins, place), tf.gather(matched, place)
