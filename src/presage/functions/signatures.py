"""Function signatures as text (`ARRAY<T>, T -> BOOLEAN`), and the matching of argument types.

A parameter is a type, possibly with variables; `?` after it makes it optional, `+` lets it repeat (at least once), `*`
lets it repeat or be absent. Variables: T U V any type, O an orderable type, K a map's key, N a number, I an integer. A
variable that occurs twice is bound to the common type of its arguments; X is an orderable type, bound anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from presage.model import types as t
from presage.model.types import ArrayOf, DataType, MapOf, StructOf


@dataclass(frozen=True)
class Variable(DataType):
    """A type variable of a signature."""

    name: str

    def __str__(self) -> str:
        return self.name


def _any(_: DataType) -> bool:
    return True


# Of a variable: the types it may be bound to, the same in words, and its type if only NULL is given (as in Spark).
_KINDS: dict[str, tuple[Callable[[DataType], bool], str, DataType]] = {
    "T": (_any, "a value", t.NULL),
    "U": (_any, "a value", t.NULL),
    "V": (_any, "a value", t.NULL),
    "O": (t.is_orderable, "a value that has an order (not a MAP)", t.STRING),
    "K": (t.is_orderable, "a key (not a MAP)", t.STRING),
    "N": (t.is_numeric, "a number", t.DOUBLE),
    "I": (t.is_integral, "an INT or a LONG", t.LONG),
    "X": (t.is_orderable, "a value that has an order (not a MAP)", t.NULL),
}


@dataclass(frozen=True)
class Parameter:
    type: DataType
    optional: bool = False
    repeats: bool = False


@dataclass(frozen=True)
class Signature:
    """One form of a function."""

    text: str
    parameters: tuple[Parameter, ...]
    result: DataType

    @property
    def least(self) -> int:
        return sum(not p.optional for p in self.parameters)

    @property
    def most(self) -> int | None:
        """The greatest number of arguments; None if unlimited."""
        return None if any(p.repeats for p in self.parameters) else len(self.parameters)

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def parameter(self, index: int) -> Parameter:
        """The parameter of the argument at `index`; only the last one repeats."""
        return self.parameters[min(index, len(self.parameters) - 1)]


@dataclass(frozen=True)
class Fit:
    """The types that the arguments are cast to, and the type of the result."""

    coerced: tuple[DataType, ...]
    result: DataType


@dataclass(frozen=True)
class Misfit:
    """The first argument that does not fit, and the expected type in words."""

    index: int
    expected: str


@lru_cache(maxsize=512)
def parse_signature(text: str) -> Signature:
    left, _, right = text.partition("->")
    parameters = []
    for part in _split(left):
        optional, repeats = part[-1] in "?*", part[-1] in "*+"
        parameters.append(Parameter(_parse_type(part.rstrip("?*+")), optional, repeats))
    return Signature(text, tuple(parameters), _parse_type(right.strip()))


def fit(signature: Signature, arguments: tuple[DataType, ...]) -> Fit | Misfit:
    """Matches argument types, in the right number, with one signature."""
    bound: dict[str, DataType] = {}
    for index, argument in enumerate(arguments):
        parameter = signature.parameter(index).type
        bound.pop("X", None)
        if not _unify(parameter, argument, bound):
            return Misfit(index, describe(parameter, bound))
    wanted = [signature.parameter(i).type for i in range(len(arguments))]
    coerced = tuple(a if w == Variable("X") else _substitute(w, bound) for w, a in zip(wanted, arguments, strict=True))
    return Fit(coerced, _substitute(signature.result, bound))


def describe(parameter: DataType, bound: dict[str, DataType]) -> str:
    """A parameter in words: the type that its variable is bound to, or the kind of type it takes."""
    if isinstance(parameter, Variable):
        known = bound.get(parameter.name, t.NULL)
        return str(known) if known != t.NULL else _KINDS[parameter.name][1]
    if isinstance(parameter, ArrayOf):
        inner = parameter.element
        unbound = isinstance(inner, Variable) and inner.name not in bound
        return "an ARRAY" if unbound else str(_substitute(parameter, bound))
    if isinstance(parameter, MapOf):
        return "a MAP"
    return str(parameter)


def _unify(parameter: DataType, argument: DataType, bound: dict[str, DataType]) -> bool:
    if isinstance(parameter, Variable):
        joined = t.common_type(bound.get(parameter.name, t.NULL), argument)
        if joined is None or (joined != t.NULL and not _KINDS[parameter.name][0](joined)):
            return False
        bound[parameter.name] = joined
        return True
    if argument == t.NULL:
        return True
    if isinstance(parameter, ArrayOf):
        return isinstance(argument, ArrayOf) and _unify(parameter.element, argument.element, bound)
    if isinstance(parameter, MapOf):
        return (
            isinstance(argument, MapOf)
            and _unify(parameter.key, argument.key, bound)
            and _unify(parameter.value, argument.value, bound)
        )
    if isinstance(parameter, StructOf):
        # By position, as Spark does: entries may be named as the user likes.
        return (
            isinstance(argument, StructOf)
            and len(argument.fields) == len(parameter.fields)
            and all(_unify(p, a, bound) for (_, p), (_, a) in zip(parameter.fields, argument.fields, strict=True))
        )
    return t.common_type(parameter, argument) == parameter


def _substitute(parameter: DataType, bound: dict[str, DataType]) -> DataType:
    if isinstance(parameter, Variable):
        known = bound.get(parameter.name, t.NULL)
        return known if known != t.NULL else _KINDS[parameter.name][2]
    if isinstance(parameter, ArrayOf):
        return ArrayOf(_substitute(parameter.element, bound))
    if isinstance(parameter, MapOf):
        return MapOf(_substitute(parameter.key, bound), _substitute(parameter.value, bound))
    if isinstance(parameter, StructOf):
        return StructOf(tuple((n, _substitute(f, bound)) for n, f in parameter.fields))
    return parameter


def _parse_type(text: str) -> DataType:
    name, bracket, inside = text.strip().partition("<")
    if not bracket:
        return Variable(name) if name in _KINDS else t.SCALARS[name]
    parts = _split(inside[: inside.rindex(">")])
    if name == "ARRAY":
        return ArrayOf(_parse_type(parts[0]))
    if name == "MAP":
        return MapOf(_parse_type(parts[0]), _parse_type(parts[1]))
    fields = [p.split(" ", 1) for p in parts]
    return StructOf(tuple((field, _parse_type(rest)) for field, rest in fields))


def _split(text: str) -> list[str]:
    """The parts between commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text + ","):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [p for p in parts if p]
