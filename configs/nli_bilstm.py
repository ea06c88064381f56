"""Entailment: a BiLSTM over the words of both texts, pooled (A14, Table 5).

Command:
  python -m clwe_jax.main --config=configs/nli_bilstm.py

  :laptop (default)  the embedded world's pairs; joint-align vectors are trained first, in
                     WORKDIR/encoder.
  :small             your files: --config.transfer.train=en:nli/train.en.tsv
                     --config.transfer.tests=nli --config.encoder=run:DIR
  :base, :paper      300 cells, Adam 4e-4, dropout .5, 50 words, batch 32, two seeds; the mean of the
                     words, as MultiNLI's BiLSTM (Williams et al. 2018), at :laptop their maximum.

WORKDIR/features holds the words' vectors of all pairs on disk; --config.transfer.rows limits the pairs.

Expected: above a third, the share of the most frequent label, in languages of the encoder's space.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "xnli", "bilstm_max")
    config.system = "BiLSTM for NLI"
    config.recipe.update(learning_rate=4e-4)
    config.transfer.update(length=50, seeds=2)
    if scale == "laptop":
        config.transfer.update(seeds=3)
        config.transfer.head.update(cells=64, hidden=64, dropout=0.2)
        config.recipe.update(learning_rate=3e-3)
    else:
        config.transfer.update(train="en:nli/train.en.tsv", tests="nli")
        config.transfer.head.pool = "mean"
    return config
