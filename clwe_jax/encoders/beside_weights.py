"""How a run stands beside another encoder: weights, chosen on verses that its training has left out, and the
mean of each language's sentences, of verses that it has read; without verses, weights by its text."""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.cached import CachedResult
from clwe_jax.encoders.concatenated import unit_rows
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS, select_layer
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.options.transfer import BESIDE, encoder_files, encoder_folder
from clwe_jax.text import stamps
from clwe_jax.text.corpus import corpora, parallel
from clwe_jax.text.corpus.parallel import SentencePairs
from clwe_jax.text.corpus.parallel_files import Bitext
from clwe_jax.text.spread import spread

_TRIED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
_MAX_VERSES = 300  # the shortest ones: they are the hardest and the most like other sentences
_MIN_VERSES = 30
_NEIGHBOURS = 10
_SHARE = 0.25  # of the spread of the encoder's cosines, for the run's; on verses .2 to .3 are level
_TEXTS = 300  # sentences of a language
_MOST = 4 << 20  # bytes of its text from which they are taken
_LENGTHS = range(30, 161)  # characters of a sentence
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


class _Kept(NamedTuple):
    """Arrays that a run's folder keeps of it beside another encoder."""

    folder: str
    made_with: dict[str, str]
    stamps: dict[str, str]  # of both encoders

    def result(
        self,
        stem: str,
        make: Callable[[], np.ndarray | None],
        paths: Iterable[str],
        **made_with: Any,
    ) -> np.ndarray:
        """The kept array, or a new one from the files of `paths`; an empty one where none can be made."""
        cached_result = CachedResult(
            os.path.join(self.folder, f"{stem}.json"),
            self.made_with | made_with,
            lambda: [] if (array := make()) is None else np.round(array.astype(float), 5).tolist(),
            stamps=self.stamps | stamps.stamps(paths),
            required=False,
        )
        return np.array(cached_result.result(), np.float32)


def of_run(first: LoadedEncoder, second: LoadedEncoder, names: Sequence[str]) -> Beside:
    """The weights of a run beside another encoder, for the run's first language with each other one.

    They are chosen on the verses that the run has left out, or else follow from sentences of its text. The
    run's folder keeps them.

    Args:
      names: of both, as config.encoder has them.

    Returns:
      nothing where the run has neither; no means where a language has no verses.
    """
    kind, _, workdir = names[1].partition(":")
    config = options.read_config(workdir) if kind == "run" else None
    data = getattr(config, "data", None)
    held_out = getattr(data, "held_out", "")
    source = getattr(data, "source", "")
    if not held_out and not source.startswith("text:"):
        return Beside({}, {})
    text_path = data.pairs if held_out else source.removeprefix("text:")
    place = options.resolve_path(text_path, workdir)
    if not os.path.exists(place):
        logging.warning("%s is missing: the weight of %s is %.2g", place, workdir, BESIDE)
        return Beside({}, {})
    address = names[0].partition(":")[2]
    folder = encoder_folder(address)
    name = os.path.basename(os.path.normpath(folder))
    own = (path for path in encoder_files(names[1]) if not path.endswith(_PAGES))
    store = _Kept(
        os.path.join(workdir, _KEPT, name),
        {"encoder": name + address[len(folder) :], "held_out": held_out},
        stamps.stamps(itertools.chain(encoder_files(names[0]), own)),
    )
    encoders = first.encoder(), second.encoder()
    hub = options.languages(config)[0]
    languages = [x for x in second.languages if x in first.languages]
    if held_out:
        return _by_verses(encoders, hub, languages, place, held_out, store)
    return Beside(_by_text(encoders, hub, languages, place, store), {})


def _by_text(
    encoders: tuple[Encoder, Encoder], hub: str, languages: Sequence[str], place: str, kept: _Kept
) -> dict[tuple[str, str], np.ndarray]:
    """The weights by sentences of the run's text, of each language that has some there, with the hub."""
    read_some = functools.cache(_sentences)  # the hub's are in each pair
    files = {x: corpora.files_of(place, x) for x in languages}
    by_pair: dict[tuple[str, str], np.ndarray] = {}
    for language in [x for x in languages if x != hub and files[x] and files.get(hub)]:
        pair = language, hub
        weights = kept.result(
            f"text-{language}-{hub}",
            lambda: spread_weights(*encoders, pair, [read_some(place, x) for x in pair]),
            files[language] + files[hub],
            share=_SHARE,
        )
        if len(weights):
            by_pair[pair] = weights
    return by_pair


def _by_verses(
    encoders: tuple[Encoder, Encoder],
    hub: str,
    languages: Sequence[str],
    place: str,
    held_out: str,
    kept: _Kept,
) -> Beside:
    """The weights by the verses that are held out, and the means of verses that the run has read."""
    try:
        test_files, train_files = (
            {
                (x.source, x.target): x
                for x in parallel.test_pairs(f"{place}@{part}", languages, "data.pairs")
                if hub in (x.source, x.target)
            }
            for part in (held_out, f"-{held_out}")
        )
    except ValueError as error:  # the text of a run of an earlier release need not have verses
        logging.warning("The weight is %.2g: %s", BESIDE, error)
        return Beside({}, {})
    means: dict[str, np.ndarray] = {}
    # Centred vectors have other lengths: all languages have a mean, or none.
    if set(languages) == set().union(*train_files):
        for files in train_files.values():
            for language in {files.source, files.target} - means.keys():  # the hub is in each pair
                take_mean = functools.partial(_mean, encoders[0], files, language)
                means[language] = kept.result(f"mean-{language}", take_mean, files.paths)
        if not all(map(len, means.values())):
            means = {}
    by_pair: dict[tuple[str, str], np.ndarray] = {}
    for pair, files in test_files.items():
        weights = kept.result(
            f"weights-{files.name}",
            lambda: choose_weights(*encoders, pair, parallel.read(files), means),
            files.paths,
            tried=_TRIED,
            centred=bool(means),
        )
        if len(weights):
            by_pair[pair] = weights
    if means and set().union(*by_pair) != set(languages):
        return Beside({}, {})  # a language has too few verses
    return Beside(by_pair, means)


