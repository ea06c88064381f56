"""How an encoder stands beside another: weights, chosen on verses that the second one's training has left out,
and the mean of each language's sentences, of verses that it has read."""

from __future__ import annotations

import functools
import itertools
import os
import time
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

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


class Beside(NamedTuple):
    """What `ConcatenatedEncoder` needs of both encoders.

    Attributes:
      by_pair: two languages -> weights, as of `choose_weights`.
      means: language -> the mean of the first encoder's sentence vectors, float32 [layers, D]; of every
        language or of none.
    """

    by_pair: dict[tuple[str, str], np.ndarray]
    means: dict[str, np.ndarray]


def of_run(first: LoadedEncoder, second: LoadedEncoder, names: Sequence[str]) -> Beside:
    """The weights of a run beside another encoder, for the run's first language with each other one.

    They are chosen on the verses that the run has left out, and kept in its folder.

    Args:
      names: of both, as config.encoder has them.

    Returns:
      nothing where the run has left out no verses; no means where a language has none.
    """
    kind, _, workdir = names[1].partition(":")
    config = options.read_config(workdir) if kind == "run" else None
    held_out = getattr(getattr(config, "data", None), "held_out", "")
    if not held_out:
        return Beside({}, {})
    place = options.resolve_path(config.data.pairs, workdir)
    if not os.path.exists(place):
        logging.warning("%s is missing: the weight of %s is %.2g", place, workdir, BESIDE)
        return Beside({}, {})
    hub = options.languages(config)[0]
    languages = [x for x in second.languages if x in first.languages]
    tested, learned = (
        {
            (x.source, x.target): x
            for x in parallel.test_pairs(f"{place}@{part}", languages, "data.pairs")
            if hub in (x.source, x.target)
        }
        for part in (held_out, f"-{held_out}")
    )
    encoders = first.encoder(), second.encoder()
    where = names[0].partition(":")[2]
    folder = encoder_folder(where)
    name = os.path.basename(os.path.normpath(folder))
    arrays = stamps.stamps(itertools.chain.from_iterable(map(_arrays, names)))

    def keep_list(stem: str, make: Callable[[], list], files: Bitext, **made_with: Any) -> list:
        return CachedResult(
            os.path.join(workdir, _KEPT, name, f"{stem}.json"),
            {"encoder": name + where[len(folder) :], "held_out": held_out, **made_with},
            make,
            stamps=arrays | stamps.stamps(files.paths),
            required=False,
        ).result()

    means: dict[str, np.ndarray] = {}
    # Centred vectors have other lengths: all languages have a mean, or none.
    if set(languages) == set().union(*learned):
        for files in learned.values():
            for language in {files.source, files.target} - means.keys():  # the hub is in each pair
                take_mean = functools.partial(_mean, encoders[0], files, language)
                mean = keep_list(f"mean-{language}", take_mean, files)
                means[language] = np.array(mean, np.float32)
        if not all(map(len, means.values())):
            means = {}
    by_pair: dict[tuple[str, str], np.ndarray] = {}
    for pair, files in tested.items():
        choose = functools.partial(_choose, *encoders, files, means)
        made_with = {"tried": _TRIED, "centred": bool(means)}
        weights = keep_list(f"weights-{files.name}", choose, files, **made_with)
        if weights:
            by_pair[pair] = np.array(weights, np.float32)
    if means and set().union(*by_pair) != set(languages):
        return Beside({}, {})  # a language has too few verses
    return Beside(by_pair, means)


def _choose(
    first: Encoder, second: Encoder, files: Bitext, means: Mapping[str, np.ndarray]
) -> list[float]:
    """`choose_weights` on files; [] where there are too few verses."""
    languages = files.source, files.target
    weights = choose_weights(first, second, languages, parallel.read(files), means)
    return [] if weights is None else [round(float(weight), 4) for weight in weights]


def _mean(encoder: Encoder, files: Bitext, language: str) -> list[list[float]]:
    """The mean of the vectors of some verses of a language, [layers, D].

    [] for an encoder with one vector of a sentence, whose words have other vectors.
    """
    pairs = parallel.read(files)
    texts = pairs.source if language == files.source else pairs.target
    every = max(1, len(texts) // _MAX_VERSES)
    vectors = encoder.sentences(texts[::every][:_MAX_VERSES], language)
    return np.round(vectors.mean(0), 5).tolist() if vectors.shape[1] == encoder.layers else []


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
    first: Encoder,
    second: Encoder,
    languages: tuple[str, str],
    pairs: SentencePairs,
    means: Mapping[str, np.ndarray] = {},
) -> np.ndarray | None:
    """The weights by which most verses find their translation by CSLS, in both directions.

    Of those within a standard error of the best one (the rule of Breiman et al. 1984, section 3.4.3),
    the weight nearest to `BESIDE` is taken.

    Args:
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
    found = np.array(
        [
            _accuracies(ConcatenatedEncoder(*views, weight, means=means), own, beside, languages)
            for weight in _TRIED
        ]
    )
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
    both: ConcatenatedEncoder,
    own: Sequence[np.ndarray],
    beside: Sequence[np.ndarray],
    languages: Sequence[str],
) -> np.ndarray:
    """The shares of verses that find their translation: of each layer, and of the mean of the last four."""
    x, y = (both.join(*parts) for parts in zip(own, beside, languages))
    shares = []
    for layer in (*range(x.shape[1]), MEAN_LAST4):
        sides = (np.asarray(select_layer(vectors, layer)) for vectors in (x, y))
        [_, nearest] = both_sides.best(*sides, (_NEIGHBOURS,))
        shares.append(np.mean([rows == np.arange(len(x)) for rows in nearest]))
    return np.array(shares)
