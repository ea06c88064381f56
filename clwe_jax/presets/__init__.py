"""What several systems share at each of the four scales, and how a config starts from another one.

A config file in `configs/` takes one of these presets and sets the values of its system. The presets
are in the package, so that a config file works from any folder, and import neither jax nor
TensorFlow, so that `--help` answers at once.
"""

from clwe_jax.presets.base import pick_for, start_from, translation
from clwe_jax.presets.masked import masked_model
from clwe_jax.presets.transfer import laser_tagger, transfer
from clwe_jax.presets.vectors import static
from clwe_jax.presets.words import senses, word_model

__all__ = [
    "laser_tagger",
    "masked_model",
    "pick_for",
    "senses",
    "start_from",
    "static",
    "transfer",
    "translation",
    "word_model",
]
