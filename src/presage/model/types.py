"""The types of the language: STRING INT LONG DOUBLE BOOLEAN TIMESTAMP DATE BYTES DECIMAL(p,s) ARRAY STRUCT MAP, and the
type of NULL."""

from __future__ import annotations

from dataclasses import dataclass, field


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
class DecimalOf(Scalar):
    """Numbers of at most `precision` digits, `scale` of them behind the point; they are exact."""

    name: str = field(init=False, repr=False, compare=False)
    precision: int
    scale: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"DECIMAL({self.precision},{self.scale})")

    @property
    def whole(self) -> int:
        """The digits before the point."""
        return self.precision - self.scale


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
DATE = Scalar("DATE")
BYTES = Scalar("BYTES")
# The type of the literal NULL: it fits everywhere and is never declared.
NULL = Scalar("NULL")

SCALARS = {t.name: t for t in (STRING, INT, LONG, DOUBLE, BOOLEAN, TIMESTAMP, DATE, BYTES)}
# The numbers with operators of their own, from narrow to wide. DECIMAL is a family: see `decimals.py`.
NUMERIC = (INT, LONG, DOUBLE)
MOST_DIGITS = 38
# The DECIMAL that holds all values of an integer type.
_AS_DECIMAL = {INT: DecimalOf(10, 0), LONG: DecimalOf(20, 0)}


def is_numeric(t: DataType) -> bool:
    """INT, LONG, DOUBLE and NULL: the numbers that operators and functions take unless they name DECIMAL, too."""
    return t in NUMERIC or t == NULL


def is_number(t: DataType) -> bool:
    return is_numeric(t) or isinstance(t, DecimalOf)


def is_integral(t: DataType) -> bool:
    return t in (INT, LONG)


def is_orderable(t: DataType) -> bool:
    """Whether values of the type have an order (MAP has none, in Spark as here)."""
    if isinstance(t, ArrayOf):
        return is_orderable(t.element)
    if isinstance(t, StructOf):
        return all(is_orderable(f) for _, f in t.fields)
    return not isinstance(t, MapOf)


def as_decimal(t: DataType) -> DecimalOf | None:
    """The DECIMAL of an exact number's type."""
    return t if isinstance(t, DecimalOf) else _AS_DECIMAL.get(t)  # type: ignore[call-overload]


def common_type(a: DataType, b: DataType) -> DataType | None:
    """The narrowest type that holds values of both, or None. INT < LONG < DOUBLE; NULL fits everywhere."""
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if a in NUMERIC and b in NUMERIC:
        return NUMERIC[max(NUMERIC.index(a), NUMERIC.index(b))]
    if isinstance(a, DecimalOf) or isinstance(b, DecimalOf):
        return _common_decimal(a, b)
    if {a, b} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if isinstance(a, ArrayOf) and isinstance(b, ArrayOf):
        element = _common_inside(a.element, b.element)
        return ArrayOf(element) if element else None
    if isinstance(a, MapOf) and isinstance(b, MapOf):
        key, value = _common_inside(a.key, b.key), _common_inside(a.value, b.value)
        return MapOf(key, value) if key and value else None
    if isinstance(a, StructOf) and isinstance(b, StructOf):
        if [n for n, _ in a.fields] != [n for n, _ in b.fields]:
            return None
        fields = [(n, _common_inside(t, u)) for (n, t), (_, u) in zip(a.fields, b.fields, strict=True)]
        return StructOf(tuple((n, t) for n, t in fields if t)) if all(t for _, t in fields) else None
    return None


def _common_inside(a: DataType, b: DataType) -> DataType | None:
    """Of parts of values. A DATE as a TIMESTAMP and a DECIMAL as a DOUBLE are computed value by value: not in there."""
    common = common_type(a, b)
    converted = {a, b} == {DATE, TIMESTAMP} or (common == DOUBLE and any(isinstance(t, DecimalOf) for t in (a, b)))
    return None if converted else common


def _common_decimal(a: DataType, b: DataType) -> DataType | None:
    """With DOUBLE a DOUBLE. None where 38 digits cannot hold both: Spark drops digits there."""
    if DOUBLE in (a, b):
        return DOUBLE
    left, right = as_decimal(a), as_decimal(b)
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    precision = max(left.whole, right.whole) + scale
    return DecimalOf(precision, scale) if precision <= MOST_DIGITS else None
