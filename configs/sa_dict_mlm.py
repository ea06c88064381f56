"""DICT-MLM of senses: a masked word's label is the best-fitting sense of a translation.

Command:
  python -m clwe_jax.main --config=configs/sa_dict_mlm.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh). Any number of languages is allowed;
  the translations into each other language weigh the same.

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              4 x 512, 27,654 words, batch 128, 1M steps (A11).
  :paper             as :base.

Beyond the papers: DICT-MLM draws a translation at random; here the sense decides.
Expected: no paper has this system; docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("bert_tiny", scale, languages="en,de")
    config.system = "SA-DICT-MLM"
    config.objective.senses.update(
        senses=3,
        projected=14,
        alpha=0.01,
        init="seeded",
        fast_start=True,
        prune_share=0.1,
        translated_share=0.1,
    )
    config.objective.translation_share = 0.5
    return config
