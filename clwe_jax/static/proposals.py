"""Proposed entries of a dictionary: the frequent words that lack one, with their likely translations.

A translation's score joins how often the two words are linked, of all that they occur, with the cosine of
their vectors; it orders a word's translations, and the words. Of the measures that were tried on halves of
three dictionaries (links of a word's occurrences, Dice, CSLS, with and without cosines) this one was among the
best in all of them.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import math
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax.align import search
from clwe_jax.embeddings.beginnings import beginnings
from clwe_jax.embeddings.linking import WordLinks
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.static.marked import Example, ExampleFinder
from clwe_jax.text.words.characters import has_letter
from clwe_jax.text.words.spellings import readable
from clwe_jax.text.words.words import latin

TRANSLATIONS = 5  # of a word
_MIN_COUNT = 3  # occurrences of a word that is proposed
_MAX_PROPOSALS = 2_000
_DOUBT = 2  # occurrences that are added to those of both words: few links say little
_COSINE = 0.5  # weight of a cosine beside the share of links, which is at most 1
_NEAR = 8  # nearest words that are candidates beside the linked ones
# score of a translation that is worth a look, and its share of the first one's
_LEAST = 0.12
_LEAST_SHARE = 0.25
_ALIKE = 0.6  # likeness of two words in Latin letters from which they are spelled alike
_ROWS = 1_000  # words that are compared at once


class ProposedTranslation(NamedTuple):
    """A proposed translation.

    Attributes:
      word: as it is written.
      count: of its links.
      score: between 0 and 1.
      source: 'verses', 'mined', 'spelling' or 'contexts'; several with ' + '.
    """

    word: str
    count: float
    score: float
    source: str


@dataclasses.dataclass(frozen=True)
class Proposal:
    """A word without an entry.

    Attributes:
      word: as it is written.
      count: its occurrences.
      translations: the best first.
      forms: words that begin alike and have the same first translation, with their occurrences.
      examples: sentences that show the word and one of its translations.
    """

    word: str
    count: int
    translations: Sequence[ProposedTranslation]
    forms: Sequence[tuple[str, int]] = ()
    examples: Sequence[Example] = ()


def propose(
    model: StaticSpaces,
    pair: tuple[str, str],
    links: Mapping[str, WordLinks],
    examples: ExampleFinder | None,
    counts_of_languages: Mapping[str, Mapping[str, int]],
) -> list[Proposal]:
    """The proposed entries of two languages, the best first.

    Args:
      model: has the entries and the rejected pairs, which are not proposed.
      pair: the language whose words lack entries, and that of the translations.
      links: source, such as 'verses' -> links of words.
      examples: finds sentences; None: there are none.
      counts_of_languages: language -> word -> occurrences.
    """
    counts = [counts_of_languages.get(language, {}) for language in pair]
    spaces = model.word_space(*pair)
    has_entry = set(model.entries.accepted.pairs_between(*pair)[:, 0].tolist())
    rows = [
        row
        for row, key in enumerate(spaces[0].own_keys)
        if row not in has_entry and counts[0].get(key, 0) >= _MIN_COUNT and _is_word(key)
    ]
    linked = {kind: _of_words(links_of_kind, pair) for kind, links_of_kind in links.items()}

    def write(side: int, row: int) -> str:
        words = spaces[side]
        spelled = examples.spell(side, words.own_keys[row]) if examples else None
        return readable(spelled or words.words[row], pair[side])

    proposed = []
    for row, translations in _translations(spaces, rows, linked, counts, model, pair):
        key = spaces[0].own_keys[row]
        if translations and translations[0].score >= _LEAST:
            proposed.append((key, row, translations))
    proposed.sort(key=lambda x: (-x[2][0].score, x[1]))
    heads = _group(proposed, counts[0])
    proposals = []
    for (key, row, translations), forms in heads[:_MAX_PROPOSALS]:
        targets = [x.word for x in translations]
        proposals.append(
            Proposal(
                write(0, row),
                counts[0][key],
                [x._replace(word=write(1, spaces[1].index[x.word])) for x in translations],
                [(write(0, x), counts[0][form]) for form, x in forms],
                examples.find(key, targets) if examples else (),
            )
        )
    return proposals


def _is_word(key: str) -> bool:
    return has_letter(key) and not any(map(str.isdigit, key))


def _of_words(links: WordLinks, pair: tuple[str, str]) -> dict[str, dict[str, float]]:
    """Word -> translation -> the count of their link."""
    counts: dict[str, dict[str, float]] = collections.defaultdict(dict)
    for turn in (1, -1):
        pair_links = links.get(pair[::turn])
        if pair_links is None:
            continue
        for a, b, count in zip(pair_links.source, pair_links.target, pair_links.counts.tolist()):
            word, translation = (a, b)[::turn]
            counts[word][translation] = count
    return counts


def _translations(
    spaces: tuple[Vectors, Vectors],
    rows: Sequence[int],
    linked: Mapping[str, Mapping[str, Mapping[str, float]]],
    counts: Sequence[Mapping[str, int]],
    model: StaticSpaces,
    pair: tuple[str, str],
) -> Iterator[tuple[int, list[ProposedTranslation]]]:
    """Yields the row of each word and its best translations, by their keys."""
    x, y = spaces
    # In NumPy, as what a search returns from an accelerator cannot be written.
    keys = np.asarray(search.unit(y.vectors))
    is_word = np.array([_is_word(key) for key in y.own_keys])
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        cosines = np.asarray(search.unit(x.vectors[block])) @ keys.T
        cosines[:, ~is_word] = -1
        near = np.argpartition(-cosines, min(_NEAR, len(y) - 1), 1)[:, :_NEAR]
        for row, row_cosines, places in zip(block, cosines, near.tolist()):
            key = x.own_keys[row]
            by_kind = {kind: links_of_word.get(key, {}) for kind, links_of_word in linked.items()}
            candidates = {y.own_keys[place] for place in places}
            candidates.update(*by_kind.values())
            candidates -= set(model.entries.rejected.of(key, *pair))
            proposals = []
            for candidate in candidates:
                place = y.index.get(candidate)
                if place is None or not is_word[place]:
                    continue
                count = sum(link_counts.get(candidate, 0.0) for link_counts in by_kind.values())
                occurrences = (counts[0][key] + _DOUBT) * (counts[1].get(candidate, 0) + _DOUBT)
                share = min(1.0, count / math.sqrt(occurrences))
                score = (share + _COSINE * max(0.0, float(row_cosines[place]))) / (1 + _COSINE)
                kinds = [kind for kind, link_counts in by_kind.items() if candidate in link_counts]
                matcher = difflib.SequenceMatcher(None, latin(key), latin(candidate), False)
                kinds += ["spelling"] * (matcher.ratio() >= _ALIKE)
                kinds = kinds or ["contexts"]
                proposals.append(ProposedTranslation(candidate, count, score, " + ".join(kinds)))
            proposals.sort(key=lambda one: (-one.score, one.word))
            min_score = max(_LEAST, _LEAST_SHARE * proposals[0].score) if proposals else 0
            yield row, [best for best in proposals if best.score >= min_score][:TRANSLATIONS]


def _group(
    proposed: Sequence[tuple[str, int, list[ProposedTranslation]]], counts: Mapping[str, int]
) -> list[tuple[Any, list[tuple[str, int]]]]:
    """Each head word, best first, and the keys and rows of its forms, most frequent first.

    Forms begin alike and have the same first translation; their most frequent one is the head.
    """
    groups: dict[tuple[str, str], list[Any]] = {}
    forms_by_head: list[list[Any]] = []
    for proposal in proposed:
        key, _, translations = proposal
        names = [(beginning, translations[0].word) for beginning in beginnings(key)]
        group = next((groups[name] for name in names if name in groups), None)
        if group is None:
            group = []
            forms_by_head.append(group)
            # Forms begin like the best one, not like each other, or a chain would join many.
            groups |= dict.fromkeys(names, group)
        group.append(proposal)
    heads = []
    for group in forms_by_head:
        head, *forms = sorted(group, key=lambda proposal: -counts[proposal[0]])
        heads.append((head, [(key, row) for key, row, _ in forms]))
    return heads
