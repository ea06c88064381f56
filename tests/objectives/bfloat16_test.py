"""Gradients in bfloat16 beside float32, of words and biases that a batch repeats 900 times."""

import dataclasses
import pathlib
import runpy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.bias import add_bias
from clwe_jax.models.heads import Linear
from clwe_jax.models.labelling import Labelling
from clwe_jax.models.laser import Laser
from clwe_jax.models.transformer import Transformer
from clwe_jax.models.translator import Translator
from clwe_jax.models.tuned import TunedModel
from clwe_jax.objectives.contrastive import COPY, ContrastiveObjective
from clwe_jax.objectives.labelling import LabellingObjective
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.objectives.translation import TranslationObjective
from clwe_jax.objectives.unsupervised import UnsupervisedTranslation
from clwe_jax.options.models import LaserOptions, LinearHead, TransformerOptions, TranslatorOptions
from clwe_jax.training import partition

TOY = runpy.run_path(str(pathlib.Path(__file__).parent / "toy_words.py"))
REPEATS, WIDTH = 900, 8
SPECIALS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
# Of equal rows; float32 and bfloat16 differ by rounding alone where sums are float32. A sum in bfloat16
# stops at 256 of 900: 70%.
TOLERANCE = 0.15


def transformer(dtype):
    options = TransformerOptions(
        layers=1, width=WIDTH, heads=2, mlp_dim=12, dropout=0.0, dtype=dtype, pooler=True
    )
    return Transformer(options, 24, 2, 6)


def mlm(dtype):
    return MlmObjective(model=transformer(dtype), vocab_size=21, max_predictions=3)


def tagger(dtype):
    head = Linear(LinearHead(dropout=0.0), labels=3, tags=True)
    return LabellingObjective(TunedModel(transformer(dtype), Labelling(head)))


def translation(dtype, kind=TranslationObjective, **more):
    options = TranslatorOptions(
        layers=1,
        decoder_layers=1,
        shared_layers=1,
        width=WIDTH,
        heads=2,
        mlp_dim=12,
        dropout=0.0,
        dtype=dtype,
    )
    return kind(model=Translator(options, 12, 2, 6), vocab_size=10, specials=SPECIALS, **more)


def laser(dtype):
    options = LaserOptions(
        width=4, cells=3, layers=1, decoder_cells=5, language_width=2, dropout=0.0, dtype=dtype
    )
    return TranslationObjective(model=Laser(options, 12, 3, 6), vocab_size=10, specials=SPECIALS)


def of_toy(name):
    def make(dtype):
        objective = TOY[name](senses=TOY["ONE"])
        inner = dataclasses.replace(objective.model.options, dtype=dtype)
        return dataclasses.replace(objective, model=objective.model.clone(options=inner))

    return make


MAKERS = {
    "mlm": mlm,
    "contrastive": lambda dtype: ContrastiveObjective(mlm(dtype)),
    "labels": tagger,
    "translator": translation,
    "unsupervised": lambda dtype: translation(
        dtype, UnsupervisedTranslation, denoising=((0, 1.0),), translate_after=9
    ),
    "laser": laser,
    "bilm": of_toy("bilm"),
    "context": of_toy("context"),
    "sense_mlm": of_toy("sense_mlm"),
}


def repeated(shapes):
    """A batch of equal rows."""
    values = {
        "inputs": [5, 6, 7, 8, 4, 9],
        "targets": [6, 7, 9, 8, 5, 3],
        "positions": [0, 1, 2, 3, 4, 5],
        "segment_ids": 1,
        "language_ids": 1,
        "source_language_ids": 0,
        "loss_weights": [0, 1, 0, 0, 1, 0],
        "words": [7, 8, 9, 10, 11, 12],
        "starts": [1, 0, 0, 0, 0, 0],
        "gold": [0, 1, 2, 1, 0, 0],
        "spelling": [1, 2, 3, 4, 5, 6],
        "reset": 0,
    }
    starts = ("target_", "weights_", "words_", "spelling_")

    def fill(name, shape):
        name = name.removeprefix(COPY)
        if name == "characters":
            return np.random.RandomState(7).randint(0, 260, shape.shape)
        if name.startswith(starts):
            name = {"target": "targets", "weights": "segment_ids"}.get(
                name.split("_")[0], name.split("_")[0]
            )
        value = np.asarray(values[name])
        return np.broadcast_to(value if len(shape.shape) > 1 else value.flat[0], shape.shape)

    return {name: np.array(fill(name, x), x.dtype) for name, x in shapes.items()}


