"""The chosen sense of a translation, against loops over all senses of all translations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.senses import projection, translation
from clwe_jax.models.senses import state as senses
from clwe_jax.options.senses import SenseOptions

V, D, LANGUAGES = 7, 6, 2
CONFIG = SenseOptions(senses=4, projected=3, queue=12, warmup_slot=False, translated_share=0.1)


def state_of(counts, enabled, seed=0):
    """A state after the warm-up with random centers."""
    r = np.random.RandomState(seed)
    state = senses.create(CONFIG, V, D, jax.random.key(seed), LANGUAGES)
    centers = jnp.array(r.randn(V, 4, D), jnp.float32)
    return state.replace(
        centers=centers,
        projected=projection.project(centers, state.projection),
        counts=jnp.array(counts, jnp.int32),
        enabled=jnp.array(enabled, bool),
        warm=jnp.array(False),
    )


@pytest.fixture
def given():
    """A state, translations [60, 3] into languages [60], and h."""
    r = np.random.RandomState(1)
    enabled = r.rand(V, 4) < 0.6
    enabled[:, 1] = True
    state = state_of(r.randint(0, 30, (V, 4, LANGUAGES)) * (r.rand(V, 4, 1) < 0.7), enabled)
    translations = np.full((60, 3), -1, np.int32)
    for row in translations:
        count = r.randint(0, 4)
        row[:count] = r.choice(V, count, replace=False)
    into = r.randint(0, LANGUAGES, 60)
    return state, translations, into, r.randn(60, D).astype(np.float32)


def cosine(a, b):
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def spoken(state, word, language):
    """The senses of a word that a language uses."""
    slots = np.flatnonzero(state.enabled[word])
    uses = np.array(state.counts)[word, slots, language]
    return slots[uses >= CONFIG.translated_share * uses.sum()]


def test_the_best_sense_of_all_of_all_translations(given):
    state, translations, into, h = given
    found = translation.choose(state, CONFIG, translations, into, h)
    word, sense, has = map(np.array, found)
    centers, p = np.array(state.centers), np.array(state.projection)
    for row in range(60):
        choices = [(v, s) for v in translations[row] if v >= 0 for s in spoken(state, v, into[row])]
        assert has[row] == bool(choices)
        expected = (0, 0)
        if choices:
            cosines = [cosine(centers[c] @ p, h[row] @ p) for c in choices]
            best = np.sort(cosines)[-2:]
            assert best[-1] - best[0] > 1e-5 or len(best) == 1  # no near tie
            expected = choices[int(np.argmax(cosines))]
        assert (word[row], sense[row]) == expected
    assert not has.all() and has.any()


def test_a_translation_has_the_senses_that_its_language_uses():
    counts, enabled = np.zeros((V, 4, LANGUAGES)), np.ones((V, 4))
    counts[0, :, 0], counts[0, :, 1] = [50, 0, 0, 9], [0, 90, 9, 1]
    counts[1, :, 1] = [0, 0, 3, 0]
    enabled[0, 1] = 0  # what was removed takes no share of the uses
    state = state_of(counts, enabled)
    translations, into = np.array([[0], [0], [1], [2]]), np.array([0, 1, 1, 0])
    # A word that the language did not use has all its senses there.
    expected = [[1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0], [1] * 4]
    for languages in (into, into[:, None]):
        h = np.ones((4, D), np.float32)
        fits = translation.cosines(state, CONFIG, translations, languages, h)
        np.testing.assert_array_equal(np.isfinite(fits[:, 0]), np.array(expected, bool))
