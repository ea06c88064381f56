"""The encoder of a transfer run's labelled rows: opened and mapped, or made from their own pieces."""

from __future__ import annotations

import glob
import os
from typing import Any, Sequence

from clwe_jax import options, presets
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.features import PieceTable
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.encoders.protocols import HasCoverage
from clwe_jax.interop.configuration import LASER_WEIGHTS
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.static import StaticRun
from clwe_jax.options.transfer import LEARNED, TransferRun, encoder_folder, encoder_parts
from clwe_jax.text.labelled import labelled_files
from clwe_jax.training import checkpoint, finish
from clwe_jax.transfer import loaded, maps as transfer_maps, vocabulary
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.results import OpenedEncoder

# The files of encoders; the weights of a large one stand in several.
_FILES = "spaces.json clcr.npz projection.npz model*.safetensors pytorch_model*.bin".split()


def open_encoder(config: TransferRun, workdir: str, data: LabelledData) -> OpenedEncoder:
    """The encoder that `config.encoder` names; joint-align vectors are trained first.

    Raises:
      ValueError: it does not know a language of the rows, or does not fit the options.
    """
    settings = config.transfer
    source = config.encoder
    if source in LEARNED:
        return _learned_pieces(config, workdir, data)
    if source == loaded.JOINT:
        # Most runs train no vectors, and load none of this.
        from clwe_jax.static.job import Static

        folder = os.path.join(workdir, loaded.ENCODER)
        Static(joint_config(config), folder).run()
        source = f"run:{folder}"
    model = load(config.encoder, source, data.languages)
    state = state_of(source)
    made_with: dict[str, Any] = {"encoder": source, "state": state}
    # The training language comes first: maps lead from the others to its space.
    languages = dict.fromkeys(map(data.text_language, [*data.train, *data.languages]))
    model, maps = transfer_maps.map_model(config, workdir, model, list(languages), state)
    made_with |= maps
    if settings.mode == "tune":
        return OpenedEncoder(encoders.tunable(model, source), made_with)
    reader = loaded.reader(settings, model, data.tags, settings.layers, workdir)
    if settings.reduce:
        made_with["reduce"] = [settings.reduce, settings.pivot_probability]
    coverage = {}
    if isinstance(reader.encoder, HasCoverage):
        for language, rows in data.tests.items():
            coverage[language] = reader.encoder.coverage(
                data.texts(rows), data.text_language(language)
            )
    return OpenedEncoder(reader, made_with, coverage=coverage)


def load(encoder: str, where: str, languages: Sequence[str]) -> LoadedEncoder:
    """The model of the encoder, in a place, which knows the languages."""
    model = encoders.load(where, languages)
    for language in languages:
        if language not in model.languages:
            raise ValueError(
                f"config.encoder={encoder} knows {', '.join(model.languages)}, and the labelled "
                f"rows are in {', '.join(languages)}: name languages of both with "
                f"--config.data.languages (to test), .transfer.train and .transfer.dev (without {language!r})"
            )
    return model


def state_of(encoder: str) -> Any:
    """Facts by which a changed encoder is recognised."""
    parts, weight = encoder_parts(encoder)
    if len(parts) == 2:
        return [weight, *map(state_of, parts)]
    kind, _, location = encoder.partition(":")
    if kind == "vec":
        paths = [path for _, path in options.named_files(location)]
        return [[os.path.getsize(x), os.path.getmtime(x)] for x in paths]
    folder = encoder_folder(location)
    paths: list[str] = []
    for pattern in (LASER_WEIGHTS,) if kind == "laser" else _FILES:
        paths += sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
    folders = (os.path.join(folder, name, "checkpoints") for name in ("", finish.FOLDER))
    steps, finished = map(checkpoint.complete_steps, folders)
    times = [os.path.getmtime(path) for path in paths]
    return [steps, times, finished] if finished else [steps, times]


def _learned_pieces(config: TransferRun, workdir: str, data: LabelledData) -> OpenedEncoder:
    """The pieces of an embedder that learns with the head."""
    made_with: dict[str, Any] = {"encoder": config.encoder, "vocab": to_dict(config.vocab)}
    pieces = config.transfer.pieces
    if not pieces:
        tokenizer = vocabulary.tokenizer_of(config, workdir, data)
        made_with["pieces"] = tokenizer.vocabulary.fingerprint()
        return OpenedEncoder(PieceTable(tokenizer), made_with)
    tokenizer, table = vocabulary.load_pretrained(config.transfer, workdir, data)
    made_with["pieces"] = state_of(pieces)
    return OpenedEncoder(PieceTable(tokenizer), made_with, {"embedder/embedding": table})


def joint_config(config: TransferRun) -> StaticRun:
    """The config of the joint-align vectors of the tested languages and those of labels, two or more."""
    settings = config.transfer
    labelled = labelled_files.training_languages(settings.train)
    dev = labelled_files.pairs(settings.dev, "dev")
    languages = tuple(dict.fromkeys([*options.languages(config), *labelled, *dev]))
    if len(languages) < 2:
        raise ValueError(
            f"config.encoder=joint trains vectors of two languages or more, and all rows are in "
            f"{languages[0]}: give --config.encoder=run:DIR, hf:DIR, vec:{languages[0]}=FILE or bow"
        )
    base = options.parse(presets.start_from("joint_align", config.scale))
    names = values_of(base.data)
    values = {
        "seed": config.seed,
        "data": {name: x for name, x in values_of(config.data).items() if name in names}
        | {"languages": ",".join(languages)},
        "static": {"write_text": False, "induced_words": 0},
        "embeddings": values_of(settings.joint),
    }
    return options.with_values(base, values)
