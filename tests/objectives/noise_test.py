"""Noise of denoising autoencoders against a plain loop, and what it never does."""

import jax
import numpy as np

from clwe_jax.objectives import noise

PAD, END, BLANK = 0, 3, 4
OPTIONS = dict(shuffle=3.0, drop=0.3, blank=0.4, blank_id=BLANK, end=END, pad=PAD)
IDS = np.array([[5, 6, 7, 8, 9, 10, END, PAD], [11, END, PAD, PAD, PAD, PAD, PAD, PAD]], np.int32)
WORDS = np.array([[0, 0, 1, 2, 3, 3, 4, 0], [0, 1, 0, 0, 0, 0, 0, 0]], np.int32)


def by_loop(ids, words, shift, drop, blank, options=OPTIONS):
    """One text: whole words are left out, blanked and sorted by their shifted places."""
    count = words[[x not in (PAD, END) for x in ids]].max() + 1
    kept = [w for w in range(count) if drop[w] >= options["drop"]] or [0]
    kept = sorted(kept, key=lambda w: w + np.float32(shift[w] * (options["shuffle"] + 1)))
    found = []
    for word in kept:
        pieces = [x for x, w in zip(ids, words) if w == word and x not in (PAD, END)]
        found += [BLANK if blank[word] < options["blank"] else x for x in pieces]
    return np.array([*found, END] + [PAD] * (len(ids) - len(found) - 1))


def test_noise_equals_a_loop_over_words():
    noised = jax.jit(lambda drawn: noise.add_noise(IDS, WORDS, drawn, **OPTIONS))
    seen = set()
    for seed in range(30):
        drawn = noise.draws(jax.random.key(seed), IDS.shape)
        found = np.asarray(noised(drawn))
        for row in range(2):
            expected = by_loop(IDS[row], WORDS[row], *(np.asarray(x[row]) for x in drawn))
            np.testing.assert_array_equal(found[row], expected)
        seen.add(tuple(found[0]))
    assert len(seen) > 20


def test_words_move_at_most_k_places_and_nothing_happens_at_rates_of_zero():
    count = 12
    ids = np.array([[*range(5, 5 + count), END]], np.int32)
    words = np.arange(count + 1, dtype=np.int32)[None]
    options = {**OPTIONS, "drop": 0.0, "blank": 0.0}
    noised = jax.jit(lambda d, k: noise.add_noise(ids, words, d, **{**options, "shuffle": k}))
    most = 0
    for seed in range(50):
        drawn = noise.draws(jax.random.key(seed), ids.shape)
        np.testing.assert_array_equal(noised(drawn, 0.0), ids)
        moved = np.abs(np.asarray(noised(drawn, 3.0))[0, :-1] - ids[0, :-1])
        most = max(most, moved.max())
    assert most == 3
