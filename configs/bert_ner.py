"""BERT and XLM on names: one dense layer, fine-tuned by the LASER paper's recipe (C4, C6).

Command, after the encoder's (configs/warm_dict_mlm.py, minutes):
  python -m clwe_jax.main --config=configs/bert_ner.py

  :laptop (default)  the embedded world, and the encoder in runs/warm_dict_mlm, or --config.encoder=
  :small, :base      your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, and
                     mBERT (cased) or XLM: --config.encoder=hf:DIR
  :paper             the same.

4 epochs, batches of 16 rows, a rate of 5e-5 (Devlin et al. 2019 for CoNLL-2003). A cased encoder reads
lower-cased words, as all systems of the paper do.

Expected: Table 2, F1: BERT English .914, Dutch .587, German .589, Spanish .618; XLM .892, .212, .579,
.458.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "ner", "linear")
    config.system = "BERT on names"
    config.encoder = "run:runs/warm_dict_mlm"
    config.transfer.update(mode="tune", layers="last", words="first", length=128, lower_case=True)
    config.train.update(epochs=4, batch_size=16)
    config.optimizer.learning_rate = 5e-5
    if scale == "laptop":
        config.transfer.length = 64
        config.optimizer.update(learning_rate=5e-4, warmup_steps=50)
    else:
        config.transfer.update(train="en:ner/en.train.tsv", tests="ner")
    return config
