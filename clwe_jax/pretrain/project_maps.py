"""The maps of a projection (A10, Eq. 8): a map of every layer onto another language's.

Its anchors are the average contextual embeddings of the dictionary's words, collected in one pass
over the run's text. Tokens that occur in both languages' text, except test words, are added as
pairs. With `config.projection.anchors='senses'` the map of the last layer is fitted to the centers
of the senses.
"""

from __future__ import annotations

import dataclasses
from itertools import islice
from typing import Iterator, Mapping, NamedTuple, Sequence

from absl import logging
import numpy as np
from scipy import linalg

from clwe_jax.align import procrustes
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.pair import PairEncoder
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate import anchors
from clwe_jax.evaluate.context import Context
from clwe_jax.objectives.projected import Projected
from clwe_jax.options.pretrain import PretrainRun, ProjectionOptions
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.dictionary.merged import Dictionary

METHODS = {
    "orthogonal": procrustes.Procrustes(preprocess=()),
    "least_squares": procrustes.LeastSquares(preprocess=()),
}
Pairs = Sequence[tuple[str, str]]
Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # source vectors, target vectors, pairs of rows


@dataclasses.dataclass(frozen=True, eq=False)
class ProjectionSpaces:
    """The models of all languages, and what maps between them are fitted to.

    Attributes:
      models: language -> its model, the target's first.
      texts: language -> its text.
      dictionary, frequencies, folders, context: of the run, as in its `RunText`.
    """

    models: Mapping[str, LanguageModel]
    texts: Mapping[str, TextCorpus]
    dictionary: Dictionary
    frequencies: Frequencies | None
    folders: Mapping[str, str]
    context: Context


class ProjectionMaps(NamedTuple):
    """The maps of the languages onto the first, by method and language."""

    maps: Mapping[str, Mapping[str, np.ndarray]]
    figures: Mapping[str, float]  # numbers of pairs


def fit(config: PretrainRun, spaces: ProjectionSpaces) -> ProjectionMaps:
    """The maps of all methods, and the numbers of pairs."""
    target, *sources = spaces.models
    maps: dict[str, dict[str, np.ndarray]] = {name: {} for name in methods(config.projection)}
    figures: dict[str, float] = {}
    for source in sources:
        word_pairs = pairs(config, spaces, source, target)
        blocks = _words(config.projection, spaces, word_pairs, source, target)
        figures[f"projected/{source}-{target}/pairs"] = float(len(blocks[0][2]))
        layers = [[block] for block in blocks]
        if config.projection.anchors == "senses":
            layers[-1] = list(_senses(spaces.models[target], word_pairs))
        for name, by_language in maps.items():
            fit_method = METHODS[name].fit
            matrices = []
            for layer in layers:
                # Eq. 8; with senses the last layer has a block for each direction of the model.
                diagonal = [fit_method(*block).source_map for block in layer]
                matrices.append(linalg.block_diag(*diagonal))
            by_language[source] = np.stack(matrices)
    return ProjectionMaps(maps, figures)


def pairs(config: PretrainRun, spaces: ProjectionSpaces, source: str, target: str) -> Pairs:
    """The dictionary's pairs, and the tokens of both languages' text, except test words.

    The paper adds every such token (footnote 6); `identical_min_count` leaves out tokens whose
    mean would be over a few occurrences.
    """
    entries = dict.fromkeys((a, b) for a, b in spaces.dictionary.pairs(source, target))
    if config.projection.identical:
        min_count = config.projection.identical_min_count
        tokens = _tokens(spaces, source, min_count) & _tokens(spaces, target, min_count)
        tokens -= dictionaries.test_words(
            training_dictionary.tests(config, spaces.folders),
            source,
            target,
            spaces.context.normalizer,
        )
        logging.info("%s tokens of both %s and %s", f"{len(tokens):,}", source, target)
        entries.update(dict.fromkeys((word, word) for word in sorted(tokens)))
    return list(entries)


def methods(settings: ProjectionOptions) -> list[str]:
    """The kinds of maps to fit."""
    return settings.methods.split(",")


def _tokens(spaces: ProjectionSpaces, language: str, min_count: int) -> set[str]:
    """The tokens that occur at least `min_count` times in a language's text."""
    tokenizer = spaces.models[language].tokenizer
    counts, _ = spaces.texts[language].count_words(
        language, lambda text: tokenizer.words(text, language)
    )
    return {word for word, count in counts.items() if count >= min_count}


def _words(
    settings: ProjectionOptions, spaces: ProjectionSpaces, chosen: Pairs, source: str, target: str
) -> list[Block]:
    """Mean representations of the pairs' words, layer by layer."""
    collected = []
    for side, language in enumerate((source, target)):
        model = spaces.models[language]
        encoder = ModelEncoder(model.objective, model.tokenizer, model.variables)
        index = {word: row for row, word in enumerate(dict.fromkeys(p[side] for p in chosen))}
        lines = islice(spaces.texts[language].lines(language), settings.lines)
        logging.info("Anchors of %s words (%s)", f"{len(index):,}", language)
        collected.append((index, *anchors.collect(encoder, lines, language, index)))
    (left, x, seen_x), (right, y, seen_y) = collected
    rows = np.array([(left[a], right[b]) for a, b in chosen], np.int32).reshape(-1, 2)  # [P, 2]
    rows = rows[(seen_x[rows[:, 0]] > 0) & (seen_y[rows[:, 1]] > 0)]
    logging.info("%s pairs of anchors for %s-%s", f"{len(rows):,}", source, target)
    return [(x[:, layer], y[:, layer], rows) for layer in range(x.shape[1])]


def _senses(model: LanguageModel, chosen: Pairs) -> Iterator[Block]:
    """Centers of the senses of the pairs' words, a block for each direction."""
    words = model.vocabulary.words
    ids = np.array([[words.get(a, -1), words.get(b, -1)] for a, b in chosen]).reshape(-1, 2)
    # A word of both languages has the same senses in both, which say nothing about the map.
    ids = ids[(ids >= 0).all(1) & (ids[:, 0] != ids[:, 1])]
    for direction in model.objective.directions:
        x, y = anchors.centers(model.variables["senses"][direction], ids)
        logging.info("%s pairs of senses (%s)", f"{len(x):,}", direction)
        yield x, y, np.repeat(np.arange(len(x), dtype=np.int32)[:, None], 2, axis=1)


def apply_maps(models: Mapping[str, LanguageModel], maps: Mapping[str, np.ndarray]) -> Encoder:
    """The encoder of all languages that applies the maps of the source languages."""
    encoders = {}
    for model in set(models.values()):
        map_of = {model.tokenizer.language_id(x): maps[x] for x in maps if x in model.languages}
        encoders[model] = ModelEncoder(
            Projected(model.objective, map_of),
            model.tokenizer,
            model.variables,
            frequencies=model.frequencies,
        )
    if len(encoders) == 1:
        return next(iter(encoders.values()))
    return PairEncoder({language: encoders[model] for language, model in models.items()})
