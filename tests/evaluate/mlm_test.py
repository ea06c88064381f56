"""Held-out figures: sums over batches by hand, and the real objective."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import registry
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.mlm import MlmEvaluator
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.types import Sums, piece_shapes


class Counting:
    """An objective whose sums are its batch's own numbers, scaled by a parameter."""

    def loss(self, variables, batch, *, step, rngs=None, train=True):
        assert train is False
        weight = batch["loss_weights"].sum()
        losses = batch["inputs"] * batch["loss_weights"]
        cross = (batch["loss_weights"] * batch["language_ids"]).sum()
        return {
            "loss": Sums(variables["scale"] * losses.sum(), weight),
            "accuracy": Sums((batch["targets"] * batch["loss_weights"]).sum(), weight),
            "cross_lingual_share": Sums(cross, weight),
            "cross_lingual_loss": Sums(3.0 * cross, cross),
            "padding": Sums(weight, weight),
        }, {}


def batch(inputs, weights, cross=0):
    shape = np.shape(inputs)
    arrays = {key: np.zeros(x.shape, x.dtype) for key, x in piece_shapes(*shape).items()}
    arrays["inputs"][:] = inputs
    arrays["targets"][:] = 1
    arrays["language_ids"][:] = cross
    arrays["loss_weights"][:] = weights
    return arrays


def run(batches, objective=Counting(), variables=None, step=0):
    context = Context(languages=tuple(batches), heldout=batches)
    evaluator = MlmEvaluator(every_steps=5, context=context)
    assert evaluator.every_steps == 5 and evaluator.has_data == bool(batches)
    variables = variables or {"scale": jnp.float32(0.5)}
    return dict(evaluator.run(ModelEncoder(objective, None, variables, step)))


def test_batches_of_uneven_weight_are_not_misweighted():
    found = run(
        {
            "en": [batch([[8, 2, 9]], [[1, 1, 0]]), batch([[4, 6, 1]], [[1, 1, 1]], cross=1)],
            "de": [batch([[1, 3, 5]], [[0, 0, 1]])],
            "fr": [batch([[1, 3, 5]], [[0, 0, 0]])],
        }
    )
    assert found["eval/mlm/en/loss"] == pytest.approx(0.5 * (8 + 2 + 4 + 6 + 1) / 5)
    assert found["eval/mlm/en/perplexity"] == pytest.approx(np.exp(0.5 * 21 / 5))
    assert found["eval/mlm/en/accuracy"] == 1
    assert found["eval/mlm/en/cross_lingual_share"] == pytest.approx(3 / 5)
    assert found["eval/mlm/en/cross_lingual_loss"] == pytest.approx(3.0)
    assert found["eval/mlm/de/loss"] == pytest.approx(2.5)
    # Nothing of another language was masked in German, and nothing at all in French.
    assert "eval/mlm/de/cross_lingual_loss" not in found
    assert not any("/fr/" in name or "padding" in name for name in found)
    assert found["eval/mlm/loss"] == pytest.approx((2.1 + 2.5) / 2)
    assert found["eval/mlm/perplexity"] == pytest.approx(np.exp((2.1 + 2.5) / 2))
    assert found["eval/mlm/cross_lingual_share"] == pytest.approx((3 / 5 + 0) / 2)


def test_a_hopeless_loss_does_not_stop_the_run():
    found = run({"en": [batch([[8]], [[1]])]}, variables={"scale": jnp.float32(1e4)})
    assert found["eval/mlm/en/loss"] == 8e4 and found["eval/mlm/en/perplexity"] == np.inf


def test_no_batches():
    assert run({}) == {}


def test_an_annealed_loss_is_that_of_the_models_step():
    class Annealed:
        traced = 0

        def loss(self, variables, batch, *, step, rngs=None, train=True):
            self.traced += 1
            return {"loss": Sums(variables["scale"] * step, jnp.float32(1))}, {}

    objective, batches = Annealed(), {"en": [batch([[8]], [[1]])]}
    found = [run(batches, objective, step=step)["eval/mlm/en/loss"] for step in (2, 6)]
    assert found == [1, 3]
    assert objective.traced <= 3  # shapes twice, and one program for all steps


def test_so_many_batches_as_the_option_says():
    one, two = batch([[8]], [[1]]), batch([[2]], [[1]])
    context = Context(languages=("en",), heldout={"en": [one, two]})
    model = ModelEncoder(Counting(), None, {"scale": jnp.float32(0.5)})
    found = dict(MlmEvaluator(batches=1, context=context).run(model))
    assert found["eval/mlm/en/loss"] == 4


def test_a_model_without_an_objective_is_refused():
    context = Context(languages=("en",), heldout={"en": [batch([[8]], [[1]])]})
    for name in ("mlm", "senses", "wsd"):
        evaluator = registry.lookup("evaluator", name)(context=context)
        with pytest.raises(ValueError, match=f"'{name}'.*StaticEncoder"):
            dict(evaluator.run(StaticEncoder(None, None)))


class Remembering:
    """An objective whose loss is the sum of all that its rows have read."""

    def __init__(self):
        self.traced = 0

    def loss(self, variables, batch, *, step, rngs=None, train=True):
        self.traced += bool(variables["rows"])  # not where shapes alone are asked for
        before = variables["rows"]["read"] if variables["rows"] else 0.0
        read = before + variables["scale"] * batch["inputs"].sum(1)
        return {"loss": Sums(read.sum(), jnp.float32(1))}, {"rows": {"read": read}}


@pytest.mark.parametrize("sharded", [False, True])
def test_rows_go_on_from_batch_to_batch_in_one_program(sharded):
    scale = jnp.float32(0.5)
    if sharded:  # as in training, on one device, too
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
        scale = jax.device_put(scale, jax.NamedSharding(mesh, jax.P()))
    batches = [batch([[8], [1]], 1), batch([[4], [2]], 1), batch([[2], [1]], 1)]
    objective = Remembering()
    found = run({"en": batches, "de": batches[1:]}, objective, {"scale": scale})
    assert found["eval/mlm/en/loss"] == pytest.approx((4.5 + 7.5 + 9) / 3)
    assert found["eval/mlm/de/loss"] == pytest.approx((3 + 4.5) / 2)
    assert objective.traced == 1


def test_the_real_objective():
    sizes = TransformerOptions(layers=1, width=8, heads=2, mlp_dim=8, dropout=0.5)
    model = Transformer(sizes, vocab_size=16, languages=2, max_length=6)
    objective = MlmObjective(model=model, vocab_size=16, max_predictions=4)
    r = np.random.RandomState(0)
    made = []
    for weights in ([1, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0]):
        one = batch(r.randint(5, 16, (2, 6)), np.tile(weights, (2, 1)))
        one["targets"] = r.randint(5, 16, (2, 6)).astype(np.int32)
        one["segment_ids"][:] = 1
        made.append(one)
    variables = jax.jit(objective.init)(jax.random.key(0), made[0])
    variables = jax.tree.map(lambda x: x + 0.1, variables)
    found = run({"en": made}, objective, variables)
    assert found == run({"en": made}, objective, variables)  # nothing is dropped out
    score = jax.jit(lambda one: objective.loss(variables, one, step=0, train=False)[0]["loss"])
    sums = [score(one) for one in made]
    expected = sum(float(s.value) for s in sums) / 12
    assert found["eval/mlm/en/loss"] == pytest.approx(expected, rel=1e-5)
