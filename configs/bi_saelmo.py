"""Bi-SaELMo: several senses of every word, joined with their translations' (A8, A12).

Command:
  python -m clwe_jax.main --config=configs/bi_saelmo.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh). Any number of languages may stand
  there; the one to translate to is drawn for each occurrence.

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              2 x 4,096 cells, 200,000 words, an accelerator for days.
  :paper             A11: batch 512, window 12, 600k steps; V=800,000 fits a v3 slice (--plan=v3:4x8).

Senses selected by context, beyond the paper, purer and better at choosing translations:
bi_saelmo_context.py. Twin without senses: joint_elmo.py.
Expected: Table 3 of the paper, zero-shot NER F1 after projection: de 72.19, es 65.86, zh 63.44.
The laptop's figures stand in benchmarks/README.md.
"""

from clwe_jax import config_senses


def get_config(scale: str = "laptop"):
    return config_senses.sense_config(
        scale,
        system="Bi-SaELMo",
        backbone="bilm",
        languages="en,de",
        # In the small embedded world more words have the same form in both languages and share senses.
        senses=5 if scale == "laptop" else 3,
        translation="joint",
    )
