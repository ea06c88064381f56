"""The scores of a table's rows, and the types of the products of their gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.table_scores import table_scores


def factors(dtype, leading=(3, 5)):
    r = np.random.RandomState(0)
    made = r.standard_normal((*leading, 8)), r.standard_normal((11, 8))
    return tuple(jnp.asarray(x, dtype) for x in made)


def loss(hidden, table):
    return (table_scores(hidden, table) ** 2).sum()


def test_scores_and_gradients_equal_loops():
    hidden, table = factors(jnp.float32)
    expected = np.zeros((3, 5, 11))
    for place in np.ndindex(3, 5, 11):
        expected[place] = np.asarray(hidden)[place[:2]] @ np.asarray(table)[place[2]]
    np.testing.assert_allclose(table_scores(hidden, table), expected, rtol=1e-5)
    of_hidden, of_table = jax.grad(loss, (0, 1))(hidden, table)
    np.testing.assert_allclose(of_hidden, 2 * expected @ np.asarray(table), rtol=1e-4)
    of_rows = np.einsum("abv,abd->vd", 2 * expected, np.asarray(hidden))
    np.testing.assert_allclose(of_table, of_rows, rtol=1e-4)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_all_products_have_the_type_of_the_factors(dtype):
    """A gradient in float32 would make its products float32, which accelerators compute slowly."""
    hidden, table = factors(dtype)
    program = jax.make_jaxpr(jax.grad(loss, (0, 1)))(hidden, table)
    products = [kinds for name, *kinds in _operations(program.jaxpr) if name == "dot_general"]
    assert len(products) >= 3
    assert {kind for kinds in products for kind in kinds} == {str(jnp.dtype(dtype))}
    assert table_scores(hidden, table).dtype == jnp.float32


def _operations(program):
    """(name, types of its inputs) of every operation, those of inner programs too."""
    for equation in program.eqns:
        yield equation.primitive.name, *(str(x.aval.dtype) for x in equation.invars)
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from _operations(inner)


def test_bfloat16_gradients_are_near_those_of_float32():
    exact = jax.grad(loss, (0, 1))(*factors(jnp.float32))
    rounded = jax.grad(loss, (0, 1))(*factors(jnp.bfloat16))
    for x, y in zip(exact, rounded, strict=True):
        assert y.dtype == jnp.bfloat16
        assert np.linalg.norm(x - y.astype(jnp.float32)) < 0.02 * np.linalg.norm(x)
