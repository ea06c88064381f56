"""One training step: gradients, a check that they are finite, the updates, and the metrics."""

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
# (variables, batch, step, key) -> gradients of the summed loss, metrics, observations (`Objective.loss`).
GradientFn = Callable[[Variables, Batch, Array, Array], tuple[Any, Metrics, Any]]
# parameters -> the same tree without the frozen ones: an `optax.MaskedNode` stands in the place of each.
DropFrozen = Callable[[Any], Any]


def make_step(
    objective: Objective,
    tx: optax.GradientTransformation,
    learning_rate: Callable[[Array], Array],
    microbatches: int = 1,
    trainable_mask: Callable[[Any], Any] | None = None,
) -> StepFn:
    """The function (state, batch) -> (state, metrics), to be jitted with the state donated.

    The loss is sum(loss) / sum(weight) over the whole batch: the sums of microbatches are added and divided
    once. Apart from dropout and sampling, their number has no effect if the objective's sums add over rows
    (`Objective.loss`). If the loss or the gradient is not finite, parameters, optimizer and collections do not
    change, and the step counts as skipped.

    Args:
      objective: `update` of a `Stateful` one is called once a step with the observations of the
        whole batch, so that the collections do not depend on `microbatches`.
      tx: the optimizer; its `update` gets the gradient's global `norm` as an extra argument.
      learning_rate: number of applied steps -> rate of the first learning group, for the metrics.
      microbatches: number of parts into which the batch is split, to be processed in turn.
      trainable_mask: parameters -> a tree of bool, False for frozen parameters, which have no
        gradient and never change (`optim.Optimizer.trainable_mask`). None: all parameters learn.

    Returns:
      A function whose metrics are the objective's, 'grad_norm' (weight 0 if skipped), and three of weight 1:
      'learning_rate', 'skipped', and 'skipped_in_row', the number of skipped steps since the last applied one.
    """
    tx = optax.with_extra_args_support(tx)

    def drop_frozen(params: Any) -> Any:
        if trainable_mask is None:
            return params
        mask = trainable_mask(params)
        return jax.tree.map(lambda p, learns: p if learns else optax.MaskedNode(), params, mask)

    gradients = accumulate_gradients(make_gradients(objective, drop_frozen), microbatches)

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        # `seed` is the run's key as numbers. From it and the step a resumed run draws the same numbers.
        key = jax.random.fold_in(jax.random.wrap_key_data(state.seed, impl=KEY_TYPE), state.step)
        grads, sums, observed = gradients(state.variables, batch, state.step, key)
        # 0 where nothing is predicted, else at least 1 (`Objective.loss`): the maximum avoids 0 / 0.
        weight = jnp.maximum(sums["loss"].weight, 1.0)
        # The norm of the mean loss's gradient, computed once for the check and for clipping.
        norm = optax.tree.norm(grads) / weight
        finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].value)

        # XLA fuses a product into the operations that use it, but writes a quotient to memory first.
        grads = jax.tree.map(lambda g: g * (1.0 / weight), grads)
        trainable = drop_frozen(state.params)
        updates, opt_state = tx.update(grads, state.opt_state, trainable, norm=norm)
        new = (optax.apply_updates(trainable, updates), opt_state)
        old = (trainable, state.opt_state)
        trainable, opt_state = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
        params = _restore_frozen(trainable, state.params)
        updated = state.replace(params=params, opt_state=opt_state)
        if isinstance(objective, Stateful):
            updated = update_collections(objective, drop_frozen, updated, observed, finite)

        skipped = 1 - finite.astype(jnp.int32)
        consecutive = (state.skipped_in_row + skipped) * skipped  # 0 after an applied step
        one = jnp.ones((), jnp.float32)
        # A skipped step adds nothing to the averages: values and weights become 0.
        metrics = jax.tree.map(lambda x: jnp.where(finite, x, 0.0), dict(sums))
        metrics["grad_norm"] = Sums(jnp.where(finite, norm, 0.0), 1.0 - skipped)
        # A skipped step does not move the optimizer's schedule.
        metrics["learning_rate"] = Sums(learning_rate(state.step - state.skipped), one)
        metrics["skipped"] = Sums(skipped.astype(jnp.float32), one)
        metrics["skipped_in_row"] = Sums(consecutive.astype(jnp.float32), one)
        # A skipped step still advances `step`, so that a run ends after the same number of batches.
        updated = updated.replace(
            step=state.step + 1, skipped=state.skipped + skipped, skipped_in_row=consecutive
        )
        return updated, metrics

    return step


