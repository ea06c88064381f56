"""One training step: gradients over microbatches, guarded, applied."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import optax

from clwe_jax.training.train_state import KEY_TYPE, TrainState
from clwe_jax.types import SHARED_KEYS, Array, Batch, Objective, Stateful, Sums

Metrics = dict[str, Sums]
StepFn = Callable[[TrainState, Batch], tuple[TrainState, Metrics]]


def make_step(
    objective: Objective,
    tx: optax.GradientTransformation,
    learning_rate: Callable[[Array], Array],
    microbatches: int = 1,
) -> StepFn:
    """The function (state, batch) -> (state, metrics), to be jitted with the state donated.

    The gradient is that of sum(loss) / sum(weight) over the whole batch, whatever its cut into
    microbatches: sums are added and divided once. Where the loss or the gradient is not finite,
    parameters, optimizer and collections stay as they were and the step counts as skipped.

    Args:
      objective: gives the sums, of which 'loss' is optimised, and what it observed of every row;
        `update` of a `Stateful` objective is called once a step with what was observed of the whole
        batch, so that collections do not depend on the cut either.
      tx: the optimizer.
      learning_rate: step -> rate, to be reported.
      microbatches: parts that the batch is cut into and that are held in memory one at a time.

    Returns:
      A function whose metrics are the objective's, and 'grad_norm', 'learning_rate', 'skipped',
      'skipped_in_row' (weight 1).
    """

    stateful = isinstance(objective, Stateful)

    def gradients(state: TrainState, carried: Any, batch: Batch, key: Array):
        def total(params: Any):
            variables = {**state.variables, "params": params, "rows": carried}
            sums, observed = objective.loss(
                variables, batch, step=state.step, rngs={"dropout": key}, train=True
            )
            return sums["loss"].value, (sums, observed)

        grads, (sums, observed) = jax.grad(total, has_aux=True)(state.params)
        return grads, sums, observed

    def accumulate(state: TrainState, batch: Batch, key: Array):
        carried = state.collections.get("rows", {})
        if microbatches == 1:
            return gradients(state, carried, batch, key)

        # Row r goes to part r % M, so that every device keeps its own rows.
        def deal(x: Array) -> Array:
            return jnp.swapaxes(x.reshape(-1, microbatches, *x.shape[1:]), 0, 1)

        def collect(x: Array) -> Array:
            return jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:])

        shared = {name: batch[name] for name in SHARED_KEYS if name in batch}
        dealt = {name: value for name, value in batch.items() if name not in shared}

        def one(index: Array, part: tuple[Any, Batch]):
            carried, batch = part
            return gradients(state, carried, {**batch, **shared}, jax.random.fold_in(key, index))

        def add(total, indexed):
            grads, sums, observed = one(*indexed)
            return jax.tree.map(jnp.add, total, (grads, sums)), observed

        parts = jnp.arange(microbatches), jax.tree.map(deal, (carried, dealt))
        first = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), parts)
        shapes = jax.eval_shape(one, *first)[:2]
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        (grads, sums), observed = jax.lax.scan(add, zeros, parts)
        return grads, sums, jax.tree.map(collect, observed)

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        key = jax.random.fold_in(jax.random.wrap_key_data(state.seed, impl=KEY_TYPE), state.step)
        grads, sums, observed = accumulate(state, batch, key)
        weight = jnp.maximum(sums["loss"].weight, 1.0)
        grads = jax.tree.map(lambda g: g / weight, grads)
        norm = optax.tree.norm(grads)
        finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].value)

        updates, opt_state = tx.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        collections = state.collections
        if stateful:
            moments, with_moments = _moments(opt_state, params)
            variables = {"params": params, "moments": moments, **collections}
            collections = dict(objective.update(variables, observed, state.step))
            params = collections.pop("params")
            opt_state = with_moments(collections.pop("moments"))
        new, old = (params, opt_state, collections), (
            state.params, state.opt_state, state.collections,
        )  # fmt: skip
        params, opt_state, collections = jax.tree.map(
            lambda a, b: jnp.where(finite, a, b), new, old
        )

        bad = 1 - finite.astype(jnp.int32)
        in_row = (state.skipped_in_row + bad) * bad
        one = jnp.ones((), jnp.float32)
        metrics = dict(sums)
        metrics["grad_norm"] = Sums(jnp.where(finite, norm, 0.0), 1.0 - bad)
        metrics["learning_rate"] = Sums(learning_rate(state.step), one)
        metrics["skipped"] = Sums(bad.astype(jnp.float32), one)
        metrics["skipped_in_row"] = Sums(in_row.astype(jnp.float32), one)
        for name, value in sums.items():  # what was not applied is not averaged either
            metrics[name] = jax.tree.map(lambda x: jnp.where(finite, x, 0.0), value)
        return (
            state.replace(
                step=state.step + 1,
                params=params,
                opt_state=opt_state,
                collections=collections,
                skipped=state.skipped + bad,
                skipped_in_row=in_row,
            ),
            metrics,
        )

    return step


def _moments(opt_state: Any, params: Any) -> tuple[tuple[Any, ...], Callable[[Any], Any]]:
    """The trees like `params` in an optimizer's state, and what puts others in their place."""
    like = jax.tree.structure(params)

    def is_like(tree: Any) -> bool:
        return jax.tree.structure(tree) == like

    parts, whole = jax.tree.flatten(opt_state, is_leaf=is_like)
    places = [place for place, part in enumerate(parts) if is_like(part)]

    def with_moments(moments: Any) -> Any:
        new = dict(zip(places, moments, strict=True))
        return whole.unflatten([new.get(place, part) for place, part in enumerate(parts)])

    return tuple(parts[place] for place in places), with_moments
