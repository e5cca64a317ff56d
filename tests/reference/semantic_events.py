"""An event, its stream's JSON-LD context and the closed knowledge in; what it says, and what a PATH says of it, out.

The definition, word for word: each event becomes a node of the graph by a JSON-LD processor, and each PATH is one
SPARQL query over the knowledge and the nodes of all events that it names. Nothing is shared between two questions.
An event is a dict; NULL is None, a TIMESTAMP is a datetime (without a zone: UTC), an ARRAY is a list.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyoxigraph as ox

from reference.expressions import conjunction, negation, order
from reference.owl_rl import (
    EQUIVALENT_CLASS,
    EQUIVALENT_PROPERTY,
    INVERSE,
    SAME,
    SUB_CLASS,
    SUB_PROPERTY,
    TYPE,
    Term,
    Triple,
    Triples,
    is_sayable,
)

XSD = "http://www.w3.org/2001/XMLSchema#"
EVENT = ox.NamedNode("urn:event:e")

Event = Mapping[str, Any]
# By alias: the event, the name of its stream, and the text of the stream's context (None: it has none).
Events = Mapping[str, tuple[Event, str, str | None]]


def event_node(alias: str) -> ox.NamedNode:
    return ox.NamedNode(f"urn:event:{alias}")


# -- the node of an event -----------------------------------------------------------------------------


def semantic_graph(
    event: Event, stream: str, context_text: str | None, knowledge: Set[Triple], node: ox.NamedNode = EVENT
) -> Triples:
    """All triples of an event: what the context makes of it, without what is unknown, with what is above."""
    known = entities(knowledge)
    said = {triple for triple in own_triples(event, context_text, node) if is_linked(triple, known)}
    said |= type_triples(stream, context_text, node)
    raised: set[Triple] = set()
    for _, predicate, named in said:
        # What is the same as the value is a value, too (eq-rep-o).
        for value in reached(named, knowledge, (), (SAME,)) if isinstance(named, ox.NamedNode) else {named}:
            for above in above_property(predicate, knowledge):
                raised.add((node, above, value))
                raised |= {(value, inverse, node) for inverse in inverses(above, knowledge)}
    raised |= {(node, TYPE, kind) for s, p, o in raised if (s, p) == (node, TYPE) for kind in above_class(o, knowledge)}
    return frozenset(filter(is_sayable, raised))


def unknown_entities(event: Event, context_text: str | None, knowledge: Set[Triple]) -> set[Term]:
    """The entities that an event names and that nothing is known of: `status` counts them."""
    known = entities(knowledge)
    said = own_triples(event, context_text, EVENT)
    return {triple[2] for triple in said if not is_linked(triple, known)}


def own_triples(event: Event, context_text: str | None, node: ox.NamedNode) -> set[Triple]:
    """What the attributes say, by the processor alone."""
    if context_text is None:
        return set()
    context = context_of(context_text)
    values = {name: written(value, coercion(context, name)) for name, value in event.items()}
    return parsed({"@context": context, "@id": node.value, **values})


def type_triples(stream: str, context_text: str | None, node: ox.NamedNode) -> set[Triple]:
    """The event's type, where the context maps the stream's name: as a term or by @vocab. JSON-LD would otherwise take
    the name for an address relative to @base, which is no mapping."""
    if context_text is None:
        return set()
    context = [context_of(context_text), {"@base": None}]
    return parsed({"@context": context, "@id": node.value, "@type": stream})


def parsed(document: dict[str, Any]) -> set[Triple]:
    quads = ox.parse(json.dumps(document), ox.RdfFormat.JSON_LD)
    return {(quad.subject, quad.predicate, quad.object) for quad in quads}


def entities(knowledge: Set[Triple]) -> set[Term]:
    return {term for s, _, o in knowledge for term in (s, o) if isinstance(term, ox.NamedNode)}


def is_linked(triple: Triple, known: Set[Term]) -> bool:
    """A value that is itself links by being so, an entity if something is known of it."""
    return isinstance(triple[2], ox.Literal) or triple[2] in known


# -- values -------------------------------------------------------------------------------------------


def context_of(text: str) -> Any:
    """A file holds a context, or a document whose only part is one."""
    document = json.loads(text)
    return document["@context"] if isinstance(document, dict) and "@context" in document else document


def coercion(context: Any, name: str) -> str | None:
    """The @type that a context gives to the values of a name. Of several contexts the last that speaks of it counts."""
    for part in reversed(context if isinstance(context, list) else [context]):
        if name in part:
            return part[name].get("@type") if isinstance(part[name], dict) else None
    return None


def written(value: Any, datatype: str | None) -> Any:
    """A value as JSON. JSON knows one kind of number and no times, so all but strings say their datatype, and a value
    whose datatype the context gives goes as the text of it."""
    if isinstance(value, list):
        return [written(item, datatype) for item in value]
    if value is None or isinstance(value, str):
        return value
    if datatype is not None:
        return lexical(value, datatype)
    name = {bool: "boolean", int: "integer", float: "double", datetime: "dateTime"}[type(value)]
    return {"@value": lexical(value, None), "@type": XSD + name}


def lexical(value: Any, datatype: str | None) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return moment.isoformat().replace("+00:00", "Z")
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "INF" if value > 0 else "-INF"
        case float() if datatype in ("xsd:decimal", XSD + "decimal"):
            return format(Decimal(repr(value)), "f")  # A decimal has no exponent.
        case _:
            return repr(value)


# -- what the knowledge puts above --------------------------------------------------------------------


def above_property(predicate: Term, knowledge: Set[Triple]) -> set[Term]:
    """The property itself and all that hold wherever it does. Equals hold both ways, as the rules have it."""
    return reached(predicate, knowledge, (SUB_PROPERTY,), (EQUIVALENT_PROPERTY, SAME))


def above_class(kind: Term, knowledge: Set[Triple]) -> set[Term]:
    return reached(kind, knowledge, (SUB_CLASS,), (EQUIVALENT_CLASS, SAME))


def inverses(predicate: Term, knowledge: Set[Triple]) -> set[Term]:
    """The inverse properties, and what is above them."""
    direct = {o for s, p, o in knowledge if p == INVERSE and s == predicate}
    direct |= {s for s, p, o in knowledge if p == INVERSE and o == predicate}
    return {above for inverse in direct for above in above_property(inverse, knowledge)}


def reached(start: Term, knowledge: Set[Triple], up: Iterable[Term], both: Iterable[Term]) -> set[Term]:
    found = {start}
    while True:
        more = {o for s, p, o in knowledge if s in found and (p in up or p in both)}
        more |= {s for s, p, o in knowledge if o in found and p in both}
        more -= found
        if not more:
            return found
        found |= more


def attributes_for(
    term: str, attributes: Iterable[str], context_text: str | None, knowledge: Set[Triple]
) -> frozenset[str]:
    """The attributes that `e.term` may mean: those whose property is the term or lies below it."""
    wanted = ox.NamedNode(term)
    found = set()
    for name in attributes:
        properties = {p for _, p, _ in own_triples({name: "urn:any"}, context_text, EVENT)}
        if any(wanted in above_property(p, knowledge) for p in properties):
            found.add(name)
    return frozenset(found)


# -- paths --------------------------------------------------------------------------------------------


def holds(path_text: str, prefixes: Mapping[str, str], events: Events, knowledge: Set[Triple]) -> bool:
    """Whether what stands between the braces of a PATH has a solution."""
    return bool(asked(f"ASK {{ {bindings(events)} {path_text} }}", prefixes, events, knowledge))


def solutions(
    path_text: str, prefixes: Mapping[str, str], events: Events, knowledge: Set[Triple], variables: Iterable[str]
) -> set[tuple[Term | None, ...]]:
    """The distinct values of variables of a PATH. Give the names without the question mark."""
    names = tuple(variables)
    listed = " ".join(f"?{name}" for name in names)
    found = asked(f"SELECT DISTINCT {listed} {{ {bindings(events)} {path_text} }}", prefixes, events, knowledge)
    return {tuple(solution[name] for name in names) for solution in found}


def bindings(events: Events) -> str:
    return " ".join(f"VALUES ?{alias} {{ {event_node(alias)} }}" for alias in events)


def asked(query: str, prefixes: Mapping[str, str], events: Events, knowledge: Set[Triple]) -> Any:
    store = ox.Store()
    store.extend(map(quad, knowledge))
    for alias, (event, stream, context_text) in events.items():
        graph = semantic_graph(event, stream, context_text, knowledge, event_node(alias))
        store.extend(map(quad, graph))
    return store.query(query, prefixes=dict(prefixes))


def quad(triple: tuple[Any, Any, Any]) -> ox.Quad:
    return ox.Quad(*triple)


# -- conditions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Path:
    """PATH { text }."""

    text: str


@dataclass(frozen=True)
class Attribute:
    """`e.x`, or with a prefix `e.ex:rate`: the one attribute that means it."""

    alias: str
    name: str


@dataclass(frozen=True)
class Constant:
    value: str | float | int | bool | None


@dataclass(frozen=True)
class Compared:
    left: Attribute | Constant
    op: str
    right: Attribute | Constant


@dataclass(frozen=True)
class IsNull:
    operand: Attribute


@dataclass(frozen=True)
class And:
    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    operand: Condition


Condition = Path | Compared | IsNull | And | Or | Not

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def truth(condition: Condition, prefixes: Mapping[str, str], events: Events, knowledge: Set[Triple]) -> bool | None:
    """SQL's three values. A PATH is true or false: an attribute that is NULL has no triple, and that is all."""

    def each(parts: Iterable[Condition]) -> list[bool | None]:
        return [truth(part, prefixes, events, knowledge) for part in parts]

    match condition:
        case Path(text):
            return holds(text, prefixes, events, knowledge)
        case Compared(left, op, right):
            a, b = (value_of(side, prefixes, events, knowledge) for side in (left, right))
            return None if a is None or b is None else COMPARISONS[op](order(comparable(a)), order(comparable(b)))
        case IsNull(operand):
            return value_of(operand, prefixes, events, knowledge) is None
        case And(operands):
            return conjunction(each(operands))
        case Or(operands):
            return negation(conjunction([negation(value) for value in each(operands)]))
        case Not(operand):
            return negation(truth(operand, prefixes, events, knowledge))


