"""Vectors of each language alone, aligned by orthogonal Procrustes (E3).

Command:
  python -m clwe_jax.main --config=configs/align_procrustes.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Vectors that you bring are aligned, evaluated and reported without training:
  python -m clwe_jax.main --config=configs/align_procrustes.py --config.data.languages=de,en \\
    --config.align.source_vectors=wiki.de.vec --config.align.target_vectors=wiki.en.vec \\
    --config.data.dictionaries=DIR --config.evals.bli.data=DIR --config.evals.retrieval.data=''

Expected at :laptop, in a minute of one core: 92 of 100 sentences are found by CSLS, 51 of 100 words translated.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Procrustes"
    config.static.update(training="separate", reallocation=False, refinement=True)
    # fastText's skip-gram. Width, passes and buckets follow the scale (presets/vectors.py).
    config.embeddings.update(
        window=5, negatives=5, min_count=5, learning_rate=0.05, subsample=1e-4, min_n=3, max_n=6
    )
    config.align.name = "procrustes"
    config.align.procrustes.update(preprocess=("unit",), refinements=0)
    return config
