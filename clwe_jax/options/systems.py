"""All options of a run: what every kind of run shares, and the way from a ConfigDict and back.

A config file makes a ConfigDict, whose values --config.OPTION=VALUE overrides. `parse` makes it the
options of a kind of run, once, where a program begins; functions receive the sections they read.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from types import MappingProxyType
from typing import Annotated, Any, Iterator, Mapping

from ml_collections import ConfigDict

from clwe_jax import registry
from clwe_jax.options.section import (
    Count,
    OneOf,
    Options,
    change_section,
    helps,
    inner,
    option,
    options_of,
    to_dict,
)
from clwe_jax.options.text import PAIRS, SOURCE

SCALES = ("laptop", "small", "base", "paper")
# A section that one kind of run alone has -> its options; others are language models.
_KINDS = {
    "compare": "clwe_jax.options.compare:CompareRun",
    "clcr": "clwe_jax.options.clcr:ClcrRun",
    "transfer": "clwe_jax.options.transfer:TransferRun",
    "static": "clwe_jax.options.static:StaticRun",
}
_PRETRAINED = "clwe_jax.options.pretrain:PretrainRun"
JOBS = tuple(
    job for job in registry.TABLES["job"] if job not in _KINDS
)  # of runs without such a section


class _Job:
    """The jobs that the registry trains, or whose folders it loads, when a value is checked.

    Those of a kind of run with a section of its own are for runs of that kind alone.
    """

    def __contains__(self, value: str) -> bool:
        jobs = registry.TABLES["job"].keys() | registry.TABLES["loader"].keys()
        return value in jobs - _KINDS.keys()

    def __str__(self) -> str:
        return f"one of {', '.join(JOBS)}"


@dataclasses.dataclass(frozen=True)
class Run(Options):
    """All options of a run.

    Kinds of run have further sections, among them `data` and `report`.
    """

    job: Annotated[str, _Job()] = option("pretrain", f"one of {', '.join(JOBS)}")
    system: str = option("", "the name shown in reports")
    scale: Annotated[str, OneOf(*SCALES)] = option(
        "laptop", "scale of the config, as in --config=FILE:SCALE"
    )
    seed: Count = option(0, "seed of parameters, masks, dropout and the embedded world's text")

    evals = MappingProxyType({})  # of kinds of run that no evaluators measure

    @property
    def parallel(self) -> str:
        """The parallel text that the task reads; '' without."""
        return ""

    @property
    def training_pairs(self) -> str:
        """The place of config.data.pairs without the verses that are held out; '' for none."""
        pairs = getattr(self.data, "pairs", "")
        held_out = getattr(self.data, "held_out", "")
        return f"{pairs}@-{held_out}" if pairs and held_out else pairs

    @property
    def finish_pairs(self) -> str:
        """The parallel text of the finish; '' for a finish on copies, or none."""
        return ""

    @property
    def given_vectors(self) -> dict[str, str]:
        """Option -> file of vectors that the run aligns and does not train."""
        return {}

    @property
    def reads_text(self) -> bool:
        """Whether the run reads the text of config.data.source: given vectors need none."""
        return not self.given_vectors

    @property
    def vocabulary_path(self) -> str:
        """The vocabulary that is given; '' for one that is made, or none."""
        return ""

    @property
    def learns_from_mined(self) -> bool:
        """Whether a language model starts from vectors that learned from mined sentences."""
        return False

    @property
    def has_own_data(self) -> bool:
        """Whether the run reads its own text or vectors, and not the embedded world's."""
        pairs = getattr(self.data, "pairs", "")
        follow = self.data.source == PAIRS and pairs in (SOURCE, "pocket")
        return self.data.source != "pocket" and not follow

    def resolve(self) -> Run:
        """The options with 'pocket' or '' in the place of 'source', the mark of data that follow.

        These are config.data.dictionaries, config.data.pairs, config.task.parallel and the option `data`
        of all evaluators. A run on its own text or vectors has no such data unless its config names them.
        An evaluator's 'pairs' becomes the place of the verses that are held out.
        """
        value = "" if self.has_own_data else "pocket"
        data = self.data
        if data.dictionaries == SOURCE:
            data = dataclasses.replace(data, dictionaries=value)
        if getattr(data, "pairs", "") == SOURCE:
            data = dataclasses.replace(data, pairs=value)
        values = {SOURCE: value}
        if getattr(data, "pairs", "") and data.held_out:
            values[PAIRS] = f"{data.pairs}@{data.held_out}"
        evals = {
            key: dataclasses.replace(x, data=values[x.data]) if _data(x) in values else x
            for key, x in self.evals.items()
        }
        return dataclasses.replace(self, data=data, **({"evals": evals} if evals else {}))

    def check_all(self) -> None:
        """Raises ValueError for settings that cannot work together; of resolved options."""
        _check_pairs(self)
        for path, part in parts(self):
            part.check(self, path)
        self.check(self, "config")


