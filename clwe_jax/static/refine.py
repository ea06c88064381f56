"""Alignment refinement: one aligner of the registry on two vocabularies and a dictionary."""

from __future__ import annotations

from absl import logging

from clwe_jax import registry
from clwe_jax.align.alignment import Aligner, Alignment, seed_argument
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.section import values_of
from clwe_jax.options.static import AlignOptions
from clwe_jax.runs import lexica
from clwe_jax.text.dictionary.merged import Dictionary


def aligner(settings: AlignOptions, seed: int) -> Aligner:
    """The aligner that `settings.name` names, with the options of the section of that name."""
    cls = registry.lookup("aligner", settings.name)
    return cls(**values_of(getattr(settings, settings.name)), **seed_argument(cls, seed))


def fit(
    settings: AlignOptions,
    seed: int,
    source: Vectors,
    target: Vectors,
    dictionary: Dictionary | None,
    languages: tuple[str, str],
    shared: frozenset[str] = frozenset(),
) -> Alignment:
    """Fits the map of a source language to a target language, on the words that they do not share
    (joint-align, section 3.3).

    Args:
      settings: `config.align`.
      seed: of aligners that draw numbers.
      source: vectors of the source language, most frequent word first.
      target: vectors of the target language, in the same order.
      dictionary: the training pairs; None for aligners that need none.
      shared: words of both languages, which the fit leaves out.

    Raises:
      ValueError: no pair of the dictionary is covered, or the vectors cannot be aligned; the
        message names the languages.
    """
    # A shared word has one vector in both languages: as a pair it would pull the map to the identity.
    sides = [source, target]
    if shared:
        for side, vectors in enumerate(sides):
            rows = [row for row, word in enumerate(vectors.words) if word not in shared]
            sides[side] = vectors.take(rows)
    name = "-".join(languages)
    for language, vectors in zip(languages, sides):
        if not len(vectors.words):
            raise ValueError(
                f"{name}: every word of {language} is shared, so that nothing is left to align. "
                "--config.static.reallocation=True or a smaller config.static.gamma shares fewer"
            )
    pairs = None
    if dictionary is not None and settings.supervised:
        entries = dictionary.pairs(*languages)
        pairs = lexica.training_pairs(entries, *sides, where=name) if entries else None
        covered = 0 if pairs is None else len(pairs)
        logging.info(
            "%s: %s of %s dictionary pairs are in the vectors",
            name,
            f"{covered:,}",
            f"{len(entries):,}",
        )
        if entries and lexica.lower_case_helps(entries, *sides):
            logging.warning(
                "%s: most words of the dictionary would be in the vectors in lower case only: "
                "--config.align.lower_case_dictionary=True",
                name,
            )
    word_aligner = aligner(settings, seed)
    logging.info(
        "%s: aligning %d and %d words by %s",
        name,
        len(sides[0].words),
        len(sides[1].words),
        settings.name,
    )
    try:
        return word_aligner.fit(sides[0].vectors, sides[1].vectors, pairs)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
