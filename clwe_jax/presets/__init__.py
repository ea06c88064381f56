"""The values that several systems share at each of the four scales.

A config file in `configs/` takes one of these presets and sets the values of its system. The presets
are in the package, so that a config file works from any folder, and import neither jax nor
TensorFlow, so that `--help` answers at once.
"""

from clwe_jax.presets.bert_presets import bert, dict_mlm, mlm
from clwe_jax.presets.clcr import clcr
from clwe_jax.presets.transfer import esim, laser_tagger, transfer
from clwe_jax.presets.translation import (
    supervised_translation,
    translation,
    unsupervised_translation,
)
from clwe_jax.presets.vectors import joint_align, static
from clwe_jax.presets.words import bert_tiny, elmo

__all__ = [
    "bert",
    "bert_tiny",
    "clcr",
    "dict_mlm",
    "elmo",
    "esim",
    "joint_align",
    "mlm",
    "laser_tagger",
    "static",
    "supervised_translation",
    "transfer",
    "translation",
    "unsupervised_translation",
]