def loss_and_params(name, dtype):
    """The loss as a function of the parameters, and the parameters, which do not depend on the type."""
    objective = MAKERS[name](dtype)
    batch = repeated(objective.batch_shapes(REPEATS, 6))
    if name == "contrastive":
        # Rows that are equal have no gradient.
        batch["inputs"] = np.random.RandomState(5).randint(5, 21, batch["inputs"].shape, np.int32)
    key = jax.random.key(1)
    shapes = partition.unbox(jax.eval_shape(objective.init, key, batch))
    r = np.random.RandomState(2)
    params = jax.tree.map(
        lambda x: np.float32(0.5 * r.standard_normal(x.shape)), shapes.pop("params")
    )
    others = shapes and partition.unbox(jax.jit(objective.init)(key, batch))

    def loss(params):
        variables = {**dict(others), "params": params}
        rngs = {"dropout": key}
        return objective.loss(variables, batch, step=0, rngs=rngs, train=True)[0]["loss"].value

    return loss, params


# The loss of contrast is of differences between vectors: their rounding hides that of the sums.
@pytest.mark.parametrize("name", [name for name in MAKERS if name != "contrastive"])
def test_gradients_in_bfloat16_are_near_those_of_float32(name):
    gradients = {}
    for dtype in ("float32", "bfloat16"):
        loss, params = loss_and_params(name, dtype)
        gradients[dtype] = jax.jit(jax.grad(loss))(params)
    whole = np.sqrt(sum(np.sum(np.square(x)) for x in jax.tree.leaves(gradients["float32"])))
    exact = jax.tree_util.tree_leaves_with_path(gradients["float32"])
    for (path, wanted), found in zip(exact, jax.tree.leaves(gradients["bfloat16"])):
        error = np.linalg.norm(np.float32(found) - wanted)
        # A gradient that is nearly zero is rounding alone.
        scale = max(np.linalg.norm(wanted), 0.02 * whole)
        assert error < TOLERANCE * scale, (jax.tree_util.keystr(path), error / scale)


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_long_is_summed_in_bfloat16(name):
    """XLA sums bfloat16 in float32 on a CPU, and not on a GPU: the program itself has to say it."""
    loss, params = loss_and_params(name, "bfloat16")
    sums = list(long_sums(jax.make_jaxpr(jax.grad(loss))(params).jaxpr))
    assert not sums, "\n".join(sums)


def is_program(thing):
    return hasattr(thing, "eqns") or hasattr(thing, "jaxpr")


def long_sums(jaxpr):
    """The sums of more than 256 numbers in bfloat16, in a program and those that it calls."""
    for equation in jaxpr.eqns:
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=is_program):
            if is_program(inner):
                yield from long_sums(getattr(inner, "jaxpr", inner))
        if equation.primitive.name not in ("reduce_sum", "scatter-add", "cumsum"):
            continue
        before, after = equation.invars[-1].aval, equation.outvars[0].aval
        if before.dtype == jnp.bfloat16 and before.size > 256 * after.size:
            yield f"{equation}: {before.shape} -> {after.shape}"


def test_a_bias_in_bfloat16_gets_the_sum_of_its_rows():
    r = np.random.RandomState(0)
    for shape, of_bias in (((900, 3), (3,)), ((2, 450, 4, 3), (2, 1, 4, 3)), ((5, 3), (1, 3))):
        x = jnp.asarray(r.standard_normal(shape), jnp.bfloat16)
        bias = jnp.asarray(r.standard_normal(of_bias), jnp.float32)
        found = add_bias(x, bias)
        np.testing.assert_array_equal(found, x + bias.astype(jnp.bfloat16))
        weight = jnp.asarray(r.uniform(1, 2, shape), jnp.bfloat16)
        of_x, of_b = jax.grad(lambda x, b: jnp.sum(add_bias(x, b) * weight), (0, 1))(x, bias)
        assert of_x.dtype == jnp.bfloat16 and of_b.dtype == jnp.float32
        wanted = np.float64(weight)
        axes = tuple(range(len(shape) - len(of_bias)))
        axes += tuple(k for k, n in enumerate(((1,) * len(axes)) + of_bias) if n == 1)
        wanted = wanted.sum(tuple(set(axes)), keepdims=True).reshape(of_bias)
        np.testing.assert_allclose(of_b, wanted, rtol=1e-5)
