"""Parts of metric names, and numbers formatted for readers."""

from __future__ import annotations

import math
import re
from typing import Callable, Mapping


def by_subject(results: Mapping[str, float], prefix: str) -> dict[str, dict[str, float]]:
    """'PREFIX/SUBJECT/METRIC' -> {SUBJECT: {METRIC: value}}, subjects in order.

    A metric's name may hold slashes (layer3/p@1); a path without a subject goes under ''.
    """
    subjects: dict[str, dict[str, float]] = {}
    for name, value in results.items():
        if name.startswith(prefix + "/"):
            subject, _, metric = name[len(prefix) + 1 :].partition("/")
            if not metric:
                metric = subject
                subject = ""
            subjects.setdefault(subject, {})[metric] = value
    return dict(sorted(subjects.items()))


def by_pair(results: Mapping[str, float], prefix: str) -> dict[str, dict[str, float]]:
    """The subjects of `by_subject` that are pairs of languages, such as 'de-en'."""
    subjects = by_subject(results, prefix)
    return {subject: metrics for subject, metrics in subjects.items() if "-" in subject}


def over_star(results: Mapping[str, float], pattern: str) -> dict[int, float]:
    """The values of a pattern such as 'toy/layer*/acc' by the star's number, ascending."""
    before, _, after = pattern.partition("*")
    path = re.compile(rf"{re.escape(before)}(\d+){re.escape(after)}")
    values = {}
    for name, value in results.items():
        match = path.fullmatch(name)
        if match and math.isfinite(value):
            values[int(match[1])] = value
    return dict(sorted(values.items()))


def percent(value: float | None, digits: int = 1) -> str:
    """0.413 -> '41.3%'; '–' for None and infinity."""
    return f"{100 * value:.{digits}f}%" if _is_finite(value) else "–"


def points(value: float | None) -> str:
    """A difference of two fractions in percentage points: 0.041 -> '+4.1'."""
    return _format_signed(value, lambda x: f"{100 * x:.1f}")


def difference(value: float | None) -> str:
    """A difference of two figures other than fractions: -1.204 -> '−1.20'."""
    return _format_signed(value, decimal)


def _format_signed(value: float | None, form) -> str:
    if not _is_finite(value):
        return "–"
    digits = form(abs(value))
    sign = "±" if not float(digits.replace(",", "")) else "+" if value > 0 else "−"
    return sign + digits


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
    total = round(value)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600} h {total % 3600 // 60} min"


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


def format_number(form: Callable[[float], str], value: float | None, unit: str = "") -> str | None:
    """A number in a form with its unit; None for None."""
    return None if value is None else form(value) + unit


# Name of a form -> function that formats a number.
FORMS = {
    "": decimal,
    "percent": percent,
    "points": points,
    "count": count,
    "seconds": seconds,
    "size": size,
}


def _is_finite(value: float | None) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
