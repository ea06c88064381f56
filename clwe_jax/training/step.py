"""One training step: gradients over microbatches, a check that they are finite, and the update."""

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
    learns: Callable[[Any], Any] | None = None,
) -> StepFn:
    """The function (state, batch) -> (state, metrics), to be jitted with the state donated.

    The loss is sum(loss) / sum(weight) over the whole batch, for any number of microbatches: sums
    are added and divided once. Where the loss or the gradient is not finite, parameters, optimizer
    and collections do not change, and the step counts as skipped.

    Args:
      objective: the objective. `update` of a `Stateful` one is called once a step with the
        observations of the whole batch, so that collections do not depend on microbatches either.
      tx: the optimizer; its `update` gets the gradient's global `norm` as an extra argument.
      learning_rate: step -> rate, for the metrics.
      microbatches: number of parts of the batch that are processed one after the other.
      learns: parameters -> a tree of bool, False for frozen parameters, which have no gradient and
        never change. None: all parameters learn.

    Returns:
      A function whose metrics are the objective's, and 'grad_norm', 'learning_rate', 'skipped',
      'skipped_in_row' (weight 1).
    """

    tx = optax.with_extra_args_support(tx)
    stateful = isinstance(objective, Stateful)

    def learning(params: Any) -> Any:
        """The parameters, with an `optax.MaskedNode` in the place of each frozen one."""
        if learns is None:
            return params
        return jax.tree.map(lambda p, yes: p if yes else optax.MaskedNode(), params, learns(params))

    def gradients(state: TrainState, carried: Any, batch: Batch, key: Array):
        def total(params: Any):
            params = _filled(params, state.params)
            variables = {**state.variables, "params": params, "rows": carried}
            sums, observed = objective.loss(
                variables, batch, step=state.step, rngs={"dropout": key}, train=True
            )
            return sums["loss"].value, (sums, observed)

        grads, (sums, observed) = jax.grad(total, has_aux=True)(learning(state.params))
        return grads, sums, observed

    def accumulate(state: TrainState, batch: Batch, key: Array):
        carried = state.collections.get("rows", {})
        if microbatches == 1:
            return gradients(state, carried, batch, key)

        # Row r belongs to part r % M, so that every device keeps its own rows.
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

    def follow(state: TrainState, params: Any, opt_state: Any, observed: Any):
        """The state after `Stateful.update`; frozen parameters stay as they are."""
        moments, with_moments = _moments(opt_state, params)
        variables = {"params": params, "moments": moments, **state.collections}
        new = dict(objective.update(variables, observed, state.step))
        params = _filled(learning(new.pop("params")), params)
        return params, with_moments(new.pop("moments")), new

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        key = jax.random.fold_in(jax.random.wrap_key_data(state.seed, impl=KEY_TYPE), state.step)
        grads, sums, observed = accumulate(state, batch, key)
        weight = jnp.maximum(sums["loss"].weight, 1.0)
        norm = optax.tree.norm(grads) / weight
        finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].value)

        # A product, because XLA fuses it into its uses, and writes a quotient to memory.
        grads = jax.tree.map(lambda g: g * (1.0 / weight), grads)
        params = learning(state.params)
        updates, opt_state = tx.update(grads, state.opt_state, params, norm=norm)
        new, old = (optax.apply_updates(params, updates), opt_state), (params, state.opt_state)
        params, opt_state = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
        params, collections = _filled(params, state.params), state.collections
        if stateful:
            params, opt_state, collections = jax.lax.cond(
                finite,
                lambda *held: follow(state, *held, observed),
                lambda *held: (*held, state.collections),
                params,
                opt_state,
            )

        bad = 1 - finite.astype(jnp.int32)
        in_row = (state.skipped_in_row + bad) * bad
        one = jnp.ones((), jnp.float32)
        # A skipped step does not count in the averages.
        metrics = jax.tree.map(lambda x: jnp.where(finite, x, 0.0), dict(sums))
        metrics["grad_norm"] = Sums(jnp.where(finite, norm, 0.0), 1.0 - bad)
        metrics["learning_rate"] = Sums(learning_rate(state.step), one)
        metrics["skipped"] = Sums(bad.astype(jnp.float32), one)
        metrics["skipped_in_row"] = Sums(in_row.astype(jnp.float32), one)
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


def _masked(x: Any) -> bool:
    return isinstance(x, optax.MaskedNode)


def _filled(learning: Any, params: Any) -> Any:
    """The tree `learning` with the parameters of `params` in its masked places."""
    return jax.tree.map(lambda a, b: b if _masked(a) else a, learning, params, is_leaf=_masked)


def _moments(opt_state: Any, params: Any) -> tuple[tuple[Any, ...], Callable[[Any], Any]]:
    """The moments for `Stateful.update`, and the function that replaces them in the state.

    An optimizer of several groups keeps a tree of moments for each group, masked at the parameters
    of other groups; the k-th tree here has the k-th moment of every parameter.
    """
    like = jax.tree.structure(params)

    def is_like(tree: Any) -> bool:
        return jax.tree.structure(tree, is_leaf=_masked) == like

    parts, whole = jax.tree.flatten(opt_state, is_leaf=is_like)
    places = [place for place, part in enumerate(parts) if is_like(part)]
    rows = [jax.tree.leaves(parts[place], is_leaf=_masked) for place in places]
    columns = [[x for x in column if not _masked(x)] for column in zip(*rows)]
    most = max(map(len, columns), default=0)
    moments = tuple(
        like.unflatten([x[k] if k < len(x) else optax.MaskedNode() for x in columns])
        for k in range(most)
    )

    def with_moments(new: Any) -> Any:
        left = [iter(column) for column in zip(*(like.flatten_up_to(tree) for tree in new))]
        found = list(parts)
        for place, row in zip(places, rows):
            found[place] = like.unflatten(
                [x if _masked(x) else next(column) for x, column in zip(row, left)]
            )
        return whole.unflatten(found)

    return moments, with_moments
