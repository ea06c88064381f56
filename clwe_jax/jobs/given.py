"""The user's own vectors: two files that are aligned and evaluated without training."""

from __future__ import annotations

import functools
import os
from typing import Any, Mapping, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.api.static import StaticModel
from clwe_jax.embeddings import dictionary_text, files
from clwe_jax.embeddings.collect import KEPT
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.evaluate.static_encoder import StaticEncoder
from clwe_jax.jobs import forecast, inputs
from clwe_jax.jobs.vocabularies import Vocabularies
from clwe_jax.options.static import StaticRun
from clwe_jax.text import frequencies
from clwe_jax.text.frequencies import Frequencies
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.test_dictionaries import TestSet


class Given:
    """Reads `config.align.source_vectors` and `config.align.target_vectors`.

    Its attributes and methods are those of `trainer.Trainer`.
    """

    stage = "reading"
    aligned = True
    frequencies: Frequencies | None = None

    def __init__(self, config: StaticRun, workdir: str):
        self._config = config
        self._paths = config.align.source_vectors, config.align.target_vectors
        self._skipped: dict[str, int] = {}
        self.normalizer = Normalizer(
            config.align.lower_case_dictionary, config.data.simplify_chinese
        )
        self._workdir = workdir

    @functools.cached_property
    def folders(self) -> dict[str, str]:
        """Option -> its folder; see `world.resolve_folders`."""
        return inputs.folders_without_text(self._config, self._workdir)

    def about(self) -> list[str]:
        """The lines of a dry run."""
        return [f"vectors: {forecast.sizes(self._paths)}"]

    @property
    def made_with(self) -> dict[str, Any]:
        """Sizes and modification times of both files."""
        return {"vectors": [[os.path.getsize(x), os.path.getmtime(x)] for x in self._paths]}

    def vocabularies(
        self, dictionary: Dictionary | None, tests: Sequence[TestSet]
    ) -> Vocabularies:
        """The vectors of both files, which share no words."""
        raw = {}
        for language, path in zip(options.languages(self._config), self._paths):
            vectors = files.read(path, max_vocab=self._config.align.max_vocab)
            logging.info(
                "%s: %s words of %d dimensions (%s)", language, f"{len(vectors.words):,}",
                vectors.vectors.shape[1], path,
            )  # fmt: skip
            raw[language] = vectors
            for name, count in vectors.report.items():
                if count and name not in KEPT:
                    entry = f"{os.path.basename(path)}: {name.replace('_', ' ')}"
                    self._skipped[entry] = count
        self._counts = {language: _counts(vectors) for language, vectors in raw.items()}
        self._dictionary = dictionary
        self.frequencies = frequencies.most_frequent(self._counts)
        return Vocabularies(raw)

    def dictionary_vectors(self, dim: int) -> Mapping[str, Vectors]:
        """See `trainer.Trainer`."""
        graph = WordGraph(self._dictionary, self._counts)
        return dictionary_text.vectors(graph, dim, self._config.seed)

    def encoder(self, model: StaticModel) -> StaticEncoder:
        """See `trainer.Trainer`."""
        return model.encoder()

    def description(self) -> dict[str, Any]:
        """Counts of the lines that were left out of the files, for the report."""
        return {"skipped": self._skipped}


def _counts(vectors: Vectors) -> dict[str, int]:
    """word -> its count; most files have none, and the order of their words stands for them."""
    if vectors.counts is None:
        return frequencies.of_ranks(vectors.words)
    return dict(zip(vectors.words, vectors.counts.tolist()))
