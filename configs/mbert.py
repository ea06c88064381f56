"""mBERT: plain whole-word MLM, the baseline of DICT-MLM (D7).

Command:
  python -m clwe_jax.main --config=configs/mbert.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches:
                       python -m clwe_jax.data.prepare --config=configs/mbert.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/mbert.py:small \\
                         --config.data.source=batches:DIR
  :base              12 x 768, Wikipedia, one accelerator for days.
  :paper             12 x 768, 104 languages, batch 8,192 x 512, LAMB, 500k steps, a v3 slice of 256
                     cores; --plan=v3:8x16 compiles and costs it without one.

At :laptop and :small it predicts as many words as dict_mlm_50.py, of which as many can be read.

Expected: Table 1 of the paper (own mBERT): NER 68.9, POS 67.9, XNLI 68.1, PAWS-X 79.5, MLDoc 65.2, Tatoeba 33.3.
At :laptop, in three minutes of one core: docs/results.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.mlm(scale)
    config.system = "mBERT"
    return config
