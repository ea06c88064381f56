"""Bidirectional language modelling of ELMo, with or without senses, in one language or several.

The next word of a stream is predicted by its senses (`objectives.senses`); the forward and the
backward model share neither sense vectors nor centers (A9). A word's own representation, which
tells its sense, is there one position after the one that predicts it; the word after the window's
end has none, and is left out where words have senses.

What precedes a word often does not tell its sense, nor does what follows it. Beyond the paper both
may tell it together (`sense_input`), as they do of a masked word: it is then represented by what
predicts it and its translations from either side, is of one sense in both models, and centers are
of both. The words at a window's ends, which one model alone predicts, are left out.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping

from flax.linen import LogicallyPartitioned
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import bilm, senses
from clwe_jax.models.sense_config import SenseConfig
from clwe_jax.objectives.senses import (
    Occurrences,
    SenseLoss,
    check_translations,
    inherited,
    initial_table,
    sense_config,
)
from clwe_jax.types import Array, Batch, Hidden, Sums, Variables

DIRECTIONS = ("forward", "backward")
BOTH = "both"
SENSE_INPUTS = ("own", "context")
_FRAME = 50  # characters of a word in what is compiled before there are data
_STREAM = ("words", "target_forward", "weights_forward")
_BACK = {
    "reversed": ("words_reverse", "target_reverse", "weights_reverse"),
    "window": ("words", "target_backward", "weights_backward"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class BiLmObjective:
    """ELMo, SaELMo, Joint-ELMo and Bi-SaELMo.

    Attributes:
      model: sizes of the backbone.
      vocab_size: words that exist.
      padded_vocab_size: rows of the tables.
      negatives, translation, switch_share: see `SenseLoss`.
      senses: options of `SenseConfig`; senses=1 (ELMo) is plain cross-entropy.
      sense_input: the input of sense selection: 'own', the word's own representation in each model
        (A4, A9), or 'context', the representations in both models that predict the word.
      backward: as the task's (`data.tasks.BiLm`).
      translations: int32 [vocab_size, languages, T], from `text.translations`; None without a
        dictionary.

    Raises:
      ValueError: senses told by both models of different streams.
    """

    model: bilm.BiLmConfig
    vocab_size: int
    padded_vocab_size: int
    negatives: int = 0
    translation: str = "none"
    switch_share: float = 0.5
    senses: SenseConfig | Mapping[str, Any] = SenseConfig(senses=1)
    sense_input: str = "own"
    backward: str = "reversed"
    translations: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "senses", sense_config(self.senses))
        _ = self._loss  # what is wrong with the options is said before anything slow
        check_translations(self.translation, self.translations)
        if self.sense_input not in SENSE_INPUTS:
            raise ValueError(
                f"config.objective.sense_input={self.sense_input!r}: one of "
                f"{', '.join(SENSE_INPUTS)}"
            )
        if self.sense_input == "context" and self.backward != "window":
            raise ValueError(
                "config.objective.sense_input='context' needs both models at the same words: set "
                "--config.task.backward=window"
            )

    max_length = 256  # words of a sentence that is encoded; of itself the model has no limit

    @property
    def directions(self) -> dict[str, slice]:
        """Name of each sense state: the part of a representation of `encode` that it is of."""
        width = self.model.width
        if self.sense_input == "context":
            return {BOTH: slice(0, 2 * width)}
        return {"forward": slice(0, width), "backward": slice(width, 2 * width)}

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        """float32 [N, S, d], the output vectors of words' senses; of both models side by side."""
        table = variables["params"]["sense_table"]
        names = DIRECTIONS if direction == BOTH else (direction,)
        return jnp.concatenate([table[DIRECTIONS.index(name), ids] for name in names], -1)

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """What `loss` takes; as many distinct words as its streams can have."""
        words = ("words", "target", "spelling")
        integers = [*words[::2], "language_ids", "target_forward", "target_backward"]
        floats = ["weights_forward", "weights_backward"]
        streams = 1
        if self.backward == "reversed":
            integers += [f"{name}_reverse" for name in words]
            floats += ["weights_reverse"]
            streams = 2
        distinct = min(streams * rows * length, self.padded_vocab_size)
        shapes = {name: ((rows, length), jnp.int32) for name in integers}
        shapes |= {
            name: ((rows, length), jnp.float32) for name in [*floats, "loss_weights", "reset"]
        }
        shapes["characters"] = ((distinct, _FRAME), jnp.int32)
        return {name: jax.ShapeDtypeStruct(*shape) for name, shape in shapes.items()}

    @functools.cached_property
    def _loss(self) -> SenseLoss:
        return SenseLoss(
            self.senses, self.vocab_size, self.negatives, self.translation, self.switch_share
        )

    @property
    def module(self) -> bilm.BiLm:
        """The linen module."""
        return bilm.BiLm(self.model)

    def init(self, rng: Array, batch: Batch) -> Variables:
        """Variables (boxed with their logical axis names) for batches like `batch`.

        Raises:
          ValueError: more projected dimensions than there are.
        """
        model_key, table_key, *sense_keys = jax.random.split(rng, 4)
        width, slots = self.model.width, self.senses.slots
        shape = (2, self.padded_vocab_size, slots, width)
        table = initial_table(table_key, shape, width**-0.5)
        rows = bilm.initial_carry(self.model, len(batch["words"]))
        variables = {
            "params": {
                "model": self.module.init(model_key, batch)["params"],
                "sense_table": LogicallyPartitioned(table, (None, "vocab", None, "embed")),
                "sense_bias": LogicallyPartitioned(
                    jnp.zeros(shape[:3], jnp.float32), (None, "vocab", None)
                ),
            },
            "rows": jax.tree.map(
                lambda x: LogicallyPartitioned(x, ("batch",) + (None,) * (x.ndim - 1)), rows
            ),
        }
        keys = dict(zip(self.directions, sense_keys))
        shape = self.padded_vocab_size, 2 * width if self.sense_input == "context" else width
        variables |= self._loss.collections(shape, keys, self.translations)
        return variables

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], Any]:
        """The sums of the batch's metrics, and what was observed of its rows.

        Args:
          variables: 'rows' is the state of each row's stream; without it streams begin here.
          batch: see `data.word_windows.BatchMaker`.

        Returns:
          The metrics of `SenseLoss`, over both directions together and as '{direction}/...';
          'padding' (share of the positions).

        Raises:
          ValueError: windows too short for a word with the places that it is predicted from.
        """
        params = variables["params"]
        rngs = rngs or {}
        found = self.module.apply(
            {"params": params["model"]}, batch, variables.get("rows") or None, train, rngs=rngs
        )
        occurrences, wanted = [], []
        rngs_of = [jax.random.fold_in(rngs["dropout"], i) if train else None for i in (0, 1)]
        observed: dict[str, Any] = {"rows": found.carry}
        for number, direction in enumerate(DIRECTIONS):
            told = BOTH if self.sense_input == "context" else direction
            state = variables.get("senses", {}).get(told)
            seen = self._occurrences(batch, number, found)
            rows, length = seen.words.shape
            if not length:
                raise ValueError(
                    f"config.data.sequence_length={batch['words'].shape[1]}: a window has no word "
                    f"with what predicts it; take at least {3 if self.sense_input == 'context' else 2}"
                )
            occurrences.append(Occurrences(*(x.reshape(-1, *x.shape[2:]) for x in seen)))
            if told in observed:  # of the same words, by the same representations
                wanted.append(wanted[0])
                continue
            wanted.append(
                self._loss.choose(
                    occurrences[number],
                    params["sense_bias"].shape[1:],
                    state,
                    variables.get("translations", {}).get("ids"),
                    rngs_of[number],
                )
            )
            if state is not None:
                observed[told] = dict(
                    words=seen.words,
                    senses=wanted[number].assigned.reshape(rows, length),
                    h=jax.lax.stop_gradient(seen.own),
                    weights=seen.weights,
                    languages=seen.languages,
                )
        # Both directions at once: the gradient of the table is then written once, not as one of
        # each half that are put together after that.
        both = jax.vmap(functools.partial(self._loss.score, train=train))(
            *jax.tree.map(lambda *x: jnp.stack(x), *zip(occurrences, wanted)),
            params["sense_table"],
            params["sense_bias"],
            jnp.stack(rngs_of) if train else None,
        )
        metrics: dict[str, Sums] = {}
        for name, value in both.items():
            for number, direction in enumerate(DIRECTIONS):
                metrics[f"{direction}/{name}"] = jax.tree.map(lambda x: x[number], value)
            metrics[name] = jax.tree.map(lambda x: x.sum(), value)
        rows, length = batch["words"].shape
        padding = (batch["loss_weights"] == 0).sum(dtype=jnp.float32)
        metrics["padding"] = Sums(padding, jnp.float32(rows * length))
        return metrics, observed

    def _occurrences(self, batch: Batch, number: int, found: bilm.BiLmOutput) -> Occurrences:
        """[B, L] of them; fewer where words have senses."""
        words, target, weights = (batch[x] for x in (_STREAM, _BACK[self.backward])[number])
        hidden, own = (found.forward, found.backward)[number], found.layers[-1][number]
        languages = batch["language_ids"]
        if not self._loss.aware:
            return Occurrences(target, hidden, own, weights, languages)
        # Which words, and where they are predicted: from one place before, or after.
        after = number == 1 and self.backward == "window"
        if self.sense_input == "context":
            there, at = slice(1, -1), slice(2, None) if after else slice(None, -2)
            forward, backward = found.layers[-1]
            own = jnp.concatenate([forward[:, :-2], backward[:, 2:]], -1)
        else:
            there, at = slice(1, None), slice(None, -1)
            if after:
                there, at = at, there
            own = own[:, there]
        return Occurrences(words[:, there], hidden[:, at], own, weights[:, at], languages[:, there])

    def update(self, variables: Variables, observed: Any, step: Array) -> Variables:
        """The rows' states, and the senses with their vectors where they are seeded."""
        variables = {**variables, "rows": observed["rows"]}
        if not self._loss.aware:
            return variables
        after, seeded = {}, []
        for direction, state in variables["senses"].items():
            seen = observed[direction]
            flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in seen.items()}
            after[direction], found = senses.after_step(state, self.senses, step, **flat)
            seeded.append(found)
        variables = inherited(variables, jnp.stack(seeded).any())
        return {**variables, "senses": after}

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """Representations of sentences, both directions side by side; see `BiLm.encode`."""
        params = {"params": variables["params"]["model"]}
        return self.module.apply(params, batch, method="encode")

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        """As `encode`; the last layer at a word is the input of sense selection.

        With `sense_input='context'` it is what predicts the word from either side.
        """
        if self.sense_input != "context":
            return self.encode(variables, batch)
        last = self.encode(variables, batch).last
        forward, backward = jnp.split(last, 2, axis=-1)
        # Nothing is asked of the frame's first and last places.
        last = jnp.concatenate([jnp.roll(forward, 1, 1), jnp.roll(backward, -1, 1)], -1)
        return Hidden(last=last, layers=(last,))
