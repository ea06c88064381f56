"""Bayesian optimisation of a head's regularisation on development rows (Snoek et al. 2012; C6).

The L2 penalty and the head's rates of dropout are chosen. No test row is read.
"""

from __future__ import annotations

import dataclasses
import operator
import os
from typing import Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.cached import CachedResult
from clwe_jax.options.section import Options, values_of
from clwe_jax.report import data
from clwe_jax.report.data import Column, Number, Table
from clwe_jax.text.labelled import Task
from clwe_jax.transfer.frozen import FrozenTransfer
from clwe_jax.transfer.results import Trial

FOLDER = "search"
_L2 = "recipe.l2"
_L2_RANGE = (1e-6, 1e-2)  # on a logarithmic scale
_DROPOUT_RANGE = (0.0, 0.6)


def ranges(head: Options) -> dict[str, tuple[float, float]]:
    """The options that are chosen for a head -> the lowest and the highest value."""
    rates = [name for name in values_of(head) if name.endswith("dropout")]
    return {_L2: _L2_RANGE} | {f"transfer.head.{name}": _DROPOUT_RANGE for name in sorted(rates)}


def search(frozen: FrozenTransfer) -> list[Trial]:
    """The trials of `config.transfer.search`; those of an earlier start are read.

    The first trial has the config's own values, also where they are outside the ranges: the search then goes
    on from the nearest ones. A trial trains the
    head of the first seed.
    """
    config = frozen.config
    try:
        import optuna  # takes a second
    except ImportError as error:
        raise ImportError(
            f"config.transfer.search.trials={config.transfer.search.trials} needs optuna: pip install "
            "optuna, or --config.transfer.search.trials=0"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    limits = ranges(config.transfer.head)
    spaces = {
        name: optuna.distributions.FloatDistribution(low, high, log=name == _L2)
        for name, (low, high) in limits.items()
    }
    count = config.transfer.search.trials
    # The study is not kept: the seed and the kept figures lead a resumed search to the same trials.
    sampler = optuna.samplers.TPESampler(seed=config.seed, n_startup_trials=max(2, count // 3))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    start = {name: float(operator.attrgetter(name)(config)) for name in limits}
    study.enqueue_trial({x: min(max(start[x], low), high) for x, (low, high) in limits.items()})
    trials: list[Trial] = []
    for number in range(count):
        trial = study.ask(spaces)
        values = start if not number else {name: float(trial.params[name]) for name in limits}
        trial_config = options.with_values(config, {**values, "transfer.seeds": 1})
        trial_run = dataclasses.replace(frozen, config=trial_config)
        figure = CachedResult(
            os.path.join(frozen.workdir, FOLDER, f"trial{number}.json"),
            trial_run.made_with(),
            trial_run.development,
        ).result()
        study.tell(trial, figure)
        trials.append(Trial(values, figure))
        logging.info("trial %d of %d: %.4f with %s", number + 1, count, figure, values)
    return trials


def best(trials: Sequence[Trial]) -> Trial:
    """The trial with the highest figure; of equal ones the first."""
    return max(trials, key=lambda trial: trial.figure)


def section(task: Task, trials: Sequence[Trial]) -> data.Section | None:
    """The table of the trials, the best one first."""
    if not trials:
        return None
    names = list(trials[0].values)
    order = sorted(range(len(trials)), key=lambda k: -trials[k].figure)
    rows = [
        [str(k + 1), *(Number(trials[k].values[x]) for x in names), Number(trials[k].figure)]
        for k in order
    ]
    metric = {"f1": "F1", "acc": "Accuracy"}.get(task.metric, task.metric)
    columns = [
        "Trial",
        *(Column(name.rpartition(".")[2], main=False) for name in names),
        Column(f"Development {metric}", "percent"),
    ]
    text = (
        f"Bayesian optimisation (optuna's TPE) of the regularisation in {len(rows)} trials of one head, "
        "on the development rows of the training languages. Trial 1 has the config's own values. The "
        "heads of the other tables have the values of the first row."
    )
    return data.Section(f"{task.title}: search", text, [Table(columns, rows)])
