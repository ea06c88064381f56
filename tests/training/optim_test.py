"""Optimizers against their papers' equations in NumPy, and the schedules."""

import dataclasses

from flax.core import meta
import jax
import numpy as np
import optax
import pytest

from clwe_jax import options
from clwe_jax.models import lstm
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.training import GroupOptions
from clwe_jax.training import optim


def made(**values):
    """The optimizer of a config with these options."""
    return optim.from_config(
        options.with_values(PretrainRun(), {"optimizer": values}).optimizer, 16
    )


def tree(seed):
    r = np.random.RandomState(seed)
    shapes = {"dense": {"kernel": (3, 4), "bias": (4,)}, "norm": {"scale": (4,), "bias": (4,)}}
    make = lambda shape: r.standard_normal(shape).astype(np.float32)
    return jax.tree.map(make, shapes, is_leaf=lambda x: isinstance(x, tuple))


def steps(optimizer, params, gradients, total=10):
    tx = optimizer.build(total)
    state = tx.init(params)
    for gradient in gradients:
        updates, state = jax.jit(tx.update)(gradient, state, params)
        params = optax.apply_updates(params, updates)
    return params


def oracle(name, params, gradients, rate=0.1, decay=0.05, b1=0.9, b2=0.99, eps=1e-6):
    """Adam, AdamW and LAMB leaf by leaf, as their papers write them."""
    out = {}
    for path, x in params.items():
        m = v = 0.0
        excluded = path.endswith(("bias", "scale"))
        for t, gradient in enumerate(gradients, 1):
            g = gradient[path]
            m = b1 * m + (1 - b1) * g
            v = b2 * v + (1 - b2) * g * g
            update = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
            if name != "adam" and not excluded:
                update = update + decay * x
            if name == "lamb" and not excluded:
                update = update * np.linalg.norm(x) / np.linalg.norm(update)
            x = x - rate * update
        out[path] = x
    return out


def flat(tree):
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(p, simple=True, separator="/"): np.asarray(x) for p, x in leaves}


@pytest.mark.parametrize("name", ["adam", "adamw", "lamb"])
def test_equals_equations(name):
    """LAMB and AdamW: no decay (LAMB: no trust ratio either) on biases and norm scales."""
    optimizer = optim.Optimizer(
        name=name, learning_rate=0.1, schedule="constant", weight_decay=0.05, b2=0.99, clip=0
    )
    params, gradients = tree(0), [tree(1), tree(2), tree(3)]
    found = flat(steps(optimizer, params, gradients))
    expected = oracle(name, flat(params), [flat(gradient) for gradient in gradients])
    for path in expected:
        np.testing.assert_allclose(found[path], expected[path], rtol=2e-5, err_msg=path)


def test_lamb_handles_a_zero_parameter():
    """A kernel of zeros has no norm to scale by; it moves by the plain update."""
    params = jax.tree.map(np.zeros_like, tree(0))
    optimizer = optim.Optimizer(name="lamb", learning_rate=0.1, schedule="constant", clip=0)
    found = flat(steps(optimizer, params, [tree(1)]))
    np.testing.assert_allclose(np.abs(found["dense/kernel"]), 0.1, rtol=1e-3)


