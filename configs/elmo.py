"""ELMo: a bidirectional language model that reads words as characters (A1, A2).

Command:
  python -m clwe_jax.main --config=configs/elmo.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              2 x 4,096 cells, 200,000 words, an accelerator for days.
  :paper             A11: batch 512, window 16, 1M steps; V=800,000 fits a v3 slice (--plan=v3:4x8).

The twin of saelmo.py, without senses.
Expected: Table 2 of the paper, WSD F1: SE2 .555, SE3 .576, SE07 .446, SE13 .544, SE15 .538.
At :laptop: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.elmo(scale, languages="en")
    config.system = "ELMo"
    config.objective.senses.senses = 1
    return config
