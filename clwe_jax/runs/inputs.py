"""The input of training: batches that the graph makes from text, or prepared batches."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import Any, Callable, Mapping, Sequence

import jax
from jax.experimental import multihost_utils
from jax.sharding import Mesh
import numpy as np

from clwe_jax import options
from clwe_jax.data import prepared as prepared_batches
from clwe_jax.data import translation
from clwe_jax.evaluate.context import Context
from clwe_jax.options.objectives import SenseLossOptions
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import Options
from clwe_jax.options.tasks import Copies, Sentences, Translation
from clwe_jax.options.training import FinishOptions
from clwe_jax.runs import evaluators
from clwe_jax.text.dictionary import translations as tables
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.text import text_of_run
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.text_of_run import RunText
from clwe_jax.training import partition
from clwe_jax.types import Batch, BatchSource

_PREPARED = "batches:"
_EXAMPLES = 12  # code-switched sentences in the report


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """The batches of this host.

    Attributes:
      heldout: language -> its held-out batches.
      examples: function that makes code-switched sentences for the report.
      labels: the labels of the entries that batches name; None where the batches have the labels.
    """

    source: BatchSource
    heldout: Mapping[str, Sequence[Batch]]
    examples: Callable[[], list[dict[str, Any]]]
    labels: LabelTable | None = None


def open_run_text(config: PretrainRun, workdir: str) -> RunText:
    """The text, vocabulary and dictionary of a run, from the text or batches of its source.

    Raises:
      FileNotFoundError: a text, a dictionary, batches or a test set that the config names is
        missing.
      ValueError: one of them does not fit the config.
    """
    source = config.data.source
    if not source.startswith(_PREPARED):
        return _first_host_first(lambda: text_of_run.build(config, workdir))
    prepared = prepared_batches.open_folder(source.removeprefix(_PREPARED))
    prepared.check(config)

    def write() -> dict[str, str]:
        folder = os.path.join(workdir, "vocab")
        if not os.path.exists(os.path.join(folder, "text.json")):
            prepared.tokenizer.save(folder)
        return text_of_run.resolve_folders(config, workdir)

    counts = prepared.extras.get("counts")
    return RunText(
        tokenizer=prepared.tokenizer,
        folders=_first_host_first(write),
        text=source,
        frequent=prepared.extras.get("frequent", {}),
        frequencies=Frequencies.from_json(counts) if counts else None,
        sample=prepared.extras.get("sample", {}),
        description=prepared.extras.get("description", {}),
    )


def check(config: options.Run, workdir: str, pairs: Sequence[tuple[str, str]] = ()) -> None:
    """Finds the inputs and the test sets of a run, and writes nothing.

    Args:
      config: the run's config.
      workdir: the run's folder.
      pairs: directions to evaluate.

    Raises:
      ValueError, FileNotFoundError: as of `open_run_text` and `evaluators.build`, for all that shows
        before the text is read.
    """
    source = config.data.source
    if source.startswith(_PREPARED):
        prepared_batches.open_folder(source.removeprefix(_PREPARED)).check(config)
    text_of_run.check(config, workdir)
    folders = text_of_run.folders_of(config, workdir)
    normalizer = text_of_run.normalizer_of(config)
    # Static vectors have one layer; a model those of its options and the embedding output.
    layers = config.model.layers + 1 if isinstance(config, PretrainRun) else 1
    names = options.languages(config)
    context = Context(languages=names, normalizer=normalizer, pairs=pairs, layers=layers)
    data_folders = {x: "" if text_of_run.in_pocket(y, workdir) else y for x, y in folders.items()}
    evaluators.check(config.evals, context, data_folders)


def folders_without_text(config: PretrainRun, workdir: str) -> dict[str, str]:
    """The folders behind the options of a run that reads no text of its own."""
    # Without a source the embedded world's text is not written.
    return text_of_run.resolve_folders(
        options.with_values(config, {"data.source": "text:"}), workdir
    )


def build(config: PretrainRun, run_text: RunText) -> Inputs:
    """This host's batches of `config.data.source`.

    Raises:
      ValueError, FileNotFoundError: as for `open_run_text`.
    """
    mesh = partition.make_mesh(config.mesh)
    host, rows = _host_share(mesh, config.train.batch_size)
    if config.data.source.startswith(_PREPARED):
        prepared = prepared_batches.open_folder(config.data.source.removeprefix(_PREPARED))
        return Inputs(
            prepared.source(seed=config.seed, **rows, **host),
            prepared.heldout(max_batches=_max_heldout(config), **rows, **host),
            lambda: prepared.extras.get("examples", []),
            prepared.labels(),
        )
    if isinstance(config.task, Translation | Sentences):
        source = _translations(config, config.task, run_text, {**rows, **host})
        return Inputs(source, {}, lambda: [])
    # Importing TensorFlow takes seconds, which runs on prepared batches save.
    from clwe_jax.data.graph import pipeline

    shards = partition.row_shards(mesh)
    batches = dataclasses.replace(pipeline.of_run(config, run_text, **rows, **host), shards=shards)
    return Inputs(
        batches.source(),
        batches.heldout(_max_heldout(config)),
        lambda: batches.examples(_EXAMPLES),
        batches.labels(),
    )


def _translations(
    config: PretrainRun, task: Translation | Sentences, run_text: RunText, share: Mapping[str, int]
) -> BatchSource:
    """The batches of a model of translation or of sentences; `share`: of this host."""
    tokenizer = run_text.tokenizer
    length = config.data.sequence_length
    if isinstance(task, Translation):
        pieces = translation.encode(task, run_text.folders["parallel"], tokenizer, length)
    else:
        pieces = translation.sentences(task, run_text.corpus, tokenizer, length)
    return translation.TranslationSource(
        pieces,
        tokenizer.vocabulary.pad_id,
        task.widths,
        temperature=config.data.temperature,
        seed=config.seed,
        **share,
    )


def copies(config: PretrainRun, run_text: RunText) -> BatchSource:
    """This host's batches of sentences and their copies or translations, for the contrastive finish."""
    from clwe_jax.data.graph import pipeline
    from clwe_jax.training import finish  # imports optax and orbax, which static vectors do without

    host, rows = _host_share(partition.make_mesh(config.mesh), config.finish.batch_size)
    task = Copies(
        parallel=run_text.folders["finish"],
        copy_switch_rate=config.finish.copy_switch_rate,
        drop=config.finish.drop,
    )
    config = options.with_values(config, {"data.sequence_length": finish.length(config)})
    return pipeline.of_run(config, run_text, **rows, **host, task=task).source()


