"""CLCR: two monolingual language models made one, step by step (B1-B7).

Command:
  python -m clwe_jax.main --config=configs/clcr.py

  :laptop (default)  the embedded world: trains a Japanese and an English model, then maps, extracts,
                     reorders and learns entailment; about 20 minutes of one core.
  :small, :base      your models and parallel sentences:
                       --config.clcr.source=hf:bert-base-chinese --config.clcr.target=hf:bert-base-uncased
                       --config.data.languages=zh,en --config.data.pairs=DIR
  :paper             the paper's method (clcr.faithful), Chinese and English, and entailment

The vectors of all sentences are in temporary files of the run's folder: --plan=cpu:1 says how much disk
and memory a run needs.

Stages: transform (T of the source's vectors, by annealed attention matching, beside its baselines),
extract (pivots, and their predictor), reorder (absolute and relative order prediction), entailment
(ESIM on T, T + E, T + E + R and on translations). A stage that is done is kept. Use the result:
clwe_jax.api.load(DIR), whose `reduced()` also extracts and reorders.

Variants, by override:
  languages of similar order  --config.data.languages=de,en
  no annealing                --config.clcr.transform.beta=0
  a linear map                --config.clcr.transform.hidden=0
  encoders that learn too     --config.clcr.tune.rounds=1
  the paper's method          --config.clcr.faithful=True
  its distance alone          --config.clcr.contrast=0
  no entailment               --config.clcr.entailment.seeds=0

Expected: attention, annealed or not, finds more of the gold alignment than regression; relative order
prediction beats the source's own order. At :laptop: docs/lessons.md.
The paper's Table 1: distances .025 and .037 annealed, .138 and .207 without annealing.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.clcr(scale)
    config.system = "CLCR"
    return config
