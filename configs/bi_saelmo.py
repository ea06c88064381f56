"""Bi-SaELMo: several senses of every word, joined with their translations' (A8, A12).

Command:
  python -m clwe_jax.main --config=configs/bi_saelmo.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh). Any number of languages is allowed;
  the translations into each other language weigh the same.

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              2 x 4,096 cells, 200,000 words, an accelerator for days.
  :paper             A11: batch 512, window 12, 600k steps; V=800,000 fits a v3 slice (--plan=v3:4x8).

Context senses, beyond the paper, are purer and choose translations better: bi_saelmo_context.py.
Twin without senses: joint_elmo.py.
Expected: Table 3 of the paper, zero-shot NER F1 after projection: de 72.19, es 65.86, zh 63.44.
Expected at :laptop, in twelve minutes of one core: 52 of 100 sentences are found by CSLS (15 by
joint_elmo.py), and senses have a purity of .82.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("elmo", scale, languages="en,de")
    config.system = "Bi-SaELMo"
    # In a small world more words are spelled alike in both languages and share their senses.
    config.objective.senses.update(
        senses=5 if scale == "laptop" else 3,
        projected=16,
        alpha=0.01,
        init="seeded",
        fast_start=True,
        prune_share=0.1,
        translated_share=0.1,
    )
    config.objective.sense_input = "own"
    config.objective.translation_share = 0.5
    return config
