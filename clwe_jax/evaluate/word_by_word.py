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
    text_words = [view.words(text, source) for text in texts]
    source_words = sorted(set().union(*text_words))
    sources = view.vocabulary(source, source_words)
    targets = view.vocabulary(target)
    covered_words = [word for word in source_words if word in sources.index]
    if not covered_words or not targets.frequent_count:
        return [join_words(words) for words in text_words]
    vectors = sources.vectors[:, _LAYER]
    nearest, _ = csls.nearest(
        vectors[[sources.index[word] for word in covered_words]],
        targets.vectors[: targets.frequent_count, _LAYER],
        method="csls",
        pool=vectors[: sources.frequent_count],
    )
    keys = targets.keys or targets.words
    best = [keys[row] for row in np.asarray(nearest)[:, 0].tolist()]
    translations = dict(zip(covered_words, best))
    return [join_words(translations.get(word, word) for word in words) for words in text_words]
