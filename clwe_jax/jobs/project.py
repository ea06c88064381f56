"""Projection of a trained bilingual model: one language's space onto another's (A10, Eq. 8).

Anchors are the average contextual embeddings of the dictionary's words, collected in one pass over
the run's text; words that both languages write alike are added as pairs. Every layer has its map.
With `config.projection.anchors='senses'` the last layer's is that of the centers of the senses.
"""

from __future__ import annotations

import json
import os
from itertools import islice
from typing import Iterator, Sequence

from absl import logging
import jax
from ml_collections import ConfigDict
import numpy as np
from scipy import linalg

from clwe_jax import atomic
from clwe_jax import api
from clwe_jax import config as options
from clwe_jax import registry
from clwe_jax.align import procrustes
from clwe_jax.evaluate import anchors
from clwe_jax.evaluate.spelled import encoder_of
from clwe_jax.jobs import evaluators
from clwe_jax.objectives import projected
from clwe_jax.objectives.projected import Projected
from clwe_jax.report import html, tables
from clwe_jax.text import world as worlds
from clwe_jax.types import Objective

ANCHORS = ("words", "senses")
METHODS = {
    "orthogonal": procrustes.Procrustes(preprocess=()),
    "least_squares": procrustes.LeastSquares(preprocess=()),
}


def run(config: ConfigDict, workdir: str) -> bool:
    """Projects the run in `workdir`, measures it before and after, and saves the maps with it.

    The second and further languages are mapped onto the first. Figures after it are named
    'projected/{method}/...' in results.json; `api.load` applies the maps of
    `config.projection.apply`.

    Raises:
      ValueError, FileNotFoundError: no finished run of two languages, or no text or dictionary.
    """
    if jax.process_count() > 1:
        raise ValueError("The projection runs on one host: start it there alone")
    settings = config.projection
    for name in [settings.apply, *settings.methods.split(",")]:
        if name not in METHODS:
            raise ValueError(
                f"config.projection: there is no method {name!r}. {registry.nearest(name, METHODS)}"
            )
    if settings.anchors not in ANCHORS:
        raise ValueError(
            f"config.projection.anchors={settings.anchors!r}: "
            f"{registry.nearest(settings.anchors, ANCHORS)}"
        )
    options.claim_workdir(config, workdir, write=False)
    model = api.load(workdir)
    objective = model.objective
    if len(model.languages) < 2:
        raise ValueError(
            f"{workdir} holds a model of {', '.join(model.languages)} alone: there is nothing to "
            "project it on"
        )
    if settings.anchors == "senses" and not model.variables.get("senses"):
        raise ValueError(
            f"{workdir} holds a model without senses: --config.projection.anchors=words"
        )
    world = worlds.build(config, workdir)
    if world.dictionary is None or world.corpus is None:
        raise ValueError(
            "The projection needs the run's text files and a dictionary: set "
            "--config.data.source=text:DIR and --config.data.dictionaries=DIR"
        )
    target, *sources = model.languages
    encoder = encoder_of(objective, model.tokenizer)
    maps: dict[str, dict[str, np.ndarray]] = {name: {} for name in settings.methods.split(",")}
    figures: dict[str, float] = {}
    for source in sources:
        pairs = _pairs(world, source, target, settings.identical)
        collected = []
        for side, language in enumerate((source, target)):
            index = {word: row for row, word in enumerate(dict.fromkeys(p[side] for p in pairs))}
            lines = islice(world.corpus.lines(language), settings.lines)
            logging.info("Anchors of %s words (%s)", f"{len(index):,}", language)
            collected.append(
                (index, *anchors.collect(encoder, model.variables, lines, language, index))
            )
        (left, x, seen_x), (right, y, seen_y) = collected
        rows = np.array([(left[a], right[b]) for a, b in pairs], np.int32).reshape(-1, 2)
        rows = rows[(seen_x[rows[:, 0]] > 0) & (seen_y[rows[:, 1]] > 0)]
        logging.info("%s pairs of anchors for %s-%s", f"{len(rows):,}", source, target)
        figures[f"projected/{source}-{target}/pairs"] = float(len(rows))
        # Of each layer what its map's blocks are fitted to.
        layers = [[(x[:, layer], y[:, layer], rows)] for layer in range(x.shape[1])]
        if settings.anchors == "senses":
            layers[-1] = list(_by_senses(objective, model, pairs))
        for name, found in maps.items():
            fit = METHODS[name].fit
            found[source] = np.stack([
                linalg.block_diag(*(fit(*block).source_map for block in blocks))
                for blocks in layers
            ])  # fmt: skip
    sample = world.sample()
    for name, found in maps.items():
        numbers = {model.tokenizer.language_id(x): matrix for x, matrix in found.items()}
        for evaluator in evaluators.build(
            config,
            Projected(objective, numbers),
            world.tokenizer,
            world.folders,
            sample,
            only=("retrieval", "bli"),
        ):
            for metric, value in evaluator.run(model.variables):
                figures[f"projected/{name}/{metric}"] = float(value)
    projected.save(os.path.join(workdir, projected.FILE), maps, settings.apply)
    path = os.path.join(workdir, "results.json")
    with open(path, encoding="utf-8") as file:
        before = json.load(file)
    atomic.write_json(path, dict(sorted({**before, **figures}.items())))
    html.build(workdir, config.report.compare_with)
    tables.print_projection(before, figures)
    return True


def _by_senses(
    objective: Objective, model: api.Model, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Centers of both languages, and their pairs, of each direction that has senses."""
    words = model.tokenizer.vocabulary.words
    ids = np.array([[words.get(a, -1), words.get(b, -1)] for a, b in pairs]).reshape(-1, 2)
    # A word of both languages has the same senses in both: nothing is to be learned of it.
    ids = ids[(ids >= 0).all(1) & (ids[:, 0] != ids[:, 1])]
    for direction in objective.directions:
        x, y = anchors.centers(model.variables["senses"][direction], ids)
        logging.info("%s pairs of senses (%s)", f"{len(x):,}", direction)
        rows = np.repeat(np.arange(len(x), dtype=np.int32)[:, None], 2, axis=1)
        yield x, y, rows


def _pairs(world: worlds.World, source: str, target: str, identical: bool) -> list[tuple[str, str]]:
    """The dictionary's pairs, and the words that stand in both languages' text."""
    pairs = dict.fromkeys((a, b) for a, b in world.dictionary.pairs(source, target))
    if identical:
        both = set(world.frequent[source]) & set(world.frequent[target])
        pairs.update(dict.fromkeys((word, word) for word in sorted(both)))
    return list(pairs)
