"""A trained tagger, classifier or probe, as the folder of a transfer run holds it."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Mapping

import numpy as np

from clwe_jax import options, registry
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.features import FeatureReader, PieceTable
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.objectives import projected
from clwe_jax.options.transfer import TransferOptions, TransferRun
from clwe_jax.text.dictionary.glossary import Glossary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, fine_tuned, heads
from clwe_jax.transfer.labeller import Frozen, Predictor, Tuned

JOINT = "joint"  # the encoder in WORKDIR/encoder
ENCODER = "encoder"
HEADS = "heads"
VOCABULARY = "vocab"
SETTINGS = "labels.json"
CENTERS = "centers.npz"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TrainedLabeller:
    """A trained tagger, classifier or probe.

    Attributes:
      labels: name of each label.
      kind: 'tags', 'texts' or 'spans': what has labels.
      texts: number of texts or spans of a row that has labels of its own.
      predictor: the trained heads or models of all seeds.
      seed: place of the seed that answers, the one with the best development figure.
      encoder: the model that the run's encoder is; None where the encoder learned with the head.
      tokenizer: cuts text into words; None: `encoder` does.
      glossaries: language -> the words that translate its text before it is labelled.
    """

    config: TransferRun
    labels: tuple[str, ...]
    kind: str
    texts: int
    predictor: Predictor
    seed: int
    encoder: LoadedEncoder | None
    tokenizer: Tokenizer | None
    glossaries: Mapping[str, Glossary] = dataclasses.field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the encoder knows; labels were learned in a part of them."""
        known = self.tokenizer.languages if self.encoder is None else self.encoder.languages
        return tuple(dict.fromkeys([*known, *self.glossaries]))

    def segmenter(self, lang: str) -> Segmenter:
        """Cuts text of a language into words as the encoder does."""
        return self.tokenizer.segmenter if self.encoder is None else self.encoder.segmenter(lang)


def reader(
    settings: TransferOptions,
    model: LoadedEncoder,
    tags: bool,
    layers: str,
    folder: str | None = None,
) -> FeatureReader:
    """Makes the features of texts for a head.

    Args:
      tags: whether each word has a label.
      layers: the option `layers`, or the chosen one.
      folder: see `features.FeatureReader`.
    """
    encoder = encoders.text_encoder(model, settings.reduce, settings.pivot_probability)
    layers = "mix" if layers == "each" else layers
    whole = settings.head.of_means and not tags
    return FeatureReader(encoder, layers, settings.words, whole, folder)


def load(workdir: str) -> TrainedLabeller:
    """The tagger or classifier in a run's folder.

    Raises:
      FileNotFoundError: the folder holds no trained heads, or the encoder's folder is gone.
      ValueError: a damaged file.
    """
    config = options.read_config(workdir)
    path = os.path.join(workdir, SETTINGS)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no trained head: start the run again with the same command, which "
            f"resumes it: --workdir={workdir}"
        )
    with open(path, encoding="utf-8") as file:
        described = json.load(file)
    labels = tuple(described["labels"])
    kind = registry.lookup("transfer_task", config.transfer.task).kind
    model = None
    tokenizer = None
    if config.encoder in build.LEARNED:
        tokenizer = Tokenizer.load(os.path.join(workdir, VOCABULARY))
    else:
        if config.encoder == JOINT:
            model = encoders.load(f"run:{os.path.join(workdir, ENCODER)}", described["languages"])
        else:
            model = encoders.of_run(config.encoder, described["languages"], workdir)
        tokenizer = model.tokenizer
        maps = os.path.join(workdir, projected.FILE)
        if os.path.exists(maps):  # of `config.transfer.align`
            projection = projected.load(maps, model.objective, tokenizer.language_id)
            model = dataclasses.replace(model, projection=projection)
    make = _tuned_labeller if config.transfer.mode == "tune" else _frozen
    predictor, seed = make(config, workdir, described, model, tokenizer)
    glossaries = {x: Glossary(**given) for x, given in described.get("translated", {}).items()}
    return TrainedLabeller(
        config, labels, kind, described["texts"], predictor, seed, model, tokenizer, glossaries
    )


def _frozen(
    config: TransferRun,
    workdir: str,
    described: dict[str, Any],
    model: LoadedEncoder | None,
    tokenizer: Tokenizer | None,
) -> tuple[Frozen, int]:
    name = described["chosen"] or "head"
    path = os.path.join(workdir, HEADS, f"{name}.npz")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no trained head ({path}): start the run again with the same command"
        )
    with open(path.removesuffix(".npz") + ".json", encoding="utf-8") as file:
        history = np.array(json.load(file)["history"])
    # With layers='each' the chosen head, such as 'layer3', names the layer that it reads.
    layers = described["chosen"].removeprefix("layer") or config.transfer.layers
    source: FeatureReader | PieceTable
    if model is None:
        source = PieceTable(tokenizer)
        size = tokenizer.vocabulary.size
    else:
        source = reader(config.transfer, model, described["tags"], layers)
        size = 0
    labels = described["labels"]
    tags = described["tags"]
    centers = None
    path = os.path.join(workdir, HEADS, CENTERS)
    if config.transfer.center:
        part = slice(int(layers), int(layers) + 1) if name != "head" else slice(None)
        with np.load(path, allow_pickle=False) as file:
            centers = {language: file[language][part] for language in file.files}
    return Frozen(
        source,
        build.labeller(config.transfer, config.encoder, labels, tags, size),
        heads.load(os.path.join(workdir, HEADS, f"{name}.npz")),
        labels,
        centers,
    ), int(history.max(0).argmax())


def _tuned_labeller(
    config: TransferRun,
    workdir: str,
    described: dict[str, Any],
    model: LoadedEncoder | None,
    tokenizer: Tokenizer | None,
) -> tuple[Tuned, int]:
    base = encoders.tunable(model, config.encoder).objective
    objective = build.tuned_objective(config.transfer, described["labels"], described["tags"], base)
    metric = f"dev/{described['metric']}"
    folders = [fine_tuned.folder(workdir, k) for k in range(config.transfer.seeds)]
    highest = [max(fine_tuned.history(folder, metric).values()) for folder in folders]
    seed = int(np.argmax(highest))
    length = min(config.transfer.length, objective.max_length)
    variables = [fine_tuned.best(folders[seed], objective, metric)]  # the seed that answers alone
    types = described["texts"] == 2 and objective.model.backbone.options.types > 1
    return Tuned(objective, tokenizer, variables, described["labels"], length, types), 0
