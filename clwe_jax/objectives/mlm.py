"""Masked language modelling: the loss of MLM, DICT-MLM, DICT-TLM and TLM.

The four differ only in their batches (`data.tasks`). The loss is the cross-entropy of the target
piece at every weighted position (Devlin et al. 2019, section 3.1; DICT-MLM, section 2.1).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import jax
import jax.numpy as jnp

from clwe_jax.models.mlm import MlmModel
from clwe_jax.models.transformer import Transformer
from clwe_jax.options.objectives import MlmOptions
from clwe_jax.types import Array, Batch, Hidden, Sums, Variables, piece_batch


@jax.custom_vjp
def cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    """Negative log-likelihood of each target, and whether it has the highest score.

    The gradient is written out: it needs one pass over the logits and no scatter.

    Args:
      logits: float32 [..., V].
      targets: int [...].

    Returns:
      float32 [...], bool [...].
    """
    return _cross_entropy_forward(logits, targets)[0]


def _cross_entropy_forward(logits, targets):
    top = logits.max(-1)
    log_z = jnp.log(jnp.exp(logits - top[..., None]).sum(-1)) + top
    score = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (log_z - score, score >= top), (logits, log_z, targets)


def _cross_entropy_backward(residuals, gradients):
    logits, log_z, targets = residuals
    is_target = jnp.arange(logits.shape[-1], dtype=targets.dtype) == targets[..., None]
    # Softmax minus one-hot; the second output is a bool and has no gradient.
    difference = jnp.exp(logits - log_z[..., None]) - is_target
    return difference * gradients[0][..., None], None


cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)


def row_sums(segment_ids: Array, predicted: Array, left_out: Array) -> dict[str, Sums]:
    """The sums of metrics of rows.

    Args:
      segment_ids: int [B, L].
      predicted: weight of the scored positions, [].
      left_out: weight of masked positions beyond the first P of their row, [].

    Returns:
      'predictions_per_row'; 'padding', the share of positions without a piece; 'overflow', the
      share of masked positions that were left out, which is 0 with the batches of `data`.
    """
    padding = (segment_ids == 0).sum(dtype=jnp.float32)
    return {
        "predictions_per_row": Sums(predicted, jnp.float32(segment_ids.shape[0])),
        "padding": Sums(padding, jnp.float32(segment_ids.size)),
        "overflow": Sums(left_out, predicted + left_out),
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class MlmObjective(MlmOptions):
    """Cross-entropy at the weighted positions.

    Attributes:
      model: the backbone.
      vocab_size: number of pieces; the backbone's table may have more rows, for padding.
      max_predictions: P, maximum number of masked pieces of a row.
    """

    model: Transformer
    vocab_size: int
    max_predictions: int

    batch_shapes = staticmethod(piece_batch)

    @property
    def max_length(self) -> int:
        return self.model.max_length

    @property
    def module(self) -> MlmModel:
        """The linen module with the head."""
        return MlmModel(self.model, self.vocab_size, self.tied, self.dense)

    def init(self, rng: Array, batch: Batch) -> Variables:
        return self.module.init(rng, batch, self.max_predictions)

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], dict[str, Any]]:
        """The sums of every metric; nothing is observed.

        Returns:
          'loss', 'accuracy': over all weighted positions.
          'monolingual_loss', 'cross_lingual_loss': over positions whose target is in the text's own
            or in another language; 'cross_lingual_share': the share of the latter positions.
          'predictions_per_row', 'padding', 'overflow': see `row_sums`.
          'drift': with `hold`, see `models.mlm.drift`; training adds its mean, times `hold`, to the
            loss of every position.
        """
        output = self.module.apply(variables, batch, self.max_predictions, train=train, rngs=rngs)
        loss, correct = cross_entropy(output.logits, output.targets)
        weights = output.weights
        total = weights.sum()
        cross = weights * (output.languages != output.source_languages)
        within = weights - cross
        optimised, drift = (loss * weights).sum(), {}
        # Without it training washes a common space of the table away (docs/lessons.md).
        if self.hold:
            drift = {"drift": output.drift}
            # Times `total`, by which the step divides the sum.
            # In evaluation, `train` = 0, the loss is the cross-entropy alone.
            optimised += train * self.hold * output.drift.mean() * total
        return {
            "loss": Sums(optimised, total),
            "accuracy": Sums((correct * weights).sum(), total),
            "monolingual_loss": Sums((loss * within).sum(), within.sum()),
            "cross_lingual_loss": Sums((loss * cross).sum(), cross.sum()),
            "cross_lingual_share": Sums(cross.sum(), total),
            **row_sums(batch["segment_ids"], total, output.left_out),
            **drift,
        }, {}

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        return self.module.apply(variables, batch, method="encode")
