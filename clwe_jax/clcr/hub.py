"""A hub: several languages in the space of one target, each by a CLCR run of its own."""

from __future__ import annotations

import itertools
from typing import Iterator, Mapping

from absl import logging
import jax
import numpy as np

from clwe_jax import options
from clwe_jax.align import pivots
from clwe_jax.align.pivots import Mapped
from clwe_jax.clcr import data, steps
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.clcr_models import ClcrModels, Space
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.options.clcr import ClcrRun


def space(config: ClcrRun) -> Mapping[str, Space]:
    """The target's language -> its space in the runs of `config.clcr.hub`; {} without them.

    Raises:
      FileNotFoundError: a run that is not finished.
      ValueError: runs of another target, of the same source, or whose target spaces differ.
    """
    source, target = options.languages(config)
    spaces: dict[str, Space] = {}
    first_model = None
    mapped_languages = [source]
    for folder in data.hub_folders(config.clcr):
        model = encoders.of_folder(folder)
        target_of_run, *codes = model.models
        if target_of_run != target:
            raise ValueError(
                f"config.clcr.hub: {folder} maps to {target_of_run!r}, and this run to {target!r}: give runs of "
                "the same target"
            )
        if set(codes) & set(mapped_languages):
            raise ValueError(
                f"config.clcr.hub: {folder} maps {', '.join(codes)}, and another run, or this one, "
                "does so too: give each language once"
            )
        mapped_languages += codes
        mapped = model.models[target].projection
        space_of_run = Space(tuple(mapped.layers), mapped.whitening)
        first_model = first_model or model.models[target]
        is_same = _same(spaces.get(target, space_of_run), space_of_run) and _same_parameters(
            first_model, model.models[target]
        )
        if not is_same:
            raise ValueError(
                f"config.clcr.hub: {folder} has another space of {target!r} than the first run: train it "
                f"again with --config.clcr.hub={data.hub_folders(config.clcr)[0]}"
            )
        spaces.setdefault(target, space_of_run)
    return spaces


def _same(first: Space, second: Space) -> bool:
    pairs = zip(first.whitening, second.whitening, strict=True)
    return first.layers == second.layers and all(np.array_equal(a, b) for a, b in pairs)


def _same_parameters(first: LanguageModel, second: LanguageModel) -> bool:
    pairs = zip(
        *(jax.tree.leaves(model.variables["params"]) for model in (first, second)), strict=True
    )
    return all(np.array_equal(a, b) for a, b in pairs)


def hub_figures(config: ClcrRun, model: ClcrModels) -> Iterator[tuple[str, float]]:
    """Yields 'clcr/hub/{a}-{b}/{figure}': alignment of every pair of languages in the hub's space.

    Args:
      config: the run's, with gold links.
      model: the finished run, with the languages of `config.clcr.hub`.
    """
    encoder = model.encoder()
    target, *sources = model.models
    for pair in (*((x, target) for x in sources), *itertools.combinations(sources, 2)):
        rows = data.gold_rows(config, pair)
        if not rows:
            logging.warning("config.clcr.gold has no links of %s and %s", *pair)
            continue
        sides = []
        for side, language in enumerate(pair):
            vectors = encoder.of_words([row[side] for row in rows], language)
            # In the hub's space a word's own vector and the mapped one are the same.
            sides.append([Mapped(x[:, -1], x[:, -1]) for x in vectors])
        links = [pivots.links(pivots.symmetric_distances(a, b)) for a, b in zip(*sides)]
        for name, value in steps.link_scores(links, rows).items():
            yield f"clcr/hub/{'-'.join(pair)}/{name}", value
