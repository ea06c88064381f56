"""A Transformer that learns from parallel text: the ceiling of unsupervised_mt.py.

Command:
  python -m clwe_jax.main --config=configs/supervised_mt.py

The scales, the model, its start and the measurements are those of configs/unsupervised_mt.py. The
parallel text is config.data.pairs, as in configs/laser.py; the embedded world's has a quarter as
many pairs as there are sentences of a language.

Expected: near 100 BLEU at :laptop after 2,400 steps (--config.train.steps=2400), half of it after 600:
docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("unsupervised_mt", scale)
    config.system = "Supervised MT"
    config.task = options.section_of("task", "translation", widths=config.task.widths)
    config.objective = options.section_of("objective", "translation")
    if scale != "laptop":
        config.data.pairs = "parallel"
    return config
