"""Generation against an enumeration of all texts of a tiny vocabulary."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import decode

WORDS, LENGTH, ROWS, WIDTH = 4, 3, 2, 5
MARKS = decode.Marks(begin=0, end=1, pad=0)


def recurrent(rng):
    """A decoder with an LSTM-like state; its scores depend on all preceding tokens and the row."""
    embed, mix, out = (
        jnp.asarray(rng.normal(size=shape), jnp.float32)
        for shape in ((WORDS, WIDTH), (WIDTH, WIDTH), (WIDTH, WORDS))
    )

    def step(state, tokens):
        state = jnp.tanh(state @ mix + embed[tokens])
        return 2 * state @ out, state

    return jax.jit(step), jnp.asarray(rng.normal(size=(ROWS, WIDTH)), jnp.float32)


def attending(rng):
    """A Transformer-like decoder: a cache of keys, and the number of tokens in it."""
    embed, out = (
        jnp.asarray(rng.normal(size=shape), jnp.float32)
        for shape in ((WORDS, WIDTH), (WIDTH, WORDS))
    )

    def step(state, tokens):
        keys, count = state
        now = embed[tokens]
        keys = jnp.where((jnp.arange(LENGTH) == count[:, None])[..., None], now[:, None], keys)
        scores = jnp.einsum("nd,nld->nl", now, keys)
        scores = jnp.where(jnp.arange(LENGTH) <= count[:, None], scores, -jnp.inf)
        read = jnp.einsum("nl,nld->nd", jax.nn.softmax(scores), keys)
        return 2 * read @ out + count[:, None] * out[0], (keys, count + 1)

    return jax.jit(step), (jnp.zeros((ROWS, LENGTH, WIDTH)), jnp.arange(ROWS) * 0)


def all_texts(step, state, row):
    """Every text of a row with its log-probability: {tokens: score}."""
    found = {}
    for text in itertools.product(range(WORDS), repeat=LENGTH):
        if MARKS.end in text:
            text = text[: text.index(MARKS.end) + 1]
        if text in found:
            continue
        now = jax.tree.map(lambda x: x[row : row + 1], state)
        last, total = MARKS.begin, 0.0
        for token in text:
            logits, now = step(now, jnp.array([last]))
            total += float(jax.nn.log_softmax(logits)[0, token])
            last = token
        found[text] = total
    return found


def text_of(tokens):
    """The generated text; tokens after the end must be padding."""
    tokens = tokens.tolist()
    if MARKS.end in tokens:
        end = tokens.index(MARKS.end) + 1
        assert set(tokens[end:]) <= {MARKS.pad}
        tokens = tokens[:end]
    return tuple(tokens)


@pytest.fixture(scope="module", params=[recurrent, attending])
def decoder(request):
    step, state = request.param(np.random.default_rng(4))
    return step, state, [all_texts(step, state, row) for row in range(ROWS)]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_wide_beam_is_exhaustive(decoder, penalty):
    step, state, texts = decoder
    search = jax.jit(lambda s: decode.beam(step, s, ROWS, LENGTH, MARKS, 48, penalty))
    found = search(state)
    for row in range(ROWS):
        ranked = {text: score / len(text) ** penalty for text, score in texts[row].items()}
        expected = sorted(ranked, key=ranked.get, reverse=True)
        real = [x for x in range(48) if found.scores[row, x] > -1e20]
        assert len(real) == len(expected)
        got = [text_of(found.tokens[row, x]) for x in real]
        assert got[:5] == expected[:5] and set(got) == set(expected)
        np.testing.assert_allclose(found.scores[row, 0], ranked[expected[0]], rtol=1e-5)


def test_greedy_equals_a_beam_of_one_and_a_walk(decoder):
    step, state, texts = decoder
    found = jax.jit(lambda s: decode.greedy(step, s, ROWS, LENGTH, MARKS))(state)
    one = jax.jit(lambda s: decode.beam(step, s, ROWS, LENGTH, MARKS, 1, 0.0))(state)
    np.testing.assert_array_equal(found.tokens, one.tokens[:, 0])
    np.testing.assert_allclose(found.scores, one.scores[:, 0], rtol=1e-5)
    for row in range(ROWS):
        text = text_of(found.tokens[row])
        np.testing.assert_allclose(found.scores[row], texts[row][text], rtol=1e-5)
        now = jax.tree.map(lambda x: x[row : row + 1], state)
        last = MARKS.begin
        for token in text:
            logits, now = step(now, jnp.array([last]))
            assert token == int(logits[0].argmax())
            last = token


def test_a_beam_without_texts_is_refused(decoder):
    step, state, _ = decoder
    with pytest.raises(ValueError, match="width=0"):
        decode.beam(step, state, ROWS, LENGTH, MARKS, width=0)
