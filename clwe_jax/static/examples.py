"""What a report shows of static vectors: words in their space, neighbours and errors."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.runs import shared_space, report_words
from clwe_jax.text.dictionary.merged import Dictionary

_FREQUENT = 2_000  # words with neighbours are chosen among so many frequent words
_SEARCHED = 20_000  # and the neighbours among so many of each language: rarer words are noise


def place_words(
    model: StaticSpaces, dictionary: Dictionary | None, names: Sequence[str]
) -> dict[str, Any]:
    """The same words before the alignment and after it."""
    frequent = {language: model.raw[language].own_keys for language in names}
    concepts = shared_space.concepts(frequent, dictionary, model.hub)

    def spell(language: str, key: str) -> str:
        vectors = model.raw[language]
        return vectors.words[vectors.index[key]]

    def draw(vectors_in: Callable[[str], Vectors]) -> list[dict[str, Any]]:
        def look_up(language: str, keys: Sequence[str]) -> np.ndarray:
            vectors = vectors_in(language)
            return vectors.vectors[vectors.rows(keys)]

        return shared_space.picture(concepts, look_up, spell)

    stages = {"before": draw(model.raw.__getitem__)} if model.alignments else {}
    return {"hub": model.hub, "stages": {**stages, "after": draw(model.common_vectors)}}


def list_neighbours(model: StaticSpaces, option: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """The nearest words of those that `config.report.words` lists, or of some content words."""
    hub = model.raw[model.hub]
    config_words = report_words.asked_words(option)
    words = []
    for word in config_words:
        if model.knows(word, model.hub):
            key = model.normalizer.key(word, model.hub)
            words.append(hub.words[hub.index.get(word, hub.index.get(key))])
        else:
            logging.warning("config.report.words: %r has no vector in %s", word, model.hub)
    if not config_words:
        words = report_words.content_words([w for w in hub.words[:_FREQUENT] if w.isalpha()])
    word_rows = (hub.index[word] for word in words)
    raw = {language: vectors.top(_SEARCHED) for language, vectors in model.raw.items()}
    rows = [*range(len(raw[model.hub])), *(row for row in word_rows if row >= _SEARCHED)]
    searched = dataclasses.replace(model, raw={**raw, model.hub: hub.take(rows)})
    return report_words.neighbours(searched, words, model.hub, names)


def choose_errors(rows: Sequence[Mapping[str, Any]], max_errors: int) -> tuple[list[Any], int]:
    """At most `max_errors` errors of each direction, evenly spread, and the number of errors left out."""
    by_pair: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["kind"] != "right":
            by_pair.setdefault(row["pair"], []).append(row)
    errors = []
    left_out = 0
    for group in by_pair.values():
        places = np.unique(np.linspace(0, len(group) - 1, min(max_errors, len(group))).astype(int))
        errors += [group[place] for place in places.tolist()]
        left_out += len(group) - len(places)
    return errors, left_out
