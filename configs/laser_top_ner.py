"""LASER-top: names by the larger direction of LASER's top layer (C2, Table 2).

Command, after the encoder's (configs/laser.py, minutes):
  python -m clwe_jax.main --config=configs/laser_top_ner.py

  :laptop (default)  the embedded world, and the encoder in runs/laser, or --config.encoder=
  :small, :base,     your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, and an
  :paper               encoder: --config.encoder=run:DIR or laser:DIR

A word's vector is the maximum over its pieces. The tagger is two Transformer layers and a CRF, as in
configs/tag_transformer_crf.py, trained by 1cycle SGD, the paper's recipe for LASER's encoders.

Expected: Table 2, F1 without training in the language: English .803, Dutch .578, German .617,
Spanish .511, Basque .241, Hungarian .414.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.laser_tagger(scale, "ner")
    config.system = "LASER-top"
    config.transfer.layers = "top"
    return config
