"""fastText's vectors of character n-grams, from which any string has a vector."""

from __future__ import annotations

import dataclasses

import numpy as np

from clwe_jax import atomic


@dataclasses.dataclass(frozen=True, eq=False)
class Subwords:
    """Vectors of hashed character n-grams (Bojanowski et al. 2017).

    Attributes:
      vectors: float32 [buckets, D].
      min_n, max_n: shortest and longest n-gram, in characters.
    """

    vectors: np.ndarray
    min_n: int
    max_n: int

    def vector(self, text: str, begins: bool = True, ends: bool = True) -> np.ndarray:
        """The mean vector of a string's n-grams, float32 [D]; zeros where it has none.

        Args:
          text: a word or a part of one.
          begins, ends: whether a word begins and ends with the string; only then it has n-grams
            with fastText's mark of the place.
        """
        from gensim.models import fasttext_inner

        grams = fasttext_inner.compute_ngrams_bytes(text, self.min_n, self.max_n)
        rows = [
            fasttext_inner.ft_hash_bytes(gram) % len(self.vectors)
            for gram in grams
            if (begins or not gram.startswith(b"<")) and (ends or not gram.endswith(b">"))
        ]
        if not rows:
            return np.zeros(self.vectors.shape[1], np.float32)
        return self.vectors[rows].mean(0)

    def save(self, path: str) -> None:
        """Writes an .npz file.

        Raises:
          OSError: the file cannot be written.
        """
        with atomic.writing(path) as file:
            np.savez(file, vectors=self.vectors, lengths=np.array([self.min_n, self.max_n]))

    @classmethod
    def load(cls, path: str) -> Subwords:
        """Reads a file that `save` wrote.

        Raises:
          FileNotFoundError: the file does not exist.
          ValueError: the file is damaged.
        """
        with atomic.naming_damage(path), np.load(path, allow_pickle=False) as file:
            return cls(file["vectors"], *map(int, file["lengths"]))
