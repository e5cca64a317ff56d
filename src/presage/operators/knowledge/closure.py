"""The closure of a numbered graph under the OWL 2 RL rules.

The rules are those of OWL 2 Profiles, 4.3, in bulk: one predicate's triples are one set of pairs, a rule is a join.
They work on what is new since the last round (semi-naive). The few triples that say what words mean (the schema) are
closed first; when they change, everything counts as new.

All rules but these are there: `eq-ref` (everything is the same as itself), `cls-thing` and `cls-nothing1` (there are
owl:Thing and owl:Nothing), annotation properties and datatypes (`prp-ap`, `dt-*`): they add nothing that a query would
ask for. On the way a literal may be a subject, as the rules have it; what RDF cannot say is left out at the end. The
rules that end in `false` are in `contradictions`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from presage.operators.knowledge.owl_terms import (
    ALL,
    AT_MOST,
    AT_MOST_OF_CLASS,
    CHAIN,
    CLASS,
    DATATYPE_PROPERTY,
    DOMAIN,
    EQUIVALENT_CLASS,
    EQUIVALENT_PROPERTY,
    FIRST,
    FUNCTIONAL,
    INTERSECTION,
    INVERSE,
    INVERSE_FUNCTIONAL,
    KEY,
    NIL,
    NOTHING,
    OBJECT_PROPERTY,
    ON_CLASS,
    ON_PROPERTY,
    ONE,
    ONE_OF,
    RANGE,
    REST,
    SAME,
    SOME,
    SUB_CLASS,
    SUB_PROPERTY,
    SYMMETRIC,
    THING,
    TRANSITIVE,
    TYPE,
    UNION,
    VALUE,
)
from presage.operators.knowledge.pairs import (
    EMPTY,
    Pairs,
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
    with_subject,
)
from presage.operators.knowledge.triples import LARGEST, Found, Tables, too_large

_SCHEMA = frozenset(
    {FIRST, REST, SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE, SAME, EQUIVALENT_CLASS, EQUIVALENT_PROPERTY, INVERSE, CHAIN}
    | {KEY, INTERSECTION, UNION, ONE_OF, SOME, ALL, VALUE, ON_PROPERTY, ON_CLASS, AT_MOST, AT_MOST_OF_CLASS}
)
_KINDS = np.array(
    sorted({CLASS, OBJECT_PROPERTY, DATATYPE_PROPERTY, TRANSITIVE, SYMMETRIC, FUNCTIONAL, INVERSE_FUNCTIONAL}),
    np.uint64,
)


def close(tables: Tables) -> None:
    """Add to the tables all that follows from them."""
    new = tables
    schema = Schema()
    while new.pairs:
        if new is tables or _speaks_of_words(new):
            close_schema(tables)
            schema = Schema.of(tables)
            new = tables
        found: Found = defaultdict(list)
        for rule in _RULES:
            rule(found, schema, tables, new)
        new = tables.add(found)


def _speaks_of_words(new: Tables) -> bool:
    return not _SCHEMA.isdisjoint(new.pairs) or bool(is_in(objects_of(new[TYPE]), _KINDS).any())


# -- the schema ----------------------------------------------------------------------------------


@dataclass
class Schema:
    """What the rules need to know of words, read from the tables."""

    sub_class: Pairs = field(default_factory=lambda: EMPTY)
    sub_property: list[tuple[int, int]] = field(default_factory=list)
    inverse: list[tuple[int, int]] = field(default_factory=list)
    domain: list[tuple[int, int]] = field(default_factory=list)
    range: list[tuple[int, int]] = field(default_factory=list)
    transitive: list[int] = field(default_factory=list)
    symmetric: list[int] = field(default_factory=list)
    functional: list[int] = field(default_factory=list)
    inverse_functional: list[int] = field(default_factory=list)
    same: Pairs = field(default_factory=lambda: EMPTY)
    chains: list[tuple[int, list[int]]] = field(default_factory=list)
    keys: list[tuple[int, list[int]]] = field(default_factory=list)
    intersections: list[tuple[int, list[int]]] = field(default_factory=list)
    enumerations: list[tuple[int, list[int]]] = field(default_factory=list)
    some: list[tuple[int, int, int]] = field(default_factory=list)
    all: list[tuple[int, int, int]] = field(default_factory=list)
    value: list[tuple[int, int, int]] = field(default_factory=list)
    at_most_one: list[tuple[int, int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, tables: Tables) -> Schema:
        def pairs(predicate: int) -> list[tuple[int, int]]:
            return listed(_irreflexive(tables[predicate]))

        return cls(
            sub_class=_irreflexive(tables[SUB_CLASS]),
            sub_property=pairs(SUB_PROPERTY),
            inverse=listed(tables[INVERSE]),
            domain=pairs(DOMAIN),
            range=pairs(RANGE),
            transitive=tables.members(TRANSITIVE).tolist(),
            symmetric=tables.members(SYMMETRIC).tolist(),
            functional=tables.members(FUNCTIONAL).tolist(),
            inverse_functional=tables.members(INVERSE_FUNCTIONAL).tolist(),
            same=_irreflexive(tables[SAME]),
            chains=list(lists_of(tables, CHAIN)),
            keys=list(lists_of(tables, KEY)),
            intersections=list(lists_of(tables, INTERSECTION)),
            enumerations=list(lists_of(tables, ONE_OF)),
            some=list(restrictions(tables, SOME)),
            all=list(restrictions(tables, ALL)),
            value=list(restrictions(tables, VALUE)),
            at_most_one=list(at_most(tables, ONE)),
        )


def listed(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(subjects_of(pairs).tolist(), objects_of(pairs).tolist(), strict=True))


def _irreflexive(pairs: Pairs) -> Pairs:
    kept: Pairs = pairs[subjects_of(pairs) != objects_of(pairs)]
    return kept


def lists_of(tables: Tables, predicate: int) -> Iterator[tuple[int, list[int]]]:
    """The subjects of a predicate whose objects are lists, with the items."""
    stated = listed(tables[predicate])
    if not stated:
        return
    first, rest = dict(listed(tables[FIRST])), dict(listed(tables[REST]))
    for subject, head in stated:
        items: list[int] = []
        seen = {NIL}
        while head not in seen and head in first:
            seen.add(head)
            items.append(first[head])
            head = rest.get(head, NIL)
        if items:
            yield subject, items


def restrictions(tables: Tables, predicate: int) -> Iterator[tuple[int, int, int]]:
    """The restrictions of a kind: the class, its property and the filler."""
    properties = tables[ON_PROPERTY]
    for kind, filler in listed(tables[predicate]):
        for name in objects_of(with_subject(properties, kind)).tolist():
            yield kind, name, filler


def at_most(tables: Tables, counts: frozenset[int]) -> Iterator[tuple[int, int, int]]:
    """The classes whose members have at most that many of a property: the class, its property, and of which class."""
    for kind, name, count in restrictions(tables, AT_MOST):
        if count in counts:
            yield kind, name, THING
    for kind, name, count in restrictions(tables, AT_MOST_OF_CLASS):
        if count in counts:
            for of in objects_of(with_subject(tables[ON_CLASS], kind)).tolist():
                yield kind, name, of


def close_schema(tables: Tables) -> None:
    """The rules that speak of words alone (`scm-*`)."""
    same_things(tables)
    while True:
        found: Found = defaultdict(list)
        classes, properties = tables[SUB_CLASS], tables[SUB_PROPERTY]
        found[SUB_CLASS] += [join(classes, classes), *_both_ways(tables[EQUIVALENT_CLASS])]
        found[SUB_PROPERTY] += [join(properties, properties), *_both_ways(tables[EQUIVALENT_PROPERTY])]
        found[EQUIVALENT_CLASS].append(classes[is_in(swap(classes), classes)])
        found[EQUIVALENT_PROPERTY].append(properties[is_in(swap(properties), properties)])
        for predicate in (DOMAIN, RANGE):
            found[predicate] += [join(tables[predicate], classes), join(properties, tables[predicate])]
        declared = tables.members(CLASS)
        found[SUB_CLASS] += [
            pack(declared, declared),
            pack(declared, THING),
            pack(np.full_like(declared, NOTHING), declared),
        ]
        found[EQUIVALENT_CLASS].append(pack(declared, declared))
        for kind in (OBJECT_PROPERTY, DATATYPE_PROPERTY):
            declared = tables.members(kind)
            for predicate in (SUB_PROPERTY, EQUIVALENT_PROPERTY):
                found[predicate].append(pack(declared, declared))
        for kind, parts in lists_of(tables, INTERSECTION):
            found[SUB_CLASS].append(pack(np.full(len(parts), kind), parts))
        for kind, parts in lists_of(tables, UNION):
            found[SUB_CLASS].append(pack(parts, kind))
        _compare_restrictions(found, tables)
        if not tables.add(found).pairs:
            return


def _both_ways(pairs: Pairs) -> tuple[Pairs, Pairs]:
    return pairs, swap(pairs)


def _compare_restrictions(found: Found, tables: Tables) -> None:
    """A restriction is narrower than another if its filler is, or its property (`scm-svf`, `scm-avf`, `scm-hv`)."""
    for predicate in (SOME, ALL, VALUE):
        stated = list(restrictions(tables, predicate))
        by_property: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        by_filler: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for kind, name, filler in stated:
            by_property[name].append((kind, filler))
            by_filler[filler].append((kind, name))
        narrower = []
        if predicate != VALUE:
            narrower += _compared(by_property.values(), tables[SUB_CLASS])
        wider = _compared(by_filler.values(), tables[SUB_PROPERTY])
        # All values of the wider property is the narrower class.
        narrower += [(b, a) for a, b in wider] if predicate == ALL else wider
        if narrower:
            found[SUB_CLASS].append(pack(*zip(*narrower, strict=True)))


def _compared(groups: Iterable[list[tuple[int, int]]], order: Pairs) -> list[tuple[int, int]]:
    """In each group of classes with what tells them apart: the pairs of classes for which that is ordered."""
    below: list[tuple[int, int]] = []
    for group in groups:
        kinds_of: defaultdict[int, list[int]] = defaultdict(list)
        for kind, differs in group:
            kinds_of[differs].append(kind)
        for low in list(kinds_of):
            for high in objects_of(with_subject(order, low)).tolist():
                below += [(a, b) for a in kinds_of[low] for b in kinds_of.get(high, ())]
    return below


def same_things(tables: Tables) -> None:
    """`owl:sameAs`, made symmetric and transitive: within a group of equals everything is the same as everything."""
    parent: dict[int, int] = {}

    def root(term: int) -> int:
        while parent[term] != term:
            parent[term] = parent[parent[term]]
            term = parent[term]
        return term

    for a, b in listed(tables[SAME]):
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
        found[SAME].append(pack(np.repeat(group, len(group)), np.tile(group, len(group))))
    tables.add(found)


# -- the rules -----------------------------------------------------------------------------------
# Each adds to `found` what follows from `tables` of which something is in `new`, the part that the last round added.


def equality(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """What is said of a thing is said of all that is the same (`eq-rep-*`)."""
    if not len(schema.same):
        return
    for predicate, pairs in new.pairs.items():
        if predicate != SAME:
            found[predicate] += [_join(schema.same, pairs), _join(pairs, schema.same)]
    for predicate, other in listed(schema.same):
        if predicate in new.pairs:
            found[other].append(new[predicate])


def hierarchy(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Wider properties and wider classes (`prp-spo1`, `prp-eqp`, `cax-sco`, `cax-eqc`, `cls-int2`, `cls-uni`)."""
    for narrow, wide in schema.sub_property:
        if narrow in new.pairs:
            found[wide].append(new[narrow])
    found[TYPE].append(_join(new[TYPE], schema.sub_class))


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
            found[TYPE].append(pack(np.unique(subjects_of(new[name])), kind))
    for name, kind in schema.range:
        if name in new.pairs:
            found[TYPE].append(pack(np.unique(objects_of(new[name])), kind))


