"""README's deciding table, and the minutes of `clwe-jax list`: what the default runs cost and reach."""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, NamedTuple, Sequence

from benchmarks.ledger import orders, rows
from clwe_jax.report import evaluations
from clwe_jax.report.headline import Headline, choose_leading, mean_of
from clwe_jax.runs import forecast

README, MINUTES = "README.md", "configs/minutes.json"
BEGIN = "<!-- deciding table: python -m benchmarks.ledger render -->"
END = "<!-- end of the table -->"

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


class Choice(NamedTuple):
    """A line of the table.

    Attributes:
      have, want: a newcomer's case.
      config: the system, by its default run.
      label: name of the figure.
      headlines: those of which the leading one is shown.
    """

    have: str
    want: str
    config: str
    label: str
    headlines: Sequence[Headline]


_OF = evaluations.headlines()
_SENTENCES = "sentences found", _OF["retrieval"]
_VECTORS = "vectors of words and sentences"
LINES = (
    Choice("text, a dictionary", _VECTORS, "joint_dictionary", *_SENTENCES),
    Choice("a New Testament alone", _VECTORS, "bible", *_SENTENCES),
    Choice("a dictionary, no time to train", _VECTORS, "dictionary_vectors", *_SENTENCES),
    Choice(
        "texts that share documents, a dictionary",
        "vectors, and the translations in the texts",
        "mined_vectors",
        *_SENTENCES,
    ),
    Choice("text, a dictionary", "a language model, in minutes", "warm_dict_mlm", *_SENTENCES),
    Choice("text, a dictionary", "DICT-MLM from random parameters", "dict_mlm_50", *_SENTENCES),
    Choice(
        "vectors of each language, a dictionary",
        "one space of them",
        "align_vecmap",
        "words translated",
        _OF["bli"],
    ),
    Choice(
        "labels in one language",
        "named entities in the others",
        "ner_bilstm_crf",
        "F1",
        [Headline("zero_shot/ner/mean_f1", "F1")],
    ),
    Choice(
        "sentences and translations, a dictionary",
        "sentence vectors, a translator",
        "laser",
        *_SENTENCES,
    ),
    Choice("text in two languages", "a translator", "unsupervised_mt", "BLEU", _OF["bleu"]),
    Choice("ambiguous words", "their senses", "bi_saelmo_context", "purity", _OF["senses"]),
)
_SYSTEMS = "compare/*/minutes"  # of the training of a comparison's systems
_ABSENT = "–"  # of a system that was not measured


def filled(readme: str, by_name: Rows) -> str:
    """README's text with the table between its marks.

    Raises:
      ValueError: the marks are missing.
    """
    pattern = f"{re.escape(BEGIN)}.*?{re.escape(END)}"
    text, count = re.subn(
        pattern, lambda _: "\n".join([BEGIN, *table(by_name), END]), readme, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"{README}: expected one table between {BEGIN!r} and {END!r}")
    return text


def table(by_name: Rows) -> list[str]:
    """The lines of the table in Markdown; minutes are the processor's, GB the peak memory."""
    made = [
        "| you have | you want | `clwe-jax --config=` | minutes | GB | it reaches (floor) |",
        "|---|---|---|---|---|---|",
    ]
    for line in LINES:
        cells = [line.have, line.want, f"`{line.config}`", *([_ABSENT] * 3)]
        if some := by_name.get(line.config):
            memory = max(row["memory"]["host_peak"] for row in some) / 1e9
            cells[3:] = [f"{_minutes(some):.0f}", f"{memory:.1f}", _reached(line, some)]
        made.append(f"| {' | '.join(cells)} |")
    return made


def minutes(by_name: Rows, configs: Sequence[str]) -> str:
    """The content of minutes.json: config -> minutes of processor time of its default run, and its work."""
    known = {
        name: {
            "minutes": max(round(_minutes(by_name[name]), 1), 0.1),
            "work": forecast.count_work(by_name[name][0]["options"]),
        }
        for name in configs
        if name in by_name
    }
    return json.dumps(known, indent=1, sort_keys=True)


def _minutes(some: Sequence[Mapping[str, Any]]) -> float:
    return sum(map(_minutes_of, some)) / len(some)


def _minutes_of(row: Mapping[str, Any]) -> float:
    """The minutes of a run; of a comparison that kept some of its systems at least those of all of them."""
    figures = row["figures"]
    systems = [rows.value_and_error(figures[x])[0] for x in orders.matching(_SYSTEMS, figures)]
    return max(row["seconds"]["processor"] / 60, sum(systems))


def _reached(line: Choice, some: Sequence[Mapping[str, Any]]) -> str:
    measured = some[0]["figures"]
    headline = choose_leading(line.headlines, measured)
    if headline is None:
        return _ABSENT
    scale = 100 if headline.form == "percent" else 1
    floor = orders.figure(some, mean_of(headline.floor(measured)))
    below = "" if floor is None else f" ({scale * floor.value:.1f})"
    return f"{line.label}: {scale * orders.figure(some, headline.mean).value:.1f}{below}"
