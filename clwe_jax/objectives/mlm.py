"""Masked language modelling: the loss of MLM, DICT-MLM, DICT-TLM and TLM.

Which of the four is trained follows from the batches (`options.tasks`): DICT-MLM predicts translations of
masked words, translation language modelling (TLM) reads a sentence and its translation in one row, and
DICT-TLM a text and its code-switched copy.

A position whose `loss_weights` are above 0 is predicted. Its loss is the cross-entropy of the target piece
(Devlin et al. 2019, section 3.1; DICT-MLM, section 2.1). With config.task.labels=expected it is the expected
cross-entropy of all labels of the word's dictionary entry (`models.expected_labels`). There the softmax of a label
is over the pieces of the label's language alone (`LabelTable.members`), so that losses are lower than drawn labels'.
Suffixes of names are shapes: B rows, P predicted positions of a row, G languages, V rows of the table of tokens,
which are the pieces and, behind them, rows that no piece uses.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import expected_labels
from clwe_jax.models.expected_labels import ExpectedLabels
from clwe_jax.models.mlm import MlmModel, Predictions
from clwe_jax.models.transformer import Transformer
from clwe_jax.options.objectives import MlmOptions
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.types import Array, Batch, Hidden, Sums, Variables, piece_shapes

# Name of the collection that holds the arrays of the objective's `label_table`. The arrays of a collection are
# arguments of the compiled step; those of `self.label_table` would become constants of its program. From
# `self.label_table` come sizes alone, because shapes must be known when the step is compiled. Checkpoints hold
# the collection, and `encoders.language_model` reads it back by this name.
LABEL_TABLE = "labels"


@jax.custom_vjp
def cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    """Negative log-likelihood of each target, and whether no score is higher than the target's.

    The gradient is written out: it needs one pass over the logits and no scatter.

    Args:
      logits: float32 [..., V].
      targets: int [...].

    Returns:
      float32 [...] in nats, bool [...].
    """
    return _cross_entropy_forward(logits, targets)[0]


def _cross_entropy_forward(logits, targets):
    top = logits.max(-1)
    log_z = jnp.log(jnp.exp(logits - top[..., None]).sum(-1)) + top
    score = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (log_z - score, score >= top), (logits, log_z, targets)


def _cross_entropy_backward(residuals, gradients):
    logits, log_z, targets = residuals
    loss_gradient, _ = gradients  # the second output is a bool and has no gradient
    is_target = jnp.arange(logits.shape[-1], dtype=targets.dtype) == targets[..., None]
    softmax_minus_one_hot = jnp.exp(logits - log_z[..., None]) - is_target
    return softmax_minus_one_hot * loss_gradient[..., None], None


cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)


def measure_row_fill(segment_ids: Array, predicted: Array, left_out: Array) -> dict[str, Sums]:
    """The metrics that say how full the rows of a batch are.

    Args:
      segment_ids: int [B, L].
      predicted: total weight of the positions that are predicted, [].
      left_out: total weight of the positions that exceed max_predictions in their row, [].

    Returns:
      'predictions_per_row'; 'padding', the share of positions without a piece; 'overflow', the share of the
      positions to predict that were left out: 0 unless a caller made batches without `clwe_jax.data`.
    """
    padding = (segment_ids == 0).sum(dtype=jnp.float32)
    return {
        "predictions_per_row": Sums(predicted, jnp.float32(segment_ids.shape[0])),
        "padding": Sums(padding, jnp.float32(segment_ids.size)),
        "overflow": Sums(left_out, predicted + left_out),
    }


class MlmSums(NamedTuple):
    """The sums of a batch's loss and accuracy, and of its loss by the language of the label."""

    loss: Sums
    correct: Sums
    monolingual: Sums  # the loss of labels in the language of the text
    cross_lingual: Sums  # the loss of labels in other languages


