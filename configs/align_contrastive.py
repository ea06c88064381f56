"""Vectors of each language alone, aligned by RCSLS and a contrastive finish.

Command:
  python -m clwe_jax.main --config=configs/align_contrastive.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Vectors that you bring are aligned, evaluated and reported without training:
  python -m clwe_jax.main --config=configs/align_contrastive.py --config.data.languages=de,en \\
    --config.align.source_vectors=wiki.de.vec --config.align.target_vectors=wiki.en.vec \\
    --config.data.dictionaries=DIR --config.evals.bli.data=DIR --config.evals.retrieval.data=''

The finish is beyond the papers: InfoNCE on the dictionary's pairs (`clwe_jax.align.contrastive`).
Expected: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("align_procrustes", scale)
    config.system = "RCSLS, contrastive"
    config.align.name = "contrastive"
    # "geomm" starts from GeoMM's maps.
    config.align.contrastive.start = "rcsls"
    config.align.contrastive.update(
        temperature=0.1,
        learning_rate=0.003,
        epochs=100,
        patience=20,
        batch_size=512,
        negatives=512,
        max_words=20_000,
        validation=0.1,
    )
    config.align.contrastive.start_options = config.align.rcsls.copy_and_resolve_references()
    return config
