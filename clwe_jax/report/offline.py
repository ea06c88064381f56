"""Pages of one file that open offline: styles, scripts and data stand in the page, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
import re
from typing import Any, Iterable

import jinja2
import markupsafe

TEMPLATES = Path(__file__).parent / "templates"
# Characters that HTML forbids even as references.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _join_files(names: Iterable[str]) -> str:
    """The texts of those of the templates' files that are there."""
    paths = [TEMPLATES / name for name in names]
    return "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def assets(*names: str) -> dict[str, str]:
    """What a template's head shows: 'style' and 'script' of the files NAME.css and NAME.js, and 'digest'.

    Only the script with this digest may run.
    """
    style = _join_files(f"{name}.css" for name in names)
    script = _join_files(f"{name}.js" for name in names)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {
        "style": markupsafe.Markup(style),
        "script": markupsafe.Markup(script),
        "digest": digest,
    }


def page(name: str, title: str, data: Any) -> str:
    """The page of the files NAME.html, NAME.css and NAME.js beside the report's own.

    Args:
      data: JSON, which the script finds in the element 'data'.
    """
    template = ENVIRONMENT.get_template(f"{name}.html")
    return template.render(title=title, data=_embed_json(data), **assets("tokens", "shared", name))


def _embed_json(data: Any) -> markupsafe.Markup:
    """JSON as the text of a script element, which '<' could end."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return markupsafe.Markup(text.replace("<", "\\u003c"))


def clean(value: Any) -> Any:
    """An expression's value as a template writes it, before it is escaped."""
    if value is None:
        return ""
    if isinstance(value, (markupsafe.Markup, jinja2.Undefined)):
        return value
    return _FORBIDDEN.sub("\ufffd", str(value))


def clip(value: Any, length: int = 60) -> str:
    """Text of at most `length` characters, the last one an ellipsis where it is cut."""
    value = "" if value is None else str(value)
    return value if len(value) <= length else value[: length - 1] + "…"


# To compile the templates takes longer than to fill them: all pages of a process share them.
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    finalize=clean,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters["clip"] = clip
