"""What training reads: batches made on the fly from text, or prepared ones without TensorFlow."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable, Mapping, Sequence

import jax
from jax.experimental import multihost_utils
from ml_collections import ConfigDict
import numpy as np

from clwe_jax import registry
from clwe_jax.data import prepared as prepared_batches
from clwe_jax.text import translations, world as worlds
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.training import partition
from clwe_jax.types import Batch, BatchSource

_EXAMPLES = 12  # code-switched sentences in the report


@dataclasses.dataclass(frozen=True, eq=False)
class Feed:
    """Everything that the training job takes from the data.

    Attributes:
      tokenizer: the run's, also in WORKDIR/vocab.
      source: this host's training batches.
      heldout: a language: its held-out batches.
      folders: see `text.world.resolve_folders`.
      frequent: a language: its frequent words, where they are known.
      sample: a language: a few lines of text, where there is text.
      description: what the report shows of the text side.
      examples: makes code-switched sentences for the report.
      translations: int32 [V, languages, T], the words of each language that translate each word of a
        word-level vocabulary; None where the objective translates none.
      domains: of the embedded world's text; all where there are none.
    """

    tokenizer: Tokenizer
    source: BatchSource
    heldout: Mapping[str, Sequence[Batch]]
    folders: Mapping[str, str]
    frequent: Mapping[str, Sequence[str]]
    sample: Mapping[str, Sequence[str]]
    description: dict[str, Any]
    examples: Callable[[], list[dict[str, Any]]]
    translations: np.ndarray | None = None
    domains: tuple[str, ...] = ()


def build(config: ConfigDict, workdir: str) -> Feed:
    """The feed that `config.data.source` names.

    Raises:
      ValueError, FileNotFoundError: no text, dictionary, batches or evaluation set where the config
        says, or some that do not fit it.
    """
    if config.data.source.startswith("batches:"):
        return _from_batches(config, workdir)
    return _from_text(config, workdir)


def _first_host_first(make: Callable[[], Any]) -> Any:
    """Calls `make` on the first host, then on the others, which find what it has written."""
    if jax.process_count() == 1:
        return make()
    if jax.process_index() > 0:
        multihost_utils.sync_global_devices("the first host has written")
        return make()
    made = make()
    multihost_utils.sync_global_devices("the first host has written")
    return made


def _from_text(config: ConfigDict, workdir: str) -> Feed:
    world = _first_host_first(lambda: worlds.build(config, workdir))
    spec = config.task.to_dict()
    if "parallel" in spec:
        spec["parallel"] = world.folders["parallel"]
    source, heldout, examples = _streams(config, registry.build("task", spec), world)
    return Feed(
        tokenizer=world.tokenizer,
        source=source,
        heldout=heldout,
        folders=world.folders,
        frequent=world.frequent,
        sample=world.sample(),
        description=worlds.describe(world, config.data.temperature),
        examples=examples,
        translations=_translations(config, world),
        domains=tuple(name for name in config.data.pocket_domains.split(",") if name),
    )


def _streams(config: ConfigDict, task: Any, world: worlds.World) -> tuple[Any, Any, Any]:
    """The training batches, the held-out ones, and what makes code-switched examples."""
    # TensorFlow takes its seconds only where it is needed.
    from clwe_jax.data.graph import pipeline

    made = pipeline.build(
        config.data,
        task=task,
        tokenizer=world.tokenizer,
        dictionary=world.dictionary,
        text=world.text,
        batch_size=partition.host_rows(config.train.batch_size),
        seed=config.seed,
        process_index=jax.process_index(),
        process_count=jax.process_count(),
    )
    source = made.source()
    return source, made.heldout(config.evals.mlm.batches), lambda: made.examples(_EXAMPLES)


def _translations(config: ConfigDict, world: worlds.World) -> np.ndarray | None:
    if config.objective.get("translation", "none") == "none" or world.dictionary is None:
        return None
    tokenizer = world.tokenizer
    return translations.table(world.dictionary, tokenizer.vocabulary, tokenizer.languages).ids


def _from_batches(config: ConfigDict, workdir: str) -> Feed:
    directory = config.data.source.removeprefix("batches:")
    prepared = prepared_batches.open_folder(directory)
    prepared.check(config)
    tokenizer = prepared.tokenizer

    def write() -> dict[str, str]:
        folder = os.path.join(workdir, "vocab")
        if not os.path.exists(os.path.join(folder, "text.json")):
            tokenizer.save(folder)
        return worlds.resolve_folders(config, workdir)

    rows = partition.host_rows(config.train.batch_size)
    host = dict(process_index=jax.process_index(), process_count=jax.process_count())
    return Feed(
        tokenizer=tokenizer,
        source=prepared.source(batch_size=rows, seed=config.seed, **host),
        heldout=prepared.heldout(batch_size=rows, most=config.evals.mlm.batches, **host),
        folders=_first_host_first(write),
        frequent=prepared.extras.get("frequent", {}),
        sample=prepared.extras.get("sample", {}),
        description=prepared.extras.get("description", {}),
        examples=lambda: prepared.extras.get("examples", []),
    )
