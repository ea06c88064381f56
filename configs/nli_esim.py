"""ESIM on frozen vectors: entailment, learned in English (the head of CLCR's Table 4).

Command:
  python -m clwe_jax.main --config=configs/nli_esim.py

  :laptop (default)  as nli_bilstm.py: the embedded world, joint-align vectors trained first.
  :small, :base,     your rows: --config.transfer.train=en:nli/train.en.tsv
  :paper               --config.transfer.tests=nli --config.encoder=run:DIR

Every word attends to the words of the other text, so that the order and the number of words count
less than for nli_bilstm.py. On a CLCR run: --config.encoder=run:runs/clcr --config.data.languages=en,ja.

Expected: above a third, the share of the most frequent label, in languages of the encoder's space.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "xnli", "esim")
    config.system = "ESIM"
    config.recipe.learning_rate = 4e-4
    config.transfer.update(length=50, seeds=2)
    if scale == "laptop":
        config.transfer.head.update(cells=64, hidden=64, dropout=0.2)
        config.recipe.learning_rate = 3e-3
    else:
        config.transfer.update(train="en:nli/train.en.tsv", tests="nli")
    return config
