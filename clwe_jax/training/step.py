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
# (variables, batch, step, key) -> gradients of the summed loss, sums of the metrics, observations.
GradientFn = Callable[[Variables, Batch, Array, Array], tuple[Any, Metrics, Any]]
# parameters -> the same tree with an `optax.MaskedNode` in the place of each frozen parameter.
MaskFrozen = Callable[[Any], Any]


def make_step(
    objective: Objective,
    tx: optax.GradientTransformation,
    learning_rate: Callable[[Array], Array],
    microbatches: int = 1,
    trainable_mask: Callable[[Any], Any] | None = None,
) -> StepFn:
    """The function (state, batch) -> (state, metrics), to be jitted with the state donated.

    The loss is sum(loss) / sum(weight) over the whole batch, for any number of microbatches: sums
    are added and divided once. If the loss or the gradient is not finite, parameters, optimizer
    and collections do not change, and the step counts as skipped.

    Args:
      objective: the objective. `update` of a `Stateful` one is called once a step with the
        observations of the whole batch, so that the collections do not depend on `microbatches`.
      tx: the optimizer; its `update` gets the gradient's global `norm` as an extra argument.
      learning_rate: number of applied steps -> rate, for the metrics.
      microbatches: number of parts into which the batch is split, to be processed in turn.
      trainable_mask: parameters -> a tree of bool, False for frozen parameters, which have no
        gradient and never change (`optim.Optimizer.trainable_mask`). None: all parameters learn.

    Returns:
      A function whose metrics are the objective's, and 'grad_norm' (weight 0 if skipped),
      'learning_rate', 'skipped' and 'skipped_in_row', the number of consecutive skipped steps
      (each of weight 1).
    """
    tx = optax.with_extra_args_support(tx)

    def mask_frozen(params: Any) -> Any:
        if trainable_mask is None:
            return params
        mask = trainable_mask(params)
        return jax.tree.map(lambda p, learns: p if learns else optax.MaskedNode(), params, mask)

    gradients = split_into_microbatches(make_gradients(objective, mask_frozen), microbatches)

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        # The key is derived from the step, so that a resumed run draws the same numbers.
        key = jax.random.fold_in(jax.random.wrap_key_data(state.seed, impl=KEY_TYPE), state.step)
        grads, sums, observed = gradients(state.variables, batch, state.step, key)
        weight = jnp.maximum(sums["loss"].weight, 1.0)  # a batch without predictions has weight 0
        # The norm of the mean loss's gradient, computed once for the check and for clipping.
        norm = optax.tree.norm(grads) / weight
        finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].value)

        # XLA fuses a product into the operations that use it, but writes a quotient to memory first.
        grads = jax.tree.map(lambda g: g * (1.0 / weight), grads)
        trainable = mask_frozen(state.params)
        updates, opt_state = tx.update(grads, state.opt_state, trainable, norm=norm)
        new = (optax.apply_updates(trainable, updates), opt_state)
        old = (trainable, state.opt_state)
        trainable, opt_state = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
        params = _restore_frozen(trainable, state.params)
        updated = state.replace(params=params, opt_state=opt_state)
        if isinstance(objective, Stateful):
            updated = update_collections(objective, mask_frozen, updated, observed, finite)

        skipped = 1 - finite.astype(jnp.int32)
        in_row = (state.skipped_in_row + skipped) * skipped  # 0 after an applied step
        one = jnp.ones((), jnp.float32)
        # A skipped step adds nothing to the averages: values and weights become 0.
        metrics = jax.tree.map(lambda x: jnp.where(finite, x, 0.0), dict(sums))
        metrics["grad_norm"] = Sums(jnp.where(finite, norm, 0.0), 1.0 - skipped)
        # A skipped step does not move the optimizer's schedule.
        metrics["learning_rate"] = Sums(learning_rate(state.step - state.skipped), one)
        metrics["skipped"] = Sums(skipped.astype(jnp.float32), one)
        metrics["skipped_in_row"] = Sums(in_row.astype(jnp.float32), one)
        # A skipped step still advances `step`, so that a run ends after the same number of batches.
        counts = dict(step=state.step + 1, skipped=state.skipped + skipped, skipped_in_row=in_row)
        return updated.replace(**counts), metrics

    return step


def make_gradients(objective: Objective, mask_frozen: MaskFrozen) -> GradientFn:
    """The function that computes the gradients of the trainable parameters for a batch."""

    def gradients(variables: Variables, batch: Batch, step: Array, key: Array):
        def summed_loss(trainable: Any):
            params = _restore_frozen(trainable, variables["params"])
            sums, observed = objective.loss(
                {**variables, "params": params}, batch, step=step, rngs={"dropout": key}, train=True
            )
            return sums["loss"].value, (sums, observed)

        trainable = mask_frozen(variables["params"])
        grads, (sums, observed) = jax.grad(summed_loss, has_aux=True)(trainable)
        return grads, sums, observed

    return gradients


def split_into_microbatches(gradients: GradientFn, parts: int) -> GradientFn:
    """Makes `gradients` process a batch in `parts` parts, one after the other, which saves memory.

    Row r belongs to part r % parts. So each part has rows of every device, and no row changes its device.
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
            states, batch = part  # `states`: the collection 'rows' of the part's rows
            part_variables = {**variables, "rows": states}
            # With one key all parts would have the same dropout masks.
            part_key = jax.random.fold_in(key, index)
            return gradients(part_variables, {**batch, **shared}, step, part_key)

        def add_part(sums_so_far, indexed_part):
            grads, sums, observed = differentiate_part(*indexed_part)
            return jax.tree.map(jnp.add, sums_so_far, (grads, sums)), observed

        all_parts = jnp.arange(parts), jax.tree.map(deal, (variables.get("rows", {}), dealt))
        one_part = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), all_parts)
        # scan needs sums to start from: zeros of the shapes that one part has.
        shapes = jax.eval_shape(differentiate_part, *one_part)[:2]
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        (grads, sums), observed = jax.lax.scan(add_part, zeros, all_parts)
        # The observations of a row go back to the row's place in the batch.
        return grads, sums, jax.tree.map(collect, observed)

    return sum_parts


def update_collections(
    objective: Stateful, mask_frozen: MaskFrozen, state: TrainState, observed: Any, finite: Array
) -> TrainState:
    """The state after `Stateful.update`, unchanged if the step was not finite; frozen parameters stay."""

    def update(params: Any, opt_state: Any):
        variables = {"params": params, **state.collections}
        changed, copy_rows = objective.update(variables, observed, state.step)
        if copy_rows is not None:
            params = _restore_frozen(mask_frozen(copy_rows(params)), params)
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


def _restore_frozen(trainable: Any, params: Any) -> Any:
    """Undoes `mask_frozen`: each `optax.MaskedNode` in `trainable` becomes the parameter of `params`."""

    def is_masked(x: Any) -> bool:
        return isinstance(x, optax.MaskedNode)

    return jax.tree.map(lambda a, b: b if is_masked(a) else a, trainable, params, is_leaf=is_masked)
