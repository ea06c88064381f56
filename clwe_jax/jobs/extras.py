"""What the report shows beside the figures: WORKDIR/report.json."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

import jax
from ml_collections import ConfigDict

from clwe_jax import api
from clwe_jax.jobs import senses
from clwe_jax.jobs.feed import Feed
from clwe_jax.training.train import FitResult
from clwe_jax.types import Objective

_PACKAGES = ("clwe_jax", "jax", "flax", "optax", "orbax-checkpoint", "tensorflow", "seqio")
_SHOWN_WORDS = 8  # with their nearest neighbours, where config.report.words names none
_NEIGHBOURS = 2  # of each language


def data_figures(feed: Feed) -> dict[str, float]:
    """Figures of the data for results.json: dictionary coverage and what the stream counted."""
    figures = {
        f"data/coverage/{language}": found["coverage"]
        for language, found in feed.description.get("languages", {}).items()
    }
    stats = feed.source.stats()
    return {**figures, **{f"data/{name}": float(value) for name, value in stats.items()}}


def gather(
    config: ConfigDict,
    feed: Feed,
    objective: Objective,
    result: FitResult,
    seconds: float,
    workdir: str,
) -> dict[str, Any]:
    """The keys of report.json; the report shows those that are there.

    The senses' files are written to WORKDIR/senses/.
    """
    model = api.Model(
        config,
        feed.tokenizer,
        objective,
        result.state.variables,
        dict(feed.frequent),
        lambda language: feed.sample.get(language, ()),
    )
    stats = feed.source.stats()
    description = feed.description
    languages = {
        language: {**found, "sampled_share": stats.get(f"language_share/{language}")}
        for language, found in description.get("languages", {}).items()
    }
    skipped = {
        **description.get("skipped", {}),
        "words cut (more pieces than a row)": stats.get("cut_words", 0),
        "training steps with a non-finite loss": result.skipped,
        "checkpoints that could not be written": result.failed_checkpoints,
    }
    return {
        **description,
        "languages": languages,
        "command": ["python", "-m", "clwe_jax.main", *sys.argv[1:]],
        "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        "cores": os.cpu_count(),
        "versions": _versions(),
        "parameters": result.parameters,
        "examples": feed.examples(),
        "neighbours": _neighbours(config, feed, model),
        "senses": senses.gather(config, model, workdir),
        "speed": {
            "tokens_per_second": result.tokens_per_second,
            "steps_per_second": result.steps_per_second,
            "compile_seconds": result.compile_seconds,
            "seconds": seconds,
        },
        "memory": {
            "peak_host_bytes": result.memory.get("host_peak"),
            "peak_device_bytes": result.memory.get("device_peak"),
        },
        "skipped": {name: count for name, count in skipped.items() if count},
    }


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _neighbours(config: ConfigDict, feed: Feed, model: api.Model) -> list[dict[str, Any]]:
    """Nearest words in the other languages of config.report.words or of a few frequent words."""
    languages = [language for language in feed.tokenizer.languages if feed.frequent.get(language)]
    if not languages:
        return []
    first = "en" if "en" in languages else languages[0]
    words = [word for word in config.report.words.split(",") if word]
    if not words:
        # The most frequent words are function words; those after them say more about meaning.
        content = [word for word in feed.frequent[first] if len(word) > 3][20:]
        words = content[:: max(1, len(content) // _SHOWN_WORDS)][:_SHOWN_WORDS]
    return [
        {
            "word": word,
            "language": first,
            "neighbours": [
                {"word": near.word, "language": near.language, "score": near.score}
                for language in languages
                if language != first
                for near in model.neighbours(word, first, _NEIGHBOURS, to=language)
            ],
        }
        for word in words
    ]
