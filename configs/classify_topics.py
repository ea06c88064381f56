"""Topics of sentences: one dense layer on frozen sentence vectors (SIB-200).

Command:
  python -m clwe_jax.main --config=configs/classify_topics.py

  :laptop (default)  the embedded world's domains; joint-align vectors are trained first, in
                     WORKDIR/encoder.
  :small             your files (SIB-200: topic and text):
                       --config.transfer.train=en:sib200/en.train.tsv --config.transfer.tests=sib200
                       --config.encoder=run:DIR (hf:DIR, vec:en=FILE,de=FILE)
  :base, :paper      the same, five seeds.

Headlines (MLDoc, D9): --config.transfer.task=mldoc with your files of Reuters; configs/finetune_mldoc.py fine-tunes.

Expected: close to the English accuracy in every language that shares the encoder's space; at :laptop, in a
minute of one core, 99.6%.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "topics", "linear")
    config.system = "Topics"
    config.transfer.update(mode="frozen", layers="mix", words="mean")
    config.transfer.head.dropout = 0.1
    config.recipe.update(name="adam", learning_rate=1e-2, batch_size=32, epochs=30, patience=5)
    if scale != "laptop":
        config.transfer.update(train="en:sib200/en.train.tsv", tests="sib200")
    return config
