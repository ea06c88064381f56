"""The tagger of the LASER paper: two Transformer layers and a CRF on words' vectors (C4-C8).

Command:
  python -m clwe_jax.main --config=configs/tag_transformer_crf.py

  :laptop (default)  the embedded world: a BPE vocabulary of all languages, and the mean of a word's
                     piece embeddings, which learn with the tagger (BPE BOW).
  :small             your files (--config.transfer.train=en:FILE --config.transfer.tests=DIR) and
                     text (--config.data.source=text:DIR)
  :base, :paper      the paper's baselines: dropout .25 before and .15 inside the tagger, Adam 1e-3,
                     L2 1e-3, 15 epochs, early stopping after 2 epochs. :paper reads the 12 universal
                     tags, and those of CoNLL-2002 as such (C7).

The embedders of the paper, each by override:
  BPE BOW, BPE GRU     --config.encoder=bow, --config.encoder=gru
  MUSE                 --config.encoder=vec:en=FILE,de=FILE (names: configs/muse_ner.py)
  LSTM No Pretraining  --config.encoder=lstm (names, and the recipe of the LASER models:
                       configs/lstm_ner.py)
  a pretrained model   --config.encoder=run:DIR or hf:DIR

Joint training, scenario A (a quarter of each language) and B (all of English):
  --config.transfer.train=en:FILE,de:FILE --config.transfer.rows=en:.25,de:.25
  --config.transfer.train=en:FILE,de:FILE --config.transfer.rows=en:1,de:.25

Expected: embedders without pretraining learn English and find little in other languages; aligned or
contextual vectors find much more (Table 2).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "pos", "transformer_crf")
    config.system = "Transformer-CRF"
    config.encoder = "bow"
    config.recipe.update(l2=1e-3)
    if scale == "laptop":
        config.transfer.head.update(width=64, mlp_dim=128)
        config.transfer.update(embedded_rows=1_000, embedded_tests=300)
        config.recipe.l2 = 1e-5
    else:
        config.transfer.update(train="en:pos/en.train.conllu", tests="pos", lower_case=True)
    if scale == "paper":
        config.transfer.tags = 12
    return config
