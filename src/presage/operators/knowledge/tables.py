"""Questions to the knowledge bases: a pattern, and what its variables are in the values that events have.

A table's name is made of its question, so that equal questions of all statements share one table.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from presage.model import types as t
from presage.model.types import DataType
from presage.operators.knowledge.contexts import spellings
from presage.operators.knowledge.sparql_syntax import LANG_STRING, XSD
from presage.operators.knowledge.vocabulary import Reading

PREFIX = "path_"
_SIGNED = ("integer", "long", "int", "short", "byte", "nonPositiveInteger", "negativeInteger")
_UNSIGNED = ("nonNegativeInteger", "positiveInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
WHOLE_NUMBERS = frozenset(XSD + name for name in (*_SIGNED, *_UNSIGNED))
NUMBERS = WHOLE_NUMBERS | {XSD + name for name in ("decimal", "double", "float")}
STRING, BOOLEAN = XSD + "string", XSD + "boolean"
# Datatypes that SPARQL can tell apart from each other; of others it knows neither that they are equal nor that not.
_KNOWN = NUMBERS | {STRING, BOOLEAN, LANG_STRING} | {XSD + n for n in ("dateTime", "date", "time", "duration")}

# A variable in a pattern; texts and IRIs are passed over whole.
_VARIABLE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|[?$](\w+)', re.DOTALL)

# What a column holds of a term: a number, a text, a truth value; whether it is of a kind that can be told apart from
# others; or its text, whatever it is.
NUMBER, TEXT, TRUTH, TOLD_APART, SHOWN = "number", "text", "truth", "told apart", "shown"
TYPES: dict[str, DataType] = {
    NUMBER: t.DOUBLE,
    TEXT: t.STRING,
    TRUTH: t.BOOLEAN,
    TOLD_APART: t.BOOLEAN,
    SHOWN: t.STRING,
}


@dataclass(frozen=True)
class KeyColumn:
    """Values of an attribute that stand for the term of a variable: every spelling of an entity, or a literal."""

    variable: str
    reading: Reading

    @property
    def type(self) -> DataType:
        return self.reading.type


@dataclass(frozen=True)
class ValueColumn:
    """What a term is, to be compared with a value of the event, or to be selected."""

    variable: str
    kind: str

    @property
    def type(self) -> DataType:
        return TYPES[self.kind]


@dataclass(frozen=True)
class PathTable:
    """`pattern` is the body of a SELECT. Columns are called `k0`, `k1`, … and `v0`, `v1`, …"""

    pattern: str
    keys: tuple[KeyColumn, ...] = ()
    values: tuple[ValueColumn, ...] = ()

    @property
    def name(self) -> str:
        numbers: dict[str, int] = {}

        def number(variable: str) -> int:
            return numbers.setdefault(variable, len(numbers))

        # What the variables are called makes no other question of it.
        pattern = _VARIABLE.sub(lambda found: f"?{number(found[1])}" if found[1] else found[0], self.pattern)
        keys = [(number(k.variable), str(k.type), k.reading.meaning, k.reading.context.text) for k in self.keys]
        said = repr((pattern, keys, [(number(v.variable), v.kind) for v in self.values]))
        return PREFIX + hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(f"k{i}" for i in range(len(self.keys)))

    @property
    def value_columns(self) -> tuple[tuple[str, DataType], ...]:
        return tuple((f"v{i}", v.type) for i, v in enumerate(self.values))

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(k.variable for k in self.keys), *(v.variable for v in self.values)]))

    @property
    def sparql(self) -> str:
        chosen = " ".join(f"?{name}" for name in self.variables)
        return f"SELECT DISTINCT {chosen} WHERE {{ {self.pattern} }}" if chosen else f"ASK {{ {self.pattern} }}"


MARK = "m"


@dataclass(frozen=True)
class MarkedTables:
    """Tables of one form, for several streams: the number of the stream stands in the column MARK."""

    parts: tuple[tuple[int, PathTable], ...]

    @property
    def name(self) -> str:
        said = repr([(number, table.name) for number, table in self.parts])
        return PREFIX + hashlib.sha256(said.encode()).hexdigest()[:12]


def key_values(reading: Reading, term: Any, same: Callable[[str], Iterable[str]]) -> Sequence[Any]:
    """The values of an attribute that stand for a term; `same`: the names of the entity that it is."""
    if term is None:
        return ()
    datatype = _datatype(term)
    if reading.meaning.is_entity:
        names = sorted(same(term.value)) if _is_iri(term) else ()
        return [spelling for name in names for spelling in spellings(reading.context, reading.meaning, name)]
    if datatype is None:
        return ()
    value = literal_value(reading, term.value, datatype)
    return () if value is None else (value,)


def literal_value(reading: Reading, lexical: str, datatype: str) -> Any:
    """The value of an attribute that is this literal, None if there is none."""
    if datatype != natural_datatype(reading.type):
        return None
    try:
        if reading.type == t.STRING:
            return lexical
        if reading.type == t.BOOLEAN:
            return {"true": True, "1": True, "false": False, "0": False}.get(lexical)
        if reading.type in (t.INT, t.LONG):
            whole = int(lexical)
            bits = 31 if reading.type == t.INT else 63
            return whole if -(2**bits) <= whole < 2**bits else None
        return float(lexical)
    except ValueError:
        return None


def natural_datatype(data_type: DataType) -> str | None:
    """The datatype of an attribute's values where the context gives none; None if we do not compare them ourselves."""
    whole = XSD + "integer"
    names: dict[DataType, str] = {
        t.STRING: STRING,
        t.BOOLEAN: BOOLEAN,
        t.INT: whole,
        t.LONG: whole,
        t.DOUBLE: XSD + "double",
    }
    return names.get(data_type)


def is_natural(reading: Reading) -> bool:
    """Whether a literal attribute is compared as what it is: the context gives it no other datatype."""
    natural = natural_datatype(reading.type)
    return natural is not None and reading.meaning.datatype in (None, natural)


def value_of(kind: str, term: Any) -> Any:
    """What a column of this kind holds of a term."""
    if term is None:
        return None
    datatype = _datatype(term)
    if kind == SHOWN:
        return term.value
    if kind == TOLD_APART:
        return datatype is None or datatype in _KNOWN
    if kind == NUMBER:
        return number_of(term.value, datatype) if datatype in NUMBERS else None
    if kind == TEXT:
        return term.value if datatype == STRING else None
    return {"true": True, "1": True, "false": False, "0": False}.get(term.value) if datatype == BOOLEAN else None


def number_of(lexical: str, datatype: str | None) -> float | None:
    try:
        value = float(lexical)
    except ValueError:
        return None
    return value if math.isfinite(value) or datatype in (XSD + "double", XSD + "float") else None


def _datatype(term: Any) -> str | None:
    """Of a literal; None for IRIs and blank nodes."""
    found = getattr(term, "datatype", None)
    return None if found is None else str(found.value)


def _is_iri(term: Any) -> bool:
    return type(term).__name__ == "NamedNode"
