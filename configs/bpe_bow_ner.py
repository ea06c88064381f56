"""BPE BOW: names by the mean of a word's piece embeddings, which learn with the tagger (C4).

Command:
  python -m clwe_jax.main --config=configs/bpe_bow_ner.py

The scales are those of configs/laser_top_ner.py. This embedder has seen no text but the labelled
rows: it is the floor of the LASER paper's Table 2.

Expected: Table 2, F1: English .509, Dutch .247, German .187, Spanish .033.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.laser_tagger(scale, "ner")
    config.system = "BPE BOW"
    config.encoder = "bow"
    config.transfer.search.trials = 0
    config.recipe.update(name="adam", schedule="constant", learning_rate=1e-3, patience=2, l2=1e-3)
    if scale == "laptop":
        config.recipe.l2 = 1e-5
    return config
