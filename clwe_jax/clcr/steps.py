"""The steps of CLCR on word vectors: transform, extract and reorder, and their measures."""

from __future__ import annotations

import dataclasses
from typing import Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax.align import attention_matching, pivots, predictors, reorder, whitening
from clwe_jax.align.attention_matching import AttentionMatching, Match
from clwe_jax.align.predictors import Classifier, TrainedClassifier
from clwe_jax.align.sentences import WordPieces, TableSentences
from clwe_jax.clcr.vectors import Views
from clwe_jax.evaluate.word_alignment import LinkCounts, WordAligner
from clwe_jax.text.corpus.alignment_files import Linked

MAIN = "annealed"  # the row whose map is kept
TUNED = "tuned"  # the row of the main map after the fine-tuning of the encoders
_BETAS: Mapping[str, float] = {"flat": 0.0, "slow": 0.001}  # other rows of Table 1 -> their beta
ROWS = ("regression", *_BETAS, MAIN)
THRESHOLDS = (0.2, 0.5)  # of the probability of a pivot (Table 6)
BEAMS = (1, 10)
RECALL = 0.6  # at which the precision of pivots is a figure
_ONE_WORD = 1e-6  # temperature at which attention chooses one word
# below which representations have collapsed
_MIN_VARIANCE = 0.01
_MIN_RANK = 2.0
_CLEAR = 0.2  # a probability below it, or above 1 minus it, is unambiguous
NO_PIVOT = (
    "no pivot was found: no pair of words is closer than config.clcr.threshold. Raise it, or "
    "train the encoders and T for more steps"
)


class Maps(NamedTuple):
    """T from the source to the target, and the reverse."""

    there: Match
    back: Match


def fit_maps(name: str, sides: Sequence[WordPieces], options: AttentionMatching, seed: int) -> Maps:
    """The maps of a row of Table 1.

    Args:
      name: one of `ROWS`.
      sides: training sentences of the source and of the target.
      options: the training of the main row.
      seed: of parameters and batches.
    """
    source, target = (side.table for side in sides)
    if name == "regression":
        return Maps(
            attention_matching.regression(source, target),
            attention_matching.regression(target, source),
        )
    if name in _BETAS:
        options = dataclasses.replace(options, beta=_BETAS[name])
    return Maps(options.fit(source, target, seed), options.fit(target, source, seed + 1))


def distances(views: Views, others: int = 0, seed: int = 0) -> Iterator[np.ndarray]:
    """Yields the symmetric distances of all words of each sentence pair, [M, N].

    Args:
      views: the words in both spaces.
      others: `clcr.contrast`: the number of other sentences with whose distances these are compared
        (`pivots.margin_distances`); 0: the plain distances.
      seed: of their choice.
    """
    source, target = views.in_both_spaces
    near = pivots.mean_distance_to_other_sentences(source, target, others, seed) if others else None
    for place, pair in enumerate(zip(source, target)):
        pair_distances = pivots.symmetric_distances(*pair)
        yield pivots.margin_distances(pair_distances, *near[place]) if near else pair_distances


def mean_variance(views: Views) -> float:
    """The variance of a dimension over the words of a side, mean over the dimensions and both sides."""
    return float(np.mean([np.diag(whitening.moments(x.words)[1]).mean() for x in views.unmapped]))


def link_scores(links: Sequence[np.ndarray], rows: Sequence[Linked]) -> dict[str, float]:
    """Precision, recall, F1 and alignment error rate of links."""
    counts = LinkCounts()
    for pair_links, row in zip(links, rows):
        counts.add(pair_links, row)
    return counts.figures()


