"""Translation with teacher forcing (Artetxe and Schwenk 2019; C1).

The loss is the cross-entropy of each piece of the translation and of its end, after the preceding
pieces of the translation. The first piece comes after the mark of the end, as in fairseq.
Suffixes of names are shapes: B rows, L places of the translation, V pieces.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import decode
from clwe_jax.models.laser import Laser
from clwe_jax.models.sentence_encoder import SentenceEncoder
from clwe_jax.models.translator import Translator
from clwe_jax.objectives.mlm import cross_entropy
from clwe_jax.options.objectives import TranslationOptions
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.vocab.base_vocab import CLS, MASK, PAD
from clwe_jax.types import Array, Batch, Sums, Variables


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TranslationObjective(ByIdentity, SentenceEncoder, TranslationOptions):
    """The loss of translations (`types.Objective`, `types.Encodes`, `types.Generates`)."""

    model: Laser | Translator  # encoder and decoder

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch.

        Returns:
          inputs, targets: int32 [rows, length], pieces of a text and of its translation, each with
            its end, then padding.
          source_language_ids, language_ids: int32 [rows], the languages of both.
        """
        pieces = jax.ShapeDtypeStruct((rows, length), np.int32)
        languages = jax.ShapeDtypeStruct((rows,), np.int32)
        return dict(
            inputs=pieces, targets=pieces, source_language_ids=languages, language_ids=languages
        )

    def init(self, rng: Array, batch: Batch) -> Variables:
        # Two pieces are enough: no parameter has a shape that depends on the length.
        ids = batch["inputs"][:, :2]
        languages = batch["language_ids"]
        return self.model.init(rng, ids, jnp.ones(ids.shape, bool), languages, ids, languages)

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], dict[str, Any]]:
        """'loss' and 'accuracy' over the translations' pieces, and 'padding'; nothing is observed."""
        del step
        sums = self.cross_entropy(variables, batch, rngs, train)
        return {**sums, "padding": padding_share(batch["targets"] != self.marks.pad)}, {}

    def cross_entropy(
        self,
        variables: Variables,
        batch: Batch,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> dict[str, Sums]:
        """'loss' and 'accuracy' of the targets, whose preceding pieces are given."""
        targets_BL = batch["targets"]
        pad = self.marks.pad
        before_BL = jnp.pad(targets_BL[:, :-1], ((0, 0), (1, 0)), constant_values=self.marks.begin)

        def score(model: Laser | Translator) -> Array:
            source = batch["source_language_ids"]
            memory = model.read(batch["inputs"], batch["inputs"] != pad, source, train)
            return model.scores(memory, before_BL, batch["language_ids"], self.vocab_size, train)

        params = {"params": variables["params"]}
        logits_BLV = self.model.apply(params, rngs=rngs, method=score)
        losses_BL, right_BL = cross_entropy(logits_BLV, targets_BL)
        real_BL = (targets_BL != pad).astype(jnp.float32)
        total = real_BL.sum()
        return {
            "loss": Sums((losses_BL * real_BL).sum(), total),
            "accuracy": Sums((right_BL * real_BL).sum(), total),
        }

    def decode(
        self,
        variables: Variables,
        batch: Batch,
        *,
        width: int = 1,
        penalty: float = 1.0,
        length: int = 0,
    ) -> Array:
        """The translations, int32 [B, L]: pieces, the end, padding. Not compiled by itself.

        Args:
          variables: 'params'.
          batch: `inputs`, `source_language_ids` and `language_ids`, the languages to write, as of
            `batch_shapes`.
          width: number of beams; 1: greedy search.
          length: L, most pieces of a translation; 0: the model's.
        """
        params = {"params": variables["params"]}
        marks = self.marks
        ids = batch["inputs"]
        rows = len(batch["inputs"])
        length = length or self.max_length
        # No target has these pieces.
        never = jnp.array([self.specials[name] for name in (PAD, CLS, MASK)])

        def begin(model: Laser | Translator) -> Any:
            memory = model.read(ids, ids != marks.pad, batch["source_language_ids"])
            return model.first(memory, batch["language_ids"], length)

        def step(state: Any, before: Array) -> tuple[Array, Any]:
            logits, state = self.model.apply(params, state, before, self.vocab_size, method="next")
            return logits.at[:, never].set(-1e9), state

        state = self.model.apply(params, method=begin)
        if width == 1:
            return decode.greedy(step, state, rows, length, marks).tokens
        return decode.beam(step, state, rows, length, marks, width, penalty).tokens[:, 0]


def padding_share(real: Array) -> Sums:
    """The share of padding, from bool [B, L], True at pieces."""
    total = real.sum(dtype=jnp.float32)
    places = jnp.float32(real.size)
    return Sums(places - total, places)
