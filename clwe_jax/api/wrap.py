"""The models of `api.load`, made from loaded encoders."""

from __future__ import annotations

from clwe_jax.api.base import Loaded
from clwe_jax.api.beside import BesideModel
from clwe_jax.api.clcr import ClcrModel
from clwe_jax.api.model import Model
from clwe_jax.api.pair import PairModel
from clwe_jax.api.static import StaticModel
from clwe_jax.encoders.beside import BesideModels
from clwe_jax.encoders.clcr_models import ClcrModels
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.encoders.pair import PairModels
from clwe_jax.encoders.spaces import StaticSpaces

_KINDS: dict[type[LoadedEncoder], type[Loaded]] = {
    BesideModels: BesideModel,
    ClcrModels: ClcrModel,
    LanguageModel: Model,
    PairModels: PairModel,
    StaticSpaces: StaticModel,
}


def wrap_loaded(loaded: LoadedEncoder) -> Loaded:
    """The model with the methods of `api` that has the data of a loaded encoder."""
    return _KINDS[type(loaded)].of(loaded)
