"""Stamps of files, by which a later start sees that one has changed."""

from __future__ import annotations

import hashlib
import os
from typing import Iterable

_PLACES = 16  # places in a file that are read
_STAMPED = 1 << 12  # bytes of each place


def stamp(path: str) -> str:
    """The size of a file and a hash of its bytes; of those at sixteen places of a file above 64 KiB.

    A text of any size is stamped at once, and a copy elsewhere has the same stamp.
    """
    size = os.path.getsize(path)
    digest = hashlib.blake2b(digest_size=8)
    with open(path, "rb") as file:
        for place in range(_PLACES):
            file.seek(place * max(size - _STAMPED, 0) // (_PLACES - 1))
            digest.update(file.read(_STAMPED))
    return f"{size} {digest.hexdigest()}"


def stamps(paths: Iterable[str], folder: str = "") -> dict[str, str]:
    """Name -> stamp of files; files of one name in several folders share one.

    Args:
      folder: names are relative to it, so that they stay where it moves; '': names without folders.
    """
    stamps_of: dict[str, list[str]] = {}
    for path in dict.fromkeys(paths):
        name = os.path.relpath(path, folder) if folder else os.path.basename(path)
        stamps_of.setdefault(name, []).append(stamp(path))
    return {name: "; ".join(sorted(of_name)) for name, of_name in stamps_of.items()}
