"""Static analysis of graph patterns: their parts, branches and variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from presage.errors import error
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.filters import NotNativeError
from presage.operators.knowledge.vocabulary import Vocabulary

# Alternatives of one PATH: branches of UNION, times attributes that say the same.
MOST_CHOICES = 64
# Before the name of a variable that was a blank node.
BLANK = "blank_"


def with_named_blanks(group: q.Group) -> q.Group:
    """Blank nodes of the outermost triples as variables, which is what they mean there."""
    taken = group.variables()

    def name(term: q.Term) -> q.Term:
        if not isinstance(term, q.Blank):
            return term
        found = f"{BLANK}{term.label}"
        while found in taken:
            found += "_"
        return q.Var(found, span=term.span)

    elements = tuple(
        replace(e, subject=name(e.subject), object=name(e.object)) if isinstance(e, q.Triple) else e
        for e in group.elements
    )
    return replace(group, elements=elements)


def branches(group: q.Group, event: str) -> list[tuple[q.Element, ...]]:
    """The group without the UNIONs and braces around what begins at the event: one list of elements for each way."""
    found: list[tuple[q.Element, ...]] = [()]
    for element in group.elements:
        ways: list[tuple[q.Element, ...]] = [(element,)]
        if event in element.variables() and isinstance(element, q.Union | q.SubGroup):
            inner = element.groups if isinstance(element, q.Union) else (element.group,)
            if not all(_opens(each) for each in inner):
                raise NotNativeError
            ways = [way for each in inner for way in branches(with_named_blanks(each), event)]
        found = [(*before, *way) for before in found for way in ways]
        if len(found) > MOST_CHOICES:
            raise NotNativeError
    return found


def _opens(group: q.Group) -> bool:
    """Whether a group may stand without its braces: its filters speak of what it binds, and nothing in it depends on
    what stands before it."""
    bound = certainly_bound(group.elements)
    plain = all(isinstance(e, q.Triple | q.Filter | q.Union | q.SubGroup) for e in group.elements)
    return plain and all(e.variables() <= bound for e in group.elements if isinstance(e, q.Filter))


def conjuncts(element: q.Filter) -> list[q.Filter]:
    if isinstance(element.expression, q.And):
        return [f for operand in element.expression.operands for f in conjuncts(q.Filter(operand, span=element.span))]
    return [element]


def joined_as_value(name: str, elements: Sequence[q.Element]) -> bool:
    """Whether a variable stands only as the object of plain triples, and in one at least."""
    using = [e for e in elements if name in e.variables()]
    plain = [
        e for e in using if isinstance(e, q.Triple) and isinstance(e.predicate, q.Iri) and e.subject != q.Var(name)
    ]
    return len(plain) == len(using) > 0


def certainly_bound(elements: Iterable[q.Element]) -> frozenset[str]:
    """Variables that a triple binds; not one whose path may have no step."""
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
    """Whether something that looks at what stands before it, as OPTIONAL and MINUS do, names what only a later triple
    at the event binds."""
    looked_at: set[str] = set()
    for element in elements:
        if event in element.variables():
            if element.variables() & looked_at:
                return True
        elif not isinstance(element, q.Triple | q.Values | q.Filter):
            looked_at |= element.variables()
    return False


def meets_events(group: q.Group, event: str, vocabulary: Vocabulary) -> bool:
    """Whether a term of the pattern other than the event's own variable could be an event: `?any evt:hasSource ?s`.

    A variable cannot be one that the event leads to, or that a property binds which no event has.
    """
    return _Meeting(event, vocabulary).found_in(group, {q.Var(event)})


@dataclass(frozen=True)
class _Meeting:
    event: str
    vocabulary: Vocabulary

    def found_in(self, group: q.Group, before: set[q.Term]) -> bool:
        """`before` are terms that cannot be events, from the groups around."""
        own = q.Var(self.event)
        safe = set(before)
        for element in group.elements:
            if isinstance(element, q.Triple) and isinstance(element.predicate, q.Iri):
                if element.subject == own:
                    safe.add(element.object)
                elif element.object == own or not any(self._said(element.predicate)):
                    safe |= {element.subject, element.object}
        return any(self._met_in(element, safe) for element in group.elements)

    def _met_in(self, element: q.Element, safe: set[q.Term]) -> bool:
        if isinstance(element, q.SubSelect):
            return True
        if isinstance(element, q.Triple):
            return q.Var(self.event) not in (element.subject, element.object) and self._met_by(element, safe)
        return any(self.found_in(inner, safe) for inner in _groups_of(element))

    def _met_by(self, triple: q.Triple, safe: set[q.Term]) -> bool:
        subject, target = (
            term in safe or isinstance(term, q.Iri | q.Literal) for term in (triple.subject, triple.object)
        )
        if isinstance(triple.predicate, q.Iri):
            forward, backward = self._said(triple.predicate)
            return (forward and not subject) or (backward and not target)
        if isinstance(triple.predicate, q.Var):
            return not (subject and target)
        inside = list(q.walk(triple.predicate))
        if any(isinstance(n, q.NegatedSet) or (isinstance(n, q.Iri) and any(self._said(n))) for n in inside):
            return True
        may_stay = any(isinstance(n, q.ZeroOrMore | q.ZeroOrOne) for n in inside)
        return may_stay and not (subject or target)

    def _said(self, predicate: q.Iri) -> tuple[bool, bool]:
        """Whether events have the property, and whether something has an event as its value."""
        typed = predicate.value == q.RDF_TYPE and self.vocabulary.class_iri is not None
        says = typed or bool(self.vocabulary.says(predicate.value))
        return says, bool(self.vocabulary.is_said(predicate.value))


def _groups_of(element: q.Element) -> list[q.Group]:
    """The outermost groups inside of an element."""
    found: list[q.Group] = []
    todo: list[q.Node] = [element]
    while todo:
        for child in q.children(todo.pop()):
            if isinstance(child, q.Group):
                found.append(child)
            else:
                todo.append(child)
    return found


def unlinked_parts(group: q.Group, events: Iterable[str]) -> list[tuple[str | None, q.Group]]:
    """The group in parts that share no variable but an event's, each with the event that it speaks of, in the order of
    the text; those that speak of none have None."""
    known = frozenset(events)
    parts: list[tuple[set[str], list[q.Element]]] = []
    for element in group.elements:
        names = element.variables()
        linked = [part for part in parts if part[0] & names]
        merged: tuple[set[str], list[q.Element]] = (set(names), [])
        for part in linked:
            merged[0].update(part[0])
            merged[1].extend(part[1])
            parts = [p for p in parts if p is not part]
        merged[1].append(element)
        both = sorted(merged[0] & known)
        if len(both) > 1:
            one, other = both[:2]
            raise error("PATH_LINKS_EVENTS", element.span, first=f"?{one}", second=f"?{other}")
        parts.append(merged)
    order = {id(e): i for i, e in enumerate(group.elements)}
    found: dict[str | None, list[q.Element]] = {}
    for own, elements in parts:
        found.setdefault(next(iter(own & known), None), []).extend(elements)
    return [(event, q.Group(tuple(sorted(es, key=lambda e: order[id(e)])))) for event, es in found.items()]
