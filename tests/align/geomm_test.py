"""GeoMM against its definition, its stationarity conditions and the authors' kind of solver."""

import jax
import numpy as np
import pytest

from clwe_jax.align import csls, geomm, riemannian


def rotation(width, seed=1):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((width, width)))[0]


def words(count=120, width=8, noise=0.1, seed=0):
    """Vectors whose directions' variances differ, and their noisy rotation."""
    r = np.random.RandomState(seed)
    x = r.standard_normal((count, width)) * np.geomspace(1, 0.2, width)
    return x, x @ rotation(width, seed + 1) + noise * r.standard_normal((count, width))


def diagonal(count):
    return np.stack([np.arange(count)] * 2, 1)


def many_to_many(count=50):
    """Words with several translations on either side, and a pair that is named twice."""
    more = np.array([[0, 7], [0, 9], [3, 7], [5, 5]])
    return np.concatenate([diagonal(count), more])


def numpy_cost(point, x, z, pairs, l2):
    """Eq. 1 of Jawanpuria et al. 2019, with the matrix A written out."""
    rows, columns = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    a = np.zeros((len(rows), len(columns)))
    for i, j in pairs:
        a[np.searchsorted(rows, i), np.searchsorted(columns, j)] = 1
    scores = x[rows] @ point.left @ point.metric @ point.right.T @ z[columns].T
    return np.square(scores - a).sum() + l2 / 2 * np.square(point.metric).sum()


def random_point(left, right, seed=0):
    point = riemannian.random_point(left, right, seed)
    root = np.random.RandomState(seed).standard_normal(point.metric.shape)
    return point._replace(metric=root @ root.T + 0.1 * np.eye(len(root)))


def test_cost_equals_its_definition():
    x, z = words()
    pairs = many_to_many()
    point = random_point(8, 8)
    problem = geomm.statistics(x, z, pairs, 3.0)
    expected = numpy_cost(point, x, z, pairs, 3.0)
    np.testing.assert_allclose(geomm.cost(point, problem), expected, rtol=1e-10)


def test_gradient_equals_finite_differences():
    x, z = words(width=4)
    pairs = many_to_many()
    point, problem = random_point(4, 4), geomm.statistics(x, z, pairs, 3.0)
    with jax.enable_x64(True):
        slope = jax.grad(geomm.cost)(jax.tree.map(jax.numpy.asarray, point), problem)
    for name in point._fields:
        for place in np.ndindex(4, 4):
            nudge = np.zeros((4, 4))
            nudge[place] = 1e-5
            above, below = (
                numpy_cost(point._replace(**{name: getattr(point, name) + sign * nudge}),
                           x, z, pairs, 3.0)
                for sign in (1, -1)
            )  # fmt: skip
            found = getattr(slope, name)[place]
            np.testing.assert_allclose(found, (above - below) / 2e-5, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("widths", [(8, 8), (8, 5), (5, 8)])
def test_exact_is_the_minimum(widths):
    r = np.random.RandomState(0)
    x, z = r.standard_normal((80, widths[0])), r.standard_normal((80, widths[1]))
    pairs = many_to_many()
    point = geomm.exact(geomm.statistics(x, z, pairs, 10.0))
    for frame in (point.left, point.right):
        np.testing.assert_allclose(frame.T @ frame, np.eye(5 if 5 in widths else 8), atol=1e-10)
    assert np.linalg.eigvalsh(point.metric).min() >= 0
    # The equation of the minimum, by its Kronecker form.
    rows, columns = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    a = np.zeros((len(x), len(z)))
    a[pairs[:, 0], pairs[:, 1]] = 1
    gram_x, gram_z = x[rows].T @ x[rows], z[columns].T @ z[columns]
    system = np.kron(gram_x, gram_z) + 5.0 * np.eye(widths[0] * widths[1])
    expected = np.linalg.solve(system, (x.T @ a @ z).ravel()).reshape(widths)
    np.testing.assert_allclose(point.left @ point.metric @ point.right.T, expected, atol=1e-9)
    lowest = numpy_cost(point, x, z, pairs, 10.0)
    for seed in range(20):
        assert numpy_cost(random_point(*widths, seed), x, z, pairs, 10.0) > lowest


def product(found):
    """U B V^T."""
    return (found.source_map @ found.target_map.T).astype(np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_conjugate_gradients_reach_the_exact_minimum(seed):
    x, z = words(seed=seed)
    options = {"l2": 10.0, "seed": seed}
    exact = geomm.Geomm(**options).fit(x, z, many_to_many())
    found = geomm.Geomm(solver="conjugate_gradient", iterations=400, **options).fit(
        x, z, many_to_many()
    )
    costs = found.info["cost"]
    assert costs == sorted(costs, reverse=True) and costs[0] > 2 * costs[-1]
    # det(U B V^T) cannot change its sign on the way. From the wrong side the search ends where a
    # singular value is 0, a little above the minimum.
    start = riemannian.random_point(8, 8, seed)
    same_side = np.linalg.det(start.left @ start.right.T) * np.linalg.det(product(exact)) > 0
    lowest = exact.info["cost"][0]
    assert lowest * (1 - 1e-9) < costs[-1] < lowest * (1 + (1e-6 if same_side else 1e-2))
    if same_side:
        np.testing.assert_allclose(product(found), product(exact), atol=1e-4)


def test_the_search_stays_on_the_manifold_and_repeats():
    x, z = words()
    problem = geomm.statistics(x, z, diagonal(50), 10.0)
    start = random_point(8, 8, seed=3)
    point, costs, norms = riemannian.minimise(geomm.cost, start, problem, 30)
    for frame in (point.left, point.right):
        np.testing.assert_allclose(frame.T @ frame, np.eye(8), atol=1e-10)
    assert np.linalg.eigvalsh(point.metric).min() > 0
    assert len(costs) == len(norms) == 31 and norms[-1] < norms[0]
    again, _, _ = riemannian.minimise(geomm.cost, start, problem, 30)
    np.testing.assert_array_equal(point.left, again.left)


def test_the_search_ends_where_nothing_is_to_be_gained():
    x, z = words(width=4)
    problem = geomm.statistics(x, z, diagonal(50), 10.0)
    _, costs, norms = riemannian.minimise(geomm.cost, geomm.exact(problem), problem, 30)
    assert len(costs) < 30 and norms[-1] < 1e-3
    np.testing.assert_allclose(costs[-1], costs[0], rtol=1e-9)


@pytest.mark.parametrize("solver", geomm.SOLVERS)
def test_recovers_a_planted_rotation(solver):
    x, z = words(400, 20, noise=0.0)
    found = geomm.Geomm(solver=solver, l2=1.0).fit(x, z, diagonal(200))
    best, _ = csls.nearest(found.apply(x), found.apply_target(z), 1, "csls")
    np.testing.assert_array_equal(best[:, 0], np.arange(400))


def test_a_pair_that_is_named_twice_counts_once():
    x, z = words()
    once = geomm.Geomm().fit(x, z, diagonal(50))
    twice = geomm.Geomm().fit(x, z, np.concatenate([diagonal(50), diagonal(50)]))
    assert twice.info["pairs"] == [50]
    np.testing.assert_array_equal(once.source_map, twice.source_map)


@pytest.mark.parametrize(
    "options, match",
    [({"solver": "exakt"}, "'exact'"), ({"l2": 0.0}, "positive"), ({"l2": -1.0}, "positive")],
)
def test_options_out_of_range(options, match):
    x, z = words()
    with pytest.raises(ValueError, match=match):
        geomm.Geomm(**options).fit(x, z, diagonal(50))
