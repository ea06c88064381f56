"""Denoising and back-translation: both losses by hand, no gradient through translations."""

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import options
from clwe_jax.models.translator import Translator
from clwe_jax.objectives.translation import TranslationObjective
from clwe_jax.objectives.unsupervised import UnsupervisedTranslation
from clwe_jax.options.models import TranslatorOptions

SPECIALS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
MODEL = Translator(
    TranslatorOptions(
        layers=1, decoder_layers=1, width=4, heads=2, mlp_dim=6, dropout=0.0, shared_layers=0
    ),
    vocab_size=12,
    languages=2,
    max_length=6,
)
GIVEN = dict(model=MODEL, vocab_size=10, specials=SPECIALS)
BATCH = dict(
    inputs=np.array([[5, 6, 7, 3, 0], [8, 9, 3, 0, 0]], np.int32),
    words=np.array([[0, 1, 1, 2, 0], [0, 1, 2, 0, 0]], np.int32),
    language_ids=np.array([1, 0], np.int32),
)
WEIGHTS = ((0, 1.0), (10, 0.2), (30, 0.0))


def objective(**more):
    return UnsupervisedTranslation(**GIVEN, **{"denoising": WEIGHTS, **more})


@pytest.fixture(scope="module")
def variables():
    tree = nn.unbox(jax.eval_shape(objective().init, jax.random.key(0), BATCH))
    r = np.random.RandomState(3)
    # Of jax: `custom_vjp` has no rule for a NumPy array that a program holds as a constant.
    return jax.tree.map(lambda x: jnp.float32(r.standard_normal(x.shape)), tree)


def test_the_loss_is_of_the_noised_and_of_the_translated_text(variables):
    made, key = objective(), jax.random.key(5)
    noise_key, language_key, *_ = jax.random.split(key, 4)
    sums, observed = jax.jit(lambda v, step: made.loss(v, BATCH, step=step, rngs={"dropout": key}))(
        variables, 5
    )
    supervised = TranslationObjective(**GIVEN)

    languages = BATCH["language_ids"]

    def loss_of(inputs, source):
        batch = dict(
            inputs=inputs,
            targets=BATCH["inputs"],
            source_language_ids=source,
            language_ids=languages,
        )
        return supervised.loss(variables, batch, step=0, train=False)[0]["loss"].value

    wanted = dict(inputs=BATCH["inputs"], source_language_ids=languages, language_ids=1 - languages)
    written = supervised.decode(variables, wanted, length=5)
    found, others = made.translate_back(variables, BATCH, 5, language_key)
    np.testing.assert_array_equal(found, written)
    np.testing.assert_array_equal(others, 1 - languages)
    noised = loss_of(made.add_noise(BATCH, noise_key), languages)
    translated = loss_of(written, others)
    np.testing.assert_allclose(sums["denoising_loss"].value, noised, rtol=1e-5)
    np.testing.assert_allclose(sums["translation_loss"].value, translated, rtol=1e-5)
    np.testing.assert_allclose(sums["loss"].value, 0.6 * noised + translated, rtol=1e-5)
    assert sums["loss"].weight == 7 and sums["padding"].mean() == 0.3 and observed == {}
    shapes = made.batch_shapes(2, 5)
    assert {k: (x.shape, x.dtype) for k, x in shapes.items()} == {
        k: (x.shape, x.dtype) for k, x in BATCH.items()
    }


def test_a_rows_language_is_one_number_or_one_of_each_piece(variables):
    ids = np.array([[2, 5, 6, 3], [2, 8, 3, 0]], np.int32)
    found = [
        objective().encode(variables, {"inputs": ids, "language_ids": languages}).last
        for languages in (np.array([1, 0]), np.array([[1] * 4, [0] * 4]), np.array([0, 0]))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 0.01


def test_weights_are_linear_between_the_steps():
    found = [float(objective().denoising_weight(step)) for step in (0, 5, 10, 20, 30, 99)]
    np.testing.assert_allclose(found, [1.0, 0.6, 0.2, 0.1, 0.0, 0.0], atol=1e-6)


def test_translations_have_no_gradient(variables):
    """The gradient is that of the same texts with the translations as constants."""
    made, key = objective(denoising=((0, 0.0),)), jax.random.key(5)
    written, others = made.translate_back(variables, BATCH, 0, jax.random.split(key, 4)[1])
    batch = dict(
        inputs=written,
        targets=BATCH["inputs"],
        source_language_ids=others,
        language_ids=BATCH["language_ids"],
    )
    supervised = TranslationObjective(**GIVEN)
    ours = jax.grad(lambda v: made.loss(v, BATCH, step=0, rngs={"dropout": key})[0]["loss"].value)
    theirs = jax.grad(lambda v: supervised.loss(v, batch, step=0)[0]["loss"].value)
    for a, b in zip(*(jax.tree.leaves(jax.jit(x)(variables)) for x in (ours, theirs))):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
        assert jnp.isfinite(a).all()


def test_the_first_steps_denoise_alone(variables):
    made = objective(translate_after=4)
    run = jax.jit(lambda step: made.loss(variables, BATCH, step=step)[0])
    early, late = run(3), run(4)
    weight = float(made.denoising_weight(3))
    np.testing.assert_allclose(
        early["loss"].value, weight * early["denoising_loss"].value, rtol=1e-5
    )
    assert late["loss"].value > late["denoising_loss"].value
    for name in ("accuracy", "translation_loss", "written"):  # of texts that were only copied
        assert early[name].value == early[name].weight == 0 and late[name].weight == 7
    found, _ = made.translate_back(variables, BATCH, 3, jax.random.key(0))
    np.testing.assert_array_equal(found, BATCH["inputs"])


def test_faults_are_named():
    with pytest.raises(ValueError, match="denoising=.*ascending"):
        objective(denoising=((5, 1.0), (0, 0.1)))
    run = options.parse(
        {"objective": {"name": "unsupervised_translation"}, "data": {"languages": "en"}}
    )
    with pytest.raises(ValueError, match="--config.data.languages=en,de"):
        run.objective.check(run, "config.objective")
