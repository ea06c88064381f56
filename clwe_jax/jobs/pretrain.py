"""The pretraining job: text and dictionaries in; a model, its figures and its report out."""

from __future__ import annotations

import json
import os
import time

from absl import logging
import jax
from jax.experimental import multihost_utils
from ml_collections import ConfigDict

from clwe_jax import atomic
from clwe_jax import config as options
from clwe_jax.jobs import evaluators, extras, feed as feeds
from clwe_jax.report import html, tables
from clwe_jax.training import allocator, build, checkpoint, init, optim, train


def run(config: ConfigDict, workdir: str) -> bool:
    """Trains, evaluates and reports; in a folder that holds this run it goes on, or says it is done.

    Returns:
      False where a signal stopped it before the last step; the same command goes on.

    Raises:
      ValueError, FileNotFoundError: a setting, a file or a folder that cannot work.
    """
    started = time.time()
    first_host = jax.process_index() == 0
    options.claim_workdir(config, workdir, write=first_host)
    if _finished(config, workdir):
        return True
    feed = feeds.build(config, workdir)
    vocabulary = feed.tokenizer.vocabulary
    if first_host:
        atomic.write_json(os.path.join(workdir, "words.json"), dict(feed.frequent))
    objective = build.build_objective(config, len(vocabulary), vocabulary.size, feed.translations)
    if jax.default_backend() == "cpu":
        allocator.keep_freed_memory()
    result = train.fit(
        objective=objective,
        optimizer=optim.from_config(config.optimizer),
        source=feed.source,
        evaluators=evaluators.build(
            config,
            objective,
            feed.tokenizer,
            feed.folders,
            feed.sample,
            heldout=feed.heldout,
            domains=feed.domains,
        ),
        workdir=workdir,
        train_cfg=config.train,
        mesh_cfg=config.mesh,
        checkpoint_cfg=config.checkpoint,
        seed=config.seed,
        initial=init.from_config(config.init),
        meta={"vocabulary": vocabulary.fingerprint(), "system": config.system},
    )
    if result.finished and first_host:
        figures = {**result.train, **result.evaluations, **extras.data_figures(feed)}
        atomic.write_json(os.path.join(workdir, "results.json"), dict(sorted(figures.items())))
        seconds = time.time() - started
        found = extras.gather(config, feed, objective, result, seconds, workdir)
        atomic.write_json(os.path.join(workdir, "report.json"), found)
        html.build(workdir, config.report.compare_with)
        tables.print_summary(figures, workdir)
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices("the report is written")
    return result.finished


def _finished(config: ConfigDict, workdir: str) -> bool:
    """Whether the run in the folder has done its last step; if so, says what to do next."""
    steps = checkpoint.complete_steps(os.path.join(workdir, "checkpoints"))
    path = os.path.join(workdir, "results.json")
    if not steps or steps[-1] < config.train.steps or not os.path.exists(path):
        return False
    if jax.process_index() == 0:
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
        html.build(workdir, config.report.compare_with)
        tables.print_summary(figures, workdir)
        logging.info(
            "This run is finished (step %d). To train on, raise --config.train.steps; to start "
            "anew, give another --workdir; to use the model: clwe_jax.api.load(%r).",
            steps[-1],
            workdir,
        )
    return True
