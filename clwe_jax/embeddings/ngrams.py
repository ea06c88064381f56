"""Vectors of words from their character n-grams: for words that nothing else is known of.

A regression from n-grams to vectors is fitted to words that have one, and gives any string a vector:
that of the stems and affixes it contains. Beside it, the n-grams themselves have random directions, so
that names, numbers and loans are near across languages and scripts. The method is this project's own;
the n-grams are those of fastText (Bojanowski et al. 2017), written in Latin letters.
"""

from __future__ import annotations

import dataclasses
import functools
import zlib
from typing import Iterable, Mapping, Sequence

import numpy as np
from scipy import linalg, sparse

from clwe_jax import atomic
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.packed import Packed
from clwe_jax.text.words.characters import has_letter_or_digit
from clwe_jax.text.words.words import is_unspaced, latin

_BUCKETS = 1 << 16  # of hashed n-grams
# characters of an n-gram; 1 in scripts without spaces between words
_SHORTEST = 2
_LONGEST = 5
_GUESSED = 3  # characters of a word in such a script that its n-grams give a vector
_RIDGE = 0.2  # of the regression, beside a kernel whose diagonal is 1
_MAX_WORDS = 10_000  # frequent words that a regression is fitted to; 20,000 take nine times as long
_KERNEL_ROWS = 1_000  # of a kernel that are made at once
_COMMON = 0.05  # share of a kernel's rows with a feature, from which on a dense product is faster
_ROWS = 10_000  # words whose vectors are made at once
_FEW = 64  # words whose vectors are made without those of all n-grams
_SURE = 0.7  # length of the regression's answer from which a vector has its whole length
_KNOWN = 0.95  # length of the dictionary's part of a word with an entry or links; of guesses nearly all are shorter
_FOREIGN = 0.01  # of a word's squared length, in the scale of a prior: a spelling that says nothing counts 0


@dataclasses.dataclass(frozen=True, eq=False)
class Ngrams:
    """The weights of hashed n-grams.

    Attributes:
      weights: inverse document frequencies, float32 [buckets].
    """

    weights: np.ndarray

    @classmethod
    def of(cls, words: Iterable[str]) -> Ngrams:
        """The weights among some words of all languages."""
        word_buckets = [np.unique(buckets(word)) for word in words]
        word_counts = np.bincount(
            np.concatenate([*word_buckets, np.zeros(0, np.int64)]), minlength=_BUCKETS
        )
        return cls(np.log((len(word_buckets) + 1) / (word_counts + 0.5)).astype(np.float32))

    def features(self, words: Sequence[str]) -> sparse.csr_matrix:
        """The weighted n-grams of words, float32 [words, buckets], rows of unit length."""
        word_buckets = [buckets(word) for word in words]
        lengths = np.fromiter(map(len, word_buckets), np.int64, len(word_buckets))
        columns = np.concatenate([*word_buckets, np.zeros(0, np.int64)])
        splits = np.concatenate([[0], np.cumsum(lengths)])
        matrix = sparse.csr_matrix((self.weights[columns], columns, splits), (len(words), _BUCKETS))
        # The buckets that occur twice are joined before the weights are squared.
        matrix.sum_duplicates()
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
        return (sparse.diags(1 / np.maximum(lengths, 1e-9)) @ matrix).tocsr().astype(np.float32)

    def directions(self, words: Sequence[str], dim: int, seed: int) -> np.ndarray:
        """The words' n-grams as sums of random directions, float32 [words, dim] of unit length.

        Zeros for words without letters and numbers, and for those of scripts without spaces: no other
        script spells a word alike, so that their part would only add noise.
        """
        draws = _draws(dim, seed)
        rows = np.empty((len(words), dim), np.float32)
        for start in range(0, len(words), _ROWS):
            block = slice(start, start + _ROWS)
            rows[block] = unit(np.asarray(self.features(words[block]) @ draws))
        return rows * (_has_letters(words) & ~_is_unspaced(words))[:, None]


