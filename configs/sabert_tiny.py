"""SaBERT-Tiny: BERT-Tiny that learns five senses of every word (A11).

Command:
  python -m clwe_jax.main --config=configs/sabert_tiny.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              4 x 512, 27,654 words, batch 128, 1M steps (A11).
  :paper             as :base.

Twin without senses: bert_tiny.py.
Expected: Table 2 of the paper, WSD F1: SE2 .611, SE3 .546, SE07 .446, SE13 .550, SE15 .579.
At :laptop: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("bert_tiny", scale)
    config.system = "SaBERT-Tiny"
    config.objective.senses.update(
        senses=5, projected=14, alpha=0.01, init="seeded", fast_start=True, prune_share=0.1
    )
    return config
