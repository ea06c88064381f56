"""Supervised joint training (Duong et al. 2016): contexts predict words and their translations.

The context of a word predicts the word and, if the dictionary has one, its translation. If there
are several translations, the step takes the one that fits the word and its context best under the
current vectors (the paper's EM-like choice). Equal spellings in different languages are different
words.

    spaces = duong.train(text, dictionary, DuongOptions(dim=100), seed=0)    # language -> Vectors

The steps are in `duong_step`.
"""

from __future__ import annotations

import dataclasses
from typing import Iterator, Mapping

from absl import logging
import numpy as np

from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.joint_replace import ReplacementTable, links, no_coverage_message
from clwe_jax.embeddings.duong_step import AdaGrad, Batch, choose, gradients, means
from clwe_jax.embeddings.train import Meter
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.embeddings import DuongOptions
from clwe_jax.text.dictionary.merged import Dictionary

_POWER = 0.75  # noise words are drawn by frequency to this power, as in word2vec
_CHUNK = 1_000_000  # running words prepared at once
# Noise words per step. Every word of the step is compared with all of them, with weight
# `negatives` / _SHARED_NEGATIVES each: the expectation is that of independent noise words, and the
# computation is a matrix product.
_SHARED_NEGATIVES = 64
# Weight delta of the squared distance of a word's two vectors. The paper has 0.01; on the text of the
# laptop scale, a thousandth of the paper's, 0.1 finds twice as many translations.
_COMBINING = 0.1
_TINY = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class _Text:
    """The text of all languages as ids; each language has its own range of ids.

    Attributes:
      words: language -> its words with a vector, most frequent first.
      first: language -> its first id.
      ids: ids of the running words, int32; -1: a word without a vector.
      spans: start and end of each sentence in `ids`, int64 [sentences, 2].
      counts: occurrences, int64 [V].
      shares: relative frequencies in the language's text, float64 [V].
    """

    words: Mapping[str, list[str]]
    first: Mapping[str, int]
    ids: np.ndarray
    spans: np.ndarray
    counts: np.ndarray
    shares: np.ndarray

    @property
    def numbers(self) -> dict[str, dict[str, int]]:
        """language -> word -> id."""
        return {
            language: dict(zip(words, range(self.first[language], len(self.counts))))
            for language, words in self.words.items()
        }


def _tag_words(corpus: Corpus, min_count: int) -> _Text:
    words = {}
    first_ids = {}
    ids = []
    spans = []
    counts = []
    shares = []
    size = running = 0
    for language in corpus.languages:
        word_counts = np.bincount(corpus.ids[language], minlength=len(corpus.words))
        order = np.argsort(-word_counts, kind="stable")
        order = order[word_counts[order] >= min_count]
        if not len(order):
            raise ValueError(
                f"No word of {language} occurs min_count={min_count} times in "
                f"{corpus.size(language):,} running words: lower config.embeddings.min_count or "
                "train on more text"
            )
        number = np.full(len(corpus.words), -1, np.int32)
        number[order] = np.arange(size, size + len(order))
        words[language] = [corpus.words[i] for i in order.tolist()]
        first_ids[language] = size
        ids.append(number[corpus.ids[language]])
        splits = corpus.splits[language] + running
        spans.append(np.stack([splits[:-1], splits[1:]], axis=1))
        counts.append(word_counts[order])
        shares.append(word_counts[order] / max(1, corpus.size(language)))
        size = size + len(order)
        running = running + corpus.size(language)
    return _Text(
        words,
        first_ids,
        np.concatenate(ids),
        np.concatenate(spans),
        np.concatenate(counts),
        np.concatenate(shares),
    )


