"""Numbers of the RDF, RDFS and OWL terms that the rules use: the first terms of every numbered graph."""

from __future__ import annotations

from presage.operators.knowledge.namespaces import RDF, XSD

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"

WORDS: dict[str, int] = {}  # by their spellings in N-Triples


def _number(spelling: str) -> int:
    return WORDS.setdefault(spelling, len(WORDS))


def _numbers(space: str, *names: str) -> list[int]:
    return [_number(f"<{space}{name}>") for name in names]


TYPE, FIRST, REST, NIL = _numbers(RDF, "type", "first", "rest", "nil")
SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE = _numbers(RDFS, "subClassOf", "subPropertyOf", "domain", "range")

SAME, DIFFERENT, ALL_DIFFERENT = _numbers(OWL, "sameAs", "differentFrom", "AllDifferent")
THING, NOTHING, CLASS = _numbers(OWL, "Thing", "Nothing", "Class")
EQUIVALENT_CLASS, DISJOINT, COMPLEMENT = _numbers(OWL, "equivalentClass", "disjointWith", "complementOf")
ALL_DISJOINT, ALL_DISJOINT_PROPERTIES = _numbers(OWL, "AllDisjointClasses", "AllDisjointProperties")
MEMBERS, DISTINCT_MEMBERS = _numbers(OWL, "members", "distinctMembers")
INTERSECTION, UNION, ONE_OF = _numbers(OWL, "intersectionOf", "unionOf", "oneOf")

OBJECT_PROPERTY, DATATYPE_PROPERTY = _numbers(OWL, "ObjectProperty", "DatatypeProperty")
TRANSITIVE, SYMMETRIC, ASYMMETRIC, IRREFLEXIVE, FUNCTIONAL, INVERSE_FUNCTIONAL = _numbers(
    OWL,
    *("TransitiveProperty", "SymmetricProperty", "AsymmetricProperty", "IrreflexiveProperty"),
    *("FunctionalProperty", "InverseFunctionalProperty"),
)
EQUIVALENT_PROPERTY, DISJOINT_PROPERTY, INVERSE = _numbers(
    OWL, "equivalentProperty", "propertyDisjointWith", "inverseOf"
)
CHAIN, KEY = _numbers(OWL, "propertyChainAxiom", "hasKey")

ON_PROPERTY, ON_CLASS, SOME, ALL, VALUE = _numbers(
    OWL, "onProperty", "onClass", "someValuesFrom", "allValuesFrom", "hasValue"
)
AT_MOST, AT_MOST_OF_CLASS = _numbers(OWL, "maxCardinality", "maxQualifiedCardinality")
SOURCE, ASSERTION, TARGET, TARGET_VALUE = _numbers(
    OWL, "sourceIndividual", "assertionProperty", "targetIndividual", "targetValue"
)

_COUNTS = ("nonNegativeInteger", "integer")  # the datatypes of a cardinality
ZERO, ONE = (frozenset(_number(f'"{count}"^^<{XSD}{kind}>') for kind in _COUNTS) for count in (0, 1))
