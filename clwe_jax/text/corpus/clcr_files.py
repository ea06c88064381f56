"""The files that a CLCR run reads, found before anything slow starts."""

from __future__ import annotations

import os

from clwe_jax import options, pocket
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.text.corpus import alignment_files, parallel


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
    for side, language in zip(("source", "target"), names):
        model = getattr(settings, side)
        path = model.partition(":")[2]
        if path and not os.path.isdir(path):
            raise FileNotFoundError(
                f"config.clcr.{side}={model}: {path} is no folder. Train the model: "
                f"--config=configs/mbert.py --workdir={path} --config.data.languages={language} "
                "--config.data.dictionaries="
            )
    path = settings.entailment.multilingual.partition(":")[2]
    if path and not os.path.isdir(path):
        raise FileNotFoundError(
            f"config.clcr.entailment.multilingual={settings.entailment.multilingual}: {path} is no "
            f"folder. Train the model: --config=configs/mbert.py --workdir={path} "
            f"--config.data.languages={names[1]},{names[0]}"
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
