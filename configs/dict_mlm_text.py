"""DICT-MLM with the labels of all languages, from random parameters, on your own text.

Command:
  python -m clwe_jax.main --config=configs/dict_mlm_text.py --config.data.source=text:DIR \\
    --config.data.languages=en,de --config.data.dictionaries=DIR

  :laptop (default)       2 x 128, two cores, minutes.
  :small, :base, :paper   as dict_mlm_all.py.

Real text has a long tail of words: at :laptop three of five pieces are whole words of the dictionaries, and
32 words of a row of 64 are predicted. All else is as in dict_mlm_all.py. `encode` gives frequent words less weight
(SIF), which finds half as many sentences again as the mean of all pieces.

Expected at :laptop, on development sentences (news), six languages of a million words each and MUSE's
dictionaries, in five minutes of one core: by CSLS and SIF three of four German, Spanish and French sentences
find the English one. dict_mlm_50.py with the same values finds less than half of them.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("dict_mlm_all", scale)
    config.system = "DICT-MLM-text"
    if scale == "laptop":
        config.data.update(max_predictions=32, simplify_chinese=True)
        config.vocab.update(size=16_384, dictionary_share=0.6)
        config.optimizer.learning_rate = 2e-3
        config.train.steps = 400
    return config
