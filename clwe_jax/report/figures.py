"""The names of metrics taken apart, and numbers as people read them."""

from __future__ import annotations

import math
import re
from typing import Mapping

# How sentences are compared, with the ending of the metric's name.
METHODS = {"plain": "", "centered": "_centered", "CSLS": "_csls"}
_SUFFIXES = {suffix: method for method, suffix in METHODS.items()}
_RETRIEVAL = re.compile(
    r"retrieval/(?:(?P<pair>[^/]+)/)?layer(?P<layer>\d+)/acc@1(?P<suffix>_[a-z]+)?"
)
ALL_PAIRS = ""  # the key of the mean over pairs

Layers = dict[int, float]  # layer -> accuracy, layers ascending


def retrieval(results: Mapping[str, float]) -> dict[str, dict[str, Layers]]:
    """Retrieval accuracies by method, pair and layer: {'plain': {'de-en': {0: .41}, '': ...}}.

    The mean over pairs stands under `ALL_PAIRS`; it is computed where the results lack it.
    """
    found: dict[str, dict[str, Layers]] = {}
    for name, value in results.items():
        match = _RETRIEVAL.fullmatch(name)
        if match is None or not math.isfinite(value):
            continue
        method = _SUFFIXES.get(match["suffix"] or "")
        if method is not None:
            pairs = found.setdefault(method, {})
            pairs.setdefault(match["pair"] or ALL_PAIRS, {})[int(match["layer"])] = value
    ordered = {}
    for method in METHODS:
        if method not in found:
            continue
        pairs = found[method]
        if ALL_PAIRS not in pairs:
            pairs[ALL_PAIRS] = _mean_over_pairs(pairs)
        ordered[method] = {pair: dict(sorted(pairs[pair].items())) for pair in sorted(pairs)}
    return ordered


def _mean_over_pairs(pairs: Mapping[str, Layers]) -> Layers:
    layers = {layer for accuracies in pairs.values() for layer in accuracies}
    means = {}
    for layer in layers:
        values = [accuracies[layer] for accuracies in pairs.values() if layer in accuracies]
        means[layer] = sum(values) / len(values)
    return means


def last_layers(layers: Mapping[int, float]) -> list[int]:
    """The last four transformer layers (fewer: all of them); layer 0, the embedding, is none."""
    return [layer for layer in sorted(layers) if layer > 0][-4:]


def mean_last4(layers: Mapping[int, float]) -> float | None:
    """The mean of the accuracies of the last four transformer layers; None where there is none."""
    chosen = last_layers(layers)
    return sum(layers[layer] for layer in chosen) / len(chosen) if chosen else None


def by_subject(results: Mapping[str, float], prefix: str) -> dict[str, dict[str, float]]:
    """'PREFIX/SUBJECT/METRIC' -> {SUBJECT: {METRIC: value}}, subjects in order.

    A metric's name may hold slashes (layer3/p@1); a path without a subject goes under ''.
    """
    found: dict[str, dict[str, float]] = {}
    for name, value in results.items():
        if name.startswith(prefix + "/"):
            subject, _, metric = name[len(prefix) + 1 :].partition("/")
            if not metric:
                subject, metric = "", subject
            found.setdefault(subject, {})[metric] = value
    return dict(sorted(found.items()))


def percent(value: float | None, digits: int = 1) -> str:
    """0.413 -> '41.3%'; '–' where there is no number."""
    return f"{100 * value:.{digits}f}%" if _is_finite(value) else "–"


def points(value: float | None) -> str:
    """A difference of two fractions in percentage points: 0.041 -> '+4.1'."""
    if not _is_finite(value):
        return "–"
    rounded = round(100 * value, 1)
    return "±0.0" if rounded == 0 else f"{rounded:+.1f}".replace("-", "−")


def count(value: float | None) -> str:
    """7013211 -> '7,013,211'."""
    return f"{round(value):,}" if _is_finite(value) else "–"


def decimal(value: float | None) -> str:
    """A figure with three or four significant digits: 8.204 -> '8.20', 0.0123 -> '0.0123'."""
    if not _is_finite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.1f}"
    if abs(value) >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"


def seconds(value: float | None) -> str:
    """581.0 -> '9 min 41 s'."""
    if not _is_finite(value):
        return "–"
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(value: float | None) -> str:
    """Bytes in decimal units: 1_800_000_000 -> '1.80 GB'."""
    if not _is_finite(value):
        return "–"
    value = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 999.5:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.2f} TB"


def _is_finite(value: float | None) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
