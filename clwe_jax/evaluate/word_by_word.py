"""Translation word by word with the vectors of both languages (Lample et al. 2018, section 4.3)."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from clwe_jax.align import csls
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.encoders.translate import join_words

_LAYER = -1  # of the vectors that are compared; static vectors have one


def word_by_word(model: Encoder, texts: Sequence[str], source: str, target: str) -> list[str]:
    """The texts with each word replaced by the nearest word of the other language, by CSLS.

    The candidates are the frequent words of the target language. A word without a vector stays as
    it is, and the order of the words does not change.

    Args:
      model: an encoder with vectors of words.
      source, target: their language, and that of the translations.
    """
    view = model.pairwise_space(source, target)
    cut = [view.words(text, source) for text in texts]
    used = sorted(set().union(*cut))
    sources = view.vocabulary(source, used)
    wanted = view.vocabulary(target)
    asked = [word for word in used if word in sources.index]
    if not asked or not wanted.frequent_count:
        return [join_words(words) for words in cut]
    vectors = sources.vectors[:, _LAYER]
    nearest, _ = csls.nearest(
        vectors[[sources.index[word] for word in asked]],
        wanted.vectors[: wanted.frequent_count, _LAYER],
        method="csls",
        pool=vectors[: sources.frequent_count],
    )
    keys = wanted.keys or wanted.words
    best = [keys[row] for row in np.asarray(nearest)[:, 0].tolist()]
    translations = dict(zip(asked, best))
    return [join_words(translations.get(word, word) for word in words) for words in cut]
