"""Entries of a dictionary in another script than the text's, written in that of the text.

A dictionary may have Tatar in Latin letters and a text in Cyrillic ones. Which letters stand for which
is learned from words that both scripts have: entries with the same translation, and entries and words
of the text with the same Latin form (`anyascii`). Letters are aligned by Viterbi training of one or two
letters with one or two (a small joint-sequence model, Bisani and Ney 2008); an entry is then the most
probable word of the text, or the most probable string.
"""

from __future__ import annotations

import collections
import functools
import math
from typing import Iterable, Mapping, Sequence
import unicodedata

import numpy as np

from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.characters import has_letter
from clwe_jax.text.words.words import is_unspaced, latin

_FEWEST = 20  # entries in another script, and pairs that teach letters
_SHARE = 0.02  # of a language's entries, for the same
_ROUNDS = 4  # of Viterbi training
_DEAR = 1.2  # cost a letter, in nats, from which two words are no spellings of one
_SMOOTHING = 0.1  # counts of a letter's spelling that no pair has
_BEAM = 40  # strings that are held while an entry is spelled
_LEAST = 0.01  # probability of a spelling of a letter that is tried
_SEGMENTS = ((1, 1), (1, 2), (2, 1), (1, 0))  # letters of either side; the last: a silent letter
_COSTS = {(1, 1): 1.6, (1, 2): 2.5, (2, 1): 2.5, (1, 0): 2.5}  # before anything is learned


def respell_entries(dictionary: Dictionary, counts: Mapping[str, Mapping[str, int]]) -> Dictionary:
    """The dictionary with entries in another script also in that of the text.

    Args:
      dictionary: merged dictionary.
      counts: language -> word of its text -> occurrences.

    Returns:
      The dictionary itself where all entries have their text's script.
    """
    splits = dictionary.language_splits.tolist()
    sources, targets = dictionary.edges()
    words = [dictionary.language_words(language) for language in dictionary.languages]
    number: dict[int, str] = {}  # of an entry -> its form in the text's script
    for place, language in enumerate(dictionary.languages):
        forms = _forms(dictionary, language, counts.get(language, {}))
        number |= {splits[place] + row: form for row, form in forms.items()}
    if not number:
        return dictionary
    # A language's new forms stand behind its own words, which moves the words of the next languages.
    new_words: list[list[str]] = [list(part) for part in words]
    index = [{word: row for row, word in enumerate(part)} for part in new_words]
    for entry, form in number.items():
        place = int(dictionary.word_language[entry])
        if form not in index[place]:
            index[place][form] = len(new_words[place])
            new_words[place].append(form)
    starts = np.cumsum([0, *map(len, new_words)])
    language_of = dictionary.word_language.astype(np.int64)
    new_ids = starts[language_of] + np.arange(len(dictionary)) - np.array(splits)[language_of]
    extra = np.full(len(dictionary), -1)
    for entry, form in number.items():
        extra[entry] = starts[language_of[entry]] + index[int(language_of[entry])][form]
    # The new form has the pairs of its entry, which keeps them.
    twice = extra[sources] >= 0
    return Dictionary.from_edges(
        dictionary.languages,
        new_words,
        np.concatenate([new_ids[sources], extra[sources][twice]]),
        np.concatenate([new_ids[targets], new_ids[targets][twice]]),
        skipped=dictionary.skipped,
        left_out=dictionary.left_out,
        windows=dictionary.windows,
        spellings=dictionary.spellings,
    )


def _forms(dictionary: Dictionary, language: str, counts: Mapping[str, int]) -> dict[int, str]:
    """Row of an entry in another script than the text's -> its form in that of the text."""
    scripts = _scripts(counts)
    script = max(scripts, key=scripts.get) if scripts else None
    words = dictionary.language_words(language)
    if script is None or any(is_unspaced(word) for word in list(counts)[:100]):
        return {}
    of_words = [_scripts([word]) for word in words]
    foreign = [row for row, scripts in enumerate(of_words) if scripts and script not in scripts]
    if len(foreign) < max(_FEWEST, _SHARE * len(words)):
        return {}
    in_text_script = set(range(len(words))).difference(foreign)
    pairs = _pairs(dictionary, language, words, foreign, in_text_script)
    # Reversed: of words with one Latin form the first in `counts` stays.
    by_form = {
        latin(word): word for word in reversed(list(counts)) if _scripts([word]) == {script: 1}
    }
    pairs += [
        (words[row], by_form[form]) for row in foreign if (form := latin(words[row])) in by_form
    ]
    letters = _learn_letters(sorted(set(pairs)))
    if letters is None:
        return {}
    form_of = {}
    for row in foreign:
        parts = [_respell_word(part, letters, counts) for part in words[row].split(" ")]
        if all(parts):
            form_of[row] = " ".join(parts)
    return form_of


