"""DICT-MLM-50: half of the masked words are labelled with a cross-lingual synonym (D1-D5).

Command:
  python -m clwe_jax.main --config=configs/dict_mlm_50.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches:
                       python -m clwe_jax.data.prepare --config=configs/dict_mlm_50.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/dict_mlm_50.py:small \\
                         --config.data.source=batches:DIR
  :base              12 x 768, Wikipedia, one accelerator for days.
  :paper             12 x 768, 104 languages, batch 8,192 x 512, LAMB, 500k steps, a v3 slice of 256
                     cores; --plan=v3:8x16 compiles and costs it without one.

:base and :paper draw a label for 15% of the words, as the paper does. At :laptop and :small 80% of the
words are predicted, most of which can be read, and the loss is the expectation over the draw: all
languages at once, x = .5. One command draws there as well:
  --config.task.labels=drawn --config.model.condition_on_language=True --config.objective.dense=True \\
  --config.model.language_embeddings=True --config.objective.hold=0

Your own text at :laptop, in minutes; whole words as pieces, all parts of the dictionaries:
  --config.data.source=text:DIR --config.data.languages=en,de --config.data.dictionaries=DIR \\
  --config.vocab.size=16384 --config.vocab.dictionary_share=.8 --config.optimizer.learning_rate=2e-3 \\
  --config.train.steps=400 --config.data.max_predictions=32

Expected: Table 1 of the paper: NER 71.3, POS 70.4, XNLI 67.9, PAWS-X 84.2, MLDoc 66.1, Tatoeba 46.4.
At :laptop, in three minutes of one core: seven sentences of ten by CSLS (docs/results.md).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.dict_mlm(scale, cross_lingual_share=0.5)
    config.system = "DICT-MLM-50"
    return config
