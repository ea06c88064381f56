"""Word sense disambiguation with the representations of a trained model (A14)."""

from __future__ import annotations

import dataclasses
from typing import Iterable, Iterator, Sequence

import numpy as np

from clwe_jax.evaluate.context import Context, language_model
from clwe_jax.evaluate.encode import Row
from clwe_jax.evaluate.character_encoder import encoder_of
from clwe_jax.evaluate.wsd import WordSenseDisambiguation
from clwe_jax.types import HasObjective

_AT_ONCE = 512  # sentences encoded at once


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WsdEvaluator:
    """Runs `WordSenseDisambiguation` with a model.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
      training, tests, wordnet, development, max_sentences: see `WordSenseDisambiguation`.
      language: language of the annotated text.
      batch_size: sentences encoded at once.
      context: of the run.
    """

    every_steps: int = 0
    training: str = ""
    tests: str = ""
    wordnet: str = ""
    development: str = "semeval2007"
    max_sentences: int = 0
    language: str = "en"
    batch_size: int = 64
    context: Context

    def __post_init__(self) -> None:
        if self.has_data and self.context.tokenizer is not None:
            self.context.tokenizer.language_id(self.language)  # raises before training starts

    @property
    def has_data(self) -> bool:
        """Whether annotated text is named."""
        return bool(self.training)

    def run(self, model: HasObjective) -> Iterator[tuple[str, float]]:
        """Yields the figures of `WordSenseDisambiguation.run`.

        Raises:
          ValueError: a model without an objective.
        """
        model = language_model(model, "wsd")
        task = WordSenseDisambiguation(
            training=self.training,
            tests=self.tests,
            wordnet=self.wordnet,
            development=self.development,
            max_sentences=self.max_sentences,
        )
        yield from task.run(lambda sentences: self._encode(model, sentences))

    def _encode(
        self, model: HasObjective, sentences: Sequence[Sequence[str]]
    ) -> Iterable[np.ndarray]:
        """[words, layers + 1, D] of each sentence of given words, normalised as the run's text."""
        encoder = encoder_of(model.objective, model.tokenizer, 0, self.batch_size)
        number, room = model.tokenizer.language_id(self.language), encoder.max_length - 2
        normalise, variables = model.tokenizer.normalizer, model.variables
        shape = encoder.shape(variables)
        for start in range(0, len(sentences), _AT_ONCE):
            rows = []
            for words in sentences[start : start + _AT_ONCE]:
                known = [normalise(word, self.language) or word for word in words]
                ids, groups = encoder.tokenizer.encode_words(known)
                rows.append(Row(ids[:room], groups[:room], number))
            for row, found in zip(rows, encoder.means(variables, rows)):
                yield found if len(row.ids) else np.zeros((0, *shape), np.float32)
