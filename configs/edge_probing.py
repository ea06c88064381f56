"""Edge probing: what vectors of words know of words, phrases and pairs of phrases (B8).

Command, after the encoder's (configs/clcr.py, minutes):
  python -m clwe_jax.main --config=configs/edge_probing.py

A head on frozen vectors pools the words of one span or two and says which labels hold (Tenney et al.
2019): learned on English spans, tested on the spans of all languages. Tasks: edge/pos, edge/consts,
edge/entities, edge/srl, edge/coref in the embedded world; with files also edge/deps, edge/spr and
edge/relations.

  :laptop (default)  the embedded world, and the encoder in runs/clcr, or --config.encoder=
  :small, :base,     your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, and an
  :paper               encoder; JSON lines of the edge probing data, CoNLL-U, or files of ner and pos

Variants, by override:
  one language, unmapped  --config.encoder=run:runs/clcr/encoders/en --config.data.languages=en
  T + E                   --config.transfer.reduce=extract [--config.transfer.pivot_probability=.5]
  another task            --config.transfer.task=edge/srl

Expected: T is below the model of English alone, and T + E below T, because the labels of words that
are no pivots are lost (Table 5: parts of speech 97.6, 92.4, 82.2; roles 89.3, 86.0, 83.1).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "edge/pos", "edge")
    config.system = "Edge probing"
    config.encoder = "run:runs/clcr"
    config.data.languages = "en,ja"
    # Tenney et al.: Adam, batches of 32, half the rate where the development figure stands still.
    config.recipe.update(
        learning_rate=1e-4, epochs=30, schedule="halve", patience=2, least_rate=1e-6
    )
    if scale == "laptop":
        config.transfer.update(embedded_rows=8_000, embedded_tests=2_000)
        config.transfer.head.update(width=64, hidden=64)
        config.recipe.update(learning_rate=2e-3, epochs=8, least_rate=2e-4)
    else:
        config.transfer.update(train="en:edges/en.train.json", tests="edges")
    return config
