"""The closure of a numbered graph under the OWL 2 RL rules.

The rules are those of OWL 2 Profiles, 4.3, in bulk: one predicate's triples are one set of pairs, a rule is a join.
Evaluation is semi-naive: a round joins the pairs that the last round added. The schema (the few triples about classes
and properties) is closed first; when it changes, all pairs count as new.

Left out are `eq-ref` (everything is the same as itself), `cls-thing` and `cls-nothing1`, annotation properties and
datatypes (`prp-ap`, `dt-*`): no query would ask for what they add. Literals may be subjects in between, as in the
specification; `triples.expressible` removes them at the end. The rules that end in `false` are in `contradictions`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from presage.operators.knowledge import owl_terms as owl
from presage.operators.knowledge.triples import (
    EMPTY,
    LARGEST,
    Found,
    Pairs,
    Tables,
    Terms,
    distinct,
    is_in,
    join,
    join_size,
    objects_of,
    pack,
    siblings,
    subjects_of,
    swap,
    too_large,
    with_subject,
)

_SCHEMA = {
    *(owl.FIRST, owl.REST, owl.SUB_CLASS, owl.SUB_PROPERTY, owl.DOMAIN, owl.RANGE, owl.SAME, owl.EQUIVALENT_CLASS),
    *(owl.EQUIVALENT_PROPERTY, owl.INVERSE, owl.CHAIN, owl.KEY, owl.INTERSECTION, owl.UNION, owl.ONE_OF, owl.SOME),
    *(owl.ALL, owl.VALUE, owl.ON_PROPERTY, owl.ON_CLASS, owl.AT_MOST, owl.AT_MOST_OF_CLASS),
}
_PROPERTY_KINDS = (owl.OBJECT_PROPERTY, owl.DATATYPE_PROPERTY)
_FEATURES = (owl.TRANSITIVE, owl.SYMMETRIC, owl.FUNCTIONAL, owl.INVERSE_FUNCTIONAL)
_KINDS = np.array(sorted([owl.CLASS, *_PROPERTY_KINDS, *_FEATURES]), np.uint64)


def close(tables: Tables) -> None:
    """Add to the tables every triple that the rules derive from them."""
    new, schema = tables, None
    while new.pairs:
        if schema is None or _changes_schema(new):
            close_schema(tables)
            new, schema = tables, Schema(tables)
        found: Found = defaultdict(list)
        for rule in _RULES:
            rule(found, schema, tables, new)
        new = tables.add(found)


def _changes_schema(new: Tables) -> bool:
    return not _SCHEMA.isdisjoint(new.pairs) or bool(is_in(objects_of(new[owl.TYPE]), _KINDS).any())


# -- the schema ----------------------------------------------------------------------------------


class Schema:
    """Classes and properties as the rules need them, read from the tables."""

    def __init__(self, tables: Tables) -> None:
        def pairs(predicate: int) -> list[tuple[int, int]]:
            return listed(_irreflexive(tables[predicate]))

        def members(kind: int) -> list[int]:
            return list(tables.members(kind).tolist())

        self.sub_class = _irreflexive(tables[owl.SUB_CLASS])
        self.sub_property = pairs(owl.SUB_PROPERTY)
        self.inverse = listed(tables[owl.INVERSE])
        self.domain = pairs(owl.DOMAIN)
        self.range = pairs(owl.RANGE)
        self.transitive = members(owl.TRANSITIVE)
        self.symmetric = members(owl.SYMMETRIC)
        self.functional = members(owl.FUNCTIONAL)
        self.inverse_functional = members(owl.INVERSE_FUNCTIONAL)
        self.same = _irreflexive(tables[owl.SAME])
        self.chains = list(lists_of(tables, owl.CHAIN))
        self.keys = list(lists_of(tables, owl.KEY))
        self.intersections = list(lists_of(tables, owl.INTERSECTION))
        self.enumerations = list(lists_of(tables, owl.ONE_OF))
        self.some = list(restrictions(tables, owl.SOME))
        self.all = list(restrictions(tables, owl.ALL))
        self.value = list(restrictions(tables, owl.VALUE))
        self.at_most_one = list(at_most(tables, owl.ONE))


def listed(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(subjects_of(pairs).tolist(), objects_of(pairs).tolist(), strict=True))


def _irreflexive(pairs: Pairs) -> Pairs:
    different: Pairs = pairs[subjects_of(pairs) != objects_of(pairs)]
    return different


def lists_of(tables: Tables, predicate: int) -> Iterator[tuple[int, list[int]]]:
    """The subjects of a predicate whose objects are lists, each with the list's items."""
    stated = listed(tables[predicate])
    if not stated:
        return
    first, rest = dict(listed(tables[owl.FIRST])), dict(listed(tables[owl.REST]))
    for subject, head in stated:
        items: list[int] = []
        seen = {owl.NIL}
        while head not in seen and head in first:
            seen.add(head)
            items.append(first[head])
            head = rest.get(head, owl.NIL)
        if items:
            yield subject, items


