"""Contradictions of a closed graph: the OWL 2 RL rules that end in `false`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
import pyoxigraph as ox

from presage.operators.knowledge import owl_terms as owl
from presage.operators.knowledge.closure import at_most, listed, lists_of
from presage.operators.knowledge.namespaces import RDF
from presage.operators.knowledge.triples import (
    Tables,
    is_in,
    objects_of,
    subjects_of,
    swap,
    with_subject,
)

_PER_AXIOM = 3  # more of the same kind add no information


@dataclass(frozen=True)
class Contradiction:
    """Two facts that cannot both hold, and why."""

    first: str
    second: str
    why: str

    def __str__(self) -> str:
        return f"{self.first} and {self.second}, but {self.why}"


Fact = tuple[int, int, int]
Finding = tuple[Fact, Fact, str]


def contradictions(tables: Tables, terms: Sequence[str], limit: int) -> list[Contradiction]:
    """At most `limit` contradictions of a closed graph. `terms` are the spellings of its terms, by number."""
    spelled = Spelled(terms)
    found: dict[Contradiction, None] = {}
    for check in _CHECKS:
        for first, second, why in check(tables, spelled):
            found.setdefault(Contradiction(spelled.fact(first), spelled.fact(second), why))
            if len(found) == limit:
                return list(found)
    return list(found)


class Spelled:
    """The terms of a graph as a message shows them."""

    def __init__(self, terms: Sequence[str]) -> None:
        self.terms = terms
        self._values = ox.Store()

    def __getitem__(self, term: int) -> str:
        text = self.terms[term]
        for prefix, space in (("rdf", RDF), ("rdfs", owl.RDFS), ("owl", owl.OWL)):
            if text.startswith(f"<{space}"):
                return f"{prefix}:{text[len(space) + 1 : -1]}"
        return text

    def fact(self, fact: Fact) -> str:
        subject, predicate, item = fact
        return f"{self[subject]} {'a' if predicate == owl.TYPE else self[predicate]} {self[item]}"

    def are_different(self, first: int, second: int) -> bool:
        """Whether two literals have different values, as far as SPARQL knows their datatypes."""
        a, b = self.terms[first], self.terms[second]
        if not (a.startswith('"') and b.startswith('"')):
            return False
        return bool(self._values.query(f"ASK {{ FILTER({a} != {b}) }}"))


def _nothing(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    empty = subjects_of(tables[owl.SUB_CLASS][objects_of(tables[owl.SUB_CLASS]) == owl.NOTHING])
    for thing in islice(tables.members(owl.NOTHING).tolist(), _PER_AXIOM):
        kinds = objects_of(with_subject(tables[owl.TYPE], thing))
        kind = next((kind for kind in kinds[np.isin(kinds, empty)].tolist() if kind != owl.NOTHING), owl.NOTHING)
        why = f"{spelled[owl.NOTHING]} has no members"
        yield (thing, owl.TYPE, kind), (kind, owl.SUB_CLASS, owl.NOTHING), why


def _disjoint_classes(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    stated = [(a, b, "owl:disjointWith") for a, b in listed(tables[owl.DISJOINT])]
    stated += [(a, b, "owl:complementOf") for a, b in listed(tables[owl.COMPLEMENT])]
    stated += [(a, b, "owl:AllDisjointClasses") for a, b in _combined(tables, owl.ALL_DISJOINT, owl.MEMBERS)]
    for a, b, word in stated:
        members = tables.members(a)
        for thing in members[is_in(members, tables.members(b))][:_PER_AXIOM].tolist():
            yield (thing, owl.TYPE, a), (thing, owl.TYPE, b), f"the classes have no common member ({word})"


def _different(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    same = tables[owl.SAME]
    stated = [(a, b, "owl:differentFrom") for a, b in listed(tables[owl.DIFFERENT])]
    for members in (owl.MEMBERS, owl.DISTINCT_MEMBERS):
        stated += [(a, b, "owl:AllDifferent") for a, b in _combined(tables, owl.ALL_DIFFERENT, members)]
    for a, b, word in stated:
        if a == b or b in objects_of(with_subject(same, a)):
            yield (a, owl.SAME, b), (a, owl.DIFFERENT, b), f"they are declared different ({word})"


def _directions(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    for name in tables.members(owl.ASYMMETRIC).tolist():
        pairs = tables[name]
        for a, b in listed(pairs[is_in(swap(pairs), pairs)][:_PER_AXIOM]):
            yield (a, name, b), (b, name, a), f"{spelled[name]} is an owl:AsymmetricProperty"
    for name in tables.members(owl.IRREFLEXIVE).tolist():
        pairs = tables[name]
        for a, b in listed(pairs[subjects_of(pairs) == objects_of(pairs)][:_PER_AXIOM]):
            yield (a, name, b), (name, owl.TYPE, owl.IRREFLEXIVE), "nothing has such a property of itself"


def _disjoint_properties(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    stated = [(p, q, "owl:propertyDisjointWith") for p, q in listed(tables[owl.DISJOINT_PROPERTY])]
    excluding = _combined(tables, owl.ALL_DISJOINT_PROPERTIES, owl.MEMBERS)
    stated += [(p, q, "owl:AllDisjointProperties") for p, q in excluding]
    for p, q, word in stated:
        for a, b in listed(tables[p][is_in(tables[p], tables[q])][:_PER_AXIOM]):
            yield (a, p, b), (a, q, b), f"the properties exclude each other ({word})"


def _denied(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    sources, names = dict(listed(tables[owl.SOURCE])), dict(listed(tables[owl.ASSERTION]))
    for word in (owl.TARGET, owl.TARGET_VALUE):
        for denial, item in listed(tables[word]):
            source, name = sources.get(denial), names.get(denial)
            if source is not None and name is not None and item in objects_of(with_subject(tables[name], source)):
                why = "it denies that (owl:NegativePropertyAssertion)"
                yield (source, name, item), (denial, owl.ASSERTION, name), why


def _none_allowed(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    for kind, name, of in at_most(tables, owl.ZERO):
        pairs = tables[name]
        pairs = pairs[is_in(subjects_of(pairs), tables.members(kind))]
        if of != owl.THING:
            pairs = pairs[is_in(objects_of(pairs), tables.members(of))]
        for a, b in listed(pairs[:_PER_AXIOM]):
            yield (a, owl.TYPE, kind), (a, name, b), "members of the class have none of these (a cardinality of 0)"


def _functional(tables: Tables, spelled: Spelled) -> Iterator[Finding]:
    for name in tables.members(owl.FUNCTIONAL).tolist():
        pairs = tables[name]
        shared = subjects_of(pairs[1:])[subjects_of(pairs[1:]) == subjects_of(pairs[:-1])]
        for subject in np.unique(shared).tolist():
            first, *others = objects_of(with_subject(pairs, subject)).tolist()
            for other in others:
                if spelled.are_different(first, other):
                    yield (subject, name, first), (subject, name, other), f"{spelled[name]} has one value at most"
                    break


_CHECKS = (
    *(_nothing, _disjoint_classes, _different, _directions),
    *(_disjoint_properties, _denied, _none_allowed, _functional),
)


def _combined(tables: Tables, kind: int, word: int) -> Iterator[tuple[int, int]]:
    declared = set(tables.members(kind).tolist())
    for axiom, items in lists_of(tables, word):
        if axiom in declared:
            yield from combinations(items, 2)
