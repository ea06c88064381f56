"""Results of a transfer run by the languages' families and by the size of their text (D12)."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from clwe_jax import atomic
from clwe_jax.report import data
from clwe_jax.report.data import Chart, Column, Language, Line, Number, Table
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.results import Scores

# Families as in the paper's figures; below Indo-European its branches.
_FAMILIES = {
    "Germanic": "en de nl af da sv no nb nn is fy nds lb bar sco",
    "Romance": "es fr it pt ro ca gl oc an ast lmo pms scn",
    "Slavic": "ru pl cs sk uk be bg mk sr hr sh bs sl",
    "Indo-Aryan": "hi bn ur mr ne pa gu",
    "Other Indo-European": "el hy fa tg lt lv sq ga cy br la",
    "Uralic": "fi et hu",
    "Turkic": "tr az ba kk ky uz tt cv",
    "Semitic": "ar he",
    "Austronesian": "id ms jv su tl war ceb min mg",
    "Dravidian": "ta te ml kn",
    "Sino-Tibetan": "zh my new",
    "Japonic": "ja",
    "Koreanic": "ko",
    "Kartvelian": "ka",
    "Basque": "eu",
    "Other": "",
}
_MIN_RATIO = 2  # of the largest text to the smallest, from which on the sizes are shown
_FAMILY_OF: dict[str, str] = {}
for _name, _languages in _FAMILIES.items():
    _FAMILY_OF |= dict.fromkeys(_languages.split(), _name)


def family(language: str) -> str:
    """The family of a language by its code, or 'Other'."""
    return _FAMILY_OF.get(language, "Other")


def section(labelled: LabelledData, scores: Scores, encoder: str) -> data.Section | None:
    """Tables and a curve; None where no family has two languages and the sizes are similar.

    Args:
      encoder: place of the encoder; the report of `run:DIR` has the size of its text.
    """
    task = labelled.task
    metric = labelled.task.metric
    means = {
        language: float(np.mean([score[metric] for score in seeds]))
        for language, seeds in scores.items()
        if language not in labelled.labelled
    }
    sizes = {x: n for x, n in _words(encoder).items() if x in means and n > 0}
    families = sorted({family(language) for language in means})
    has_groups = 1 < len(families) < len(means)
    has_sizes = bool(sizes) and max(sizes.values()) >= _MIN_RATIO * min(sizes.values())
    if not has_groups and not has_sizes:
        return None
    title = "F1" if metric == "f1" else "Accuracy"
    rows = []
    for name in families:
        family_languages = [language for language in means if family(language) == name]
        mean = float(np.mean([means[language] for language in family_languages]))
        rows.append([name, ", ".join(family_languages), Number(mean, "percent")])
    blocks: list[Any] = []
    if has_groups:
        blocks.append(Table(["Family", "Languages", Column(title, "percent")], rows))
    text = "The languages without labels."
    if has_sizes:
        order = sorted(sizes, key=sizes.__getitem__)
        columns = ["Language", Column("Words", "count"), Column(title, "percent")]
        cells = [
            [Language(x), Number(float(sizes[x]), "count"), Number(means[x], "percent")]
            for x in order
        ]
        blocks.append(Table(columns, cells, title="By size of the encoder's text"))
        groups = families if has_groups else [""]
        lines = []
        for name in groups:
            members = [x for x in order if name in ("", family(x))]
            points = [[math.log10(sizes[x]), means[x]] for x in members]
            lines.append(Line(name, compare=False, points=points))
        blocks.append(
            Chart(
                f"{title} by size of the text and family"
                if has_groups
                else f"{title} by size of the text",
                lines,
                x="log10 of the number of words",
                form="percent",
            )
        )
        text += " The words are those of the text that the encoder learned from."
    return data.Section(f"{task.title}: by family and size of text", text, blocks)


def _words(encoder: str) -> dict[str, int]:
    """Language -> number of words of the encoder's text; {} where its run does not say."""
    kind, _, folder = encoder.partition(":")
    if kind != "run":
        return {}
    try:
        languages = atomic.read_json(os.path.join(folder, "report.json"))["languages"]
        return {x: entry["words"] for x, entry in languages.items()}
    except (OSError, KeyError, ValueError):
        return {}
