"""Transfer with a frozen encoder, or with embedders that learn with the head: all seeds at once."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import os
import time
from typing import Any, Mapping, Sequence
import zipfile

from absl import logging
import numpy as np

from clwe_jax import atomic
from clwe_jax.api.transfer import CENTERS, HEADS
from clwe_jax.data.arrays import ArraySource
from clwe_jax.evaluate import features
from clwe_jax.evaluate.features import PieceTable, Table, Vectors, joined, of_spans
from clwe_jax.evaluate.labeller import Frozen, Labels
from clwe_jax.jobs.kept import Kept
from clwe_jax.jobs.transfer_data import LabelledData, Rows
from clwe_jax.models import labelling
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.transfer import TransferRun
from clwe_jax.training import build, heads
from clwe_jax.training.heads import Recipe

_WIDTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclasses.dataclass(frozen=True)
class Layer:
    """The trained heads on one layer, or on a mix of layers.

    Attributes:
      name: '' or 'layer3'.
      layers: the layers of the features that they read.
      predictor: the heads.
      facts: 'history' and 'losses' [epochs][seeds], 'best' [seeds], 'rows', 'seconds', 'cut'; and
        'all_seconds', which counts compilation and development sets too.
    """

    name: str
    layers: slice
    predictor: Frozen
    facts: Mapping[str, Any]

    @property
    def development(self) -> np.ndarray:
        """The development figure of each seed, at its best epoch."""
        return np.max(self.facts["history"], axis=0)


class FrozenTransfer:
    """Features, heads and predictions of a run; features and heads are kept in its folder.

    Attributes:
      cut: reason -> number of training rows that lost their end.
    """

    def __init__(
        self,
        config: TransferRun,
        workdir: str,
        data: LabelledData,
        source: Vectors | PieceTable,
        made_with: Mapping[str, Any],
        initial: Mapping[str, np.ndarray],
    ):
        """Args:
        config, workdir: the run's.
        data: labelled rows.
        source: makes the features.
        made_with: facts of the encoder, for the records of what is kept.
        initial: see `heads.fit`.
        """
        self._initial = initial
        self._config, self._workdir, self._data, self._source = config, workdir, data, source
        settings = config.transfer
        self._made_with = {
            **made_with, "files": dict(data.files), "seed": config.seed, "task": settings.task,
            "translated": dict(data.coverage), "rows": settings.rows, "words": settings.words, "dev": settings.dev,
            "lower_case": settings.lower_case,
            "features": str(getattr(source, "layers", "")), "pool": "after the mix",
        }  # fmt: skip
        self.cut: dict[str, int] = {}
        self._features: dict[str, Table] = {}

    def features(self) -> None:
        """Computes the features of all rows; those of an earlier start are read."""
        for split, sets in (
            ("train", self._data.train), ("dev", self._data.dev), ("test", self._data.tests)
        ):  # fmt: skip
            for language, rows in sets.items():
                self._features[f"{split} {language}"] = self._kept(split, language, rows)
        self._centers = None
        if self._config.transfer.center:
            self._centers = self._means()
            for name, table in self._features.items():
                center = self._centers[name.partition(" ")[2]]
                self._features[name] = features.centered(table, center, self._workdir)

    def _kept(self, split: str, language: str, rows: Rows) -> Table:
        make = functools.partial(self._table, rows, self._data.spoken(language, split))
        if isinstance(self._source, PieceTable):
            return make()  # faster than reading a file
        path = os.path.join(self._workdir, "features", f"{split}.{language}.npz")
        made_with = {**self._made_with, "count": len(rows)}
        Kept(path, made_with, make, _save_table, _load_table).result()
        return _load_table(path)  # without the temporary file of a table made now

    def _table(self, rows: Rows, language: str) -> Table:
        given = self._data.given(rows)
        if self._data.spans:
            return of_spans(self._source, given, language)
        if self._data.tags:
            return self._source.of_sentences(given, language)
        return self._source.of_texts(given, language)

    def _means(self) -> dict[str, np.ndarray]:
        """The mean features of each language: over its training rows, else over its test rows."""
        means = {}
        for split in ("test", "dev", "train"):
            for name, table in self._features.items():
                if name.startswith(split):
                    words = np.concatenate([x for row in table.rows for x in row])
                    means[name.partition(" ")[2]] = features.mean(table.values, words)
        os.makedirs(os.path.join(self._workdir, HEADS), exist_ok=True)
        with atomic.writing(os.path.join(self._workdir, HEADS, CENTERS)) as file:
            np.savez(file, **means)
        return means

    def with_options(self, config: TransferRun) -> FrozenTransfer:
        """The same features with other options of the head and its training."""
        found = copy.copy(self)
        found._config = config
        return found

    def facts(self) -> dict[str, Any]:
        """The options and data of the trained heads, for the records of what is kept."""
        return {
            **self._made_with, "recipe": to_dict(self._config.recipe), "mix": "scaled",
            "transfer": to_dict(self._config.transfer),
        }  # fmt: skip

    def development(self) -> float:
        """The development figure of heads that are not kept, mean over the seeds."""
        _, facts = self._fit(self._bare(slice(None)), slice(None))
        return float(np.max(facts["history"], axis=0).mean())

    def train(self) -> list[Layer]:
        """Trains the heads: on the features, or with layers='each' on every layer alone."""
        count = next(iter(self._features.values())).values.shape[-2]
        if self._config.transfer.layers != "each" or count == 1:
            return [self._layer("", slice(None))]
        return [self._layer(f"layer{k}", slice(k, k + 1)) for k in range(count)]

    def _bare(self, layers: slice) -> Frozen:
        """Heads without parameters."""
        config, data = self._config, self._data
        size = 0
        if isinstance(self._source, PieceTable):
            size = self._source.tokenizer.vocabulary.size
        labeller = build.labeller(config, data.labels, data.tags, size)
        centers = self._centers
        if centers is not None:
            centers = {language: mean[layers] for language, mean in centers.items()}
        return Frozen(self._source, labeller, None, data.labels, centers)

    def _layer(self, name: str, layers: slice) -> Layer:
        bare = self._bare(layers)
        made = Kept(
            os.path.join(self._workdir, HEADS, f"{name or 'head'}.npz"), self.facts(),
            functools.partial(self._fit, bare, layers),
            _save_heads, _load_heads,
        )  # fmt: skip
        params, facts = made.result()
        self.cut |= facts.get("cut", {})
        return Layer(name, layers, dataclasses.replace(bare, params=params), facts)

    def test(self, layer: Layer, language: str) -> list[Labels]:
        """For each seed the labels of the test rows of a language."""
        table = self._read(layer.layers, "test", language)
        return layer.predictor.of_table(table, layer.predictor.params)

    def _read(self, layers: slice, split: str, language: str) -> Table:
        """The features of some layers."""
        table = self._features[f"{split} {language}"]
        if layers != slice(None):
            table = dataclasses.replace(table, values=table.values[..., layers, :])
        return table

    def _fit(self, bare: Frozen, layers: slice) -> tuple[Any, dict[str, Any]]:
        config, data = self._config, self._data
        recipe, seeds = Recipe(**values_of(config.recipe)), seeds_of(config)
        tables = [self._read(layers, "train", language) for language in data.train]
        table, initial = joined(tables, self._workdir), self._initial
        if isinstance(self._source, Vectors):
            initial = {"embedder/mix_scale": labelling.unit_scale(table.values), **initial}
        gold = [label for rows in data.train.values() for label in data.numbers(rows)]
        columns = self._columns(table, gold)
        sources = [
            ArraySource(
                columns, recipe.batch_size, seed=seed, buckets=widths(columns, recipe.batch_size),
                padding={"gold": -1}, width_seed=config.seed,
            )
            for seed in seeds
        ]  # fmt: skip
        dev = [
            (self._read(layers, "dev", language), data.gold(rows))
            for language, rows in data.dev.items()
            if rows
        ]

        def measure(params: Any) -> np.ndarray:
            predicted: list[Labels] = [[] for _ in seeds]
            for table, _ in dev:
                for mine, found in zip(predicted, bare.of_table(table, params)):
                    mine += found
            gold = [label for _, some in dev for label in some]
            return np.array([data.task.score(gold, mine)[data.task.metric] for mine in predicted])

        logging.info(
            "One head for each of %d seeds; an epoch's line has their losses, then their %s on %d "
            "development rows", len(seeds), data.task.metric, sum(len(x) for _, x in dev),
        )  # fmt: skip
        clock = time.monotonic()
        found = heads.fit(
            bare.labeller, table.values, sources, seeds, recipe,
            -(-len(gold) // recipe.batch_size), measure, initial,
        )  # fmt: skip
        facts = {
            "history": found.history.tolist(), "losses": found.losses.tolist(),
            "best": found.best.tolist(), "rows": found.rows, "seconds": found.seconds,
            "all_seconds": time.monotonic() - clock, "cut": self.cut,
        }  # fmt: skip
        return found.params, facts

    def _columns(self, table: Table, gold: Sequence[Any]) -> dict[str, Any]:
        most = self._config.transfer.length
        cut = sum(any(len(x) > most for x in row) for row in table.rows)
        if cut:
            self.cut[f"training rows longer than {most} words"] = cut
            logging.warning("%d training rows have more than %d words and are cut", cut, most)
        blank = np.zeros(1, np.int32)  # a text without words has one row of padding
        rows = [[x[:most] if len(x) else blank for x in row] for row in table.rows]
        columns: dict[str, Any] = {"words": [row[0] for row in rows]}
        if len(rows[0]) > 1:
            columns["words_b"] = [row[1] for row in rows]
        if self._data.tags:
            columns["gold"] = [np.array(x[:most], np.int32) for x in gold]
        else:
            columns["gold"] = np.array(gold, np.int32)
        return columns


def seeds_of(config: TransferRun) -> list[int]:
    """The seeds of a run's heads."""
    return [config.seed + k for k in range(config.transfer.seeds)]


