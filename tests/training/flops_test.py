"""FLOPs against arithmetic by hand: loops, branches, convolutions, gradients."""

import jax
import jax.numpy as jnp
import pytest

from clwe_jax.training.flops import matrix_flops

A, B = jnp.zeros((6, 5)), jnp.zeros((5, 7))


def count(function, *arguments):
    return matrix_flops(jax.make_jaxpr(function)(*arguments))


def test_a_product_and_its_gradients():
    assert count(jnp.matmul, A, B) == 2 * 6 * 5 * 7
    both = jax.grad(lambda a, b: jnp.tanh(a @ b).sum(), argnums=(0, 1))
    assert count(both, A, B) == 3 * 2 * 6 * 5 * 7


def test_a_batched_product():
    assert count(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), A[None], B[None]) == 420
    assert count(jax.vmap(jnp.matmul), jnp.zeros((9, 6, 5)), jnp.zeros((9, 5, 7))) == 9 * 420


@pytest.mark.parametrize("remat", [False, True])
def test_a_loops_body_counts_as_often_as_it_runs(remat):
    body = lambda x, w: (jnp.tanh(x @ w), None)
    body = jax.checkpoint(body) if remat else body
    run = lambda x, ws: jax.lax.scan(body, x, ws)[0]
    x, ws = jnp.zeros((2, 5)), jnp.zeros((11, 5, 5))
    assert count(run, x, ws) == count(jax.jit(run), x, ws) == 11 * 2 * 2 * 5 * 5
    grad = jax.grad(lambda x, ws: run(x, ws).sum(), argnums=(0, 1))
    assert count(grad, x, ws) == (4 if remat else 3) * 11 * 2 * 2 * 5 * 5


def test_of_branches_the_cheapest_one_counts():
    def run(x, rest):
        return jax.lax.cond(x.sum() > 0, lambda x: x @ B @ B.T, rest, x)

    assert count(lambda x: run(x, lambda x: 2 * x), A) == 0
    cheaper = lambda x: x @ B[:, :2] @ B.T[:2]
    assert count(lambda x: run(x, cheaper), A) == 2 * 120


def test_a_convolution():
    x, kernel = jnp.zeros((2, 10, 3)), jnp.zeros((4, 3, 8))

    def run(x, kernel):
        numbers = ("NWC", "WIO", "NWC")
        return jax.lax.conv_general_dilated(x, kernel, (1,), "VALID", dimension_numbers=numbers)

    assert count(run, x, kernel) == 2 * (2 * 7 * 8) * (4 * 3)


def test_what_is_elementwise_does_not_count():
    assert count(lambda x: jnp.tanh(x) + x.sum(), A) == 0
