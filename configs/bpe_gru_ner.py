"""BPE GRU: names by a GRU over a word's pieces, which learn with the tagger (C4).

Command:
  python -m clwe_jax.main --config=configs/bpe_gru_ner.py

The scales are those of configs/laser_top_ner.py. At :small, :base and :paper the pieces and their table
are those of LASER's encoder (--config.transfer.pieces=run:DIR or laser:DIR), as in the paper; at :laptop
the embedder has seen no text but the labelled rows.

Expected: Table 2, F1: English .742, Dutch .245, German .242, Spanish .167.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.laser_tagger(scale, "ner")
    config.system = "BPE GRU"
    config.encoder = "gru"
    config.transfer.search.trials = 0
    config.recipe.update(name="adam", schedule="constant", learning_rate=1e-3, patience=2, l2=1e-3)
    if scale == "laptop":
        config.recipe.l2 = 1e-5
    else:
        config.transfer.pieces = "run:runs/laser"
        config.transfer.embedder.width = 256 if scale == "small" else 320  # LASER's
    return config