def restrictions(tables: Tables, predicate: int) -> Iterator[tuple[int, int, int]]:
    """The restrictions of a kind: the class, its property and the filler."""
    properties = tables[owl.ON_PROPERTY]
    for kind, filler in listed(tables[predicate]):
        for name in objects_of(with_subject(properties, kind)).tolist():
            yield kind, name, filler


def at_most(tables: Tables, counts: frozenset[int]) -> Iterator[tuple[int, int, int]]:
    """Restrictions to at most so many values of a property: the class, the property, and the class of the values."""
    for kind, name, count in restrictions(tables, owl.AT_MOST):
        if count in counts:
            yield kind, name, owl.THING
    for kind, name, count in restrictions(tables, owl.AT_MOST_OF_CLASS):
        if count in counts:
            for of in objects_of(with_subject(tables[owl.ON_CLASS], kind)).tolist():
                yield kind, name, of


def close_schema(tables: Tables) -> None:
    """Apply the rules about classes and properties alone (`scm-*`)."""
    same_things(tables)
    while True:
        found: Found = defaultdict(list)
        classes, properties = tables[owl.SUB_CLASS], tables[owl.SUB_PROPERTY]
        found[owl.SUB_CLASS] += [join(classes, classes), *_both_ways(tables[owl.EQUIVALENT_CLASS])]
        found[owl.SUB_PROPERTY] += [join(properties, properties), *_both_ways(tables[owl.EQUIVALENT_PROPERTY])]
        found[owl.EQUIVALENT_CLASS].append(classes[is_in(swap(classes), classes)])
        found[owl.EQUIVALENT_PROPERTY].append(properties[is_in(swap(properties), properties)])
        for predicate in (owl.DOMAIN, owl.RANGE):
            found[predicate] += [join(tables[predicate], classes), join(properties, tables[predicate])]
        declared = tables.members(owl.CLASS)
        found[owl.SUB_CLASS] += [
            pack(declared, declared),
            pack(declared, owl.THING),
            pack(np.full_like(declared, owl.NOTHING), declared),
        ]
        found[owl.EQUIVALENT_CLASS].append(pack(declared, declared))
        for kind in _PROPERTY_KINDS:
            declared = tables.members(kind)
            for predicate in (owl.SUB_PROPERTY, owl.EQUIVALENT_PROPERTY):
                found[predicate].append(pack(declared, declared))
        for kind, parts in lists_of(tables, owl.INTERSECTION):
            found[owl.SUB_CLASS].append(pack(np.full(len(parts), kind), parts))
        for kind, parts in lists_of(tables, owl.UNION):
            found[owl.SUB_CLASS].append(pack(parts, kind))
        _compare_restrictions(found, tables)
        if not tables.add(found).pairs:
            return


def _both_ways(pairs: Pairs) -> tuple[Pairs, Pairs]:
    return pairs, swap(pairs)


def _compare_restrictions(found: Found, tables: Tables) -> None:
    """A restriction is narrower than another if its filler is, or its property (`scm-svf`, `scm-avf`, `scm-hv`)."""
    for predicate in (owl.SOME, owl.ALL, owl.VALUE):
        stated = list(restrictions(tables, predicate))
        by_property: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        by_filler: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for kind, name, filler in stated:
            by_property[name].append((kind, filler))
            by_filler[filler].append((kind, name))
        narrower = []
        if predicate != owl.VALUE:
            narrower += _compared(by_property.values(), tables[owl.SUB_CLASS])
        wider = _compared(by_filler.values(), tables[owl.SUB_PROPERTY])
        # "All values" of the wider property is the narrower class.
        narrower += [(b, a) for a, b in wider] if predicate == owl.ALL else wider
        if narrower:
            found[owl.SUB_CLASS].append(pack(*zip(*narrower, strict=True)))


