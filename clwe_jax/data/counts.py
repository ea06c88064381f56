"""Figures of batches of pieces: shares of languages, masked pieces and cross-lingual labels."""

from __future__ import annotations

import dataclasses
from typing import Mapping

import numpy as np

from clwe_jax.types import Batch


def language_counts(languages: tuple[str, ...], numbers: np.ndarray) -> dict[str, int]:
    """'pieces/{language}' -> number of occurrences of the language's id in `numbers`, int [N]."""
    counts = np.bincount(numbers, minlength=len(languages)).tolist()
    return {f"pieces/{language}": n for language, n in zip(languages, counts)}


def language_shares(languages: tuple[str, ...], sums: Mapping[str, int]) -> dict[str, float]:
    """'language_share/{language}' of the pieces, 'filled_share' of the positions, and 'pieces'."""
    pieces = sums.get("pieces", 0)
    share = lambda language: sums.get(f"pieces/{language}", 0) / max(1, pieces)
    return {
        **{f"language_share/{language}": share(language) for language in languages},
        "filled_share": pieces / max(1, sums.get("positions", 0)),
        "pieces": pieces,
    }


@dataclasses.dataclass(frozen=True)
class PieceCounts:
    """`arrays.Counts` of batches that `types.piece_shapes` describes.

    Attributes:
      languages: languages of the run; language ids are indices into them.
    """

    languages: tuple[str, ...]

    def count(self, batch: Batch) -> dict[str, int]:
        """Numbers of positions, pieces by language, labels, and labels in another language.

        Of a batch that names entries, whose labels are in all languages, the last number is missing.
        Rows without a piece, which fill up the last batch of a pass, have no positions.
        """
        source = batch["source_language_ids"]
        filled = batch["segment_ids"] > 0
        predicted = batch["loss_weights"] > 0
        crossing = {}
        if "entries" not in batch:
            crossing["crossing"] = int((predicted & (batch["language_ids"] != source)).sum())
        return {
            "positions": int(filled.any(axis=1).sum()) * filled.shape[1],
            "pieces": int(filled.sum()),
            "labels": int(predicted.sum()),
            **crossing,
            **language_counts(self.languages, source[filled]),
        }

    def stats(self, sums: Mapping[str, int]) -> dict[str, float]:
        """`language_shares`, 'masked_share' of pieces and, where it is known, 'cross_lingual_share' of labels."""
        labels = sums.get("labels", 0)
        shares = language_shares(self.languages, sums)
        if "crossing" in sums:
            shares["cross_lingual_share"] = sums["crossing"] / max(1, labels)
        return {**shares, "masked_share": labels / max(1, sums.get("pieces", 0))}
