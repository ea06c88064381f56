"""SaELMo: ELMo that learns five senses of every word (A3-A7).

Command:
  python -m clwe_jax.main --config=configs/saelmo.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              2 x 4,096 cells, 200,000 words, an accelerator for days.
  :paper             A11: batch 512, window 16, 1M steps; V=800,000 fits a v3 slice (--plan=v3:4x8).

Context senses, beyond the paper, are purer: saelmo_context.py.
Twin without senses: elmo.py. As the paper prints it: --config.objective.senses.faithful=True.
Expected: Table 2 of the paper, WSD F1: SE2 .575, SE3 .586, SE07 .470, SE13 .560, SE15 .583.
At :laptop: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("elmo", scale)
    config.system = "SaELMo"
    config.objective.senses.update(
        senses=5, projected=16, alpha=0.01, init="seeded", fast_start=True, prune_share=0.1
    )
    config.objective.sense_input = "own"
    return config
