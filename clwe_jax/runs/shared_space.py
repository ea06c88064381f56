"""The report's first picture: a few words of all languages in one plane, joined by translation."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from clwe_jax.align import search
from clwe_jax.report import projection
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.words import is_unspaced

_CONCEPTS = 8
_LANGUAGES = 6
_FREQUENT = 2_000  # words of each language among which words are chosen
_FUNCTION_WORDS = 20  # the most frequent words say little

# (language, words) -> their vectors, float32 [N, D]
VectorsOf = Callable[[str, Sequence[str]], np.ndarray]


def concepts(
    frequent: Mapping[str, Sequence[str]], dictionary: Dictionary | None, hub: str
) -> list[dict[str, str]]:
    """Frequent words of the hub with one translation in each language: language -> word.

    Words that have translations in most languages come first; among those, the words are evenly
    spread over the frequencies.

    Args:
      frequent: language -> words with a vector, most frequent first.
      dictionary: the run's dictionary; None: there are no words to choose.
      hub: the language whose words are translated.
    """
    if dictionary is None or not frequent.get(hub):
        return []
    languages = [language for language in frequent if language != hub][: _LANGUAGES - 1]
    ranks = {x: {word: i for i, word in enumerate(frequent[x][:_FREQUENT])} for x in languages}
    candidates = []
    used_translations = set()
    for word in frequent[hub][_FUNCTION_WORDS:_FREQUENT]:
        if not word.isalpha() or (len(word) < 3 and not is_unspaced(word)):
            continue
        synonyms = dictionary.synonyms(word, hub)
        concept = {hub: word}
        for language, rank in ranks.items():
            in_text = [x for x in synonyms.get(language, ()) if x in rank and x != word]
            if in_text:
                concept[language] = min(in_text, key=rank.__getitem__)
        translations = {x for x in concept.items() if x[0] != hub}
        # A translation stands for one word only, or two concepts would share a point.
        if translations and not translations & used_translations:
            used_translations |= translations
            candidates.append(concept)
    max_languages = max((len(concept) for concept in candidates), default=0)
    best = [concept for concept in candidates if len(concept) == max_languages]
    if len(best) < _CONCEPTS:
        best = sorted(candidates, key=lambda concept: -len(concept))[:_CONCEPTS]
    places = np.unique(np.linspace(0, len(best) - 1, _CONCEPTS).astype(int)) if best else []
    return [best[place] for place in places]


def picture(
    chosen: Sequence[Mapping[str, str]],
    vectors_of: VectorsOf,
    spelling_of: Callable[[str, str], str] = lambda language, word: word,
) -> list[dict[str, Any]]:
    """The words as points in the plane of their first two principal components.

    Args:
      spelling_of: (language, key of a word) -> the word as it is written.

    Returns:
      Objects with 'word', 'language', 'concept' (its number), 'x' and 'y'; [] for fewer than three
      words, or for vectors of different widths.
    """
    by_language: dict[str, list[tuple[int, str]]] = {}
    for number, concept in enumerate(chosen):
        for language, word in concept.items():
            by_language.setdefault(language, []).append((number, word))
    groups = {
        language: np.asarray(search.unit(vectors_of(language, [word for _, word in words])))
        for language, words in by_language.items()
    }
    if sum(map(len, groups.values())) < 3 or len({x.shape[1] for x in groups.values()}) > 1:
        return []
    plane = projection.principal(groups)
    points = []
    for language, words in by_language.items():
        for (number, word), (x, y) in zip(words, plane[language]):
            spelling = spelling_of(language, word)
            points.append(
                {"word": spelling, "language": language, "concept": number, "x": x, "y": y}
            )
    return points