def _contexts(
    ids: np.ndarray, sentence: np.ndarray, first: int, last: int, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(words, contexts, splits) of a batch, as in `Batch`, without words that have no context.

    Args:
      ids: ids of running words, int [n].
      sentence: sentence of each running word, int [n].
      first, last: range of the batch in `ids`.
      widths: context words on either side, int [last - first].
    """
    reach = int(widths.max())
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    centers = np.arange(first, last)
    context_places = centers[:, None] + offsets
    inside = np.abs(offsets) <= widths[:, None]
    inside &= (context_places >= 0) & (context_places < len(ids))
    context_places = np.clip(context_places, 0, len(ids) - 1)  # [b, 2 reach]
    inside &= sentence[context_places] == sentence[centers][:, None]
    sizes = inside.sum(1)
    has_context = sizes > 0
    splits = np.concatenate([[0], np.cumsum(sizes[has_context])])
    return ids[centers[has_context]], ids[context_places[inside]], splits


def train(
    corpus: Corpus, dictionary: Dictionary, settings: DuongOptions = DuongOptions(), seed: int = 0
) -> dict[str, Vectors]:
    """Trains the vectors of all languages in one space; equal seeds give equal bits.

    Args:
      corpus: text, usually of equal size in all languages.
      dictionary: dictionary with the text's normalisation.
      settings: hyperparameters; `epochs` of 0 is by the size of the text.
      seed: seed of initialisation, order, windows, subsampling and noise.

    Returns:
      language -> words that occur at least `min_count` times in its text, most frequent first,
      with their counts and their output vectors, as in the paper.

    Raises:
      ValueError: a language without a word that occurs often enough, or a dictionary that
        translates no word of the text.
    """
    languages = corpus.languages
    settings = settings.over(sum(map(corpus.size, languages)) // len(languages))
    random = np.random.default_rng(seed)
    text = _tag_words(corpus, settings.min_count)
    translations = _links(text, dictionary)
    count = len(text.counts)
    shape = (count, settings.dim)
    inputs, outputs = (
        AdaGrad(((random.random(shape, np.float32) - 0.5) / settings.dim)) for _ in range(2)
    )
    noise = np.cumsum(text.counts**_POWER)
    noise /= noise[-1]
    logging.info(
        "Training vectors of %d dimensions for %s words on %s running words, %d epochs",
        settings.dim,
        f"{count:,}",
        f"{len(text.ids):,}",
        settings.epochs,
    )
    total = max(1, settings.epochs * len(text.ids))
    meter = Meter(total)
    words_done = 0
    for running, words, contexts, splits in _batches(text, settings, random):
        if len(words):
            noise_words = np.searchsorted(noise, random.random(_SHARED_NEGATIVES), "right")
            # `words` stands for the translations, which are chosen below by the contexts' means.
            batch = Batch(words, contexts, splits, words, np.minimum(noise_words, count - 1))
            context = means(inputs.table, batch)
            best_translations = choose(inputs.table, words, context[0], translations)
            grads = gradients(
                inputs.table,
                outputs.table,
                batch._replace(translations=best_translations),
                settings.negatives,
                _COMBINING,
                context,
            )
            rate = settings.learning_rate * (1 - words_done / total)
            inputs.step(*grads.inputs, rate)
            outputs.step(*grads.outputs, rate)
        words_done += running
        meter.advance(running)
    meter.finish()
    result = {}
    for language, words in text.words.items():
        rows = slice(text.first[language], text.first[language] + len(words))
        result[language] = Vectors(words, outputs.table[rows], text.counts[rows])
    return result


def _links(text: _Text, dictionary: Dictionary) -> ReplacementTable:
    """The translations of all words, by ids."""
    numbers = text.numbers
    size = len(text.counts)
    starts = [np.zeros(1, np.int64)]
    targets = []
    for language, words in text.words.items():
        other_numbers = {other: table for other, table in numbers.items() if other != language}
        translations = links(dictionary, language, numbers[language], other_numbers, size)
        begin = text.first[language]
        starts.append(starts[-1][-1] + translations.starts[begin + 1 : begin + len(words) + 1])
        targets.append(translations.targets)
        translated_ids = np.flatnonzero(np.diff(translations.starts))
        logging.info(
            "%s: %.1f%% of the running words have a translation",
            language,
            100 * text.shares[translated_ids].sum(),
        )
    all_targets = np.concatenate(targets)
    if not len(all_targets):
        text_words = {language: dict.fromkeys(words, 1) for language, words in text.words.items()}
        raise ValueError(no_coverage_message(dictionary, text_words))
    # No `ends`: translations are chosen, and none is drawn at random.
    return ReplacementTable(np.concatenate(starts), all_targets, np.zeros(0))


def _batches(
    text: _Text, settings: DuongOptions, random: np.random.Generator
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yields (running words consumed, words, contexts, splits) for all epochs."""
    ratio = settings.subsample / np.maximum(text.shares, _TINY)
    # word2vec's rule, sqrt(t / f) + t / f; the last entry is of index -1, words without a vector.
    keep_probability = np.append(np.minimum(1.0, np.sqrt(ratio) + ratio), 0.0)
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
            # The words go before the windows are cut, which then reach farther, as in word2vec.
            is_kept = random.random(len(ids)) < keep_probability[ids]
            ids = ids[is_kept]
            sentence = sentence[is_kept]
            steps = max(1, -(-len(ids) // settings.batch))
            # The rate falls by all running words, also those that subsampling leaves out.
            share = np.diff(np.linspace(0, len(places), steps + 1).astype(np.int64))
            for step, running in enumerate(share.tolist()):
                first = step * settings.batch
                last = min(len(ids), first + settings.batch)
                if first >= last:
                    yield running, ids[:0], ids[:0], np.zeros(1, np.int64)
                    continue
                widths = random.integers(1, settings.window + 1, last - first)
                yield running, *_contexts(ids, sentence, first, last, widths)
