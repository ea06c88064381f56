"""Supervised joint training (Duong et al. 2016): contexts predict words and their translations.

A word's context predicts the word and, where the dictionary has one, its translation. Of several
translations the one counts that fits word and context best as the vectors are then (the paper's
EM-like choice). Words of different languages are different words, however they are spelled.

    spaces = duong.train(text, dictionary, duong.Duong(dim=100), seed=0)    # language -> Vectors

The steps are NumPy on the rows that a batch names, so that their cost does not grow with the
vocabulary.
"""

from __future__ import annotations

import dataclasses
from typing import Iterator, Mapping, NamedTuple

from absl import logging
import numpy as np
from scipy import sparse

from clwe_jax.embeddings.corpus import Corpus, Links, links, uncovered
from clwe_jax.embeddings.train import Meter, Report
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.merged import Dictionary

_POWER = 0.75  # of the frequencies that noise words are drawn by, as in word2vec
_CHUNK = 1_000_000  # running words that are prepared at once
_TINY = 1e-12


@dataclasses.dataclass(frozen=True)
class Duong:
    """Hyperparameters.

    Attributes:
      dim: numbers of a vector.
      epochs: passes over the text.
      min_count: rarer words of a language get no vector.
      window: words to each side at most; the width is drawn for every word.
      negatives: noise words for each word; see `shared_negatives`.
      learning_rate: of AdaGrad at the start; it falls to 0.
      subsample: words above this relative frequency in their language are left out at random.
      combining: weight of the squared distance of a word's two vectors (delta in the paper, which
        has 0.01 for corpora a thousand times the laptop's; there .1 finds twice the translations).
      batch: words a step.
      shared_negatives: noise words a step. All words of the step are compared with all of them,
        each weighing `negatives` / `shared_negatives`: the expectation that independent noise
        words have, from a matrix product.
    """

    dim: int = 300
    epochs: int = 5
    min_count: int = 5
    window: int = 5
    negatives: int = 5
    learning_rate: float = 0.05
    subsample: float = 1e-4
    combining: float = 0.1
    batch: int = 512
    shared_negatives: int = 64

    def __post_init__(self) -> None:
        least_one = (
            "dim", "epochs", "min_count", "window", "negatives", "batch", "shared_negatives",
        )  # fmt: skip
        for name in least_one:
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")


class Batch(NamedTuple):
    """Words in their contexts, by number.

    Attributes:
      words: int [B].
      contexts: int, the words around each, one word's after the other's.
      splits: int [B + 1]: where each word's context starts; none is empty.
      translations: int [B]; -1 where a word has none.
      noise: int [S].
    """

    words: np.ndarray
    contexts: np.ndarray
    splits: np.ndarray
    translations: np.ndarray
    noise: np.ndarray


class Gradients(NamedTuple):
    """Of a batch, for the rows that it names.

    Attributes:
      loss: the sum over its words.
      inputs, outputs: (rows, float [rows, D]), each row once.
    """

    loss: float
    inputs: tuple[np.ndarray, np.ndarray]
    outputs: tuple[np.ndarray, np.ndarray]


def means(inputs: np.ndarray, batch: Batch) -> tuple[np.ndarray, sparse.csr_matrix, np.ndarray]:
    """The mean input vector of each context [B, D]; as `averages @ inputs[rows]`."""
    rows, place = np.unique(batch.contexts, return_inverse=True)
    sizes = np.diff(batch.splits)
    weights = np.repeat((1 / sizes).astype(inputs.dtype), sizes)
    shape = (len(batch.words), len(rows))
    averages = sparse.csr_matrix((weights, place, batch.splits), shape)
    return averages @ inputs[rows], averages, rows


