"""Hashes of the data that a command reads, by which two figures are known to come from the same data."""

from __future__ import annotations

import ast
import functools
import glob
import hashlib
import os
import re
import sys
from typing import Any, Iterator, Mapping

from absl import logging

from clwe_jax.runs.environment import ROOT
from clwe_jax.text import leaks
from clwe_jax.text.corpus import parallel_files
from clwe_jax.text.unpacking import is_readable

_PACKAGE = os.path.join(os.path.realpath(ROOT), "clwe_jax")
_DIGITS = 16
_BLOCK = 1 << 20
# Of a longer file the size, the beginning and the end are hashed.
_WHOLE = 256 * _BLOCK
# The value of an option that names the embedded world, which the package holds.
POCKET = "pocket"
# Options whose value names a file or folder even where it is a bare word; in others 'en' or 'mbert' may be a
# folder by chance.
_PLACES = re.compile(
    r"(.*\.)?(add_to|data|development|dictionaries|exclude_dictionaries|gold|labelled|pairs|parallel|path|source"
    r"|source_vectors|tags|target|target_vectors|tests|trained|wordnet|clcr\.hub|init\.embeddings)"
)


def hash_data(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files and folders that options name, in the order of their names.

    Returns:
      Entries of 'name' (the last part of the path, or 'pocket'), 'bytes' and 'hash'. A finished run
      is hashed by its options.
    """
    entries: dict[str, dict[str, Any]] = {}
    # The runs that a page shows beside this one are no data of it.
    for option, value in _texts({name: x for name, x in values.items() if name != "report"}):
        for path in _paths(value, bool(_PLACES.fullmatch(option))):
            place = os.path.join(_PACKAGE, POCKET) if path == POCKET else os.path.normpath(path)
            if place not in entries:
                content = _hash_pocket() if path == POCKET else _hash_content(place)
                entries[place] = {"name": os.path.basename(place), **content}
    return sorted(entries.values(), key=lambda entry: (entry["name"], entry["hash"]))


def _texts(value: Any, option: str = "") -> Iterator[tuple[str, str]]:
    """(path of the option, its value) of all texts."""
    if isinstance(value, str):
        yield option, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, f"{option}.{name}")
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner, option)


def _paths(value: str, names_place: bool) -> Iterator[str]:
    """The paths in 'DIR', 'text:DIR', 'vec:en=FILE,de=FILE'; a path may hold these marks itself."""

    def path_in(part: str) -> str:
        marks = re.finditer("[:=]", part.partition(",")[0])
        return next(filter(is_data, [part, *(part[mark.end() :] for mark in marks)]), "")

    def is_data(path: str) -> bool:
        if names_place:
            return path == POCKET or bool(_list_files(path))
        return os.path.exists(path) and (path != value or os.sep in path or "." in path)

    single = path_in(value)
    yield from [single] if single else filter(None, map(path_in, value.split(",")))


def _list_files(path: str) -> list[str]:
    """The files of a place: of a file, a folder, or the beginning of their names; `@JOH` may follow."""
    place, _ = parallel_files.cut_place(path)
    if os.path.exists(place):
        return list(leaks.files([place]))
    return sorted(glob.glob(glob.escape(place) + ".*")) if place else []


def _hash_content(path: str) -> dict[str, Any]:
    """'bytes' and 'hash' of a file, or of all files of a folder."""
    names = [os.path.join(path, name) for name in ("config.json", "results.json")]
    files = names[:1] if all(map(os.path.exists, names)) else _list_files(path)
    digest = hashlib.sha256()
    size = 0
    for file in files:
        name = os.path.relpath(file, path).encode()
        if not is_readable(file):
            logging.warning("%s is no file that can be read: only its name is recorded", file)
            digest.update(name)
            continue
        if file.endswith(".py"):  # of the embedded world: comments do not change its text
            digest.update(_dump_code(file).encode())
        else:
            digest.update(name)
            _update(digest, file)
        size += os.path.getsize(file)
    return {"bytes": size, "hash": digest.hexdigest()[:_DIGITS]}


@functools.cache
def _hash_pocket() -> Mapping[str, Any]:
    """As it is when the process first asks: it has loaded these modules."""
    return _hash_content(os.path.join(_PACKAGE, POCKET))


def _update(digest: Any, path: str) -> None:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        if size <= _WHOLE:
            while block := file.read(_BLOCK):
                digest.update(block)
            return
        digest.update(str(size).encode())
        digest.update(file.read(_BLOCK))
        file.seek(-_BLOCK, os.SEEK_END)
        digest.update(file.read(_BLOCK))


def _dump_code(path: str) -> str:
    """A module's code without comments, docstrings, layout and imports, alike in every Python."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    todo: list[ast.AST] = [tree]
    while todo:  # statements alone: an expression holds neither imports nor docstrings
        node = todo.pop()
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                inner[:] = [x for x in inner if not isinstance(x, (ast.Import, ast.ImportFrom))]
                todo += inner
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant):
                del body[0]
        # Python 3.12 and later have this field also where it is empty.
        if not getattr(node, "type_params", True):
            del node.type_params
    # Python 3.13 leaves out empty fields, unless it is told not to.
    return ast.dump(tree, **({"show_empty": True} if sys.version_info >= (3, 13) else {}))
