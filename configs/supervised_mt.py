"""A Transformer that learns to translate from parallel text: the ceiling of unsupervised_mt.py.

Command:
  python -m clwe_jax.main --config=configs/supervised_mt.py

The scales, the model, its start and the measurements are those of configs/unsupervised_mt.py. The
parallel text is config.data.pairs (see configs/laser.py); the embedded world's has a quarter as
many pairs as there are sentences of a language.

Expected: near 100 BLEU at :laptop after 2,400 steps (--config.train.steps=2400), half of it after 600:
docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.supervised_translation(scale)
    config.system = "Supervised MT"
    return config
