"""Sections of options: frozen dataclasses that nothing else describes, checks or defaults.

A field of a section carries its default, its range and one sentence of help:

    @dataclasses.dataclass(frozen=True)
    class TransformerOptions(Options):
        width: Size = option(768, "width of a layer")                     # at least 1
        heads: Annotated[Size, Divides("width")] = option(12, "heads of a layer")
        norm: Annotated[str, OneOf("post", "pre")] = option("post", "place of the normalisation")
        groups: Mapping = entries(Group, "name -> options of a group of parameters")

Values are checked where a section is made, and checks across fields stand in its `__post_init__`.
A class that does the work extends its section with what is not an option, as `context` of an
evaluator. This module imports neither jax nor TensorFlow.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
from typing import Annotated, Any, Callable, ClassVar, Iterable, Iterator, Mapping, TypeVar
from typing import get_args, get_origin, get_type_hints

S = TypeVar("S", bound="Options")

_MAX_NAMED = 120  # names that an error message lists
_SMALLEST = 1e-12  # the least number above 0, in ranges that leave 0 out
# Stands for the path of the section, such as config.model, in messages of checks: a section does not
# know where in a config it stands.
AT = "§"


class OptionError(ValueError):
    """A value that a section does not allow; `AT` in the message stands for the section's path."""

    def __str__(self) -> str:
        return self.args[0].replace(f"{AT}.", "")

    def at(self, path: str) -> OptionError:
        """The error with the path of its section."""
        return OptionError(self.args[0].replace(AT, path))


@dataclasses.dataclass(frozen=True)
class Range:
    """The numbers from `minimum` to `maximum`; without `maximum` itself where `below`."""

    minimum: float
    maximum: float = float("inf")
    below: bool = False

    def __contains__(self, value: float) -> bool:
        below = value < self.maximum if self.below else value <= self.maximum
        return self.minimum <= value and below

    def __str__(self) -> str:
        positive = self.minimum == _SMALLEST
        if self.maximum == float("inf"):
            return "above 0" if positive else f"at least {self.minimum:g}"
        begin = "(0" if positive else f"[{self.minimum:g}"
        return f"in {begin}, {self.maximum:g}{')' if self.below else ']'}"


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
    """The numbers that divide the field `other` of the same section."""

    other: str


@dataclasses.dataclass(frozen=True)
class AtMost:
    """The numbers up to the field `other` of the same section."""

    other: str


Size = Annotated[int, Range(1)]
Count = Annotated[int, Range(0)]
Amount = Annotated[float, Range(0)]
Positive = Annotated[float, Range(_SMALLEST)]
PositiveShare = Annotated[float, Range(_SMALLEST, 1)]
InnerShare = Annotated[float, Range(_SMALLEST, 1, below=True)]
Share = Annotated[float, Range(0, 1)]
Rate = Annotated[float, Range(0, 1, below=True)]

_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}


def option(default: Any, help: str) -> Any:
    """A field with a default and one sentence of help."""
    return dataclasses.field(default=default, metadata={"help": help})


def section(default: Callable[[], Options], of: type[Options] | str = "", help: str = "") -> Any:
    """A field that is a section itself.

    Args:
      default: the section's class, or a function that makes its default.
      of: the registry's table, where the option `name` chooses the section's class; or the class of
        a section that is None by default; '' else.
      help: one sentence on a section that is None by default.
    """
    return dataclasses.field(default_factory=default, metadata={"help": help, "section": of})


def mapping(help: str) -> Any:
    """A field that maps names to values of any type; empty by default."""
    return dataclasses.field(default_factory=dict, metadata={"help": help})


def entries(of: type[Options] | str, help: str, **default: Options) -> Any:
    """A field that maps names, which users choose, to sections.

    Args:
      of: the sections' class, or the registry's table where the option `name` chooses it.
      help: one sentence.
    """
    return dataclasses.field(
        default_factory=lambda: dict(default), metadata={"help": help, "entries": of}
    )


