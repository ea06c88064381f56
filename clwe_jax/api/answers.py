"""What the methods of `api.Model` return, beside arrays; imports neither jax nor NumPy."""

from __future__ import annotations

from typing import NamedTuple

WORDS = ("spaces", "own")  # words of a text: what stands between spaces, or what the model cuts


class WordTranslation(NamedTuple):
    """A candidate translation of a word; `score` as for `Neighbour`."""

    word: str
    score: float


class WordLink(NamedTuple):
    """Two words that translate each other.

    Attributes:
      source, target: the words.
      source_place, target_place: their places in their sentences, from 0.
    """

    source: str
    target: str
    source_place: int
    target_place: int
