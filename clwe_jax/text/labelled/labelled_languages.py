"""The languages of a transfer run that names none: those of its test files that its encoder knows."""

from __future__ import annotations

import os
from typing import Sequence

from absl import logging

from clwe_jax import options, pocket
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.transfer import TransferOptions, TransferRun, encoder_parts
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.words.languages import name_in


def adopt_options(config: TransferRun) -> TransferRun:
    """The options with the languages of the test rows that the encoder knows, where they name none.

    Raises:
      ValueError: the encoder knows none, or a data set does not say its languages.
      FileNotFoundError: the encoder's folder holds no run.
    """
    if config.data.languages.strip():
        return config
    settings = config.transfer
    tests = f"config.transfer.tests={settings.tests}" if settings.tests else "the embedded world"
    encoded = _encoder_languages(config.encoder)
    train_languages = labelled_files.training_languages(settings.train)
    tested = _test_languages(settings, [*(encoded or ()), *train_languages])
    if config.encoder != "joint":  # which is trained on these languages
        train_languages = tuple(x for x in train_languages if x in tested)
    tested = list(dict.fromkeys([*train_languages, *tested]))
    if encoded is None or settings.translate == "test":  # translated, for one language
        languages = tested
    else:
        languages = [language for language in tested if language in encoded]
        absent = [language for language in tested if language not in encoded]
        if absent:
            logging.info("%s: left out, as the encoder lacks them: %s", tests, ", ".join(absent))
    if not languages:
        raise ValueError(
            f"config.encoder={config.encoder} knows {', '.join(encoded or ())}, and {tests} has "
            f"test rows in {', '.join(tested)}: no language of both. Name another encoder or other files "
            "(--config.transfer.tests=DIR)"
        )
    return options.with_values(config, {"data": {"languages": ",".join(languages)}})


def _test_languages(settings: TransferOptions, called: Sequence[str]) -> list[str]:
    """The languages of the test files; one of `called`, by any code, has the code that it has there."""
    tests = settings.tests
    if tests.startswith(labelled_files.PREFIX):
        raise ValueError(
            f"config.transfer.tests={tests} needs the languages to test: --config.data.languages=en,de"
        )
    if not tests or not os.path.isdir(tests):  # the check of the files names an absent folder
        return list(pocket.LANGUAGES)
    names = {x: name_in(x, called) for x in labelled_files.task_of(settings).files(tests)}
    return sorted({y if y in called else x for x, y in names.items()})


def _encoder_languages(encoder: str) -> list[str] | None:
    """The languages that an encoder was trained on, of two both; None where it takes any, or says none."""
    parts, _ = encoder_parts(encoder)
    if len(parts) == 2:
        known = [x for x in map(_encoder_languages, parts) if x is not None]
        return [x for x in known[0] if x in known[-1]] if known else None
    kind, _, source = encoder.partition(":")
    if kind == "vec":
        names = [language for language, _ in options.named_files(source)]
        return names if all(names) else None
    if kind != "run" or not os.path.isdir(source):
        return None
    run = options.read_config(source)
    languages = list(options.languages(run))
    hub = run.clcr.hub if isinstance(run, ClcrRun) else ""
    for folder in filter(None, hub.split(",")):
        languages += _encoder_languages(f"run:{options.resolve_path(folder.strip(), source)}") or []
    return list(dict.fromkeys(languages))
