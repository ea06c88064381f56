"""Which positions are scored, and that scoring them alone changes nothing."""

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models.mlm import MlmModel, choose_positions


def init(model, batch, spread):
    return spread(jax.jit(model.init, static_argnums=2)(jax.random.key(0), batch, 4))


def test_choose_positions_equals_loop():
    r = np.random.RandomState(0)
    weights = (r.rand(50, 12) < 0.3) * r.rand(50, 12)
    found = np.asarray(choose_positions(jnp.asarray(weights), 4))
    for row in range(50):
        chosen = np.flatnonzero(weights[row])[:4]
        for slot in range(4):
            expected = [chosen[slot]] if slot < len(chosen) else []
            assert np.flatnonzero(found[row, slot]).tolist() == expected


def test_gathered_scores_equal_dense_ones(make_batch, make_model, spread):
    """Scoring P positions gives the loss and gradients of scoring all and weighing."""
    model, batch = MlmModel(make_model(layers=1), 21), make_batch()
    variables = init(model, batch, spread)

    def nll(logits, targets):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)[..., 0]

    def gathered(variables):
        found = model.apply(variables, batch, 4)
        return (nll(found.logits, found.targets) * found.weights).sum()

    def dense(variables):
        hidden = model.apply(variables, batch, method="encode").last
        logits = model.apply(variables, hidden, batch["language_ids"], method="score")
        return (nll(logits, batch["targets"]) * batch["loss_weights"]).sum()

    ours, our_gradient = jax.jit(jax.value_and_grad(gathered))(variables)
    theirs, their_gradient = jax.jit(jax.value_and_grad(dense))(variables)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5),
        our_gradient,
        their_gradient,
    )


def test_slots_carry_their_position(make_batch, make_model, spread):
    model, batch = MlmModel(make_model(), 21), make_batch()
    found = model.apply(init(model, batch, spread), batch, 4)
    for row in range(3):
        chosen = np.flatnonzero(batch["loss_weights"][row])
        for field, key in (
            ("targets", "targets"),
            ("languages", "language_ids"),
            ("source_languages", "source_language_ids"),
            ("weights", "loss_weights"),
        ):
            slots = np.asarray(getattr(found, field))[row]
            np.testing.assert_array_equal(slots[: len(chosen)], batch[key][row, chosen])
        assert not np.asarray(found.weights)[row, len(chosen) :].any()
    assert float(found.left_out) == 0


def test_positions_beyond_the_slots_are_counted(make_batch, make_model, spread):
    model, batch = MlmModel(make_model(), 21), make_batch()
    found = model.apply(init(model, batch, spread), batch, 1)
    assert float(found.left_out) == batch["loss_weights"].sum() - 3 > 0


def test_padded_vocabulary_never_wins(make_batch, make_model, spread):
    """Ids beyond the real vocabulary have no probability, whatever their embedding and bias."""
    model, batch = MlmModel(make_model(), 21), make_batch()
    variables = init(model, batch, spread)
    head = variables["params"]["head"]
    head["output_bias"] = head["output_bias"] + 1e4 * (np.arange(23) >= 21)
    logits = model.apply(variables, batch, 4).logits
    assert np.asarray(logits).argmax(-1).max() < 21
    assert jax.nn.softmax(logits)[..., 21:].max() == 0


def test_output_embeddings_are_the_input_embeddings(make_batch, make_model, spread):
    """A piece that is never an input changes its own score only, and gets a gradient."""
    model, batch = MlmModel(make_model(), 21), make_batch()
    batch["inputs"][batch["inputs"] == 20] = 19
    variables = init(model, batch, spread)
    before = model.apply(variables, batch, 4).logits
    backbone = variables["params"]["backbone"]
    assert backbone["token_embedding"].shape == (23, 8)
    backbone["token_embedding"] = backbone["token_embedding"] + (np.arange(23) == 20)[:, None]
    changed = np.abs(model.apply(variables, batch, 4).logits - before).max((0, 1)) > 1e-6
    assert changed.tolist() == [piece == 20 for piece in range(23)]


