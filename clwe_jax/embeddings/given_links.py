"""Links between the words of translated sentences that are given.

The words' cosines, by dictionary and spelling, are the prior of IBM model 1 (`align.ibm1`). A New Testament
links ten thousand words in seconds, without a dictionary too. Further rounds with the links' own cosines
as prior, as in mining (`embeddings.mining`), gained less than half a point.
"""

from __future__ import annotations

import itertools
import time
from typing import Mapping

from absl import logging
import numpy as np

from clwe_jax.embeddings import linking, word_rows
from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.embeddings.word_graph import CountedLinks, WordGraph
from clwe_jax.options.static import MiningOptions

_MAX_PAIRS = 50_000  # of sentences of two languages


def link_words(
    graph: WordGraph, text: GivenText, options: MiningOptions, seed: int
) -> dict[tuple[str, str], CountedLinks]:
    """The counted links of each pair of languages; those with the hub name it second.

    A language is linked to the hub; one that shares no sentence with the hub, to all that it does.
    """
    pairs = _asked_pairs(text.parallel.pairs, graph.hub)
    languages = dict.fromkeys(itertools.chain(*pairs))
    sentences = {x: text.word_rows(x, graph.index[x]) for x in languages}
    started = time.monotonic()
    rows = word_rows.rows(graph, options.dim, seed)
    links = {}
    hub = rows.of(graph.hub)
    for (a, b), linked in pairs.items():
        sides = [[sentences[x][row] for row in linked[:, n].tolist()] for n, x in enumerate((a, b))]
        pair_numbers = [n for n, words in enumerate(zip(*sides)) if all(map(len, words))]
        sides = [[side[n] for n in pair_numbers] for side in sides]
        vectors = [hub if x == graph.hub else rows.of(x) for x in (a, b)]
        links[a, b] = linking.link_words(graph, (a, b), sides, vectors, options.position_weight)
    logging.info(
        "Given pairs: %s links of words, %.0f s",
        f"{sum(len(x.counts) for x in links.values()):,}",
        time.monotonic() - started,
    )
    return links


def _asked_pairs(
    pairs: Mapping[tuple[str, str], np.ndarray], hub: str
) -> dict[tuple[str, str], np.ndarray]:
    """The pairs of languages that are linked, and some of their pairs of sentences."""
    beside_hub = set().union(*(pair for pair in pairs if hub in pair))
    linked_pairs = {}
    for (a, b), rows in pairs.items():
        if hub in (a, b) or not {a, b} <= beside_hub:
            rows = rows[:: max(1, -(-len(rows) // _MAX_PAIRS))]
            linked_pairs[(b, a) if a == hub else (a, b)] = rows[:, ::-1] if a == hub else rows
    return linked_pairs
