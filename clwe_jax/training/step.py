"""One training step: gradients over microbatches, guarded, applied."""

from __future__ import annotations

import functools
from typing import Any, Callable

import jax
import jax.numpy as jnp
import optax

from clwe_jax.training import rows
from clwe_jax.training.train_state import KEY_TYPE, TrainState
from clwe_jax.types import SHARED_KEYS, Array, Batch, Objective, Sums, Variables

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
        `objective.update` is called once a step with what was observed of the whole batch, so that
        collections do not depend on the cut either. Of tables that it taps (`Objective.taps`) the
        gradient is of the rows that were read alone.
      tx: the optimizer.
      learning_rate: step -> rate, to be reported.
      microbatches: parts that the batch is cut into and that are held in memory one at a time.

    Returns:
      A function whose metrics are the objective's, and 'grad_norm', 'learning_rate', 'skipped',
      'skipped_in_row' (weight 1).
    """

    with_extras = optax.with_extra_args_support(tx)

    def gradients(state: TrainState, carried: Any, batch: Batch, key: Array):
        shapes = objective.taps(batch) if hasattr(objective, "taps") else {}
        taps = {name: jnp.zeros(shape, jnp.float32) for name, shape in shapes.items()}
        params = state.params
        if taps:
            tapped = {name: params[name] for name in taps}
            params = {name: part for name, part in params.items() if name not in taps}

        def total(params: Any, taps: Any):
            if taps:
                params = {**params, **tapped}
            variables = {**state.variables, "params": params, "rows": carried, "taps": taps}
            sums, observed = objective.loss(variables, batch, {"dropout": key}, train=True)
            return sums["loss"].value, (sums, observed)

        differentiated = jax.grad(total, argnums=(0, 1), has_aux=True)
        (grads, of_rows), (sums, observed) = differentiated(params, taps)
        if not taps:
            return grads, sums, observed, {}
        observed = dict(observed)
        read = observed.pop("read")
        return grads, sums, observed, {name: (read[name], of_rows[name]) for name in taps}

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
            grads, sums, observed, read = one(*indexed)
            return jax.tree.map(jnp.add, total, (grads, sums)), (observed, read)

        parts = jnp.arange(microbatches), jax.tree.map(deal, (carried, dealt))
        first = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), parts)
        shapes = jax.eval_shape(one, *first)[:2]
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        (grads, sums), (observed, read) = jax.lax.scan(add, zeros, parts)
        return grads, sums, jax.tree.map(collect, observed), read

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        key = jax.random.fold_in(jax.random.wrap_key_data(state.seed, impl=KEY_TYPE), state.step)
        grads, sums, observed, read = accumulate(state, batch, key)
        places = {}
        for name, (ids, values) in read.items():
            values = values.reshape(-1, values.shape[-1])
            shape = state.params[name].shape[:-1]
            places[name], grads[name] = rows.merged(ids.reshape(-1), values, shape)
        weight = jnp.maximum(sums["loss"].weight, 1.0)
        norm = optax.tree.norm(grads) / weight
        finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].value)

        def optimised(held: Any, found: Any) -> Any:
            (params, opt_state), (grads, places) = held, found
            # Times the inverse: XLA would write a quotient that is used twice to memory.
            means = jax.tree.map(lambda g: g * (1.0 / weight), grads)
            updates, opt_state = with_extras.update(
                means, opt_state, params, norm=norm, places=places
            )
            return rows.applied(params, updates, places), opt_state

        def followed(variables: Variables, observed: Any) -> Variables:
            return dict(objective.update(variables, observed, state.step))

        params, opt_state = jax.lax.platform_dependent(
            (state.params, state.opt_state),
            (grads, places),
            cpu=functools.partial(_in_place, finite, optimised),
            # A pass over memory is what tables of which few rows change are not to need.
            default=functools.partial(_in_place if places else _either, finite, optimised),
        )
        moments, with_moments = _moments(opt_state, params)
        held = {"params": params, "moments": moments, **state.collections}
        variables = _in_place(finite, followed, held, observed)
        params, opt_state = variables.pop("params"), with_moments(variables.pop("moments"))

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
                collections=variables,
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


def _either(now: Array, change: Callable[[Any, Any], Any], held: Any, read: Any) -> Any:
    """change(held, read) where `now`, else held. Accelerators do both in one pass over memory."""
    return jax.tree.map(lambda a, b: jnp.where(now, a, b), change(held, read), held)


def _in_place(now: Array, change: Callable[[Any, Any], Any], held: Any, read: Any) -> Any:
    """The same as a loop of one round or none, which writes in place and copies nothing."""

    def once(round: Array, held: Any) -> Any:
        # What depends on the round cannot be computed ahead of the loop, and written to memory.
        here, _ = jax.lax.optimization_barrier((read, round))
        return change(held, here)

    return jax.lax.fori_loop(0, now.astype(jnp.int32), once, held)