def make_gradients(objective: Objective, drop_frozen: DropFrozen) -> GradientFn:
    """The function that computes the gradients of the trainable parameters for a batch."""

    def gradients(variables: Variables, batch: Batch, step: Array, key: Array):
        def summed_loss(trainable: Any):
            params = _restore_frozen(trainable, variables["params"])
            sums, observed = objective.loss(
                {**variables, "params": params}, batch, step=step, rngs={"dropout": key}, train=True
            )
            return sums["loss"].value, (sums, observed)

        trainable = drop_frozen(variables["params"])
        grads, (sums, observed) = jax.grad(summed_loss, has_aux=True)(trainable)
        return grads, sums, observed

    return gradients


def accumulate_gradients(gradients: GradientFn, microbatches: int) -> GradientFn:
    """Makes `gradients` process a batch in microbatches, one after the other, which saves memory.

    Row r belongs to microbatch r % microbatches. A device holds a block of neighbouring rows: every microbatch
    takes the same share of each block, so that no row moves to another device.
    """
    if microbatches == 1:
        return gradients

    def deal(x: Array) -> Array:  # [B, ...] -> [microbatches, B / microbatches, ...]
        return jnp.swapaxes(x.reshape(-1, microbatches, *x.shape[1:]), 0, 1)

    def collect(x: Array) -> Array:  # the inverse of `deal`
        return jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:])

    def accumulate(variables: Variables, batch: Batch, step: Array, key: Array):
        shared_arrays = {name: batch[name] for name in SHARED_KEYS if name in batch}
        by_row = {name: value for name, value in batch.items() if name not in shared_arrays}

        def differentiate(index: Array, row_states: Any, microbatch: Batch):
            # With one key all microbatches would have the same dropout masks.
            own_key = jax.random.fold_in(key, index)
            own_variables = {**variables, "rows": row_states}
            return gradients(own_variables, {**microbatch, **shared_arrays}, step, own_key)

        def add(totals, arguments):
            grads, sums, observed = differentiate(*arguments)
            return jax.tree.map(jnp.add, totals, (grads, sums)), observed

        # `stacked`: the arguments of `differentiate` with a first axis of microbatches; `single`: their shapes
        # without it. An objective without the collection 'rows' gets {}.
        row_states = jax.tree.map(deal, variables.get("rows", {}))
        stacked = jnp.arange(microbatches), row_states, jax.tree.map(deal, by_row)
        single = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), stacked)
        # The totals start from zeros of the shapes of one microbatch's gradients and sums.
        shapes = jax.eval_shape(differentiate, *single)[:2]
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        (grads, sums), observed = jax.lax.scan(add, zeros, stacked)
        # The observations of a row go back to the row's place in the batch.
        return grads, sums, jax.tree.map(collect, observed)

    return accumulate


def update_collections(
    objective: Stateful, drop_frozen: DropFrozen, state: TrainState, observed: Any, finite: Array
) -> TrainState:
    """The state after `Stateful.update`, unchanged if the step was not finite; frozen parameters stay."""

    def update(params: Any, opt_state: Any):
        variables = {"params": params, **state.collections}
        new_collections, overwrite = objective.update(variables, observed, state.step)
        if overwrite is not None:
            # Frozen parameters stay as they were: their overwritten values are dropped.
            params = _restore_frozen(drop_frozen(overwrite(params)), params)
            opt_state = optim.map_param_trees(overwrite, opt_state)
        return params, opt_state, {**state.collections, **new_collections}

    def keep(params: Any, opt_state: Any):
        return params, opt_state, state.collections

    # `cond` computes an update only after a finite step, while `where` would always compute it.
    params, opt_state, collections = jax.lax.cond(
        finite, update, keep, state.params, state.opt_state
    )
    return state.replace(params=params, opt_state=opt_state, collections=collections)


def _restore_frozen(trainable: Any, params: Any) -> Any:
    """Undoes `drop_frozen`: each `optax.MaskedNode` in `trainable` becomes the parameter of `params`."""
    is_masked = lambda x: isinstance(x, optax.MaskedNode)
    return jax.tree.map(lambda a, b: b if is_masked(a) else a, trainable, params, is_leaf=is_masked)
