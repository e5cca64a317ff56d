"""Questions to the knowledge bases whose answers are a table: a pattern, and the columns of its variables.

The name of a table is a hash of its question: equal questions of all statements share one table.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from presage.declarations.contexts import spellings
from presage.model import types as t
from presage.model.types import DataType
from presage.operators.knowledge.namespaces import LANG_STRING, XSD
from presage.plan.answer_relations import COMPUTED

if TYPE_CHECKING:
    from presage.operators.knowledge.vocabulary import Reading

_SIGNED = ("integer", "long", "int", "short", "byte", "nonPositiveInteger", "negativeInteger")
_UNSIGNED = ("nonNegativeInteger", "positiveInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
WHOLE_NUMBERS = frozenset(XSD + name for name in (*_SIGNED, *_UNSIGNED))
NUMBERS = WHOLE_NUMBERS | {XSD + name for name in ("decimal", "double", "float")}
STRING, BOOLEAN = XSD + "string", XSD + "boolean"
# Datatypes whose values SPARQL can compare; comparing any other one is an error.
_KNOWN = NUMBERS | {STRING, BOOLEAN, LANG_STRING} | {XSD + n for n in ("dateTime", "date", "time", "duration")}

# A variable in a pattern; strings and IRIs are skipped as a whole.
VARIABLE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|[?$](\w+)', re.DOTALL)

# What a column holds of a term: a number, a text, a truth value; whether its datatype is comparable; or any text.
# The kinds are part of the names of tables, so their texts must not change.
NUMBER, TEXT, TRUTH, COMPARABLE, SHOWN = "number", "text", "truth", "told apart", "shown"
TYPES = {NUMBER: t.DOUBLE, TEXT: t.STRING, TRUTH: t.BOOLEAN, COMPARABLE: t.BOOLEAN, SHOWN: t.STRING}
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_NATURAL: dict[DataType, str] = {
    t.STRING: STRING,
    t.BOOLEAN: BOOLEAN,
    t.DOUBLE: XSD + "double",
    **dict.fromkeys((t.INT, t.LONG), XSD + "integer"),
}


def relation_name(prefix: str, question: object) -> str:
    """The prefix and a hash of the question."""
    return prefix + hashlib.sha256(repr(question).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class KeyColumn:
    """Values of an attribute that denote the term of a variable: every spelling of an entity, or a literal."""

    variable: str
    reading: Reading

    @property
    def type(self) -> DataType:
        return self.reading.type


@dataclass(frozen=True)
class ValueColumn:
    """A property of a term, to be compared with a value of the event, or to be selected."""

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

        # The names of the variables do not matter.
        pattern = VARIABLE.sub(lambda found: f"?{number(found[1])}" if found[1] else found[0], self.pattern)
        keys = [(number(k.variable), str(k.type), k.reading.meaning, k.reading.context.text) for k in self.keys]
        return relation_name(COMPUTED, (pattern, keys, [(number(v.variable), v.kind) for v in self.values]))

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
    """Tables of one form, for several streams: the column MARK holds the number of the stream."""

    parts: tuple[tuple[int, PathTable], ...]

    @property
    def name(self) -> str:
        return relation_name(COMPUTED, [(number, table.name) for number, table in self.parts])


def key_values(reading: Reading, term: Any, same: Callable[[str], Iterable[str]]) -> Sequence[Any]:
    """The values of an attribute that denote a term; `same` gives all names of an entity."""
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
    """The value of an attribute that denotes this literal; None if there is none."""
    if datatype != natural_datatype(reading.type):
        return None
    try:
        if reading.type == t.STRING:
            return lexical
        if reading.type == t.BOOLEAN:
            return _TRUTHS.get(lexical)
        if reading.type in (t.INT, t.LONG):
            whole = int(lexical)
            bits = 31 if reading.type == t.INT else 63
            return whole if -(2**bits) <= whole < 2**bits else None
        return float(lexical)
    except ValueError:
        return None


def natural_datatype(data_type: DataType) -> str | None:
    """The default datatype of an attribute's values; None for types that only the store compares."""
    return _NATURAL.get(data_type)


def is_natural(reading: Reading) -> bool:
    """Whether an attribute has its default datatype, so that its values are compared natively."""
    natural = natural_datatype(reading.type)
    return natural is not None and reading.meaning.datatype in (None, natural)


def value_of(kind: str, term: Any) -> Any:
    """The value of a term in a column of this kind."""
    if term is None:
        return None
    datatype = _datatype(term)
    if kind == SHOWN:
        return term.value
    if kind == COMPARABLE:
        return datatype is None or datatype in _KNOWN
    if kind == NUMBER:
        return number_of(term.value, datatype) if datatype in NUMBERS else None
    if kind == TEXT:
        return term.value if datatype == STRING else None
    return _TRUTHS.get(term.value) if datatype == BOOLEAN else None


def number_of(lexical: str, datatype: str | None) -> float | None:
    try:
        value = float(lexical)
    except ValueError:
        return None
    return value if math.isfinite(value) or datatype in (XSD + "double", XSD + "float") else None


def _datatype(term: Any) -> str | None:
    """The datatype of a literal; None for IRIs and blank nodes."""
    found = getattr(term, "datatype", None)
    return None if found is None else str(found.value)


def _is_iri(term: Any) -> bool:
    return type(term).__name__ == "NamedNode"
