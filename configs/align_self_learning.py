"""Vectors of each language alone, aligned by VecMap's self-learning (E6).

Command:
  python -m clwe_jax.main --config=configs/align_self_learning.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Vectors that you bring are aligned, evaluated and reported without training:
  python -m clwe_jax.main --config=configs/align_self_learning.py --config.data.languages=de,en \\
    --config.align.source_vectors=wiki.de.vec --config.align.target_vectors=wiki.en.vec \\
    --config.data.dictionaries=DIR --config.evals.bli.data=DIR --config.evals.retrieval.data=''

The vectors are those of align_procrustes.py.

Expected: nothing from a small text, whose words have too few contexts (docs/lessons.md).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("align_procrustes", scale)
    config.system = "Self-learning"
    config.align.name = "self_learning"
    config.align.supervised = False
    # The number of words follows the scale (presets/vectors.py).
    config.align.self_learning.update(
        self_learning=True,
        initial_words=4_000,
        keep=0.1,
        multiplier=2.0,
        interval=50,
        reweight=0.5,
        preprocess=("unit", "center", "unit"),
    )
    return config
