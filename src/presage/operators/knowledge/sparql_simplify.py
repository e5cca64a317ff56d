"""Simplification of property paths: the same solutions with fewer paths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.sparql_lexer import labels_in


def simplified(group: q.Group) -> q.Group:
    """The group with `?a ^p ?b` as `?b p ?a`, and `?a p/q ?c` as `?a p _:b . _:b q ?c`.

    SPARQL 1.1 (18.2.2.4) defines them so. Sub-selects stay as they are.
    """
    labels = _fresh_labels(group)

    def cut(node: q.Node) -> q.Node:
        if not isinstance(node, q.Group):
            return node
        elements: list[q.Element] = []
        for element in node.elements:
            if isinstance(element, q.Triple) and not isinstance(element.predicate, q.Var):
                elements += _cut(element, element.subject, element.predicate, element.object, labels)
            else:
                elements.append(element)
        return q.Group(tuple(elements), span=node.span)

    return q.mapped(group, cut)


def _cut(origin: q.Triple, subject: q.Term, path: q.Path, node: q.Term, labels: Iterator[str]) -> Iterator[q.Triple]:
    match path:
        case q.Inverse(inner):
            yield from _cut(origin, node, inner, subject, labels)
        case q.Sequence(steps):
            here = subject
            for number, step in enumerate(steps):
                there = node if number == len(steps) - 1 else q.Blank(next(labels), span=path.span)
                yield from _cut(origin, here, step, there, labels)
                here = there
        case _:
            yield q.Triple(subject, path, node, span=origin.span)


def _fresh_labels(group: q.Group) -> Iterator[str]:
    taken: set[str] = set()
    for node in q.walk(group):
        if isinstance(node, q.Blank):
            taken.add(node.label)
        elif isinstance(node, q.SubSelect):
            taken |= labels_in(node.head) | labels_in(node.tail)
    return (label for number in count() if (label := f"b{number}") not in taken)
