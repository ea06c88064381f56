"""Sentence alignment of documents: the cheapest path by brute force, and planted merges and gaps."""

import functools

import numpy as np
import pytest

from clwe_jax.align import documents


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def windows(rows):
    """The vectors of every one, two and three neighbouring lines joined."""
    return [
        np.stack([rows[i : i + size].sum(0) for i in range(len(rows) - size + 1)])
        if len(rows) >= size
        else np.zeros((0, rows.shape[1]))
        for size in (1, 2, 3)
    ]


def cheapest(source, target, letters):
    """Cost and beads of the cheapest path, by recursion over all paths."""
    skip, ratio = documents._SKIP, letters[1].sum() / letters[0].sum()
    source, target = ([unit(x) if len(x) else x for x in side] for side in (source, target))
    rows, columns = len(source[0]), len(target[0])

    def cost(i, j, a, b):
        x, y = source[a - 1][i], target[b - 1][j]
        mean = [1 - x @ z for z in target[b - 1]], [1 - y @ z for z in source[a - 1]]
        apart = 2 * (1 - x @ y) / sum(map(np.mean, mean))
        longer = (ratio * letters[0][i : i + a].sum() + 5) / (letters[1][j : j + b].sum() + 5)
        return documents._BEADS[a, b] * (apart + documents._LENGTH * abs(np.log(longer)))

    @functools.cache
    def best(i, j):
        if (i, j) == (rows, columns):
            return 0.0, ()
        options = []
        if i < rows:
            options.append((skip + best(i + 1, j)[0], best(i + 1, j)[1]))
        if j < columns:
            options.append((skip + best(i, j + 1)[0], best(i, j + 1)[1]))
        for a, b in [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 2)]:
            if i + a <= rows and j + b <= columns:
                rest, beads = best(i + a, j + b)
                options.append((cost(i, j, a, b) + rest, ((i, a, j, b), *beads)))
        return min(options)

    return best(0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_the_path_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 7, size=2)
    common = rng.standard_normal((8, 6))
    # Near copies of the same lines, so that all kinds of beads are worth something.
    sides = [
        windows(common[np.sort(rng.choice(8, size))] + 0.4 * rng.standard_normal((size, 6)))
        for size in (rows, columns)
    ]
    letters = rng.integers(10, 60, rows), rng.integers(10, 60, columns)
    beads = documents.align(*sides, letters)
    _, expected = cheapest(*sides, letters)
    found = [(x.source.start, len(x.source), x.target.start, len(x.target)) for x in beads]
    assert found == list(expected)


def planted(count, seed=0, noise=0.3):
    """Two documents with merges and gaps, and the pairs of their lines: windows, windows, gold."""
    rng = np.random.default_rng(seed)
    units = rng.standard_normal((count, 32))
    sides, owners = [], []
    for _ in range(2):
        lines, owner, place = [], [], 0
        while place < count:
            size = int(rng.choice([1, 1, 1, 2]))
            if rng.random() > 0.05:  # else these units have no translation
                lines.append(units[place : place + size].sum(0))
                owner.append(range(place, min(place + size, count)))
            place += size
        lines = np.stack(lines)
        sides.append(windows(lines + noise * rng.standard_normal(lines.shape)))
        owners.append(owner)
    by_unit = {unit: i for i, owner in enumerate(owners[1]) for unit in owner}
    gold = {(i, by_unit[x]) for i, owner in enumerate(owners[0]) for x in owner if x in by_unit}
    return *sides, gold


def align(source, target):
    """The beads of lines that are equally long."""
    letters = tuple(np.full(len(side[0]), 50) for side in (source, target))
    return documents.align(source, target, letters)


def links(beads):
    return {(i, j) for bead in beads for i in bead.source for j in bead.target}


@pytest.mark.parametrize("count, bound", [(60, 1 << 18), (400, 1 << 8)])
def test_planted_merges_and_gaps(count, bound, monkeypatch):
    monkeypatch.setattr(documents, "_WHOLE", bound)  # the longer one is searched in a band
    source, target, gold = planted(count)
    beads = align(source, target)
    found = links(beads)
    assert len(found & gold) > 0.9 * max(len(found), len(gold))
    assert all(
        x.source.stop <= y.source.start and x.target.stop <= y.target.start
        for x, y in zip(beads, beads[1:])
    )
    assert np.mean([bead.score for bead in beads]) > 0.5


def test_a_long_insertion_is_crossed(monkeypatch):
    monkeypatch.setattr(documents, "_WHOLE", 1 << 8)
    rng = np.random.default_rng(0)
    lines = rng.standard_normal((150, 32))
    beads = align(windows(lines[:150]), windows(np.concatenate([lines[:40], lines[110:]])))
    found = links(beads)
    gold = {(i, i if i < 40 else i - 70) for i in [*range(40), *range(110, 150)]}
    assert len(found & gold) >= 78 and len(found) <= 90


def test_documents_of_a_line_and_of_none():
    one, none = windows(np.eye(4)[:1]), windows(np.zeros((0, 4)))
    assert align(one, none) == [] == align(none, one)
    other = windows(np.eye(4)[:1] + 0.1)
    assert len(align(one, other)) <= 1
