"""Weights of an encoder beside another, chosen on verses that the second one's training has left out."""

from __future__ import annotations

import functools
import itertools
import os
import time
from typing import Iterator, Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.align import both_sides
from clwe_jax.cached import CachedResult
from clwe_jax.encoders.concatenated import ConcatenatedEncoder
from clwe_jax.encoders.encode import MEAN_LAST4, select_layer
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.options.transfer import BESIDE, encoder_folder
from clwe_jax.text import stamps
from clwe_jax.text.corpus import parallel
from clwe_jax.text.corpus.parallel import SentencePairs
from clwe_jax.text.corpus.parallel_files import Bitext
from clwe_jax.types import Encoder

_TRIED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
_MAX_VERSES = 300  # the shortest ones: they are the hardest and the most like other sentences
_MIN_VERSES = 30
_NEIGHBOURS = 10
_KEPT = "beside"  # folder of a run for the weights that were chosen for it beside other encoders
_PAGES = (".json", ".html", ".txt", ".log")  # they change when a run is only measured again


def of_run(
    first: LoadedEncoder, second: LoadedEncoder, names: Sequence[str]
) -> dict[tuple[str, str], np.ndarray]:
    """The weights of a run beside another encoder, for the run's first language with each other one.

    They are chosen on the verses that the run has left out, and kept in its folder.

    Args:
      names: of both, as config.encoder has them.

    Returns:
      two languages -> weights, as of `choose_weights`; {} where the run has left out no verses.
    """
    kind, _, workdir = names[1].partition(":")
    config = options.read_config(workdir) if kind == "run" else None
    if not getattr(getattr(config, "data", None), "held_out", ""):
        return {}
    place = options.resolve_path(config.data.pairs, workdir)
    if not os.path.exists(place):
        logging.warning("%s is missing: the weight of %s is %.2g", place, workdir, BESIDE)
        return {}
    hub = options.languages(config)[0]
    languages = [x for x in second.languages if x in first.languages]
    encoders = first.encoder(), second.encoder()
    where = names[0].partition(":")[2]
    folder = encoder_folder(where)
    name = os.path.basename(os.path.normpath(folder))
    arrays = stamps.stamps(itertools.chain.from_iterable(map(_arrays, names)))
    chosen: dict[tuple[str, str], np.ndarray] = {}
    for files in parallel.test_pairs(f"{place}@{config.data.held_out}", languages, "data.pairs"):
        if hub not in (files.source, files.target):
            continue
        weights = CachedResult(
            os.path.join(workdir, _KEPT, name, f"{files.name}.json"),
            {
                "encoder": name + where[len(folder) :],
                "held_out": config.data.held_out,
                "tried": _TRIED,
            },
            functools.partial(_choose, *encoders, files),
            stamps=arrays | stamps.stamps(files.paths),
            required=False,
        ).result()
        if weights:
            chosen[files.source, files.target] = np.array(weights, np.float32)
    return chosen


def _choose(first: Encoder, second: Encoder, files: Bitext) -> list[float]:
    """`choose_weights` on files, as JSON; [] where there are too few verses."""
    weights = choose_weights(first, second, (files.source, files.target), parallel.read(files))
    return [] if weights is None else [round(float(weight), 4) for weight in weights]


def _arrays(encoder: str) -> Iterator[str]:
    """The files that hold an encoder's parameters or vectors."""
    kind, _, where = encoder.partition(":")
    named = options.named_files(where) if kind == "vec" else [("", encoder_folder(where))]
    for _, place in named:
        if os.path.isfile(place):
            yield place
        for folder, _, files in os.walk(place):
            yield from (os.path.join(folder, x) for x in files if not x.endswith(_PAGES))


def choose_weights(
    first: Encoder, second: Encoder, languages: tuple[str, str], pairs: SentencePairs
) -> np.ndarray | None:
    """The weights by which most verses find their translation by CSLS, in both directions.

    Of those within a standard error of the best one (the rule of Breiman et al. 1984, section 3.4.3),
    the weight nearest to `BESIDE` is taken.

    Args:
      first, second: see `ConcatenatedEncoder`.
      languages: of the two sides.
      pairs: verses that neither encoder was trained on.

    Returns:
      float32 [layers + 1]: of each layer of the first encoder, and of the mean of its last four; None
      where there are too few verses.
    """
    started = time.monotonic()
    order = sorted(range(len(pairs.source)), key=lambda n: len(pairs.source[n] + pairs.target[n]))
    if len(order) < _MIN_VERSES:
        return None
    sides = [[some[n] for n in order[:_MAX_VERSES]] for some in (pairs.source, pairs.target)]
    views = [x.pairwise_space(*languages) for x in (first, second)]
    own, beside = (
        [view.sentences(texts, language) for texts, language in zip(sides, languages)]
        for view in views
    )
    found = np.array([_accuracies(views, own, beside, weight) for weight in _TRIED])
    best = found.max(0)
    errors = np.sqrt(best * (1 - best) / (2 * len(sides[0])))
    distances = np.abs(np.log(np.array(_TRIED) / BESIDE))[:, None]
    chosen = np.where(found >= best - errors, distances, np.inf).argmin(0)
    weights = np.array(_TRIED, np.float32)[chosen]
    # An encoder with one vector of a sentence has more layers for words.
    weights = np.pad(weights, (first.layers + 1 - len(weights), 0), "edge")
    logging.info(
        "%s-%s: weight %.2g of the second encoder, %.2g beside the last layer, chosen on %d verses, %.0f s",
        *languages,
        weights[-1],
        weights[-2],
        len(sides[0]),
        time.monotonic() - started,
    )
    return weights


def _accuracies(
    views: Sequence[Encoder], own: Sequence[np.ndarray], beside: Sequence[np.ndarray], weight: float
) -> np.ndarray:
    """The shares of verses that find their translation: of each layer, and of the mean of the last four."""
    both = ConcatenatedEncoder(*views, weight)
    x, y = (both.join(*parts) for parts in zip(own, beside))
    shares = []
    for layer in (*range(x.shape[1]), MEAN_LAST4):
        sides = (np.asarray(select_layer(vectors, layer)) for vectors in (x, y))
        [_, nearest] = both_sides.best(*sides, (_NEIGHBOURS,))
        shares.append(np.mean([rows == np.arange(len(x)) for rows in nearest]))
    return np.array(shares)
