"""Joint-align: joint training, vocabulary reallocation, alignment refinement (E1-E3).

Command:
  python -m clwe_jax.main --config=configs/joint_align.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Ablations, each by override:
  joint only         --config.static.reallocation=False --config.static.refinement=False
  reallocation only  --config.static.refinement=False
  refinement only    --config.static.reallocation=False
  other aligners     --config.align.name=geomm (procrustes, adversarial, self_learning, ...)

Expected: Tables 1-2 of the paper: both steps help, and help most together.
At :laptop, in two minutes of one core: 91 of 100 sentences are found by CSLS, 45 of 100 words translated.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Joint-Align"
    config.static.update(
        training="joint", reallocation=True, rule="ratio", gamma=0.9, refinement=True
    )
    # fastText's skip-gram. Width, passes and buckets follow the scale (presets/vectors.py).
    config.embeddings.update(
        window=5, negatives=5, min_count=5, learning_rate=0.05, subsample=1e-4, min_n=3, max_n=6
    )
    config.align.name = "rcsls"
    return config
