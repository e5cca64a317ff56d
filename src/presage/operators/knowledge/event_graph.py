"""Events as temporary nodes of the graph, for patterns that only the store can evaluate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import pyoxigraph as ox

from presage.operators.knowledge.graph import Graph
from presage.operators.knowledge.namespaces import RDF_TYPE

# A property, a value, and the datatype of the value; None for an entity.
Fact = tuple[str, str, str | None]

_NUMBERS = itertools.count()
_LETTERS = str.maketrans("0123456789", "abcdefghij")
_ROW = "presage_row"


def hold_for(graph: Graph, pattern: str, event: str, events: Sequence[Sequence[Fact]]) -> list[bool]:
    """Whether the pattern has a solution, for each event with its facts."""
    names = [_new_name() for _ in events]
    facts = {triple for name, several in zip(names, events, strict=True) for triple in _triples(graph, name, several)}
    listed = " ".join(map(str, names))
    query = f"SELECT DISTINCT ?{event} WHERE {{ VALUES ?{event} {{ {listed} }} {pattern} }}"
    found = set(graph.select_with(facts, query, event))
    return [name in found for name in names]


def satisfy(filters: str, variables: Sequence[str], rows: Mapping[int, Sequence[tuple[str, str]]]) -> set[int]:
    """The rows whose values satisfy the FILTERs. A value is a lexical form and a datatype."""
    listed = " ".join(
        f"({number} {' '.join(str(ox.Literal(text, datatype=ox.NamedNode(datatype))) for text, datatype in values)})"
        for number, values in rows.items()
    )
    names = " ".join(f"?{name}" for name in (_ROW, *variables))
    found = ox.Store().query(f"SELECT ?{_ROW} WHERE {{ VALUES ({names}) {{ {listed} }} {filters} }}")
    assert isinstance(found, ox.QuerySolutions)
    return {int(solution[_ROW].value) for solution in found}


def _new_name() -> ox.NamedNode:
    """A fresh name: the store is slow on names with many removed triples. All have letters only and one length, since
    a pattern may inspect the name."""
    return ox.NamedNode("urn:presage:event:" + f"{next(_NUMBERS):018d}".translate(_LETTERS))


def _triples(
    graph: Graph, event: ox.NamedNode, facts: Sequence[Fact]
) -> Iterator[tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode | ox.Literal]]:
    """The facts of the event, and those that follow by the hierarchies of properties and classes."""
    for term, value, datatype in facts:
        if datatype is not None:
            literal = ox.Literal(value, datatype=ox.NamedNode(datatype))
            yield from ((event, ox.NamedNode(above), literal) for above in graph.above(term))
            continue
        for node in map(ox.NamedNode, graph.same(value)):
            for above in graph.above(term):
                yield event, ox.NamedNode(above), node
                for inverse in graph.inverses(above):
                    yield from ((node, ox.NamedNode(up), event) for up in graph.above(inverse))
        if term == RDF_TYPE:
            yield from ((event, ox.NamedNode(term), ox.NamedNode(up)) for up in graph.classes_above(value))
