"""XLM: MLM and TLM on real parallel text (C4; Lample and Conneau, 2019).

Command:
  python -m clwe_jax.main --config=configs/xlm.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches:
                       python -m clwe_jax.data.prepare --config=configs/xlm.py:small --out=DIR \\
                         --config.data.pairs=PAIRS
                       python -m clwe_jax.main --config=configs/xlm.py:small \\
                         --config.data.source=batches:DIR
  :base              12 x 768, Wikipedia, one accelerator for days.
  :paper             12 x 768, 104 languages, batch 8,192 x 512, LAMB, 500k steps, a v3 slice of 256
                     cores; --plan=v3:8x16 compiles it and forecasts its cost without a TPU.

Without parallel text, --config.data.pairs=mined: the run first mines the sentences that its texts
share, as configs/mined_vectors.py does, and --config.data.pairs=RUN/mined takes those of another run.

Expected: Table 1 of the DICT-MLM paper (public XLM): NER 61.2, POS 71.3, XNLI 69.1, PAWS-X 80.9, Tatoeba 32.6.
At :laptop: docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("mbert", scale)
    config.system = "XLM"
    # mBERT's sizes; the masks of the paper, and rows for both sentences of a pair.
    config.task = options.section_of("task", "tlm", parallel_share=0.5)
    config.data.max_predictions = 0
    config.model.norm = "post"
    if scale == "laptop":
        config.optimizer.name = "adamw"
        config.optimizer.groups = {}
        config.train.steps = 3_000
        config.checkpoint.every_steps = 500
    return config
