"""A model small enough to be computed again in NumPy, with a real tokenizer."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.words.words import Segmenter
from clwe_jax.types import Hidden, piece_shapes

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WIDTH = 24


@dataclasses.dataclass(frozen=True)
class ToyObjective:
    """A table of pieces and one of languages; layer k mixes a segment's pieces and adds positions."""

    layers: int = 2
    max_length: int = 16

    batch_shapes = staticmethod(piece_shapes)

    def encode(self, variables, batch):
        x = variables["pieces"][batch["inputs"]] + variables["languages"][batch["language_ids"]]
        outputs = [x]
        segments = batch["segment_ids"]
        read = (segments[:, :, None] == segments[:, None]) & (segments > 0)[:, None]
        for layer in range(1, self.layers + 1):
            mean = read @ x / read.sum(2, keepdims=True).clip(1)
            outputs.append(layer * x + mean + 0.1 * batch["positions"][..., None])
        return Hidden(tuple(outputs))

    def numpy_row(self, variables, ids, language):
        """[pieces + 2, layers + 1, D] of one row, [CLS] and [SEP] included."""
        x = np.float64(variables["pieces"])[ids] + np.float64(variables["languages"])[language]
        outputs = [x]
        for layer in range(1, self.layers + 1):
            outputs.append(layer * x + x.mean(0) + 0.1 * np.arange(len(ids))[:, None])
        return np.stack(outputs, 1)


def _make_tokenizer(words=(), languages=("en", "de")):
    """Every given word is a piece; other words are spelled."""
    letters = [prefix + letter for letter in LETTERS for prefix in ("", "##")]
    pieces = [*SPECIALS, *letters, *dict.fromkeys(w for w in words if w not in LETTERS)]
    return Tokenizer(languages, Normalizer(), Segmenter(), WordPieceVocabulary(pieces))


def _make_variables(tokenizer, seed=0, language_scale=1.0):
    r = np.random.RandomState(seed)
    tables = {
        "pieces": r.standard_normal((len(tokenizer.vocabulary), WIDTH)),
        "languages": language_scale * r.standard_normal((len(tokenizer.languages), WIDTH)),
    }
    return {name: jnp.asarray(table, jnp.float32) for name, table in tables.items()}


@pytest.fixture
def toy_objective():
    return ToyObjective


@pytest.fixture
def make_tokenizer():
    return _make_tokenizer


@pytest.fixture
def make_variables():
    return _make_variables


@pytest.fixture
def warnings(caplog):
    """Logged warnings (with warnings('INFO') all lines from that level up) as one text."""
    caplog.set_level("INFO", logger="absl")

    def read(level="WARNING"):
        names = ["INFO", "WARNING", "ERROR"]
        wanted = names[names.index(level) :]
        return "\n".join(r.getMessage() for r in caplog.records if r.levelname in wanted)

    return read
