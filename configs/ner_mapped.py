"""Names with a frozen model whose layers are mapped onto English's by aligned words (E9).

Command, after the encoder's (configs/warm_dict_mlm.py, minutes):
  python -m clwe_jax.main --config=configs/ner_mapped.py

Features are the sum of the last four layers, each after an orthogonal map of its own. The maps are
fitted to the words of parallel sentences, which the encoder itself aligns.

  :laptop (default)  the embedded world, and the encoder in runs/warm_dict_mlm, or --config.encoder=
  :small, :base      your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, parallel
                     sentences, such as STEM.en, STEM.de, ...: --config.data.pairs=STEM, and
                     --config.encoder=run:DIR or hf:DIR
  :paper             30,000 sentences; two BiLSTMs of 384 cells, dropout .5, Adam 1e-4, batch 10, 40
                     epochs, 5 seeds.

Variants, by override:
  without maps (feature extraction)  --config.data.pairs=''
  links from a file           --config.transfer.align.links=STEM, of STEM.de-en with `0-0 1-2` a line
  gold links (pocket)         --config.transfer.align.links=gold
  another aligner             --config.transfer.align.method=itermax (softmax)

Expected: maps help languages that the encoder has not put into one space (E9's table: mBERT with
maps above mBERT as it is).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "ner", "bilstm_crf")
    config.system = "Mapped features"
    config.encoder = "run:runs/warm_dict_mlm"
    config.transfer.update(layers="sum4", words="first")
    config.transfer.head.update(cells=384, layers=2, dropout=0.5)
    config.data.pairs = "source"  # those of the embedded world, unless the text is your own
    config.recipe.update(name="adam", learning_rate=1e-4, batch_size=10, epochs=40, patience=0)
    if scale == "laptop":
        config.transfer.head.update(cells=64, layers=1, dropout=0.3)
        config.transfer.align.sentences = 2_000
        config.recipe.update(learning_rate=3e-3, batch_size=32, epochs=15, patience=2)
    else:
        config.transfer.update(train="en:ner/en.train.tsv", tests="ner")
        config.data.pairs = "parallel/train"
    if scale == "paper":
        config.transfer.head.word_dropout = 0.0  # which E9 does not name
    return config
