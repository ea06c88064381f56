"""The translating Transformer: its decoder against NumPy, piece by piece against the row."""

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.translator import Translator
from clwe_jax.options.models import TranslatorOptions

IDS = np.array([[5, 6, 7, 3], [8, 3, 0, 0]], np.int32)
BEFORE = np.array([[3, 9, 6], [3, 7, 5]], np.int32)
LANGUAGE = np.array([1, 0], np.int32)


def made(norm, shared=1, layers=1):
    options = TranslatorOptions(
        layers=layers,
        decoder_layers=2,
        width=4,
        heads=2,
        mlp_dim=6,
        dropout=0.0,
        norm=norm,
        shared_layers=shared,
    )
    model = Translator(options, vocab_size=12, languages=2, max_length=6)
    variables = jax.eval_shape(
        model.init, jax.random.key(0), IDS, IDS != 0, 1 - LANGUAGE, BEFORE, LANGUAGE
    )
    variables = nn.unbox(variables)
    r = np.random.RandomState(1)
    return model, jax.tree.map(lambda x: np.float32(r.standard_normal(x.shape)), variables)


@pytest.fixture(scope="module", params=["pre", "post"])
def either(request):
    return made(request.param)


def normalised(x, p):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * p["scale"] + p["bias"]


def attended(x, y, p, mask):
    """Attention of x [n, D] to y [m, D] within mask [n, m], head by head."""
    found = np.zeros_like(x)
    for head in range(2):
        q = x @ p["query_kernel"][:, head] + p["query_bias"][head]
        k, v = (y @ p["pair_kernel"][:, t, head] + p["pair_bias"][t, head] for t in range(2))
        scores = np.where(mask, q @ k.T / np.sqrt(2), -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        found += weights / weights.sum(-1, keepdims=True) @ v @ p["out_kernel"][head]
    return found + p["out_bias"]


def fed(x, p):
    y = x @ p["in_kernel"] + p["in_bias"]
    y = y * 0.5 * (1 + np.asarray(jax.lax.erf(np.float32(y / np.sqrt(2)))))
    return y @ p["out_kernel"] + p["out_bias"]


def test_scores_equal_numpy():
    model, variables = made("pre")
    p = variables["params"]
    memory = model.apply(variables, IDS, IDS != 0, method="read")
    found = model.apply(variables, memory, BEFORE, LANGUAGE, 10, method="scores")
    table = p["backbone"]["token_embedding"]
    for row in range(2):
        text = np.asarray(memory.hidden[row])[IDS[row] != 0]
        x = table[BEFORE[row]] + p["backbone"]["position_embedding"][:3]
        x = normalised(x + p["backbone"]["language_embedding"][LANGUAGE[row]], p["target_norm"])
        own = jax.tree.map(lambda x: x[LANGUAGE[row]], p["decoder_1"])  # each language has its own
        for layer in (p["decoder_0"], own):
            y = normalised(x, layer["norms_0"])
            x = x + attended(y, y, layer["own"], np.tril(np.ones((3, 3), bool)))
            y = normalised(x, layer["norms_1"])
            x = x + attended(y, text, layer["cross"], np.ones((3, len(text)), bool))
            x = x + fed(normalised(x, layer["norms_2"]), layer["feed_forward"])
        expected = normalised(x, p["final_norm"]) @ table.T + p["output_bias"][LANGUAGE[row]]
        np.testing.assert_allclose(found[row, :, :10], expected[:, :10], rtol=1e-4, atol=1e-4)
        assert (found[row, :, 10:] < -1e8).all()


def test_one_piece_at_a_time_equals_the_row(either):
    model, variables = either

    def whole(m):
        return m.scores(m.read(IDS, IDS != 0), BEFORE, LANGUAGE, 10)

    def single(m):
        state, found = m.first(m.read(IDS, IDS != 0), LANGUAGE, 5), []
        for place in range(3):
            scores, state = m.next(state, BEFORE[:, place], 10)
            found.append(scores)
        return jnp.stack(found, 1)

    row, pieces = (model.apply(variables, method=x) for x in (whole, single))
    np.testing.assert_allclose(pieces, row, rtol=1e-4, atol=1e-4)


def test_padding_is_not_read_and_every_language_has_its_own_scores(either):
    model, variables = either
    run = lambda ids, mask, language: model.apply(
        variables, ids, mask, 1 - language, BEFORE, language
    )
    found = run(IDS, IDS != 0, LANGUAGE)
    other = np.where(IDS == 0, 9, IDS)
    np.testing.assert_allclose(run(other, IDS != 0, LANGUAGE), found, rtol=1e-5, atol=1e-5)
    assert np.abs(run(IDS, IDS != 0, 1 - LANGUAGE) - found).max() > 0.1
    layers = model.apply(variables, IDS, IDS != 0, method="encode")
    vectors = model.apply(variables, layers, IDS != 0, method="sentence")
    assert len(layers) == 2
    np.testing.assert_allclose(vectors[1], layers[-1][1, :2].mean(0), rtol=1e-6)


def test_a_private_layer_is_its_languages_layer_alone():
    """Each row of a mixed batch equals a model whose private layers are all the row's language's."""
    model, variables = made("pre", shared=1, layers=2)
    p = variables["params"]
    shared, _ = made("pre", shared=2, layers=2)
    assert p["backbone"]["layer_0"]["mlp"]["in_bias"].shape == (2, 6)
    assert p["backbone"]["layer_1"]["mlp"]["in_bias"].shape == (6,)
    assert p["decoder_0"]["own"]["out_bias"].shape == (4,)
    assert p["decoder_1"]["own"]["out_bias"].shape == (2, 4)

    def of(source, target):
        take = lambda tree, language: jax.tree.map(lambda x: x[language], tree)
        backbone = {**p["backbone"], "layer_0": take(p["backbone"]["layer_0"], source)}
        return {"params": {**p, "backbone": backbone, "decoder_1": take(p["decoder_1"], target)}}

    target = np.array([1, 1], np.int32)
    found = model.apply(variables, IDS, IDS != 0, LANGUAGE, BEFORE, target)
    for row, source in enumerate(LANGUAGE):
        alone = shared.apply(of(source, 1), IDS, IDS != 0, LANGUAGE, BEFORE, target)
        np.testing.assert_allclose(found[row], alone[row], rtol=1e-4, atol=1e-5)
    assert np.abs(found[0] - alone[0]).max() > 0.01
