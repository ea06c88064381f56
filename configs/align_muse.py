"""Vectors of each language alone, aligned by MUSE without a dictionary (E4).

Command:
  python -m clwe_jax.main --config=configs/align_muse.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Vectors that you bring are aligned, evaluated and reported without training:
  python -m clwe_jax.main --config=configs/align_muse.py --config.data.languages=de,en \\
    --config.align.source_vectors=wiki.de.vec --config.align.target_vectors=wiki.en.vec \\
    --config.data.dictionaries=DIR --config.evals.bli.data=DIR --config.evals.retrieval.data=''

The vectors are those of align_procrustes.py.

Expected: nothing from a small text, whose words have too few contexts (docs/lessons.md).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("align_procrustes", scale)
    config.system = "MUSE"
    config.align.name = "adversarial"
    config.align.supervised = False
    # The words of an epoch and the discriminator's width follow the scale (presets/vectors.py).
    config.align.adversarial.update(
        epochs=5,
        batch_size=32,
        discriminator_steps=5,
        discriminator_rate=0.1,
        map_rate=0.1,
        decay=0.98,
        most_frequent=75_000,
        refinements=5,
    )
    return config
