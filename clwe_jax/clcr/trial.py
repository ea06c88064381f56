"""The times of a CLCR run for `--dry_run`: steps are timed on made-up vectors."""

from __future__ import annotations

import dataclasses
import time
from typing import Iterator

import numpy as np

from clwe_jax import options
from clwe_jax.align.attention_matching import AttentionMatching
from clwe_jax.align.sentences import Sentences
from clwe_jax.clcr import data, steps
from clwe_jax.options.clcr import ClcrOptions, ClcrRun
from clwe_jax.options.section import values_of
from clwe_jax.runs import forecast


def encoders(config: ClcrRun, workdir: str) -> Iterator[str]:
    """The encoders that are given or trained, with the time of the training."""
    models = data.given(config)
    for side, (language, place) in zip(data.SIDES, data.places(config, workdir).items()):
        if language in models:
            yield f"{side}: {language}, {place}"
            continue
        yield f"{side}: {language}, a model that is trained first"
        run = data.encoder_config(config, language)
        folder = place.removeprefix("run:")
        yield from (x for x in forecast.pretraining(run, folder) if x.startswith("training"))


def transform(config: ClcrRun) -> Iterator[str]:
    """The maps, with the time of the steps of those that are trained."""
    settings = config.clcr.transform
    models = data.given(config)
    widths = [
        models[x].encoder().shape[1] if x in models else data.encoder_config(config, x).model.width
        for x in options.languages(config)
    ]
    there, back = _seconds(config.clcr, *widths), _seconds(config.clcr, *widths[::-1])
    trained = [name for name in steps.ROWS if name != "regression"]
    seconds = len(trained) * settings.steps * (there + back)
    yield (
        f"transform: {', '.join(steps.ROWS)}; {settings.steps:,} steps in each direction: at most "
        f"{forecast.in_minutes(seconds)} here, of sentences of {config.clcr.length} words"
    )


def _seconds(settings: ClcrOptions, width: int, wanted: int) -> float:
    """The seconds of a step of a map between these numbers of dimensions."""
    matching = AttentionMatching(**values_of(settings.transform))
    count = matching.chunk(settings.length, (width, wanted))
    # A start by Procrustes is no step.
    few = dataclasses.replace(matching, steps=count, start="zero")
    rng, words = np.random.default_rng(0), few.batch_size * settings.length
    rows = np.arange(1, words + 1, dtype=np.int32).reshape(few.batch_size, -1)
    sides = [
        Sentences(rng.standard_normal((words + 1, size), np.float32), rows)
        for size in (width, wanted)
    ]
    few.fit(*sides)  # compiles
    started = time.monotonic()
    few.fit(*sides)
    return (time.monotonic() - started) / count