def identity(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """What must be the same thing (`prp-fp`, `prp-ifp`, `prp-key`, `cls-maxc2`, `cls-maxqc3`, `cls-maxqc4`)."""
    for name in schema.functional:
        if name in new.pairs:
            found[SAME].append(siblings(tables[name]))
    for name in schema.inverse_functional:
        if name in new.pairs:
            found[SAME].append(siblings(np.sort(swap(tables[name]))))
    for kind, name, of in schema.at_most_one:
        if name in new.pairs or TYPE in new.pairs:
            pairs = tables[name]
            pairs = pairs[is_in(subjects_of(pairs), tables.members(kind))]
            if of != THING:
                pairs = pairs[is_in(objects_of(pairs), tables.members(of))]
            found[SAME].append(siblings(pairs))
    for kind, names in schema.keys:
        if TYPE in new.pairs or not new.pairs.keys().isdisjoint(names):
            found[SAME].append(_sharing(tables, tables.members(kind), names))


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
        # Of each two, the values of the first that the second has too.
        numbers = np.arange(len(found), dtype=np.uint64)
        firsts = _join(pack(numbers, subjects_of(found)), pairs)
        seconds = pack(objects_of(found)[subjects_of(firsts).astype(np.intp)], objects_of(firsts))
        found = found[np.unique(subjects_of(firsts[is_in(seconds, pairs)])).astype(np.intp)]
    return found


def conditions(found: Found, schema: Schema, tables: Tables, new: Tables) -> None:
    """Classes by what their members have (`cls-int1`, `-svf*`, `-avf`, `-hv*`, `-oo`)."""
    for kind, parts in schema.intersections:
        if TYPE in new.pairs:
            members = tables.members(parts[0])
            for part in parts[1:]:
                members = members[is_in(members, tables.members(part))]
            found[TYPE].append(pack(members, kind))
    for kind, items in schema.enumerations:
        if new is tables:
            found[TYPE].append(pack(items, kind))
    for kind, name, filler in schema.some:
        if filler == THING:
            found[TYPE].append(pack(subjects_of(new[name]), kind))
        else:
            found[TYPE].append(pack(subjects_of(_between(tables, new, None, name, filler)), kind))
    for kind, name, filler in schema.all:
        found[TYPE].append(pack(objects_of(_between(tables, new, kind, name, None)), filler))
    for kind, name, value in schema.value:
        if TYPE in new.pairs:
            found[name].append(pack(new.members(kind), value))
        pairs = new[name]
        found[TYPE].append(pack(subjects_of(pairs[objects_of(pairs) == value]), kind))


def _between(tables: Tables, new: Tables, subject: int | None, name: int, item: int | None) -> Pairs:
    """The pairs of a property whose subject, or whose object, is of a class; the pair or that is new."""
    results = [_of_class(new[name], tables, subject, item)]
    if new is not tables and TYPE in new.pairs:
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
