"""CLCR: two monolingual language models made one, step by step (B1-B7).

Command:
  python -m clwe_jax.main --config=configs/clcr.py

  :laptop (default)  the embedded world: trains a Japanese and an English model, then maps, extracts,
                     reorders and learns entailment; about 20 minutes of one core.
  :small, :base,     your models and parallel sentences:
  :paper               --config.clcr.source=hf:bert-base-chinese --config.clcr.target=hf:bert-base-uncased
                       --config.data.languages=zh,en --config.clcr.parallel=DIR

The vectors of all words stay in memory: 250,000 sentences of 25 words and 768 dimensions take 19 GB a
side (:base, :paper), 50,000 take 4 GB (:small).

Stages: transform (T of the source's vectors, by annealed attention matching, beside its baselines),
extract (pivots, and their predictor), reorder (absolute and relative order prediction), entailment
(ESIM on T, T + E, T + E + R and on translations). A stage that is done is kept. Use the result: clwe_jax.api.load(DIR), whose `reduced()` also extracts and reorders.

Variants, by override:
  languages of similar order  --config.data.languages=de,en
  no annealing                --config.clcr.transform.beta=0
  a linear map                --config.clcr.transform.hidden=0
  encoders that learn too     --config.clcr.tune.rounds=1
  the paper's distance        --config.clcr.contrast=0
  no entailment               --config.clcr.entailment.seeds=0

Expected: annealed attention finds more of the gold alignment than attention at temperature 1 and
than regression; relative order prediction beats the source's own order. benchmarks/README.md has the
figures. The paper's Table 1: distances .025 and .037 annealed, .138 and .207 without annealing.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.clcr(scale)
    config.system = "CLCR"
    return config
