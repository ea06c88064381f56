"""Monolingual models in one space by learned networks: CLCR (B1-B6)."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax import atomic, options
from clwe_jax.align.predictors import TrainedClassifier
from clwe_jax.align.whitening import Whitening
from clwe_jax.encoders.clcr import ClcrEncoder, ClcrSteps
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.encoders.pair import PairModels
from clwe_jax.objectives.transformed import Transformed
from clwe_jax.training import heads

FILE = "clcr.npz"  # arrays of a finished run
SETTINGS = "clcr.json"  # its languages, encoders and thresholds


class Space(NamedTuple):
    """The vectors of a language that are mapped.

    Attributes:
      layers: the layers whose mean is taken.
      whitening: of that mean.
    """

    layers: tuple[int, ...]
    whitening: Whitening


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ClcrModels(PairModels):
    """Monolingual models; the source's is mapped to the target's space by T, as those of its hub are.

    Attributes:
      steps: predictors of pivots and of their order.
    """

    steps: ClcrSteps
    kind_name = "CLCR's pairs of models"

    def reduced(
        self, extract: bool = True, reorder: bool = True, threshold: float | None = None
    ) -> ClcrEncoder:
        """The encoder with the steps E and R: vectors of pivots alone, in one language's order.

        Args:
          threshold: least probability of a pivot; None: the run's.
        """
        steps = self.steps
        if threshold is not None:
            steps = dataclasses.replace(steps, threshold=threshold)
        return ClcrEncoder(self.encoder(), steps, extract, reorder)


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
    settings = atomic.read_json(path)
    for language, place in settings["encoders"].items():
        kind, _, address = place.partition(":")
        settings["encoders"][language] = f"{kind}:{options.resolve_path(address, workdir)}"
    return settings


def tuned_file(workdir: str, language: str) -> str:
    """The file of a model's parameters after its fine-tuning."""
    return os.path.join(workdir, f"tuned_{language}.npz")


def save(
    workdir: str,
    settings: Mapping[str, Any],
    spaces: Mapping[str, Space],
    transform: Mapping[str, np.ndarray],
    predictors: Mapping[str, TrainedClassifier],
) -> None:
    """Writes the result of a run.

    Args:
      settings: 'encoders' (language -> 'run:DIR' or 'hf:DIR', the source's first), 'reordered' (the
        language whose order changes), 'hub' (folders of runs whose languages are part of the model)
        and the fields of `ClcrSteps` that are no predictors.
      spaces: language -> its layers and their whitening.
      transform: parameters of T from the source to the target.
      predictors: 'pivots/{language}' and 'order' -> a predictor.
    """
    stored_spaces = {}
    for language, x in spaces.items():
        whitening = {name: np.asarray(y) for name, y in x.whitening._asdict().items()}
        stored_spaces[language] = {"layers": np.array(x.layers, np.int32), **whitening}
    arrays = {
        "transform": dict(transform),
        "space": stored_spaces,
        # Slashes in these names become nested dictionaries where `heads.load` reads them.
        **{name: dict(predictor.params) for name, predictor in predictors.items()},
    }
    heads.save(arrays, os.path.join(workdir, FILE))
    movable = {
        language: _movable(place, workdir) for language, place in settings["encoders"].items()
    }
    atomic.write_json(os.path.join(workdir, SETTINGS), {**settings, "encoders": movable})


def _movable(place: str, workdir: str) -> str:
    """An encoder's place; the path of one within the run is relative."""
    kind, _, address = place.partition(":")
    is_inside = os.path.abspath(address).startswith(os.path.abspath(workdir) + os.sep)
    # Relative to the folder of the start, in which `options.resolve_path` looks for it.
    return f"{kind}:{os.path.relpath(address)}" if is_inside else place


def load(
    workdir: str, step: int | None, open_run: Callable[[str, Sequence[str], str], LoadedEncoder]
) -> ClcrModels:
    """The models of a CLCR run and of its hub, with transforms, pivots and orders.

    Args:
      step: not used; the encoders' newest checkpoints are read.
      open_run: opens the run's encoders; `load.of_run`.

    Raises:
      FileNotFoundError: the run is not finished.
      ValueError: a damaged file, or an encoder that cannot be read.
    """
    path = os.path.join(workdir, FILE)
    with atomic.naming_damage(path, "Start the run again"):
        settings = _settings(workdir)
        arrays = heads.load(path)

    places = settings.pop("encoders")
    source = next(iter(places))
    moved_language = settings.pop("reordered", source)
    hub = settings.pop("hub", [])
    pivots = {language: TrainedClassifier(arrays["pivots"][language]) for language in places}
    orders = {moved_language: TrainedClassifier(arrays["order"])}
    models: dict[str, LanguageModel] = {}
    for folder in hub:
        hub_models = load(options.resolve_path(folder, workdir), step, open_run)
        models |= {x: model for x, model in hub_models.models.items() if x not in models}
        # This run's own predictors precede those of its hub, and a first run's those of later ones.
        pivots = {**hub_models.steps.pivots, **pivots}
        orders = {**hub_models.steps.orders, **orders}
    # The target first, as readers of `models` expect it.
    for language, place in reversed(places.items()):
        if language in models:
            continue  # the hub's target, as its first run left it
        space = arrays["space"][language]
        model = open_run(place, [language], workdir)
        if os.path.exists(tuned_file(workdir, language)):
            model = model.with_parameters(heads.load(tuned_file(workdir, language)))
        params = arrays["transform"] if language == source else None
        layers = tuple(space.pop("layers").tolist())
        mapped = Transformed(model.objective, layers, Whitening(**space), params)
        models[language] = dataclasses.replace(model, projection=mapped)
    return ClcrModels(models, ClcrSteps(pivots, orders, **settings))
