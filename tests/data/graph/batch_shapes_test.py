"""The batches of every config are those that its objective describes."""

import dataclasses
import functools
import os
import pathlib

import numpy as np
import pytest

from clwe_jax import options, registry
from clwe_jax.data.graph import pipeline
from clwe_jax.options.tasks import Tlm
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.training import build
from clwe_jax.types import SHARED_KEYS

ROWS = 8
CONFIGS = sorted((pathlib.Path(__file__).resolve().parents[3] / "configs").glob("*.py"))


def pairs():
    """A config for every task and objective that stand together, by their kinds."""
    found = {}
    for path in CONFIGS:
        config = options.from_file(str(path))
        if config.job == "pretrain":
            backward = getattr(config.task, "backward", "")
            kind = (config.task.name, config.objective.name, backward)
            found.setdefault(kind, config)
    return found


PAIRS = pairs()
# Texts of translation models are arrays, no graph; `data.translation` has the same test.
OF_GRAPH = [kind for kind in PAIRS if kind[0] not in ("translation", "sentences")]


def test_every_task_has_a_config():
    assert {task for task, _, _ in PAIRS} == set(registry.TABLES["task"])


@pytest.fixture(scope="module")
def words(small):
    return Tokenizer.build(
        languages=small.tokenizer.languages,
        normalizer=Normalizer(),
        corpus=small.corpus,
        dictionary=None,
        kind="word",
        size=800,
    )


@pytest.fixture(scope="module")
def sentence_pairs(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("parallel"))
    lines = "".join(f"a cat number {n}\n" for n in range(50))
    for language in ("de", "en"):
        with open(os.path.join(folder, f"de-en.{language}"), "w", encoding="utf-8") as file:
            file.write(lines)
    return folder


@pytest.fixture(scope="module")
def batches(small, sentence_pairs):
    """A training batch and a held-out one of a task."""

    @functools.cache  # tracing takes seconds
    def make(task, tokenizer, length):
        if isinstance(task, Tlm):
            task = dataclasses.replace(task, parallel=sentence_pairs)
        made = pipeline.build(
            small.config(sequence_length=length),
            task=task,
            tokenizer=tokenizer,
            dictionary=small.dictionary,
            text=small.corpus,
            batch_size=ROWS,
            seed=0,
        )
        return next(made.source()), made.heldout(1)["de"][0]

    return make


@pytest.mark.parametrize("kind", OF_GRAPH, ids="-".join)
def test_batches_are_those_that_the_objective_describes(kind, small, words, batches):
    config = PAIRS[kind]
    tokenizer = words if config.vocab.kind == "word" else small.tokenizer
    pieces, padded = len(tokenizer.vocabulary.pieces), tokenizer.vocabulary.size
    translations = np.full((pieces, len(tokenizer.languages), 2), -1, np.int32)
    objective = build.build_objective(config, pieces, padded, translations)
    length = config.data.sequence_length
    # A plan cuts all arrays by as many devices as divide the rows.
    assert not any(x.shape[0] % 70 for x in objective.batch_shapes(70, length).values())
    expected = objective.batch_shapes(ROWS, length)
    for batch in batches(config.task, tokenizer, length):
        assert batch.keys() == expected.keys()
        for key, value in batch.items():
            assert value.dtype == expected[key].dtype, key
            shape = expected[key].shape
            # Of what is no row, a batch has as many as the text needs.
            first = len(value) if key in SHARED_KEYS else ROWS
            assert value.shape == (first, *shape[1:]), key
