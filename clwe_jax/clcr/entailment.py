"""Entailment on a CLCR run: labels of the target's language, tests in both (CLCR's Table 4, B7)."""

from __future__ import annotations

import itertools
import os
import shutil
from typing import Mapping, Sequence

from clwe_jax import atomic, options, presets
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.transfer import TransferRun
from clwe_jax.runs.job import FIGURES
from clwe_jax.transfer.job import Transfer

FOLDER = "entailment"  # of the runs, one a row
ALIGNED = "t_pga"  # the row of `aligned`
MULTILINGUAL = "mbert"  # the row of one model of both languages
TITLES = {
    ALIGNED: "pivots and order of translations (T + pGA)",
    "t": "all words (T)",
    "t_e": "pivots (T + E)",
    "t_e_r": "pivots, reordered (T + E + R)",
    MULTILINGUAL: "one multilingual model (mBERT)",
    "translate_test": "translate-test, word by word",
    "translate_train": "translate-train, word by word",
}
# Row of Table 4 -> options of `config.transfer`.
ROWS: Mapping[str, Mapping[str, str]] = {
    "t": {},
    "t_e": {"reduce": "extract"},
    "t_e_r": {"reduce": "extract,reorder"},
    MULTILINGUAL: {},
    "translate_test": {"translate": "test"},
    "translate_train": {"translate": "train"},
}
_TRANSLATED = "translate"


def rows(config: ClcrRun) -> list[str]:
    """The rows of a run: those of translation need a dictionary, that of mBERT needs its model."""
    dictionary = config.data.dictionaries
    names = [name for name, changed in ROWS.items() if dictionary or _TRANSLATED not in changed]
    multilingual = config.clcr.entailment.multilingual
    return [name for name in names if multilingual or name != MULTILINGUAL]


def row_config(config: ClcrRun, workdir: str, name: str) -> TransferRun:
    """The config of a row: ESIM on the finished model of the run, or on a multilingual one.

    Args:
      workdir: folder of the CLCR run, which has the model.
    """
    source, target = options.languages(config)
    settings = config.clcr.entailment
    values = {
        "system": f"ESIM, {TITLES[name]}",
        "seed": config.seed,
        "encoder": settings.multilingual if name == MULTILINGUAL else f"run:{workdir}",
        "data": {"languages": f"{target},{source}", "dictionaries": config.data.dictionaries},
        "transfer": {
            "train": settings.train or target,
            "tests": settings.tests,
            "seeds": settings.seeds,
            **ROWS[name],
        },
    }
    return options.with_values(options.parse(presets.start_from("nli_esim", config.scale)), values)


def measure_entailment(config: ClcrRun, workdir: str, name: str) -> dict[str, float]:
    """Trains the heads of a row and returns their figures; an older folder of the row is removed.

    Args:
      workdir: folder of the CLCR run, which has the model.

    Returns:
      'clcr/entailment/{row}/{language}', the accuracy, with '_low' and '_high', and
      'clcr/entailment/{row}/gap', the target's accuracy less the source's.
    """
    folder = os.path.join(workdir, FOLDER, name)
    shutil.rmtree(folder, ignore_errors=True)  # of an interrupted start, on an older model file
    Transfer(row_config(config, workdir, name), folder).run()
    return figures(options.languages(config), name, row_figures(workdir, name))


def row_figures(workdir: str, name: str) -> dict[str, float]:
    """The figures of the finished run of a row."""
    return atomic.read_json(os.path.join(workdir, FOLDER, name, FIGURES))


def figures(
    languages: Sequence[str], name: str, accuracies: Mapping[str, float]
) -> dict[str, float]:
    """The figures of a row by their names in a CLCR run.

    Args:
      languages: the source and the target.
      accuracies: 'xnli/{language}/acc' of both languages, of several heads with '_low' and '_high'.
    """
    source, target = languages
    result = {}
    for language, end in itertools.product((target, source), ("", "_low", "_high")):
        figure = f"xnli/{language}/acc{end}"
        if figure in accuracies:
            result[f"clcr/entailment/{name}/{language}{end}"] = accuracies[figure]
    gap = accuracies[f"xnli/{target}/acc"] - accuracies[f"xnli/{source}/acc"]
    return {**result, f"clcr/entailment/{name}/gap": gap}