@dataclasses.dataclass(frozen=True)
class Options:
    """Options that belong together: a section of a config, whose base class this is."""

    # The name that chooses the class, in a section of one class of the registry; '' in others.
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        for field in options_of(type(self)):
            if isinstance(value := getattr(self, field.name), list):
                value = _tuples(value)
                object.__setattr__(self, field.name, value)
            if not {"entries", "section"} & set(field.metadata):
                check_value(hints[field.name], value, field.name, self)

    def check(self, run: Any, path: str) -> None:
        """Raises ValueError where the section does not fit the other options of a run.

        Args:
          run: all options of the run, without the mark 'source'.
          path: the section's path in the config, for messages.
        """


class ByIdentity:
    """The first base of a class that extends its section and equals itself alone.

    `dataclass(eq=False)` would inherit the section's equality, which sees the options only.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def options_of(cls: type) -> tuple[dataclasses.Field, ...]:
    """The fields of a section that are options, in their order."""
    return tuple(field for field in dataclasses.fields(cls) if "help" in field.metadata)


def is_chosen(part: Options) -> bool:
    """Whether the option `name` chooses the section's class."""
    return bool(part.name) and all(field.name != "name" for field in options_of(type(part)))


def check_value(annotation: Any, value: Any, name: str, others: Any = None) -> None:
    """Raises OptionError for a value that an annotation does not allow.

    Args:
      annotation: a type, or `Annotated[type, RULE, ...]` with rules of this module; others are
        not checked.
      name: name of the option.
      others: the section, for `Divides` and `AtMost`.
    """
    kind, *rules = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if kind not in _KINDS:
        return
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise OptionError(f"{AT}.{name}={value!r}: expected {_KINDS[kind]}")
    for rule in rules:
        if isinstance(rule, Divides):
            _check_divides(value, getattr(others, rule.other), rule.other, name)
        elif isinstance(rule, AtMost):
            if value > (limit := getattr(others, rule.other)):
                raise OptionError(
                    f"{AT}.{name}={value} is more than {AT}.{rule.other}={limit}: --{AT}.{name}={limit}"
                )
        elif value not in rule:
            raise OptionError(f"{AT}.{name}={value!r}: must be {rule}")


def _check_divides(value: int, whole: int, other: str, name: str) -> None:
    if whole % value:
        near = min((n for n in range(1, whole + 1) if whole % n == 0), key=lambda n: abs(n - value))
        raise OptionError(
            f"{AT}.{name}={value} does not divide {AT}.{other}={whole}; {near} does: "
            f"--{AT}.{name}={near}"
        )


def change_section(
    base: S, values: Mapping[str, Any], path: str, lookup: Callable[[str, str], type]
) -> S:
    """A section with other values.

    Args:
      base: the section.
      values: option -> value; a mapping for a section. Where the option `name` of a section
        chooses another class, the new section keeps the old values of the options of both.
      path: the section's path in the config, for messages.
      lookup: (table of the registry, name) -> the class of the section.

    Raises:
      ValueError: an unknown option (the message names the nearest known one), or a value that is
        not allowed.
    """
    fields = {field.name: field for field in options_of(type(base))}
    check_keys(fields, values, path)
    changes = {}
    for name, value in values.items():
        option_path = f"{path}.{name}"
        old = getattr(base, name)
        data = fields[name].metadata
        if "entries" in data:
            changes[name] = old | {
                key: _entry(old.get(key), data["entries"], entry, f"{option_path}.{key}", lookup)
                for key, entry in value.items()
            }
        elif "section" in data and value is not None and not isinstance(value, Options):
            changes[name] = _entry(old, data["section"] or type(old), value, option_path, lookup)
        else:
            changes[name] = value
    try:
        return dataclasses.replace(base, **changes)
    except OptionError as error:
        raise error.at(path) from None


