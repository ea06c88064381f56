"""Hashes of data and of code, by which a row of the ledger is compared with today's."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import re
import sys
from typing import Any, Iterator, Mapping

from clwe_jax.ledger.environment import ROOT

_PACKAGE = os.path.join(os.path.realpath(ROOT), "clwe_jax")
_BENCHMARKS = os.path.join(os.path.realpath(ROOT), "benchmarks")
SAME_CODE = os.path.join(_BENCHMARKS, "ledger", "same_code.json")
_DIGITS = 16
_CODE_DIGITS = 8  # of one module: a run loads some 150
_BLOCK = 1 << 20
# Of a longer file the size, the beginning and the end are hashed.
_WHOLE = 256 * _BLOCK
# The value of an option that names the embedded world, which the package holds.
POCKET = "pocket"
# Rooms whose code does not decide figures: options have a hash of their own, the embedded world is data.
_NO_FIGURES = {
    "options",
    "presets",
    "report",
    "ledger",
    "registry",
    "atomic",
    "terminal",
    "parts",
    "main",
    "compiled",
    "reevaluate",
    "pocket",
}
# Modules of any room that show, forecast or guard a run and change none of its figures.
_SHOWING = {"report", "sections", "pictures", "shown_words", "forecast", "times", "lock"}


def of_data(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files and folders that options name, in the order of their names.

    Returns:
      Entries of 'name' (the last part of the path, or 'pocket'), 'bytes' and 'hash'. A finished run
      is hashed by its options.
    """
    entries: dict[str, dict[str, Any]] = {}
    for value in _texts(values):
        for path in _paths(value):
            place = os.path.join(_PACKAGE, POCKET) if path == POCKET else os.path.normpath(path)
            if place not in entries:
                content = _content_of_pocket() if path == POCKET else _content(place)
                entries[place] = {"name": os.path.basename(place), **content}
    return sorted(entries.values(), key=lambda entry: (entry["name"], entry["hash"]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


def _paths(value: str) -> Iterator[str]:
    """The paths in 'DIR', 'text:DIR', 'vec:en=FILE,de=FILE'; a path may hold these marks itself."""

    def path_in(part: str) -> str:
        marks = re.finditer("[:=]", part.partition(",")[0])
        return next(filter(known, [part, *(part[mark.end() :] for mark in marks)]), "")

    def known(path: str) -> bool:
        return path == POCKET or (
            os.path.exists(path) and (path != value or os.sep in path or "." in path)
        )

    whole = path_in(value)
    yield from [whole] if whole else filter(None, map(path_in, value.split(",")))


def _content(path: str) -> dict[str, Any]:
    """'bytes' and 'hash' of a file, or of all files of a folder."""
    names = [os.path.join(path, name) for name in ("config.json", "results.json")]
    files = names[:1] if all(map(os.path.exists, names)) else list(_files(path))
    digest, size = hashlib.sha256(), 0
    for file in files:
        if file.endswith(".py"):  # of the embedded world: comments do not change its text
            digest.update(_code(file).encode())
        else:
            digest.update(os.path.relpath(file, path).encode())
            _update(digest, file)
        size += os.path.getsize(file)
    return {"bytes": size, "hash": digest.hexdigest()[:_DIGITS]}


@functools.cache
def _content_of_pocket() -> Mapping[str, Any]:
    """As it is when the process first asks: it has loaded these modules."""
    return _content(os.path.join(_PACKAGE, POCKET))


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for folder, inner, names in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "__")))
        yield from (os.path.join(folder, name) for name in sorted(names) if name[0] != ".")


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


def of_process() -> list[str]:
    """The hashes of the modules that this process has loaded and that may decide figures.

    Its own files are those of the package and, of a benchmark, the scripts beside the one that runs.
    """
    # Each stage of each run asks, among thousands of modules: paths are resolved once.
    files = {
        _resolved(getattr(module, "__file__", None) or "") for module in [*sys.modules.values()]
    }
    return sorted({of_module(file) for file in files if _decides_figures(file)})


_resolved = functools.cache(os.path.realpath)


@functools.cache
def of_project() -> frozenset[str]:
    """The hashes by which a row is compared: of all modules as they are today, wherever they lie, and
    of earlier ones of which `benchmarks/golden.py --keep` has shown that the figures are the same."""
    folders = (_PACKAGE, _BENCHMARKS)
    files = (file for folder in folders for file in _files(folder) if file.endswith(".py"))
    known = set(map(of_module, files))
    for change in reversed(same_code()):
        if known.issuperset(change["new"]):
            known.update(change["old"])
    return frozenset(known)


def same_code(path: str = SAME_CODE) -> list[dict[str, Any]]:
    """Changes that changed no figure: commits 'before' and 'after', hashes of modules 'old' and 'new'.

    'within' is how far figures over all pairs of languages may have moved; without it, none has moved.
    The oldest change comes first; a change counts as long as its new modules do.
    """
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@functools.cache
def _decides_figures(file: str) -> bool:
    if os.path.dirname(file) == _BENCHMARKS:
        return True
    if not file.startswith(_PACKAGE + os.sep):
        return False
    names = os.path.splitext(os.path.relpath(file, _PACKAGE))[0].split(os.sep)
    return names[0] not in _NO_FIGURES and names[-1] not in _SHOWING


@functools.cache
def of_module(path: str) -> str:
    """The hash of a module's code without comments, docstrings, layout and imports.

    Without imports, a move of files changes nothing.
    """
    return hashlib.sha256(_code(path).encode()).hexdigest()[:_CODE_DIGITS]


def _code(path: str) -> str:
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
