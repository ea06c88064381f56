"""Vectors of each language alone, aligned by VecMap's supervised map (E6).

Command:
  python -m clwe_jax.main --config=configs/align_vecmap.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Both sides are whitened, rotated onto each other, re-weighted by how well each direction agrees, and dewhitened
(Artetxe et al. 2018, AAAI). Of the aligners that take a dictionary it finds the most sentences and, for vectors of
little text, the most words. --config.align.name=self_learning --config.align.self_learning.self_learning=False
gives joint_align.py the same map. Words are compared in a space of each pair, not in the hub's, so that they cannot be
concatenated with a dictionary's vectors (joint_dictionary.py finds 13 points less with this map).

Vectors that you bring are aligned, evaluated and reported without training:
  python -m clwe_jax.main --config=configs/align_vecmap.py --config.data.languages=de,en \\
    --config.align.source_vectors=wiki.de.vec --config.align.target_vectors=wiki.en.vec \\
    --config.data.dictionaries=DIR --config.evals.bli.data=DIR --config.evals.retrieval.data=''

The vectors are those of align_procrustes.py.

Expected at :laptop, in a minute of one core: 93 of 100 sentences are found by CSLS, 52 of 100 words translated.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("align_procrustes", scale)
    config.system = "VecMap"
    config.align.name = "self_learning"
    config.align.self_learning.update(
        self_learning=False, reweight=0.5, neighbourhood=10, preprocess=("unit", "center", "unit")
    )
    return config
