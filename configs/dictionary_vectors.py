"""Word vectors of a dictionary for the words of a text: in seconds, without training.

Command:
  python -m clwe_jax.main --config=configs/dictionary_vectors.py

  :laptop (default)  the embedded world.
  :small             your text, six languages:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base, :paper      the same with the languages of these scales.

Every English word has a random vector. A word of another language has the mean of its translations'
vectors, in which frequent ones weigh more. A word that the dictionary lacks has a guess from its n-grams.
The text gives the counts of its words and, in English, their neighbours.

Expected at :laptop, in half a minute of one core: 94 of 100 sentences are found by CSLS, more than by
vectors of the text alone; 21 of 100 words are translated. A start for language models:
--config.init.embeddings=dictionary, as in warm_dict_mlm.py. The method is this project's own.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Dictionary vectors"
    config.data.simplify_chinese = True  # texts and dictionaries mix both ways of writing
    config.static.training = "dictionary"
    config.embeddings.dim = 300
    config.embeddings.min_count = 2
    config.embeddings.max_vocab = 100_000
    # A word without an entry has a guess from its n-grams. English words that have like neighbours in the text
    # have like vectors, in `meaning_dim` of the dimensions.
    config.static.words.update(
        unknown="ngrams", spelling_dim=256, meanings="text", meaning_dim=256, meaning_length=0.4
    )
    return config
