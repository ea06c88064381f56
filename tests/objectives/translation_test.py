"""The loss of translations against NumPy, and what the model writes."""

import itertools

from flax import linen as nn
import jax
import numpy as np
import pytest

from clwe_jax.models.laser import Laser
from clwe_jax.models.translator import Translator
from clwe_jax.objectives.translation import TranslationObjective
from clwe_jax.options.models import LaserOptions, TranslatorOptions
from clwe_jax.types import Encodes, Generates

SPECIALS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}


@pytest.fixture(scope="module")
def objective():
    options = LaserOptions(
        width=4, cells=3, layers=1, decoder_cells=5, language_width=2, dropout=0.0
    )
    model = Laser(options, vocab_size=12, languages=3, max_length=6)
    return TranslationObjective(model=model, vocab_size=10, specials=SPECIALS)


BATCH = dict(
    inputs=np.array([[5, 6, 7, 3, 0], [8, 3, 0, 0, 0]], np.int32),
    targets=np.array([[9, 3, 0, 0, 0], [6, 7, 8, 3, 0]], np.int32),
    source_language_ids=np.array([0, 1], np.int32),
    language_ids=np.array([2, 0], np.int32),
)


@pytest.fixture(scope="module")
def variables(objective):
    tree = nn.unbox(jax.eval_shape(objective.init, jax.random.key(0), BATCH))
    r = np.random.RandomState(3)
    return jax.tree.map(lambda x: np.float32(r.standard_normal(x.shape)), tree)


def logits(objective, variables, targets):
    """The scores of the row's places, the preceding pieces given."""
    before = np.concatenate([np.full((2, 1), 3), targets[:, :-1]], 1)

    def run(model):
        mask = BATCH["inputs"] != 0
        sentence = model.sentence(model.encode(BATCH["inputs"], mask), mask)
        return model.logits(model.states(sentence, before, BATCH["language_ids"]), 10)

    return np.asarray(objective.model.apply(variables, method=run), np.float64)


def test_loss_equals_numpy(objective, variables):
    assert isinstance(objective, Generates) and isinstance(objective, Encodes)
    shapes = objective.batch_shapes(2, 5)
    assert {k: (x.shape, x.dtype) for k, x in shapes.items()} == {
        k: (x.shape, x.dtype) for k, x in BATCH.items()
    }
    sums, observed = objective.loss(variables, BATCH, step=0, train=False)
    found = logits(objective, variables, BATCH["targets"])
    log_p = found - np.log(np.exp(found).sum(-1, keepdims=True))
    real = BATCH["targets"] != 0
    chosen = np.take_along_axis(log_p, BATCH["targets"][..., None].astype(int), -1)[..., 0]
    np.testing.assert_allclose(sums["loss"].value, -chosen[real].sum(), rtol=1e-5)
    right = (found.argmax(-1) == BATCH["targets"])[real].sum()
    assert sums["loss"].weight == 6 and sums["accuracy"].value == right
    assert sums["padding"].mean() == 0.4 and observed == {}


def test_greedy_translation_is_the_most_probable_piece_and_never_special(objective, variables):
    written = np.asarray(jax.jit(objective.decode)(variables, BATCH))
    assert written.shape == (2, 6) and not set(written[:, 0]) & {0, 2, 4, 10, 11}
    scores = logits(objective, variables, written)
    scores[..., [0, 2, 4]] = -np.inf
    for row in range(2):
        length = next((x for x in range(6) if written[row, x] == 3), 5) + 1
        np.testing.assert_array_equal(scores[row, :length].argmax(-1), written[row, :length])
        assert not written[row, length:].any()
    wide = jax.jit(lambda v, b: objective.decode(v, b, width=2, length=4))(variables, BATCH)
    assert wide.shape == (2, 4)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_wide_beam_finds_the_best_of_all_texts(kind):
    """Three pieces and the end, at most three positions: 40 texts, each scored by the whole row."""
    rows = dict(vocab_size=8, languages=3, max_length=6)
    sizes = dict(width=4, layers=1, dropout=0.0)
    model = Laser(LaserOptions(**sizes, cells=3, decoder_cells=5, language_width=2), **rows)
    if kind == "transformer":
        options = TranslatorOptions(**sizes, decoder_layers=2, shared_layers=1, heads=2, mlp_dim=6)
        model = Translator(options, **rows)
    objective = TranslationObjective(model=model, vocab_size=7, specials=SPECIALS)
    batch = {**BATCH, "inputs": np.array([[5, 6, 1, 3, 0], [6, 3, 0, 0, 0]], np.int32)}
    tree = nn.unbox(jax.eval_shape(objective.init, jax.random.key(0), batch))
    r = np.random.RandomState(7)
    variables = jax.tree.map(lambda x: np.float32(r.standard_normal(x.shape)), tree)
    texts = [(*text, 3)[:3] for n in range(4) for text in itertools.product((1, 5, 6), repeat=n)]
    assert len(set(texts)) == 40
    rows = np.zeros((40, 3), int)
    for row, text in zip(rows, texts):
        row[: len(text)] = text
    before = np.pad(rows[:, :-1], ((0, 0), (1, 0)), constant_values=3)
    decode = jax.jit(objective.decode, static_argnames=("width", "length"))
    written = {x: decode(variables, batch, width=40, penalty=x, length=3) for x in (0.0, 1.0)}
    for row in range(2):
        one = {name: np.repeat(x[row : row + 1], 40, 0) for name, x in batch.items()}

        def run(model):
            ids = one["inputs"]
            read = model.read(ids, ids != 0, one["source_language_ids"])
            return model.scores(read, before, one["language_ids"], 7)

        found = np.array(jax.jit(lambda v: model.apply(v, method=run))(variables), np.float64)
        found[..., [0, 2, 4]] = -np.inf
        found -= np.log(np.exp(found).sum(-1, keepdims=True))
        chosen = np.where(rows == 0, 0, np.take_along_axis(found, rows[..., None], -1)[..., 0])
        for penalty, best in written.items():
            scores = chosen.sum(1) / (rows != 0).sum(1) ** penalty
            np.testing.assert_array_equal(best[row], rows[scores.argmax()])


def test_vectors_do_not_read_the_begin(objective, variables):
    batch = {"inputs": np.array([[2, 5, 6, 3, 0]], np.int32)}
    other = {"inputs": np.array([[7, 5, 6, 3, 0]], np.int32)}
    hidden = objective.encode(variables, batch)
    assert [x.shape for x in hidden.layers] == [(1, 5, 6)] * 2
    assert (
        not np.asarray(hidden.layers[0])[..., 4:].any() and not np.asarray(hidden.last)[:, 0].any()
    )
    vectors = objective.sentence_vectors(variables, batch)
    np.testing.assert_array_equal(vectors, objective.sentence_vectors(variables, other))
    np.testing.assert_allclose(vectors[0], np.asarray(hidden.last)[0, 1:4].max(0), rtol=1e-6)


def test_wide_embeddings_are_refused():
    with pytest.raises(ValueError, match="width=8 is more than two directions of cells=3"):
        LaserOptions(width=8, cells=3)
