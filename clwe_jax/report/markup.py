"""HTML that cannot be injected into: every plain string is escaped on its way in."""

from __future__ import annotations

import html
import re
from typing import Any

_VOID = frozenset(("br", "meta", "col", "hr", "input"))
# Characters that HTML forbids even as references.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Html(str):
    """A string that is markup already; any other string is text and gets escaped."""

    __slots__ = ()


def text(value: Any) -> Html:
    """`value` as HTML: `Html` as it is, None as nothing, lists joined, all else escaped."""
    if value is None:
        return Html("")
    if isinstance(value, Html):
        return value
    if isinstance(value, (list, tuple)):
        return Html("".join(text(item) for item in value))
    return Html(html.escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True))


def tag(element: str, /, *children: Any, **attributes: Any) -> Html:
    """An element.

    Args:
      element: its name.
      *children: as in `text`.
      **attributes: `class_` stands for class and `data_v` for data-v; None and False leave the
        attribute out, True gives one without a value.
    """
    parts = [f"<{element}"]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(f" {key}")
        elif value is not None and value is not False:
            parts.append(f' {key}="{text(str(value))}"')
    parts.append(">")
    if element not in _VOID:
        parts += [text(children), f"</{element}>"]
    return Html("".join(parts))


def clip(value: Any, length: int = 60) -> str:
    """`value` as text of at most `length` characters, the last one an ellipsis where it is cut."""
    value = str(value)
    return value if len(value) <= length else value[: length - 1] + "…"
