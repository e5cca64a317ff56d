"""The closure under OWL RL, side by side with the rules as the tables print them, and what cannot both hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.operators.knowledge.closure import close
from presage.operators.knowledge.contradictions import contradictions
from presage.operators.knowledge.owl_terms import OWL, RDF, RDFS, WORDS, XSD
from presage.operators.knowledge.triples import Tables, objects_of, subjects_of
from reference.owl_rl import (
    DOMAIN,
    RULES,
    SAME,
    SUB_CLASS,
    SUB_PROPERTY,
    TYPE,
    Pairs,
    Term,
    Triple,
    Triples,
    closure,
    is_sayable,
    of_type,
    triples_of,
)

SPACES = {"": "http://x/", "rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
PREFIXES = "".join(f"@prefix {prefix}: <{space}> .\n" for prefix, space in SPACES.items())


def owl(name: str) -> ox.NamedNode:
    return ox.NamedNode(OWL + name)


def turtle(text: str) -> Triples:
    return triples_of(PREFIXES + text)


def numbered(triples: Triples) -> tuple[Tables, list[Term]]:
    numbers = dict(WORDS)
    terms: dict[str, Term] = {}
    rows = []
    for triple in sorted(triples, key=str):
        rows.append([numbers.setdefault(str(term), len(numbers)) for term in triple])
        terms |= {str(term): term for term in triple}
    columns = np.array(rows, np.uint64).reshape(-1, 3)
    spelled = [terms.get(word, ox.NamedNode(word[1:-1]) if word[0] == "<" else ox.Literal("")) for word in numbers]
    return Tables.of(columns[:, 0], columns[:, 1], columns[:, 2]), spelled


def closed(triples: Triples) -> Triples:
    tables, terms = numbered(triples)
    close(tables)
    found = set()
    for predicate, pairs in tables.pairs.items():
        for subject, item in zip(subjects_of(pairs).tolist(), objects_of(pairs).tolist(), strict=True):
            found.add((terms[subject], terms[predicate], terms[item]))
    return frozenset(filter(is_sayable, found))


# -- rules beyond those of the reference, as the tables print them ---------------------------------


def items_of(pairs: Pairs, head: Term) -> list[Term]:
    first, rest = dict(pairs[ox.NamedNode(RDF + "first")]), dict(pairs[ox.NamedNode(RDF + "rest")])
    items = []
    while head in first:
        items.append(first[head])
        head = rest[head]
    return items


def restricted(pairs: Pairs, word: str) -> Iterator[tuple[Term, Term, Term]]:
    for kind, filler in pairs[owl(word)]:
        for also, name in pairs[owl("onProperty")]:
            if also == kind:
                yield kind, name, filler


def prp_spo2(pairs: Pairs) -> Iterator[Triple]:
    for name, head in pairs[owl("propertyChainAxiom")]:
        paths = {(x, x) for part in pairs.values() for pair in part for x in pair}
        for step in items_of(pairs, head):
            paths = {(a, d) for a, b in paths for c, d in pairs.get(step, []) if b == c}
        yield from ((a, name, b) for a, b in paths)


def prp_key(pairs: Pairs) -> Iterator[Triple]:
    for kind, head in pairs[owl("hasKey")]:
        names = items_of(pairs, head)
        for x in of_type(pairs, kind):
            for y in of_type(pairs, kind):
                if all(
                    {o for s, o in pairs.get(p, []) if s == x} & {o for s, o in pairs.get(p, []) if s == y}
                    for p in names
                ):
                    yield x, SAME, y


def cls_int1(pairs: Pairs) -> Iterator[Triple]:
    for kind, head in pairs[owl("intersectionOf")]:
        members = [set(of_type(pairs, part)) for part in items_of(pairs, head)]
        if members:
            yield from ((x, TYPE, kind) for x in set.intersection(*members))


def cls_int2_and_scm_int(pairs: Pairs) -> Iterator[Triple]:
    for kind, head in pairs[owl("intersectionOf")]:
        for part in items_of(pairs, head):
            yield kind, SUB_CLASS, part
            yield from ((x, TYPE, part) for x in of_type(pairs, kind))


def cls_uni_and_scm_uni(pairs: Pairs) -> Iterator[Triple]:
    for kind, head in pairs[owl("unionOf")]:
        for part in items_of(pairs, head):
            yield part, SUB_CLASS, kind
            yield from ((x, TYPE, kind) for x in of_type(pairs, part))


def cls_oo(pairs: Pairs) -> Iterator[Triple]:
    return ((item, TYPE, kind) for kind, head in pairs[owl("oneOf")] for item in items_of(pairs, head))


def cls_svf(pairs: Pairs) -> Iterator[Triple]:
    for kind, name, filler in restricted(pairs, "someValuesFrom"):
        for u, v in pairs.get(name, []):
            if filler == owl("Thing") or v in of_type(pairs, filler):
                yield u, TYPE, kind


def cls_avf(pairs: Pairs) -> Iterator[Triple]:
    for kind, name, filler in restricted(pairs, "allValuesFrom"):
        yield from ((v, TYPE, filler) for u, v in pairs.get(name, []) if u in of_type(pairs, kind))


def cls_hv(pairs: Pairs) -> Iterator[Triple]:
    for kind, name, value in restricted(pairs, "hasValue"):
        yield from ((u, name, value) for u in of_type(pairs, kind))
        yield from ((u, TYPE, kind) for u, v in pairs.get(name, []) if v == value)


ONE = ox.Literal("1", datatype=ox.NamedNode(XSD + "nonNegativeInteger"))
ZERO = ox.Literal("0", datatype=ox.NamedNode(XSD + "nonNegativeInteger"))


def cls_max(pairs: Pairs) -> Iterator[Triple]:
    for word in ("maxCardinality", "maxQualifiedCardinality"):
        for kind, name, count in restricted(pairs, word):
            fillers = [owl("Thing")] if word == "maxCardinality" else [c for x, c in pairs[owl("onClass")] if x == kind]
            for filler in fillers if count == ONE else []:
                for u in of_type(pairs, kind):
                    values = [v for x, v in pairs.get(name, []) if x == u]
                    if filler != owl("Thing"):
                        values = [v for v in values if v in of_type(pairs, filler)]
                    yield from ((v, SAME, w) for v in values for w in values)


def scm_cls(pairs: Pairs) -> Iterator[Triple]:
    for kind in of_type(pairs, owl("Class")):
        yield kind, SUB_CLASS, kind
        yield kind, owl("equivalentClass"), kind
        yield kind, SUB_CLASS, owl("Thing")
        yield owl("Nothing"), SUB_CLASS, kind


def scm_op_and_dp(pairs: Pairs) -> Iterator[Triple]:
    for word in ("ObjectProperty", "DatatypeProperty"):
        for name in of_type(pairs, owl(word)):
            yield name, SUB_PROPERTY, name
            yield name, owl("equivalentProperty"), name


def scm_restrictions(pairs: Pairs) -> Iterator[Triple]:
    below, names_below = set(pairs[SUB_CLASS]), set(pairs[SUB_PROPERTY])
    for word in ("someValuesFrom", "allValuesFrom", "hasValue"):
        stated = list(restricted(pairs, word))
        for first, p, y in stated:
            for second, q, z in stated:
                if word != "hasValue" and p == q and (y, z) in below:
                    yield first, SUB_CLASS, second
                if y == z and (p, q) in names_below:
                    yield (second, SUB_CLASS, first) if word == "allValuesFrom" else (first, SUB_CLASS, second)


MORE = (
    *(
        prp_spo2,
        prp_key,
        cls_int1,
        cls_int2_and_scm_int,
        cls_uni_and_scm_uni,
        cls_oo,
        cls_svf,
        cls_avf,
        cls_hv,
        cls_max,
    ),
    *(scm_cls, scm_op_and_dp, scm_restrictions),
)


def but_reflexive(triples: Triples) -> Triples:
    """Without `x owl:sameAs x`: our rules say so of few things, the tables of all."""
    return frozenset(triple for triple in triples if not (triple[1] == SAME and triple[0] == triple[2]))


# -- side by side ----------------------------------------------------------------------------------

THINGS = [ox.NamedNode(f"http://x/{name}") for name in ("a", "b", "c", "d")]
NAMES = [ox.NamedNode(f"http://x/{name}") for name in ("p", "q", "r")]
KINDS = [ox.NamedNode(f"http://x/{name}") for name in ("A", "B", "C")]
LITERALS = [ox.Literal("1"), ox.Literal("x", language="en")]
thing, name, kind = (st.sampled_from(some) for some in (THINGS, NAMES, KINDS))
meta = st.sampled_from(
    [owl(f"{word}Property") for word in ("Transitive", "Symmetric", "Functional", "InverseFunctional", "Object")]
)
unnamed = st.sampled_from([ox.BlankNode("u"), ox.BlankNode("v")])
fact = st.one_of(
    st.tuples(thing, name, st.one_of(thing, thing, thing, st.sampled_from(LITERALS))),
    st.tuples(thing, st.just(TYPE), st.one_of(kind, unnamed)),
)
axiom = st.one_of(
    st.tuples(name, st.sampled_from([SUB_PROPERTY, owl("equivalentProperty"), owl("inverseOf")]), name),
    st.tuples(kind, st.sampled_from([SUB_CLASS, owl("equivalentClass")]), st.one_of(kind, unnamed)),
    st.tuples(name, st.sampled_from([DOMAIN, ox.NamedNode(RDFS + "range")]), kind),
    st.tuples(name, st.just(TYPE), meta),
    st.tuples(st.one_of(thing, name, kind), st.just(SAME), st.one_of(thing, name, kind)),
    st.tuples(kind, st.just(TYPE), st.just(owl("Class"))),
)
restriction = st.one_of(
    st.tuples(unnamed, st.just(owl("onProperty")), name),
    st.tuples(unnamed, st.just(owl("onClass")), kind),
    st.tuples(
        unnamed, st.sampled_from([owl("someValuesFrom"), owl("allValuesFrom")]), st.one_of(kind, st.just(owl("Thing")))
    ),
    st.tuples(unnamed, st.just(owl("hasValue")), st.one_of(thing, st.sampled_from(LITERALS))),
    st.tuples(unnamed, st.sampled_from([owl("maxCardinality"), owl("maxQualifiedCardinality")]), st.just(ONE)),
)


@st.composite
def listing(draw: st.DrawFn) -> list[Triple]:
    """An axiom with a list."""
    subject, word, items = draw(
        st.one_of(
            st.tuples(name, st.just("propertyChainAxiom"), st.lists(name, min_size=1, max_size=3)),
            st.tuples(kind, st.just("hasKey"), st.lists(name, min_size=1, max_size=2)),
            st.tuples(kind, st.sampled_from(["intersectionOf", "unionOf"]), st.lists(kind, min_size=1, max_size=2)),
            st.tuples(kind, st.just("oneOf"), st.lists(thing, min_size=1, max_size=2)),
        )
    )
    nodes: list[Term] = [
        ox.BlankNode(f"{word}{subject.value[-1]}{place}{len(items)}{hash(tuple(items)) % 1000}")
        for place in range(len(items))
    ]
    triples: list[Triple] = [(subject, owl(word), nodes[0])]
    for place, item in enumerate(items):
        rest = nodes[place + 1] if place + 1 < len(items) else ox.NamedNode(RDF + "nil")
        triples += [(nodes[place], ox.NamedNode(RDF + "first"), item), (nodes[place], ox.NamedNode(RDF + "rest"), rest)]
    return triples


@given(st.lists(fact, min_size=1, max_size=6), st.lists(axiom, max_size=4))
def test_the_closure_is_what_the_rules_give(facts: list[Triple], axioms: list[Triple]) -> None:
    triples = frozenset([*facts, *axioms])
    assert but_reflexive(closed(triples)) == but_reflexive(closure(triples, [*RULES, *MORE]))


@given(
    st.lists(fact, min_size=1, max_size=5),
    st.lists(axiom, max_size=2),
    st.lists(restriction, max_size=4),
    st.lists(listing(), max_size=2),
)
def test_the_closure_is_what_the_rules_of_classes_give(
    facts: list[Triple], axioms: list[Triple], restrictions: list[Triple], listings: list[list[Triple]]
) -> None:
    triples = frozenset([*facts, *axioms, *restrictions, *(triple for triples in listings for triple in triples)])
    assert but_reflexive(closed(triples)) == but_reflexive(closure(triples, [*RULES, *MORE]))


@pytest.mark.parametrize(
    ("stated", "inferred"),
    [
        (":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :a a :A .", ":a a :C . :A rdfs:subClassOf :C ."),
        (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r . :a :p 1 .", ":a :r 1 . :p rdfs:subPropertyOf :r ."),
        (":p owl:inverseOf :q . :a :p :b . :c :q :d .", ":b :q :a . :d :p :c ."),
        (":p a owl:TransitiveProperty . :a :p :b . :b :p :c . :c :p :d .", ":a :p :d ."),
        (":p a owl:SymmetricProperty . :a :p :b .", ":b :p :a ."),
        (":a owl:sameAs :b . :b owl:sameAs :c . :a :p :x . :y :q :c .", ":c :p :x . :y :q :a . :c owl:sameAs :a ."),
        (":p owl:sameAs :q . :a :p :b .", ":a :q :b ."),
        (":A owl:equivalentClass :B . :a a :A . :b a :B .", ":a a :B . :b a :A . :A rdfs:subClassOf :B ."),
        (":p owl:equivalentProperty :q . :a :p :b . :c :q :d .", ":a :q :b . :c :p :d ."),
        (":p rdfs:domain :A ; rdfs:range :B . :a :p :b .", ":a a :A . :b a :B ."),
        (":p a owl:InverseFunctionalProperty . :a :p :x . :b :p :x . :a :q :y .", ":b :q :y ."),
        (":p owl:propertyChainAxiom ( :q :r ) . :a :q :b . :b :r :c .", ":a :p :c ."),
        (
            ":A owl:equivalentClass [ owl:onProperty :p ; owl:hasValue :v ] . :a :p :v . :b a :A .",
            ":a a :A . :b :p :v .",
        ),
        (":A a owl:Class . :a a :A .", ":a a owl:Thing . :A rdfs:subClassOf :A ."),
    ],
)
def test_each_word_says_what_it_means(stated: str, inferred: str) -> None:
    assert turtle(inferred) <= closed(turtle(stated))


def test_an_inverse_functional_property_merges_only_what_shares_a_value() -> None:
    stated = turtle(":p a owl:InverseFunctionalProperty . :a :p :b . :b :p :c .")
    assert {triple for triple in closed(stated) if triple[1].value.startswith("http://x/")} == {
        triple for triple in stated if triple[1].value.startswith("http://x/")
    }
    assert but_reflexive(closed(stated)) == but_reflexive(closure(stated, [*RULES, *MORE]))


def test_a_long_chain_is_closed_in_few_rounds() -> None:
    links = "".join(f":n{i} :p :n{i + 1} . " for i in range(300))
    found = closed(turtle(f":p a owl:TransitiveProperty . {links}"))
    assert sum(triple[1] == ox.NamedNode("http://x/p") for triple in found) == 300 * 301 // 2


# -- what cannot both hold -------------------------------------------------------------------------


def contradictions_of(text: str) -> list[str]:
    tables, terms = numbered(turtle(text))
    close(tables)
    return [str(found) for found in contradictions(tables, [str(term) for term in terms], 10)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ":A owl:disjointWith :B . :C rdfs:subClassOf :B . :a a :A, :C .",
            "<http://x/a> a <http://x/A> and <http://x/a> a <http://x/B>, "
            "but the classes have no common member (owl:disjointWith)",
        ),
        ("[] a owl:AllDisjointClasses ; owl:members ( :A :B :C ) . :a a :C, :A .", "(owl:AllDisjointClasses)"),
        (":A owl:complementOf :B . :a a :A, :B .", "(owl:complementOf)"),
        (
            ":A rdfs:subClassOf owl:Nothing . :a a :A .",
            "<http://x/a> a <http://x/A> and <http://x/A> rdfs:subClassOf owl:Nothing",
        ),
        (":a owl:differentFrom :b ; owl:sameAs :b .", "<http://x/a> owl:sameAs <http://x/b>"),
        ("[] a owl:AllDifferent ; owl:members ( :a :b ) . :b owl:sameAs :a .", "(owl:AllDifferent)"),
        (":p a owl:AsymmetricProperty . :a :p :b . :b :p :a .", "is an owl:AsymmetricProperty"),
        (":p a owl:IrreflexiveProperty . :a :p :a .", "<http://x/a> <http://x/p> <http://x/a>"),
        (":p owl:propertyDisjointWith :q . :a :p :b ; :q :b .", "<http://x/a> <http://x/q> <http://x/b>"),
        (
            "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . :a :p :b .",
            "it denies that",
        ),
        (
            ':A owl:maxCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty :p . :a a :A ; :p :b .',
            "a cardinality of 0",
        ),
        (":p a owl:FunctionalProperty . :a :p 1, 2 .", "<http://x/p> has one value at most"),
    ],
)
def test_two_facts_that_cannot_both_hold_are_named(text: str, message: str) -> None:
    assert any(message in found for found in contradictions_of(text)), contradictions_of(text)


@pytest.mark.parametrize(
    "text",
    [
        ":A owl:disjointWith :B . :C rdfs:subClassOf :A, :B . :a a :A .",
        ":p a owl:FunctionalProperty . :a :p 1, 01 .",
        ":p a owl:FunctionalProperty . :a :p :b, :c .",
        ":p a owl:AsymmetricProperty . :a :p :b .",
        ":A a owl:Class, :B . :B a owl:Class . :b a :A . :p a :B, owl:ObjectProperty .",
    ],
)
def test_what_can_hold_is_no_contradiction(text: str) -> None:
    assert contradictions_of(text) == []