def map_figures(
    name: str,
    maps: Maps,
    sides: Sequence[WordPieces],
    views: Views,
    gold: Sequence[Linked],
    others: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """The figures of a row of Table 1 on test sentences: distances and, with gold links, F1.

    'distance' is at the map's own temperature, 'nearest' with one-hot attention for all maps; both are
    of pieces, F1 is of words.

    Args:
      name: of the row.
      maps, sides: the maps, and the sentences of the source and of the target.
      views: the words of the sentences by these maps.
      gold: the sentences with their gold links; () without links.
    """
    source, target = (side.table for side in sides)
    figures = {}
    ahead = maps.there.distances(source, target)
    back = maps.back.distances(target, source)
    figures[f"clcr/distance/{name}"], figures[f"clcr/cosine/{name}"] = ahead
    figures[f"clcr/distance_back/{name}"], figures[f"clcr/cosine_back/{name}"] = back
    # The temperatures of the maps differ; with attention to one word the maps can be compared.
    one_word = dataclasses.replace(maps.there, temperature=_ONE_WORD)
    figures[f"clcr/nearest/{name}"] = one_word.distances(source, target)[0]
    if gold:
        links = [pivots.links(x) for x in distances(views, others, seed)]
        figures[f"clcr/f1/{name}"] = link_scores(links, gold)["f1"]
    return figures


def aligner_figures(views: Views, rows: Sequence[Linked]) -> dict[str, float]:
    """F1 of other aligners on the mapped source and the target: SimAlign's and awesome-align's."""
    mapped, target = (views.common(side) for side in (0, 1))
    figures = {}
    for method in ("mutual_argmax", "itermax", "softmax"):
        # Inner products over sqrt(D), as in T's attention; cosines do not read the temperature.
        aligner = WordAligner(method=method, temperature=float(np.sqrt(target.vectors.shape[1])))
        links = [aligner.links(mapped.of(k), target.of(k)) for k in range(len(rows))]
        figures[f"clcr/f1/{method}"] = link_scores(links, rows)["f1"]
    return figures


class Curve(NamedTuple):
    """Pivots by their threshold, as far as all mutually nearest words.

    Attributes:
      thresholds: rising, float [N].
      precision, recall: of the pivots below each threshold, float [N].
    """

    thresholds: np.ndarray
    precision: np.ndarray
    recall: np.ndarray

    def precision_at(self, recall: float) -> float | None:
        """The precision at the least threshold of this recall; None where none has it."""
        reached = np.flatnonzero(self.recall >= recall)
        return float(self.precision[reached[0]]) if len(reached) else None


def pivot_curve(distances: Sequence[np.ndarray], rows: Sequence[Linked]) -> Curve:
    """Precision and recall of pivots at every threshold.

    Args:
      distances: distances of each sentence pair, [M, N].
      rows: the sentences with their gold links.
    """
    values = []
    possible = []
    sure = []
    # All mutually nearest words: a threshold only takes the nearest ones of them.
    for x, row in zip(distances, rows):
        for link in map(tuple, np.argwhere(pivots.links(x)).tolist()):
            values.append(x[link])
            possible.append(link in row.possible)
            sure.append(link in row.sure)
    order = np.argsort(values, kind="stable")
    right, hit = (np.cumsum(np.array(x, float)[order]) for x in (possible, sure))
    sure_count = max(sum(len(row.sure) for row in rows), 1)
    return Curve(np.array(values)[order], right / np.arange(1, len(order) + 1), hit / sure_count)


def variance_and_rank(vectors: np.ndarray) -> tuple[float, float]:
    """The mean variance of a dimension, and the effective rank: exp of the entropy of the shares of
    the principal variances. Both fall towards 0 and 1 where representations collapse."""
    variances = np.linalg.eigvalsh(whitening.moments(vectors)[1]).clip(0)
    shares = variances / max(variances.sum(), 1e-12)
    shares = shares[shares > 0]
    return float(variances.mean()), float(np.exp(-(shares * np.log(shares)).sum()))


def has_collapsed(variance: float, rank: float) -> bool:
    """Whether whitened vectors, or their images, are nearly one vector or lie on a line."""
    return variance < _MIN_VARIANCE or rank < _MIN_RANK


def pivot_labels(links: Sequence[np.ndarray], side: int) -> np.ndarray:
    """Whether each word of a side is a pivot, int [words]."""
    return np.concatenate([x.any(1 - side) for x in links]).astype(int)


class Extraction(NamedTuple):
    """A language's predictors of pivots: of the labels as they are, and of confident labels."""

    plain: TrainedClassifier
    confident: TrainedClassifier


def train_extraction(x: np.ndarray, gold: np.ndarray, options: Classifier, seed: int) -> Extraction:
    """Trains both predictors.

    Args:
      x: words in the common space, [words, D].
      gold: whether they are pivots, int [words].
      options, seed: of the training.
    """
    plain = options.fit(x, gold, seed=seed)
    # Importance reweighting (Liu and Tao 2015) needs P(label|x), which the first predictor gives.
    weights = predictors.confident_weights(plain.probabilities(x)[:, 1], gold)
    return Extraction(plain, options.fit(x, gold, weights=weights, seed=seed))


def pivot_figures(
    extraction: Extraction, x: np.ndarray, gold: np.ndarray, language: str
) -> Iterator[tuple[str, float]]:
    """Yields the figures of Table 2 for both predictors and thresholds, and the clear share."""
    for name, predictor in extraction._asdict().items():
        p = predictor.probabilities(x)[:, 1]
        path = f"clcr/extract/{language}/{name}"
        yield f"{path}/clear", float(((p < _CLEAR) | (p > 1 - _CLEAR)).mean())
        for threshold in THRESHOLDS:
            predicted = p >= threshold
            true = gold == 1
            hits = float((predicted & true).sum())
            yield f"{path}/{threshold}/accuracy", float((predicted == true).mean())
            yield f"{path}/{threshold}/precision", hits / max(predicted.sum(), 1)
            yield f"{path}/{threshold}/recall", hits / max(true.sum(), 1)


class Order(NamedTuple):
    """The words of a sentence whose order is predicted.

    Attributes:
      places: their places in their own sentence, int [n], rising.
      ranks: their ranks in the other sentence, int [n].
    """

    places: np.ndarray
    ranks: np.ndarray

    @property
    def gold(self) -> np.ndarray:
        """The order of the other sentence, int [n]: the word at each place."""
        return np.argsort(self.ranks)


def orders(links: Sequence[np.ndarray], side: int = 0) -> list[Order]:
    """The orders of the linked words of one side in the other.

    Args:
      links: of each sentence pair, bool [M, N].
      side: 0, the words of the source in the target's order; 1, the reverse.
    """
    return [Order(*pivots.orders(x.T if side else x)) for x in links]


def gold_links(rows: Sequence[Linked]) -> list[np.ndarray]:
    """The sure links whose two words have no other sure link, bool [M, N] each."""
    unique = []
    for row in rows:
        links = np.zeros((len(row.source), len(row.target)), bool)
        for link in row.sure:
            links[link] = True
        only_of_source = links.sum(1, keepdims=True) == 1
        only_of_target = links.sum(0, keepdims=True) == 1
        unique.append(links & only_of_source & only_of_target)
    return unique


class OrderPredictors(NamedTuple):
    """Predictors of orders: of pairs (stays or not), and of places."""

    relative: TrainedClassifier
    absolute: TrainedClassifier


def order_predictors(
    source: TableSentences, source_orders: Sequence[Order], options: Classifier, seed: int
) -> OrderPredictors:
    """Learns orders from the pivots of all parallel sentences.

    The classes of absolute order prediction are the places of the longest order.

    Args:
      source: words of the side that is reordered, in the common space.
      source_orders: the pivots of each sentence.
      options, seed: of the training.

    Raises:
      ValueError: no sentence has two pivots.
    """
    long = [number for number, order in enumerate(source_orders) if len(order.places) > 1]
    if not long:
        raise ValueError(NO_PIVOT)
    long_orders = [source_orders[number] for number in long]
    rows = []
    pairs = []
    word_distances = []
    stays = []
    for number, order in zip(long, long_orders):
        rows.append(source.rows[number][order.places])
        word_pairs = predictors.pairs_of(len(order.places)).astype(np.int32)
        pairs.append(rows[-1][word_pairs])
        word_distances.append(word_pairs[:, 1] - word_pairs[:, 0])
        # Whether the earlier word of a pair is the earlier one in the other sentence too.
        stays.append(order.ranks[word_pairs[:, 0]] < order.ranks[word_pairs[:, 1]])
    x = predictors.PairRows(source.vectors, np.concatenate(pairs), np.concatenate(word_distances))
    relative = options.fit(x, np.concatenate(stays).astype(int), seed=seed)
    longest = max(map(len, rows))
    places = np.concatenate([np.arange(len(x)) for x in rows])
    x = predictors.PlaceRows(source.vectors, np.concatenate(rows), places, longest)
    absolute = options.fit(x, np.concatenate([x.ranks for x in long_orders]), longest, seed=seed)
    return OrderPredictors(relative, absolute)


def order_costs(
    learned: OrderPredictors, source: TableSentences, source_orders: Sequence[Order]
) -> dict[str, list[np.ndarray]]:
    """'relative' and 'absolute' -> the costs of the words' orders."""
    relative = []
    absolute = []
    for number, order in enumerate(source_orders):
        vectors = source.of(number)[order.places]
        pairs, x = predictors.pair_features(vectors)
        stays = learned.relative.probabilities(x)[:, 1]
        relative.append(predictors.pair_costs(pairs, stays, len(vectors)))
        places = predictors.place_features(vectors, learned.absolute.classes)
        likely = learned.absolute.probabilities(places)
        absolute.append(predictors.place_costs(likely))
    return {"relative": relative, "absolute": absolute}


def predict_orders(
    costs: Mapping[str, Sequence[np.ndarray]], beam: int
) -> dict[str, list[np.ndarray]]:
    """'relative' and 'absolute' -> the orders that a beam finds from `order_costs`, int [n] each."""
    relative = [reorder.by_pairs(x, beam) for x in costs["relative"]]
    absolute = [reorder.by_positions(x, beam) for x in costs["absolute"]]
    return {"relative": relative, "absolute": absolute}


def lowest_share(costs: Sequence[np.ndarray], orders: Sequence[np.ndarray], pairs: bool) -> float:
    """The share of orders of 2 to 7 words that no other order undercuts; 1 without such orders.

    Args:
      costs: of each sentence, which `align.reorder` minimises.
      orders: the orders found, int [n] each.
      pairs: whether they are pair costs.
    """
    hits = []
    for x, order in zip(costs, orders):
        if 1 < len(order) <= reorder.MAX_EXHAUSTIVE:
            lowest = reorder.cost(x, reorder.exhaustive(x, pairs), pairs)
            # Sums of the same costs in another order differ by rounding.
            hits.append(reorder.cost(x, order, pairs) <= lowest + 1e-6)
    return float(np.mean(hits)) if hits else 1.0


def order_figures(
    learned: OrderPredictors, source: TableSentences, source_orders: Sequence[Order]
) -> Iterator[tuple[str, float]]:
    """Yields the figures of Table 3, with the source's own order as the baseline, and how often the
    search finds the order of lowest cost (`lowest_share`)."""
    costs = order_costs(learned, source, source_orders)
    gold = [order.gold for order in source_orders]
    identity = reorder.figures([np.arange(len(x)) for x in gold], gold)
    yield from ((f"clcr/reorder/identity/{name}", value) for name, value in identity.items())
    for beam in BEAMS:
        for method, orders in predict_orders(costs, beam).items():
            path = f"clcr/reorder/{method}/beam{beam}"
            yield f"{path}/lowest", lowest_share(costs[method], orders, method == "relative")
            yield from ((f"{path}/{name}", x) for name, x in reorder.figures(orders, gold).items())
