"""Zero-shot names: a BiLSTM-CRF on frozen vectors, trained in English (E8, A14).

Command:
  python -m clwe_jax.main --config=configs/ner_bilstm_crf.py

  :laptop (default)  the embedded world: joint-align vectors are trained first, in WORKDIR/encoder;
                     minutes on two cores.
  :small             your files (CoNLL columns, WikiANN, WikiNEuRal) and vectors:
                       --config.transfer.train=en:ner/en.train.tsv --config.transfer.tests=ner
                       --config.encoder=vec:en=FILE,de=FILE
  :base, :paper      the head of the papers: 256 cells, SGD .1, halved after 3 epochs without gain,
                     locked dropout .5, word dropout .05, five seeds.

Other encoders, by override:
  a finished run       --config.encoder=run:DIR (language models, projected pairs, static vectors)
  mBERT, XLM-R, XLM    --config.encoder=hf:DIR; with E9's features and recipe, without maps:
                         --config=configs/ner_mapped.py:paper --config.data.pairs=''
  no pretraining       --config.encoder=bow (gru, lstm)
  each layer alone     --config.transfer.layers=each

Expected: names of other languages are found where the encoder puts the languages into one space. In
Table 3 of joint-align its vectors are above those of each language alone; here they are below
(docs/reproduction.md).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.transfer(scale, "ner", "bilstm_crf")
    config.system = "BiLSTM-CRF"
    config.recipe.update(
        name="sgd", learning_rate=0.1, epochs=150, schedule="halve", patience=3, least_rate=1e-3
    )
    if scale == "laptop":
        config.transfer.head.update(cells=64, dropout=0.3)
        config.recipe.update(name="adam", learning_rate=3e-3, epochs=15, patience=2)
        config.recipe.least_rate = 7e-4
    else:
        config.transfer.update(train="en:ner/en.train.tsv", tests="ner")
    return config