def _compared(groups: Iterable[list[tuple[int, int]]], order: Pairs) -> list[tuple[int, int]]:
    """Pairs of classes of one group (class, feature) whose features are ordered."""
    below: list[tuple[int, int]] = []
    for group in groups:
        kinds_of: defaultdict[int, list[int]] = defaultdict(list)
        for kind, feature in group:
            kinds_of[feature].append(kind)
        for low in list(kinds_of):
            for high in objects_of(with_subject(order, low)).tolist():
                below += [(a, b) for a in kinds_of[low] for b in kinds_of.get(high, ())]
    return below


def same_things(tables: Tables) -> None:
    """Close `owl:sameAs` under symmetry and transitivity: all pairs within each group of equals."""
    parent: dict[int, int] = {}

    def root(term: int) -> int:
        while parent[term] != term:
            parent[term] = parent[parent[term]]
            term = parent[term]
        return term

    for a, b in listed(tables[owl.SAME]):
        first, second = root(parent.setdefault(a, a)), root(parent.setdefault(b, b))
        parent[max(first, second)] = min(first, second)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for term in parent:
        groups[root(term)].append(term)
    size = sum(len(group) ** 2 for group in groups.values())
    if size > LARGEST:
        raise too_large(size)
    found: Found = defaultdict(list)
    for group in groups.values():
        found[owl.SAME].append(pack(np.repeat(group, len(group)), np.tile(group, len(group))))
    tables.add(found)


# -- the rules -----------------------------------------------------------------------------------
# Each adds to `found` the pairs derived from `tables` with at least one premise in `new`, the pairs of the last round.


