"""Monolingual models in one space by learned networks: CLCR (B1-B6)."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Mapping, NamedTuple

import numpy as np

from clwe_jax import atomic, options
from clwe_jax.align.predictors import Predictor
from clwe_jax.align.whitening import Whitening
from clwe_jax.api import encoders
from clwe_jax.api.clcr_model import ClcrModel
from clwe_jax.api.model import Model
from clwe_jax.encoders.clcr import Steps
from clwe_jax.objectives.transformed import Transformed
from clwe_jax.training import heads

FILE = "clcr.npz"  # arrays of a finished run
SETTINGS = "clcr.json"  # its languages, encoders and thresholds
ENCODERS = "encoders"  # folder of the encoders that a run trained


class Space(NamedTuple):
    """The vectors of a language that are mapped.

    Attributes:
      layers: the layers whose mean is taken.
      whitening: of that mean.
    """

    layers: tuple[int, ...]
    whitening: Whitening


def encoders_of(workdir: str) -> dict[str, str]:
    """Language -> encoder ('run:DIR' or 'hf:DIR') of a finished run, the source's first.

    Raises:
      FileNotFoundError: the run is not finished.
    """
    return _settings(workdir)["encoders"]


def _settings(workdir: str) -> dict[str, Any]:
    path = os.path.join(workdir, SETTINGS)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is missing: the run is not finished; start it again with "
            f"python -m clwe_jax.main --config=configs/clcr.py --workdir={workdir}"
        )
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    for language, place in found["encoders"].items():
        kind, _, where = place.partition(":")
        found["encoders"][language] = f"{kind}:{options.placed(where, workdir)}"
    return found


def tuned_file(workdir: str, language: str) -> str:
    """The file of a model's parameters after its fine-tuning."""
    return os.path.join(workdir, f"tuned_{language}.npz")


def with_parameters(model: Model, params: Mapping[str, Any]) -> Model:
    """The model with other parameters."""
    return dataclasses.replace(model, variables={**model.variables, "params": params})


def save(
    workdir: str,
    settings: Mapping[str, Any],
    spaces: Mapping[str, Space],
    transform: Mapping[str, np.ndarray],
    predictors: Mapping[str, Predictor],
) -> None:
    """Writes the result of a run.

    Args:
      workdir: the run's folder.
      settings: 'encoders' (language -> 'run:DIR' or 'hf:DIR', the source's first), 'reordered' (the
        language whose order changes), 'hub' (folders of runs whose languages are part of the model)
        and the fields of `Steps` that are no predictors.
      spaces: language -> its layers and their whitening.
      transform: parameters of T from the source to the target.
      predictors: 'pivots/{language}' and 'order' -> a predictor.
    """
    arrays = {
        "transform": dict(transform),
        "space": {
            language: {
                "layers": np.array(x.layers, np.int32),
                **{name: np.asarray(y) for name, y in x.whitening._asdict().items()},
            }
            for language, x in spaces.items()
        },
        **{name: dict(predictor.params) for name, predictor in predictors.items()},
    }
    heads.save(arrays, os.path.join(workdir, FILE))
    movable = {language: _movable(place, workdir) for language, place in settings["encoders"].items()}
    atomic.write_json(os.path.join(workdir, SETTINGS), {**settings, "encoders": movable})


def _movable(place: str, workdir: str) -> str:
    """An encoder's place; the path of one within the run is relative (see `options.placed`)."""
    kind, _, where = place.partition(":")
    inside = os.path.abspath(where).startswith(os.path.abspath(workdir) + os.sep)
    return f"{kind}:{os.path.relpath(where)}" if inside else place


def load(workdir: str, step: int | None = None) -> ClcrModel:
    """The models of a CLCR run and of its hub, with transforms, pivots and orders; see `api.load`.

    Args:
      workdir: the run's folder.
      step: not used; the encoders' newest checkpoints are read.

    Raises:
      FileNotFoundError: the run is not finished.
      ValueError: a damaged file, or an encoder that cannot be read.
    """
    del step
    path = os.path.join(workdir, FILE)
    try:
        settings = _settings(workdir)
        arrays = heads.load(path)
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged ({error}): start the run again") from error

    places = settings.pop("encoders")
    source = next(iter(places))
    moved, hub = settings.pop("reordered", source), settings.pop("hub", [])
    pivots = {language: Predictor(arrays["pivots"][language]) for language in places}
    orders = {moved: Predictor(arrays["order"])}
    models: dict[str, Model] = {}
    for folder in hub:
        other = load(options.placed(folder, workdir))
        models |= {x: model for x, model in other.models.items() if x not in models}
        pivots, orders = {**other.steps.pivots, **pivots}, {**other.steps.orders, **orders}
    for language, place in reversed(places.items()):
        if language in models:
            continue  # the hub's target, as its first run left it
        found = arrays["space"][language]
        model = encoders.of_run(place, [language], workdir)
        if os.path.exists(tuned_file(workdir, language)):
            model = with_parameters(model, heads.load(tuned_file(workdir, language)))
        params = arrays["transform"] if language == source else None
        layers = tuple(found.pop("layers").tolist())
        mapped = Transformed(model.objective, layers, Whitening(**found), params)
        models[language] = dataclasses.replace(model, projection=mapped)
    return ClcrModel(models, Steps(pivots, orders, **settings))
