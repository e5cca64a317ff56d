"""`dataclass` of `presage.records` against that of the standard library."""

from __future__ import annotations

import ast
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import presage
from presage import records

RUNTIME: Any = records.dataclass  # type checkers take it for that of the standard library


@records.dataclass(frozen=True)
class Reading:
    sensor: str
    value: float = 0.0
    tags: list[str] = field(default_factory=list, compare=False)
    span: int | None = field(default=None, compare=False, repr=False, kw_only=True)
    unit: ClassVar[str] = "K"


@records.dataclass(frozen=True)
class Placed(Reading):
    room: str = "r1"
    doubled: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubled", 2 * self.value)


@records.dataclass
class Counter:
    count: int = 0
    seen: set[int] = field(init=False, default_factory=set)


def declared(make: Any) -> Any:
    """The same classes by another decorator."""

    @make(frozen=True)
    class Node:
        name: str
        inner: Any = None
        hidden: int = field(default=0, compare=False, repr=False, kw_only=True)

    @make(frozen=True)
    class Leaf(Node):
        value: int = 1

    return Node, Leaf


def test_objects_are_made_printed_compared_and_hashed_as_by_the_standard_library() -> None:
    ours, theirs = declared(RUNTIME), declared(dataclasses.dataclass)
    for our, their in zip(ours, theirs, strict=True):
        assert [f.name for f in fields(our)] == [f.name for f in fields(their)]
        assert our.__match_args__ == their.__match_args__
        for values, named in [(("a",), {}), (("a", "b"), {"hidden": 3}), (("a",), {"inner": (1, "x")})]:
            mine, other = our(*values, **named), their(*values, **named)
            assert repr(mine) == repr(other)
            assert asdict(mine) == asdict(other)
            assert mine == our(*values, **named)
            assert hash(mine) == hash(our(*values, **named))
            assert mine == replace(mine, hidden=9)
            assert mine != replace(mine, name="z")
    assert ours[0]("a") != ours[1]("a")  # of another class


@pytest.mark.parametrize("values", [(), ("a", None, 1, 2)])
def test_wrong_arguments_are_refused_in_the_same_words(values: tuple[Any, ...]) -> None:
    said = []
    for make in (RUNTIME, dataclasses.dataclass):
        with pytest.raises(TypeError) as refused:
            declared(make)[0](*values)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_a_frozen_object_cannot_be_changed() -> None:
    reading = Placed("s1", 2.0)
    assert reading.doubled == 4.0
    assert reading.room == "r1"
    assert reading.unit == "K"
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'value'"):
        reading.value = 3.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'value'"):
        del reading.value
    assert Reading("a").tags is not Reading("a").tags


def test_objects_that_were_not_made_by_init_are_equal_too() -> None:
    made = Reading("s1", 1.5, ["x"], span=4)
    sent = pickle.loads(pickle.dumps(made))
    assert sent == made
    assert sent.span == 4
    assert hash(sent) == hash(made)


def test_an_object_that_can_change_has_no_hash() -> None:
    counter = Counter()
    counter.count += 1
    counter.seen.add(1)
    assert counter != Counter(1)  # `seen` counts
    assert repr(counter) == "Counter(count=1, seen={1})"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_methods_of_the_class_itself_are_kept() -> None:
    @records.dataclass(frozen=True)
    class Folded:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Folded) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return f"<{self.name}>"

    assert Folded("A") == Folded("a")
    assert len({Folded("A"), Folded("a")}) == 1
    assert repr(Folded("A")) == "<A>"


def test_a_class_that_contains_itself_prints() -> None:
    @records.dataclass
    class Knot:
        other: Any = None

    knot = Knot()
    knot.other = knot
    assert repr(knot).endswith("Knot(other=...)")


def test_every_module_of_the_engine_uses_it() -> None:
    source = Path(presage.__file__).parent
    slow = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if path.name != "records.py" and path.parent.name != "sensors"  # a device has the standard library only
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(name.name == "dataclass" for name in node.names)
    ]
    assert slow == []
