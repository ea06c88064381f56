"""Bidirectional language modelling (ELMo), with or without senses, in one language or several.

The senses of the next word of a stream are predicted (`objectives.sense_loss`). The forward and the
backward model share neither sense vectors nor centers (A9). A word's own representation, which
selects its sense, is one position after the representation that predicts it. The word after a
window's end has no own representation in the window; it is left out where words have senses.

Context senses (`sense_input='context'`) go beyond the paper, because one side of a word often does
not decide its sense. The input of sense selection is then the concatenation of the two
representations that predict the word, from the left and from the right, as for a masked word. The
word has the same sense in both models, and centers are twice as wide. The words at a window's ends,
which only one model predicts, are left out.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping

from flax.linen import LogicallyPartitioned
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import bilm
from clwe_jax.models.senses import state as states
from clwe_jax.objectives.sense_loss import (
    Occurrences,
    SenseLoss,
    check_translations,
    inherit_senses,
    initial_tables,
    never_targets,
)
from clwe_jax.options.objectives import BiLmLossOptions
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.vocab.base_vocab import CLS, SEP, UNK
from clwe_jax.types import Array, Batch, Hidden, Sums, Variables

DIRECTIONS = ("forward", "backward")
BOTH = "both"  # the one sense state of context senses
# Keys of a batch: the words that a stream reads, the words to predict, their weights.
_STREAM = ("words", "target_forward", "weights_forward")
_BACK = {
    "reversed": ("words_reverse", "target_reverse", "weights_reverse"),
    "window": ("words", "target_backward", "weights_backward"),
}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class BiLmObjective(ByIdentity, BiLmLossOptions):
    """ELMo, SaELMo, Joint-ELMo and Bi-SaELMo.

    Attributes:
      model: the backbone.
      vocab_size: number of words.
      padded_vocab_size: rows of the tables.
      seed: the run's seed.
      backward: stream of the backward model, the task's `backward` (`options.tasks.BiLm`).
      max_characters: number of characters of a word's frame, the task's.
      specials: name of each special piece, such as '[CLS]' -> its id.
      translations: int32 [vocab_size, languages, T], from `text.dictionary.translations`; None without a
        dictionary.

    Raises:
      ValueError: translations without a dictionary.
    """

    model: bilm.BiLmModel
    vocab_size: int
    padded_vocab_size: int
    backward: str = "reversed"
    max_characters: int = 50
    seed: int = 0
    specials: Mapping[str, int] = dataclasses.field(default_factory=dict)
    translations: np.ndarray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_translations(self.translation_share, self.translations)

    @property
    def _context(self) -> bool:
        return self.sense_input == "context"

    max_length = 256  # words of an encoded sentence; the model itself has no limit

    @property
    def directions(self) -> dict[str, slice]:
        width = self.model.options.width
        if self._context:
            return {BOTH: slice(0, 2 * width)}
        return {"forward": slice(0, width), "backward": slice(width, 2 * width)}

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        table = variables["params"]["sense_table"]
        names = DIRECTIONS if direction == BOTH else (direction,)
        return jnp.concatenate([table[DIRECTIONS.index(name), ids] for name in names], -1)

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        integers = ["words", "spelling", "language_ids", "target_forward", "target_backward"]
        floats = ["weights_forward", "weights_backward", "loss_weights", "reset"]
        streams = 1
        if self.backward == "reversed":
            integers += ["words_reverse", "target_reverse", "spelling_reverse"]
            floats += ["weights_reverse"]
            streams = 2
        # The most possible; as the other arrays, for any number of devices that divides the rows.
        distinct = rows * min(streams * length, -(-self.padded_vocab_size // rows))
        types = dict.fromkeys(integers, jnp.int32) | dict.fromkeys(floats, jnp.float32)
        return {
            **{name: jax.ShapeDtypeStruct((rows, length), kind) for name, kind in types.items()},
            "characters": jax.ShapeDtypeStruct((distinct, self.max_characters), jnp.int32),
        }

    @functools.cached_property
    def _loss(self) -> SenseLoss:
        return SenseLoss(
            self, self.vocab_size, self.seed, never_targets(self.specials, UNK, CLS, SEP)
        )

    def init(self, rng: Array, batch: Batch) -> Variables:
        model_key, table_key, *sense_keys = jax.random.split(rng, 4)
        words = self.padded_vocab_size
        width = self.model.options.width
        model = self.model.init(model_key, batch)["params"]
        tables = initial_tables(table_key, (2, words, self.senses.slots, width), width**-0.5)
        rows = bilm.initial_carry(self.model.options, len(batch["words"]))
        boxed_rows = jax.tree.map(
            lambda x: LogicallyPartitioned(x, ("batch",) + (None,) * (x.ndim - 1)), rows
        )
        keys = dict(zip(self.directions, sense_keys))
        shape = words, 2 * width if self._context else width
        return {
            "params": {"model": model, **tables},
            "rows": boxed_rows,
            **self._loss.collections(shape, keys, self.translations),
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
        """The sums of every metric, and the observations of the batch.

        Without the collection 'rows', the state of each row's stream, the streams start here.

        Returns:
          The metrics of `SenseLoss` over both directions, and for each as '{direction}/...';
          'padding', the share of positions that are padding.

        Raises:
          ValueError: a window has no word with all positions that predict it.
        """
        params = variables["params"]
        rngs = rngs or {}
        output = self.model.apply(
            # `step.accumulate_gradients` gives {} where there are no rows.
            {"params": params["model"]},
            batch,
            variables.get("rows") or None,
            train,
            rngs=rngs,
        )
        occurrences = []
        targets = []
        rngs_of = [jax.random.fold_in(rngs["dropout"], i) if train else None for i in (0, 1)]
        translations = variables.get("translations", {}).get("ids") if train else None
        observed: dict[str, Any] = {"rows": output.carry}
        for number, direction in enumerate(DIRECTIONS):
            name = BOTH if self._context else direction
            state = variables.get("senses", {}).get(name)
            row_occurrences = self._occurrences(batch, number, output)
            rows, length = row_occurrences.words.shape
            if not length:
                raise ValueError(
                    f"config.data.sequence_length={batch['words'].shape[1]}: must be at least "
                    f"{3 if self._context else 2}, so that a window has a word with all positions "
                    "that predict it"
                )
            occurrences.append(Occurrences(*(x.reshape(-1, *x.shape[2:]) for x in row_occurrences)))
            if name in observed:  # the same words with the same representations
                targets.append(targets[0])
                continue
            targets.append(
                self._loss.choose(
                    occurrences[number], params["sense_bias"].shape[1:], state, translations
                )
            )
            if state is not None:
                observed[name] = dict(
                    words=row_occurrences.words,
                    senses=targets[number].assigned.reshape(rows, length),
                    h=jax.lax.stop_gradient(row_occurrences.sense_input),
                    weights=row_occurrences.weights,
                    languages=row_occurrences.languages,
                )
        # One program for both directions, so that the gradient of the table is written once.
        direction_sums = jax.vmap(functools.partial(self._loss.score, train=train))(
            *jax.tree.map(lambda *x: jnp.stack(x), *zip(occurrences, targets)),
            params["sense_table"],
            params["sense_bias"],
            jnp.stack(rngs_of) if train else None,
        )
        metrics: dict[str, Sums] = {}
        for name, value in direction_sums.items():
            for number, direction in enumerate(DIRECTIONS):
                metrics[f"{direction}/{name}"] = jax.tree.map(lambda x: x[number], value)
            metrics[name] = jax.tree.map(lambda x: x.sum(), value)
        rows, length = batch["words"].shape
        padding = (batch["loss_weights"] == 0).sum(dtype=jnp.float32)
        metrics["padding"] = Sums(padding, jnp.float32(rows * length))
        return metrics, observed

    def _occurrences(self, batch: Batch, number: int, output: bilm.BiLmOutput) -> Occurrences:
        """The occurrences [B, L] of one direction; fewer than L where words have senses."""
        words, target, weights = (batch[x] for x in (_STREAM, _BACK[self.backward])[number])
        # `own` is the state at the word: the one that predicts it varies mostly with the embedding
        # of the word before it, which is noise for the clusters (section 3.1).
        hidden = (output.forward, output.backward)[number]
        h = output.layers[-1][number]
        languages = batch["language_ids"]
        if not self._loss.aware:
            return Occurrences(target, hidden, h, weights, languages)
        # `places` are the positions of the words, `at` the positions that predict them.
        after = number == 1 and self.backward == "window"
        if self._context:
            places = slice(1, -1)
            at = slice(2, None) if after else slice(None, -2)
            forward, backward = output.layers[-1]
            # [B, L - 2, 2 P]: from the word before and from the word after
            h = jnp.concatenate([forward[:, :-2], backward[:, 2:]], -1)
        else:
            neighbours = [slice(1, None), slice(None, -1)]  # a word and the one before it
            places, at = neighbours[::-1] if after else neighbours
            h = h[:, places]
        return Occurrences(words[:, places], hidden[:, at], h, weights[:, at], languages[:, places])

    def update(self, variables: Variables, observed: Any, step: Array):
        rows = {"rows": observed["rows"]}
        if not self._loss.aware:
            return rows, None
        new_states = {}
        seeded = []
        for number, direction in enumerate(self.directions):
            state = variables["senses"][direction]
            observation = observed[direction]
            flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in observation.items()}
            config = self._loss.config_of(number)
            new_states[direction], was_seeded = states.after_step(state, config, step, **flat)
            seeded.append(was_seeded)
        # Both states have one warm-up, and are seeded in the same step.
        inherit = functools.partial(inherit_senses, now=jnp.stack(seeded).any())
        return {**rows, "senses": new_states}, inherit

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        params = {"params": variables["params"]["model"]}
        return self.model.apply(params, batch, method="encode")

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        if not self._context:
            return self.encode(variables, batch)
        last = self.encode(variables, batch).last
        forward, backward = jnp.split(last, 2, axis=-1)
        # The roll wraps around only at `<S>` and `</S>`, which are not words.
        last = jnp.concatenate([jnp.roll(forward, 1, 1), jnp.roll(backward, -1, 1)], -1)
        return Hidden((last,))
