"""Precision and recall of bitext mining, on text in which half of each side's sentences have no pair."""

from __future__ import annotations

import dataclasses
import functools
from typing import Iterator, Sequence

import numpy as np

from clwe_jax.align import mining
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS, select_layer
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate.context import Context
from clwe_jax.options.evaluators import MiningEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.report import figures
from clwe_jax.report.data import Column, Section
from clwe_jax.report.figure_tables import pair_name, table
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder
from clwe_jax.text.corpus import parallel
from clwe_jax.text.corpus.repeats import drop_repeats


_COLUMNS = {
    "precision": Column("Precision", "percent"),
    "recall": Column("Recall", "percent"),
    "f1": Column("F1", "percent"),
    "threshold": Column("Least margin"),
}


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Precision and recall of bitext mining by pair."""
    by_pair = figures.by_pair(run.figures, "mining")
    pairs = {pair: pair_name(pair) for pair in by_pair}
    text = (
        "Mining of sentence pairs by the margin of their vectors: half of each side's sentences "
        "have their translation on the other side."
    )
    blocks = table("mining", pairs, _COLUMNS, by_pair, "Pair", mean=False)
    return Section("Bitext mining", text, blocks) if blocks else None


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class BitextMining(ByIdentity, MiningEvaluation):
    """Bitext mining by the margin of sentence vectors, as on BUCC.

    The first half of a language pair's sentences chooses the threshold, the second half is tested.
    Of a half's sentences the source side has the first two thirds and the target side the last two,
    so that half of each side has its translation on the other side.
    """

    headlines = (Headline("mining/*/f1", "Bitext mining, F1"),)
    section = staticmethod(section)

    context: Context

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_data:
            _ = self._pairs

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields mining/{src}-{trg}/precision, recall, f1 and threshold, and the mean mining/f1."""
        scores = []
        for pair, source, target in self._pairs:
            view = model.pairwise_space(pair.source, pair.target)
            x = select_layer(view.sentences(source, pair.source), MEAN_OF_LAST_LAYERS)
            y = select_layer(view.sentences(target, pair.target), MEAN_OF_LAST_LAYERS)
            half = len(x) // 2
            first, is_right, total = self._mix_halves(x[:half], y[:half])
            threshold = mining.best_threshold(first.scores, is_right, total)
            mined, is_right, total = self._mix_halves(x[half:], y[half:])
            precision, recall, f1 = mining.quality(is_right[mined.scores >= threshold], total)
            name = f"mining/{pair.name}"
            yield f"{name}/precision", precision
            yield f"{name}/recall", recall
            yield f"{name}/f1", f1
            yield f"{name}/threshold", threshold
            scores.append(f1)
        if scores:
            yield "mining/f1", float(np.mean(scores))

    def _mix_halves(self, x: np.ndarray, y: np.ndarray) -> tuple[mining.Mined, np.ndarray, int]:
        """The pairs, whether each is a translation, and the number of translations."""
        third = len(x) // 3
        mined = mining.mine(x[: len(x) - third], y[third:], self.neighbourhood)
        # The target side begins at sentence `third`, the source side at 0.
        return mined, mined.source == mined.target + third, len(x) - 2 * third

    @functools.cached_property
    def _pairs(self) -> list[tuple[parallel.Bitext, list[str], list[str]]]:
        texts = []
        for files, pairs in self.context.read_pairs(self.data, self.name, self.max_sentences):
            source, target = drop_repeats(pairs.source, pairs.target, files.paths[0])
            if len(source) < 12:
                raise ValueError(
                    f"{files.paths[0]} has {len(source)} different sentences: mining is measured on "
                    "12 or more"
                )
            texts.append((files, source, target))
        return texts
