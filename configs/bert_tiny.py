"""BERT-Tiny: a masked language model of whole words (A11).

Command:
  python -m clwe_jax.main --config=configs/bert_tiny.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              4 x 512, 27,654 words, batch 128, 1M steps (A11).
  :paper             as :base.

The twin of sabert_tiny.py, without senses.
Expected: Table 2 of the paper, WSD F1: SE2 .596, SE3 .539, SE07 .466, SE13 .536, SE15 .572.
At :laptop: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.bert_tiny(scale, languages="en")
    config.system = "BERT-Tiny"
    config.objective.senses.senses = 1
    return config
