"""What a loaded model can do, asked for with isinstance, and the one error where it cannot."""

from __future__ import annotations

from typing import Any, TypeVar

from clwe_jax.encoders.checks import check_languages
from clwe_jax.encoders.encode import by_layer
from clwe_jax.encoders.loaded import BATCH, LabelsText, LoadedEncoder, PoolsTexts

_SENSES = (
    "have no senses, which the method {method!r} needs: neighbours(word, lang=...) and "
    "translate(word, lang=..., to=...) work without senses; configs/bi_saelmo_context.py trains a "
    "model that has them"
)
_LABELS = (
    "have learned no labels, which the method {method!r} needs: train a head on it with "
    "--config=configs/%s.py --config.encoder=run:DIR, then load that run"
)
# Method -> the end of its message, whatever lacks it; other methods have that of the model's kind.
_KINDS = {
    "senses": _SENSES,
    "translate_in_context": _SENSES,
    "translate_sentence": (
        "write no text, which the method {method!r} needs: configs/laser.py trains a model that "
        "translates"
    ),
    "tag": _LABELS % "ner_bilstm_crf",
    "classify": _LABELS % "classify_topics",
    "label_spans": _LABELS % "edge_probing",
    "reduced": (
        "have no pivots, which the method {method!r} keeps alone: configs/clcr.py trains a model that "
        "has them"
    ),
}
_Capability = TypeVar("_Capability")


def lacks(loaded: LoadedEncoder | LabelsText, method: str) -> ValueError:
    """The error of a method that a model lacks: what the model is, and which kind has the method."""
    end = _KINDS.get(method, loaded.lack_message)
    return ValueError(f"{loaded.kind_name} {end.format(method=method)}")


class Capabilities:
    """A loaded model, handed out as what a method needs."""

    def __init__(self, loaded: LoadedEncoder | LabelsText):
        self._loaded = loaded
        # (batch size, own reading) -> encoder: each counts the sentences that it cut, and warns of them once.
        self._encoders: dict[tuple[int, bool], PoolsTexts] = {}

    def need(self, capability: type[_Capability], method: str, **languages: Any) -> _Capability:
        """The loaded model, which has the capability.

        Args:
          capability: `LoadedEncoder`, or a protocol of `encoders.loaded`.
          method: the user's method, for the message.
          languages: name of an argument -> the code given for it.

        Raises:
          ValueError: the model lacks the capability, or does not know a language.
        """
        if not isinstance(self._loaded, capability):
            raise lacks(self._loaded, method)
        check_languages(self._loaded.languages, **languages)
        return self._loaded

    def encoder(
        self, method: str, batch_size: int = BATCH, own: bool = True, **languages: Any
    ) -> PoolsTexts:
        """The model's encoder, made once for each size of a batch.

        Args:
          own: whether sentences may have the one vector that a downloaded model's folder describes;
            else they have one in every layer.

        Raises:
          ValueError: as of `need`.
        """
        loaded = self.need(LoadedEncoder, method, **languages)
        if (batch_size, own) not in self._encoders:
            encoder = loaded.encoder(batch_size)
            self._encoders[batch_size, own] = encoder if own else by_layer(encoder)
        return self._encoders[batch_size, own]
