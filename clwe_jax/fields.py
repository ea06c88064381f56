"""Options of registered classes: their fields, ranges and descriptions, read from the source.

Nothing is imported: a wrong option is named before jax and TensorFlow are loaded, and `--help`
shows the descriptions that the classes' own docstrings give. A field declares its range by its
annotation:

    width: Size = 768                          # at least 1
    heads: Annotated[Size, Divides("width")] = 12
    private_layers: Annotated[Count, AtMost("layers")] = 0
    norm: Annotated[str, OneOf("post", "pre")] = "post"
    kind: Annotated[str, OneOf(*KINDS)] = "a"  # KINDS: a tuple of texts in the same module
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import re
from typing import Annotated, Any, Mapping, get_args, get_origin


@dataclasses.dataclass(frozen=True)
class Range:
    """The numbers from `least` to `most`; without `most` itself where `below`."""

    least: float
    most: float = float("inf")
    below: bool = False

    def __contains__(self, value: float) -> bool:
        return self.least <= value and (value < self.most if self.below else value <= self.most)

    def __str__(self) -> str:
        if self.most == float("inf"):
            return f"at least {self.least:g}"
        return f"in [{self.least:g}, {self.most:g}{')' if self.below else ']'}"


class OneOf:
    """The values that are listed."""

    def __init__(self, *known: str) -> None:
        self.known = known

    def __contains__(self, value: str) -> bool:
        return value in self.known

    def __str__(self) -> str:
        return f"one of {', '.join(self.known)}"


@dataclasses.dataclass(frozen=True)
class Divides:
    """The numbers that divide the field `other` of the same class."""

    other: str


@dataclasses.dataclass(frozen=True)
class AtMost:
    """The numbers up to the field `other` of the same class."""

    other: str


Size = Annotated[int, Range(1)]
Count = Annotated[int, Range(0)]
Amount = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
Rate = Annotated[float, Range(0, 1, below=True)]

_NAMES = {
    "Annotated": Annotated, "Range": Range, "OneOf": OneOf, "Divides": Divides, "AtMost": AtMost, "Size": Size,
    "Count": Count, "Amount": Amount, "Share": Share, "Rate": Rate, "int": int, "float": float,
    "bool": bool, "str": str,
}  # fmt: skip
_REFERENCE = re.compile(r"see `([\w.]+)`")
_ENTRY = re.compile(r" {2,6}(\w+(?:, \w+)*): (.*)")  # the beginning of an entry of `Attributes:`


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a class.

    Attributes:
      annotation: its evaluated annotation; None where the annotation names other types.
      help: its description, '' without one.
      options: the class whose fields are the keys of a mapping in this field, 'module:Class'; ''
        for other fields.
    """

    annotation: Any
    help: str
    options: str = ""


@functools.cache
def of(target: str) -> Mapping[str, Field]:
    """The fields of the class 'module:Class' and of its bases in the same module, by name."""
    module, _, name = target.partition(":")
    body, lines = _source(module)
    classes = {node.name: node for node in body.body if isinstance(node, ast.ClassDef)}
    constants = _constants(body)
    found: dict[str, Field] = {}
    described: dict[str, str] = {}
    for node in reversed(_with_bases(classes, name)):
        described |= _attributes(ast.get_docstring(node, clean=False) or "")
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and not _is_internal(item):
                comment = lines[item.end_lineno - 1][item.end_col_offset :].strip()
                text = described.get(item.target.id) or comment.removeprefix("#").strip()
                text = _referred(text, item.target.id, body)
                found[item.target.id] = Field(
                    _evaluated(item.annotation, constants), text, _options(item.annotation, body)
                )
    return found


