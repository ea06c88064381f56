"""The senses in a run's report: 'senses' of report.json, and the files in WORKDIR/senses/ (A15)."""

from __future__ import annotations

import os
from typing import Any, Sequence

from absl import logging
import jax

from clwe_jax import atomic, pocket
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.sense_view import Sense, SenseView
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.pretrain import pictures
from clwe_jax.report import projection
from clwe_jax.runs import report_words

FOLDER = "senses"
_SHOWN_WORDS = 6  # words shown where config.report.words is empty
# Ambiguous words that most text contains; the first three are in the paper's figures.
_AMBIGUOUS = (
    "bank may us spring match fall plant light bat ring letter order party present capital interest"
).split()
_NEAR = 4  # nearest senses in each language
_EXAMPLES = 3  # lines for each sense
_EXPORTED = 10_000  # senses of each direction; an embedding projector shows no more well
_HEAD = ("label", "word", "sense", "languages", "share", "uses")


def gather(config: PretrainRun, model: LanguageModel, workdir: str) -> dict[str, Any]:
    """Describes the senses of a few words, and writes files for an embedding projector.

    Writes WORKDIR/senses/: vectors.tsv and metadata.tsv (vectors_backward.tsv and
    metadata_backward.tsv for the second direction of a bidirectional model),
    projector_config.pbtxt, and a picture of each word and direction as PNG and SVG.

    Returns:
      'directions', their 'census' of senses in use, 'words' (each with 'senses' and
      'points' by direction), 'files'; empty for a model without senses.
    """
    if not model.variables.get("senses"):
        return {}
    if jax.process_count() > 1:
        logging.warning(
            "The report of a run on several hosts shows no senses: load the run on one host and "
            "use clwe_jax.api.load(%r).senses(...)",
            workdir,
        )
        return {}
    view = model.open_senses()
    language = report_words.first_language(model.languages)
    words = [
        {"word": word, "language": language, "directions": _directions(view, word, language)}
        for word in _words(config, view, model, language)
    ]
    folder = os.path.join(workdir, FOLDER)
    os.makedirs(folder, exist_ok=True)
    files = _export(view, folder)
    for word in words:
        for name, direction in word["directions"].items():
            files += pictures.write(folder, word, name, direction, model.languages)
    return {
        "directions": list(view.directions),
        "census": {name: view.index.census(name) for name in view.directions},
        "words": words,
        "files": [f"{FOLDER}/{name}" for name in files],
    }


def _words(config: PretrainRun, view: SenseView, model: LanguageModel, language: str) -> list[str]:
    """The words of config.report.words that are in the vocabulary; without any, ambiguous words."""
    vocabulary = model.vocabulary.words
    config_words = report_words.asked_words(config.report.words)
    if config_words:
        words = [" ".join(model.tokenizer.words(word, language)) for word in config_words]
        absent = [word for word in words if word not in vocabulary]
        if absent:
            logging.warning(
                "config.report.words: not in the vocabulary, and not shown: %s", ", ".join(absent)
            )
        return [word for word in dict.fromkeys(words) if word in vocabulary]
    words = list(_AMBIGUOUS if language == "en" else ())
    if config.data.source == "pocket":
        domains = tuple(name for name in config.data.pocket_domains.split(",") if name)
        ambiguous = list(pocket.senses(language, domains))
        words = sorted(ambiguous, key=lambda word: word != "bank")
    words = [word for word in words if word in vocabulary][:_SHOWN_WORDS]
    # Ten times as many as are shown, because marks, short words and repetitions are left out.
    extras = view.index.most_ambiguous(language, 10 * _SHOWN_WORDS)
    extras = [word for word in extras if word not in words and word.isalpha() and len(word) > 2]
    return words + extras[: _SHOWN_WORDS - len(words)]


def _directions(view: SenseView, word: str, language: str) -> dict[str, Any]:
    senses = view.all(word, language, _NEAR, examples=_EXAMPLES)
    directions = {}
    for name in view.directions:
        in_direction = [sense for sense in senses if sense.direction == name]
        directions[name] = {
            "senses": [_describe_sense(sense) for sense in in_direction],
            "points": _points(view, name, in_direction),
        }
    return directions


def _describe_sense(sense: Sense) -> dict[str, Any]:
    return {
        "sense": sense.sense,
        "share": sense.share,
        "uses": sense.uses,
        "enabled": sense.enabled,
        "translations": [translation._asdict() for translation in sense.translations],
        "nearest": [near._asdict() for near in sense.nearest],
        "examples": list(sense.examples),
    }


def _points(view: SenseView, direction: str, senses: Sequence[Sense]) -> list[dict[str, Any]]:
    """The used senses and their neighbours in the plane of their first two principal components."""
    points: dict[tuple[str, int], dict[str, Any]] = {}
    used_senses = [sense for sense in senses if sense.uses]
    for sense in used_senses:
        points[sense.word, sense.sense] = {
            "label": sense.label,
            "language": sense.language,
            "own": True,
            "of": sense.sense,
        }
    for sense in used_senses:
        for near in sense.nearest:
            point = {"label": near.label, "language": near.language, "of": sense.sense}
            points.setdefault((near.word, near.sense), point)
    if len(points) < 3:
        return []
    plane = projection.principal({"": view.index.vectors(direction, points)})[""]
    return [{**point, "x": x, "y": y} for point, (x, y) in zip(points.values(), plane)]


def _export(view: SenseView, folder: str) -> list[str]:
    """Writes the files that an embedding projector reads; returns their names."""
    files = []
    config = []
    for place, name in enumerate(view.directions):
        ending = f"_{name}" if place else ""
        rows, vectors = view.export(name, _EXPORTED)
        vectors_file = f"vectors{ending}.tsv"
        metadata_file = f"metadata{ending}.tsv"
        _write(folder, vectors_file, ("\t".join(f"{x:.5g}" for x in row) for row in vectors))
        cells = ((f"{x:.4f}" if isinstance(x, float) else str(x) for x in row) for row in rows)
        _write(folder, metadata_file, map("\t".join, [_HEAD, *cells]))
        config += [
            "embeddings {",
            f'  tensor_name: "{name}"',
            f'  tensor_path: "{vectors_file}"',
            f'  metadata_path: "{metadata_file}"',
            "}",
        ]
        files += [vectors_file, metadata_file]
    _write(folder, "projector_config.pbtxt", config)
    return [*files, "projector_config.pbtxt"]


def _write(folder: str, name: str, lines: Any) -> None:
    atomic.write(os.path.join(folder, name), "".join(f"{line}\n" for line in lines))
