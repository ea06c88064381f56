"""The options of a config with their descriptions, for `--help` and for messages on unknown ones."""

from __future__ import annotations

import difflib
import textwrap
from typing import Any

from clwe_jax.options.systems import Run, describe_options

# Options of a run of one kind -> their names in one of another.
_ELSEWHERE = {
    "train.steps": "embeddings.epochs",
    "train.batch_size": "embeddings.batch",
    "optimizer.learning_rate": "embeddings.learning_rate",
    "model.width": "embeddings.dim",
    "vocab.size": "embeddings.max_vocab",
    "vocab.min_count": "embeddings.min_count",
}
_WIDTH = 100
_COLUMN = 46  # where descriptions begin
_LONG = 24  # letters of a value in --help


def text(run: Run, title: str) -> str:
    """The options of a run for the terminal, in lines of at most 100 columns."""
    lines = [f"Options of {title} with their values; --config.OPTION=VALUE sets one:"]
    section = None
    for path, value, help in describe_options(run):
        head = path.rpartition(".")[0]
        if head != section:
            lines += [""]
            section = head
        name = f"  {path}={_shorten_value(value)}"
        lines += _wrap_lines(f"{name:<{_COLUMN - 2}}  {help}")
    return "\n".join(lines)


def explain_unknown(run: Run, path: str) -> str:
    """The message on an option that a run lacks, with the option that was probably meant."""
    names = [option for option, _, _ in describe_options(run)]
    leaf = path.rpartition(".")[2]
    namesakes = [name for name in names if name.rpartition(".")[2] == leaf]
    twin = {**_ELSEWHERE, **{y: x for x, y in _ELSEWHERE.items()}}.get(path)
    near = difflib.get_close_matches(path, names, n=1, cutoff=0.6)
    meant = [twin] if twin in names else namesakes[:3] or near
    advice = f"Did you mean {' or '.join(f'--config.{x}' for x in meant)}?" if meant else ""
    return f"config.{path}: the config has no such option. {advice or '--help lists them.'}"


def _wrap_lines(line: str) -> list[str]:
    """The lines of an option; those after the first one begin where its description does."""
    return textwrap.wrap(
        line,
        _WIDTH,
        subsequent_indent=" " * _COLUMN,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shorten_value(value: Any) -> str:
    """A value; of a long one the beginning and the end."""
    text = "''" if value == "" else str(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 6]}...{text[-6:]}"
