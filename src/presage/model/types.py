"""The types of the language: STRING INT LONG DOUBLE BOOLEAN TIMESTAMP ARRAY STRUCT MAP, and the type of NULL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataType:
    """A type of the language; `str()` gives its spelling."""

    def __str__(self) -> str:
        raise TypeError(f"{type(self).__name__} has no spelling")


@dataclass(frozen=True)
class Scalar(DataType):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ArrayOf(DataType):
    element: DataType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class MapOf(DataType):
    key: DataType
    value: DataType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class StructOf(DataType):
    fields: tuple[tuple[str, DataType], ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{n} {t}' for n, t in self.fields)}>"

    def field(self, name: str) -> DataType | None:
        return next((t for n, t in self.fields if n == name), None)


STRING = Scalar("STRING")
INT = Scalar("INT")
LONG = Scalar("LONG")
DOUBLE = Scalar("DOUBLE")
BOOLEAN = Scalar("BOOLEAN")
TIMESTAMP = Scalar("TIMESTAMP")
# The type of the literal NULL: it fits everywhere and is never declared.
NULL = Scalar("NULL")

SCALARS = {t.name: t for t in (STRING, INT, LONG, DOUBLE, BOOLEAN, TIMESTAMP)}
NUMERIC = (INT, LONG, DOUBLE)


def is_numeric(t: DataType) -> bool:
    return t in NUMERIC or t == NULL


def is_integral(t: DataType) -> bool:
    return t in (INT, LONG)


def is_orderable(t: DataType) -> bool:
    """Whether values of the type have an order (MAP has none, in Spark as here)."""
    if isinstance(t, ArrayOf):
        return is_orderable(t.element)
    if isinstance(t, StructOf):
        return all(is_orderable(f) for _, f in t.fields)
    return not isinstance(t, MapOf)


def common_type(a: DataType, b: DataType) -> DataType | None:
    """The narrowest type that holds values of both, or None. INT < LONG < DOUBLE; NULL fits everywhere."""
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if a in NUMERIC and b in NUMERIC:
        return NUMERIC[max(NUMERIC.index(a), NUMERIC.index(b))]
    if isinstance(a, ArrayOf) and isinstance(b, ArrayOf):
        element = common_type(a.element, b.element)
        return ArrayOf(element) if element else None
    if isinstance(a, MapOf) and isinstance(b, MapOf):
        key, value = common_type(a.key, b.key), common_type(a.value, b.value)
        return MapOf(key, value) if key and value else None
    if isinstance(a, StructOf) and isinstance(b, StructOf):
        if [n for n, _ in a.fields] != [n for n, _ in b.fields]:
            return None
        fields = [(n, common_type(t, u)) for (n, t), (_, u) in zip(a.fields, b.fields, strict=True)]
        return StructOf(tuple((n, t) for n, t in fields if t)) if all(t for _, t in fields) else None
    return None