@dataclasses.dataclass(frozen=True, eq=False)
class Regression:
    """A ridge regression from n-grams onto vectors of words.

    Attributes:
      words: the words that it was fitted to.
      factors: float32 or float16 [words, D]; a vector is the sum of them, weighted by the cosines of
        n-grams.
      prior: the regression of another language, whose answer is added: loans and related languages
        have its words. None: there is none.
      scale: of its answer.

    Raises:
      ValueError: the numbers of words and factors differ.
    """

    words: Sequence[str]
    factors: np.ndarray
    prior: Regression | None = None
    scale: float = 0.0

    def __post_init__(self) -> None:
        if len(self.words) != len(self.factors):
            raise ValueError(f"{len(self.words)} words and factors of {len(self.factors)}")

    @classmethod
    def fit(
        cls, ngrams: Ngrams, words: Sequence[str], rows: np.ndarray, prior: Regression | None = None
    ) -> Regression:
        """Args:
        ngrams: the weights of n-grams.
        words: words, most frequent first.
        rows: their vectors, float32 [words, D].
        prior: a regression whose answer is added; its scale is that of least squares, and the rest is fitted.
        """
        word_rows = np.flatnonzero(_has_letters(words) & (np.abs(rows).max(1, initial=0) > 0))[
            :_MAX_WORDS
        ]
        words = [words[row] for row in word_rows.tolist()]
        rows = rows[word_rows]
        scale = 0.0
        if prior is not None:
            answers = prior._answers(ngrams, words)
            # Least squares: where a language has few of the hub's words, the scale is near 0.
            size = float(np.vdot(answers, answers)) + _FOREIGN * len(words)
            scale = max(0.0, float(np.vdot(rows, answers)) / max(size, 1e-9))
            rows = rows - np.float32(scale) * answers
        if words:
            factor = factor_kernel(ngrams.features(words), _RIDGE)
            rows = linalg.cho_solve(factor, rows, check_finite=False)
        return cls(words, rows, prior, scale)

    def vectors(self, ngrams: Ngrams, words: Sequence[str]) -> np.ndarray:
        """The vectors of words, float32 [words, D]: of unit length, shorter where little is known.

        Zeros where no n-gram is known, and for short words of scripts without spaces: their characters
        have meanings of their own, and Chinese retrieval lost 9 points by such guesses.
        """
        rows = self._answers(ngrams, words)
        lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
        # Shorter guesses where little is known gained .4 points with small dictionaries.
        sure = np.sqrt(np.minimum(1, lengths / _SURE))
        long = np.fromiter((len(word) >= _GUESSED for word in words), np.bool_, len(words))
        sure *= _has_letters(words) & (long | ~_is_unspaced(words))
        rows *= (sure / np.maximum(lengths, 1e-12)).astype(np.float32)[:, None]
        return rows

    def sums(self, ngrams: Ngrams, words: Sequence[str]) -> np.ndarray:
        """The answers for words, float32 [words, D], to which each word that the regression was fitted
        to adds its own factor: it is a feature beside its n-grams."""
        rows = self._answers(ngrams, words)
        index = {word: n for n, word in enumerate(self.words)}
        fitted_rows = np.array([index.get(word, -1) for word in words], np.int64)
        rows[fitted_rows >= 0] += self.factors[fitted_rows[fitted_rows >= 0]]
        return rows

    def _answers(self, ngrams: Ngrams, words: Sequence[str]) -> np.ndarray:
        """The weighted sums of factors, of any length: float32 [words, D]."""
        rows = np.zeros((len(words), self.factors.shape[1]), np.float32)
        if len(self.words) and len(words):
            word_features = ngrams.features(self.words).T.tocsr()
            factors = self.factors.astype(np.float32)
            if (
                len(words) <= _FEW
            ):  # the vector of each n-gram takes longer than that of a few words
                rows[:] = np.asarray(ngrams.features(words) @ word_features @ factors)
            else:
                weights = word_features @ factors
                for start in range(0, len(words), _ROWS):
                    block = slice(start, start + _ROWS)
                    rows[block] = np.asarray(ngrams.features(words[block]) @ weights)
        if self.prior is not None and self.scale > 0:
            rows += np.float32(self.scale) * self.prior._answers(ngrams, words)
        return rows


def width_of(regressions: Mapping[str, Regression]) -> int:
    """The width of the vectors that languages' regressions give; 0: there are none."""
    return next((fitted.factors.shape[1] for fitted in regressions.values()), 0)


