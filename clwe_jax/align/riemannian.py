"""Conjugate gradients over pairs of orthonormal frames and a positive definite matrix.

Runs as one compiled loop in float64 on the host: the matrices are small, and near a minimum the
differences of costs that a line search compares are smaller than float32 tells apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.types import Array

_DECREASE = 1e-4  # of what the slope promises, for a step to be taken (Armijo)
_TRIALS = 12  # halvings of a step
_LONGEST = 10.0  # times the step that was tried, where the line search extrapolates
_SMALLEST_NORM = 1e-6  # of the gradient, where the search ends


class Point(NamedTuple):
    """A point, or a direction at one."""

    left: Array  # [D, K], orthonormal columns
    right: Array  # [D', K], orthonormal columns
    metric: Array  # [K, K], positive definite


class _Search(NamedTuple):
    point: Point
    cost: Array
    gradient: Point
    direction: Point
    step: Array
    number: Array
    going: Array
    costs: Array  # [iterations + 1], NaN where the search had ended
    norms: Array  # likewise, of the gradient


def random_point(left: int, right: int, seed: int) -> Point:
    """Uniform frames of the lesser of both sizes, and the identity."""
    width = min(left, right)
    random = np.random.RandomState(seed)
    frames = []
    for size in (left, right):
        frame, triangle = np.linalg.qr(random.standard_normal((size, width)))
        frames.append(frame * np.sign(np.diag(triangle)))
    return Point(*frames, np.eye(width))


def root(metric: np.ndarray) -> np.ndarray:
    """The square root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(metric)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def minimise(
    cost: Callable[[Point, Any], Array], start: Point, problem: Any, iterations: int
) -> tuple[Point, np.ndarray, np.ndarray]:
    """Riemannian conjugate gradients (Hestenes-Stiefel) with a line search that interpolates.

    Frames: the metric of the surrounding space, QR as retraction, projection as transport.
    Positive definite matrices: the affine-invariant metric, the exponential map to second order as
    retraction, the identity as transport. (Absil, Mahony, Sepulchre 2008, Optimization Algorithms
    on Matrix Manifolds, chapters 4 and 8.)

    Args:
      cost: of a point and `problem`, traceable.
      start: where to begin.
      problem: a pytree of arrays that the cost depends on.
      iterations: at most; fewer when the gradient has become tiny or no step lowers the cost.

    Returns:
      The last point, and the costs and norms of the gradient of all points on the way.
    """
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        point, costs, norms = _minimise(
            cost,
            jax.tree.map(jnp.asarray, start),
            jax.tree.map(jnp.asarray, problem),
            iterations,
        )
        costs, norms = np.asarray(costs), np.asarray(norms)
        reached = ~np.isnan(costs)
        return Point(*map(np.asarray, point)), costs[reached], norms[reached]


@functools.partial(jax.jit, static_argnames=("cost", "iterations"))
def _minimise(cost, start, problem, iterations):
    differentiate = jax.value_and_grad(cost)

    def look(point: Point) -> tuple[Array, Point]:
        value, slope = differentiate(point, problem)
        metric = point.metric @ _symmetric(slope.metric) @ point.metric
        return value, _projected(point, slope._replace(metric=metric))

    def body(search: _Search) -> _Search:
        point, gradient = search.point, search.gradient
        slope = _inner(point, gradient, search.direction)
        # A direction that does not descend is given up for the steepest.
        lost = slope >= 0
        direction = jax.tree.map(lambda d, g: jnp.where(lost, -g, d), search.direction, gradient)
        slope = jnp.where(lost, -_inner(point, gradient, gradient), slope)
        step, value = _line_search(cost, problem, point, search.cost, direction, slope, search.step)
        moved = value < search.cost
        reached = jax.tree.map(
            lambda new, old: jnp.where(moved, new, old),
            _retract(point, direction, step),
            point,
        )
        value, new_gradient = look(reached)
        old_gradient = _projected(reached, gradient)
        old_direction = _projected(reached, direction)
        change = jax.tree.map(jnp.subtract, new_gradient, old_gradient)
        below = _inner(reached, change, old_direction)
        beta = _inner(reached, change, new_gradient) / jnp.where(below == 0, jnp.inf, below)
        beta = jnp.maximum(beta, 0)
        following = jax.tree.map(lambda g, d: beta * d - g, new_gradient, old_direction)
        norm = jnp.sqrt(_inner(reached, new_gradient, new_gradient))
        number = search.number + 1
        return _Search(
            reached,
            value,
            new_gradient,
            following,
            jnp.where(moved, step, search.step),
            number,
            moved & (norm > _SMALLEST_NORM),
            search.costs.at[number].set(jnp.where(moved, value, jnp.nan)),
            search.norms.at[number].set(jnp.where(moved, norm, jnp.nan)),
        )

    value, gradient = look(start)
    norm = jnp.sqrt(_inner(start, gradient, gradient))
    empty = jnp.full(iterations + 1, jnp.nan)
    first = _Search(
        start,
        value,
        gradient,
        jax.tree.map(jnp.negative, gradient),
        1 / jnp.maximum(norm, _SMALLEST_NORM),
        jnp.array(0),
        norm > _SMALLEST_NORM,
        empty.at[0].set(value),
        empty.at[0].set(norm),
    )
    last = jax.lax.while_loop(lambda s: s.going & (s.number < iterations), body, first)
    return last.point, last.costs, last.norms


def _line_search(cost, problem, point, value, direction, slope, step):
    """A step that lowers the cost enough, and the cost there.

    The parabola through the cost, its slope and the cost at the last step has its lowest point at
    the step that is tried next; that one is halved until it is good.
    """

    def at(step):
        return cost(_retract(point, direction, step), problem)

    tried = at(step)
    bend = tried - value - slope * step
    best = jnp.where(bend > 0, -slope * step**2 / (2 * bend), _LONGEST * step)
    best = jnp.minimum(best, _LONGEST * step)

    def poor(state):
        step, found, trials = state
        return ~(found <= value + _DECREASE * step * slope) & (trials < _TRIALS)

    def halve(state):
        step, _, trials = state
        return step / 2, at(step / 2), trials + 1

    step, found, _ = jax.lax.while_loop(poor, halve, (best, at(best), 0))
    return step, found


def _inner(point: Point, a: Point, b: Point) -> Array:
    """The metric at a point."""
    frames = (a.left * b.left).sum() + (a.right * b.right).sum()
    factor = jax.scipy.linalg.cho_factor(point.metric)
    a_share = jax.scipy.linalg.cho_solve(factor, a.metric)
    b_share = jax.scipy.linalg.cho_solve(factor, b.metric)
    return frames + (a_share * b_share.T).sum()


def _projected(point: Point, x: Point) -> Point:
    """The nearest direction at a point."""

    def of_frame(frame, x):
        return x - frame @ _symmetric(frame.T @ x)

    return Point(
        of_frame(point.left, x.left),
        of_frame(point.right, x.right),
        _symmetric(x.metric),
    )


def _retract(point: Point, direction: Point, step: Array) -> Point:
    def of_frame(frame, x):
        frame, triangle = jnp.linalg.qr(frame + step * x)
        return frame * jnp.where(jnp.diag(triangle) < 0, -1.0, 1.0)

    x = step * direction.metric
    factor = jax.scipy.linalg.cho_factor(point.metric)
    second = x @ jax.scipy.linalg.cho_solve(factor, x) / 2
    return Point(
        of_frame(point.left, direction.left),
        of_frame(point.right, direction.right),
        _symmetric(point.metric + x + second),
    )


def _symmetric(x: Array) -> Array:
    return (x + x.T) / 2
