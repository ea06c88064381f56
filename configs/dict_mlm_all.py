"""DICT-MLM with the labels of all languages alike, the best from random parameters.

Command:
  python -m clwe_jax.main --config=configs/dict_mlm_all.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches (dict_mlm_50.py says how).
  :base, :paper      as dict_mlm_50.py, with these labels.

Beyond the paper: the word itself and its synonyms in each language weigh the same. At :laptop and :small most
of the predicted words can be read, and the table of tokens draws a word and its labels together, as
ALIGN-MLM does (Tang et al. 2022). It is supervised word translation in context as much as masked language
modelling. Japanese and Chinese, which have a dictionary with English alone, get the pairs with the other
languages that are composed through English at :laptop, without the words of any test.

Expected: no paper has this system. At :laptop, in nine minutes of one core: five of six
sentences are found by CSLS (docs/results.md).
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("dict_mlm_50", scale)
    config.system = "DICT-MLM-all"
    config.task.update(labels="expected", equal_languages=True)
    config.model.update(language_embeddings=False, condition_on_language=False)
    config.objective.dense = False
    if scale in ("laptop", "small"):
        config.objective.align_labels = 1.0
    if scale == "laptop":
        config.train.steps = 1_500
        config.checkpoint.every_steps = 500
        # Japanese and Chinese have dictionaries with English alone.
        config.data.dictionary_pivot = "en"
    return config
