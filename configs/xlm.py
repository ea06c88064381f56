"""XLM: MLM and TLM on real parallel text (C4; Lample and Conneau, 2019).

Command:
  python -m clwe_jax.main --config=configs/xlm.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches:
                       python -m clwe_jax.data.prepare --config=configs/xlm.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/xlm.py:small \\
                         --config.data.source=batches:DIR
  :base              12 x 768, Wikipedia, one accelerator for days.
  :paper             12 x 768, 104 languages, batch 8,192 x 512, LAMB, 500k steps, a v3 slice of 256
                     cores; --plan=v3:8x16 compiles and costs it without one.

Without parallel text, --config.data.pairs=mined: the run first mines the sentences that its texts
share, as configs/mined_vectors.py does, and --config.data.pairs=RUN/mined takes those of another run.

Expected: Table 1 of the DICT-MLM paper (public XLM): NER 61.2, POS 71.3, XNLI 69.1, PAWS-X 80.9, Tatoeba 32.6.
At :laptop: docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.bert(scale)
    config.system = "XLM"
    # At laptop, small, base, paper:
    pick = presets.pick_for(scale)
    config.vocab.size = pick(8_192, 32_768, 119_552, 119_552)
    config.data.sequence_length = pick(64, 128, 128, 512)
    config.model.update(
        layers=pick(2, 6, 12, 12),
        width=pick(128, 384, 768, 768),
        heads=pick(4, 6, 12, 12),
        mlp_dim=pick(512, 1_536, 3_072, 3_072),
        dropout=pick(0.0, 0.1, 0.1, 0.1),
    )
    # LAMB is made for batches of thousands of rows; AdamW is as good below.
    config.optimizer.update(
        name=pick("adamw", "adamw", "adamw", "lamb"),
        learning_rate=pick(3e-3, 1e-3, 5e-4, 1.6e-3),
        warmup_steps=pick(100, 1_000, 10_000, 10_000),
    )
    config.train.update(
        steps=pick(3_000, 20_000, 500_000, 500_000), batch_size=pick(32, 256, 256, 8_192)
    )

    config.task = options.section_of("task", "tlm", parallel_share=0.5)
    config.checkpoint.every_steps = pick(500, 2_000, 5_000, 2_000)
    return config
