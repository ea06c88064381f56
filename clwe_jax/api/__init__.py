"""Use a trained model: vectors of sentences and of words in context, nearest words, senses.

    from clwe_jax import api

    model = api.load("runs/dict_mlm_50")
    vectors = model.encode(["Die Bank ist geschlossen."], lang="de")

TensorFlow is not needed.
"""

from clwe_jax.api.model import Model, Neighbour, load
from clwe_jax.api.senses import Sense, SenseView, Translated
from clwe_jax.api.static import StaticModel, Translation

__all__ = [
    "Model", "Neighbour", "Sense", "SenseView", "StaticModel", "Translated", "Translation", "load",
]  # fmt: skip
