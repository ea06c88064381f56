"""Fine-tuning of the encoders by attention matching, one after the other (CLCR, section 4.1)."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple, Sequence

from absl import logging
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.align import attention_matching, places
from clwe_jax.align.attention_matching import AttentionMatching, Match, Params
from clwe_jax.align.sentences import TableSentences
from clwe_jax.encoders.clcr_models import Space
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.options.clcr import TuneOptions
from clwe_jax.types import EncodeFn

_LOGGED = 10  # steps of one entry of the history


@dataclasses.dataclass(frozen=True)
class Tuning(TuneOptions):
    """Phases 2 and 3: a model learns towards the vectors of the other, which stay as they are.

    Each model learns through its own fixed map, in turns, so that the models cannot agree on one
    vector for all words.
    """


def program(
    encode: EncodeFn, space: Space, transform: Params, matching: AttentionMatching, tuning: Tuning
) -> jax.stages.Wrapped:
    """The compiled step of the fine-tuning.

    It maps parameters, optimizer state, the other variables, a batch, whether each of its positions is
    a piece of a word, the vectors of the translations, [B, W, D], whether these are real, and the
    number of the step to new parameters, new state and the distance.
    """
    tx = optimizer(tuning)

    def loss(params, other_variables, batch, real, target, target_real, temperature):
        hidden = encode({**other_variables, "params": params}, batch)
        layers = [hidden.layers[layer].astype(jnp.float32) for layer in space.layers]
        x = space.whitening.apply(sum(layers) / len(layers))
        return attention_matching.distance(transform, x, target, (real, target_real), temperature)

    # Parameters are not donated: those of the first step are the given model's own.
    @functools.partial(jax.jit, donate_argnums=(1,))
    def step(params, opt_state, other_variables, batch, real, target, target_real, number):
        temperature = matching.temperature(number)
        value, grads = jax.value_and_grad(loss)(
            params, other_variables, batch, real, target, target_real, temperature
        )
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return step


def optimizer(tuning: Tuning) -> optax.GradientTransformation:
    """Adam, whose rate falls linearly to 0."""
    return optax.adam(optax.linear_schedule(tuning.learning_rate, 0.0, tuning.steps))


class TunedEncoder(NamedTuple):
    """A model after its fine-tuning.

    Attributes:
      model: with the learned parameters.
      history: (step, mean distance of the steps since the last entry), float64 [N, 2].
    """

    model: LanguageModel
    history: np.ndarray


def tune_model(
    model: LanguageModel,
    texts: tuple[str, Sequence[Sequence[str]]],
    space: Space,
    match: Match,
    other: TableSentences,
    lengths: np.ndarray,
    matching: AttentionMatching,
    tuning: Tuning,
    seed: int,
) -> TunedEncoder:
    """The model after some steps towards the vectors of the other language.

    Args:
      model: a masked language model.
      texts: its language, and the words of each sentence.
      space: its layers and their whitening.
      match: the map from this space to the other's.
      other: the pieces of the translations in the other space.
      lengths: number of pieces of each sentence, int [N]; those above the model's rows are left out.
      matching: the annealing of the temperature.
      seed: of the order of the sentences.

    Raises:
      ValueError: no sentence fits a row of the model, or the loss is not finite.
    """
    language, words = texts
    encoder = model.encoder()
    fitting = np.flatnonzero(lengths <= encoder.room)
    left_out = (
        f"{len(lengths) - len(fitting)} of {len(lengths)} sentences ({language}) have more than the "
        f"{encoder.room} pieces of a row of the model"
    )
    if not len(fitting):
        raise ValueError(f"{left_out}: lower config.clcr.length")
    if len(fitting) < len(lengths):
        logging.warning("%s, and are left out of the fine-tuning", left_out)
    tx = optimizer(tuning)
    step = program(model.objective.encode, space, match.params, matching, tuning)
    params = model.variables["params"]
    draw = np.random.default_rng([seed, 31])
    other_variables = {name: x for name, x in model.variables.items() if name != "params"}
    opt_state = tx.init(params)
    losses = []
    length = lengths[fitting].max() + 2  # of all batches, with [CLS] and [SEP]: one program
    sizes = [tuning.batch_size] * tuning.steps
    for number, drawn in enumerate(places.batches(len(fitting), draw, sizes)):
        numbers = fitting[drawn]
        batch = encoder.word_batch([words[place] for place in numbers], language, length)
        # [CLS], [SEP] and padding are in no group.
        real = np.asarray(batch.pop("groups")) >= 0
        target = other.rows[numbers]  # row 0 is padding
        params, opt_state, value = step(
            params,
            opt_state,
            other_variables,
            batch,
            real,
            other.vectors[target],
            target > 0,
            np.int32(number),
        )
        # Losses are read at the end: reading them here would wait for each step.
        losses.append(value)
    history = np.array([float(x) for x in losses])
    if not np.isfinite(history).all():
        raise ValueError(
            "The fine-tuning of an encoder diverged: lower config.clcr.tune.learning_rate="
            f"{tuning.learning_rate:g}"
        )
    logging.info(
        "fine-tuning (%s): distance %.3f, then %.3f",
        language,
        history[:20].mean(),
        history[-20:].mean(),
    )
    ends = [*range(_LOGGED, len(history), _LOGGED), len(history)]
    means = [part.mean() for part in np.split(history, ends[:-1])]
    return TunedEncoder(model.with_parameters(params), np.array([*zip(ends, means)], np.float64))
