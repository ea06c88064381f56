"""LASER: sentence vectors from translation (C1; Artetxe and Schwenk 2019).

Command:
  python -m clwe_jax.main --config=configs/laser.py

  :laptop (default)  the embedded world in four languages, smaller layers, two cores, minutes.
  :small             your parallel text (--config.task.parallel=DIR/train, with DIR/train.en,
                     DIR/train.de, ...; --config.data.source=text:DIR for the vocabulary), one GPU.
  :base              the paper's model, six languages, one accelerator for days.
  :paper             the paper's model and languages; --plan=v3:8x16 compiles and costs it.

Options: --config.task.targets=en,es translates into these languages only, as in the paper;
--config.evals.bleu.data=DIR/val and --config.evals.retrieval.data=DIR name test text.

A loaded run has `sentence_vectors(texts, lang=...)` and `translate_sentence(text, lang=..., to=...)`;
configs/laser_top_ner.py and configs/laser_elmo_ner.py take its encoder for named entities.

Expected: BLEU and retrieval rise with the steps. A smaller model than :laptop's (three languages,
96 cells, decoder 192, 1,200 steps, 1.3 epochs) reached BLEU 4.8 after 1.8 at half of the steps, and
found 10% of 300 translations: it needs several times as many steps.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.translation(scale)
    config.system = "LASER"
    return config
