"""The contract of a loaded run, or of another program's loaded weights: it makes an encoder."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar, Protocol, Sequence, runtime_checkable

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.checks import check_type
from clwe_jax.encoders.encode import Layer
from clwe_jax.text.words.languages import hint
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.types import Encoder


class LoadedEncoder(abc.ABC):
    """A language model, static vectors or several models in one space, as a folder holds them.

    Attributes:
      described: name of the kind, in the plural, for messages.
      tokenizer: cuts text into the model's pieces; None for static vectors and pairs of models.
    """

    described: ClassVar[str]
    tokenizer: Tokenizer | None

    @property
    @abc.abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages that are encoded."""

    @abc.abstractmethod
    def encoder(self) -> Encoder:
        """The encoder of text (`types.Encoder`)."""

    @abc.abstractmethod
    def segmenter(self, lang: str) -> Segmenter:
        """Cuts text of a language into words as the encoder does."""

    @abc.abstractmethod
    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors, most frequent first.

        Raises:
          ValueError: an unknown language or layer, or a run without a list of frequent words.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list_languages(self.languages)})"

    def __getstate__(self) -> dict[str, Any]:
        """The fields that a copy in another process gets; the others are computed again."""
        return {
            x.name: x.default_factory() if not x.init else getattr(self, x.name)
            for x in dataclasses.fields(self)
        }

    def _check_languages(self, **codes: Any) -> None:
        """Raises ValueError, which names the argument, unless each is a language of the model."""
        for name, code in codes.items():
            check_type(name, code, str, "the code of a language, such as 'en'")
            if code not in self.languages:
                raise ValueError(
                    f"{name}={code!r} is not a language of this model. {hint(code, self.languages)}"
                )


@runtime_checkable
class Reduces(Protocol):
    """A loaded encoder that can leave out words, or bring them into another order (CLCR)."""

    def reduced(self, extract: bool, reorder: bool, threshold: float | None) -> Encoder:
        """The encoder of the words that are kept; see `clcr_models.ClcrModels.reduced`."""


def list_languages(languages: Sequence[str], max_shown: int = 8) -> str:
    """'en, de, fr', for one line; of many languages the first ones and their number."""
    if len(languages) <= max_shown:
        return ", ".join(languages)
    return f"{', '.join(languages[:max_shown])}, ... {len(languages)} languages"
