"""RCSLS against NumPy, finite differences, and the steps of its authors' program."""

import numpy as np
import pytest

from clwe_jax.align import csls, rcsls


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def rotation(width, seed=1):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((width, width)))[0]


def noisy(count=70, width=6, noise=0.4, seed=0):
    """Unit vectors whose directions' variances differ, and their noisy rotation."""
    r = np.random.RandomState(seed)
    x = r.standard_normal((count, width)) * np.geomspace(1, 0.3, width)
    y = unit(x) @ rotation(width) + noise * r.standard_normal((count, width)) / width**0.5
    return unit(x), unit(y)


def diagonal(count):
    return np.stack([np.arange(count)] * 2, 1)


def numpy_loss(matrix, x, y, source, target, k):
    """The loss of Joulin et al. 2018, Eq. 6, word by word."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total -= 2 * (a @ matrix) @ b
        total += np.mean(sorted((a @ matrix) @ z for z in target)[-k:])
        total += np.mean(sorted((z @ matrix) @ b for z in source)[-k:])
    return total / len(x)


def nearest(products, k):
    """The k largest; the next one must not be within float32's rounding."""
    order = np.argsort(-products)
    assert len(order) == k or products[order[k - 1]] - products[order[k]] > 5e-5
    return order[:k]


def numpy_slope(matrix, x, y, source, target, k):
    slope = np.zeros_like(matrix)
    for a, b in zip(x, y, strict=True):
        near_target = target[nearest(target @ (a @ matrix), k)].mean(0)
        near_source = source[nearest(source @ matrix @ b, k)].mean(0)
        slope += np.outer(a, near_target - 2 * b) + np.outer(near_source, b)
    return slope / len(x)


def neighbours(source, target, k):
    return [rcsls.Neighbours(vectors.astype("f4"), k) for vectors in (source, target)]


@pytest.mark.parametrize("lengths", ["unit", "other"])
@pytest.mark.parametrize("k", [1, 10, 70])
def test_loss_and_gradient_equal_numpy(lengths, k):
    r = np.random.RandomState(0)
    source, target = noisy()
    if lengths == "other":
        source, target = (v * r.gamma(2, size=(70, 1)) for v in (source, target))
    matrix = r.standard_normal((6, 6))
    pairs = source[:25], target[:25]
    value, slope = rcsls.loss_and_gradient(
        matrix.astype("f4"), *(v.astype("f4") for v in pairs), *neighbours(source, target, k)
    )
    np.testing.assert_allclose(value, numpy_loss(matrix, *pairs, source, target, k), rtol=1e-5)
    np.testing.assert_allclose(
        slope, numpy_slope(matrix, *pairs, source, target, k), atol=2e-6, rtol=1e-5
    )


def test_gradient_equals_finite_differences():
    source, target = noisy()
    matrix = np.random.RandomState(3).standard_normal((6, 6))
    given = source[:20], target[:20], source, target, 5
    _, slope = rcsls.loss_and_gradient(
        matrix.astype("f4"), *(v.astype("f4") for v in given[:2]), *neighbours(source, target, 5)
    )
    step = 1e-6  # the loss is piecewise linear: small steps stay on one piece
    for place in np.ndindex(matrix.shape):
        nudge = np.zeros_like(matrix)
        nudge[place] = step
        rise = numpy_loss(matrix + nudge, *given) - numpy_loss(matrix - nudge, *given)
        np.testing.assert_allclose(slope[place], rise / (2 * step), atol=1e-5)


def numpy_descent(x, y, source, target, rate, iterations, k, spectral):
    left, _, right = np.linalg.svd(x.T @ y)
    matrix, lowest, losses, rates = left @ right, np.inf, [], []
    for _ in range(iterations + 1):
        losses.append(numpy_loss(matrix, x, y, source, target, k))
        rates.append(rate)
        slope = numpy_slope(matrix, x, y, source, target, k)
        matrix = matrix - rate * slope
        if spectral:
            left, values, right = np.linalg.svd(matrix)
            matrix = left @ np.diag(np.minimum(values, 1)) @ right
        if losses[-1] > lowest:
            rate /= 2
        else:
            lowest = losses[-1]
    return matrix, losses, rates


@pytest.mark.parametrize("rate, spectral", [(2.0, False), (30.0, True)])
def test_the_steps_are_the_authors(rate, spectral):
    source, target = noisy()
    found = rcsls.Rcsls(
        learning_rate=rate,
        iterations=6,
        neighbourhood=4,
        spectral=spectral,
        max_neighbours=50,
        preprocess=("unit",),
    ).fit(source, target, diagonal(40))
    matrix, losses, rates = numpy_descent(
        source[:40], target[:40], source[:50], target[:50], rate, 6, 4, spectral
    )
    np.testing.assert_allclose(found.info["loss"], losses, rtol=1e-4, atol=1e-5)
    assert found.info["learning_rate"] == rates
    np.testing.assert_allclose(found.source_map, matrix, atol=1e-4)
    assert rate < 30 or len(set(rates)) > 1  # a large rate was halved
    if spectral:
        assert np.linalg.norm(found.source_map, 2) < 1 + 1e-5


def test_ends_when_the_rate_has_become_tiny():
    source, target = noisy()
    found = rcsls.Rcsls(learning_rate=1e-5).fit(source, target, diagonal(40))
    assert found.info["loss"] == []
    np.testing.assert_allclose(found.source_map @ found.source_map.T, np.eye(6), atol=1e-5)


def test_translates_held_out_words_better_than_procrustes():
    # Vectors that a rotation does not relate: an anisotropic map, which Procrustes cannot follow.
    r = np.random.RandomState(0)
    source = r.standard_normal((1_500, 30))
    shear = rotation(30) @ np.diag(np.geomspace(3, 0.1, 30)) @ rotation(30, 2)
    target = source @ shear + 0.8 * r.standard_normal((1_500, 30))

    def right(**options):
        found = rcsls.Rcsls(**options).fit(source, target, diagonal(600))
        best, _ = csls.nearest(found.apply(source), found.apply_target(target), 1, "csls")
        return float((np.asarray(best)[600:, 0] == np.arange(600, 1_500)).mean())

    assert right(iterations=20, learning_rate=2.0) > right(learning_rate=0.0) + 0.05


def test_fewer_words_than_neighbours():
    source, target = noisy(8, 3)
    found = rcsls.Rcsls(neighbourhood=50, iterations=2).fit(source, target, diagonal(8))
    assert np.isfinite(found.source_map).all()


def test_cut_spectrum_is_the_nearest():
    r = np.random.RandomState(0)
    matrix = r.standard_normal((5, 7))
    cut = rcsls.cut_spectrum(matrix)
    np.testing.assert_allclose(np.linalg.norm(cut, 2), 1, rtol=1e-6)
    for _ in range(50):
        other = r.standard_normal((5, 7)) * 0.1 + cut
        other /= max(1, np.linalg.norm(other, 2))
        assert np.linalg.norm(other - matrix) > np.linalg.norm(cut - matrix)
    small = 0.1 * matrix / np.linalg.norm(matrix, 2)
    np.testing.assert_allclose(rcsls.cut_spectrum(small), small, atol=1e-7)
