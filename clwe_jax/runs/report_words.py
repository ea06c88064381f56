"""Words that a report shows with their nearest words in the other languages."""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Protocol, Sequence

from clwe_jax.text.spread import spread
from clwe_jax.text.words.words import is_unspaced

_WORDS = 8  # words shown with their nearest neighbours
_NEIGHBOURS = 2  # neighbours in each language
_LANGUAGES = 8  # languages whose words are shown beside a word: each is searched in memory


class _HasNeighbours(Protocol):
    def neighbours(self, word: str, lang: str, k: int, to: str | None) -> Sequence[Any]: ...


def first_language(languages: Sequence[str]) -> str:
    """The language that the others are shown beside: English, or the first one."""
    return "en" if "en" in languages else languages[0]


def content_words(frequent: Sequence[str]) -> list[str]:
    """A few content words, evenly spread over a list of frequent words.

    Args:
      frequent: words, most frequent first. The first ones are function words and are left out.
    """
    content = [word for word in frequent if len(word) > 3 or is_unspaced(word)][20:]
    return spread(content, _WORDS)


def neighbours(
    model: _HasNeighbours, words: Iterable[str], language: str, others: Iterable[str]
) -> list[dict[str, Any]]:
    """The nearest words of each word in the other languages: report.json's 'neighbours'.

    Args:
      others: the languages to search, the first of them; `language` does not count.
    """
    others = [other for other in others if other != language][:_LANGUAGES]
    rows = []
    for word in words:
        by_language = (model.neighbours(word, language, _NEIGHBOURS, to=other) for other in others)
        near = [
            {"word": x.word, "language": x.language, "score": x.score}
            for x in itertools.chain.from_iterable(by_language)
        ]
        rows.append({"word": word, "language": language, "neighbours": near})
    return rows


def asked_words(option: str) -> list[str]:
    """The words that config.report.words lists."""
    return [word.strip() for word in option.split(",") if word.strip()]
