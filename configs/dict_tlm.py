"""DICT-TLM: a sentence and its code-switched copy, masked together (D6).

Command:
  python -m clwe_jax.main --config=configs/dict_tlm.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches:
                       python -m clwe_jax.data.prepare --config=configs/dict_tlm.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/dict_tlm.py:small \\
                         --config.data.source=batches:DIR
  :base              12 x 768, Wikipedia, one accelerator for days.
  :paper             12 x 768, 104 languages, batch 8,192 x 512, LAMB, 500k steps, a v3 slice of 256
                     cores; --plan=v3:8x16 compiles it and forecasts its cost without a TPU.

Expected: Table 1 of the paper: NER 65.0, POS 71.6, XNLI 66.6, PAWS-X 84.8, MLDoc 67.7, Tatoeba 36.9.
At :laptop: docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("xlm", scale)
    config.system = "DICT-TLM"
    config.task = options.section_of("task", "dict_tlm", copy_switch_rate=0.5)
    return config