def test_lamb_scales_queries_keys_and_values_each_by_their_own_norms():
    """One array holds three of BERT's matrices."""
    r = np.random.RandomState(0)
    sizes = np.float32([1, 10, 0])[:, None, None]
    parts = [
        {"qkv"[i]: x for i, x in enumerate(r.randn(3, 4, 2, 3).astype(np.float32) * size)}
        for size in (sizes[..., None], np.float32(1), np.float32([5, 1, 2])[:, None, None, None])
    ]
    fused = [{"attention": {"qkv_kernel": np.stack(list(x.values()), 1)}} for x in parts]
    lamb = optim.Optimizer(name="lamb", learning_rate=0.1, clip=0)
    [found] = flat(steps(lamb, fused[0], fused[1:])).values()
    wanted = flat(steps(lamb, parts[0], parts[1:]))
    for number, name in enumerate("qkv"):
        np.testing.assert_allclose(found[:, number], wanted[name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", ["qkv_kernel", "pair_kernel"])
def test_lamb_scales_the_matrices_of_each_language_by_their_own_norms(name):
    """Of private layers one array holds those of all languages."""
    r = np.random.RandomState(0)
    values = r.randn(3, 2, 4, 2, 2, 3).astype(
        np.float32
    )  # [steps, languages, width, 2, heads, size]
    values[0] *= np.float32([1, 10])[:, None, None, None, None]
    lamb = optim.Optimizer(name="lamb", learning_rate=0.1, clip=0)

    def moved(arrays):
        [params, *gradients] = ({name: x} for x in arrays)
        return steps(lamb, params, gradients)[name]

    alone = [moved(values[:, language]) for language in range(2)]
    np.testing.assert_allclose(moved(values), alone, rtol=1e-5)
    one = [{"a": x[0, :, 0], "b": x[0, :, 1]} for x in values]
    wanted = steps(lamb, one[0], one[1:])
    np.testing.assert_allclose(alone[0], np.stack([wanted["a"], wanted["b"]], 1), rtol=1e-5)


def layers(seed):
    """A layer of a Transformer, a private one of two languages, and parameters that are no layers'."""
    r = np.random.RandomState(seed)
    draw = lambda *shape: r.standard_normal(shape).astype(np.float32)
    shared = {
        "attention": {"qkv_kernel": draw(4, 3, 2, 3), "out_kernel": draw(2, 3, 4)},
        "mlp": {"in_kernel": draw(4, 8), "in_bias": draw(8), "out_kernel": draw(8, 4)},
    }
    own = {
        "own": {"pair_kernel": draw(2, 4, 2, 2, 3), "query_kernel": draw(2, 4, 2, 3)},
        "cross": {"out_kernel": draw(2, 2, 3, 4)},
        "feed_forward": {"in_kernel": draw(2, 4, 8), "out_kernel": draw(2, 8, 4)},
    }
    return {"layer_0": own, "layer_1": shared, "table": draw(5, 4), "dense": {"kernel": draw(4, 4)}}


def matrices(path, x):
    """(place, inputs x outputs) of each matrix in a layer's kernel, () in any other parameter."""
    if not path.startswith("layer_") or path.endswith("bias"):
        return
    if path.startswith("layer_0"):
        for language in range(2):
            for place, matrix in matrices(path.replace("layer_0", "layer_1"), x[language]):
                yield (language, *place), matrix
    elif path.endswith(("qkv_kernel", "pair_kernel")):
        for number in range(x.shape[1]):
            yield (slice(None), number), x[:, number].reshape(len(x), -1)
    elif x.ndim == 2 or path.endswith("query_kernel"):
        yield (), x.reshape(len(x), -1)
    else:
        yield (), x.reshape(-1, x.shape[-1])


def newton_schulz(x):
    """Jordan 2024: five steps towards the nearest orthogonal matrix."""
    x = x / (np.linalg.norm(x) + 1e-8)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x


@pytest.mark.parametrize("own_rate", [0.1, 0.02])
def test_muon_equals_a_loop_over_single_matrices(own_rate):
    group = GroupOptions(pattern="layer_.*_kernel", learning_rate=own_rate)
    optimizer = optim.Optimizer(
        name="muon",
        learning_rate=0.1,
        schedule="constant",
        weight_decay=0.05,
        b2=0.99,
        clip=0,
        groups={} if own_rate == 0.1 else {"matrices": group},
    )
    params, gradients = layers(0), [layers(1), layers(2), layers(3)]
    found = flat(steps(optimizer, params, gradients))
    expected = oracle("adamw", flat(params), [flat(gradient) for gradient in gradients])
    moved = 0
    for path, start in flat(params).items():
        x, m = start.astype(np.float64), 0.0
        for t, gradient in enumerate(gradients, 1):
            g = flat(gradient)[path]
            m = 0.95 * m + 0.05 * g
            ahead = 0.95 * m / (1 - 0.95 ** (t + 1)) + 0.05 * g / (1 - 0.95**t)
            update = 0.05 * x
            for place, matrix in matrices(path, ahead):
                scale = max(1.0, matrix.shape[1] / matrix.shape[0]) ** 0.5
                part = update[place]
                update[place] = part + scale * newton_schulz(matrix).reshape(part.shape)
                moved += 1
            x = x - own_rate * update
        wanted = x if any(matrices(path, start)) else expected[path]
        np.testing.assert_allclose(found[path], wanted, rtol=1e-4, atol=1e-5, err_msg=path)
    assert moved == 3 * (6 + 2 * 6)


def test_lamb_moves_a_private_layer_as_each_language_alone():
    lamb = optim.Optimizer(name="lamb", learning_rate=0.1, clip=0)
    params, *gradients = (layers(seed)["layer_0"] for seed in range(3))
    params["feed_forward"]["in_kernel"][1] *= 10
    found = steps(lamb, params, gradients)
    for language in range(2):
        own, *slopes = (jax.tree.map(lambda x: x[language], y) for y in (params, *gradients))
        for path, x in flat(steps(lamb, own, slopes)).items():
            np.testing.assert_allclose(flat(found)[path][language], x, rtol=1e-5, err_msg=path)


def test_adagrad_equals_equations():
    params, gradients = tree(0), [tree(1), tree(2)]
    ada = optim.Optimizer(
        name="adagrad", learning_rate=0.1, schedule="constant", initial_accumulator=0.3, clip=0
    )
    p, (a, b) = flat(params), map(flat, gradients)
    for path, found in flat(steps(ada, params, gradients)).items():
        first = p[path] - 0.1 * a[path] / np.sqrt(0.3 + a[path] ** 2 + 1e-6)
        second = first - 0.1 * b[path] / np.sqrt(0.3 + a[path] ** 2 + b[path] ** 2 + 1e-6)
        np.testing.assert_allclose(found, second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("clip", [0.0, 0.5, 1e6])
def test_gradients_are_scaled_and_clipped_as_optax_does(clip, scale):
    gradient = tree(1)
    tx = optim.scale_and_clip(scale, clip)
    peers = optax.clip_by_global_norm(clip) if clip else optax.identity()
    wanted, _ = peers.update(jax.tree.map(lambda x: scale * x, gradient), peers.init(gradient))
    for known in ({}, {"norm": optax.tree.norm(gradient)}):  # who knows the norm may give it
        found, _ = tx.update(gradient, tx.init(gradient), gradient, **known)
        for path, x in flat(found).items():
            np.testing.assert_allclose(x, flat(wanted)[path], rtol=1e-5, err_msg=path)


@pytest.mark.parametrize(
    "schedule, at_half, at_end", [("linear", 0.5, 0.0), ("constant", 1.0, 1.0)]
)
def test_schedules(schedule, at_half, at_end):
    rate = optim.Optimizer(learning_rate=2.0, warmup_steps=10, schedule=schedule).rate(110)
    values = np.array([rate(step) for step in range(111)])
    np.testing.assert_allclose(values[:10], 2.0 * np.arange(1, 11) / 10, rtol=1e-6)
    assert values[10] == pytest.approx(2.0)
    assert values[60] == pytest.approx(2.0 * at_half, abs=2e-3)
    assert values[110] == pytest.approx(2.0 * at_end, abs=2e-3)
    assert (np.diff(values[10:]) <= 1e-6).all()


def test_final_share_and_long_warmup():
    rate = optim.Optimizer(learning_rate=1.0, final_share=0.1, schedule="linear").rate(100)
    assert float(rate(100)) == pytest.approx(0.1)
    rate = optim.Optimizer(learning_rate=1.0, warmup_steps=1000).rate(10)
    assert float(rate(9)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "spec, message",
    [
        (dict(name="lamp"), "config.optimizer.name='lamp': must be one of adam, adamw, lamb, muon"),
        (dict(schedule="lineal"), "config.optimizer.schedule='lineal': must be one of linear, "),
        (dict(lerning_rate=1.0), "no option 'lerning_rate'. Did you mean 'learning_rate'?"),
        (dict(clip=-1.0), "config.optimizer.clip=-1.0: must be at least 0"),
    ],
)
def test_wrong_options_are_answered(spec, message):
    with pytest.raises(ValueError) as error:
        made(**spec)
    assert message in str(error.value)


GROUPS = {
    "norms": GroupOptions(pattern="norm/.*", learning_rate=0.01, schedule="constant"),
    "biases": GroupOptions(pattern="dense/bias", frozen=True),
}


@pytest.mark.parametrize("name", ["adamw", "lamb", "adagrad"])
def test_a_group_is_the_optimizer_with_its_own_settings(name):
    """Each group's parameters move as if all had its settings."""
    whole = optim.Optimizer(name=name, learning_rate=0.1, clip=0, weight_decay=0.05)
    norms = dataclasses.replace(GROUPS["norms"], weight_decay=0.5, warmup_steps=2)
    gradients = [tree(1), tree(2), tree(3)]
    found = flat(steps(dataclasses.replace(whole, groups={"norms": norms}), tree(0), gradients))
    settings = dict(learning_rate=0.01, schedule="constant", weight_decay=0.5, warmup_steps=2)
    own = {
        "dense": flat(steps(whole, tree(0), gradients)),
        "norm": flat(steps(dataclasses.replace(whole, **settings), tree(0), gradients)),
    }
    for path, x in found.items():
        np.testing.assert_allclose(x, own[path.split("/")[0]][path], rtol=1e-6, err_msg=path)


def test_frozen_parameters_have_no_state():
    tx = optim.Optimizer(groups=GROUPS).build(10)
    names = [path for path, leaf in flat(tx.init(tree(0))).items() if np.ndim(leaf)]
    assert len(names) == 2 * 3 and not any("dense/bias" in name for name in names)


def test_biases_of_layers_are_no_matrices():
    """Those of a BiLstm, whose names end with the layer's number, were decayed."""
    model = lstm.BiLstm(cells=2, layers=2)
    params = model.init(jax.random.key(0), np.zeros((1, 3, 2), "f4"), np.ones((1, 3), bool))
    params = meta.unbox(params)["params"]
    found = flat(optim.is_matrix(params))
    assert {path for path, x in found.items() if not x} == {"bias_0", "bias_1"}
    assert len(found) == 6


def test_without_groups_the_chain_is_optax():
    """The same state, so that its checkpoints are the same."""
    optimizer = optim.Optimizer(name="adamw", learning_rate=0.1, clip=0.5)
    plain = optax.chain(
        optax.clip_by_global_norm(0.5),
        optax.scale_by_adam(0.9, 0.999, 1e-6),
        optax.add_decayed_weights(0.01, mask=optim.is_matrix),
        optax.scale_by_learning_rate(optimizer.rate(10)),
    )
    ours, theirs = optimizer.build(10).init(tree(0)), plain.init(tree(0))
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)


@pytest.mark.parametrize(
    "groups, message",
    [
        (
            {"a": {"pattern": "dens/.*"}},
            "groups.a.pattern='dens/.*' matches no parameter. Near: dense/",
        ),
        ({"a": {"pattern": "dense"}}, "matches no parameter"),  # a path is matched as a whole
        (
            {"a": {"pattern": "dense/.*"}, "b": {"pattern": ".*/bias"}},
            "'dense/.*' (a) and '.*/bias' (b) both match the parameter dense/bias",
        ),
        ({"a": {"pattern": "dense/("}}, "is not a regular expression"),
        ({"a": {"frozen": True}}, "config.optimizer.groups.a.pattern is missing"),
        ({"a": {"pattern": ".*", "lr": 1}}, "config.optimizer.groups.a has no option 'lr'"),
        (
            {"a": {"pattern": ".*", "learning_rate": -1.0}},
            "groups.a.learning_rate=-1.0: must be at least 0",
        ),
        ({"default": {"pattern": ".*"}}, "'default' is the name of the group of all"),
    ],
)
def test_wrong_groups_are_answered(groups, message):
    with pytest.raises(ValueError) as error:
        made(groups=groups).build(10).init(tree(0))
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["adam", "adamw", "lamb"])
def test_a_group_is_pulled_to_its_start(name):
    """The distance from the start takes the place of the parameter in AdamW's decay."""
    group = GroupOptions(pattern="dense/kernel", decay_to_start=3.0, learning_rate=0.05)
    optimizer = optim.Optimizer(
        name=name,
        learning_rate=0.1,
        schedule="constant",
        weight_decay=0.05,
        b2=0.99,
        clip=0,
        groups={"table": group},
    )
    params, gradients = tree(0), [tree(1), tree(2), tree(3)]
    found = flat(steps(optimizer, params, gradients))
    start = x = flat(params)["dense/kernel"]
    m = v = 0.0
    for t, gradient in enumerate(gradients, 1):
        g = flat(gradient)["dense/kernel"]
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        update = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-6) + 3.0 * (x - start)
        if name == "lamb":
            update = update * np.linalg.norm(x) / np.linalg.norm(update)
        x = x - 0.05 * update
    np.testing.assert_allclose(found["dense/kernel"], x, rtol=2e-5)
    plain = optimizer.for_group("default")
    np.testing.assert_allclose(
        found["dense/bias"], flat(steps(plain, params, gradients))["dense/bias"], rtol=2e-5
    )


