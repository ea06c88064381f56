"""Measures a trained run again: other test sets, other options of its evaluators."""

from __future__ import annotations

import json
import os

from absl import logging
import jax
from ml_collections import ConfigDict

from clwe_jax import atomic
from clwe_jax import api
from clwe_jax import config as options
from clwe_jax.jobs import evaluators, feed as feeds
from clwe_jax.report import html, tables


def run(config: ConfigDict, workdir: str) -> bool:
    """Runs config.evals on the trained model in `workdir`; its figures and report are made anew.

    The model is the one before a projection; config.job='project' measures that. Figures of an
    evaluator that is not asked for any more stay as they were.

    Raises:
      ValueError, FileNotFoundError: no finished run of this config there, or one of static vectors.
    """
    if jax.process_count() > 1:
        raise ValueError("The evaluation runs on one host: start it there alone")
    path = os.path.join(workdir, "results.json")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no finished run: train it first, with the same command without "
            "--config.job=evaluate"
        )
    if "static" in config:
        raise ValueError(
            "config.job='evaluate' is for language models; static vectors are measured again by "
            f"their own job: delete {path} and start that"
        )
    options.claim_workdir(config, workdir, write=False)
    model = api.load(workdir)
    feed = feeds.build(config, workdir)
    figures: dict[str, float] = {}
    for evaluator in evaluators.build(
        config,
        model.objective,
        model.tokenizer,
        feed.folders,
        feed.sample,
        heldout=feed.heldout,
        domains=feed.domains,
    ):
        for metric, value in evaluator.run(model.variables):
            figures[metric] = float(value)
        logging.info("%s figures", f"{len(figures):,}")
    _keep_options(config, os.path.join(workdir, "config.json"))
    with open(path, encoding="utf-8") as file:
        before = json.load(file)
    # A test set that is left out now leaves no figure behind.
    again = {metric.partition("/")[0] for metric in figures}
    kept = {name: x for name, x in before.items() if name.partition("/")[0] not in again}
    atomic.write_json(path, dict(sorted({**kept, **figures}.items())))
    html.build(workdir, config.report.compare_with)
    tables.print_summary(figures, workdir)
    return True


def _keep_options(config: ConfigDict, path: str) -> None:
    """Writes what the figures depend on into the run's config.json; all else is as it was trained."""
    now = json.loads(config.to_json_best_effort())
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    kept["evals"] = now["evals"]
    kept["data"]["sample_bytes"] = now["data"]["sample_bytes"]
    atomic.write_json(path, kept)
