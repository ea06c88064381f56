"""Evaluation costs at most 3% of a run's FLOPs, in every pretraining config at every scale.

The counts are estimates from shapes, and nothing is compiled: a step is three forward passes, and
rows of sentences are full. Only the evaluations between steps count, not the last ones.
"""

import functools
import json
import pathlib

from flax.core import meta
import jax
import numpy as np
import pytest

from clwe_jax import options
from clwe_jax.pocket import gold
from clwe_jax.training import build
from clwe_jax.training.flops import matrix_flops

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.py"))
MOST = 0.03
SENTENCE = 32  # positions of a sentence's row, in a longer window


def load(name, scale):
    return options.from_file(f"{ROOT / 'configs' / name}.py:{scale}").resolve()


@functools.lru_cache(maxsize=None)
def forward(values):
    """FLOPs of forward passes: a training batch, a held-out batch, a sentence.

    Args:
      values: JSON of the sections that the model depends on.
    """
    config = options.parse(json.loads(values))
    length, rows = config.data.sequence_length, config.train.batch_size
    shape = config.vocab.size, len(options.languages(config)), 4
    objective = build.build_objective(
        config, shape[0], options.padded_rows(shape[0]), np.full(shape, -1, np.int32)
    )
    key = jax.eval_shape(lambda: jax.random.key(0))
    batch = objective.batch_shapes(rows, length)
    variables = meta.unbox(jax.eval_shape(objective.init, key, batch))

    def loss(train):
        def run(variables, batch, key):
            rngs = {"dropout": key} if train else None
            return objective.loss(variables, batch, step=0, rngs=rngs, train=train)[0]["loss"]

        return matrix_flops(jax.make_jaxpr(run)(variables, batch, key))

    sentence = objective.batch_shapes(1, min(SENTENCE, length))
    encode = matrix_flops(jax.make_jaxpr(objective.encode)(variables, sentence))
    return loss(True), loss(False), encode


def model_of(config):
    """The sections that the model and its batches depend on."""
    chosen = {x: options.to_dict(getattr(config, x)) for x in ("model", "objective", "task")}
    chosen["data"] = dict(
        languages=config.data.languages,
        sequence_length=config.data.sequence_length,
        max_predictions=config.data.max_predictions,
    )
    chosen["vocab"] = dict(size=config.vocab.size)
    chosen["train"] = dict(batch_size=config.train.batch_size)
    return json.dumps(chosen, sort_keys=True)


def sentences(config, spec):
    """Encoded sentences of an evaluator's run, at most."""
    languages = options.languages(config)
    if spec.name == "retrieval":  # of the embedded world the languages share their sentences
        pairs = len(languages) if spec.data == "pocket" else 2 * (len(languages) - 1)
        return pairs * spec.max_sentences
    assert spec.name == "senses" and spec.data == "pocket"
    readings = 1 if config.objective.name == "bilm" else 2  # unmasked, and masked
    tested = readings * spec.sentences * len(languages)
    if not config.objective.translation_share:
        return tested
    domains = tuple(filter(None, config.data.pocket_domains.split(",")))
    words = sum(len(gold.senses(language, domains, 0.0)) for language in languages)
    return tested + words * 100


def translations(config, spec):
    """Translated sentences of an evaluator's run: all directions, or from English and to it."""
    languages = len(options.languages(config))
    directions = languages * (languages - 1) if spec.data == "pocket" else 2 * (languages - 1)
    return directions * spec.max_sentences


def evaluation(config, held_out, sentence):
    """FLOPs of evaluation a training step."""
    total = 0.0
    for spec in config.evals.values():
        if not spec.every_steps or getattr(spec, "data", None) == "":
            continue
        if spec.name == "mlm":
            cost = spec.batches * len(options.languages(config)) * held_out
        elif spec.name == "bleu":  # each beam reads and writes a row, as a held-out batch does
            rows = translations(config, spec) * spec.width
            cost = rows * held_out / config.train.batch_size
        else:
            cost = sentences(config, spec) * sentence
        total += cost / spec.every_steps
    return total


@pytest.mark.parametrize(
    "scale",  # the default is always counted, the others with -m slow
    [
        scale if scale == "laptop" else pytest.param(scale, marks=pytest.mark.slow)
        for scale in options.SCALES
    ],
)
@pytest.mark.parametrize("name", [x for x in CONFIGS if load(x, "laptop").job == "pretrain"])
def test_evaluation_costs_little(name, scale):
    config = load(name, scale)
    step, held_out, sentence = forward(model_of(config))
    cost = evaluation(config, held_out, sentence)
    assert cost / (3 * step + cost) < MOST
