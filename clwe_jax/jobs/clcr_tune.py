"""Fine-tuning of the encoders by attention matching, one after the other (CLCR, section 4.1)."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, NamedTuple, Sequence

from absl import logging
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.align import attention_matching, places
from clwe_jax.align.attention_matching import AttentionMatching, Match, Sentences
from clwe_jax.api.clcr import Space, with_parameters
from clwe_jax.api.model import Model
from clwe_jax.evaluate.encode import pooling
from clwe_jax.fields import Amount, Count, Size

_LOGGED = 10  # steps of one entry of the history


@dataclasses.dataclass(frozen=True)
class Tuning:
    """Phases 2 and 3: a model learns towards the vectors of the other, which stay as they are.

    Each model learns through its own fixed map, in turns, so that the models cannot agree on one
    vector for all words.

    Attributes:
      rounds: number of times that both models learn, the source's first; 0: none.
      steps: optimizer steps of a model and round (Adam; the rate falls linearly to 0).
      batch_size: sentence pairs of a step.
      learning_rate: highest learning rate.
    """

    rounds: Count = 0
    steps: Size = 300
    batch_size: Size = 32
    learning_rate: Amount = 1e-4


class Tuned(NamedTuple):
    """A model after its fine-tuning.

    Attributes:
      model: with the learned parameters.
      history: (step, mean distance of the steps since the last entry), float64 [N, 2].
    """

    model: Model
    history: np.ndarray


def tuned(
    model: Model,
    texts: tuple[str, Sequence[Sequence[str]]],
    space: Space,
    match: Match,
    other: Sentences,
    matching: AttentionMatching,
    tuning: Tuning,
    seed: int,
) -> Tuned:
    """The model after some steps towards the vectors of the other language.

    Args:
      model: a masked language model.
      texts: its language, and the words of each sentence.
      space: its layers and their whitening.
      match: the map from this space to the other's.
      other: the translations in the other space.
      matching: the annealing of the temperature.
      tuning: the steps.
      seed: of the order of the sentences.

    Raises:
      ValueError: a sentence is longer than a row of the model, or the loss is not finite.
    """
    language, words = texts
    batch = {
        key: np.asarray(x) for key, x in model.encoder().word_batch(words, language).items()
    }
    lengths = np.array([len(x) for x in words])
    slots = int(lengths.max())
    tx = optax.adam(optax.linear_schedule(tuning.learning_rate, 0.0, tuning.steps))
    pool = pooling(model.objective.encode)
    rest = {name: x for name, x in model.variables.items() if name != "params"}
    table, layers = jnp.asarray(other.vectors), list(space.layers)

    def loss(params: Any, rows: Mapping[str, Any], real: Any, target: Any, temperature: Any) -> Any:
        found = pool({**rest, "params": params}, rows, slots=slots)[:, 0]
        x = space.whitening.apply(found[:, :, jnp.array(layers)].mean(2))
        masks = real, target > 0
        return attention_matching.distance(match.params, x, table[target], masks, temperature)

    @functools.partial(jax.jit, donate_argnums=(1,))
    def step(params, opt_state, rows, real, target, number):
        temperature = matching.temperature(number)
        value, grads = jax.value_and_grad(loss)(params, rows, real, target, temperature)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    params, draw = model.variables["params"], np.random.default_rng([seed, 31])
    opt_state, losses = tx.init(params), []
    sizes = [tuning.batch_size] * tuning.steps
    for number, some in enumerate(places.batches(len(words), draw, sizes)):
        rows = {key: x[some] for key, x in batch.items()}
        real = np.arange(slots) < lengths[some, None]
        params, opt_state, value = step(
            params, opt_state, rows, real, other.rows[some], np.int32(number)
        )
        losses.append(value)
    history = np.array([float(x) for x in losses])
    if not np.isfinite(history).all():
        raise ValueError(
            "The fine-tuning of an encoder diverged: lower config.clcr.tune.learning_rate="
            f"{tuning.learning_rate:g}"
        )
    logging.info(
        "fine-tuning (%s): distance %.3f, then %.3f", language, history[:20].mean(),
        history[-20:].mean(),
    )  # fmt: skip
    ends = [*range(_LOGGED, len(history), _LOGGED), len(history)]
    means = [part.mean() for part in np.split(history, ends[:-1])]
    return Tuned(with_parameters(model, params), np.array([*zip(ends, means)], np.float64))
