"""Heads: recurrences against NumPy, masks, and the losses."""

import dataclasses
import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import crf, heads, labelling
from clwe_jax.models.lstm import BiLstm
from clwe_jax.models.transformer import EncoderLayer
from clwe_jax.options import models

ROWS, WORDS, DIM = 3, 5, 4
LENGTHS = np.array([5, 1, 3])
MASK = np.arange(WORDS) < LENGTHS[:, None]


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=(ROWS, WORDS, DIM)).astype(np.float32)


def params_of(init, *args, **kwargs):
    """The parameters of a module; its init is compiled as one program."""
    made = jax.jit(lambda: init(*args, **kwargs))
    return nn.meta.unbox(made()).get("params", {})


def applied(module, params, *args, **kwargs):
    """The result of a module, compiled as one program."""
    return jax.jit(lambda p: module.apply({"params": p}, *args, **kwargs))(params)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_direction(words, kernel, recurrent, bias):
    """The outputs of an LSTM over one row, step by step."""
    cell = output = np.zeros(kernel.shape[-1])
    found = []
    for word in words:
        i, j, f, o = (
            np.einsum("i,igc->gc", word, kernel) + np.einsum("i,igc->gc", output, recurrent) + bias
        )
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(j)
        output = sigmoid(o) * np.tanh(cell)
        found.append(output)
    return np.array(found)


def test_bilstm_is_that_of_numpy(x):
    module = BiLstm(cells=6, layers=2)
    params = params_of(module.init, jax.random.key(0), x, MASK)
    found = np.asarray(applied(module, params, x, MASK)[-1])
    for row, length in enumerate(LENGTHS):
        words = x[row, :length]
        for layer in range(2):
            kernel, recurrent, bias = (
                np.asarray(params[f"{name}_{layer}"]) for name in ("kernel", "recurrent", "bias")
            )
            forward = one_direction(words, kernel[0], recurrent[0], bias[0])
            backward = one_direction(words[::-1], kernel[1], recurrent[1], bias[1])[::-1]
            words = np.concatenate([forward, backward], 1)
        np.testing.assert_allclose(found[row, :length, 0], forward, atol=1e-5)
        np.testing.assert_allclose(found[row, :length, 1], backward, atol=1e-5)


def test_gradient_of_the_bilstm_is_that_of_differences(x):
    module = BiLstm(cells=3)
    params = params_of(module.init, jax.random.key(0), x, MASK)
    weigh = np.random.default_rng(1).normal(size=(ROWS, WORDS, 2, 3)) * MASK[..., None, None]

    @jax.jit
    def total(params):
        return (module.apply({"params": params}, x, MASK)[-1] * weigh).sum()

    found = jax.jit(jax.grad(total))(params)
    for name, values in params.items():
        place = (1, *(0 for _ in values.shape[1:]))
        step = 1e-2
        above, below = (
            float(total({**params, name: values.at[place].add(sign * step)})) for sign in (1, -1)
        )
        expected = (above - below) / (2 * step)
        assert float(found[name][place]) == pytest.approx(expected, rel=2e-2, abs=1e-3)


TAGGERS = {
    "linear": heads.Linear(models.LinearHead(), 3, True),
    "bilstm_crf": heads.BiLstmCrf(models.BiLstmCrfHead(cells=4), 3, True),
    "transformer_crf": heads.TransformerCrf(
        models.TransformerCrfHead(layers=1, width=8, mlp_dim=8), 3, True
    ),
}
CLASSIFIERS = {
    "linear": heads.Linear(models.LinearHead(), 3, False),
    "mean_mlp": heads.MeanMlp(models.MeanMlpHead(hidden=5), 3, False),
    "bilstm_max": heads.BiLstmMax(models.BiLstmMaxHead(cells=4, hidden=5), 3, False),
}


@pytest.mark.parametrize("name", TAGGERS)
def test_a_tagger_does_not_read_padding(name, x):
    model = labelling.Labelling(TAGGERS[name])
    gold = np.where(MASK, 1, -1)
    loss = labelling.Labelling.loss
    params = params_of(model.init, jax.random.key(1), [(x, MASK)], gold, False, method=loss)
    other = np.where(MASK[..., None], x, 7.0).astype(np.float32)
    for method, rest in ((loss, (gold, False)), (labelling.Labelling.best, ())):
        a, b = (applied(model, params, [(t, MASK)], *rest, method=method) for t in (x, other))
        a, b = (jax.tree.map(np.asarray, found) for found in (a, b))
        if method is not loss:
            a, b = (np.where(MASK, found, 0) for found in (a, b))
        jax.tree.map(lambda u, v: np.testing.assert_allclose(u, v, rtol=1e-5), a, b)