def gradients(
    inputs: np.ndarray,
    outputs: np.ndarray,
    batch: Batch,
    negatives: float,
    combining: float,
    context: tuple[np.ndarray, sparse.csr_matrix, np.ndarray] | None = None,
) -> Gradients:
    """The loss of a batch and its gradients (Duong et al. 2016, Eqs 1, 3 and 4).

    With v the input and u the output vectors, h_i the mean v of word i's context, w_i the word and
    t_i its translation, the loss is the sum over i of

        - log s(u_wi . h_i) - [t_i] log s(u_ti . h_i) - negatives * mean_n log s(-u_n . h_i)
        + combining * (|u_wi - v_wi|^2 + [t_i] |u_ti - v_ti|^2 + negatives * mean_n |u_n - v_n|^2)

    with s the logistic function and the means over the noise words; in the first, those that are
    w_i or t_i count nothing. As in the authors' program, what pulls u and v together acts on the
    words that a step predicts and on its noise, not on the whole vocabulary.

    Args:
      inputs, outputs: v and u, float [V, D].
      batch: the words.
      negatives: noise words for each word.
      combining: delta.
      context: `means(inputs, batch)` where that is known.
    """
    hidden, averages, near = context if context is not None else means(inputs, batch)
    count = len(batch.words)
    translated = np.flatnonzero(batch.translations >= 0)
    # The words, then the translations that there are: what the contexts should predict.
    truth = np.concatenate([batch.words, batch.translations[translated]])
    place = np.concatenate([np.arange(count), translated])
    rows, row = np.unique(np.concatenate([truth, batch.noise]), return_inverse=True)
    row, noise = row[: len(truth)], row[len(truth) :]
    known = outputs[rows]
    positive = np.einsum("nd,nd->n", known[row], hidden[place])
    negative = hidden @ known[noise].T
    weights = np.full(negative.shape, negatives / len(batch.noise), inputs.dtype)
    weights[batch.words[:, None] == batch.noise] = 0
    weights[batch.translations[:, None] == batch.noise] = 0
    apart = known - inputs[rows]
    times = np.bincount(row, minlength=len(rows)).astype(inputs.dtype)
    np.add.at(times, noise, inputs.dtype.type(count * negatives / len(noise)))
    loss = (
        np.logaddexp(0, -positive).sum()
        + (weights * np.logaddexp(0, negative)).sum()
        + combining * (times * (apart**2).sum(1)).sum()
    )
    wrong = _logistic(positive) - 1
    weights *= _logistic(negative)

    to_truth = sparse.csr_matrix((wrong, (row, place)), (len(rows), count))
    for_hidden = to_truth.T @ known + weights @ known[noise]
    for_outputs = to_truth @ hidden
    np.add.at(for_outputs, noise, weights.T @ hidden)
    pull = 2 * combining * times[:, None] * apart
    for_outputs += pull

    named, where = np.unique(np.concatenate([near, rows]), return_inverse=True)
    for_inputs = np.zeros((len(named), inputs.shape[1]), inputs.dtype)
    for_inputs[where[: len(near)]] = averages.T @ for_hidden
    for_inputs[where[len(near) :]] -= pull
    return Gradients(float(loss), (named, for_inputs), (rows, for_outputs))


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -30, 30)))


def choose(
    inputs: np.ndarray, words: np.ndarray, hidden: np.ndarray, dictionary: Links
) -> np.ndarray:
    """The translation of each word that fits it and its context best; -1 where it has none.

    It is the t with the largest cosine of v_t and v_w + h (Duong et al. 2016, Eq. 2), the first of
    equal ones.

    Args:
      inputs: v, float [V, D].
      words: int [B].
      hidden: h, float [B, D].
      dictionary: over the same numbers.
    """
    first, sizes = dictionary.starts[words], np.diff(dictionary.starts)[words]
    translations = np.full(len(words), -1, np.int64)
    single = sizes == 1
    translations[single] = dictionary.targets[first[single]]
    several = np.flatnonzero(sizes > 1)
    if len(several):
        sizes = sizes[several]
        starts = np.cumsum(sizes) - sizes
        offsets = np.arange(sizes.sum()) - np.repeat(starts, sizes)
        candidates = dictionary.targets[np.repeat(first[several], sizes) + offsets]
        wanted = inputs[words[several]] + hidden[several]
        found = inputs[candidates]
        scores = np.einsum("nd,nd->n", found, np.repeat(wanted, sizes, axis=0))
        scores /= np.sqrt(np.einsum("nd,nd->n", found, found)) + _TINY
        best = np.repeat(np.maximum.reduceat(scores, starts), sizes)
        winners = np.flatnonzero(scores == best)
        owner = np.repeat(np.arange(len(several)), sizes)[winners]
        owner, place = np.unique(owner, return_index=True)
        translations[several[owner]] = candidates[winners[place]]
    return translations


