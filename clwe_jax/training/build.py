"""The objective that a config names; training, plan and api build it here."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax import options, registry
from clwe_jax.models import crf, laser
from clwe_jax.models.labelling import Labeller, Labelling, Mix, WordsOfPieces
from clwe_jax.models.tuned import TunedModel
from clwe_jax.objectives.labelling import LabellingObjective
from clwe_jax.options.section import Options
from clwe_jax.options.transfer import LEARNED, TransferOptions
from clwe_jax.text.dictionary import label_table
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.text.vocab import base_vocab
from clwe_jax.types import Objective


def build_objective(
    config: options.Run,
    vocab_size: int,
    padded_vocab_size: int,
    translations: np.ndarray | None = None,
    specials: Mapping[str, int] | None = None,
    labels: LabelTable | None = None,
) -> Objective:
    """The objective with its model.

    Args:
      config: the run's options.
      vocab_size: number of pieces; ids from there to padded_vocab_size are never predicted.
      padded_vocab_size: rows of the embedding table, which devices divide evenly.
      translations: word ids, int32 [vocab_size, languages, T], for objectives that translate.
      specials: name of each special piece -> its id in the vocabulary; by default, where a plan or
        a forecast has no vocabulary, they come first.
      labels: the labels of the entries that batches name; by default, where a plan or a forecast has
        no dictionary, as many as usual.
    """
    languages = len(options.languages(config))
    if config.task.labels == "expected" and labels is None:
        labels = label_table.example(vocab_size, languages)
    arguments = dict(
        vocab_size=vocab_size,
        padded_vocab_size=padded_vocab_size,
        max_predictions=options.max_predictions(config.data),
        translations=translations,
        backward=config.task.backward,
        max_characters=config.task.max_characters,
        seed=config.seed,
        label_table=labels,
        specials=specials or {name: i for i, name in enumerate(base_vocab.SPECIALS)},
    )
    model = _build(
        "model",
        config.model,
        vocab_size=padded_vocab_size,
        languages=languages,
        max_length=config.data.sequence_length,
    )
    return _build("objective", config.objective, model=model, **arguments)


def build_labelling(settings: TransferOptions, labels: Sequence[str], tags: bool) -> Labelling:
    """The head of a transfer run.

    Args:
      settings: the run's `config.transfer`.
      tags: whether words have labels; else texts.
    """
    head = registry.build("head", settings.head, labels=len(labels), tags=tags)
    forbidden: tuple = ()
    if settings.head.ending == "crf":
        # An I- tag that continues no name is no label.
        between, start = crf.bio_steps(labels)
        forbidden = tuple(map(tuple, between.tolist())), tuple(start.tolist())
    return Labelling(head, forbidden)


def labeller(
    settings: TransferOptions, encoder: str, labels: Sequence[str], tags: bool, vocab_size: int
) -> Labeller:
    """The embedder and the head of a transfer run whose encoder, if it has one, is frozen.

    Args:
      encoder: the run's `config.encoder`.
      vocab_size: number of pieces, for an embedder that learns.
    """
    embedder = (
        WordsOfPieces(settings.embedder, encoder, vocab_size) if encoder in LEARNED else Mix()
    )
    return Labeller(embedder, build_labelling(settings, labels, tags))


def tuned_objective(
    settings: TransferOptions, labels: Sequence[str], tags: bool, base: Objective
) -> LabellingObjective:
    """The objective of a transfer run that fine-tunes the backbone of `base`.

    Args:
      base: objective of a masked language model, or LASER's.

    Raises:
      ValueError: the vector of [CLS] of LASER, which has none.
    """
    backbone = base.model
    if isinstance(backbone, laser.LaserEncoder):
        if not tags and settings.text_vector == "cls":
            raise ValueError(
                "config.transfer.text_vector='cls': LASER reads no [CLS]; --config.transfer.text_vector=mean"
            )
        backbone = laser.Backbone(backbone.options, backbone.vocab_size, backbone.max_length)
    head = build_labelling(settings, labels, tags)
    return LabellingObjective(
        TunedModel(backbone, head, settings.text_vector, settings.layers, settings.words)
    )


def _build(kind: str, section: Options, **arguments: Any) -> Any:
    """`registry.build` with the values of `given` that are fields of the class."""
    fields = {field.name for field in dataclasses.fields(registry.lookup(kind, section.name))}
    values = {name: value for name, value in arguments.items() if name in fields}
    return registry.build(kind, section, **values)
