"""Sentiment of reviews: the mean of a text's vectors and two dense layers (A14, Table 4).

Command:
  python -m clwe_jax.main --config=configs/classify_sentiment.py

  :laptop (default)  the embedded world's opinions; joint-align vectors are trained first, in
                     WORKDIR/encoder.
  :small             your files (CLS-10):
                       --config.transfer.train=en:cls10/en.train.tsv --config.transfer.tests=cls10
                       --config.encoder=run:DIR (a Bi-SaELMo, or any other encoder)
  :base, :paper      the same with a hidden layer of 256, five seeds.

Expected: near one half in all languages. Half of the embedded world's opinions are negated ("not loud"),
and a mean of static vectors does not read negation. With a contextual encoder a shared space transfers
opinions. This head reads word order:
  --config=configs/nli_bilstm.py --config.transfer.task=sentiment
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "sentiment", "mean_mlp")
    config.system = "Sentiment"
    config.transfer.update(mode="frozen", layers="mix", words="mean")
    config.transfer.head.update(hidden=256, dropout=0.1)
    config.recipe.update(name="adam", learning_rate=1e-3, batch_size=32, epochs=30, patience=5)
    if scale != "laptop":
        config.transfer.update(train="en:cls10/en.train.tsv", tests="cls10")
    return config
