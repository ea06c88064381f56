"""A language model with its parameters as an encoder."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
from typing import Mapping, Sequence

import numpy as np

from clwe_jax.evaluate.character_encoder import encoder_of
from clwe_jax.evaluate.encode import Row, RowEncoder
from clwe_jax.text.frequencies import Frequencies
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables, WordSample, WordSpace

POOLS = ("mean", "sif")

class ModelEncoder:
    """An objective that encodes, its tokenizer and its variables.

    A sentence or a word is the mean over its pieces, layer by layer.

    Attributes:
      pools: 'mean' and, where the counts of words are given, 'sif'; see `types.Pools`.
      objective, tokenizer, variables, step: see `types.HasObjective`.
      seen, cut: see `types.Truncates`.
    """

    def __init__(
        self,
        objective: Objective,
        tokenizer: Tokenizer,
        variables: Variables,
        step: int = 0,
        *,
        frequencies: Frequencies | None = None,
        max_length: int = 0,
        batch_size: int = 64,
    ):
        """Args:
        objective: that encodes (`types.Encodes`).
        tokenizer: the run's.
        variables: the model's.
        step: training steps that the variables have seen.
        frequencies: counts of words in the run's text; None where they are not known.
        max_length: of a row, special pieces included; 0: the model's.
        batch_size: rows computed at once.
        """
        self.objective, self.tokenizer = objective, tokenizer
        self.variables, self.step = variables, step
        self.pools = POOLS if frequencies is not None else POOLS[:1]
        self._shared = _Shared(objective, tokenizer, frequencies, max_length, batch_size)

    def bind(self, variables: Variables, step: int = 0) -> ModelEncoder:
        """The encoder with other variables; what is compiled and counted is shared."""
        bound = copy.copy(self)
        bound.variables, bound.step = variables, step
        return bound

    @property
    def _rows(self) -> RowEncoder:
        return self._shared.rows

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the model has learned."""
        return tuple(self.tokenizer.languages)

    @property
    def layers(self) -> int:
        """The model's layers and the embedding output."""
        return self._rows.shape(self.variables)[0]

    @property
    def seen(self) -> Mapping[str, int]:
        """Sentences encoded so far, by language."""
        return self._rows.seen

    @property
    def cut(self) -> Mapping[str, int]:
        """Sentences that were longer than a row and lost their end, by language."""
        return self._rows.cut

    def between(self, source: str, target: str) -> ModelEncoder:
        """The encoder itself: all languages of a model share one space."""
        return self

    def words(self, text: str, language: str) -> list[str]:
        """The normalised words of a text."""
        return self.tokenizer.words(text, language)

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, layers, D]; a sentence longer than a row loses its end."""
        return self._rows.sentences(self.variables, texts, language)[0]

    def pooled(self, texts: Sequence[str], language: str) -> dict[str, np.ndarray]:
        """See `types.Pools`."""
        weights = self._shared.weights(language)
        return dict(zip(POOLS, self._rows.sentences(self.variables, texts, language, weights)))

    def pieces(self, texts: Sequence[str], language: str) -> list[np.ndarray]:
        """For each sentence its pieces' vectors, float32 [pieces, layers, D]."""
        return self._rows.pieces(self.variables, texts, language)

    def in_context(
        self, texts: Sequence[str], language: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """For each text its words and their vectors, float32 [words, layers, D]."""
        return self._rows.words(self.variables, texts, language)

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """The frequent words of the sample and the wanted ones, with their mean vectors.

        A word's vector is the mean of its contextual vectors over its first occurrences in the
        sample (Schuster et al. 2019, section 3.1); a word that does not occur is encoded by itself.
        """
        lines = [self.words(line, language) for line in sample.lines.get(language, ())]
        frequent = _frequent(lines, sample)
        words = [*frequent, *sorted(set(wanted) - set(frequent))]
        vectors, counts = self._averaged(lines, language, words, sample.occurrences)
        return WordSpace(words, vectors, len(frequent), counts)

    def _averaged(
        self,
        lines: Sequence[Sequence[str]],
        language: str,
        words: Sequence[str],
        occurrences: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """float32 [W, layers, D], mean vectors, and int [W], how many occurrences they are of."""
        encoder = self._rows
        number, room = self.tokenizer.language_id(language), encoder.max_length - 2
        index = {word: place for place, word in enumerate(words)}
        counts = np.zeros(len(words), np.int64)
        rows: list[Row] = []
        targets: list[list[int]] = []
        for line in lines:
            for start, end in encoder.windows(line):
                chosen: dict[int, int] = {}  # place in the window -> group
                target = []
                for place, word in enumerate(line[start:end]):
                    wanted = index.get(word, -1)
                    if wanted >= 0 and counts[wanted] < occurrences:
                        counts[wanted] += 1
                        chosen[place] = len(target)
                        target.append(wanted)
                if target:
                    ids, owners = encoder.tokenizer.encode_words(line[start:end])
                    groups = [chosen.get(owner, -1) for owner in owners]
                    rows.append(Row(ids[:room], groups[:room], number))
                    targets.append(target)
        sums = np.zeros((len(words), *encoder.shape(self.variables)), np.float32)
        for place, vectors in encoder.stream(self.variables, rows):
            np.add.at(sums, targets[place], vectors)
        sums /= np.maximum(counts, 1)[:, None, None].astype(np.float32)
        alone = np.flatnonzero(counts == 0)
        if len(alone):
            sums[alone] = self.sentences([words[i] for i in alone], language)
        return sums, counts


@dataclasses.dataclass(eq=False)
class _Shared:
    """The part of an encoder that does not depend on its variables, made when it is first used."""

    objective: Objective
    tokenizer: Tokenizer
    frequencies: Frequencies | None
    max_length: int
    batch_size: int

    def __post_init__(self) -> None:
        self._weights: dict[str, np.ndarray] = {}

    def weights(self, language: str) -> np.ndarray | None:
        """float32 [V]: the SIF weights of a language's pieces; None where they are not known."""
        if self.frequencies is None:
            return None
        if language not in self._weights:
            vocabulary = self.tokenizer.vocabulary
            self._weights[language] = self.frequencies.piece_weights(language, vocabulary)
        return self._weights[language]

    @functools.cached_property
    def rows(self) -> RowEncoder:
        """Encodes rows of pieces or words."""
        return encoder_of(self.objective, self.tokenizer, self.max_length, self.batch_size)


def _frequent(lines: Sequence[Sequence[str]], sample: WordSample) -> list[str]:
    """Words with a letter that occur `min_count` times in the lines, most frequent first."""
    counts = collections.Counter(word for line in lines for word in line)
    found = [
        word
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= sample.min_count and any(map(str.isalpha, word))
    ]
    return found[: sample.max_words or None]
