"""Masked language modelling: the loss of MLM, DICT-MLM, DICT-TLM and TLM.

The four differ only in their batches (`options.tasks`). The loss is the cross-entropy of the target
piece at every weighted position (Devlin et al. 2019, section 3.1; DICT-MLM, section 2.1), or of all
labels of a word at once, each with its probability (`models.expected_labels`).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import expected_labels
from clwe_jax.models.mlm import MlmModel, Predictions
from clwe_jax.models.transformer import Transformer
from clwe_jax.options.objectives import MlmOptions
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.types import Array, Batch, Hidden, Sums, Variables, piece_batch

LABELS = "labels"  # the collection with the arrays of a `LabelTable`


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


class Scored(NamedTuple):
    """The sums of a batch's loss: of all labels, of those in the text's own and in other languages, and
    how many positions are predicted right."""

    loss: Sums
    correct: Sums
    within: Sums
    cross: Sums


@dataclasses.dataclass(frozen=True, kw_only=True)
class MlmObjective(MlmOptions):
    """Cross-entropy at the weighted positions.

    Attributes:
      model: the backbone.
      vocab_size: number of pieces; the backbone's table may have more rows, for padding.
      max_predictions: P, maximum number of masked pieces of a row.
      labels: the labels of the entries that batches name; None where the batches have the labels.
    """

    model: Transformer
    vocab_size: int
    max_predictions: int
    labels: LabelTable | None = dataclasses.field(default=None, compare=False, repr=False)

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        return piece_batch(rows, length, entries=self.labels is not None)

    @property
    def max_length(self) -> int:
        return self.model.max_length

    @property
    def module(self) -> MlmModel:
        """The linen module with the head."""
        return MlmModel(self.model, self.vocab_size, self.tied, self.dense)

    def init(self, rng: Array, batch: Batch) -> Variables:
        variables = self.module.init(rng, batch, self.max_predictions)
        if self.labels is None:
            return variables
        rows = self.model.vocab_size - len(self.labels.members)
        members = np.pad(self.labels.members, ((0, rows), (0, 0)))
        return {**variables, LABELS: self.labels._replace(members=members)._asdict()}

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
          'loss', 'accuracy': over all weighted positions. Of several labels of a position one must
            have the highest score.
          'monolingual_loss', 'cross_lingual_loss': over positions whose target is in the text's own
            or in another language; 'cross_lingual_share': the share of the latter positions.
          'predictions_per_row', 'padding', 'overflow': see `row_sums`.
          'drift': with `stay_near_embeddings`, see `models.mlm.drift`; training adds its mean, times `stay_near_embeddings`, to the
            loss of every position.
        """
        params = {"params": variables["params"]}
        apply = functools.partial(self.module.apply, params, train=train, rngs=rngs)
        output = apply(batch, self.max_predictions, method="gather")
        if self.labels is None:
            found = self._drawn(params, output)
        else:
            found = self._expected(params, output, variables[LABELS])
        optimised = found.loss
        drift = {}
        # Without it training washes a common space of the table away (docs/lessons.md).
        if self.stay_near_embeddings:
            drift = {"drift": output.drift}
            # Times the weight, by which the step divides the sum.
            # In evaluation, `train` = 0, the loss is the cross-entropy alone.
            held = train * self.stay_near_embeddings * output.drift.mean() * found.loss.weight
            optimised = Sums(found.loss.value + held, found.loss.weight)
        return {
            "loss": optimised,
            "accuracy": found.correct,
            "monolingual_loss": found.within,
            "cross_lingual_loss": found.cross,
            "cross_lingual_share": Sums(found.cross.weight, found.loss.weight),
            **row_sums(batch["segment_ids"], output.weights.sum(), output.left_out),
            **drift,
        }, {}

    def _drawn(self, params: Variables, output: Predictions) -> Scored:
        """The loss of one label of each position."""
        score = functools.partial(self.module.apply, params, method="score")
        loss, correct = cross_entropy(score(output.hidden, output.languages), output.targets)
        weights = output.weights
        cross = weights * (output.languages != output.source_languages)
        within = weights - cross
        total = weights.sum()
        return Scored(
            loss=Sums((loss * weights).sum(), total),
            correct=Sums((correct * weights).sum(), total),
            within=Sums((loss * within).sum(), within.sum()),
            cross=Sums((loss * cross).sum(), cross.sum()),
        )

    def _expected(
        self, params: Variables, output: Predictions, table: Mapping[str, Array]
    ) -> Scored:
        """The loss of all labels of each position."""
        labels = expected_labels.look_up(table, output.entries, self.labels.most)
        labels = labels.replace(weights=labels.weights * output.weights[..., None])
        members = table["members"].astype(jnp.float32)
        score = functools.partial(self.module.apply, params, method="score")
        if self.model.options.condition_on_language:
            # The head reads each language in turn, and scores its pieces alone.
            most = int(self.labels.members.sum(0).max())
            losses, correct = expected_labels.one_by_one(
                score, output.hidden, labels, table["members"], most
            )
        else:
            logits = score(output.hidden, output.languages)
            losses, correct = expected_labels.cross_entropy(logits, labels, members)
        languages = members.shape[1]
        weights = expected_labels.by_language(labels, labels.weights, languages)
        own = output.source_languages[..., None] == jnp.arange(languages)
        sums = lambda chosen: Sums((losses * chosen).sum(), (weights * chosen).sum())
        return Scored(
            loss=sums(jnp.ones_like(own)),
            correct=Sums((correct * output.weights).sum(), output.weights.sum()),
            within=sums(own),
            cross=sums(~own),
        )

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        return self.module.apply(variables, batch, method="encode")
