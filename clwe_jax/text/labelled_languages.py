"""The languages of a transfer run that names none: those of its test files that its encoder knows."""

from __future__ import annotations

import os
from typing import Any

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import pocket
from clwe_jax.text import labelled_files


def follow(config: ConfigDict) -> None:
    """Sets an empty `config.data.languages` to the languages of the test rows that the encoder knows.

    Raises:
      ValueError: the encoder knows none, or a data set does not say its languages.
      FileNotFoundError: the encoder's folder holds no run.
    """
    if config.data.languages.strip():
        return
    tested = _tested(config)
    learned = labelled_files.training_languages(config.transfer.train)
    if config.encoder != "joint":  # which is trained on these languages
        learned = tuple(x for x in learned if x in tested)
    tested = list(dict.fromkeys([*learned, *tested]))
    known = _known(config.encoder)
    if known is None or config.transfer.translate == "test":  # translated, for one language
        found = tested
    else:
        found = [language for language in tested if language in known]
        absent = [language for language in tested if language not in known]
        if absent:
            logging.info("%s: left out, as the encoder lacks them: %s", _where(config), ", ".join(absent))
    if not found:
        raise ValueError(
            f"config.encoder={config.encoder} knows {', '.join(known or ())}, and {_where(config)} has "
            f"test rows in {', '.join(tested)}: no language of both. Name another encoder or other files "
            "(--config.transfer.tests=DIR)"
        )
    with config.unlocked():
        config.data.languages = ",".join(found)


def _where(config: ConfigDict) -> str:
    tests = config.transfer.tests
    return f"config.transfer.tests={tests}" if tests else "the embedded world"


def _tested(config: ConfigDict) -> list[str]:
    tests = config.transfer.tests
    if tests.startswith(labelled_files.PREFIX):
        raise ValueError(
            f"config.transfer.tests={tests} needs the languages to test: --config.data.languages=en,de"
        )
    if not tests or not os.path.isdir(tests):  # the check of the files names an absent folder
        return list(pocket.LANGUAGES)
    return sorted(labelled_files.task_of(config).files(tests))


def _known(encoder: str) -> list[str] | None:
    """The languages that an encoder was trained on; None where it takes any, or says none."""
    kind, _, where = encoder.partition(":")
    if kind == "vec":
        parts = [part.partition("=") for part in where.split(",")]
        return [name.strip() for name, given, _ in parts] if all(x[1] for x in parts) else None
    if kind != "run" or not os.path.isdir(where):
        return None
    config: Any = options.read_config(where)
    found = list(options.languages(config))
    for folder in filter(None, config.get("clcr", {}).get("hub", "").split(",")):
        found += _known(f"run:{options.placed(folder.strip(), where)}") or []
    return list(dict.fromkeys(found))
