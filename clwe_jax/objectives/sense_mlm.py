"""Masked language modelling over senses: BERT-Tiny, SaBERT-Tiny, and DICT-MLM over senses.

The senses of a masked word are predicted (`objectives.sense_loss`) from its contextual
representation, which is also the input of sense selection (A11: h_k predicts word k itself).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping

import jax
import numpy as np

from clwe_jax.models.mlm import at_positions, choose_positions, hidden_at_positions
from clwe_jax.models.senses import state as states
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import measure_row_fill
from clwe_jax.objectives.sense_loss import (
    Occurrences,
    SenseLoss,
    check_translations,
    inherit_senses,
    initial_tables,
    never_targets,
)
from clwe_jax.options.objectives import SenseMlmOptions
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.vocab.base_vocab import UNK
from clwe_jax.types import Array, Batch, Hidden, Sums, Variables, piece_shapes

MASKED = "masked"  # name of the sense state


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SenseMlmObjective(ByIdentity, SenseMlmOptions):
    """A Transformer over whole words that predicts the senses of masked words.

    Attributes:
      model: the backbone.
      vocab_size: number of words.
      padded_vocab_size: rows of the tables.
      max_predictions: P, maximum number of masked words of a row.
      seed: the run's seed.
      specials: name of each special piece, such as '[CLS]' -> its id.
      translations: int32 [vocab_size, languages, T], from `text.dictionary.translations`; None without a
        dictionary.
    """

    model: Transformer
    vocab_size: int
    padded_vocab_size: int
    max_predictions: int
    seed: int = 0
    specials: Mapping[str, int] = dataclasses.field(default_factory=dict)
    translations: np.ndarray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_translations(self.translation_share, self.translations)

    @property
    def directions(self) -> dict[str, slice]:
        return {MASKED: slice(None)}

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        return variables["params"]["sense_table"][ids]

    sense_input = "own"
    batch_shapes = staticmethod(piece_shapes)

    @property
    def max_length(self) -> int:
        return self.model.max_length

    @functools.cached_property
    def _loss(self) -> SenseLoss:
        return SenseLoss(self, self.vocab_size, self.seed, never_targets(self.specials, UNK))

    def init(self, rng: Array, batch: Batch) -> Variables:
        model_key, table_key, sense_key = jax.random.split(rng, 3)
        words = self.padded_vocab_size
        width = self.model.options.width
        model = self.model.init(model_key, batch)["params"]
        deviation = self.model.options.init_std
        tables = initial_tables(table_key, (words, self.senses.slots, width), deviation)
        return {
            "params": {"model": model, **tables},
            **self._loss.collections((words, width), {MASKED: sense_key}, self.translations),
        }

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], Any]:
        """The metrics of `SenseLoss` and of `mlm.measure_row_fill`, and the observed senses."""
        rngs = rngs or {}
        hidden = self.model.apply(
            {"params": variables["params"]["model"]}, batch, train=train, rngs=rngs
        ).last
        weights = batch["loss_weights"]
        positions = choose_positions(weights, self.max_predictions)
        picked_states = hidden_at_positions(positions, hidden)
        words = at_positions(positions, batch["targets"])
        languages = at_positions(positions, batch["language_ids"])
        kept = at_positions(positions, weights)
        rows, count = words.shape
        flat = picked_states.reshape(rows * count, -1)
        occurrences = Occurrences(
            words.reshape(-1), flat, flat, kept.reshape(-1), languages.reshape(-1)
        )
        table, bias = (variables["params"][name] for name in ("sense_table", "sense_bias"))
        rng = rngs["dropout"] if train else None
        targets = self._loss.choose(
            occurrences,
            bias.shape,
            variables.get("senses", {}).get(MASKED),
            variables.get("translations", {}).get("ids") if train else None,
        )
        sums = self._loss.score(occurrences, targets, table, bias, rng, train)
        observed: dict[str, Any] = {}
        sums |= measure_row_fill(batch["segment_ids"], kept.sum(), weights.sum() - kept.sum())
        if self._loss.aware:
            # Rows stay the first axis: microbatches are joined along it (`step.accumulate_gradients`).
            observed = dict(
                words=words,
                senses=targets.assigned.reshape(rows, count),
                h=jax.lax.stop_gradient(picked_states),
                weights=kept,
                languages=languages,
            )
        return sums, observed

    def update(self, variables: Variables, observed: Any, step: Array):
        if not self._loss.aware:
            return {}, None
        flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in observed.items()}
        state = variables["senses"][MASKED]
        config = self._loss.config_of(0)
        state, seeded = states.after_step(state, config, step, **flat)
        return {"senses": {MASKED: state}}, functools.partial(inherit_senses, now=seeded)

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        return self.model.apply({"params": variables["params"]["model"]}, batch)

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        return self.encode(variables, batch)