def equality(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Triples of a thing hold for everything that is the same (`eq-rep-*`)."""
    if not len(schema.same):
        return
    for predicate, pairs in new.pairs.items():
        if predicate != owl.SAME:
            found[predicate] += [_join(schema.same, pairs), _join(pairs, schema.same)]
    for predicate, other in listed(schema.same):
        if predicate in new.pairs:
            found[other].append(new[predicate])


def hierarchy(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Wider properties and wider classes (`prp-spo1`, `prp-eqp`, `cax-sco`, `cax-eqc`, `cls-int2`, `cls-uni`)."""
    for narrow, wide in schema.sub_property:
        if narrow in new.pairs:
            found[wide].append(new[narrow])
    found[owl.TYPE].append(_join(new[owl.TYPE], schema.sub_class))


def directions(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Inverse, symmetric and transitive properties, and chains of them (`prp-inv*`, `-symp`, `-trp`, `-spo2`)."""
    for first, second in schema.inverse:
        for name, inverse in ((first, second), (second, first)):
            if name in new.pairs:
                found[inverse].append(swap(new[name]))
    for name in schema.symmetric:
        if name in new.pairs:
            found[name].append(swap(new[name]))
    for name in schema.transitive:
        if name in new.pairs:
            found[name].append(_chained(tables, new, [name, name]))
    for name, chain in schema.chains:
        found[name].append(_chained(tables, new, chain))


def _chained(tables: Tables, new: Tables, chain: Sequence[int]) -> Pairs:
    if new is tables:
        return _joined([tables[name] for name in chain])
    results = []
    for place, name in enumerate(chain):
        if name in new.pairs:
            results.append(_joined([(new if at == place else tables)[other] for at, other in enumerate(chain)]))
    return distinct(results) if results else EMPTY


def _joined(chain: Sequence[Pairs]) -> Pairs:
    made = chain[0]
    for pairs in chain[1:]:
        made = distinct([_join(made, pairs)])
    return made


def _join(left: Pairs, right: Pairs) -> Pairs:
    if len(left) and len(right) and len(left) * len(right) > LARGEST:
        size = join_size(left, right)
        if size > LARGEST:
            raise too_large(size)
    return join(left, right)


def ends(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Domains and ranges (`prp-dom`, `prp-rng`)."""
    for name, kind in schema.domain:
        if name in new.pairs:
            found[owl.TYPE].append(pack(np.unique(subjects_of(new[name])), kind))
    for name, kind in schema.range:
        if name in new.pairs:
            found[owl.TYPE].append(pack(np.unique(objects_of(new[name])), kind))


def identity(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Things that must be the same (`prp-fp`, `prp-ifp`, `prp-key`, `cls-maxc2`, `cls-maxqc3`, `cls-maxqc4`)."""
    for name in schema.functional:
        if name in new.pairs:
            found[owl.SAME].append(siblings(tables[name]))
    for name in schema.inverse_functional:
        if name in new.pairs:
            found[owl.SAME].append(siblings(np.sort(swap(tables[name]))))
    for kind, name, of in schema.at_most_one:
        if name in new.pairs or owl.TYPE in new.pairs:
            pairs = tables[name]
            pairs = pairs[is_in(subjects_of(pairs), tables.members(kind))]
            if of != owl.THING:
                pairs = pairs[is_in(objects_of(pairs), tables.members(of))]
            found[owl.SAME].append(siblings(pairs))
    for kind, names in schema.keys:
        if owl.TYPE in new.pairs or not new.pairs.keys().isdisjoint(names):
            found[owl.SAME].append(_sharing(tables, tables.members(kind), names))


def _sharing(tables: Tables, members: Terms, names: Sequence[int]) -> Pairs:
    """The members that share a value of each of the properties."""
    values = []
    for name in names:
        pairs = tables[name][is_in(subjects_of(tables[name]), members)]
        back = np.sort(swap(pairs))
        values.append((join_size(pairs, back), pairs, back))
    values.sort(key=lambda item: item[0])
    _, pairs, back = values[0]
    found = _irreflexive(distinct([_join(pairs, back)]))
    for _, pairs, _ in values[1:]:
        # Of each pair of members, the values of the first that the second has too.
        numbers = np.arange(len(found), dtype=np.uint64)
        firsts = _join(pack(numbers, subjects_of(found)), pairs)
        seconds = pack(objects_of(found)[subjects_of(firsts).astype(np.intp)], objects_of(firsts))
        found = found[np.unique(subjects_of(firsts[is_in(seconds, pairs)])).astype(np.intp)]
    return found


def conditions(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Classes defined by the properties of their members (`cls-int1`, `-svf*`, `-avf`, `-hv*`, `-oo`)."""
    for kind, parts in schema.intersections:
        if owl.TYPE in new.pairs:
            members = tables.members(parts[0])
            for part in parts[1:]:
                members = members[is_in(members, tables.members(part))]
            found[owl.TYPE].append(pack(members, kind))
    for kind, items in schema.enumerations:
        if new is tables:
            found[owl.TYPE].append(pack(items, kind))
    for kind, name, filler in schema.some:
        if filler == owl.THING:
            found[owl.TYPE].append(pack(subjects_of(new[name]), kind))
        else:
            found[owl.TYPE].append(pack(subjects_of(_between(tables, new, None, name, filler)), kind))
    for kind, name, filler in schema.all:
        found[owl.TYPE].append(pack(objects_of(_between(tables, new, kind, name, None)), filler))
    for kind, name, value in schema.value:
        if owl.TYPE in new.pairs:
            found[name].append(pack(new.members(kind), value))
        pairs = new[name]
        found[owl.TYPE].append(pack(subjects_of(pairs[objects_of(pairs) == value]), kind))


def _between(tables: Tables, new: Tables, subject: int | None, name: int, item: int | None) -> Pairs:
    """The pairs of a property whose subject or object is of a class, where the pair or its class is new."""
    results = [_of_class(new[name], tables, subject, item)]
    if new is not tables and owl.TYPE in new.pairs:
        results.append(_of_class(tables[name], new, subject, item))
    return distinct(results)


def _of_class(pairs: Pairs, types: Tables, subject: int | None, item: int | None) -> Pairs:
    if not len(pairs):
        return pairs
    if subject is not None:
        pairs = pairs[is_in(subjects_of(pairs), types.members(subject))]
    if item is not None:
        pairs = pairs[is_in(objects_of(pairs), types.members(item))]
    return pairs


_RULES = (equality, hierarchy, directions, ends, identity, conditions)
