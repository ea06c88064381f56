"""One training step: gradients, a check that they are finite, the update, and what follows it."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import optax

from clwe_jax.training import optim
from clwe_jax.training.train_state import KEY_TYPE, TrainState
from clwe_jax.types import SHARED_KEYS, Array, Batch, Objective, Stateful, Sums, Variables

Metrics = dict[str, Sums]
StepFn = Callable[[TrainState, Batch], tuple[TrainState, Metrics]]
# (variables, batch, step, key) -> gradients of the summed loss, sums of the metrics, observations.
Gradients = Callable[[Variables, Batch, Array, Array], tuple[Any, Metrics, Any]]
# parameters -> the same tree with an `optax.MaskedNode` in the place of each frozen parameter.
LearningPart = Callable[[Any], Any]


def make_step(
    objective: Objective,
    tx: optax.GradientTransformation,
    learning_rate: Callable[[Array], Array],
    microbatches: int = 1,
    learns: Callable[[Any], Any] | None = None,
) -> StepFn:
    """The function (state, batch) -> (state, metrics), to be jitted with the state donated.

    The loss is sum(loss) / sum(weight) over the whole batch, for any number of microbatches: sums
    are added and divided once. If the loss or the gradient is not finite, parameters, optimizer
    and collections do not change, and the step counts as skipped.

    Args:
      objective: the objective. `update` of a `Stateful` one is called once a step with the
        observations of the whole batch, so that microbatches do not affect the collections.
      tx: the optimizer; its `update` gets the gradient's global `norm` as an extra argument.
      learning_rate: number of applied steps -> rate, for the metrics.
      microbatches: number of parts into which the batch is split, to be processed in turn.
      learns: parameters -> a tree of bool, False for frozen parameters, which have no gradient and
        never change (`optim.Optimizer.learns`). None: all parameters learn.

    Returns:
      A function whose metrics are the objective's, and 'grad_norm' (weight 0 if skipped),
      'learning_rate', 'skipped' and 'skipped_in_row' (all of weight 1).
    """
    tx = optax.with_extra_args_support(tx)

    def learning_part(params: Any) -> Any:
        if learns is None:
            return params
        return jax.tree.map(lambda p, yes: p if yes else optax.MaskedNode(), params, learns(params))

    gradients = split_into_microbatches(make_gradients(objective, learning_part), microbatches)

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        # The key is derived from the step, so that a resumed run draws the same numbers.
        key = jax.random.fold_in(jax.random.wrap_key_data(state.seed, impl=KEY_TYPE), state.step)
        grads, sums, observed = gradients(state.variables, batch, state.step, key)
        weight = jnp.maximum(sums["loss"].weight, 1.0)  # a batch without predictions has weight 0
        # Of the mean loss; computed once, for the check and for clipping.
        norm = optax.tree.norm(grads) / weight
        finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].value)

        # A product, which XLA fuses into its uses; a quotient it would write to memory first.
        grads = jax.tree.map(lambda g: g * (1.0 / weight), grads)
        params = learning_part(state.params)
        updates, opt_state = tx.update(grads, state.opt_state, params, norm=norm)
        new = (optax.apply_updates(params, updates), opt_state)
        old = (params, state.opt_state)
        params, opt_state = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
        applied = state.replace(params=_fill_masked(params, state.params), opt_state=opt_state)
        if isinstance(objective, Stateful):
            applied = update_collections(objective, learning_part, applied, observed, finite)

        skipped = 1 - finite.astype(jnp.int32)
        in_row = (state.skipped_in_row + skipped) * skipped  # 0 after an applied step
        one = jnp.ones((), jnp.float32)
        # A skipped step adds nothing to the averages of the metrics.
        metrics = jax.tree.map(lambda x: jnp.where(finite, x, 0.0), dict(sums))
        metrics["grad_norm"] = Sums(jnp.where(finite, norm, 0.0), 1.0 - skipped)
        # A skipped step does not move the optimizer's schedule.
        metrics["learning_rate"] = Sums(learning_rate(state.step - state.skipped), one)
        metrics["skipped"] = Sums(skipped.astype(jnp.float32), one)
        metrics["skipped_in_row"] = Sums(in_row.astype(jnp.float32), one)
        # A skipped step still advances `step`, so that a run ends after the same number of batches.
        counts = dict(step=state.step + 1, skipped=state.skipped + skipped, skipped_in_row=in_row)
        return applied.replace(**counts), metrics

    return step


def make_gradients(objective: Objective, learning_part: LearningPart) -> Gradients:
    """The function that computes gradients of the parameters that learn, over a whole batch."""

    def gradients(variables: Variables, batch: Batch, step: Array, key: Array):
        def total(params: Any):
            filled = {**variables, "params": _fill_masked(params, variables["params"])}
            sums, observed = objective.loss(
                filled, batch, step=step, rngs={"dropout": key}, train=True
            )
            return sums["loss"].value, (sums, observed)

        grads, (sums, observed) = jax.grad(total, has_aux=True)(learning_part(variables["params"]))
        return grads, sums, observed

    return gradients


def split_into_microbatches(gradients: Gradients, parts: int) -> Gradients:
    """The function `gradients` over `parts` parts of a batch in turn, which need less memory than the whole.

    Row r belongs to part r % parts, so that each part has rows of every device, and none moves.
    """
    if parts == 1:
        return gradients

    def deal(x: Array) -> Array:  # [B, ...] -> [parts, B / parts, ...]
        return jnp.swapaxes(x.reshape(-1, parts, *x.shape[1:]), 0, 1)

    def collect(x: Array) -> Array:  # the inverse of `deal`
        return jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:])

    def sum_parts(variables: Variables, batch: Batch, step: Array, key: Array):
        shared = {name: batch[name] for name in SHARED_KEYS if name in batch}
        dealt = {name: value for name, value in batch.items() if name not in shared}

        def differentiate_part(index: Array, part: tuple[Any, Batch]):
            rows, batch = part
            of_part = {**variables, "rows": rows}
            part_key = jax.random.fold_in(key, index)  # else all parts had one dropout mask
            return gradients(of_part, {**batch, **shared}, step, part_key)

        def add_part(total, indexed):
            grads, sums, observed = differentiate_part(*indexed)
            return jax.tree.map(jnp.add, total, (grads, sums)), observed

        indexed = jnp.arange(parts), jax.tree.map(deal, (variables.get("rows", {}), dealt))
        first_part = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), indexed)
        # scan needs sums to start from: zeros of the shapes that one part has.
        shapes = jax.eval_shape(differentiate_part, *first_part)[:2]
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        (grads, sums), observed = jax.lax.scan(add_part, zeros, indexed)
        # Observations return to the order of the batch, which the collection 'rows' has too.
        return grads, sums, jax.tree.map(collect, observed)

    return sum_parts


def update_collections(
    objective: Stateful,
    learning_part: LearningPart,
    state: TrainState,
    observed: Any,
    finite: Array,
) -> TrainState:
    """The state after `Stateful.update`, unchanged if the step was not finite; frozen parameters stay."""

    def update(params: Any, opt_state: Any):
        variables = {"params": params, **state.collections}
        changed, copy_rows = objective.update(variables, observed, state.step)
        if copy_rows is not None:
            params = _fill_masked(learning_part(copy_rows(params)), params)
            opt_state = optim.map_param_trees(copy_rows, opt_state)
        return params, opt_state, {**state.collections, **changed}

    params, opt_state, collections = jax.lax.cond(
        finite,
        update,
        lambda *unchanged: (*unchanged, state.collections),
        state.params,
        state.opt_state,
    )
    return state.replace(params=params, opt_state=opt_state, collections=collections)


def _fill_masked(part: Any, params: Any) -> Any:
    """A part of the parameters, its masked places filled from all of them, `params`."""

    def is_masked(x: Any) -> bool:
        return isinstance(x, optax.MaskedNode)

    return jax.tree.map(lambda a, b: b if is_masked(a) else a, part, params, is_leaf=is_masked)
