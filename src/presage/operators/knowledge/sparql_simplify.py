"""Simplification of property paths: the same solutions with fewer paths."""

from __future__ import annotations

from collections.abc import Iterator

from presage.operators.knowledge.sparql_lexer import labels_in
from presage.operators.knowledge.sparql_syntax import (
    Blank,
    Element,
    Group,
    Inverse,
    Node,
    Path,
    Sequence,
    SubSelect,
    Term,
    Triple,
    Var,
    mapped,
    walk,
)


def simplified(group: Group) -> Group:
    """The group with inverse paths turned around and sequences cut into triples, which then are plain properties where
    nothing else is in them: `?a ^p ?b` is `?b p ?a`, and `?a p/q ?c` is `?a p _:b . _:b q ?c`.

    That is what SPARQL 1.1 (18.2.2.4) says they mean. Sub-selects stay as they are.
    """
    labels = _fresh_labels(group)

    def cut(node: Node) -> Node:
        if not isinstance(node, Group):
            return node
        elements: list[Element] = []
        for element in node.elements:
            if isinstance(element, Triple) and not isinstance(element.predicate, Var):
                elements += _cut(element, element.subject, element.predicate, element.object, labels)
            else:
                elements.append(element)
        return Group(tuple(elements), span=node.span)

    return mapped(group, cut)


def _cut(origin: Triple, subject: Term, path: Path, node: Term, labels: Iterator[str]) -> Iterator[Triple]:
    match path:
        case Inverse(inner):
            yield from _cut(origin, node, inner, subject, labels)
        case Sequence(steps):
            here = subject
            for number, step in enumerate(steps):
                there = node if number == len(steps) - 1 else Blank(next(labels), span=path.span)
                yield from _cut(origin, here, step, there, labels)
                here = there
        case _:
            yield Triple(subject, path, node, span=origin.span)


def _fresh_labels(group: Group) -> Iterator[str]:
    taken: set[str] = set()
    for node in walk(group):
        if isinstance(node, Blank):
            taken.add(node.label)
        elif isinstance(node, SubSelect):
            taken |= labels_in(node.head) | labels_in(node.tail)
    number = 0
    while True:
        if f"b{number}" not in taken:
            yield f"b{number}"
        number += 1