@dataclasses.dataclass(frozen=True, eq=False)
class Spelling:
    """Vectors of any string of several languages, as those of the words that a model has.

    Attributes:
      ngrams: the weights of n-grams.
      regressions: language -> the regression onto the dictionary's part of its vectors; their priors
        are among them.
      length: length of this part, where it is computed from n-grams.
      dim, spelling_length: width and length of the part of the n-grams themselves; 0: none.
      width: of a whole vector; zeros fill it.
      seed: of the directions of n-grams.
      compared: factor of a guess that stands beside a trained vector, where single words are compared.
      paired: language -> the regression onto the part that given pairs taught, behind that of the n-grams
        (`pair_vectors`); empty: there is none.
    """

    ngrams: Ngrams
    regressions: Mapping[str, Regression]
    length: float
    dim: int
    spelling_length: float
    width: int
    seed: int
    compared: float = 1.0
    paired: Mapping[str, Regression] = dataclasses.field(default_factory=dict)

    def vectors(self, words: Sequence[str], language: str) -> np.ndarray:
        """The vectors of words, float32 [words, width]."""
        rows = np.zeros((len(words), self.width), np.float32)
        regression = self.regressions[language]
        entry_width = regression.factors.shape[1]
        rows[:, :entry_width] = regression.vectors(self.ngrams, words) * np.float32(self.length)
        if self.dim:
            part = slice(entry_width, entry_width + self.dim)
            rows[:, part] = self.ngrams.directions(words, self.dim, self.seed)
            rows[:, part] *= np.float32(self.spelling_length)
        if language in self.paired:
            paired_start = entry_width + self.dim
            part = slice(paired_start, paired_start + width_of(self.paired))
            rows[:, part] = self.paired[language].sums(self.ngrams, words)
        return rows

    def as_words(self, vectors: np.ndarray | Packed) -> np.ndarray:
        """The vectors by which single words are compared, made from their vectors: float32 [words, width].

        A guess from spelling is shorter there beside a trained vector, because a word's contexts say
        more of its translation. Sentences keep the whole guess.
        """
        rows = np.array(vectors, np.float32)  # a copy, because it changes
        entry_width = next((x.factors.shape[1] for x in self.regressions.values()), self.width)
        of_entries = rows[:, :entry_width]
        trained = rows[:, entry_width + self.dim + width_of(self.paired) :].any(1)
        short = trained & (np.einsum("nd,nd->n", of_entries, of_entries) < _KNOWN**2)
        of_entries[short] *= np.float32(self.compared)
        return rows

    def to_float16(self) -> Spelling:
        """The same in half precision, as `save` stores it: a run measures what is loaded later."""

        @functools.cache  # a prior stays one of the regressions
        def halves(fitted: Regression) -> Regression:
            prior = None if fitted.prior is None else halves(fitted.prior)
            factors = fitted.factors.astype(np.float16)
            return dataclasses.replace(fitted, factors=factors, prior=prior)

        return dataclasses.replace(
            self,
            ngrams=Ngrams(self.ngrams.weights.astype(np.float16).astype(np.float32)),
            regressions={x: halves(y) for x, y in self.regressions.items()},
            paired={x: halves(y) for x, y in self.paired.items()},
        )

    def save(self, path: str) -> None:
        """Writes an .npz file that `load` reads; the regressions are stored in half precision."""
        arrays = {}
        for language, fitted in self.regressions.items():
            arrays |= regression_arrays("", language, fitted)
            if fitted.prior is not None:
                # An error where it is none of them: the file would lose it.
                [prior] = [x for x, y in self.regressions.items() if y is fitted.prior]
                arrays[f"prior/{language}/{prior}"] = np.float64(fitted.scale)
        for language, fitted in self.paired.items():
            arrays |= regression_arrays("paired_", language, fitted)
        facts = np.array(
            [self.length, self.dim, self.spelling_length, self.width, self.seed, self.compared]
        )
        with atomic.writing(path) as file:
            np.savez(file, ngrams=self.ngrams.weights.astype(np.float16), facts=facts, **arrays)

    @classmethod
    def load(cls, path: str) -> Spelling:
        """Reads a file that `save` wrote.

        Raises:
          FileNotFoundError: the file does not exist.
          ValueError: the file is damaged.
        """
        with atomic.naming_damage(path, "Delete it and run again"):
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            # Files of earlier versions have no `compared`.
            length, dim, spelling_length, width, seed, *compared = arrays["facts"].tolist()
            regressions, paired = (regressions_of(kind, arrays) for kind in ("", "paired_"))
            # The priors come last, because they are among the regressions.
            for name in arrays:
                if name.startswith("prior/"):
                    _, language, prior = name.split("/")
                    regressions[language] = dataclasses.replace(
                        regressions[language], prior=regressions[prior], scale=float(arrays[name])
                    )
            ngrams = Ngrams(arrays["ngrams"].astype(np.float32))
        numbers = length, int(dim), spelling_length, int(width), int(seed)
        return cls(ngrams, regressions, *numbers, *compared, paired=paired)