def test_a_head_with_a_table_of_its_own(make_batch, make_model, spread):
    """The same values in both tables score as one tied table does."""
    batch = make_batch()
    tied, own = (MlmModel(make_model(layers=1), 21, tied) for tied in (True, False))
    variables = init(own, batch, spread)
    table = variables["params"]["backbone"]["token_embedding"]
    assert not np.allclose(variables["params"]["output_embedding"], table)
    variables["params"]["output_embedding"] = table
    shared = {"params": {k: v for k, v in variables["params"].items() if k != "output_embedding"}}
    wanted = tied.apply(shared, batch, 4).logits
    np.testing.assert_allclose(own.apply(variables, batch, 4).logits, wanted, rtol=1e-5)
    variables["params"]["output_embedding"] = 2 * table
    assert not np.allclose(own.apply(variables, batch, 4).logits, wanted)


def test_a_head_without_a_dense_layer(make_batch, make_model, spread):
    """XLM's head: the product with the table, and a bias; and the norm's epsilon of the other."""
    batch = make_batch()
    options = dict(condition_on_language=False, layers=1, epsilon=0.5)
    linear = MlmModel(make_model(**options), 21, dense=False)
    variables = init(linear, batch, spread)
    assert set(variables["params"]["head"]) == {"output_bias"}
    hidden = np.random.RandomState(0).standard_normal((2, 8)).astype(np.float32)
    score = dict(languages=np.array([0, 1]), method="score")
    table = np.asarray(variables["params"]["backbone"]["token_embedding"])
    wanted = hidden @ table.T + variables["params"]["head"]["output_bias"]
    found = linear.apply(variables, hidden, **score)
    np.testing.assert_allclose(found[:, :21], wanted[:, :21], atol=1e-5)

    dense = MlmModel(make_model(**options), 21)
    variables = init(dense, batch, spread)
    head = variables["params"]["head"]
    x = np.asarray(jax.nn.gelu(hidden @ head["kernel"] + head["bias"], approximate=False))
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.5)
    x = x * head["norm"]["scale"] + head["norm"]["bias"]
    wanted = x @ np.asarray(variables["params"]["backbone"]["token_embedding"]).T
    wanted += head["output_bias"]
    found = dense.apply(variables, hidden, **score)
    np.testing.assert_allclose(found[:, :21], wanted[:, :21], atol=1e-5)


def test_language_embedding_is_coupled(make_batch, make_model, spread):
    """One table serves the input and the head (D5): each alone gives it a gradient."""
    batch = make_batch()

    def gradient(**switches):
        model = MlmModel(make_model(layers=1, **switches), 21)
        variables = init(model, batch, spread)
        loss = lambda v: (model.apply(v, batch, 4).logits[..., :21] ** 2).sum()
        return jax.jit(jax.grad(loss))(variables)["params"]["backbone"]

    for switches in (dict(language_embeddings=False), dict(condition_on_language=False)):
        assert np.abs(gradient(**switches)["language_embedding"]).max() > 1e-3
    neither = gradient(language_embeddings=False, condition_on_language=False)
    assert "language_embedding" not in neither


def test_head_sees_the_target_language(make_batch, make_model, spread):
    """Only with conditioning do scores of one hidden state depend on the language."""
    hidden = np.random.RandomState(0).standard_normal((1, 8)).astype(np.float32)
    batch = make_batch()
    for condition in (True, False):
        model = MlmModel(make_model(condition_on_language=condition), 21)
        variables = init(model, batch, spread)
        kernel = variables["params"]["head"]["kernel"]
        assert kernel.shape == ((16, 8) if condition else (8, 8))
        scores = [
            model.apply(variables, hidden, np.array([language]), method="score")
            for language in (0, 1)
        ]
        assert np.allclose(*scores) != condition


def test_parameter_count(make_batch, make_model):
    """BERT's layers, three tables, two norms, and the head: no parameter more, none less."""
    model = MlmModel(make_model(), 21)
    shapes = jax.eval_shape(lambda key: model.init(key, make_batch(), 4), jax.random.key(0))
    found = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    d, f, v, languages, length = 8, 12, 23, 3, 10
    layer = (3 * d * d + 3 * d) + (d * d + d) + (d * f + f) + (f * d + d) + 4 * d
    head = (2 * d * d + d) + 2 * d + v
    assert found == 2 * layer + (v + languages + length) * d + 2 * d + head
