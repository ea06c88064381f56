"""The options of a config with their descriptions, for `--help` and for messages.

The descriptions are those that programmers read: the comment at an option of `config.py` or of a
preset, and the field's entry in the docstring of the class that a section names.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib.util
import io
import os
import textwrap
import tokenize
from typing import Any, Iterator, NamedTuple

from ml_collections import ConfigDict

from clwe_jax import fields, registry, validation

_SHARED = "config.py"
# Section that one preset alone makes -> the file of this preset. A config's help comes from the
# preset that builds it, then from `_SHARED`.
_PRESETS = {
    "clcr": "presets/clcr.py",
    "transfer": "presets/transfer.py",
    "static": "presets/vectors.py",
}
_OTHERS = "presets/words.py"  # of language models
# Options of a config of one job -> their names in a config of another.
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


class Option(NamedTuple):
    """An option: its path without 'config.', its value and its description ('' without one)."""

    path: str
    value: Any
    help: str


def load(argument: str) -> ConfigDict:
    """The config of `--config=FILE[:SCALE]`.

    Raises:
      ValueError: an unknown scale.
    """
    path, _, scale = argument.partition(":")
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(f"config_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_config(scale) if scale else module.get_config()


def options(config: ConfigDict) -> list[Option]:
    """All options of a config in its order."""
    by_class: dict[str, str] = {}
    for section, target in validation.sections(config):
        for key, field in fields.of(target).items():
            by_class.setdefault(f"{section}.{key}", field.help)
            if field.options:
                inner = fields.of(field.options)
                by_class |= {f"{section}.{key}.{name}": x.help for name, x in inner.items()}
    preset = next((file for name, file in _PRESETS.items() if name in config), _OTHERS)
    by_comment = {**_comments(_SHARED), **_comments(preset)}
    names = {f"{section}.name": registry.TABLES[kind] for kind, section in validation.named(config)}
    found = []
    for path, value in _leaves(config, ""):
        text = by_comment.get(path) or by_class.get(path, "")
        above = path
        while not text and "." in above:  # a mapping, whose keys no class declares
            above = above.rpartition(".")[0]
            text = by_class.get(above, "")
        if path in names:
            text = f"one of {', '.join(names[path])}"
        found.append(Option(path, value, text))
    return found


def text(config: ConfigDict, title: str) -> str:
    """The options of a config for the terminal, in lines of at most 100 columns."""
    lines = [f"Options of {title} with their values; --config.OPTION=VALUE sets one:"]
    section = None
    for option in options(config):
        head = option.path.rpartition(".")[0]
        if head != section:
            lines += [""]
            section = head
        name = f"  {option.path}={_written(option.value)}"
        lines += _filled(f"{name:<{_COLUMN - 2}}  {option.help}")
    return "\n".join(lines)


def unknown(config: ConfigDict, path: str) -> str:
    """The message on an option that a config lacks, with the option that was probably meant."""
    known = [option.path for option in options(config)]
    leaf = path.rpartition(".")[2]
    same = [other for other in known if other.rpartition(".")[2] == leaf]
    twin = {**_ELSEWHERE, **{y: x for x, y in _ELSEWHERE.items()}}.get(path)
    near = difflib.get_close_matches(path, known, n=1, cutoff=0.6)
    meant = [twin] if twin in known else same[:3] or near
    advice = f"Did you mean {' or '.join(f'--config.{x}' for x in meant)}?" if meant else ""
    return f"config.{path}: the config has no such option. {advice or '--help lists them.'}"


def _filled(text: str) -> list[str]:
    """The lines of an option; those after the first one begin where its description does."""
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent=" " * _COLUMN, drop_whitespace=True,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _written(value: Any) -> str:
    """A value; of a long one the beginning and the end."""
    text = "''" if value == "" else str(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 6]}...{text[-6:]}"


def _leaves(section: ConfigDict, prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, ConfigDict) and len(value):
            yield from _leaves(value, f"{prefix}{key}.")
        elif prefix or not isinstance(value, ConfigDict):
            yield f"{prefix}{key}", value.to_dict() if isinstance(value, ConfigDict) else value


@functools.cache
def _comments(name: str) -> dict[str, str]:
    """Path of an option -> the comment behind its default, or the lines of comments above it.

    Args:
      name: a file with options, beside this one.
    """
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        source = file.read()
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and not token.string.startswith("# fmt:")
    }
    alone = {i for i, line in enumerate(source.splitlines(), 1) if line.lstrip().startswith("#")}
    found: dict[str, str] = {}
    for prefix, call in _made_configs(ast.parse(source)):
        for path, first, last in _keywords(call, prefix):
            above = first
            while above - 1 in alone:
                above -= 1
            block = " ".join(comments[line] for line in range(above, first))
            if text := comments.get(last, block):
                found[path] = text
    return found


def _made_configs(module: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The calls of ConfigDict, each with the path that it is assigned to and a dot, or ''."""
    for node in ast.walk(module):
        value = node.value if isinstance(node, (ast.Assign, ast.Return)) else None
        if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "ConfigDict"):
            continue
        place = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else "config"
        _, _, path = place.partition(".")
        yield (f"{path}." if path else ""), value


def _keywords(call: ast.Call, prefix: str) -> Iterator[tuple[str, int, int]]:
    """The paths of the keywords of nested `dict` calls, and the first and last line of each."""
    for argument in call.args:
        if isinstance(argument, ast.Call):
            yield from _keywords(argument, prefix)
    for keyword in call.keywords:
        path = f"{prefix}{keyword.arg}"
        if isinstance(keyword.value, ast.Call):
            yield from _keywords(keyword.value, f"{path}.")
        else:
            yield path, keyword.lineno, keyword.value.end_lineno