def check_value(annotation: Any, value: Any, where: str, others: Mapping[str, Any] = {}) -> None:
    """Raises ValueError for a value that an annotation does not allow.

    Args:
      annotation: a type, or `Annotated[type, RULE, ...]` with rules of this module.
      value: the value.
      where: name of the option, for the message.
      others: the options of the same class, for `Divides` and `AtMost`.
    """
    kind, *rules = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where}={value!r}: expected {_KINDS[kind]}")
    for rule in rules:
        if isinstance(rule, Divides):
            _check_divides(value, others.get(rule.other, 0), rule.other, where)
        elif isinstance(rule, AtMost):
            _check_at_most(value, others.get(rule.other, value), rule.other, where)
        elif value not in rule:
            raise ValueError(f"{where}={value!r}: must be {rule}")


_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}


def _check_divides(value: int, whole: int, other: str, where: str) -> None:
    if whole % value:
        near = min((n for n in range(1, whole + 1) if whole % n == 0), key=lambda n: abs(n - value))
        section = where.rpartition(".")[0]
        raise ValueError(
            f"{where}={value} does not divide {section}.{other}={whole}; {near} does: --{where}={near}"
        )


def _check_at_most(value: int, most: int, other: str, where: str) -> None:
    if value > most:
        section = where.rpartition(".")[0]
        raise ValueError(f"{where}={value} is more than {section}.{other}={most}: --{where}={most}")


@functools.cache
def _source(module: str) -> tuple[ast.Module, list[str]]:
    path = importlib.util.find_spec(module).origin
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return ast.parse(text, filename=path), text.splitlines()


def _with_bases(classes: Mapping[str, ast.ClassDef], name: str) -> list[ast.ClassDef]:
    bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
    above = [node for base in bases if base in classes for node in _with_bases(classes, base)]
    return [classes[name], *above]


def _attributes(docstring: str) -> dict[str, str]:
    """Name -> description in the section `Attributes:` of a docstring; the first line of each."""
    _, _, section = docstring.partition("Attributes:\n")
    found: dict[str, list[str]] = {}
    names: list[str] = []
    depth = len(section) - len(section.lstrip(" "))
    for line in section.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or indent < depth:
            break
        match = _ENTRY.fullmatch(line) if indent == depth else None
        if match:
            names = match[1].split(", ")
            found |= {name: [match[2]] for name in names}
        else:
            for name in names:
                found[name].append(line.strip())
    return {name: " ".join(parts) for name, parts in found.items()}


def _referred(text: str, name: str, body: ast.Module) -> str:
    """The description of the field in the class that a text 'see `Class`' names."""
    match = _REFERENCE.match(text)
    if not match:
        return text
    room, _, other = match[1].rpartition(".")
    module = f"clwe_jax.{room}" if room else _imported_from(other, body)
    field = of(f"{module}:{other}").get(name) if module else None
    return field.help if field else text


def _imported_from(name: str, body: ast.Module) -> str:
    """The module of this package that a name is imported from; '' for other names."""
    for node in body.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clwe_jax."):
            if any(alias.name == name for alias in node.names):
                return node.module
    return ""


def _is_internal(item: ast.AnnAssign) -> bool:
    """Whether the field is no argument of the class: `field(init=False)`."""
    return isinstance(item.value, ast.Call) and any(
        keyword.arg == "init" for keyword in item.value.keywords
    )


def _constants(body: ast.Module) -> dict[str, Any]:
    """The tuples of texts that the module defines, by name."""
    found = {}
    for node in body.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            if all(isinstance(part, ast.Constant) for part in node.value.elts):
                found[ast.unparse(node.targets[0])] = ast.literal_eval(node.value)
    return found


def _evaluated(annotation: ast.expr, constants: Mapping[str, Any]) -> Any:
    try:
        found = eval(ast.unparse(annotation), {"__builtins__": {}}, {**constants, **_NAMES})
    except (NameError, TypeError):
        return None
    return found if isinstance(found, type) or get_origin(found) is Annotated else None


def _options(annotation: ast.expr, body: ast.Module) -> str:
    """The class in `Class | Mapping[...]`, where the module imports it from this package; or ''."""
    if not (isinstance(annotation, ast.BinOp) and isinstance(annotation.left, ast.Name)):
        return ""
    module = _imported_from(annotation.left.id, body)
    return f"{module}:{annotation.left.id}" if module else ""