def regression_arrays(kind: str, language: str, fitted: Regression) -> dict[str, np.ndarray]:
    """A regression without its prior as arrays of a file, the factors in half precision."""
    text = "\n".join(fitted.words).encode("utf-8", errors="replace")
    return {
        f"{kind}words/{language}": np.frombuffer(text, np.uint8),
        f"{kind}factors/{language}": fitted.factors.astype(np.float16),
    }


def regressions_of(kind: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Regression]:
    """Language -> the regression that `regression_arrays` has written."""
    regressions = {}
    for name in arrays:
        begin, _, language = name.partition("/")
        if begin == f"{kind}words":
            text = arrays[name].tobytes().decode("utf-8")
            words = text.split("\n") if text else []
            regressions[language] = Regression(words, arrays[f"{kind}factors/{language}"])
    return regressions


@functools.lru_cache(maxsize=1 << 18)
def buckets(word: str) -> np.ndarray:
    """The buckets of a word's n-grams, int64 [n-grams]; an n-gram that occurs twice has two."""
    # Scripts without spaces have words of one or two characters, whose Latin form says little.
    unspaced = is_unspaced(word)
    marked = f"<{word if unspaced else latin(word) or word}>"
    grams: list[str] = []
    for length in range(1 if unspaced else _SHORTEST, _LONGEST + 1):
        grams += [marked[start : start + length] for start in range(len(marked) - length + 1)]
    # crc32 is the same in every process, unlike Python's hash of strings.
    numbers = [zlib.crc32(x.encode("utf-8", errors="replace")) % _BUCKETS for x in grams]
    return np.array(numbers, np.int64)


@functools.lru_cache(maxsize=2)
def _draws(dim: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((_BUCKETS, dim), np.float32)


def _has_letters(words: Sequence[str]) -> np.ndarray:
    """Whether a word has a letter or a number, bool [words]."""
    return np.fromiter((has_letter_or_digit(word) for word in words), np.bool_, len(words))


def _is_unspaced(words: Sequence[str]) -> np.ndarray:
    """Whether a word is of a script without spaces between words, bool [words]."""
    return np.fromiter(map(is_unspaced, words), np.bool_, len(words))


def factor_kernel(features: sparse.csr_matrix, ridge: float) -> tuple[np.ndarray, bool]:
    """Cholesky's factor of F Ft + ridge, which `linalg.cho_solve` takes; float32 [N, N], 0.4 GB at 10,000.

    It is made once for all columns of a solution, and takes a tenth of the time of conjugate gradients
    on sparse n-grams.

    Args:
      features: F, float32 [N, features].
      ridge: added to the diagonal.
    """
    size = features.shape[0]
    # A sparse product takes most of its time for the features that many rows have.
    is_common = features.getnnz(0) > _COMMON * size
    common = features[:, is_common].toarray()
    rare = features[:, ~is_common].tocsr()
    back = rare.T.tocsr()
    kernel = common @ common.T
    for start in range(0, size, _KERNEL_ROWS):
        block = slice(start, start + _KERNEL_ROWS)
        kernel[block] += (rare[block] @ back).toarray()
    kernel[np.diag_indices(size)] += np.float32(ridge)
    # The transpose is in Fortran's order: LAPACK overwrites the symmetric kernel without a copy.
    return linalg.cho_factor(kernel.T, lower=True, overwrite_a=True, check_finite=False)
