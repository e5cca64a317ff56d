"""The closure of a set of triples under OWL RL: the rules as the tables print them, until nothing new comes.

A triple is a tuple of three pyoxigraph terms. The rules are those of OWL 2 Profiles, section 4.3, for the terms
supported; each says in its name which row it is. Slow and meant to be: each rule looks at all triples in every round.
On the way a literal may be a subject, as the tables have it: what is then said of it cannot be written in RDF and is
left out at the end, but an IRI may have got something by it.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyoxigraph as ox
import reasonable

Term = ox.NamedNode | ox.BlankNode | ox.Literal
Triple = tuple[Term, Term, Term]
Triples = frozenset[Triple]
Pairs = dict[Term, list[tuple[Term, Term]]]  # A predicate's pairs of subject and object.
Rule = Callable[[Pairs], Iterator[Triple]]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"

TYPE = ox.NamedNode(RDF + "type")
SUB_CLASS = ox.NamedNode(RDFS + "subClassOf")
SUB_PROPERTY = ox.NamedNode(RDFS + "subPropertyOf")
DOMAIN = ox.NamedNode(RDFS + "domain")
RANGE = ox.NamedNode(RDFS + "range")
EQUIVALENT_CLASS = ox.NamedNode(OWL + "equivalentClass")
EQUIVALENT_PROPERTY = ox.NamedNode(OWL + "equivalentProperty")
INVERSE = ox.NamedNode(OWL + "inverseOf")
SAME = ox.NamedNode(OWL + "sameAs")
TRANSITIVE = ox.NamedNode(OWL + "TransitiveProperty")
SYMMETRIC = ox.NamedNode(OWL + "SymmetricProperty")
FUNCTIONAL = ox.NamedNode(OWL + "FunctionalProperty")
INVERSE_FUNCTIONAL = ox.NamedNode(OWL + "InverseFunctionalProperty")
THING = ox.NamedNode(OWL + "Thing")


def triples_of(text: str, form: ox.RdfFormat = ox.RdfFormat.TURTLE) -> Triples:
    """What an RDF text says."""
    return frozenset((quad.subject, quad.predicate, quad.object) for quad in ox.parse(text, form))


def closure(triples: Iterable[Triple], rules: Iterable[Rule] | None = None) -> Triples:
    """The triples and all that the rules add to them."""
    rules = RULES if rules is None else tuple(rules)
    known = set(triples)
    while True:
        pairs: Pairs = defaultdict(list)
        for subject, predicate, item in known:
            pairs[predicate].append((subject, item))
        added = {triple for rule in rules for triple in rule(pairs)} - known
        if not added:
            return frozenset(filter(is_sayable, known))
        known |= added


def is_sayable(triple: Triple) -> bool:
    subject, predicate, _ = triple
    return not isinstance(subject, ox.Literal) and isinstance(predicate, ox.NamedNode)


def everything(pairs: Pairs) -> Iterator[Triple]:
    # As a list, for a lookup of a predicate that has no pair makes an entry.
    for predicate in list(pairs):
        for subject, item in pairs[predicate]:
            yield subject, predicate, item


def of_type(pairs: Pairs, kind: Term) -> list[Term]:
    return [subject for subject, item in pairs[TYPE] if item == kind]


# -- equality -----------------------------------------------------------------------------------------


def eq_sym(pairs: Pairs) -> Iterator[Triple]:
    return ((y, SAME, x) for x, y in pairs[SAME])


def eq_trans(pairs: Pairs) -> Iterator[Triple]:
    return chained(pairs, SAME)


def eq_rep_s(pairs: Pairs) -> Iterator[Triple]:
    return ((new, p, o) for old, new in pairs[SAME] for s, p, o in everything(pairs) if s == old)


def eq_rep_p(pairs: Pairs) -> Iterator[Triple]:
    return ((s, new, o) for old, new in pairs[SAME] for s, o in pairs.get(old, []))


def eq_rep_o(pairs: Pairs) -> Iterator[Triple]:
    return ((s, p, new) for old, new in pairs[SAME] for s, p, o in everything(pairs) if o == old)


# -- properties ---------------------------------------------------------------------------------------


def prp_dom(pairs: Pairs) -> Iterator[Triple]:
    return ((s, TYPE, kind) for p, kind in pairs[DOMAIN] for s, _ in pairs.get(p, []))


def prp_rng(pairs: Pairs) -> Iterator[Triple]:
    return ((o, TYPE, kind) for p, kind in pairs[RANGE] for _, o in pairs.get(p, []))


def prp_fp(pairs: Pairs) -> Iterator[Triple]:
    for p in of_type(pairs, FUNCTIONAL):
        yield from ((a, SAME, b) for x, a in pairs.get(p, []) for y, b in pairs.get(p, []) if x == y)


def prp_ifp(pairs: Pairs) -> Iterator[Triple]:
    for p in of_type(pairs, INVERSE_FUNCTIONAL):
        yield from ((x, SAME, y) for x, a in pairs.get(p, []) for y, b in pairs.get(p, []) if a == b)


def prp_symp(pairs: Pairs) -> Iterator[Triple]:
    return ((o, p, s) for p in of_type(pairs, SYMMETRIC) for s, o in pairs.get(p, []))


def prp_trp(pairs: Pairs) -> Iterator[Triple]:
    for p in of_type(pairs, TRANSITIVE):
        yield from chained(pairs, p)


def prp_spo1(pairs: Pairs) -> Iterator[Triple]:
    return ((s, above, o) for p, above in pairs[SUB_PROPERTY] for s, o in pairs.get(p, []))


def prp_eqp1(pairs: Pairs) -> Iterator[Triple]:
    return ((s, q, o) for p, q in pairs[EQUIVALENT_PROPERTY] for s, o in pairs.get(p, []))


def prp_eqp2(pairs: Pairs) -> Iterator[Triple]:
    return ((s, p, o) for p, q in pairs[EQUIVALENT_PROPERTY] for s, o in pairs.get(q, []))


def prp_inv1(pairs: Pairs) -> Iterator[Triple]:
    return ((o, q, s) for p, q in pairs[INVERSE] for s, o in pairs.get(p, []))


def prp_inv2(pairs: Pairs) -> Iterator[Triple]:
    return ((o, p, s) for p, q in pairs[INVERSE] for s, o in pairs.get(q, []))


# -- classes ------------------------------------------------------------------------------------------


def cax_sco(pairs: Pairs) -> Iterator[Triple]:
    return ((x, TYPE, above) for kind, above in pairs[SUB_CLASS] for x in of_type(pairs, kind))


def cax_eqc1(pairs: Pairs) -> Iterator[Triple]:
    return ((x, TYPE, b) for a, b in pairs[EQUIVALENT_CLASS] for x in of_type(pairs, a))


def cax_eqc2(pairs: Pairs) -> Iterator[Triple]:
    return ((x, TYPE, a) for a, b in pairs[EQUIVALENT_CLASS] for x in of_type(pairs, b))


# -- the schema itself --------------------------------------------------------------------------------


def scm_sco(pairs: Pairs) -> Iterator[Triple]:
    return chained(pairs, SUB_CLASS)


def scm_spo(pairs: Pairs) -> Iterator[Triple]:
    return chained(pairs, SUB_PROPERTY)


def scm_eqc1(pairs: Pairs) -> Iterator[Triple]:
    return both_ways(pairs, EQUIVALENT_CLASS, SUB_CLASS)


def scm_eqc2(pairs: Pairs) -> Iterator[Triple]:
    return ((a, EQUIVALENT_CLASS, b) for a, b in pairs[SUB_CLASS] if (b, a) in pairs[SUB_CLASS])


def scm_eqp1(pairs: Pairs) -> Iterator[Triple]:
    return both_ways(pairs, EQUIVALENT_PROPERTY, SUB_PROPERTY)


def scm_eqp2(pairs: Pairs) -> Iterator[Triple]:
    return ((p, EQUIVALENT_PROPERTY, q) for p, q in pairs[SUB_PROPERTY] if (q, p) in pairs[SUB_PROPERTY])


def scm_dom1(pairs: Pairs) -> Iterator[Triple]:
    return ((p, DOMAIN, above) for p, kind in pairs[DOMAIN] for a, above in pairs[SUB_CLASS] if a == kind)


def scm_dom2(pairs: Pairs) -> Iterator[Triple]:
    return ((below, DOMAIN, kind) for p, kind in pairs[DOMAIN] for below, q in pairs[SUB_PROPERTY] if q == p)


def scm_rng1(pairs: Pairs) -> Iterator[Triple]:
    return ((p, RANGE, above) for p, kind in pairs[RANGE] for a, above in pairs[SUB_CLASS] if a == kind)


def scm_rng2(pairs: Pairs) -> Iterator[Triple]:
    return ((below, RANGE, kind) for p, kind in pairs[RANGE] for below, q in pairs[SUB_PROPERTY] if q == p)


def chained(pairs: Pairs, predicate: Term) -> Iterator[Triple]:
    pairs_of_it = pairs.get(predicate, [])
    return ((x, predicate, z) for x, y in pairs_of_it for also_y, z in pairs_of_it if y == also_y)


def both_ways(pairs: Pairs, equivalent: Term, below: Term) -> Iterator[Triple]:
    for a, b in pairs[equivalent]:
        yield a, below, b
        yield b, below, a


# What is said of things, and what is said of the words themselves. The first alone gives every fact that both give;
# the second are needed by who asks for the words.
OF_THINGS: tuple[Rule, ...] = (
    *(eq_sym, eq_trans, eq_rep_s, eq_rep_p, eq_rep_o),
    *(prp_dom, prp_rng, prp_fp, prp_ifp, prp_symp, prp_trp, prp_spo1, prp_eqp1, prp_eqp2, prp_inv1, prp_inv2),
    *(cax_sco, cax_eqc1, cax_eqc2),
)
OF_WORDS: tuple[Rule, ...] = (
    *(scm_sco, scm_spo, scm_eqc1, scm_eqc2, scm_eqp1, scm_eqp2),
    *(scm_dom1, scm_dom2, scm_rng1, scm_rng2),
)
RULES = OF_THINGS + OF_WORDS


# -- the reasoner that the engine uses ---------------------------------------------------------------


def reasoned(triples: Iterable[Triple]) -> Triples:
    """The closure by `reasonable`, together with what was stated.

    Its answers are RDFLib's terms, which spell literals and blank nodes anew: `05` comes back as `5`. No rule looks
    inside them, so blank nodes go in as IRIs and literals as numbered strings, and come out as what they were.
    """
    stated = frozenset(triples)
    back: dict[Term, Term] = {}
    for term in sorted({term for triple in stated for term in triple}, key=str):
        if isinstance(term, ox.BlankNode):
            back[ox.NamedNode(f"urn:unnamed:{len(back)}")] = term
        elif isinstance(term, ox.Literal):
            back[ox.Literal(f"literal {len(back)}")] = term
    there = {term: stand_in for stand_in, term in back.items()}
    text = "".join(" ".join(str(there.get(term, term)) for term in triple) + " .\n" for triple in stated)
    reasoner = reasonable.PyReasoner()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stated.ttl"
        file.write_text(text)
        reasoner.load_file(str(file))
    said = "".join(" ".join(term.n3() for term in triple) + " .\n" for triple in reasoner.reason())
    inferred = triples_of(said, ox.RdfFormat.N_TRIPLES)
    return stated | {(back.get(s, s), p, back.get(o, o)) for s, p, o in inferred}