def value_of(side: Attribute | Constant, prefixes: Mapping[str, str], events: Events, knowledge: Set[Triple]) -> Any:
    if isinstance(side, Constant):
        return side.value
    event, _, context_text = events[side.alias]
    if ":" not in side.name:
        return event[side.name]
    prefix, _, local = side.name.partition(":")
    (name,) = attributes_for(prefixes[prefix] + local, event, context_text, knowledge)
    return event[name]


def comparable(value: Any) -> Any:
    """A number against a number, whatever their types."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def condition_text(condition: Condition) -> str:
    """The condition in our language."""
    match condition:
        case Path(text):
            return f"PATH {{ {text} }}"
        case Compared(left, op, right):
            return f"{side_text(left)} {op} {side_text(right)}"
        case IsNull(operand):
            return f"{side_text(operand)} IS NULL"
        case And(operands):
            return "(" + " AND ".join(map(condition_text, operands)) + ")"
        case Or(operands):
            return "(" + " OR ".join(map(condition_text, operands)) + ")"
        case Not(operand):
            return f"NOT ({condition_text(operand)})"


def side_text(side: Attribute | Constant) -> str:
    match side:
        case Attribute(alias, name):
            return f"{alias}.{name}"
        case Constant(None):
            return "NULL"
        case Constant(bool(value)):
            return str(value).upper()
        case Constant(str(value)):
            return "'" + value.replace("'", "''") + "'"
        case Constant(value):
            return repr(value)
