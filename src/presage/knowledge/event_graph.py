"""Facts of events and a graph pattern in, the events of which it holds out: nodes beside the knowledge bases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import pyoxigraph as ox

from presage.knowledge.graph import Graph
from presage.knowledge.sparql_syntax import RDF_TYPE

# A property, a value, and the value's datatype, which an entity has not.
Fact = tuple[str, str, str | None]

_NUMBERS = itertools.count()


def hold_for(graph: Graph, pattern: str, event: str, events: Mapping[str, Sequence[Fact]]) -> set[str]:
    """Those of the events, by their IRI, for which the pattern has a solution."""
    place = ox.NamedNode(f"urn:presage:events:{next(_NUMBERS)}")
    store = graph._store
    facts = {triple for iri, several in events.items() for triple in _triples(graph, ox.NamedNode(iri), several)}
    store.extend(ox.Quad(*triple, place) for triple in facts)
    try:
        listed = " ".join(f"<{iri}>" for iri in events)
        asked = f"SELECT DISTINCT ?{event} WHERE {{ VALUES ?{event} {{ {listed} }} {pattern} }}"
        found = store.query(asked, default_graph=[ox.DefaultGraph(), place])
        assert isinstance(found, ox.QuerySolutions)
        return {solution[event].value for solution in found}
    finally:
        store.remove_graph(place)


def _triples(
    graph: Graph, event: ox.NamedNode, facts: Sequence[Fact]
) -> Iterator[tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode | ox.Literal]]:
    """What the event says, and what follows from that by the hierarchies of properties and classes."""
    for term, value, datatype in facts:
        if datatype is not None:
            literal = ox.Literal(value, datatype=ox.NamedNode(datatype))
            yield from ((event, ox.NamedNode(above), literal) for above in graph.above(term))
            continue
        node = ox.NamedNode(value)
        for above in graph.above(term):
            yield event, ox.NamedNode(above), node
            for inverse in graph.inverses(above):
                yield from ((node, ox.NamedNode(up), event) for up in graph.above(inverse))
        if term == RDF_TYPE:
            yield from ((event, ox.NamedNode(term), ox.NamedNode(up)) for up in graph.classes_above(value))
