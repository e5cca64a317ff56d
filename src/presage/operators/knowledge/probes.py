"""Questions of graph patterns that only the store can evaluate, keyed on values of events.

Whether it holds depends on the few attributes of the event that it can see: they are the event's key. Keys that were
not met before are evaluated together, once, as nodes beside the knowledge bases.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from presage.lang import syntax as s
from presage.model import types as t
from presage.model.types import DataType
from presage.operators.knowledge.contexts import entity_of
from presage.operators.knowledge.sparql_syntax import RDF_TYPE, XSD, XSD_DECIMAL
from presage.operators.knowledge.tables import natural_datatype
from presage.operators.knowledge.vocabulary import Reading

if TYPE_CHECKING:
    from presage.operators.knowledge.event_graph import Fact
    from presage.operators.knowledge.graph import Graph

PREFIX = "asked_"
DATE_TIME = XSD + "dateTime"
# What stands for a value that is NULL.
_DEFAULTS: dict[DataType, s.Expr] = {
    t.STRING: s.Literal(""),
    t.BOOLEAN: s.Literal(False),
    t.INT: s.Literal(0),
    t.LONG: s.Literal(0),
    t.DOUBLE: s.Literal(0.0),
    t.TIMESTAMP: s.Literal(0),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# How many events one question to the store is about, and one about measured values alone.
TOGETHER = 500
MEASURED_TOGETHER = 5_000

# Values and whether they are NULL, in turn; a DOUBLE by its bits.
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Probe:
    """`pattern` is what stands between the braces; `readings` are the attributes that it can see. `alone`: it speaks of
    events by other variables than its own, so that one must not see another. `measured`: it is FILTERs on the values of
    the readings alone, which have these variables; no knowledge is needed for it."""

    pattern: str
    event: str
    readings: tuple[Reading, ...]
    class_iri: str | None = None
    alone: bool = False
    measured: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        seen = [(r.attribute, str(r.type), r.meaning, r.context.text) for r in self.readings]
        said = repr((self.pattern, self.event, seen, self.class_iri, self.measured))
        return PREFIX + hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def columns(self) -> tuple[tuple[str, DataType], ...]:
        """Of every attribute its value, and whether it is NULL: a relation's own NULLs equal nothing."""
        kinds = [(t.LONG if r.type == t.TIMESTAMP else r.type, t.BOOLEAN) for r in self.readings]
        return tuple((f"k{i}{end}", kind) for i, both in enumerate(kinds) for end, kind in zip("vn", both, strict=True))

    def terms(self, value: Callable[[str], s.Expr]) -> tuple[s.Expr, ...]:
        """The expressions of these columns."""
        found: list[s.Expr] = []
        for reading in self.readings:
            own = value(reading.attribute)
            comparable = s.Call("unix_micros", (own,)) if reading.type == t.TIMESTAMP else own
            found += [s.Call("coalesce", (comparable, _DEFAULTS[reading.type])), s.IsNull(own, False)]
        return tuple(found)

    def hold(self, graph: Graph, keys: Sequence[Key]) -> list[bool]:
        """Whether the pattern has a solution for an event with each of these values."""
        from presage.operators.knowledge.event_graph import hold_for

        if self.measured:
            return self._satisfied(keys)
        found: list[bool] = []
        step = 1 if self.alone else TOGETHER
        for start in range(0, len(keys), step):
            events = [self._facts(graph, key) for key in keys[start : start + step]]
            found += hold_for(graph, self.pattern, self.event, events)
        return found

    def _satisfied(self, keys: Sequence[Key]) -> list[bool]:
        from presage.operators.knowledge.event_graph import satisfy

        found: list[bool] = []
        for start in range(0, len(keys), MEASURED_TOGETHER):
            several = keys[start : start + MEASURED_TOGETHER]
            # Of a NULL there is no triple, and so no solution.
            rows = {
                i: [_literal(r, value) for r, value in zip(self.readings, key[0::2], strict=True)]
                for i, key in enumerate(several)
                if not any(key[1::2])
            }
            true = satisfy(self.pattern, self.measured, rows)
            found += [i in true for i in range(len(several))]
        return found

    def _facts(self, graph: Graph, key: Key) -> list[Fact]:
        facts: list[Fact] = []
        for reading, value, is_null in zip(self.readings, key[0::2], key[1::2], strict=True):
            if is_null:
                continue
            if reading.meaning.is_entity:
                iri = entity_of(reading.context, reading.meaning, str(value))
                if iri is not None and graph.has_entity(iri):
                    facts.append((reading.meaning.term, iri, None))
            else:
                facts.append((reading.meaning.term, *_literal(reading, value)))
        return [*facts, *([(RDF_TYPE, self.class_iri, None)] if self.class_iri is not None else [])]


def _literal(reading: Reading, value: Any) -> tuple[str, str]:
    """The lexical form and the datatype of an attribute's value."""
    datatype = reading.meaning.datatype
    if reading.type == t.TIMESTAMP:
        moment = _EPOCH + timedelta(microseconds=value)
        return moment.isoformat().replace("+00:00", "Z"), datatype or DATE_TIME
    natural = natural_datatype(reading.type)
    assert natural is not None
    if isinstance(value, bool):
        return str(value).lower(), datatype or natural
    if reading.type == t.DOUBLE:
        (number,) = struct.unpack("<d", struct.pack("<q", value))
        if not math.isfinite(number):
            return "NaN" if number != number else "INF" if number > 0 else "-INF", datatype or natural
        # A decimal has no exponent.
        text = f"{Decimal(repr(number)):f}" if datatype == XSD_DECIMAL else repr(number)
        return text, datatype or natural
    return str(value), datatype or natural


def sees(reading: Reading) -> bool:
    """Whether an attribute can be part of a key; an entity is named by a text."""
    if reading.meaning.is_entity:
        return reading.type == t.STRING
    return reading.type in _DEFAULTS
