"""Fine-tuning on headlines (MLDoc) in English, tested in all languages (D8, D9).

Command, after the encoder's (configs/warm_dict_mlm.py, minutes):
  python -m clwe_jax.main --config=configs/finetune_mldoc.py

  :laptop (default)  the topics of the embedded world, and the encoder in runs/warm_dict_mlm, or
                     --config.encoder=
  :small, :base      your files of Reuters (not free): --config.transfer.train=en:FILE
                     --config.transfer.tests=DIR, and an encoder: --config.encoder=run:DIR or hf:DIR
  :paper             8 epochs (D8).

The recipe is that of configs/finetune_pawsx.py, with one text a row.

Expected: close to the English accuracy in languages that share the encoder's space. Table 1, accuracy:
mBERT 65.2, DICT-MLM 66.1, DICT-TLM 67.7.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("finetune_pawsx", scale)
    config.system = "Fine-tuned on headlines"
    config.transfer.task = "mldoc"
    if scale != "laptop":
        config.transfer.update(train="en:mldoc/en.train.tsv", tests="mldoc")
    return config
