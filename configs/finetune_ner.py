"""Fine-tuning on names (NER) in English, tested in all languages (D8, D9).

Command, after the encoder's (configs/warm_dict_mlm.py, minutes):
  python -m clwe_jax.main --config=configs/finetune_ner.py

  :laptop (default)  the embedded world, and the encoder in runs/warm_dict_mlm, or --config.encoder=
  :small, :base      your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, and an
                     encoder: --config.encoder=run:DIR or hf:DIR
                     (XTREME's recipe: 10 epochs, AdamW 2e-5, batch 32, length 128, no decay)
  :paper             8 epochs (D8).

The label of a word is that of its first piece (D8, BERT). Language embeddings stay at the input.
Variants, by override:
  the same head, frozen   --config.transfer.mode=frozen

Expected: fine-tuning above the frozen encoder in English; DICT-MLM above MLM in the other languages (D9,
Table 1: 62.2 F1 for mBERT).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "ner", "linear")
    config.system = "Fine-tuned on names"
    config.encoder = "run:runs/warm_dict_mlm"
    config.transfer.words = "first"
    config.transfer.update(mode="tune", layers="last", length=128)
    config.train.epochs = 10
    if scale == "laptop":
        config.transfer.length = 64
        config.optimizer.update(learning_rate=5e-4, warmup_steps=50)
    else:
        config.transfer.update(train="en:ner/en.train.tsv", tests="ner")
    if scale == "paper":
        config.train.epochs = 8
    return config
