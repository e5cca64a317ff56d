"""The vocabulary of a stream: the properties that its attributes stand for.

An attribute stands for its own property, for equivalent ones and for all superproperties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from presage.declarations.contexts import class_of, meaning_of
from presage.model.catalog import EventType
from presage.model.semantics import Context, Meaning
from presage.model.types import DataType
from presage.operators.knowledge.sparql_syntax import Group, Iri, NegatedSet, SubSelect, Triple, Var, walk

NOTHING = Context()


class Hierarchy(Protocol):
    """The part of `Graph` that a vocabulary needs."""

    def below(self, iri: str) -> frozenset[str]: ...

    def inverses(self, iri: str) -> frozenset[str]: ...

    def has_entity(self, iri: str) -> bool: ...

    def same(self, iri: str) -> frozenset[str]: ...


@dataclass(frozen=True)
class Reading:
    """An attribute of a stream, as a property of the event."""

    attribute: str
    type: DataType
    meaning: Meaning
    context: Context


class Vocabulary:
    """The attributes of one stream by property."""

    def __init__(self, stream: EventType, graph: Hierarchy) -> None:
        self.stream = stream
        self._graph = graph
        context = stream.context or NOTHING
        found = [(a, meaning_of(context, a.name)) for a in stream.attributes]
        self.readings = tuple(Reading(a.name, a.type, m, context) for a, m in found if m is not None)
        self.class_iri = class_of(context, stream.name) if stream.context is not None else None

    def readings_of(self, iri: str) -> list[Reading]:
        """The attributes that hold values of this property of the event."""
        below = self._graph.below(iri)
        return [r for r in self.readings if r.meaning.term in below]

    def inverse_readings_of(self, iri: str) -> list[Reading]:
        """The attributes whose values have the event as their value of this property: those of its inverses."""
        found: dict[str, Reading] = {}
        for lower in sorted(self._graph.below(iri)):
            for inverse in sorted(self._graph.inverses(lower)):
                found |= {r.attribute: r for r in self.readings_of(inverse)}
        return list(found.values())

    def seen_by(self, group: Group) -> list[Reading]:
        """The attributes that a pattern can see: all if a property is a variable or a negated set."""
        triples = [node for node in walk(group) if isinstance(node, Triple)]
        if any(isinstance(n, NegatedSet | SubSelect) for n in walk(group)) or any(
            isinstance(triple.predicate, Var) for triple in triples
        ):
            return list(self.readings)
        named = {n.value for triple in triples for n in walk(triple.predicate) if isinstance(n, Iri)}
        found: dict[str, Reading] = {}
        for iri in named:
            found |= {r.attribute: r for r in (*self.readings_of(iri), *self.inverse_readings_of(iri))}
        return [r for r in self.readings if r.attribute in found]

    def knows(self, iri: str) -> bool:
        return self._graph.has_entity(iri)

    def same(self, iri: str) -> frozenset[str]:
        """The names of one entity."""
        return self._graph.same(iri)