def _entry(
    old: Options | None,
    of: type[Options] | str,
    values: Mapping[str, Any],
    path: str,
    lookup: Callable[[str, str], type],
) -> Options:
    """The section of an entry, whose class is given or chosen by the option `name`."""
    if not isinstance(of, str):
        return change_section(old or of(), values, path, lookup)
    name = values.get("name", old.name if old else "")
    if not name:
        raise ValueError(f"{path}.name is missing: it chooses one of the registry's table {of!r}")
    cls = lookup(of, name)
    if old is None or type(old) is not cls:
        names = {field.name for field in options_of(cls)}
        old_values = {name: x for name, x in values_of(old).items() if name in names} if old else {}
        try:
            old = cls(**old_values)
        except OptionError as error:
            raise error.at(path) from None
    return change_section(old, {key: x for key, x in values.items() if key != "name"}, path, lookup)


def values_of(part: Options) -> dict[str, Any]:
    """The options of a section by name; inner sections stay sections."""
    return {field.name: getattr(part, field.name) for field in options_of(type(part))}


def inner(part: Options, field: dataclasses.Field) -> dict[str, Options]:
    """The sections in an option by their paths: the option's name, or for entries NAME.KEY."""
    value = getattr(part, field.name)
    if "entries" in field.metadata:
        return {f"{field.name}.{key}": entry for key, entry in value.items()}
    return {field.name: value} if isinstance(value, Options) else {}


def to_dict(part: Options) -> dict[str, Any]:
    """The options of a section by name; sections become dicts, with the option `name` first."""
    values: dict[str, Any] = {"name": part.name} if is_chosen(part) else {}
    for field in options_of(type(part)):
        value = getattr(part, field.name)
        if isinstance(value, Options):
            value = to_dict(value)
        elif "entries" in field.metadata:
            value = {key: to_dict(entry) for key, entry in value.items()}
        values[field.name] = value
    return values


def helps(
    part: Options, path: str = "", names: Mapping[str, Iterable[str]] = {}
) -> Iterator[tuple[str, Any, str]]:
    """(path, value, help) of every option of a section and of its sections, in their order.

    Args:
      part: the section.
      path: the beginning of the paths.
      names: table of the registry -> the names that an option `name` may have.
    """
    for field in options_of(type(part)):
        parts = inner(part, field)
        table = field.metadata.get("section") or field.metadata.get("entries")
        for key, entry in parts.items():
            if is_chosen(entry):
                yield f"{path}{key}.name", entry.name, f"one of {', '.join(names.get(table, ()))}"
            yield from helps(entry, f"{path}{key}.", names)
        if not parts:
            yield f"{path}{field.name}", getattr(part, field.name), field.metadata["help"]


def nearest(word: str, known: Iterable[str]) -> str:
    """'Did you mean X?', or a list of known words: the end of an error message."""
    known = sorted(known)
    more = len(known) - _MAX_NAMED
    listed = ", ".join(known[:_MAX_NAMED])
    return suggestion(word, known) or f"Known: {listed}{f' and {more:,} more' if more > 0 else ''}."


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """'Did you mean X?' where a known word is at least as similar as `cutoff`, in [0, 1]; or ''."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {close[0]!r}?" if close else ""


def check_keys(known: Iterable[str], given: Iterable[str], path: str) -> None:
    """Raises ValueError for a name of `given` that is not known.

    `path` is what they are options of, for the message: 'config.model'.
    """
    for name in given:
        if name not in known:
            raise ValueError(f"{path} has no option {name!r}. {nearest(name, known)}")


def _tuples(value: Any) -> Any:
    """Lists, as JSON has them, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@functools.cache
def _hints(cls: type) -> Mapping[str, Any]:
    """The annotations of a section's options."""
    hints: dict[str, Any] = {}
    names = {field.name for field in options_of(cls)}
    for base in reversed(cls.__mro__):
        # A class that extends its section declares none, and may name types that are not imported.
        if names & vars(base).get("__annotations__", {}).keys():
            hints |= get_type_hints(base, include_extras=True)
    return hints