class _AdaGrad:
    """AdaGrad of the rows that have a gradient."""

    def __init__(self, table: np.ndarray):
        self.table = table
        self._squares = np.full(table.shape, _TINY, table.dtype)

    def step(self, rows: np.ndarray, gradient: np.ndarray, rate: float) -> None:
        squares = self._squares[rows] + gradient * gradient
        self._squares[rows] = squares
        self.table[rows] -= rate * gradient / np.sqrt(squares)


@dataclasses.dataclass(frozen=True, eq=False)
class _Text:
    """The text of all languages in numbers of which each language has its own.

    Attributes:
      words: language -> its words with a vector, most frequent first.
      first: language -> its first number.
      ids: int32, running words; -1 for words without a vector.
      spans: int64 [sentences, 2].
      counts: int64 [V].
      shares: float64 [V], relative frequency in the language's text.
    """

    words: Mapping[str, list[str]]
    first: Mapping[str, int]
    ids: np.ndarray
    spans: np.ndarray
    counts: np.ndarray
    shares: np.ndarray

    @property
    def numbers(self) -> dict[str, dict[str, int]]:
        """language -> word -> number."""
        return {
            language: dict(zip(words, range(self.first[language], len(self.counts))))
            for language, words in self.words.items()
        }


def _tagged(corpus: Corpus, min_count: int) -> _Text:
    words, first, ids, spans, counts, shares = {}, {}, [], [], [], []
    size = running = 0
    for language in corpus.languages:
        counted = np.bincount(corpus.ids[language], minlength=len(corpus.words))
        order = np.argsort(-counted, kind="stable")
        order = order[counted[order] >= min_count]
        if not len(order):
            raise ValueError(
                f"No word of {language} occurs min_count={min_count} times in "
                f"{corpus.size(language):,} running words: lower config.embeddings.min_count or "
                "bring more text"
            )
        number = np.full(len(corpus.words), -1, np.int32)
        number[order] = np.arange(size, size + len(order))
        words[language], first[language] = [corpus.words[i] for i in order.tolist()], size
        ids.append(number[corpus.ids[language]])
        splits = corpus.splits[language] + running
        spans.append(np.stack([splits[:-1], splits[1:]], axis=1))
        counts.append(counted[order])
        shares.append(counted[order] / max(1, corpus.size(language)))
        size, running = size + len(order), running + corpus.size(language)
    return _Text(
        words, first, np.concatenate(ids), np.concatenate(spans), np.concatenate(counts),
        np.concatenate(shares),
    )  # fmt: skip


