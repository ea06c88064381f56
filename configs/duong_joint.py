"""Joint training in which contexts also predict translations (E6; Duong et al. 2016).

Command:
  python -m clwe_jax.main --config=configs/duong_joint.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Expected: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Duong et al."
    config.static.update(training="duong", reallocation=False, refinement=False)
    # Width, passes and buckets follow the scale (presets/vectors.py).
    config.embeddings.update(
        window=5, negatives=5, min_count=5, learning_rate=0.05, subsample=1e-4, batch=512
    )
    config.align.name = "procrustes"  # not used without refinement
    return config