def pool_weights(settings: FinishOptions, run_text: RunText) -> np.ndarray | None:
    """The SIF weights of the pieces in the finish, float32 [languages, V]; None for their mean."""
    if settings.pool == "mean":
        return None
    vocabulary = run_text.tokenizer.vocabulary
    weights = np.ones((len(run_text.languages), vocabulary.size), np.float32)
    for row, language in zip(weights, run_text.languages, strict=True):
        row[: len(vocabulary)] = run_text.frequencies.piece_weights(language, vocabulary)
    return weights


def context(run_text: RunText, heldout: Mapping[str, Sequence[Batch]] = {}) -> Context:
    """The attributes of a run that its evaluators share."""
    return Context(
        languages=run_text.languages,
        normalizer=run_text.tokenizer.normalizer,
        tokenizer=run_text.tokenizer,
        heldout=heldout,
        sample=run_text.sample,
        domains=run_text.domains,
    )


def translations(objective: Options, run_text: RunText) -> np.ndarray | None:
    """int32 [V, languages, T]: ids of each word's translations into each language, padded with -1.

    None for an objective without translation or a run without a dictionary.
    """
    if not isinstance(objective, SenseLossOptions) or not objective.translation_share:
        return None
    if run_text.dictionary is None:
        return None
    tokenizer = run_text.tokenizer
    return tables.table(run_text.dictionary, tokenizer.vocabulary, tokenizer.languages).ids


def _max_heldout(config: PretrainRun) -> int:
    """The maximum number of held-out batches of a language."""
    return config.evals["mlm"].batches or sys.maxsize


def _host_share(mesh: Mesh, batch_size: int) -> tuple[dict[str, int], dict[str, int]]:
    """The share of the data that this host reads, and its rows of a batch, as arguments."""
    share, shares = partition.row_share(mesh)
    rows = partition.host_rows(batch_size, shares)
    return dict(process_index=share, process_count=shares), dict(batch_size=rows)


def _first_host_first(make: Callable[[], Any]) -> Any:
    """Calls `make` on the first host, then on the others, which find the files of the first."""
    if jax.process_count() == 1:
        return make()
    if jax.process_index() > 0:
        multihost_utils.sync_global_devices("the first host has written")
        return make()
    result = make()
    multihost_utils.sync_global_devices("the first host has written")
    return result
