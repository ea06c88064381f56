"""Hashes of data and of code, by which a row of the ledger is compared with today's."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
from typing import Any, Iterable, Iterator, Mapping

from clwe_jax import registry
from clwe_jax.ledger.environment import ROOT
from clwe_jax.options.section import Section
from clwe_jax.options.systems import parts

_PACKAGE = os.path.join(ROOT, "clwe_jax")
_DIGITS = 16
_BLOCK = 1 << 20
# Of a longer file the size, the beginning and the end are hashed.
_WHOLE = 256 * _BLOCK
# The value of an option that names the embedded world, which the package holds.
POCKET = "pocket"
# Rooms whose code does not decide figures: options have a hash of their own, the embedded world is data.
_NO_FIGURES = {
    "options", "presets", "report", "ledger", "registry", "atomic", "terminal", "main", "reevaluate",
    "pocket",
}  # fmt: skip
# Modules of any room that show, forecast or guard a run and change none of its figures.
_SHOWING = {"report", "pictures", "shown_words", "forecast", "times", "lock"}


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
                entries[place] = {"name": os.path.basename(place), **_content(place)}
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
    """The paths in 'DIR', 'text:DIR', 'vec:en=FILE,de=FILE'."""
    for part in value.split(","):
        for mark in (":", "="):
            part = part.rpartition(mark)[2]
        if part == POCKET or (
            os.path.exists(part) and (part != value or os.sep in part or "." in part)
        ):
            yield part


def _content(path: str) -> dict[str, Any]:
    """'bytes' and 'hash' of a file, or of all files of a folder."""
    names = [os.path.join(path, name) for name in ("config.json", "results.json")]
    files = names[:1] if all(map(os.path.exists, names)) else list(_files(path))
    digest, size = hashlib.sha256(), 0
    for file in files:
        if file.endswith(".py"):  # of the embedded world: comments do not change its text
            digest.update(_module(file)[0].encode())
        else:
            digest.update(os.path.relpath(file, path).encode())
            _update(digest, file)
        size += os.path.getsize(file)
    return {"bytes": size, "hash": digest.hexdigest()[:_DIGITS]}


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


def of_run(run: Section) -> str:
    """The hash of the code that a run's figures come from: its job, and what its options choose."""
    modules = {registry.TABLES["job"][run.job].partition(":")[0]}
    for _, part in parts(run):
        for table in registry.TABLES.values():
            entry = table.get(part.name, "") if part.name else ""
            modules.add((entry if isinstance(entry, str) else entry[0]).partition(":")[0])
    return of_code(_module_path(name) for name in modules if name)


def of_script(path: str) -> str:
    """The hash of the code of a benchmark: a script, and the modules that it imports."""
    return of_code([os.path.join(ROOT, path)])


def of_code(paths: Iterable[str]) -> str:
    """The hash of source files and of all that they import of this project, without comments."""
    todo, sources = [path for path in paths if path], {}
    while todo:
        path = todo.pop()
        if path not in sources:
            sources[path], imports = _module(path)
            todo += imports
    return _hash("\n".join(sorted(sources.values())).encode())


def _module_path(name: str) -> str:
    """The file of a module whose code decides figures; '' for any other."""
    parts_of_name = name.split(".")
    if parts_of_name[0] != "clwe_jax" or not parts_of_name[1:]:
        return ""
    if parts_of_name[1] in _NO_FIGURES or parts_of_name[-1] in _SHOWING:
        return ""
    path = os.path.join(ROOT, *parts_of_name)
    for file in (f"{path}.py", os.path.join(path, "__init__.py")):
        if os.path.exists(file):
            return file
    return ""


@functools.cache
def _module(path: str) -> tuple[str, tuple[str, ...]]:
    """A module's code, and the files of this project that it imports, also inside functions.

    The code is without comments, docstrings, layout and imports: a move of files changes no figure.
    """
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    imported: list[ast.stmt] = []
    todo: list[ast.AST] = [tree]
    while todo:  # statements alone: an expression holds neither imports nor docstrings
        node = todo.pop()
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                imported += [x for x in inner if isinstance(x, (ast.Import, ast.ImportFrom))]
                inner[:] = [x for x in inner if not isinstance(x, (ast.Import, ast.ImportFrom))]
                todo += inner
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant):
                del body[0]
    files = {file for node in imported for file in _files_of(node, path)}
    return ast.dump(tree), tuple(files - {""})


def _files_of(node: ast.stmt, path: str) -> Iterator[str]:
    """The files that an import statement of the file `path` may mean; '' for those that do not count."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        assert isinstance(node, ast.ImportFrom)
        names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    for name in names:
        sibling = os.path.join(os.path.dirname(path), f"{name}.py")
        is_script = not path.startswith(_PACKAGE + os.sep) and os.path.exists(sibling)
        yield sibling if is_script else _module_path(name)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
