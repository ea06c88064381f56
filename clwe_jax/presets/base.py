"""Values that the presets of all families share."""

from __future__ import annotations

import importlib.util
from typing import Any, Callable, Mapping, TypeVar

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.options import shipped
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.systems import Run

T = TypeVar("T")
Values = Mapping[str, Mapping[str, Any]]

# Domains of the embedded world's text at `:laptop`; training on all domains would take hours.
DOMAINS = "money,nature,kitchen,sport,travel,school,music,animals"
YOUR_TEXT = dict(source="text:corpora", dictionaries="dictionaries")


def at(scale: str, kind: type[Run] = PretrainRun) -> ConfigDict:
    """The defaults of a kind of run, at a scale.

    Raises:
      ValueError: an unknown scale.
    """
    if scale not in options.SCALES:
        raise ValueError(
            f"Unknown scale {scale!r} after the config's ':'. Known: {', '.join(options.SCALES)}."
        )
    return options.config_dict(kind(scale=scale))


def set_values(config: ConfigDict, values: Values) -> ConfigDict:
    """Sets options, section by section, and returns the config."""
    for section, changes in values.items():
        config[section].update(changes)
    return config


def translation(scale: str) -> ConfigDict:
    """Text of a translation model, without evaluations; its config file sets all else."""
    config = at(scale)
    if scale == "laptop":
        config.data.pocket_domains = DOMAINS
    else:
        config.data.update(YOUR_TEXT)
        config.train.log_every_steps = 100
    if scale in ("base", "paper"):
        config.vocab.sample_bytes = 100_000_000
    config.evals = ConfigDict()
    return config


def pick_for(scale: str) -> Callable[[T, T, T, T], T]:
    """A function of the values at laptop, small, base and paper, which returns that of the scale."""
    place = options.SCALES.index(scale)

    def pick(laptop: T, small: T, base: T, paper: T) -> T:
        return (laptop, small, base, paper)[place]

    return pick


def start_from(name: str, scale: str, **values: Any) -> ConfigDict:
    """The config of another file of `configs/`, from which a variant of its system begins.

    Args:
      name: of the file, such as 'dict_mlm_50'.
      values: further arguments of its `get_config`.
    """
    path = shipped.folder(shipped.CONFIGS) / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"clwe_jax_config_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_config(scale, **values)
