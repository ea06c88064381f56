"""LASER-top: names by the larger direction of LASER's top layer (C2; the LASER paper's Table 2).

Command:
  python -m clwe_jax.main --config=configs/laser.py --workdir=LASER
  python -m clwe_jax.main --config=configs/laser_top_ner.py --config.encoder=run:LASER

  :laptop (default)  the embedded world. :small, :base, :paper: your files
                     (--config.transfer.train=en:FILE --config.transfer.tests=DIR).

A word is the maximum over its pieces. The tagger is two Transformer layers and a CRF, as in
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
