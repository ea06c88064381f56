"""Transfer with a frozen encoder, or with embedders that learn with the head: all seeds at once."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import time
from typing import Any, Iterable, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import atomic
from clwe_jax.cached import CachedResult
from clwe_jax.data.arrays import ArraySource
from clwe_jax.encoders.features import (
    FeatureReader,
    PieceTable,
    FeatureTable,
    center_table,
    join_tables,
    mean,
    span_table,
)
from clwe_jax.models import labelling
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.transfer import TransferRun
from clwe_jax.training import build, heads
from clwe_jax.training.heads import Recipe
from clwe_jax.transfer.data import LabelledData, Rows
from clwe_jax.transfer.labeller import Frozen, Labels
from clwe_jax.transfer.loaded import CENTERS, HEADS
from clwe_jax.transfer.results import Features, Layer, OpenedEncoder, Predicted, Training

_WIDTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def features(
    config: TransferRun, workdir: str, data: LabelledData, encoder: OpenedEncoder
) -> Features:
    """Computes the features of all rows; those of an earlier start are read."""
    made_with = _features_record(config, data, encoder)
    tables = {}
    for split, sets in (("train", data.train), ("dev", data.dev), ("test", data.tests)):
        for language, rows in sets.items():
            spoken = data.text_language(language, split)
            make = functools.partial(table_of, encoder.reader, data, rows, spoken)
            if isinstance(encoder.reader, PieceTable):
                table = make()  # faster than reading a file
            else:
                path = os.path.join(workdir, "features", f"{split}.{language}.npz")
                facts = {**made_with, "count": len(rows)}
                CachedResult(path, facts, make, _save_table, _load_table).result()
                # Loaded again, because a table that was just made would keep its temporary file.
                table = _load_table(path)
            tables[split, language] = table
    if not config.transfer.center:
        return Features(tables, None)
    means = _means(workdir, tables)
    centered = {}
    for (split, language), table in tables.items():
        centered[split, language] = center_table(table, means[language], workdir)
    return Features(centered, means)


def test(
    layers: Sequence[Layer], tables: Features, languages: Iterable[str]
) -> dict[str, Predicted]:
    """Layer -> the labels of the test rows of languages."""
    labels: dict[str, dict[str, list[Labels]]] = {layer.name: {} for layer in layers}
    for layer in layers:
        predictor = layer.predictor
        for language in languages:
            table = _read(tables, layer.layers, "test", language)
            labels[layer.name][language] = predictor.label_table(table, predictor.params)
    return labels


def _features_record(
    config: TransferRun, data: LabelledData, encoder: OpenedEncoder
) -> dict[str, Any]:
    """The options and data of the features, for the records of what is kept."""
    settings = config.transfer
    # 'pool' names the way in which this code pools: features of another way are made again.
    return {
        **encoder.made_with,
        **data.made_with,
        "seed": config.seed,
        "task": settings.task,
        "rows": settings.rows,
        "words": settings.words,
        "dev": settings.dev,
        "lower_case": settings.lower_case,
        "features": str(getattr(encoder.reader, "layers", "")),
        "pool": "after the mix, a center of distinct pieces"
        if settings.center
        else "after the mix",
    }


def table_of(
    reader: FeatureReader | PieceTable, data: LabelledData, rows: Rows, language: str
) -> FeatureTable:
    """The features of rows in a language."""
    texts = data.inputs(rows)
    if data.spans:
        return span_table(reader, texts, language)
    if data.tags:
        return reader.of_sentences(texts, language)
    return reader.of_texts(texts, language)


def _means(workdir: str, tables: Mapping[tuple[str, str], FeatureTable]) -> dict[str, np.ndarray]:
    """The mean features of each language: over its training, else development, else test rows."""
    means = {}
    # Later splits replace earlier ones: the training rows decide where a language has some.
    for current_split in ("test", "dev", "train"):
        for (split, language), table in tables.items():
            if split == current_split:
                words = np.concatenate(list(itertools.chain.from_iterable(table.rows)))
                means[language] = mean(table.values, words[words > 0])  # row 0: no vector
    os.makedirs(os.path.join(workdir, HEADS), exist_ok=True)
    with atomic.writing(os.path.join(workdir, HEADS, CENTERS)) as file:
        np.savez(file, **means)
    return means


def _read(features: Features, layers: slice, split: str, language: str) -> FeatureTable:
    """The features of some layers."""
    table = features.tables[split, language]
    if layers != slice(None):
        table = dataclasses.replace(table, values=table.values[..., layers, :])
    return table


@dataclasses.dataclass(frozen=True, eq=False)
class FrozenTransfer:
    """Trains the heads of all seeds at once; the heads are kept in the run's folder."""

    config: TransferRun
    workdir: str
    data: LabelledData
    encoder: OpenedEncoder
    features: Features

    def made_with(self) -> dict[str, Any]:
        """The options and data of the trained heads, for the records of what is kept."""
        return {
            **_features_record(self.config, self.data, self.encoder),
            "recipe": to_dict(self.config.recipe),
            "mix": "scaled",
            "transfer": to_dict(self.config.transfer),
        }

    def development(self) -> float:
        """The development figure of heads that are not kept, mean over the seeds."""
        _, facts = self._fit(self._bare(slice(None)), slice(None))
        return float(np.max(facts["history"], axis=0).mean())

    def train(self) -> Training:
        """Trains the heads: on the features, or with layers='each' on every layer alone."""
        count = next(iter(self.features.tables.values())).values.shape[-2]
        if self.config.transfer.layers != "each" or count == 1:
            layers = [self._layer("", slice(None))]
        else:
            layers = [self._layer(f"layer{k}", slice(k, k + 1)) for k in range(count)]
        best = max(layers, key=lambda layer: layer.development.mean())
        curves = np.array(best.facts["history"]).T.tolist()
        speed = {"transfer/training_seconds": sum(layer.facts["all_seconds"] for layer in layers)}
        if best.facts["seconds"]:
            rate = best.facts["rows"] / best.facts["seconds"]
            speed["transfer/training_rows_per_second"] = rate
        cuts: dict[str, int] = {}
        for layer in layers:
            cuts |= layer.facts.get("cut", {})
        return Training([dict(enumerate(x, 1)) for x in curves], cuts, speed, best.name, layers)

    def _bare(self, layers: slice) -> Frozen:
        """Heads without parameters."""
        config = self.config
        data = self.data
        reader = self.encoder.reader
        size = reader.tokenizer.vocabulary.size if isinstance(reader, PieceTable) else 0
        labeller = build.labeller(config.transfer, config.encoder, data.labels, data.tags, size)
        centers = self.features.centers
        if centers is not None:
            centers = {language: center[layers] for language, center in centers.items()}
        return Frozen(reader, labeller, None, data.labels, centers)

    def _layer(self, name: str, layers: slice) -> Layer:
        bare = self._bare(layers)
        path = os.path.join(self.workdir, HEADS, f"{name or 'head'}.npz")
        make = functools.partial(self._fit, bare, layers)
        load = lambda path: (heads.load(path), atomic.read_json(_facts_of(path)))
        params, facts = CachedResult(path, self.made_with(), make, _save_heads, load).result()
        return Layer(name, layers, dataclasses.replace(bare, params=params), facts)

    def _fit(self, bare: Frozen, layers: slice) -> tuple[Any, dict[str, Any]]:
        config = self.config
        data = self.data
        recipe = Recipe(**values_of(config.recipe))
        seeds = seeds_of(config)
        tables = [_read(self.features, layers, "train", language) for language in data.train]
        table = join_tables(tables, self.workdir)
        initial = self.encoder.initial
        if isinstance(self.encoder.reader, FeatureReader):
            # On unit vectors of 300 dimensions a BiLSTM-CRF found no name in 7 epochs.
            initial = {"embedder/mix_scale": labelling.unit_scale(table.values), **initial}
        gold = list(itertools.chain.from_iterable(map(data.label_ids, data.train.values())))
        columns, cuts = self._columns(table, gold)
        # Batches of all seeds have one width at each step, so that one program trains all heads.
        sources = [
            ArraySource(
                columns,
                recipe.batch_size,
                seed=seed,
                buckets=widths(columns, recipe.batch_size),
                padding={"gold": -1},
                width_seed=config.seed,
            )
            for seed in seeds
        ]
        dev = [
            (_read(self.features, layers, "dev", language), data.gold(rows))
            for language, rows in data.dev.items()
        ]

        def measure(params: Any) -> np.ndarray:
            predicted: list[Labels] = [[] for _ in seeds]
            for table, _ in dev:
                for mine, labels in zip(predicted, bare.label_table(table, params)):
                    mine += labels
            gold = list(itertools.chain.from_iterable(row_labels for _, row_labels in dev))
            return np.array([data.task.score(gold, mine)[data.task.metric] for mine in predicted])

        logging.info(
            "One head for each of %d seeds; an epoch's line has their losses, then their %s on %d "
            "development rows",
            len(seeds),
            data.task.metric,
            sum(len(x) for _, x in dev),
        )
        steps = -(-len(gold) // recipe.batch_size)  # of an epoch
        clock = time.monotonic()
        fit_result = heads.fit(
            bare.labeller, table.values, sources, seeds, recipe, steps, measure, initial
        )
        facts = {
            "history": fit_result.history.tolist(),
            "losses": fit_result.losses.tolist(),
            "best": fit_result.best.tolist(),
            "rows": fit_result.rows,
            "seconds": fit_result.seconds,
            "all_seconds": time.monotonic() - clock,
            "cut": cuts,
        }
        return fit_result.params, facts

    def _columns(
        self, table: FeatureTable, gold: Sequence[Any]
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """The rows as columns, and the number of those that are cut."""
        max_length = self.config.transfer.length
        count = sum(max(map(len, row)) > max_length for row in table.rows)
        if count:
            logging.warning(
                "%d training rows have more than %d words and are cut", count, max_length
            )
        blank = np.zeros(1, np.int32)  # a text without words has one row of padding
        columns: dict[str, Any] = {}
        for key, texts in zip(("words", "words_b"), zip(*table.rows)):  # one text a row, or a pair
            columns[key] = [text[:max_length] if len(text) else blank for text in texts]
        if self.data.tags:
            columns["gold"] = [np.array(x[:max_length], np.int32) for x in gold]
        else:
            columns["gold"] = np.array(gold, np.int32)
        return columns, {f"training rows longer than {max_length} words": count} if count else {}


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
    batch_widths = []
    before = 0
    for width in _WIDTHS:
        if width >= lengths[-1]:
            break
        until = int(np.searchsorted(lengths, width, side="right"))
        # A width is one more program to compile: few rows are not worth it.
        if until - before >= max(4 * batch_size, len(lengths) // 5):
            batch_widths.append(width)
            before = until
    return [*batch_widths, int(-(-lengths[-1] // 8) * 8)]


def _save_table(table: FeatureTable, path: str) -> None:
    sizes = np.array([[len(x) for x in row] for row in table.rows], np.int32)
    flat = list(itertools.chain.from_iterable(table.rows))
    words = np.concatenate(flat) if flat else np.zeros(0, np.int32)
    # Apart and uncompressed, so that `_load_table` can map them.
    with atomic.writing(_values_of(path)) as file:
        np.save(file, table.values)
    with atomic.writing(path) as file:
        np.savez(file, sizes=sizes, words=words)


def _load_table(path: str) -> FeatureTable:
    """A table whose vectors stay in their file."""
    with atomic.naming_damage(path):
        values = np.load(_values_of(path), mmap_mode="r", allow_pickle=False)
        with np.load(path, allow_pickle=False) as file:
            sizes = file["sizes"]
            words = file["words"]
    parts = iter(np.split(words, np.cumsum(sizes.reshape(-1))[:-1]))
    return FeatureTable(values, [[next(parts) for _ in row] for row in sizes])


def _values_of(path: str) -> str:
    return path.removesuffix(".npz") + ".npy"


def _save_heads(fitted: tuple[Any, Mapping[str, Any]], path: str) -> None:
    heads.save(fitted[0], path)
    atomic.write_json(_facts_of(path), fitted[1])


def _facts_of(path: str) -> str:
    return path.removesuffix(".npz") + ".json"
