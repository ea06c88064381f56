"""Files that are there as a whole or not at all, whenever a program is stopped."""

from __future__ import annotations

import json
import os
from typing import Any


def write(path: str, content: str | bytes) -> None:
    """Writes a file (text as UTF-8), beside its place first; what was there stays until then."""
    with open(path + ".tmp", "wb") as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    os.replace(path + ".tmp", path)


def write_json(path: str, value: Any, indent: int | None = 1, sort_keys: bool = False) -> None:
    """Writes a JSON file, letters of all scripts as they are."""
    write(path, json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False))
