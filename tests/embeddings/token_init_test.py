"""Start vectors of tokens against loops over words."""

import numpy as np
import pytest

from clwe_jax.embeddings import token_init

SIZE, DIM = 12, 6
# Token 3 is a word of two languages; tokens 5 and 6 occur inside words only; 9-11 nowhere.
CUTS = [[3], [4], [3], [7], [5, 6], [3, 5], [6, 6, 4], [8], [8, 5]]
HUB = [1, 1, 0, 1, 1, 0, 0, 0, 1]


def words(seed=0):
    r = np.random.default_rng(seed)
    return token_init.CutWords(
        vectors=token_init.unit_vectors(r.standard_normal((len(CUTS), DIM)), None),
        weights=r.integers(1, 50, len(CUTS)).astype(np.float64),
        tokens=np.concatenate([np.array(cut) for cut in CUTS]),
        splits=np.cumsum([0, *map(len, CUTS)]),
        languages=1 - np.array(HUB),
    )


def mean_by_loops(given):
    values, known = np.zeros((SIZE, DIM)), np.zeros(SIZE, bool)
    whole = np.zeros(SIZE, bool)
    for token in range(SIZE):
        rows = [n for n, cut in enumerate(CUTS) if cut == [token]]
        whole[token] = bool(rows)
        rows = rows or [n for n, cut in enumerate(CUTS) for piece in cut if piece == token]
        known[token] = bool(rows)
        if rows:
            weights = given.weights[rows]
            values[token] = (weights[:, None] * given.vectors[rows]).sum(0) / weights.sum()
    return values, known, whole


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_language_mean_is_taken_away_or_kept():
    vectors = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32) + 2
    for center in (True, False):
        mean = vectors.mean(0) if center else None
        for row, found in zip(vectors, token_init.unit_vectors(vectors, mean)):
            wanted = row - vectors.mean(0) if center else row
            np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), rtol=1e-5)


def test_the_mean_of_the_words_that_contain_a_token():
    given = words()
    wanted = mean_by_loops(given)
    found = token_init.mean_of_words(given, SIZE)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-6)
    np.testing.assert_array_equal(found[1], wanted[1])
    np.testing.assert_array_equal(found[2], wanted[2])
    assert wanted[1].sum() == 6 and wanted[2].sum() == 4


@pytest.mark.parametrize("neighbours", [2, 10])
def test_wechsel_mixes_the_nearest_words_of_the_hub(monkeypatch, neighbours):
    monkeypatch.setattr(token_init, "_NEIGHBOURS", neighbours)
    monkeypatch.setattr(token_init, "_ROWS", 4)
    given = words()
    values, known, _ = mean_by_loops(given)
    found = token_init.by_hub_words(values.astype(np.float32), known, given)
    anchors = given.vectors[np.array(HUB, bool)]
    for token in range(SIZE):
        if not known[token]:
            np.testing.assert_array_equal(found[token], 0)
            continue
        near = sorted(((cosine(values[token], x), x) for x in anchors), key=lambda item: -item[0])
        near = near[:neighbours]
        shares = [np.exp(score / 0.1) for score, _ in near]
        wanted = sum(share * x for share, (_, x) in zip(shares, near)) / sum(shares)
        np.testing.assert_allclose(found[token], wanted, atol=1e-5)


def test_focus_mixes_the_whole_words():
    given = words()
    values, known, whole = mean_by_loops(given)
    found = token_init.by_whole_words(values.astype(np.float32), known, whole)
    anchors = values[whole]
    for token in range(SIZE):
        if whole[token] or not known[token]:
            np.testing.assert_allclose(found[token], values[token], atol=1e-6)
            continue
        scores = np.array([cosine(values[token], x) for x in anchors])
        np.testing.assert_allclose(found[token], sparsemax_by_sorting(scores) @ anchors, atol=1e-5)


def sparsemax_by_sorting(scores):
    """Algorithm 1 of Martins & Astudillo."""
    ordered = np.sort(scores)[::-1]
    sums = np.cumsum(ordered)
    ranks = np.arange(1, len(scores) + 1)
    count = ranks[1 + ranks * ordered > sums].max()
    return np.maximum(scores - (sums[count - 1] - 1) / count, 0)


def test_the_shares_of_the_languages():
    given = words()
    found = token_init.language_shares(given, SIZE)
    for token in range(SIZE):
        counts = [0.0, 0.0]
        for cut, hub, weight in zip(CUTS, HUB, given.weights):
            counts[1 - hub] += cut.count(token) * weight
        total = sum(counts)
        np.testing.assert_allclose(found[token], [x / total if total else 0 for x in counts])


def test_sparsemax():
    scores = np.random.default_rng(3).uniform(-1, 1, (50, 30))
    found = token_init.sparsemax(scores)
    for row, wanted in zip(found, scores):
        np.testing.assert_allclose(row, sparsemax_by_sorting(wanted), atol=1e-12)
    assert (found == 0).any() and np.allclose(found.sum(1), 1)


def test_subword_vectors_where_there_are_some():
    given = words()
    own = np.zeros((SIZE, DIM), np.float32)
    own[[5, 9]] = np.random.default_rng(4).standard_normal((2, DIM))
    found, known = token_init.token_vectors("subword", given, SIZE, DIM, subwords=own)
    plain, _ = token_init.token_vectors("mean", given, SIZE, DIM)
    assert known[9] and known.sum() == 7
    np.testing.assert_allclose(found[3], plain[3], atol=1e-6)
    # A rotation keeps cosines.
    assert cosine(found[5], found[9]) == pytest.approx(cosine(own[5], own[9]), abs=1e-5)
    with pytest.raises(ValueError, match="config.init.method='subword' needs"):
        token_init.token_vectors("subword", given, SIZE, DIM)


@pytest.mark.parametrize("width", [4, 6, 16])
def test_into_the_width(width):
    values, known, _ = token_init.mean_of_words(words(), SIZE)
    found = token_init.into_width(values, known, width, seed=0)
    assert found.shape == (SIZE, width) and found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found[known], axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(found[~known], 0)
    units = values[known] / np.linalg.norm(values[known], axis=1, keepdims=True)
    if width >= DIM:
        np.testing.assert_allclose(found[known] @ found[known].T, units @ units.T, atol=1e-5)
    else:
        # The best approximation of rank `width`, rows scaled to unit length.
        u, s, v = np.linalg.svd(values[known].astype(np.float64), full_matrices=False)
        best = u[:, :width] * s[:width]
        best /= np.linalg.norm(best, axis=1, keepdims=True)
        np.testing.assert_allclose(found[known] @ found[known].T, best @ best.T, atol=1e-4)
    assert not np.array_equal(found, token_init.into_width(values, known, width, seed=1))


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="config.init.method='men': one of mean, wechsel"):
        token_init.token_vectors("men", words(), SIZE, DIM)
