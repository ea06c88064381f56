"""Two languages' words in the plane, before and after alignment (joint-align, Fig. 1)."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax.report.data import BLUE, GREEN, ORANGE, Block, Closed, Dots, Picture, Section
from clwe_jax.report.measures import pair_name
from clwe_jax.report.run_folder import Run

_COLOURS = {"source": BLUE, "target": ORANGE, "shared": GREEN}
_MAX_PAIRS = 6  # language pairs that are drawn
_TITLES = {"before": "before", "reallocated": "after reallocation", "after": "after alignment"}


def principal(groups: Mapping[str, np.ndarray]) -> dict[str, list[list[float]]]:
    """The first two principal components of several groups of vectors, found on all of them.

    Args:
      groups: name -> [N, D]; rows of unit length show directions, which cosines compare.

    Returns:
      name -> N points [x, y], rounded to four digits. In each component the point farthest from 0
      is positive.
    """
    whole = np.concatenate(list(groups.values())).astype(np.float64)
    centered = whole - whole.mean(0)
    # An SVD of the points would need an N x D factor; the covariance is D x D.
    _, components = np.linalg.eigh(centered.T @ centered)
    plane = centered @ components[:, ::-1][:, :2]
    plane *= np.sign(plane[np.abs(plane).argmax(0), np.arange(plane.shape[1])])
    ends = np.cumsum([len(rows) for rows in groups.values()])[:-1]
    return {name: np.round(part, 4).tolist() for name, part in zip(groups, np.split(plane, ends))}


def section(run: Run, others: Sequence[Run]) -> Section | None:
    """The pictures of each language pair, side by side."""
    by_pair = (run.extras.get("static") or {}).get("projection") or {}
    blocks: list[Block] = []
    for pair, stages in list(by_pair.items())[:_MAX_PAIRS]:
        drawn = {title: stages[x] for x, title in _TITLES.items() if stages.get(x)}
        if drawn:
            pictures = [_picture(pair, title, stage) for title, stage in drawn.items()]
            blocks.append(Closed(f"{pair_name(pair)}: {', '.join(drawn)}", pictures))
    if not blocks:
        return None
    text = (
        "Frequent words of two languages on the first two principal components of the vectors in "
        "each picture. Lines join translations of the dictionary: the shorter they are, the better "
        "the two languages are aligned."
    )
    return Section("Before and after alignment", text, blocks)


def _picture(pair: str, title: str, stage: Mapping[str, Any]) -> Picture:
    source, _, target = pair.partition("-")
    names = {"source": source, "target": target}
    if stage.get("shared"):
        names = {"source": f"{source} alone", "target": f"{target} alone", "shared": "shared"}
    dots = [
        Dots(label, stage[name], colour=_COLOURS[name])
        for name, label in names.items()
        if stage.get(name)
    ]
    return Picture(title, dots, stage.get("pairs", ()))
