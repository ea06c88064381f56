"""Tiny batches and models for the tests of the models."""

from flax import linen as nn
import jax
import numpy as np
import pytest

from clwe_jax.models.transformer import Transformer
from clwe_jax.options.models import TransformerOptions
from clwe_jax.types import piece_shapes

VOCAB, LANGUAGES = 23, 3


def _make_batch(rows=3, length=10, seed=0, masked=3):
    """A random batch: two segments and some padding in every row, up to `masked` masked pieces."""
    r = np.random.RandomState(seed)
    ends = np.stack([r.randint(3, 5, rows), r.randint(6, length, rows)], 1)
    place = np.arange(length)[None]
    segments = np.where(place < ends[:, :1], 1, np.where(place < ends[:, 1:], 2, 0))
    positions = np.where(segments == 2, place - ends[:, :1], place * (segments == 1))
    weights = np.zeros((rows, length))
    for row in range(rows):
        chosen = r.choice(ends[row, 1], r.randint(1, masked + 1), replace=False)
        weights[row, chosen] = 1
    batch = dict(
        inputs=r.randint(5, VOCAB - 2, (rows, length)),
        targets=r.randint(5, VOCAB - 2, (rows, length)),
        loss_weights=weights,
        positions=positions,
        segment_ids=segments,
        language_ids=r.randint(0, LANGUAGES, (rows, length)),
        source_language_ids=r.randint(0, LANGUAGES, (rows, length)),
    )
    return {key: batch[key].astype(x.dtype) for key, x in piece_shapes(rows, length).items()}


def _make_model(**options):
    sizes = dict(layers=2, width=8, heads=2, mlp_dim=12)
    return Transformer(TransformerOptions(**{**sizes, **options}), VOCAB, LANGUAGES, 10)


def _spread(variables, seed=1):
    """The variables moved away from zeros and ones, so that no parameter can hide."""
    leaves, treedef = jax.tree.flatten(nn.unbox(variables))
    r = np.random.RandomState(seed)
    return treedef.unflatten([np.float32(x + 0.3 * r.standard_normal(x.shape)) for x in leaves])


@pytest.fixture
def make_batch():
    return _make_batch


@pytest.fixture
def make_model():
    return _make_model


@pytest.fixture
def spread():
    return _spread


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Programs here run for milliseconds; optimising them takes seconds."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
