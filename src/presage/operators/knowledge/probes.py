"""Questions about events that only the store can evaluate, keyed on values of the events.

The answer depends on the attributes that the pattern can see: their values are the key. New keys are evaluated in
batches, once, as temporary nodes of the graph.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from presage.declarations.contexts import entity_of
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.types import DataType, DecimalOf
from presage.operators.knowledge.namespaces import RDF_TYPE, XSD, XSD_DECIMAL
from presage.operators.knowledge.tables import natural_datatype, relation_name
from presage.plan.answer_relations import PROBED

if TYPE_CHECKING:
    from presage.operators.knowledge.event_graph import Fact
    from presage.operators.knowledge.graph import Graph
    from presage.operators.knowledge.vocabulary import Reading

DATE_TIME, XSD_DATE = XSD + "dateTime", XSD + "date"
# Placeholders of NULL values.
_DEFAULTS: dict[DataType, s.Expr] = {
    t.STRING: s.Literal(""),
    t.BOOLEAN: s.Literal(False),
    t.DOUBLE: s.Literal(0.0),
    **dict.fromkeys((t.INT, t.LONG), s.Literal(0)),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Batch sizes: events in one query to the store, and rows of measured values.
TOGETHER = 500
MEASURED_TOGETHER = 5_000

# For each attribute its value and whether it is NULL; a DOUBLE by its bits.
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Probe:
    """`pattern` is the text between the braces; `readings` are the attributes that it can see.

    `alone`: another variable than the event's own may match events, so each event is evaluated apart. `measured`: the
    variables of the readings, if the pattern is FILTERs on their values alone and needs no knowledge.
    """

    pattern: str
    event: str
    readings: tuple[Reading, ...]
    class_iri: str | None = None
    alone: bool = False
    measured: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        seen = [(r.attribute, str(r.type), r.meaning, r.context.text) for r in self.readings]
        return relation_name(PROBED, (self.pattern, self.event, seen, self.class_iri, self.measured))

    @property
    def columns(self) -> tuple[tuple[str, DataType], ...]:
        """For each attribute its value and whether it is NULL: NULLs of a relation equal nothing."""
        kinds = [(_key_type(r.type), t.BOOLEAN) for r in self.readings]
        return tuple((f"k{i}{end}", kind) for i, both in enumerate(kinds) for end, kind in zip("vn", both, strict=True))

    def terms(self, value: Callable[[str], s.Expr]) -> tuple[s.Expr, ...]:
        """The expressions of these columns."""
        found: list[s.Expr] = []
        for reading in self.readings:
            own = value(reading.attribute)
            comparable: s.Expr = s.Call("unix_micros", (own,)) if reading.type == t.TIMESTAMP else own
            if _is_text(reading.type):
                comparable = s.Cast(own, t.STRING)
            found += [s.Call("coalesce", (comparable, _DEFAULTS[_key_type(reading.type)])), s.IsNull(own, False)]
        return tuple(found)

    def hold(self, graph: Graph, keys: Sequence[Key]) -> list[bool]:
        """Whether the pattern has a solution, for an event with each of these keys."""
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
            # A NULL makes no triple, so there is no solution.
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
    if _is_text(reading.type):
        return value, datatype or (XSD_DATE if reading.type == t.DATE else XSD_DECIMAL)
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
    """Whether an attribute can be part of a key. Entities must be named by strings."""
    if reading.meaning.is_entity:
        return reading.type == t.STRING
    return _key_type(reading.type) in _DEFAULTS


def _is_text(data_type: DataType) -> bool:
    """Whether the lexical form of a value is its text, and keys have that: only the store compares such values."""
    return data_type == t.DATE or isinstance(data_type, DecimalOf)


def _key_type(data_type: DataType) -> DataType:
    if _is_text(data_type):
        return t.STRING
    return t.LONG if data_type == t.TIMESTAMP else data_type
