"""Static analysis of graph patterns: their parts, branches and variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from presage.errors import error
from presage.operators.knowledge import namespaces as ns
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.filters import NotNativeError
from presage.operators.knowledge.vocabulary import Vocabulary

# Alternatives of one PATH: branches of UNION, times attributes for one property.
MOST_CHOICES = 64
T = TypeVar("T")
# Members that share names, directly or through others, and all their names.
Linked: TypeAlias = tuple[set[str], list[T]]
# The prefix of a variable that was a blank node.
BLANK = "blank_"


def with_named_blanks(group: q.Group) -> q.Group:
    """The group with variables for the blank nodes of its outermost triples, which mean the same."""
    taken = group.variables()

    def name(term: q.Term) -> q.Term:
        if not isinstance(term, q.Blank):
            return term
        variable = f"{BLANK}{term.label}"
        while variable in taken:
            variable += "_"
        return q.Var(variable, span=term.span)

    elements = tuple(
        replace(e, subject=name(e.subject), object=name(e.object)) if isinstance(e, q.Triple) else e
        for e in group.elements
    )
    return replace(group, elements=elements)


def branches(group: q.Group, event: str) -> list[tuple[q.Element, ...]]:
    """The group without the UNIONs and braces around triples of the event: the elements of each alternative."""
    found: list[tuple[q.Element, ...]] = [()]
    for element in group.elements:
        ways: list[tuple[q.Element, ...]] = [(element,)]
        if event in element.variables() and isinstance(element, q.Union | q.SubGroup):
            inner = element.groups if isinstance(element, q.Union) else (element.group,)
            if not all(_can_be_flattened(each) for each in inner):
                raise NotNativeError
            ways = [way for each in inner for way in branches(with_named_blanks(each), event)]
        found = [(*before, *way) for before in found for way in ways]
        if len(found) > MOST_CHOICES:
            raise NotNativeError
    return found


def _can_be_flattened(group: q.Group) -> bool:
    """Whether a group means the same without its braces: its filters use variables that it binds, and no element
    depends on those before it."""
    bound = certainly_bound(group.elements)
    plain = all(isinstance(e, q.Triple | q.Filter | q.Union | q.SubGroup) for e in group.elements)
    return plain and all(e.variables() <= bound for e in group.elements if isinstance(e, q.Filter))


def conjuncts(element: q.Filter) -> list[q.Filter]:
    if isinstance(element.expression, q.And):
        return [f for operand in element.expression.operands for f in conjuncts(q.Filter(operand, span=element.span))]
    return [element]


def joined_as_value(name: str, elements: Sequence[q.Element]) -> bool:
    """Whether a variable occurs only as the object of plain triples, and in at least one."""
    using = [e for e in elements if name in e.variables()]
    plain = [
        e for e in using if isinstance(e, q.Triple) and isinstance(e.predicate, q.Iri) and e.subject != q.Var(name)
    ]
    return len(plain) == len(using) > 0


def certainly_bound(elements: Iterable[q.Element]) -> frozenset[str]:
    """Variables that a triple or VALUES always binds; not by a path that may have no step."""
    found: set[str] = set()
    for element in elements:
        if isinstance(element, q.Triple) and not any(
            isinstance(n, q.ZeroOrMore | q.ZeroOrOne) for n in q.walk(element)
        ):
            found |= element.variables()
        elif isinstance(element, q.Values):
            columns = zip(*element.rows, strict=True) if element.rows else [()] * len(element.columns)
            found |= {c.name for c, terms in zip(element.columns, columns, strict=True) if None not in terms}
    return frozenset(found)


def depends_on_order(elements: Sequence[q.Element], event: str) -> bool:
    """Whether an element that depends on those before it, as OPTIONAL and MINUS do, uses a variable that only a later
    triple of the event binds."""
    used: set[str] = set()
    for element in elements:
        if event in element.variables():
            if element.variables() & used:
                return True
        elif not isinstance(element, q.Triple | q.Values | q.Filter):
            used |= element.variables()
    return False


def meets_events(group: q.Group, event: str, vocabulary: Vocabulary) -> bool:
    """Whether another term of the pattern than the event's own variable could be an event: `?any evt:hasSource ?s`.

    A value of the event cannot be one, nor a term of a property that no event has.
    """
    return _EventSearch(event, vocabulary).found_in(group, {q.Var(event)})


@dataclass(frozen=True)
class _EventSearch:
    event: str
    vocabulary: Vocabulary

    def found_in(self, group: q.Group, before: set[q.Term]) -> bool:
        """`before` are terms of the enclosing groups that cannot be events."""
        own = q.Var(self.event)
        safe = set(before)
        for element in group.elements:
            if isinstance(element, q.Triple) and isinstance(element.predicate, q.Iri):
                if element.subject == own:
                    safe.add(element.object)
                elif element.object == own or not any(self._of_events(element.predicate)):
                    safe |= {element.subject, element.object}
        return any(self._in_element(element, safe) for element in group.elements)

    def _in_element(self, element: q.Element, safe: set[q.Term]) -> bool:
        if isinstance(element, q.SubSelect):
            return True
        if isinstance(element, q.Triple):
            return q.Var(self.event) not in (element.subject, element.object) and self._in_triple(element, safe)
        return any(self.found_in(inner, safe) for inner in _groups_of(element))

    def _in_triple(self, triple: q.Triple, safe: set[q.Term]) -> bool:
        subject, target = (
            term in safe or isinstance(term, q.Iri | q.Literal) for term in (triple.subject, triple.object)
        )
        if isinstance(triple.predicate, q.Iri):
            forward, backward = self._of_events(triple.predicate)
            return (forward and not subject) or (backward and not target)
        if isinstance(triple.predicate, q.Var):
            return not (subject and target)
        inside = list(q.walk(triple.predicate))
        if any(isinstance(n, q.NegatedSet) or (isinstance(n, q.Iri) and any(self._of_events(n))) for n in inside):
            return True
        may_stay = any(isinstance(n, q.ZeroOrMore | q.ZeroOrOne) for n in inside)
        return may_stay and not (subject or target)

    def _of_events(self, predicate: q.Iri) -> tuple[bool, bool]:
        """Whether events have the property, and whether its values may be events."""
        typed = predicate.value == ns.RDF_TYPE and self.vocabulary.class_iri is not None
        says = typed or bool(self.vocabulary.readings_of(predicate.value))
        return says, bool(self.vocabulary.inverse_readings_of(predicate.value))


def _groups_of(element: q.Element) -> list[q.Group]:
    """The outermost groups in an element."""
    found: list[q.Group] = []
    todo: list[q.Node] = [element]
    while todo:
        for child in q.children(todo.pop()):
            if isinstance(child, q.Group):
                found.append(child)
            else:
                todo.append(child)
    return found


def link(parts: list[Linked[T]], names: Set[str], member: T) -> Linked[T]:
    """Add a member, and merge all parts that share a name with it; returns the merged part."""
    merged: Linked[T] = (set(names), [])
    for linked, members in [part for part in parts if part[0] & names]:
        merged[0].update(linked)
        merged[1].extend(members)
    merged[1].append(member)
    parts[:] = [*(part for part in parts if not part[0] & names), merged]
    return merged


def unlinked_parts(group: q.Group, events: Iterable[str]) -> list[tuple[str | None, q.Group]]:
    """The group in parts that share no variable but an event's, each with its event or None, in the order of the
    text."""
    known = frozenset(events)
    parts: list[Linked[q.Element]] = []
    for element in group.elements:
        names, _ = link(parts, element.variables(), element)
        both = sorted(names & known)
        if len(both) > 1:
            raise error("PATH_LINKS_EVENTS", element.span, first=f"?{both[0]}", second=f"?{both[1]}")
    order = {id(e): i for i, e in enumerate(group.elements)}
    found: dict[str | None, list[q.Element]] = {}
    for own, elements in parts:
        found.setdefault(next(iter(own & known), None), []).extend(elements)
    return [(event, q.Group(tuple(sorted(es, key=lambda e: order[id(e)])))) for event, es in found.items()]
