"""LASER-elmo: names by a learned mix of all of LASER's layers (C3, Table 2).

Command, after the encoder's (configs/laser.py, minutes):
  python -m clwe_jax.main --config=configs/laser_elmo_ner.py

The scales are those of configs/laser_top_ner.py. In every layer the larger direction counts. A word's
vector is the maximum over its pieces, after the mix (Eq. 3). The embeddings are not in the mix.

Expected: Table 2, F1: English .786, Dutch .424, German .414, Spanish .319, below LASER-top in all.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.laser_tagger(scale, "ner")
    config.system = "LASER-elmo"
    config.transfer.layers = "upper"
    return config
