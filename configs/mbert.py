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
                     cores; --plan=v3:8x16 compiles it and forecasts its cost without a TPU.

At :laptop and :small it predicts as many words as dict_mlm_50.py, and as many of them stay visible. At :laptop the
matrices of the layers learn by Muon, as there.

Expected: Table 1 of the paper (own mBERT): NER 68.9, POS 67.9, XNLI 68.1, PAWS-X 79.5, MLDoc 65.2, Tatoeba 33.3.
At :laptop, in four minutes of one core: docs/results.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.masked_model(scale)
    config.system = "mBERT"
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
        name=pick("muon", "adamw", "adamw", "lamb"),
        learning_rate=pick(3e-3, 1e-3, 5e-4, 1.6e-3),
        warmup_steps=pick(100, 1_000, 10_000, 10_000),
    )
    config.train.update(
        steps=pick(750, 20_000, 500_000, 500_000), batch_size=pick(32, 256, 256, 8_192)
    )
    if scale == "laptop":
        # Muon learns the matrices of the layers, at a rate of its own.
        config.optimizer.groups = dict(
            matrices=dict(pattern="backbone/layer_.*_kernel", learning_rate=0.02)
        )

    if scale in ("laptop", "small"):
        # Most words are predicted, and most of these can be read (docs/lessons.md).
        config.task.update(masking_rate=0.8, mask_share=0.2, keep_share=0.75, random_share=0.05)
        config.data.max_predictions = 48 if scale == "laptop" else 96  # 3/4 of a row's pieces
        config.model.norm = "pre"
    return config