def widths(columns: Mapping[str, Any], batch_size: int) -> list[int]:
    """The ascending widths of a run's batches, each with rows for at least four batches.

    Args:
      columns: 'words', and for pairs 'words_b': the words of each row.
      batch_size: rows of a batch.
    """
    texts = [columns[key] for key in ("words", "words_b") if key in columns]
    lengths = np.sort([max(map(len, row)) for row in zip(*texts)])
    used, before = [], 0
    for width in (width for width in _WIDTHS if width < lengths[-1]):
        until = int(np.searchsorted(lengths, width, side="right"))
        if until - before >= max(4 * batch_size, len(lengths) // 5):
            used.append(width)
            before = until
    return [*used, int(-(-lengths[-1] // 8) * 8)]


def _save_table(table: Table, path: str) -> None:
    sizes = np.array([[len(x) for x in row] for row in table.rows], np.int32)
    flat = [x for row in table.rows for x in row]
    words = np.concatenate(flat) if flat else np.zeros(0, np.int32)
    with atomic.writing(_values_of(path)) as file:
        np.save(file, table.values)
    with atomic.writing(path) as file:
        np.savez(file, sizes=sizes, words=words)


def _load_table(path: str) -> Table:
    """A table whose vectors stay in their file."""
    try:
        values = np.load(_values_of(path), mmap_mode="r", allow_pickle=False)
        with np.load(path, allow_pickle=False) as file:
            sizes, words = file["sizes"], file["words"]
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from error
    parts = iter(np.split(words, np.cumsum(sizes.reshape(-1))[:-1]))
    return Table(values, [[next(parts) for _ in row] for row in sizes])


def _values_of(path: str) -> str:
    return path.removesuffix(".npz") + ".npy"


def _save_heads(made: tuple[Any, Mapping[str, Any]], path: str) -> None:
    heads.save(made[0], path)
    atomic.write_json(_facts_of(path), made[1])


def _load_heads(path: str) -> tuple[Any, dict[str, Any]]:
    with open(_facts_of(path), encoding="utf-8") as file:
        return heads.load(path), json.load(file)


def _facts_of(path: str) -> str:
    return path.removesuffix(".npz") + ".json"
