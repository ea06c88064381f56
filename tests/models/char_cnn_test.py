"""Words from characters: the convolutions against loops, the gradient against the automatic one."""

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import char_cnn

PAD = char_cnn.PADDING
SPANS = ((1, 3), (2, 2), (4, 5))
WIDEST, DIM, FEATURES = 4, 3, 10


def draw(*shape, seed=0):
    return np.float32(np.random.RandomState(seed + sum(shape)).standard_normal(shape))


def words(sizes, frame, seed=0):
    """int32 [U, frame]: words of the given numbers of characters, some with repeated ones."""
    r = np.random.RandomState(seed)
    table = np.full((len(sizes), frame), PAD, np.int32)
    for row, size in zip(table, sizes):
        row[:size] = r.randint(0, 5 if size % 2 else 260, size)
    return table


def kernel_of(seed=0):
    """[W, d, F], zero where a filter does not reach."""
    kernel = draw(WIDEST, DIM, FEATURES, seed=seed)
    sizes = np.repeat(*np.transpose(SPANS))
    return np.where(np.arange(WIDEST)[:, None, None] < sizes, kernel, 0)


def oracle(characters, embedding, kernel):
    """A loop over words, filters and places; and where each maximum is."""
    best = np.full((len(characters), FEATURES), -np.inf)
    where = np.zeros(best.shape, int)
    sizes = np.repeat(*np.transpose(SPANS))
    for u, f in np.ndindex(best.shape):
        for t in range(characters.shape[1] - sizes[f] + 1):
            score = sum(embedding[characters[u, t + k]] @ kernel[k, :, f] for k in range(sizes[f]))
            if score > best[u, f] + 1e-6:
                best[u, f], where[u, f] = score, t
    return best, where


@pytest.fixture
def small_groups(monkeypatch):
    """Groups of few words, with some choices of how many windows they have."""
    monkeypatch.setattr(char_cnn, "_GROUP_CPU", 4)
    monkeypatch.setattr(char_cnn, "_FEW_WINDOWS", (3, 5, 9))


CASES = {
    "all-choices": ([0, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 7, 8, 8, 9, 10, 13, 14], 14),
    "frame-filled": ([14, 3, 14, 2, 13, 12, 14], 14),
    "shorter-than-any-choice": ([5, 0, 3], 5),
}


@pytest.mark.parametrize("sizes, frame", CASES.values(), ids=CASES)
def test_equals_loops(sizes, frame, small_groups):
    order = np.random.RandomState(2).permutation(len(sizes))
    characters = words(np.array(sizes)[order], frame)
    embedding, kernel = draw(261, DIM), kernel_of()
    expected, where = oracle(characters, embedding, kernel)
    found = jax.jit(char_cnn.max_over_time, static_argnums=3)(characters, embedding, kernel, SPANS)
    np.testing.assert_allclose(found, expected, atol=1e-5)

    # The gradient: each maximum passes its own to the characters of its window.
    scale = draw(*expected.shape, seed=1)
    of_embedding, of_kernel = np.zeros(embedding.shape), np.zeros(kernel.shape)
    span = np.repeat(*np.transpose(SPANS))
    for u, f in np.ndindex(expected.shape):
        for k in range(span[f]):
            character = characters[u, where[u, f] + k]
            of_embedding[character] += scale[u, f] * kernel[k, :, f]
            of_kernel[k, :, f] += scale[u, f] * embedding[character]

    def loss(embedding, kernel):
        return (char_cnn.max_over_time(characters, embedding, kernel, SPANS) * scale).sum()

    found = jax.jit(jax.grad(loss, argnums=(0, 1)))(embedding, kernel)
    np.testing.assert_allclose(found[0], of_embedding, atol=2e-5)
    reached = np.arange(WIDEST)[:, None, None] < span
    np.testing.assert_allclose(np.where(reached, found[1], 0), of_kernel, atol=2e-5)


def make(**options):
    return char_cnn.CharCnn(**{**dict(width=4, dim=DIM, filters=SPANS), **options})


def test_all_of_it_equals_numpy(spread):
    model, characters = make(), words([3, 9, 1, 12, 6], 12)
    variables = spread(jax.jit(model.init)(jax.random.key(0), characters))
    p = variables["params"]
    kernel = np.concatenate(
        [np.pad(p[f"kernel_{n}"], ((0, WIDEST - n), (0, 0), (0, 0))) for n, _ in SPANS], -1
    )
    x = np.maximum(oracle(characters, p["embedding"], kernel)[0] + p["bias"], 0)
    for number in range(2):
        h = p[f"highway_{number}"]
        gate = 1 / (1 + np.exp(-(x @ h["kernel"][:, 0] + h["bias"][0])))
        x = gate * np.maximum(x @ h["kernel"][:, 1] + h["bias"][1], 0) + (1 - gate) * x
    expected = x @ p["projection"] + p["projection_bias"]
    np.testing.assert_allclose(jax.jit(model.apply)(variables, characters), expected, atol=1e-4)


def test_a_word_is_the_same_in_any_batch_and_frame(spread):
    model, characters = make(), words([3, 9, 1, 5, 6], 20)
    variables = spread(jax.jit(model.init)(jax.random.key(0), characters))
    apply = jax.jit(model.apply)
    together = apply(variables, characters)
    np.testing.assert_allclose(apply(variables, characters[1:2]), together[1:2], atol=1e-5)
    # A longer frame shows no window that a shorter one with room after the word did not.
    longer = np.pad(characters, ((0, 0), (0, 9)), constant_values=PAD)
    np.testing.assert_allclose(apply(variables, longer), together, atol=1e-5)


def test_at_first_highways_carry_what_they_read():
    variables = jax.jit(make().init)(jax.random.key(0), words([3], 12))
    params = nn.unbox(variables)["params"]
    for number in range(2):
        np.testing.assert_array_equal(
            params[f"highway_{number}"]["bias"], [[-2.0] * FEATURES, [0.0] * FEATURES]
        )


def test_half_precision_is_near(spread):
    characters = words([3, 9, 1, 12, 6], 12)
    variables = spread(jax.jit(make().init)(jax.random.key(0), characters))
    exact = make().apply(variables, characters)
    found = make(dtype="bfloat16").apply(variables, characters)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.float32(found), exact, atol=0.05 * np.abs(exact).max())


def test_filters_that_do_not_fit():
    with pytest.raises(ValueError, match="4 .*config.task.max_characters"):
        make().init(jax.random.key(0), words([2], 3))


def test_groups_are_those_of_the_devices_that_a_program_is_compiled_for():
    words = jax.ShapeDtypeStruct((3_000, 12), jnp.int32)
    for platform, size in (("cpu", char_cnn._GROUP_CPU), ("tpu", char_cnn._GROUP)):
        device = jax.sharding.AbstractDevice(f"a {platform}", 1, platform)
        mesh = jax.sharding.AbstractMesh((1,), ("data",), abstract_device=device)
        with jax.sharding.use_abstract_mesh(mesh):
            groups = jax.eval_shape(lambda x: char_cnn._group(x, 3)[0], words)
        assert groups.shape[1] == size
