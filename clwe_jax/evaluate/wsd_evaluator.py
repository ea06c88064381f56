"""Word sense disambiguation with the representations of a trained model (A14)."""

from __future__ import annotations

import dataclasses
from typing import Iterable, Iterator, Sequence

import numpy as np

from clwe_jax.evaluate.encode import Row
from clwe_jax.evaluate.spelled import encoder_of
from clwe_jax.evaluate.wsd import WordSenseDisambiguation
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables

_AT_ONCE = 512  # sentences encoded at once


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WsdEvaluator:
    """Runs `WordSenseDisambiguation` with a model.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
      training, tests, wordnet, development, max_sentences: see `WordSenseDisambiguation`.
      language: language of the annotated text.
      batch_size: sentences encoded at once.
      objective: objective that encodes (`types.Encodes`).
      tokenizer: the run's.
    """

    every_steps: int = 0
    training: str = ""
    tests: str = ""
    wordnet: str = ""
    development: str = "semeval2007"
    max_sentences: int = 0
    language: str = "en"
    batch_size: int = 64
    objective: Objective
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        self.tokenizer.language_id(
            self.language
        )  # raises for an unknown language before training starts

    def run(self, variables: Variables) -> Iterator[tuple[str, float]]:
        """Yields the metrics of `WordSenseDisambiguation.run`."""
        task = WordSenseDisambiguation(
            training=self.training,
            tests=self.tests,
            wordnet=self.wordnet,
            development=self.development,
            max_sentences=self.max_sentences,
        )
        yield from task.run(lambda sentences: self._encode(variables, sentences))

    def _encode(
        self, variables: Variables, sentences: Sequence[Sequence[str]]
    ) -> Iterable[np.ndarray]:
        """Yields [words, layers + 1, D] for each sentence, its words normalised as the run's text."""
        encoder = encoder_of(self.objective, self.tokenizer, 0, self.batch_size)
        number, room = self.tokenizer.language_id(self.language), encoder.max_length - 2
        normalise = self.tokenizer.normalizer
        shape = encoder.shape(variables)
        for start in range(0, len(sentences), _AT_ONCE):
            rows = []
            for words in sentences[start : start + _AT_ONCE]:
                known = [normalise(word, self.language) or word for word in words]
                ids, groups = encoder.tokenizer.encode_words(known)
                rows.append(Row(ids[:room], groups[:room], number))
            for row, found in zip(rows, encoder.means(variables, rows)):
                yield found if len(row.ids) else np.zeros((0, *shape), np.float32)