def test_where_entries_are_copied_their_start_is_too():
    """Else a sense that inherits a word's vector would be pulled to its own random start."""
    group = dict(pattern="dense/kernel", decay_to_start=3.0)
    for given in (dict(decay_to_start=3.0), dict(groups=dict(table=group))):
        state = made(**given).build(10).init(tree(0))
        mapped = optim.map_param_trees(lambda x: jax.tree.map(lambda y: y + 7.0, x), state)
        shape = flat(tree(0))["dense/kernel"].shape
        before, after = (
            [np.asarray(x) for x in jax.tree.leaves(some) if x.shape == shape]
            for some in (state, mapped)
        )
        assert len(after) == 3  # both moments and the start
        for x, y in zip(before, after):
            np.testing.assert_array_equal(y, x + 7.0)


def test_the_state_of_muon_is_mapped():
    """One tree of momentum for layers' matrices, two of moments for the other three."""
    state = optim.Optimizer(name="muon").build(10).init(layers(0))
    mapped = optim.map_param_trees(lambda x: jax.tree.map(lambda y: y + 7.0, x), state)
    pairs = zip(jax.tree.leaves(state), jax.tree.leaves(mapped))
    assert sum(bool((before != after).all()) for before, after in pairs) == 9 + 2 * 3


def test_inverse_sqrt_falls_from_the_end_of_the_warmup():
    """fairseq's schedule: learning_rate * sqrt(warmup / step), whatever the run's length."""
    optimizer = optim.Optimizer(learning_rate=0.2, warmup_steps=4, schedule="inverse_sqrt")
    found = [float(optimizer.rate(100)(step)) for step in (0, 3, 15, 99)]
    np.testing.assert_allclose(found, [0.05, 0.2, 0.1, 0.04], rtol=1e-6)
