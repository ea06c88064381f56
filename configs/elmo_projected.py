"""ELMo with projection: two monolingual ELMos, one mapped onto the other (A10, A13).

Command:
  python -m clwe_jax.main --config=configs/elmo.py --workdir=runs/elmo_en
  python -m clwe_jax.main --config=configs/elmo.py --workdir=runs/elmo_de --config.data.languages=de
  python -m clwe_jax.main --config=configs/elmo_projected.py \
    --config.projection.source=runs/elmo_de --config.projection.target=runs/elmo_en

  The scales are those of elmo.py; the anchors are words of the runs' own text.

Expected: Table 3 of the paper, zero-shot NER F1: de 69.57, es 60.02, zh 63.15.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("elmo", scale, languages="en,de")
    config.system = "ELMo + projection"
    config.job = "project"
    return config
