"""CLCR: two monolingual language models made one, step by step (B1-B7).

Command:
  python -m clwe_jax.main --config=configs/clcr.py

  :laptop (default)  the embedded world: trains a Japanese and an English model, then maps, extracts,
                     reorders and learns entailment; about 15 minutes of one core.
  :small, :base      your models and parallel sentences:
                       --config.clcr.source=hf:bert-base-chinese --config.clcr.target=hf:bert-base-uncased
                       --config.data.languages=zh,en --config.data.pairs=DIR
  :paper             the paper's method (clcr.faithful), Chinese and English, and entailment, with mBERT

Temporary files in the run's folder hold the vectors of all sentences.

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

from clwe_jax.options.clcr import ClcrRun
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, at


def get_config(scale: str = "laptop"):
    config = at(scale, ClcrRun)
    config.system = "CLCR"
    config.clcr.faithful = scale == "paper"
    if scale == "laptop":
        config.data.update(pocket_domains=DOMAINS, pocket_sentences=30_000)
        # The best of three choices of layers on development sentences; docs/lessons.md has the effect.
        config.clcr.encoder.update(steps=2_000, vocab_kind="word", vocab_size=4_000, layer="0-1")
        config.clcr.update(sentences=6_000, length=32)
        config.clcr.transform.update(hidden=256, steps=4_000)
        config.clcr.tune.update(steps=200, learning_rate=3e-4)
        config.clcr.predictor.update(hidden=128, steps=1_000)
        config.clcr.entailment.seeds = 5
        return config
    config.data.update(source=YOUR_TEXT["source"], pairs="parallel")
    if scale == "small":
        config.clcr.sentences = 50_000
    if scale == "paper":
        config.data.languages = "zh,en"
        config.clcr.update(source="hf:bert-base-chinese", target="hf:bert-base-uncased")
        config.clcr.entailment.update(seeds=1, train="en:nli/train.en.tsv", tests="nli")
        config.clcr.entailment.multilingual = "hf:bert-base-multilingual-uncased"
    return config
