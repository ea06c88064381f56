"""Pictures of two languages' vectors in the plane, stage by stage (joint-align, Fig. 1)."""

from __future__ import annotations

from itertools import islice
from typing import Any, Sequence

import numpy as np

from clwe_jax.align import search
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.report import projection
from clwe_jax.static.report import MAX_PAIRS
from clwe_jax.static.unaligned import UnalignedVectors
from clwe_jax.text.dictionary.merged import Dictionary

_DRAWN = 100  # words of each group
_JOINED = 40  # translation pairs joined by lines

Pairs = Sequence[tuple[str, str]]


def stages(
    unaligned: UnalignedVectors, model: StaticSpaces, dictionary: Dictionary | None
) -> dict[str, dict[str, Any]]:
    """'{language}-{hub}' -> stage -> the picture after it, for `report.projection`, of the first languages.

    Args:
      unaligned: the vectors before and after reallocation.
      model: the aligned vectors.
      dictionary: the dictionary whose pairs are joined by lines; None: no lines.
    """
    hub = model.hub
    pictures = {}
    others = (language for language in unaligned.raw if language != hub)
    for language in islice(others, MAX_PAIRS):
        pairs = dictionary.pairs(language, hub) if dictionary is not None else []
        shared = unaligned.shared.get(language, frozenset())
        raw = picture(unaligned.raw[language], unaligned.raw[hub], shared, pairs)
        stage_pictures = {"before": raw}
        if unaligned.before is not None:
            first, common = unaligned.before
            before = picture(first[language], first[hub], common[language], pairs)
            stage_pictures = {"before": before, "reallocated": raw}
        if language in model.alignments:
            stage_pictures["after"] = picture(*model.space(language, hub), shared, pairs)
        pictures[f"{language}-{hub}"] = stage_pictures
    return pictures


def picture(
    source: Vectors, target: Vectors, shared: frozenset[str], pairs: Pairs
) -> dict[str, Any]:
    """Frequent words of two languages in the plane of their first two principal components.

    Args:
      source, target: vectors in one space, most frequent word first.
      shared: words of both languages.
      pairs: translations; the most frequent ones are drawn and joined.

    Returns:
      'source', 'target', 'shared' (points) and 'pairs' (lines); {} for fewer than three words
      or vectors of different widths.
    """
    if source.vectors.shape[1] != target.vectors.shape[1]:
        return {}
    links = [
        (a, b)
        for a, b in pairs
        if a in source.index and b in target.index and not {a, b} & shared and a != b
    ]
    links = sorted(links, key=lambda p: source.index[p[0]] + target.index[p[1]])[:_JOINED]
    sides = {"source": source, "target": target}
    unshared = {}
    for column, (name, vectors) in enumerate(sides.items()):
        joined = dict.fromkeys(pair[column] for pair in links)
        frequent = (word for word in vectors.words if word not in shared and word.isalpha())
        unshared[name] = list(dict.fromkeys([*joined, *islice(frequent, _DRAWN)]))
    common = (word for word in source.words if word in shared and word.isalpha())
    groups = {
        name: vectors.vectors[[vectors.index[word] for word in unshared[name]]].astype(np.float32)
        for name, vectors in sides.items()
    }
    rows = [source.index[word] for word in islice(common, _DRAWN)]
    groups["shared"] = source.vectors[rows].astype(np.float32)
    groups = {name: np.asarray(search.unit(rows)) for name, rows in groups.items() if len(rows)}
    if sum(map(len, groups.values())) < 3:
        return {}
    drawing: dict[str, Any] = dict(projection.principal(groups))
    places = {name: {word: i for i, word in enumerate(words)} for name, words in unshared.items()}
    drawing["pairs"] = [
        [drawing["source"][places["source"][a]], drawing["target"][places["target"][b]]]
        for a, b in links
    ]
    return drawing