@pytest.mark.parametrize("name, count", [*itertools.product(CLASSIFIERS, [1, 2]), ("esim", 2)])
def test_a_classifier_does_not_read_padding(name, count, x):
    head = {**CLASSIFIERS, "esim": heads.Esim(models.EsimHead(cells=4, hidden=5), 3, False)}[name]
    texts = [(x, MASK), (x[::-1], MASK[::-1])][:count]
    params = params_of(head.init, jax.random.key(1), texts)
    other = [(np.where(m[..., None], t, 7.0).astype(np.float32), m) for t, m in texts]
    found = applied(head, params, texts)
    assert found.shape == (ROWS, 3)
    np.testing.assert_allclose(found, applied(head, params, other), rtol=1e-5)


def of_two(a, b):
    """What a classifier reads of two texts (Conneau et al. 2017): both, their distance, their product."""
    return np.concatenate([a, b, np.abs(a - b), a * b])


@pytest.mark.parametrize(
    "name, pool", [("linear", ""), ("mean_mlp", ""), *(("bilstm_max", x) for x in ("max", "mean"))]
)
def test_classifiers_are_those_of_numpy(name, pool, x):
    head = CLASSIFIERS[name]
    if pool:
        head = heads.BiLstmMax(models.BiLstmMaxHead(cells=4, hidden=5, pool=pool), 3, False)
    texts = [(x, MASK), (x[::-1], MASK[::-1])]
    rng = np.random.default_rng(2)
    params = jax.tree.map(
        lambda p: rng.normal(size=p.shape).astype(np.float32),
        params_of(head.init, jax.random.key(1), texts),
    )
    found = applied(head, params, texts)

    def vector(words):
        if not pool:
            return words.mean(0)
        states = applied(BiLstm(4), params["lstm"], words[None], np.ones((1, len(words)), bool))
        return getattr(np, pool)(np.asarray(states[-1]).reshape(-1, 8), 0)

    for row in range(ROWS):
        states = of_two(*(vector(words[row][mask[row]]) for words, mask in texts))
        if name != "linear":
            states = np.maximum(states @ params["hidden_kernel"] + params["hidden_bias"], 0)
        expected = states @ params["output_kernel"] + params["output_bias"]
        np.testing.assert_allclose(found[row], expected, atol=1e-4)


