"""The facts of a run that its evaluators share."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

from clwe_jax.encoders.protocols import HasObjective
from clwe_jax.text.corpus import parallel
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Batch


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """The run of an evaluator: every evaluator of the registry has it beside its options.

    Attributes:
      languages: languages of the run.
      key: the evaluator's key in config.evals, which errors name; '': its name.
      normalizer: normalizer that spells the words of test files as the run's vocabulary does.
      tokenizer: the run's tokenizer; None for static vectors.
      pairs: directions (source, target) to evaluate; empty: all directions of the test files.
      heldout: language -> its held-out batches, with this host's rows.
      sample: language -> lines of text in which words get their contextual vectors.
      domains: domains of the embedded world's text; empty: all.
      layers: number of vectors of a word, as of `protocols.Encoder`; None where it is not known.
    """

    languages: Sequence[str]
    key: str = ""
    normalizer: Normalizer = Normalizer()
    tokenizer: Tokenizer | None = None
    pairs: Sequence[tuple[str, str]] = ()
    heldout: Mapping[str, Sequence[Batch]] = dataclasses.field(default_factory=dict)
    sample: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    domains: Sequence[str] = ()
    layers: int | None = None

    def option(self, name: str, field: str) -> str:
        """An option of the evaluator, 'config.evals.KEY.FIELD', for messages.

        Args:
          name: the evaluator's name.
        """
        return f"config.evals.{self.key or name}.{field}"

    def measures(self, source: str, target: str) -> bool:
        """Whether a test set of these languages, or of one, is among `pairs`."""
        return source == target or not self.pairs or (source, target) in self.pairs

    def read_pairs(
        self, place: str, name: str, limit: int
    ) -> list[tuple[parallel.Bitext, parallel.SentencePairs]]:
        """The parallel text of an evaluation: its language pairs, each with at most `limit` sentences (0: all).

        Raises:
          FileNotFoundError, ValueError: as of `parallel.find` and `parallel.Reader.read`.
        """
        reader = parallel.Reader()
        option = self.option(name, "data").removeprefix("config.")
        bitexts = parallel.test_pairs(place, self.languages, option, self.pairs)
        return [(files, reader.read(files, limit)) for files in bitexts]


def language_model(model: Any, name: str) -> HasObjective:
    """The model, after a check that it is a language model.

    Args:
      name: name of the evaluator, for the error.

    Raises:
      ValueError: the encoder has no objective.
    """
    if not isinstance(model, HasObjective):
        raise ValueError(
            f"The evaluator {name!r} measures a language model's objective, which "
            f"{type(model).__name__} lacks: take it out of config.evals"
        )
    return model
