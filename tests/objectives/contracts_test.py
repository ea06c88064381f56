"""The protocols of `types` on every objective: capabilities, batches, shapes; wrong ones fail."""

import dataclasses
import pathlib
import runpy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.contrastive import ContrastiveObjective
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.objectives.projected import Projected
from clwe_jax.options.models import TransformerOptions
from clwe_jax.training import partition
from clwe_jax.types import Encodes, Generates, HasSenses, Stateful

TOY = runpy.run_path(str(pathlib.Path(__file__).parent / "toy_words.py"))
ROWS, LENGTH = TOY["ROWS"], TOY["LENGTH"]
PROTOCOLS = (Stateful, Encodes, HasSenses, Generates)
SENSES = {Stateful, Encodes, HasSenses}


def mlm():
    sizes = TransformerOptions(layers=1, width=8, heads=2, mlp_dim=12)
    return MlmObjective(model=Transformer(sizes, 24, 2, LENGTH), vocab_size=21, max_predictions=3)


MAKERS = {
    "mlm": (mlm, {Encodes}),
    "sense_mlm": (TOY["sense_mlm"], SENSES),
    "bilm": (TOY["bilm"], SENSES),
    "context": (TOY["context"], SENSES),
    "contrastive": (lambda: ContrastiveObjective(mlm()), set()),
}


def capabilities(thing):
    return {protocol for protocol in PROTOCOLS if isinstance(thing, protocol)}


def check(objective):
    """Raises where an objective breaks a contract; shapes only, nothing is computed."""
    batch = objective.batch_shapes(ROWS, LENGTH)
    key = jax.eval_shape(jax.random.key, 0)
    variables = partition.unbox(jax.eval_shape(objective.init, key, batch))

    def loss(variables, batch, key):
        return objective.loss(variables, batch, step=0, rngs={"dropout": key}, train=True)

    sums, observed = jax.eval_shape(loss, variables, batch, key)
    assert sums["loss"].value.shape == sums["loss"].weight.shape == ()
    assert all(x.shape[0] == ROWS for x in jax.tree.leaves(observed))
    if isinstance(objective, Stateful):
        step = jax.ShapeDtypeStruct((), jnp.int32)

        def update(variables, observed, step):
            changed, copied = objective.update(variables, observed, step)
            params = copied(variables["params"]) if copied else variables["params"]
            assert changed.keys() < variables.keys() and "params" not in changed
            return {**variables, **changed, "params": params}

        after = jax.eval_shape(update, variables, observed, step)
        assert jax.tree.structure(after) == jax.tree.structure(variables)
        shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), each) for each in (after, variables)]
        assert shapes[0] == shapes[1]
    if isinstance(objective, Encodes):
        assert objective.max_length >= LENGTH
        hidden = jax.eval_shape(objective.encode, variables, batch)
        assert {x.shape for x in (hidden.last, *hidden.layers)} == {hidden.last.shape}
        assert hidden.last.shape[:2] == (ROWS, LENGTH)
    if isinstance(objective, HasSenses):
        assert objective.sense_input in ("own", "context")
        assert set(objective.directions) == set(variables["senses"])
        last = jax.eval_shape(objective.encode_for_senses, variables, batch).last
        for direction, part in objective.directions.items():
            width = len(range(last.shape[-1])[part])
            state = variables["senses"][direction]
            assert state.centers.shape[1:] == (objective.senses.slots, width)
            vectors = jax.eval_shape(
                lambda v, d=direction: objective.sense_vectors(v, d, np.array([5, 7])), variables
            )
            assert vectors.shape == (2, objective.senses.slots, width)


@pytest.mark.parametrize("name", MAKERS)
def test_an_objective_has_its_capabilities_and_keeps_the_contracts(name):
    make, expected = MAKERS[name]
    objective = make()
    assert capabilities(objective) == expected
    check(objective)


def wrong(**members):
    """A sense objective with other members; None takes one away."""

    class Wrong(type(TOY["bilm"]())):
        pass

    for name, member in members.items():
        setattr(Wrong, name, member)
    made = TOY["bilm"]()
    fields = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    return Wrong(**fields)


def fewer_rows(self, variables, observed, step):
    return {"rows": jax.tree.map(lambda x: x[:1], variables["rows"])}, None


def fewer_keys(self, rows, length):
    shapes = TOY["bilm"]().batch_shapes(rows, length)
    del shapes["characters"]
    return shapes


@pytest.mark.parametrize(
    "members",
    [
        dict(update=fewer_rows),
        dict(batch_shapes=fewer_keys),
        dict(encode_for_senses=lambda self, variables, batch: None),
        dict(directions={"forward": slice(0, 6), "backward": slice(6, 10)}),
        dict(sense_vectors=lambda self, variables, direction, ids: jnp.zeros((len(ids), 6))),
        dict(encode=lambda self, variables, batch: TOY["bilm"]().encode(variables, batch).last),
    ],
    ids=["update", "batch_shapes", "encode_for_senses", "slices", "sense_vectors", "encode"],
)
def test_a_wrong_implementation_is_found(members):
    with pytest.raises((AssertionError, KeyError, AttributeError)):
        check(wrong(**members))


def test_a_projection_encodes_and_does_nothing_else():
    base = TOY["bilm"]()
    projection = Projected(base, {1: np.zeros((3, 12, 12), np.float32)})
    assert capabilities(projection) == {Encodes} and projection.base is base
    assert not any(hasattr(projection, name) for name in ("loss", "init", "update", "directions"))
    batch = projection.batch_shapes(ROWS, LENGTH)
    assert batch == base.batch_shapes(ROWS, LENGTH) and projection.max_length == base.max_length
    zeros = {name: np.zeros(x.shape, x.dtype) for name, x in batch.items()}
    zeros["language_ids"] = TOY["languages"]()
    variables = partition.unbox(jax.jit(base.init)(jax.random.key(0), zeros))
    found, plain = (np.asarray(x.encode(variables, zeros).last) for x in (projection, base))
    own = zeros["language_ids"] == 1
    assert not found[own].any() and np.abs(plain[own]).max() > 0
    np.testing.assert_array_equal(found[~own], plain[~own])