def _contexts(
    ids: np.ndarray, sentence: np.ndarray, first: int, last: int, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(words, contexts, splits) of running words `first` to `last` that have a context.

    Args:
      ids: int [n], running words.
      sentence: int [n], the sentence of each.
      first, last: of the batch.
      widths: int [last - first], words to each side.
    """
    reach = int(widths.max())
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    here = np.arange(first, last)
    there = here[:, None] + offsets
    inside = np.abs(offsets) <= widths[:, None]
    inside &= (there >= 0) & (there < len(ids))
    there = np.clip(there, 0, len(ids) - 1)
    inside &= sentence[there] == sentence[here][:, None]
    sizes = inside.sum(1)
    some = sizes > 0
    splits = np.concatenate([[0], np.cumsum(sizes[some])])
    return ids[here[some]], ids[there[inside]], splits


def train(
    corpus: Corpus,
    dictionary: Dictionary,
    settings: Duong = Duong(),
    seed: int = 0,
    progress: Report | None = None,
) -> dict[str, Vectors]:
    """Trains the vectors of all languages in one space; same seed, same bits.

    Args:
      corpus: the text, of equal size as a rule.
      dictionary: normalised as the text.
      settings: hyperparameters.
      seed: of initialisation, order, windows, subsampling and noise.
      progress: is told how far it is, every ten seconds and at the end; None: the log.

    Returns:
      language -> the words that occur `min_count` times or more in its text, most frequent first,
      with their counts. The vectors are the output ones, as the paper takes them.

    Raises:
      ValueError: a language without a word that is frequent enough; a dictionary that translates
        no word of the text.
    """
    random = np.random.default_rng(seed)
    text = _tagged(corpus, settings.min_count)
    known = _links(text, dictionary)
    count = len(text.counts)
    shape = (count, settings.dim)
    inputs, outputs = (
        _AdaGrad(((random.random(shape, np.float32) - 0.5) / settings.dim)) for _ in range(2)
    )
    noise = np.cumsum(text.counts**_POWER)
    noise /= noise[-1]
    logging.info(
        "Training vectors of %d dimensions for %s words on %s running words, %d epochs",
        settings.dim, f"{count:,}", f"{len(text.ids):,}", settings.epochs,
    )  # fmt: skip
    total = max(1, settings.epochs * len(text.ids))
    meter, done = Meter(total, progress), 0
    for running, words, contexts, splits in _batches(text, settings, random):
        if len(words):
            drawn = np.searchsorted(noise, random.random(settings.shared_negatives), "right")
            batch = Batch(words, contexts, splits, words, np.minimum(drawn, count - 1))
            context = means(inputs.table, batch)
            chosen = choose(inputs.table, words, context[0], known)
            found = gradients(
                inputs.table, outputs.table, batch._replace(translations=chosen),
                settings.negatives, settings.combining, context,
            )  # fmt: skip
            rate = settings.learning_rate * (1 - done / total)
            inputs.step(*found.inputs, rate)
            outputs.step(*found.outputs, rate)
        done += running
        meter.advance(running)
    meter.finish()
    result = {}
    for language, words in text.words.items():
        rows = slice(text.first[language], text.first[language] + len(words))
        result[language] = Vectors(words, outputs.table[rows], text.counts[rows])
    return result


def _links(text: _Text, dictionary: Dictionary) -> Links:
    """The translations of all words, over the numbers of all languages."""
    numbers, size = text.numbers, len(text.counts)
    starts, targets = [np.zeros(1, np.int64)], []
    for language, words in text.words.items():
        others = {other: table for other, table in numbers.items() if other != language}
        found = links(dictionary, language, numbers[language], others, size)
        first = text.first[language]
        starts.append(starts[-1][-1] + found.starts[first + 1 : first + len(words) + 1])
        targets.append(found.targets)
        covered = np.flatnonzero(np.diff(found.starts))
        logging.info(
            "%s: %.1f%% of the running words have a translation", language,
            100 * text.shares[covered].sum(),
        )  # fmt: skip
    joined = np.concatenate(targets)
    if not len(joined):
        listed = {language: dict.fromkeys(words, 1) for language, words in text.words.items()}
        raise ValueError(uncovered(dictionary, listed))
    return Links(np.concatenate(starts), joined, np.zeros(0))


def _batches(
    text: _Text, settings: Duong, random: np.random.Generator
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """(running words that went into it, words, contexts, splits), for all epochs."""
    ratio = settings.subsample / np.maximum(text.shares, _TINY)
    kept = np.append(np.minimum(1.0, np.sqrt(ratio) + ratio), 0.0)  # the last: no vector
    for _ in range(settings.epochs):
        spans = text.spans[random.permutation(len(text.spans))]
        ends = np.cumsum(spans[:, 1] - spans[:, 0])
        bounds = np.searchsorted(ends, np.arange(_CHUNK, ends[-1] + _CHUNK, _CHUNK)) + 1
        for part in np.split(spans, np.minimum(np.unique(bounds), len(spans))):
            lengths = part[:, 1] - part[:, 0]
            if not lengths.sum():
                continue
            starts = np.cumsum(lengths) - lengths
            places = np.arange(lengths.sum()) + np.repeat(part[:, 0] - starts, lengths)
            ids = text.ids[places]
            sentence = np.repeat(np.arange(len(part)), lengths)
            chosen = random.random(len(ids)) < kept[ids]
            ids, sentence = ids[chosen], sentence[chosen]
            steps = max(1, -(-len(ids) // settings.batch))
            share = np.diff(np.linspace(0, len(places), steps + 1).astype(np.int64))
            for step, running in enumerate(share.tolist()):
                first = step * settings.batch
                last = min(len(ids), first + settings.batch)
                if first >= last:
                    yield running, ids[:0], ids[:0], np.zeros(1, np.int64)
                    continue
                widths = random.integers(1, settings.window + 1, last - first)
                yield running, *_contexts(ids, sentence, first, last, widths)
