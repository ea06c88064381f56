"""Procrustes and least squares: planted maps, optimality, refinement."""

import numpy as np
import pytest

from clwe_jax.align import csls, induce, procrustes


def rotation(width, seed=1):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((width, width)))[0]


def anisotropic(count, width, seed=0):
    """Vectors whose directions' variances differ a thousandfold, as word vectors' do."""
    r = np.random.RandomState(seed)
    return r.standard_normal((count, width)) * np.geomspace(1, 0.03, width)


def diagonal(count):
    return np.stack([np.arange(count)] * 2, 1)


@pytest.mark.parametrize("steps", [(), ("unit",), ("unit", "center", "unit"), ("iterative",)])
def test_recovers_a_planted_rotation(steps):
    x, turn = anisotropic(400, 50), rotation(50)
    found = procrustes.Procrustes(preprocess=steps).fit(x, x @ turn, diagonal(400))
    np.testing.assert_allclose(found.source_map, turn, atol=1e-5)
    assert found.target_map is None and found.info["pairs"] == [400]


def test_is_orthogonal_and_better_than_its_neighbours():
    r = np.random.RandomState(3)
    x, y = r.standard_normal((30, 6)), r.standard_normal((30, 6))
    matrix = procrustes.orthogonal(x, y)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-12)
    loss = np.square(x @ matrix - y).sum()
    for _ in range(50):
        skew = r.standard_normal((6, 6)) * 0.05
        near = matrix @ np.linalg.qr(np.eye(6) + skew - skew.T)[0]
        near *= np.sign(np.diag(matrix.T @ near))
        assert np.square(x @ near - y).sum() > loss


def test_rows_in_pieces_sum_to_the_same(monkeypatch):
    r = np.random.RandomState(0)
    x, y = r.standard_normal((100, 4)), r.standard_normal((100, 5))
    monkeypatch.setattr(procrustes, "_CHUNK_ROWS", 33)
    np.testing.assert_allclose(procrustes.transposed_product(x, y), x.T @ y, atol=1e-12)


def test_refinement_mends_a_poor_dictionary():
    r = np.random.RandomState(0)
    turn = rotation(20)
    x = anisotropic(500, 20)
    y = x @ turn + 0.02 * r.standard_normal((500, 20))
    pairs = diagonal(30)
    pairs[:17, 1] = r.permutation(500)[:17]  # a dictionary of which half is wrong

    def right(**options):
        found = procrustes.Procrustes(**options).fit(x, y, pairs)
        best = csls.nearest(found.apply(x), found.apply_target(y), 1, "csls")[0][:, 0]
        return float((np.asarray(best) == np.arange(500)).mean()), found.info

    before, _ = right()
    after, info = right(refinements=5)
    assert before < 0.75 and after > 0.9
    assert len(info["criterion"]) == 6 and len(info["pairs"]) == 6
    assert info["round"] == int(np.argmax(info["criterion"]))


def test_rounds_are_compared_with_their_own_neighbourhood():
    x, y = anisotropic(200, 10), anisotropic(200, 10, seed=2)
    found = procrustes.Procrustes(refinements=1, neighbourhood=2).fit(x, y, diagonal(20))
    kept = found.info["criterion"][found.info["round"]]
    sides = found.apply(x), found.apply_target(y)
    assert kept == pytest.approx(induce.unsupervised_criterion(*sides, neighbourhood=2))
    assert kept != pytest.approx(induce.unsupervised_criterion(*sides))


def test_the_best_round_is_kept():
    x = anisotropic(300, 10)
    turn = rotation(10)
    found = procrustes.Procrustes(refinements=2).fit(x, x @ turn, diagonal(300))
    assert found.info["round"] == 0  # nothing is better than an exact map
    np.testing.assert_allclose(found.source_map, turn, atol=1e-5)


@pytest.mark.parametrize("ridge", [0.0, 2.5])
def test_least_squares_solves_the_normal_equations(ridge):
    r = np.random.RandomState(0)
    x, y = r.standard_normal((40, 7)), r.standard_normal((40, 3))
    found = procrustes.LeastSquares(ridge=ridge, preprocess=()).fit(x, y, diagonal(40))
    x, y = x.astype("f4").astype("f8"), y.astype("f4").astype("f8")
    expected = np.linalg.solve(x.T @ x + ridge * np.eye(7), x.T @ y)
    np.testing.assert_allclose(found.source_map, expected, atol=1e-6)
    residual = np.square(x @ expected - y).sum(1).mean()
    np.testing.assert_allclose(found.info["residual"], residual, rtol=1e-5)


def test_least_squares_recovers_any_linear_map():
    r = np.random.RandomState(0)
    x, shear = r.standard_normal((60, 7)), r.standard_normal((7, 4))
    found = procrustes.LeastSquares(preprocess=()).fit(x, x @ shear, diagonal(60))
    np.testing.assert_allclose(found.source_map, shear, atol=1e-5)


def test_least_squares_gives_no_weight_to_rounding():
    draw = np.random.default_rng(0)
    plane = draw.normal(size=(200, 3)) @ draw.normal(size=(3, 8))
    x = (plane + 5).astype(np.float32)  # eight columns of rank four, each with its own rounding
    y = draw.normal(size=(200, 8)).astype(np.float32)
    found = procrustes.LeastSquares(preprocess=()).fit(x, y, diagonal(200)).source_map
    assert np.abs(found).max() < 1


def test_least_squares_of_many_pairs_keeps_small_directions():
    x = np.random.default_rng(0).normal(size=(200_000, 2)).astype(np.float32) * np.float32(
        [1, 0.01]
    )
    found = procrustes.least_squares(x, x * np.float32([1, 100]))
    np.testing.assert_allclose(found, np.diag([1, 100]), atol=1e-3)


def test_least_squares_of_few_pairs_has_the_smallest_norm():
    r = np.random.RandomState(0)
    x, y = r.standard_normal((4, 9)), r.standard_normal((4, 9))
    np.testing.assert_allclose(procrustes.least_squares(x, y), np.linalg.pinv(x) @ y, atol=1e-10)


def test_negative_ridge_is_refused():
    x = anisotropic(20, 3)
    with pytest.raises(ValueError, match="ridge"):
        procrustes.LeastSquares(ridge=-1.0).fit(x, x, diagonal(20))
