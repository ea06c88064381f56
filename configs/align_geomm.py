"""Vectors of each language alone, aligned by GeoMM (E3; Jawanpuria et al. 2019).

Command:
  python -m clwe_jax.main --config=configs/align_geomm.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Vectors that you bring are aligned, evaluated and reported without training:
  python -m clwe_jax.main --config=configs/align_geomm.py --config.data.languages=de,en \\
    --config.align.source_vectors=wiki.de.vec --config.align.target_vectors=wiki.en.vec \\
    --config.data.dictionaries=DIR --config.evals.bli.data=DIR --config.evals.retrieval.data=''

The vectors are those of align_procrustes.py.

Expected at :laptop, in a minute of one core: 92 of 100 sentences are found by CSLS, 52 of 100 words translated.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("align_procrustes", scale)
    config.system = "GeoMM"
    config.align.name = "geomm"
    config.align.geomm.update(l2=100.0, preprocess=("unit", "center"))
    return config
