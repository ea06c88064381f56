"""Joint-Align vectors concatenated with dictionary vectors: one vector for each word.

Command:
  python -m clwe_jax.main --config=configs/joint_dictionary.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base, :paper      300 trained dimensions, as joint_align.py.

The vectors of joint_align.py and of dictionary_vectors.py are concatenated, so that the
cosine of two words is a weighted mean of both. For a word that the dictionary lacks, the second part is a
guess from its spelling, of which a quarter counts where single words are compared. First the dictionary grows
by translations that the texts share, if any (docs/vectors.md, "Translations in the text");
mined_vectors.py shows this. WORKDIR/mined has the grown dictionary, and the sentences, on which
--config.data.pairs=WORKDIR/mined trains.

Ablations, by override:
  nothing mined            --config.static.mine=False
  other weights            --config.static.trained_length=1
  whole guesses            --config.static.compared_share=1
  less disk                --config.static.stored=packed: a fifth, for less than a point of retrieval
  less memory and disk     --config.static.dictionary_dim=512: 1 to 4 points less on real text, half
                           the memory and disk
  the dictionary alone     dictionary_vectors.py --config.static.mine=True
  the text alone           --config.static.dictionary_dim=0 --config.static.mine=False

Expected at :laptop, in three minutes of one core: 99 of 100 sentences are found by CSLS and 50 of 100 words
translated, more than by either part. A start for language
models: --config.init.embeddings=joint+dictionary. The method is this project's own.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("joint_align", scale)
    config.system = "Joint-Align + dictionary"
    config.data.simplify_chinese = True  # texts and dictionaries mix both ways of writing
    config.static.update(
        mine=True, dictionary_dim=1024, trained_length=0.6, compared_share=0.25, stored="float"
    )
    config.static.mining.update(rounds=5, max_words=40, neighbourhood=4, margin=1.02)
    return config
