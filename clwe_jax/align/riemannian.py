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
    slope: Point  # Euclidean derivative of the cost
    gradient: Point
    square: Array  # of the gradient's norm
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
    """Riemannian conjugate gradients (Polak-Ribiere) with a line search that interpolates.

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

    def look(point: Point) -> tuple[Array, Point, Point]:
        """The cost, its Euclidean derivative projected, and its Riemannian gradient.

        The metric's product of the latter with a direction is the former's Euclidean product.
        """
        value, slope = differentiate(point, problem)
        slope = _projected(point, slope)
        return value, slope, slope._replace(metric=point.metric @ slope.metric @ point.metric)

    def body(search: _Search) -> _Search:
        point, gradient, square = search.point, search.gradient, search.square
        slope = _product(search.slope, search.direction)
        lost = slope >= 0  # a direction that does not descend is given up for the steepest one
        direction = jax.tree.map(lambda d, g: jnp.where(lost, -g, d), search.direction, gradient)
        slope = jnp.where(lost, -square, slope)
        retract = _retraction(point, direction)
        step, value = _line_search(
            lambda step: cost(retract(step), problem), search.cost, slope, search.step
        )
        moved = value < search.cost
        reached = retract(jnp.where(moved, step, 0.0))
        value, new_slope, new_gradient = look(reached)
        new_square = _product(new_slope, new_gradient)
        beta = new_square - _product(new_slope, _projected(reached, gradient))
        beta = jnp.maximum(beta / square, 0)
        carried = _projected(reached, direction)
        number = search.number + 1
        norm = jnp.sqrt(new_square)
        return _Search(
            point=reached,
            cost=value,
            slope=new_slope,
            gradient=new_gradient,
            square=new_square,
            direction=jax.tree.map(lambda g, d: beta * d - g, new_gradient, carried),
            step=jnp.where(moved, step, search.step),
            number=number,
            going=moved & (norm > _SMALLEST_NORM),
            costs=search.costs.at[number].set(jnp.where(moved, value, jnp.nan)),
            norms=search.norms.at[number].set(jnp.where(moved, norm, jnp.nan)),
        )

    value, slope, gradient = look(start)
    square = _product(slope, gradient)
    norm = jnp.sqrt(square)
    empty = jnp.full(iterations + 1, jnp.nan)
    first = _Search(
        point=start,
        cost=value,
        slope=slope,
        gradient=gradient,
        square=square,
        direction=jax.tree.map(jnp.negative, gradient),
        step=1 / jnp.maximum(norm, _SMALLEST_NORM),
        number=jnp.array(0),
        going=norm > _SMALLEST_NORM,
        costs=empty.at[0].set(value),
        norms=empty.at[0].set(norm),
    )
    last = jax.lax.while_loop(lambda s: s.going & (s.number < iterations), body, first)
    return last.point, last.costs, last.norms


def _line_search(at: Callable[[Array], Array], value, slope, step) -> tuple[Array, Array]:
    """A step that lowers the cost enough, and the cost there.

    The parabola through the cost, its slope and the cost at the last search's step has its lowest
    point at the step that is tried next; that one is halved until it is good.
    """
    bend = at(step) - value - slope * step
    best = jnp.where(bend > 0, -slope * step**2 / (2 * bend), jnp.inf)
    best = jnp.minimum(best, _LONGEST * step)

    def poor(state):
        step, found, trials = state
        return ~(found <= value + _DECREASE * step * slope) & (trials < _TRIALS)

    def halve(state):
        step, _, trials = state
        return step / 2, at(step / 2), trials + 1

    step, found, _ = jax.lax.while_loop(poor, halve, (best, at(best), 0))
    return step, found


def _product(a: Point, b: Point) -> Array:
    return sum((x * y).sum() for x, y in zip(a, b, strict=True))


def _projected(point: Point, x: Point) -> Point:
    """The nearest direction at a point."""

    def of_frame(frame, x):
        return x - frame @ _symmetric(frame.T @ x)

    return Point(
        of_frame(point.left, x.left),
        of_frame(point.right, x.right),
        _symmetric(x.metric),
    )


def _retraction(point: Point, direction: Point) -> Callable[[Array], Point]:
    """Where a step of some length leads."""
    factor = jax.scipy.linalg.cho_factor(point.metric)
    second = _symmetric(direction.metric @ jax.scipy.linalg.cho_solve(factor, direction.metric))

    def of_frame(frame, x):
        frame, triangle = jnp.linalg.qr(frame + x)
        return frame * jnp.where(jnp.diag(triangle) < 0, -1.0, 1.0)

    def retract(step: Array) -> Point:
        return Point(
            of_frame(point.left, step * direction.left),
            of_frame(point.right, step * direction.right),
            point.metric + step * direction.metric + step**2 / 2 * second,
        )

    return retract


def _symmetric(x: Array) -> Array:
    return (x + x.T) / 2
