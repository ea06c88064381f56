"""Fine-tuning on entailment (XNLI) in English, tested in all languages (D8, D9).

Command, after the encoder's (configs/warm_dict_mlm.py, minutes):
  python -m clwe_jax.main --config=configs/finetune_xnli.py

  :laptop (default)  the embedded world, and the encoder in runs/warm_dict_mlm, or --config.encoder=
  :small, :base      your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, and an
                     encoder: --config.encoder=run:DIR or hf:DIR
                     (XTREME's recipe: 5 epochs, AdamW 2e-5, batch 32, length 128, no decay)
  :paper             8 epochs (D8).

A pair is one row, and its vector is that of [CLS] (D8), at :laptop the mean of its pieces: the laptop's
encoders learn nothing at [CLS]. --config.transfer.text_vector=cls or mean chooses. Language embeddings stay at the input.
Variants, by override:
  the same head, frozen   --config.transfer.mode=frozen

Expected: above a third, the share of the most frequent label, in all languages of the encoder.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "xnli", "linear")
    config.system = "Fine-tuned on entailment"
    config.encoder = "run:runs/warm_dict_mlm"
    config.transfer.update(mode="tune", layers="last", length=128)
    config.train.epochs = 5
    if scale == "laptop":
        config.transfer.length = 64
        config.optimizer.update(learning_rate=5e-4, warmup_steps=50)
    else:
        config.transfer.update(train="en:nli/train.en.tsv", tests="nli", text_vector="cls")
    if scale == "paper":
        config.train.epochs = 8
    return config
