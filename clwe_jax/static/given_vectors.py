"""The user's own vectors: two files that are aligned and evaluated without training."""

from __future__ import annotations

import functools
import os
from typing import Mapping

from absl import logging

from clwe_jax import options
from clwe_jax.embeddings import files
from clwe_jax.embeddings.collect import KEPT
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.static import StaticRun
from clwe_jax.static.unaligned import UnalignedVectors
from clwe_jax.text.corpus import frequencies
from clwe_jax.text.words.normalize import Normalizer


def read(config: StaticRun) -> UnalignedVectors:
    """The vectors of `config.align.source_vectors` and `target_vectors`, which share no words."""
    paths = config.align.source_vectors, config.align.target_vectors
    raw = {}
    skip_counts = {}
    for language, path in zip(options.languages(config), paths):
        vectors = files.read(path, max_vocab=config.align.max_vocab, language=language)
        logging.info(
            "%s: %s words of %d dimensions (%s)",
            language,
            f"{len(vectors.words):,}",
            vectors.vectors.shape[1],
            path,
        )
        # In their own case: cased vectors have cased dictionaries.
        normalizer = Normalizer(False, config.data.simplify_chinese)
        raw[language] = vectors.with_keys(functools.partial(normalizer.key, language=language))
        for name, count in vectors.report.items():
            if count and name not in KEPT:
                skip_counts[f"{os.path.basename(path)}: {name.replace('_', ' ')}"] = count
    made_with = {"vectors": [[os.path.getsize(x), os.path.getmtime(x)] for x in paths]}
    return UnalignedVectors(raw, made_with=made_with, skipped=skip_counts)


def counts(raw: Mapping[str, Vectors]) -> dict[str, dict[str, int]]:
    """language -> key -> its count; most files have none, and the order of their words stands for them."""
    by_language = {}
    for language, vectors in raw.items():
        if vectors.counts is None:
            by_language[language] = frequencies.of_ranks(vectors.own_keys)
        else:
            counts = vectors.counts.tolist()
            by_language[language] = frequencies.of_first(vectors.own_keys, counts)
    return by_language
