"""Joint-Replace: joint training, dictionary words replaced at random in the text (E6).

Command:
  python -m clwe_jax.main --config=configs/joint_replace.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Expected at :laptop, in two minutes of one core: 81 of 100 sentences are found by CSLS, 39 of 100 words translated.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Joint-Replace"
    config.static.update(
        training="replace", replace_share=0.5, reallocation=False, refinement=False
    )
    # fastText's skip-gram. Width, passes and buckets follow the scale (presets/vectors.py).
    config.embeddings.update(
        window=5, negatives=5, min_count=5, learning_rate=0.05, subsample=1e-4, min_n=3, max_n=6
    )
    config.align.name = "procrustes"  # not used without refinement
    return config
