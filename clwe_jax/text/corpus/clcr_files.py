"""The files that a CLCR run reads, found before anything slow starts."""

from __future__ import annotations

import os

from clwe_jax import options, pocket
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.text.corpus import alignment_files, parallel
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.labelled.texts import Xnli
from clwe_jax.text.words.languages import name_in


def check(config: ClcrRun, workdir: str) -> None:
    """Finds the encoders and the parallel sentences of a run; writes nothing.

    Raises:
      ValueError, FileNotFoundError: files that are absent, or of other languages.
    """
    del workdir
    settings = config.clcr
    names = options.languages(config)
    unknown = [x for x in names if x not in pocket.LANGUAGES]
    if settings.entailment.seeds and not settings.entailment.train and unknown:
        raise ValueError(
            f"config.clcr.entailment: the embedded world has no rows in {', '.join(unknown)}: give files "
            "(train, tests), or --config.clcr.entailment.seeds=0"
        )
    models = {
        "source": (settings.source, f"{names[0]} --config.data.dictionaries="),
        "target": (settings.target, f"{names[1]} --config.data.dictionaries="),
        "entailment.multilingual": (settings.entailment.multilingual, f"{names[1]},{names[0]}"),
    }
    for option, (model, learned) in models.items():
        path = model.partition(":")[2]
        if path and not os.path.isdir(path):
            raise FileNotFoundError(
                f"config.clcr.{option}={model}: {path} is no folder. Train the model: "
                f"--config=configs/mbert.py --workdir={path} --config.data.languages={learned}"
            )
    for folder in filter(None, map(str.strip, settings.hub.split(","))):
        if not os.path.isfile(os.path.join(folder, "clcr.json")):
            raise FileNotFoundError(
                f"config.clcr.hub={settings.hub}: {folder} is no finished CLCR run; train it with "
                f"--config=configs/clcr.py --workdir={folder} --config.data.languages=xx,{names[1]}"
            )
    if settings.parallel != "pocket":
        for files in parallel.find(settings.parallel, names, "clcr.parallel"):
            parallel.read(files)  # unequal or empty sides are found before the encoders are trained
    if settings.gold and settings.gold != "pocket":
        alignment_files.find(settings.gold, names, "config.clcr.gold")
    if settings.entailment.seeds:
        of_entailment(config)


def of_entailment(config: ClcrRun) -> list[str]:
    """The files of the labelled rows of entailment, and those of the dictionaries that translate them.

    Raises:
      ValueError, FileNotFoundError: files that are absent.
    """
    settings = config.clcr.entailment
    option = "config.clcr.entailment"
    names = options.languages(config)
    is_file = lambda path: path and not path.startswith(labelled_files.PREFIX)
    train = labelled_files.pairs(settings.train, "clcr.entailment.train")
    paths = list(filter(is_file, train.values()))
    for path in paths:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{option}.train={settings.train}: {path} is no file")
    if is_file(settings.tests):
        tests = {name_in(x, names): path for x, path in Xnli().files(settings.tests).items()}
        for language in names:
            if language not in tests:
                raise FileNotFoundError(
                    f"{option}.tests={settings.tests} has no tests of {language!r}"
                )
            paths.append(tests[language])
    if config.data.dictionaries not in ("", "pocket"):
        paths += [file.path for file in dictionary_files.find(config.data.dictionaries, names)]
    return paths
