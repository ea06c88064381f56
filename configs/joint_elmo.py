"""Joint-ELMo: ELMo on two concatenated corpora (A12, A13).

Command:
  python -m clwe_jax.main --config=configs/joint_elmo.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh), or more languages.

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              2 x 4,096 cells, 200,000 words, an accelerator for days.
  :paper             A11: batch 512, window 12, 600k steps; V=800,000 fits a v3 slice (--plan=v3:4x8).

The twin of bi_saelmo.py, without senses and translations.
Expected: Table 3 of the paper, zero-shot NER F1: de 56.49, es 58.91, zh 53.47.
At :laptop: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("elmo", scale, languages="en,de")
    config.system = "Joint-ELMo"
    return config