def _pairs(
    dictionary: Dictionary,
    language: str,
    words: Sequence[str],
    foreign: Iterable[int],
    in_text_script: set[int],
) -> list[tuple[str, str]]:
    """Entries in another script, and those in the text's script with a translation of theirs."""
    start = int(dictionary.language_splits[dictionary.languages.index(language)])
    by_target: dict[int, list[int]] = collections.defaultdict(list)
    translations: dict[int, list[int]] = collections.defaultdict(list)
    for source, target in zip(*(side.tolist() for side in dictionary.edges())):
        if start <= source < start + len(words):
            translations[source - start].append(target)
            if source - start in in_text_script:
                by_target[target].append(source - start)
    row_pairs: set[tuple[int, int]] = set()
    for row in foreign:
        for target in translations[row]:
            row_pairs |= {(row, near) for near in by_target[target]}
    return [(words[a], words[b]) for a, b in sorted(row_pairs) if " " not in words[a] + words[b]]


Letters = Mapping[str, Mapping[str, float]]


def _learn_letters(pairs: Sequence[tuple[str, str]]) -> Letters | None:
    """Letters -> their spellings in the other script -> probability; None where too few pairs agree."""
    letters: Letters | None = None
    for _ in range(_ROUNDS):
        aligned = [_align_letters(a, b, letters) for a, b in pairs]
        paths = [path for (cost, path), (a, _) in zip(aligned, pairs) if cost <= _DEAR * len(a)]
        if len(paths) < _FEWEST:
            return None
        counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for path in paths:
            for left, right in path:
                counts[left][right] += 1
        totals = {left: sum(rights.values()) for left, rights in counts.items()}
        # A letter alone competes with the pairs of letters that it begins.
        letters = {
            left: {right: n / (totals[left] + _SMOOTHING) for right, n in rights.items() if n > 1}
            for left, rights in counts.items()
        }
    return letters


def _align_letters(a: str, b: str, letters: Letters | None) -> tuple[float, list[tuple[str, str]]]:
    """The cheapest alignment of two words' letters: its cost in nats, and the pairs of letters."""
    best: dict[tuple[int, int], tuple[float, tuple[int, int] | None]] = {(0, 0): (0.0, None)}
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if (i, j) not in best:
                continue
            for m, n in _SEGMENTS:
                if i + m <= len(a) and j + n <= len(b):
                    cost = best[i, j][0] + _cost(a[i : i + m], b[j : j + n], letters)
                    if cost < best.get((i + m, j + n), (math.inf,))[0]:
                        best[i + m, j + n] = cost, (i, j)
    if (len(a), len(b)) not in best:
        return math.inf, []
    path = []
    end = (len(a), len(b))
    while end != (0, 0):
        before = best[end][1]
        path.append((a[before[0] : end[0]], b[before[1] : end[1]]))
        end = before
    return best[len(a), len(b)][0], path[::-1]


def _cost(left: str, right: str, letters: Letters | None) -> float:
    if letters is not None:
        # A spelling that has not been seen costs 4 nats.
        return -math.log(letters.get(left, {}).get(right, math.exp(-4)))
    return 0.1 * len(left) if latin(left) == latin(right) else _COSTS[len(left), len(right)]


def _respell_word(word: str, letters: Letters, counts: Mapping[str, int]) -> str:
    """The most probable word of the text, or string; '' where a letter has no spelling."""
    beams: list[dict[str, float]] = [{} for _ in range(len(word) + 1)]
    beams[0][""] = 0.0
    for place in range(len(word)):
        beam = sorted(beams[place].items(), key=lambda item: -item[1])[:_BEAM]
        for length in (1, 2):
            part = word[place : place + length]
            if len(part) < length:
                continue
            choices = letters.get(part, {} if has_letter(part) else {part: 1.0})
            for right, share in choices.items():
                if share < _LEAST:
                    continue
                for string, score in beam:
                    new_string = string + right
                    total = score + math.log(share)
                    if total > beams[place + length].get(new_string, -math.inf):
                        beams[place + length][new_string] = total
    ends = sorted(beams[-1], key=lambda string: (-beams[-1][string], string))
    return next((string for string in ends if string in counts), ends[0] if ends else "")


def _scripts(words: Iterable[str] | Mapping[str, int]) -> dict[str, int]:
    """Script -> letters, of words or of counted words; a word alone counts each script once."""
    letters: collections.Counter[str] = collections.Counter()
    weights = words if isinstance(words, Mapping) else None
    for word in words:
        for script in {_script(letter) for letter in word if letter.isalpha()}:
            letters[script] += weights[word] if weights is not None else 1
    return dict(letters)


@functools.lru_cache(maxsize=1 << 14)
def _script(letter: str) -> str:
    """The first word of a letter's name in Unicode, such as LATIN."""
    return unicodedata.name(letter, "?").partition(" ")[0]
