"""Vectors of a dictionary that grows by translations in the text, beside Joint-Align vectors.

Command:
  python -m clwe_jax.main --config=configs/mined_vectors.py

  :laptop (default)  the embedded world, with 3% of the lines shared by all languages.
  :small             your text, six languages:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base, :paper      300 dimensions, as joint_align.py.

Two texts of one world share sentences: news, manuals, laws, a New Testament. The vectors of the
dictionary find them, IBM model 1 links their words, the links add to the dictionary, and it starts
over, until no more pairs are found. Pairs of sentences need another pair beside them in both texts,
so that texts without common documents change nothing. WORKDIR/mined has the sentences, which
--config.task.parallel=WORKDIR/mined trains on, and the grown dictionary.

Ablations, by override:
  nothing mined            --config.static.mine=False, as joint_dictionary.py
  the dictionary alone     --config.static.training=dictionary --config.static.dictionary_dim=0
                           --config.static.reallocation=False --config.static.refinement=False
  scattered lines          --config.static.mining.unsupported_margin=1.5
  wider vectors            --config.static.dictionary_dim=1024: 1 to 4 points more on real text, and
                           twice the memory and disk

Expected, :laptop, in 4 to 5 minutes of processor time: retrieval 98.7 plain, 99.1 by CSLS, induction
61.6; joint_dictionary.py has 95.8, 97.5 and 31.2. Without common documents: the same as that. The method
is this project's own.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Mined dictionary + Joint-Align"
    config.data.simplify_chinese = True  # texts and dictionaries mix both ways of writing
    config.data.pocket_shared = 0.03
    config.static.update(training="joint", reallocation=True, refinement=True, dictionary_dim=512)
    config.static.update(mine=True, trained_length=0.3)
    config.align.name = "rcsls"
    return config
