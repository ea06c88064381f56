"""LASER: sentence vectors from translation (C1; Artetxe and Schwenk 2019).

Command:
  python -m clwe_jax.main --config=configs/laser.py

  :laptop (default)  English, German and French of the embedded world, smaller layers, two cores, minutes;
                     the tables of pieces start from joint-align vectors, which are trained first.
  :small             your parallel text (--config.data.pairs=DIR/train, with DIR/train.en,
                     DIR/train.de, ...; --config.data.source=text:DIR for the vocabulary), one GPU.
  :base              the paper's model, six languages, one accelerator for days.
  :paper             the paper's model and languages; --plan=v3:8x16 compiles and costs it.

Options: --config.task.targets=en,es translates into these languages only, as in the paper;
--config.data.pairs=mined mines the run's own text for it, as configs/mined_vectors.py does;
--config.evals.bleu.data=DIR/val and --config.evals.retrieval.data=DIR name test text.

A loaded run has `encode(texts, lang=...)` and `translate_sentence(text, lang=..., to=...)`;
configs/laser_top_ner.py and configs/laser_elmo_ner.py take its encoder for named entities.

Expected: at :laptop retrieval near that of the vectors it starts from: docs/lessons.md.
With two languages retrieval varies: each is written from the other alone, and the start alone holds their vectors together. The vector is the bottleneck:
unsupervised_mt.py, whose decoder reads every piece, translates better without pairs.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.translation(scale)
    config.system = "LASER"
    return config
