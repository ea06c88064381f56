"""Bayesian optimisation of a head's regularisation on development rows (Snoek et al. 2012; C6).

The L2 penalty and the head's rates of dropout are chosen. No test row is read.
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, NamedTuple, Sequence

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import atomic
from clwe_jax.jobs.kept import Kept
from clwe_jax.jobs.transfer_frozen import FrozenTransfer
from clwe_jax.report import data
from clwe_jax.report.data import Column, Number, Table

FOLDER = "search"
_L2 = "recipe.l2"
_L2_RANGE = (1e-6, 1e-2)  # on a logarithmic scale
_DROPOUT_RANGE = (0.0, 0.6)


class Trial(NamedTuple):
    """A trial.

    Attributes:
      values: option -> value.
      figure: the development figure of one head.
    """

    values: Mapping[str, float]
    figure: float


def ranges(config: ConfigDict) -> dict[str, tuple[float, float]]:
    """The options that are chosen -> the lowest and the highest value."""
    rates = [name for name in config.transfer.head if name.endswith("dropout")]
    return {_L2: _L2_RANGE} | {f"transfer.head.{name}": _DROPOUT_RANGE for name in sorted(rates)}


def search(config: ConfigDict, workdir: str, frozen: FrozenTransfer) -> list[Trial]:
    """The trials of `config.transfer.search`; those of an earlier start are read.

    The first trial has the config's own values, or the nearest ones of the ranges. A trial trains the
    head of the first seed.

    Args:
      config, workdir: the run's.
      frozen: has the features.
    """
    try:
        import optuna  # takes a second
    except ImportError as error:
        raise ImportError(
            f"config.transfer.search.trials={config.transfer.search.trials} needs optuna: pip install "
            "optuna, or --config.transfer.search.trials=0"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    limits = ranges(config)
    spaces = {
        name: optuna.distributions.FloatDistribution(low, high, log=name == _L2)
        for name, (low, high) in limits.items()
    }
    trials = config.transfer.search.trials
    sampler = optuna.samplers.TPESampler(seed=config.seed, n_startup_trials=max(2, trials // 3))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    own = {name: _value(config, name) for name in limits}
    study.enqueue_trial({x: min(max(own[x], low), high) for x, (low, high) in limits.items()})
    found: list[Trial] = []
    for number in range(trials):
        trial = study.ask(spaces)
        values = {name: float(trial.params[name]) for name in limits}
        changed = with_values(config, values)
        changed.transfer.seeds = 1
        one = frozen.with_options(changed)
        figure = Kept(
            os.path.join(workdir, FOLDER, f"trial{number}.json"), one.facts(), one.development,
            lambda x, path: atomic.write_json(path, x), _read,
        ).result()  # fmt: skip
        study.tell(trial, figure)
        found.append(Trial(values, figure))
        logging.info("trial %d of %d: %.4f with %s", number + 1, trials, figure, values)
    return found


def best(trials: Sequence[Trial]) -> Trial:
    """The trial with the highest figure; of equal ones the first."""
    return max(trials, key=lambda trial: trial.figure)


def with_values(config: ConfigDict, values: Mapping[str, float]) -> ConfigDict:
    """A copy of a config with some values."""
    changed = ConfigDict(config.to_dict())
    for name, value in values.items():
        section, _, option = name.rpartition(".")
        node = changed
        for part in section.split("."):
            node = node[part]
        node[option] = value
    return changed


def section(job: Any) -> data.Section | None:
    """The table of the trials, the best one first.

    Args:
      job: a `transfer.Transfer` whose stages are done.
    """
    if not job.trials:
        return None
    names = list(job.trials[0].values)
    order = sorted(range(len(job.trials)), key=lambda k: -job.trials[k].figure)
    rows = [
        [str(k + 1), *(Number(job.trials[k].values[x]) for x in names), Number(job.trials[k].figure)]
        for k in order
    ]
    metric = {"f1": "F1", "acc": "Accuracy"}.get(job.data.task.metric, job.data.task.metric)
    columns = [
        "Trial", *(Column(name.rpartition(".")[2], main=False) for name in names),
        Column(f"Development {metric}", "percent"),
    ]  # fmt: skip
    text = (
        f"Bayesian optimisation (optuna's TPE) of the regularisation in {len(rows)} trials of one head, "
        "on the development rows of the training languages. Trial 1 has the config's own values. The "
        "heads of the other tables have the values of the first row."
    )
    return data.Section(f"{job.data.task.title}: search", text, [Table(columns, rows)])


def _value(config: ConfigDict, name: str) -> float:
    node: Any = config
    for part in name.split("."):
        node = node[part]
    return float(node)


def _read(path: str) -> float:
    with open(path, encoding="utf-8") as file:
        return float(json.load(file))
