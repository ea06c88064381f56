"""Sections of options: ranges, cross-field checks, classes chosen by name, and the way to a dict and back."""

import dataclasses
from typing import Annotated, Mapping

import pytest

from clwe_jax.options.section import (
    AT,
    AtMost,
    ByIdentity,
    Count,
    Divides,
    OneOf,
    OptionError,
    Range,
    Rate,
    Options,
    Share,
    Size,
    change_section,
    check_value,
    entries,
    helps,
    mapping,
    option,
    section,
    to_dict,
    values_of,
)


@dataclasses.dataclass(frozen=True)
class Apple(Options):
    name = "apple"
    weight: Size = option(3, "grams")
    colour: Annotated[str, OneOf("red", "green")] = option("red", "of its skin")


@dataclasses.dataclass(frozen=True)
class Pear(Options):
    name = "pear"
    weight: Size = option(5, "grams")
    stem: bool = option(True, "whether it has one")


@dataclasses.dataclass(frozen=True)
class Box(Options):
    size: Size = option(12, "places")
    rows: Annotated[Size, Divides("size")] = option(4, "rows of places")
    full: Annotated[Count, AtMost("rows")] = option(0, "full rows")
    sizes: tuple = option(((1, 2),), "pairs of sizes")

    def __post_init__(self):
        super().__post_init__()
        if self.full == self.rows:
            raise OptionError(f"{AT}.full={self.full} leaves no room: --{AT}.full=0")


@dataclasses.dataclass(frozen=True)
class Shop(Options):
    fruit: Options = section(Apple, "fruit")
    box: Box = section(Box)
    spare: Box | None = section(lambda: None, Box)
    stock: Mapping[str, Options] = entries("fruit", "name -> a fruit", first=Pear(weight=7))
    notes: Mapping[str, str] = mapping("anything")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weighed(Apple):
    """A class that does the work; `scale` is no option."""

    scale: float


def lookup(kind, name):
    assert kind == "fruit"
    return {"apple": Apple, "pear": Pear}[name]


def with_(values):
    return change_section(Shop(), values, "config", lookup)


@pytest.mark.parametrize(
    "annotation, good, bad",
    [
        (Size, 1, [0, -1, 1.5, "1", True]),
        (Rate, 0, [1.0, -0.1, "x"]),
        (Share, 1.0, [1.1]),
        (Annotated[str, OneOf("a", "b")], "b", ["c", 1]),
        (Annotated[int, Range(8)], 8, [7]),
        (bool, True, [1]),
    ],
)
def test_values(annotation, good, bad):
    check_value(annotation, good, "x")
    for value in bad:
        with pytest.raises(OptionError, match="^x="):
            check_value(annotation, value, "x")


@pytest.mark.parametrize(
    "values, message",
    [
        ({"box": {"size": 0}}, "config.box.size=0: must be at least 1"),
        (
            {"box": {"rows": 5}},
            "config.box.rows=5 does not divide config.box.size=12; 4 does: --config.box.rows=4",
        ),
        (
            {"box": {"full": 5}},
            "config.box.full=5 is more than config.box.rows=4: --config.box.full=4",
        ),
        ({"box": {"full": 4}}, "config.box.full=4 leaves no room: --config.box.full=0"),
        ({"box": {"sise": 4}}, "config.box has no option 'sise'. Did you mean 'size'?"),
        ({"fruit": {"colour": "blue"}}, "config.fruit.colour='blue': must be one of red, green"),
        ({"stock": {"first": {"weight": 0}}}, "config.stock.first.weight=0: must be at least 1"),
        ({"stock": {"new": {"weight": 1}}}, "config.stock.new.name is missing"),
        ({"boxes": {}}, "config has no option 'boxes'. Did you mean 'box'?"),
    ],
)
def test_a_wrong_value_is_named_with_its_path(values, message):
    with pytest.raises(ValueError) as error:
        with_(values)
    assert str(error.value).startswith(message)


def test_a_section_made_directly_names_the_option_alone():
    with pytest.raises(OptionError, match="^rows=5 does not divide size=12; 4 does: --rows=4$"):
        Box(rows=5)


def test_a_name_chooses_a_class_that_keeps_the_options_of_both():
    found = with_({"fruit": {"weight": 9}})
    assert found.fruit == Apple(weight=9)
    found = change_section(found, {"fruit": {"name": "pear", "stem": False}}, "config", lookup)
    assert found.fruit == Pear(weight=9, stem=False)


def test_entries_are_added():
    found = with_({"stock": {"second": {"name": "apple"}}})
    assert found.stock == {"first": Pear(weight=7), "second": Apple()}


def test_an_absent_section_can_be_given():
    assert with_({"spare": {"size": 6, "rows": 2}}).spare == Box(size=6, rows=2)
    assert with_({"spare": None}).spare is None


def test_from_options_to_a_dict_and_back():
    shop = with_(
        {"fruit": {"name": "pear"}, "box": {"sizes": [[3, 4], [5, 6]]}, "notes": {"a": "b"}}
    )
    values = to_dict(shop)
    assert values["fruit"] == {"name": "pear", "weight": 3, "stem": True}
    assert values["box"]["sizes"] == ((3, 4), (5, 6))  # lists, as JSON has them, become tuples
    assert with_(values) == shop


def test_a_class_that_works_extends_its_options():
    made = Weighed(**values_of(Apple(weight=4)), scale=2.0)
    assert made.weight == 4 and to_dict(made) == to_dict(Apple(weight=4))
    with pytest.raises(OptionError, match="weight=0"):
        Weighed(weight=0, scale=1.0)


def test_every_option_has_its_help():
    found = {
        path: (value, help)
        for path, value, help in helps(Shop(), names={"fruit": ("apple", "pear")})
    }
    assert found["fruit.name"] == ("apple", "one of apple, pear")
    assert found["fruit.weight"] == (3, "grams")
    assert found["stock.first.stem"] == (True, "whether it has one")
    assert "stock" not in found and "fruit" not in found


def test_a_class_that_holds_arrays_equals_itself_alone():
    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Holder(ByIdentity, Apple):
        array: object

    one, other = Holder(array=[1]), Holder(array=[1])
    assert one == one and one != other and len({one, other}) == 2 and Apple() == Apple()