def _sentences(place: str, language: str) -> list[str]:
    """Some sentences of a language's text, evenly from the first to the last one."""
    lines = corpora.TextCorpus(place, [language]).lines(language, _MOST)
    return spread([x for x in lines if len(x) in _LENGTHS], _TEXTS)


def _mean(encoder: Encoder, files: Bitext, language: str) -> np.ndarray | None:
    """The mean of the vectors of some verses of a language, [layers, D].

    None for an encoder with one vector of a sentence, whose words have other vectors.
    """
    pairs = parallel.read(files)
    texts = pairs.source if language == files.source else pairs.target
    vectors = encoder.sentences(texts[:: max(1, len(texts) // _MAX_VERSES)][:_MAX_VERSES], language)
    return vectors.mean(0) if vectors.shape[1] == encoder.layers else None


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
    order = sorted(range(len(pairs.source)), key=lambda n: len(pairs.source[n] + pairs.target[n]))
    if len(order) < _MIN_VERSES:
        return None
    sides = [[texts[n] for n in order[:_MAX_VERSES]] for texts in (pairs.source, pairs.target)]
    first_cosines, beside = _cosines(first, second, languages, sides, means)
    accuracies = np.stack([_accuracies(cosines, beside) for cosines in first_cosines], 1)
    best = accuracies.max(0)
    errors = np.sqrt(best * (1 - best) / (2 * len(sides[0])))
    distances = np.abs(np.log(np.array(_TRIED) / BESIDE))[:, None]
    weight_numbers = np.where(accuracies >= best - errors, distances, np.inf).argmin(0)
    weights = np.array(_TRIED, np.float32)[weight_numbers]
    return _pad(weights, first, languages, f"chosen on {len(sides[0])} verses")


def spread_weights(
    first: Encoder, second: Encoder, languages: tuple[str, str], sides: Sequence[Sequence[str]]
) -> np.ndarray | None:
    """The weights by which the second encoder's cosines vary a quarter as much as the first one's.

    Cosines of sentences that do not translate each other are an encoder's noise. Where they all lie near each
    other, as in the last layer of a contrastive encoder, a fixed weight of the second one would drown it.

    Args:
      sides: sentences of both languages.

    Returns:
      as `choose_weights`; None where there are too few sentences, or the second encoder knows none of them.
    """
    if min(map(len, sides)) < _MIN_VERSES:
        return None
    layers, beside = _cosines(first, second, languages, sides)
    if not beside.any():
        return None
    weights = np.array([_SHARE * cosines.std() / beside.std() for cosines in layers], np.float32)
    return _pad(weights, first, languages, f"by {len(sides[0])} sentences of the text")


def _cosines(
    first: Encoder,
    second: Encoder,
    languages: tuple[str, str],
    sides: Sequence[Sequence[str]],
    means: Mapping[str, np.ndarray] = {},
) -> tuple[list[np.ndarray], np.ndarray]:
    """The cosines [N, M] of all sentences of one side with all of the other: of each layer of the first encoder
    and of the mean of its last four, and those of the second encoder."""
    first_views, beside = (
        [view.sentences(texts, language) for texts, language in zip(sides, languages)]
        for view in (x.pairwise_space(*languages) for x in (first, second))
    )
    first_views = [side - means.get(language, 0) for side, language in zip(first_views, languages)]

    def compare(vectors: Sequence[np.ndarray], layer: int | str) -> np.ndarray:
        x, y = (unit_rows(np.asarray(select_layer(side, layer))) for side in vectors)
        return x @ y.T

    layers = (*range(first_views[0].shape[1]), MEAN_OF_LAST_LAYERS)
    return [compare(first_views, layer) for layer in layers], compare(beside, MEAN_OF_LAST_LAYERS)


def _pad(weights: np.ndarray, first: Encoder, languages: Sequence[str], how: str) -> np.ndarray:
    """The weights [layers + 1] of an encoder that may have more layers for words than for a sentence; logged."""
    logging.info(
        "%s-%s: weight %.2g of the second encoder, %.2g beside the last layer, %s",
        *languages,
        weights[-1],
        weights[-2],
        how,
    )
    return np.pad(weights, (first.layers + 1 - len(weights), 0), "edge")


def _accuracies(first_cosines: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """The shares of verses that find their translation by CSLS, in both directions: by each weight of `_TRIED`."""
    places = np.arange(len(first_cosines))
    shares = []
    for weight in _TRIED:
        cosines = first_cosines + weight * beside
        is_right = []
        for scores in (cosines, cosines.T):
            near = np.sort(scores, 0)[-_NEIGHBOURS:].mean(0)
            is_right.append((2 * scores - near).argmax(1) == places)
        shares.append(np.mean(is_right))
    return np.array(shares)
