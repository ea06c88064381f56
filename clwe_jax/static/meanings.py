"""What makes synonyms of the hub near: vectors of its words by an encoder or by its own text."""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np

from clwe_jax.embeddings import contexts
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.meanings import distil
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS, select_layer


def of_encoder(
    address: str, words: Sequence[str], hub: str, counts: Mapping[str, int], dim: int
) -> Vectors:
    """The words' vectors by an encoder, distilled to `dim` dimensions.

    Args:
      address: of the encoder, such as 'hf:DIR'.
      counts: word -> occurrences in the text: frequent words decide the dimensions.
    """
    vectors = encoders.load(address, [hub]).encoder().sentences(words, hub)
    vectors = np.asarray(select_layer(vectors, MEAN_OF_LAST_LAYERS))
    weights = np.sqrt([counts.get(word, 0) + 1.0 for word in words])
    return Vectors(words, distil(vectors, weights, dim))


def of_text(text: Corpus, hub: str, dim: int, seed: int) -> Vectors:
    """The vectors of the hub's words by the words beside them."""
    return Vectors(*contexts.vectors(text.words, text.ids[hub], text.splits[hub], dim, seed))