HEADS = [*TAGGERS.values(), *CLASSIFIERS.values()]


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.options.name)
def test_heads_drop_in_training_alone_and_by_their_own_rate(head, x):
    params = params_of(head.init, jax.random.key(1), [(x, MASK)])
    read = lambda head, train, seed=0: np.asarray(
        head.apply({"params": params}, [(x, MASK)], train, rngs={"dropout": jax.random.key(seed)})
    )
    plain = read(head, False)
    dropped = [read(head, True, seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(dropped[0], dropped[1])
    assert not np.allclose(dropped[0], dropped[2]) and not np.allclose(dropped[0], plain)
    rates = {
        field.name: 0.0 for field in dataclasses.fields(head.options) if "dropout" in field.name
    }
    without = head.clone(options=dataclasses.replace(head.options, **rates))
    np.testing.assert_allclose(read(without, True), plain, atol=1e-6)


def test_esim_is_that_of_chen_and_others(x):
    head = heads.Esim(models.EsimHead(cells=2, hidden=5), 3, False)
    texts = [(x, MASK), (x[::-1, :3], MASK[::-1, :3])]
    params = params_of(head.init, jax.random.key(1), texts)
    found = applied(head, params, texts)
    lstm = {name: BiLstm(2) for name in ("encode", "compose")}

    def read(name, words):
        mask = np.ones((1, len(words)), bool)
        return np.asarray(applied(lstm[name], params[name], words[None], mask)[-1]).reshape(-1, 4)

    def dense(x, name):
        return x @ params[f"{name}_kernel"] + params[f"{name}_bias"]

    for row in range(ROWS):
        a, b = (read("encode", words[row][mask[row]]) for words, mask in texts)
        pooled = []
        for own, other in ((a, b), (b, a)):
            composed = []
            for word in own:
                powers = np.exp(other @ word)
                near = (powers / powers.sum()) @ other
                composed.append(np.concatenate([word, near, word - near, word * near]))
            composed = read("compose", np.maximum(dense(np.array(composed), "reduce"), 0))
            pooled += [composed.mean(0), composed.max(0)]
        expected = dense(np.tanh(dense(np.concatenate(pooled), "hidden")), "output")
        np.testing.assert_allclose(found[row], expected, atol=1e-5)
    with pytest.raises(ValueError, match="'esim' compares two texts"):
        head.init(jax.random.key(1), texts[:1])


def test_a_transformer_tagger_is_projection_positions_layers_and_scores(x):
    sizes = models.TransformerCrfHead(layers=2, width=8, heads=2, mlp_dim=6)
    head = heads.TransformerCrf(sizes, 3, True)
    rng = np.random.default_rng(2)
    params = jax.tree.map(
        lambda p: rng.normal(size=p.shape).astype(np.float32),
        params_of(head.init, jax.random.key(1), [(x, MASK)]),
    )
    found = applied(head, params, [(x, MASK)])
    layer = EncoderLayer(2, 6, 0.0, "post", "xla", init_std=1.0, salt=0, epsilon=1e-12)
    # Sine and cosine of the place, divided by 10,000 ** (2 i / 8).
    angles = [[place / 10 ** (i // 2) for i in range(8)] for place in range(WORDS)]
    positions = np.where(np.arange(8) % 2, np.cos(angles), np.sin(angles))
    words = np.arange(WORDS) < LENGTHS[:, None, None]
    mask = (words & words.swapaxes(1, 2))[:, None]
    states = x @ params["input_kernel"] + params["input_bias"] + positions
    for name in ("layer_0", "layer_1"):
        states = np.asarray(applied(layer, params[name], states.astype(np.float32), mask, None))
    expected = states @ params["output_kernel"] + params["output_bias"]
    np.testing.assert_allclose(found[MASK], expected[MASK], atol=1e-4)


def test_an_edge_probe_is_that_of_tenney_and_others(x):
    """Projection, self-attentive pooling of each span by itself, tanh, layer normalisation."""
    head = heads.Edge(models.EdgeHead(width=4, hidden=5), 3, False)
    spans = [(x, MASK), (x[::-1, :3], MASK[::-1, :3])]
    rng = np.random.default_rng(2)
    params = jax.tree.map(
        lambda p: rng.normal(size=p.shape).astype(np.float32),
        params_of(head.init, jax.random.key(1), spans),
    )
    found = applied(head, params, spans)

    def dense(x, name):
        return x @ params[f"{name}_kernel"] + params[f"{name}_bias"]

    for row in range(ROWS):
        pooled = []
        for number, (words, mask) in enumerate(spans, 1):
            projected = dense(words[row][mask[row]], f"project_{number}")
            powers = np.exp(dense(projected, f"attend_{number}")[:, 0])
            pooled.append(sum(p * word for p, word in zip(powers, projected)) / powers.sum())
        hidden = np.tanh(dense(np.concatenate(pooled), "hidden"))
        hidden = (hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-5)
        hidden = hidden * params["norm"]["scale"] + params["norm"]["bias"]
        np.testing.assert_allclose(found[row], dense(hidden, "output"), atol=1e-4)


def test_the_loss_of_an_edge_probe_is_that_of_every_label_alone(x):
    head = heads.Edge(models.EdgeHead(width=4, hidden=5), 4, False)
    model, loss = labelling.Labelling(head), labelling.Labelling.loss
    empty = MASK.copy()
    empty[1] = False  # no word of this span is left
    spans = [(x, MASK), (x, empty)]
    gold = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [-1, -1, -1, -1]])
    params = params_of(model.init, jax.random.key(1), spans, gold, False, method=loss)
    scores = np.asarray(applied(model.head, params["head"], spans))
    found = applied(model, params, spans, gold, False, method=loss)["loss"]
    p = sigmoid(scores[0])
    expected = -(np.log(p[[0, 2]]).sum() + np.log(1 - p[[1, 3]]).sum())
    assert float(found.value) == pytest.approx(expected, rel=1e-5) and float(found.weight) == 4
    best = applied(model, params, spans, method=labelling.Labelling.best)
    np.testing.assert_array_equal(np.asarray(best)[[0, 2]], scores[[0, 2]] > 0)
    assert not best[1].any()


def test_a_text_without_words_has_finite_scores_and_gradients(x):
    head, empty = CLASSIFIERS["bilstm_max"], np.zeros_like(MASK)
    params = params_of(head.init, jax.random.key(1), [(x, MASK)])
    scores, gradient = jax.value_and_grad(lambda p: head.apply({"params": p}, [(x, empty)]).sum())(
        params
    )
    assert np.isfinite(scores) and all(np.isfinite(g).all() for g in jax.tree.leaves(gradient))


def test_labels_of_minus_one_do_not_count(x):
    model = labelling.Labelling(heads.Linear(models.LinearHead(), 3, True))
    gold = np.where(MASK, 2, -1)
    loss = labelling.Labelling.loss
    params = params_of(model.init, jax.random.key(1), [(x, MASK)], gold, False, method=loss)
    found = applied(model, params, [(x, MASK)], gold, False, method=loss)
    assert found["loss"].weight == MASK.sum() and found["accuracy"].weight == MASK.sum()


def test_a_later_part_of_a_sentence_may_begin_inside_a_name(x):
    tags = ("B-A", "I-A", "O")
    between, first = crf.bio_steps(tags)
    head = heads.Linear(models.LinearHead(ending="crf"), 3, True)
    strict = labelling.Labelling(head, (tuple(map(tuple, between.tolist())), tuple(first.tolist())))
    free = labelling.Labelling(head, (tuple(map(tuple, between.tolist())), (0.0, 0.0, 0.0)))
    texts, gold = [(x, MASK)], np.where(MASK, 1, -1)  # I-A everywhere
    loss, best = labelling.Labelling.loss, labelling.Labelling.best
    params = params_of(strict.init, jax.random.key(1), texts, gold, False, method=loss)
    params["head"]["output_bias"] = jnp.array([0.0, 9.0, 0.0])
    starts = np.zeros((ROWS, WORDS), np.int32)
    starts[0, 0] = 1
    labels = applied(strict, params, texts, starts, method=best)
    assert np.asarray(labels)[:, 0].tolist() == [0, 1, 1]
    assert applied(strict, params, texts, method=best)[:, 0].tolist() == [0, 0, 0]
    whole, part = (
        applied(model, params, [(x[rows], MASK[rows])], gold[rows], False, given, method=loss)
        for model, rows, given in ((free, slice(3), None), (strict, slice(1, 3), starts[1:]))
    )
    alone = applied(free, params, [(x[:1], MASK[:1])], gold[:1], False, method=loss)["loss"]
    assert float(part["loss"].value) == pytest.approx(
        float(whole["loss"].value - alone.value), rel=1e-4
    )


def test_locked_dropout_drops_the_same_dimensions_at_all_words():
    seed = jnp.array([1, 2], jnp.uint32)
    found = np.asarray(heads.locked_dropout(jnp.ones((4, 6, 50)), 0.5, seed, 0))
    assert (found == found[:, :1]).all() and 0 < (found == 0).mean() < 1
    assert found.max() == 2.0
    words = np.asarray(heads.drop_words(jnp.ones((40, 30, 2)), 0.2, seed, 0))
    assert (words.std(-1) == 0).all() and (words == 0).mean() == pytest.approx(0.2, abs=0.03)


SIZES = models.EmbedderOptions(width=6, cells=6, layers=2)
TABLE = np.array([[-1, -1, -1], [4, -1, -1], [1, 2, -1], [3, 1, 0]], np.int32)
IDS = np.array([[1, 2, 0], [3, 0, 0]], np.int32)


def gru_states(inputs, params):
    """The states of a GRU over inputs [n, D], step by step (Cho et al. 2014)."""

    def gate(name, x, state, reset=1.0):
        of_input, of_state = params[f"i{name}"], params[f"h{name}"]
        recurrent = state @ of_state["kernel"] + of_state.get("bias", 0.0)
        return x @ of_input["kernel"] + of_input["bias"] + reset * recurrent

    state = np.zeros(inputs.shape[1])
    states = []
    for x in inputs:
        reset, update = (sigmoid(gate(name, x, state)) for name in "rz")
        state = (1 - update) * np.tanh(gate("n", x, state, reset)) + update * state
        states.append(state)
    return np.array(states)


@pytest.mark.parametrize("kind", ["bow", "gru", "lstm"])
def test_embedders_read_the_pieces_of_real_words(kind):
    module = labelling.WordsOfPieces(SIZES, kind, vocab_size=5)
    rng = np.random.default_rng(1)
    params = jax.tree.map(
        lambda p: rng.normal(size=p.shape).astype(np.float32),
        params_of(module.init, jax.random.key(0), TABLE, IDS),
    )
    found = np.asarray(applied(module, params, TABLE, IDS))
    assert found.shape == (2, 3, 6)
    wider = np.concatenate([TABLE, np.full((4, 2), -1, np.int32)], 1)
    longer = np.concatenate([IDS, np.zeros((2, 1), np.int32)], 1)
    again = np.asarray(applied(module, params, wider, longer))[:, :3]
    np.testing.assert_allclose(found[IDS > 0], again[IDS > 0], atol=1e-6)
    embedding = np.asarray(params["embedding"])
    if kind == "bow":
        np.testing.assert_allclose(found[1, 0], embedding[[3, 1, 0]].mean(0), atol=1e-6)
    if kind == "gru":  # the maximum over the states of a word's pieces
        states = gru_states(embedding[[1, 2]], params["GRUCell_0"])
        np.testing.assert_allclose(found[0, 1], states.max(0), atol=1e-5)
    if kind == "lstm":  # of directions the larger, of layers a mix, of a word's pieces the maximum
        pieces, mask = embedding[[[4, 1, 2]]], np.ones((1, 3), bool)
        layers = [x[0].max(1) for x in applied(BiLstm(6, 2), params["lstm"], pieces, mask)]
        shares = np.exp(params["mix"]) / np.exp(params["mix"]).sum()
        mixed = params["mix_scale"] * (shares[0] * layers[0] + shares[1] * layers[1])
        np.testing.assert_allclose(found[0, 0], mixed[0], atol=1e-5)
        np.testing.assert_allclose(found[0, 1], mixed[1:].max(0), atol=1e-5)
        # A word's vector depends on the other words of its row
        neighbour = np.array([[1, 3, 0], [3, 0, 0]], np.int32)
        other = np.asarray(applied(module, params, TABLE, neighbour))
        assert abs(other[0, 0] - found[0, 0]).max() > 1e-4


@pytest.mark.parametrize("kind", ["bow", "gru", "lstm"])
def test_embedders_start_without_linear_algebra_of_several_members(kind):
    """jaxlib's batched QR waits for threads of the pool that it runs in: on two cores it hung."""
    module = labelling.WordsOfPieces(SIZES, kind, vocab_size=5)
    start = jax.vmap(lambda key: module.init(key, TABLE, IDS))
    keys = jax.random.split(jax.random.key(0), 3)
    assert "lapack" not in jax.jit(start).lower(keys).as_text()


def test_the_lstm_reads_every_piece_of_long_words():
    """Eight words of five pieces: a limit on the pieces of a row would leave words without any."""
    table = np.concatenate([np.full((1, 5), -1), np.arange(40).reshape(8, 5) % 9]).astype(np.int32)
    words = np.arange(1, 9, dtype=np.int32)[None]
    module = labelling.WordsOfPieces(SIZES, "lstm", vocab_size=9)
    params = params_of(module.init, jax.random.key(0), table, words)
    found = np.asarray(applied(module, params, table, words))
    assert np.abs(found).max(-1).min() > 0
    padded = np.pad(words, ((0, 0), (0, 8)))
    again = np.asarray(applied(module, params, table, padded))[:, :8]
    np.testing.assert_allclose(found, again, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_mix_of_layers_begins_as_their_mean_with_a_mean_square_of_one(layers):
    table = 0.01 * np.random.default_rng(0).normal(size=(4, layers, 5)).astype(np.float32)
    params = params_of(labelling.Mix().init, jax.random.key(0), table, IDS)
    params = {**params, "mix_scale": labelling.unit_scale(table)}
    found = labelling.Mix().apply({"params": params}, table, IDS)
    mean = table.mean(1)
    wanted = (mean / np.sqrt(np.mean(mean[1:] ** 2)))[IDS]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    other = labelling.Mix().apply({"params": params}, 2 * table, IDS)  # the scale is a parameter
    np.testing.assert_allclose(other, 2 * wanted, rtol=1e-5)
