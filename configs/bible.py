"""Vectors of words and sentences from translated sentences alone, such as a Bible.

Command:
  python -m clwe_jax.main --config=configs/bible.py

  :laptop (default)  sentences of the embedded world.
  :small             your verse files (docs/data.md has the formats), English and the languages named:
                       --config.data.pairs=DIR --config.data.languages=en,wo
  :base, :paper      the same.

The verses link words of different languages, as a dictionary does in dictionary_vectors.py. Each language
also learns a vector of each verse, on which all languages agree, from its words and their n-grams by a ridge
regression. Any number of languages share one space. John is left out of training and tested:
--config.data.held_out=LUK tests another book; --config.data.held_out='' --config.evals.retrieval.data='' tests
none, as for sentences without references. --config.data.dictionaries=DIR adds a dictionary, and
--config.data.source=text:DIR adds text.

WORKDIR/mined/dictionary has the linked words. --config.static.export=model2vec writes a folder that
model2vec opens.

Expected: a New Testament takes half a minute of one core. Of the verses of John, 82% (Achuar, whose words
have many parts) to 97% (Wolof) find their English translation by CSLS. The method is this project's own.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("dictionary_vectors", scale)
    config.system = "Vectors of a Bible"
    config.data.update(source="pairs", pairs="source", dictionaries="")
    config.evals.bli.data = ""
    if scale != "laptop":
        config.data.update(pairs="verses", held_out="JHN", languages="en,wo")
        config.evals.retrieval.data = "pairs"
    return config
