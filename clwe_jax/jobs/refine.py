"""Alignment refinement: one aligner of the registry on two vocabularies and a dictionary."""

from __future__ import annotations

import dataclasses

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import registry
from clwe_jax.align.alignment import Aligner, Alignment
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.jobs import lexica
from clwe_jax.text.merged import Dictionary


def aligner(config: ConfigDict) -> Aligner:
    """The aligner that `config.align.name` names, with its options `config.align[name]`.

    Raises:
      ValueError: an unknown name or option; the message names the nearest known one.
    """
    name = config.align.name
    fields = {field.name for field in dataclasses.fields(registry.lookup("aligner", name))}
    given = {"seed": config.seed} if "seed" in fields else {}
    chosen = config.align.get(name, ConfigDict()).to_dict()
    return registry.build("aligner", {"name": name, **given, **chosen})


def fit(
    config: ConfigDict,
    source: Vectors,
    target: Vectors,
    dictionary: Dictionary | None,
    languages: tuple[str, str],
    shared: frozenset[str] = frozenset(),
) -> Alignment:
    """Fits the map of a source language to a target language, on the words that they do not share
    (joint-align, section 3.3).

    Args:
      config: the run's config; `align` and `seed` are read.
      source: vectors of the source language, most frequent word first.
      target: vectors of the target language, in the same order.
      dictionary: the training pairs; None for aligners that need none.
      languages: source and target language.
      shared: words of both languages, which the fit leaves out.

    Raises:
      ValueError: no pair of the dictionary is covered, or the vectors cannot be aligned; the
        message names the languages.
    """
    own = [
        vectors.take([row for row, word in enumerate(vectors.words) if word not in shared])
        if shared
        else vectors
        for vectors in (source, target)
    ]
    name = "-".join(languages)
    for language, vectors in zip(languages, own):
        if not len(vectors.words):
            raise ValueError(
                f"{name}: every word of {language} is shared, so that nothing is left to align. "
                "--config.static.reallocation=True or a smaller config.static.gamma shares fewer"
            )
    pairs = None
    if dictionary is not None and config.align.supervised:
        listed = dictionary.pairs(*languages)
        pairs = lexica.training_pairs(listed, *own, where=name) if listed else None
        covered = 0 if pairs is None else len(pairs)
        logging.info(
            "%s: %s of %s dictionary pairs are in the vectors", name, f"{covered:,}",
            f"{len(listed):,}",
        )  # fmt: skip
        if listed and lexica.lower_case_helps(listed, *own):
            logging.warning(
                "%s: most words of the dictionary would be in the vectors in lower case only: "
                "--config.align.lower_case_dictionary=True",
                name,
            )
    chosen = aligner(config)
    logging.info("%s: aligning %d and %d words by %s", name, len(own[0].words),
                 len(own[1].words), config.align.name)  # fmt: skip
    try:
        return chosen.fit(own[0].vectors, own[1].vectors, pairs)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