@dataclasses.dataclass(frozen=True, kw_only=True)
class MlmObjective(MlmOptions):
    """Cross-entropy at the positions that are predicted.

    Its options are the fields that it inherits from `MlmOptions`: `tied` and `dense` (the head),
    `stay_near_embeddings` and `align_labels` (weights of penalties).

    Attributes:
      model: the backbone (`MlmModel.backbone`), without the head; `module` has both.
      vocab_size: number of pieces. `model.vocab_size`, the rows of the backbone's table, may be larger, so
        that devices can share the table evenly; no piece uses the last rows.
      max_predictions: P, maximum number of predicted positions in a row.
      label_table: all labels of each dictionary entry; None: `batch["targets"]` are labels that were drawn.
    """

    model: Transformer
    vocab_size: int
    max_predictions: int
    # Not compared, because arrays have no hash.
    label_table: LabelTable | None = dataclasses.field(default=None, compare=False, repr=False)

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        return piece_shapes(rows, length, entries=self.label_table is not None)

    @property
    def max_length(self) -> int:
        return self.model.max_length

    @property
    def module(self) -> MlmModel:
        """The linen module with the head."""
        return MlmModel(self.model, self.vocab_size, self.tied, self.dense)

    def init(self, rng: Array, batch: Batch) -> Variables:
        variables = self.module.init(rng, batch, self.max_predictions)
        if not (table := self.label_table):
            return variables
        # `members` [V, G]: the pieces over which the softmax of a language's labels goes, without unused rows.
        unused_rows = self.model.vocab_size - len(table.members)
        members = np.pad(table.members, ((0, unused_rows), (0, 0)))
        return {**variables, LABEL_TABLE: table._replace(members=members)._asdict()}

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], dict[str, Any]]:
        """The sums of every metric, and no observations: no collection changes with a step.

        Returns:
          'loss', 'accuracy': over all predicted positions. A position with several labels is correct if one of
            them has the highest score of all pieces; with `condition_on_language` if one has the highest score
            in its language, which is easier.
          'monolingual_loss', 'cross_lingual_loss': over the labels in the language of the text, and in
            other languages; 'cross_lingual_share': the share of the latter.
          'predictions_per_row', 'padding', 'overflow': how full the rows are (`measure_row_fill`).
          'drift': with `stay_near_embeddings`, the mean of 1 - cosine of each layer's output and the embedding
            output at the same position, over the positions that are not predicted: also [CLS], [SEP] and
            the later pieces of a word with an entry, which may be [MASK].
          'label_distance': with `align_labels`, the same of a word's first piece and its labels' pieces in the
            table of tokens. In training each distance, times its option, is added to the mean loss.
        """
        model_variables = {"params": variables["params"]}
        encode = functools.partial(self.module.apply, method="encode_predicted")
        output: Predictions = encode(
            model_variables, batch, self.max_predictions, train=train, rngs=rngs
        )
        distances = {}  # name -> weight in the loss, `Sums`
        if self.stay_near_embeddings:
            # Without it training moves the layers out of the token table's space (docs/lessons.md).
            distances["drift"] = self.stay_near_embeddings, output.drift
        if self.label_table is None:
            sums = self._score_drawn_labels(model_variables, output)
        else:
            labels = expected_labels.look_up(  # K labels of each position, [B, P, K]
                variables[LABEL_TABLE],
                output.entries,
                self.label_table.max_labels,
                output.targets,
                output.languages,
            )
            # The weights of labels count at predicted positions alone. They are the probabilities of the draw,
            # or, with task.equal_languages, add up to more than 1 a position.
            labels = labels.replace(weights=labels.weights * output.weights[..., None])
            members = variables[LABEL_TABLE]["members"]
            sums = self._score_all_labels(model_variables, output, labels, members)
            if self.align_labels:
                table = variables["params"]["backbone"]["token_embedding"]
                distance = expected_labels.distance(table, output.targets, labels)
                distances["label_distance"] = self.align_labels, distance
        loss = sums.loss
        if train:
            for weight, distance in distances.values():
                # Times the loss's weight, because the step divides by it. The mean is that of a microbatch, so
                # that the number of microbatches changes the penalty a little.
                penalty = weight * distance.mean() * loss.weight
                loss = Sums(loss.value + penalty, loss.weight)
        return {
            "loss": loss,
            "accuracy": sums.correct,
            "monolingual_loss": sums.monolingual,
            "cross_lingual_loss": sums.cross_lingual,
            "cross_lingual_share": Sums(sums.cross_lingual.weight, loss.weight),
            **measure_row_fill(batch["segment_ids"], output.weights.sum(), output.left_out),
            **{name: distance for name, (_, distance) in distances.items()},
        }, {}

    def _score_drawn_labels(self, variables: Variables, output: Predictions) -> MlmSums:
        """The loss of the drawn label of each position."""
        score = functools.partial(self.module.apply, variables, method="score")
        logits_BPV = score(output.hidden, output.languages)
        loss_BP, correct_BP = cross_entropy(logits_BPV, output.targets)
        weights_BP = output.weights
        cross_lingual_BP = weights_BP * (output.languages != output.source_languages)
        monolingual_BP = weights_BP - cross_lingual_BP
        total = weights_BP.sum()
        return MlmSums(
            loss=Sums((loss_BP * weights_BP).sum(), total),
            correct=Sums((correct_BP * weights_BP).sum(), total),
            monolingual=Sums((loss_BP * monolingual_BP).sum(), monolingual_BP.sum()),
            cross_lingual=Sums((loss_BP * cross_lingual_BP).sum(), cross_lingual_BP.sum()),
        )

    def _score_all_labels(
        self, variables: Variables, output: Predictions, labels: ExpectedLabels, members_VG: Array
    ) -> MlmSums:
        """The expected loss over all labels of each position's dictionary entry."""
        weights_BP = output.weights
        languages = members_VG.shape[1]
        score = functools.partial(self.module.apply, variables, method="score")
        if self.model.options.condition_on_language:
            # The head reads the language of the label, in the backbone's table of languages: this is why the option
            # is the backbone's. It needs a matrix product for each language. A loop computes them, which needs
            # equal shapes: all have the size of the language with the most pieces, known when the step is
            # compiled, so from `self.label_table` and not from `members_VG`.
            most_pieces = int(self.label_table.members.sum(0).max())
            weighted_losses_BPG, correct_BP = expected_labels.cross_entropy_language_by_language(
                score, output.hidden, labels, members_VG, most_pieces
            )
        else:
            logits_BPV = score(output.hidden, output.languages)  # this head ignores the languages
            members = members_VG.astype(jnp.float32)
            weighted_losses_BPG, correct_BP = expected_labels.cross_entropy(
                logits_BPV, labels, members
            )
        weights_BPG = expected_labels.sum_by_language(labels, labels.weights, languages)
        in_text_language_BPG = output.source_languages[..., None] == jnp.arange(languages)

        def sum_where(chosen_BPG: Array) -> Sums:
            return Sums((weighted_losses_BPG * chosen_BPG).sum(), (weights_BPG * chosen_BPG).sum())

        return MlmSums(
            loss=sum_where(jnp.ones_like(in_text_language_BPG)),
            correct=Sums((correct_BP * weights_BP).sum(), weights_BP.sum()),
            monolingual=sum_where(in_text_language_BPG),
            cross_lingual=sum_where(~in_text_language_BPG),
        )

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        return self.module.apply(variables, batch, method="encode")
