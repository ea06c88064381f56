"""Vectors that also learn from translations which the texts share, here planted ones.

Command:
  python -m clwe_jax.main --config=configs/mined_vectors.py

  :laptop (default)  the embedded world, with 3% of the lines shared by all languages.
  :small             your text, as joint_dictionary.py.
  :base, :paper      300 trained dimensions, as joint_align.py.

Texts from the same sources share sentences: news, manuals, laws, a New Testament. The vectors of the
dictionary find them, IBM model 1 links their words, and the links add to the dictionary. This
repeats until no more pairs are found. A pair of sentences needs another pair near it in both texts,
so that texts without common documents change nothing. For the planted lines, precision and recall are
known.

Ablations, by override:
  nothing mined            --config.static.mine=False
  the dictionary alone     --config.static.training=dictionary --config.static.dictionary_dim=0
                           --config.static.reallocation=False --config.static.refinement=False
                           --config.embeddings.dim=1024
  other shares             --config.data.pocket_shared=0.003
  scattered lines          --config.data.pocket_shared_order=scattered; no pair has support, until
                           --config.static.mining.unsupported_margin=1.5

Expected at :laptop, in four minutes of one core: 99 of 100 sentences are found by CSLS and 67 of 100 words
translated. The method is this project's own.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("joint_align", scale)
    config.system = "Mined dictionary + Joint-Align"
    config.data.simplify_chinese = True  # texts and dictionaries mix both ways of writing
    config.data.pocket_shared = 0.03
    config.static.update(mine=True, dictionary_dim=1024, trained_length=0.3, compared_share=0.25)
    config.static.mining.update(rounds=5, max_words=40, neighbourhood=4, margin=1.02, grow_lines=2)
    return config