def _data(section: Options) -> str:
    """The option `data` of an evaluator; '' where it has none."""
    return getattr(section, "data", "")


def _check_pairs(run: Run) -> None:
    """Raises ValueError where verses are held out, or tested, without text that has verses."""
    pairs = getattr(run.data, "pairs", "")
    held_out = getattr(run.data, "held_out", "")
    if held_out and pairs in ("", "pocket", "mined"):
        raise ValueError(
            f"config.data.held_out={held_out} are verses, and config.data.pairs={pairs!r} has none: name a "
            "folder of verse files, --config.data.pairs=DIR (docs/data.md)"
        )
    if held_out and "@" in pairs and not os.path.exists(pairs):
        raise ValueError(
            f"config.data.pairs={pairs} selects verses beside config.data.held_out={held_out}: name the folder "
            "alone, and all verses that training leaves out in config.data.held_out"
        )
    for key in (key for key, section in run.evals.items() if _data(section) == PAIRS):
        raise ValueError(
            f"config.evals.{key}.data={PAIRS!r} tests verses that training leaves out: name them and their folder, "
            f"--config.data.held_out=JHN --config.data.pairs=DIR, or test none, --config.evals.{key}.data=''"
        )


def load(argument: str) -> ConfigDict:
    """The config of `--config=FILE[:SCALE]`.

    Raises:
      ValueError: an unknown scale, or a file that is no config.
    """
    path, _, scale = argument.partition(":")
    name = os.path.splitext(os.path.basename(path))[0]
    config = None
    if spec := importlib.util.spec_from_file_location(f"config_{name}", path):
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if get_config := getattr(module, "get_config", None):
            config = get_config(scale) if scale else get_config()
    if not isinstance(config, ConfigDict):
        raise ValueError(
            f"{path} is no config: expected a .py file whose get_config(scale) returns a ConfigDict"
        )
    return config


def from_file(argument: str, values: Mapping[str, Any] = {}) -> Run:
    """The options of FILE[:SCALE] with some other values, as of `with_values`; errors as of both."""
    return with_values(parse(load(argument)), values)


def parse(config: ConfigDict | Mapping[str, Any]) -> Run:
    """The options of a config.

    Raises:
      ValueError: an option that this kind of run lacks, or a value that is not allowed.
    """
    values = config.to_dict() if isinstance(config, ConfigDict) else config
    kind = next((target for name, target in _KINDS.items() if name in values), _PRETRAINED)
    # A config that names evaluators has these alone.
    run = registry.import_target(kind)(**({"evals": {}} if values.get("evals") else {}))
    return with_values(run, values)


def with_values(run: Run, values: Mapping[str, Any]) -> Run:
    """A run's options with other values: {'train.steps': 10}, or {'train': {'steps': 10}}.

    Raises:
      ValueError: as of `parse`.
    """
    nested: dict[str, Any] = {}
    for path, value in values.items():
        *outer, name = path.split(".")
        node = nested
        for part in outer:
            node = node.setdefault(part, {})
        node[name] = value
    return change_section(run, nested, "config", registry.options_class)


def config_dict(run: Run) -> ConfigDict:
    """The ConfigDict of a run's options, for a config file."""
    return ConfigDict(to_dict(run))


def section_of(kind: str, name: str, **values: Any) -> ConfigDict:
    """The section of a class of the registry, for a config file.

    Args:
      kind: a table of the registry: 'task', 'model', 'objective', 'evaluator' or 'head'.
      name: a name in it.
      values: options that differ from their defaults.
    """
    default = registry.options_class(kind, name)()
    return ConfigDict(
        to_dict(change_section(default, values, f"config.{kind}", registry.options_class))
    )


def parts(run: Run) -> list[tuple[str, Options]]:
    """(path, section) of all sections of a run, outer ones first."""

    def below(part: Options, path: str) -> Iterator[tuple[str, Options]]:
        for field in options_of(type(part)):
            for key, entry in inner(part, field).items():
                yield f"{path}.{key}", entry
                yield from below(entry, f"{path}.{key}")

    return list(below(run, "config"))


def describe_options(run: Run) -> list[tuple[str, Any, str]]:
    """(path without 'config.', value, help) of all options."""
    return list(helps(run, names=registry.TABLES))
