"""Semantic events, PATHs and the OWL RL closure of the reference, against answers worked out by hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import event, given, settings

from presage.lang import parse
from property.knowledge_worlds import (
    DECLARATION,
    PREFIXES,
    RARE,
    Choice,
    Ontology,
    World,
    joined,
    ontologies,
    path_of,
    smallest,
    world_of,
    worlds,
)
from reference.owl_rl import OWL, RDF, RDFS, Triples, closure, reasoned, triples_of
from reference.semantic_events import (
    EVENT,
    XSD,
    And,
    Attribute,
    Compared,
    Constant,
    IsNull,
    Not,
    Or,
    Path,
    attributes_for,
    condition_text,
    holds,
    semantic_graph,
    solutions,
    truth,
    unknown_entities,
)

CAMPUS = {
    "bd": "http://cei.usc.edu/Building.owl#",
    "ee": "http://cei.usc.edu/Equipment.owl#",
    "hvc": "http://cei.usc.edu/HVAC.owl#",
    "org": "http://cei.usc.edu/Organization.owl#",
    "evt": "http://cei.usc.edu/Event.owl#",
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
    "xsd": XSD,
}


def turtle(text: str) -> Triples:
    return triples_of("".join(f"@prefix {name}: <{iri}> .\n" for name, iri in CAMPUS.items()) + text)


def node(name: str) -> ox.NamedNode:
    prefix, _, local = name.partition(":")
    return ox.NamedNode(CAMPUS[prefix] + local)


def context(**terms: Any) -> str:
    """A context with the prefixes of the campus. `base` and `vocab` are its @base and @vocab."""
    words = {f"@{name}": terms.pop(name) for name in ("base", "vocab") if name in terms}
    return json.dumps({"@context": {**{k: v for k, v in CAMPUS.items() if k != "rdf"}, **words, **terms}})


def short_triples(
    values: dict[str, Any], context_text: str, known: str = "", stream: str = "AirflowReport"
) -> set[str]:
    """An event's triples but for its node, written short: `evt:hasSource ee:D1`. What is said to it has a `^`."""
    found = set()
    for s, p, o in semantic_graph(values, stream, context_text, closure(turtle(known))):
        other, sign = (o, "") if s == EVENT else (s, "^")
        found.add(f"{sign}{brief(p)} {brief(other)}")
    return found


def brief(term: Any) -> str:
    text = str(term)
    for name, iri in CAMPUS.items():
        if iri in text:
            text = text.replace(f"<{iri}", f"{name}:").replace(">", "")
    return text


# -- the paper's example ------------------------------------------------------------------------------

KNOWN = turtle("""
    ee:D105VOLUME a ee:AirflowSensor ; bd:hasLocation bd:RTH105 .
    ee:D106VOLUME a ee:AirflowSensor ; bd:hasLocation bd:RTH106 .
    ee:D107TEMP a ee:TemperatureSensor ; bd:hasLocation bd:RTH105 .
    bd:RTH105 a bd:Office ; bd:belongsTo org:EEDepartment ; bd:inBuilding bd:RTH .
    bd:RTH106 a bd:MeetingRoom ; bd:belongsTo org:EEDepartment .
    hvc:GreenOfficeAirflow hvc:hasValue 500 .
""")
AIRFLOW = context(
    sensorID={"@id": "evt:hasSource", "@type": "@vocab"},
    flowrate="hvc:airflow",
    time="evt:hasTime",
    AirflowReport="evt:AirflowReport",
    D105VOL="ee:D105VOLUME",
    D106VOL="ee:D106VOLUME",
    D107="ee:D107TEMP",
)
QUERY_4 = """?e evt:hasSource ?src . ?src rdf:type ee:AirflowSensor . ?src bd:hasLocation ?loc .
             ?loc rdf:type bd:Office . ?loc bd:belongsTo org:EEDepartment"""
QUERY_5 = QUERY_4 + " . ?e hvc:airflow ?rate . hvc:GreenOfficeAirflow hvc:hasValue ?gaf . FILTER (?rate > ?gaf)"
QUERY_7 = """?e1 evt:hasSource ?src1 . ?src1 rdf:type ee:AirflowSensor . ?src1 bd:hasLocation ?loc1 .
             ?loc1 rdf:type bd:MeetingRoom .
             ?e2 evt:hasSource ?src2 . ?src2 rdf:type ee:AirflowSensor . ?src2 bd:hasLocation ?loc2 .
             ?loc2 rdf:type bd:MeetingRoom"""


def report(sensor: str | None, rate: float | None) -> tuple[dict[str, Any], str, str]:
    return {"sensorID": sensor, "flowrate": rate, "time": datetime(2012, 5, 4, 9, 30)}, "AirflowReport", AIRFLOW


def test_the_event_of_figure_2() -> None:
    values, stream, text = report("D105VOL", 510.0)
    assert {f"{brief(p)} {brief(o)}" for _, p, o in semantic_graph(values, stream, text, KNOWN)} == {
        "evt:hasSource ee:D105VOLUME",
        'hvc:airflow "510.0"^^xsd:double',
        'evt:hasTime "2012-05-04T09:30:00Z"^^xsd:dateTime',
        "rdf:type evt:AirflowReport",
    }


@pytest.mark.parametrize(
    ("sensor", "rate", "query_4", "query_5"),
    [
        ("D105VOL", 510.0, True, True),
        ("D105VOL", 500.0, True, False),  # An office, but not above what is green.
        ("D105VOL", math.nan, True, False),  # NaN is not above anything in SPARQL.
        ("D105VOL", math.inf, True, True),
        ("D105VOL", None, True, False),
        ("D106VOL", 510.0, False, False),  # A meeting room.
        ("D107", 510.0, False, False),  # No airflow sensor.
        ("D999VOL", 510.0, False, False),  # Nobody knows it.
        (None, 510.0, False, False),
    ],
)
def test_queries_4_and_5(sensor: str | None, rate: float | None, query_4: bool, query_5: bool) -> None:
    events = {"e": report(sensor, rate)}
    assert holds(QUERY_4, CAMPUS, events, KNOWN) is query_4
    assert holds(QUERY_5, CAMPUS, events, KNOWN) is query_5


def test_query_7_speaks_of_two_events() -> None:
    def both(first: str, second: str) -> bool:
        return holds(QUERY_7, CAMPUS, {"e1": report(first, 510.0), "e2": report(second, 570.0)}, KNOWN)

    assert both("D106VOL", "D106VOL")
    assert not both("D106VOL", "D105VOL")
    assert not both("D105VOL", "D106VOL")


def test_variables_of_a_path_are_columns_of_distinct_solutions() -> None:
    events = {"e": report("D105VOL", 510.0)}
    assert solutions(QUERY_5, CAMPUS, events, KNOWN, ["loc", "rate"]) == {
        (node("bd:RTH105"), ox.Literal("510", datatype=node("xsd:double")))
    }
    where = "?e evt:hasSource ?src . ?src bd:hasLocation ?loc OPTIONAL { ?loc bd:inBuilding ?hall }"
    assert solutions(where, CAMPUS, {"e": report("D106VOL", 1.0)}, KNOWN, ["loc", "hall"]) == {
        (node("bd:RTH106"), None)
    }


# -- what an event says: each rule --------------------------------------------------------------------

D1 = "ee:D1 a ee:Sensor . ee:D2 a ee:Sensor ."
SOURCE = {"@id": "evt:hasSource", "@type": "@id"}
WORD = {"@id": "evt:hasSource", "@type": "@vocab"}


def test_an_attribute_that_the_context_does_not_map_says_nothing() -> None:
    assert short_triples({"x": 1.0, "y": 2.0}, context(x="hvc:airflow")) == {'hvc:airflow "1.0"^^xsd:double'}
    assert semantic_graph({"x": 1.0}, "AirflowReport", None, frozenset()) == frozenset()


def test_a_vocabulary_maps_every_name_that_the_context_does_not_deny() -> None:
    text = context(vocab=CAMPUS["hvc"], y=None)
    assert short_triples({"x": True, "y": True}, text) == {'hvc:x "true"^^xsd:boolean', "rdf:type hvc:AirflowReport"}


def test_a_null_says_nothing() -> None:
    assert short_triples({"x": None, "k": None}, context(x="hvc:airflow", k=SOURCE), D1) == set()


def test_an_array_says_each_of_its_elements() -> None:
    text = context(x="hvc:airflow", k=SOURCE)
    assert short_triples({"x": [1, None, 2], "k": ["ee:D1", "ee:D2", "ee:D3", None]}, text, D1) == {
        'hvc:airflow "1"^^xsd:integer',
        'hvc:airflow "2"^^xsd:integer',
        "evt:hasSource ee:D1",
        "evt:hasSource ee:D2",
    }
    assert short_triples({"x": []}, text) == set()


@pytest.mark.parametrize(
    "value", ["ee:D1", CAMPUS["ee"] + "D1", "#D1", "../Equipment.owl#D1"], ids=["compact", "absolute", "relative", "up"]
)
def test_an_identifier_is_compact_absolute_or_relative_to_the_base(value: str) -> None:
    text = context(base=CAMPUS["ee"].removesuffix("#"), k=SOURCE)
    assert short_triples({"k": value}, text, D1) == {"evt:hasSource ee:D1"}


@pytest.mark.parametrize("value", ["D1", "", "a b", "_:b", "zz:D1", "@id"])
def test_an_identifier_that_leads_nowhere_says_nothing(value: str) -> None:
    # A term of the context is none for an identifier; a blank node is nobody that the knowledge speaks of.
    known = D1 + "_:b a ee:Sensor ."
    assert short_triples({"k": value}, context(k=SOURCE, D1="ee:D1"), known) == set()


def test_a_word_is_a_term_of_the_context_first_and_else_part_of_the_vocabulary() -> None:
    text = context(vocab=CAMPUS["ee"], k=WORD, D1="ee:D2", AirflowReport=None)
    assert short_triples({"k": "D1"}, text, D1) == {"evt:hasSource ee:D2"}
    assert short_triples({"k": "D2"}, text, D1) == {"evt:hasSource ee:D2"}
    assert short_triples({"k": "ee:D1"}, text, D1) == {"evt:hasSource ee:D1"}
    assert short_triples({"k": CAMPUS["ee"] + "D1"}, text, D1) == {"evt:hasSource ee:D1"}


def test_a_word_without_a_vocabulary_is_relative_to_the_base() -> None:
    text = context(base="http://cei.usc.edu/", k=WORD)
    assert short_triples({"k": "Equipment.owl#D1"}, text, D1) == {"evt:hasSource ee:D1"}


@pytest.mark.parametrize(
    ("value", "datatype", "literal"),
    [
        (1.5, "decimal", "1.5"),
        (1e-7, "decimal", "0.0000001"),
        (1.5, "float", "1.5"),
        (3, "double", "3"),
        ("7", "integer", "7"),
        ("2012-05-04", "date", "2012-05-04"),
        (True, "string", "true"),
    ],
)
def test_a_datatype_of_the_context_is_the_datatype_of_the_value(value: Any, datatype: str, literal: str) -> None:
    for name in (f"xsd:{datatype}", XSD + datatype):
        graph = semantic_graph({"x": value}, "S", context(x={"@id": "hvc:airflow", "@type": name}), frozenset())
        assert {o for _, _, o in graph} == {ox.Literal(literal, datatype=ox.NamedNode(XSD + datatype))}


NOON = datetime(2012, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "literal", "datatype"),
    [
        ("x", "x", "string"),
        (True, "true", "boolean"),
        (5, "5", "integer"),
        (2**62, str(2**62), "integer"),
        (5.0, "5.0", "double"),  # JSON would make an integer of it.
        (-0.0, "-0.0", "double"),
        (math.nan, "NaN", "double"),
        (math.inf, "INF", "double"),
        (-math.inf, "-INF", "double"),
        (NOON, "2012-05-04T12:00:00Z", "dateTime"),
        (NOON.astimezone(timezone(timedelta(hours=2))), "2012-05-04T12:00:00Z", "dateTime"),
        (NOON.replace(tzinfo=None, microsecond=500), "2012-05-04T12:00:00.000500Z", "dateTime"),
    ],
)
def test_a_value_without_a_datatype_has_that_of_its_type(value: Any, literal: str, datatype: str) -> None:
    graph = semantic_graph({"x": value}, "S", context(x="hvc:airflow"), frozenset())
    assert {o for _, _, o in graph} == {ox.Literal(literal, datatype=ox.NamedNode(XSD + datatype))}


def test_an_event_has_a_type_where_the_context_maps_the_name_of_its_stream() -> None:
    assert short_triples({}, context(AirflowReport="evt:Report")) == {"rdf:type evt:Report"}
    assert short_triples({}, context(Other="evt:Report")) == set()
    # The name is no address.
    assert short_triples({}, context(base=CAMPUS["evt"])) == set()


def test_an_entity_that_nothing_is_known_of_links_to_nothing_and_is_counted() -> None:
    text, known = context(k=SOURCE), turtle("ee:D1 bd:hasLocation bd:R1 .")
    assert {o for _, _, o in semantic_graph({"k": "ee:D1"}, "S", text, known)} == {node("ee:D1")}
    assert {o for _, _, o in semantic_graph({"k": "bd:R1"}, "S", text, known)} == {node("bd:R1")}
    # To stand between two others is not to be known.
    for stranger in ("ee:D9", "bd:hasLocation"):
        assert semantic_graph({"k": stranger}, "S", text, known) == frozenset()
        assert unknown_entities({"k": stranger}, text, known) == {node(stranger)}
    assert unknown_entities({"k": "ee:D1"}, text, known) == unknown_entities({"k": None}, text, known) == set()


@pytest.mark.parametrize(
    "known",
    [
        "evt:hasSource rdfs:subPropertyOf evt:q .",
        "evt:hasSource owl:equivalentProperty evt:q .",
        "evt:q owl:equivalentProperty evt:hasSource .",
        "evt:hasSource owl:sameAs evt:q .",
        "evt:q owl:sameAs evt:hasSource .",
        "evt:hasSource rdfs:subPropertyOf evt:m . evt:n owl:sameAs evt:m . evt:n rdfs:subPropertyOf evt:q .",
    ],
)
def test_what_holds_by_a_property_holds_by_all_above_it(known: str) -> None:
    values, text = {"k": "ee:D1"}, context(k=SOURCE)
    assert "evt:q ee:D1" in short_triples(values, text, D1 + known)
    # Also where the knowledge is not closed.
    assert (EVENT, node("evt:q"), node("ee:D1")) in semantic_graph(values, "S", text, turtle(D1 + known))


def test_an_inverse_of_what_holds_goes_from_the_value_to_the_event() -> None:
    known = (
        D1
        + """evt:hasSource rdfs:subPropertyOf evt:p . evt:reports owl:inverseOf evt:p .
                    evt:reports owl:equivalentProperty evt:tells . evt:tells rdfs:subPropertyOf evt:any ."""
    )
    assert short_triples({"k": "ee:D1"}, context(k=SOURCE), known) == {
        *("evt:hasSource ee:D1", "evt:p ee:D1"),
        *("^evt:reports ee:D1", "^evt:tells ee:D1", "^evt:any ee:D1"),
    }
    assert "^evt:reports ee:D1" in short_triples(
        {"k": "ee:D1"}, context(k=SOURCE), D1 + "evt:hasSource owl:inverseOf evt:reports ."
    )
    # Nothing can be said of a literal.
    assert short_triples({"k": "x"}, context(k="evt:hasSource"), known) == {'evt:hasSource "x"', 'evt:p "x"'}


def test_the_types_of_an_event_include_what_is_above_and_equal() -> None:
    known = """evt:A rdfs:subClassOf evt:B . evt:C owl:equivalentClass evt:B .
               evt:C rdfs:subClassOf evt:D . evt:X rdfs:subClassOf evt:A ."""
    kinds = {"rdf:type evt:A", "rdf:type evt:B", "rdf:type evt:C", "rdf:type evt:D"}
    assert short_triples({}, context(AirflowReport="evt:A"), known) == kinds
    graph = semantic_graph({}, "AirflowReport", context(AirflowReport="evt:A"), turtle(known))
    assert {f"rdf:type {brief(o)}" for _, _, o in graph} == kinds


@pytest.mark.parametrize(
    "known",
    [
        "evt:hasSource rdfs:domain evt:A .",
        "evt:hasSource rdfs:range evt:A .",
        "evt:hasSource a owl:SymmetricProperty .",
        "evt:hasSource a owl:TransitiveProperty . ee:D1 evt:hasSource ee:D2 .",
        "evt:q rdfs:subPropertyOf evt:hasSource .",
        "evt:A rdfs:subClassOf evt:Report .",
    ],
)
def test_nothing_else_follows_from_what_an_event_says(known: str) -> None:
    text = context(k=SOURCE, AirflowReport="evt:Report")
    assert short_triples({"k": "ee:D1"}, text, D1 + known) == {"evt:hasSource ee:D1", "rdf:type evt:Report"}


def test_what_is_known_of_an_equal_of_an_entity_is_known_of_the_entity() -> None:
    known = closure(turtle(D1 + "ee:D1 owl:sameAs ee:D2 . ee:D2 bd:hasLocation bd:R1 ."))
    events = {"e": ({"k": "ee:D1"}, "S", context(k=SOURCE))}
    assert holds("?e evt:hasSource ?s . ?s bd:hasLocation bd:R1", CAMPUS, events, known)
    assert holds("?e evt:hasSource ee:D2", CAMPUS, events, known)
    found = {name.value[-2:] for (name,) in solutions("?e evt:hasSource ?s", CAMPUS, events, known, ["s"]) if name}
    assert found == {"D1", "D2"}


# -- paths and conditions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("?e hvc:airflow 510.0e0", True),
        ("?e hvc:airflow 510.0", False),  # The same number, another term.
        ("?e hvc:airflow ?r FILTER (?r = 510)", True),
        ("hvc:GreenOfficeAirflow hvc:hasValue ?x", True),  # Without the event.
        ("hvc:GreenOfficeAirflow hvc:hasValue 501", False),
        ("?any evt:hasSource ?s", True),  # The event's own triples answer what does not name it.
        ("OPTIONAL { ?e evt:nothing ?x }", True),
        ("{ ?e evt:nothing ?x } UNION { ?e evt:hasSource ?x }", True),
        ("?e evt:hasSource ?s MINUS { ?s bd:hasLocation ?l }", False),
        ("?e evt:hasSource ?s FILTER NOT EXISTS { ?s bd:hasLocation bd:RTH106 }", True),
        ("?e evt:hasSource/bd:hasLocation/bd:belongsTo org:EEDepartment", True),
        ("?e ?p ?v FILTER (ISNUMERIC(?v) && ?v > 500)", True),
        ("{ ?s bd:hasLocation ?l FILTER (BOUND(?e)) }", False),  # A group does not see what is bound outside of it.
    ],
)
def test_a_path_is_true_where_it_has_a_solution(path: str, expected: bool) -> None:
    assert holds(path, CAMPUS, {"e": report("D105VOL", 510.0)}, KNOWN) is expected


def test_a_condition_has_three_values_and_a_path_two() -> None:
    office, fast = Path(QUERY_4), Compared(Attribute("e", "flowrate"), ">", Constant(500.0))

    def value(condition: Any, sensor: str | None, rate: float | None) -> bool | None:
        return truth(condition, CAMPUS, {"e": report(sensor, rate)}, KNOWN)

    assert value(And((office, fast)), "D105VOL", 510.0) is True
    assert value(And((office, fast)), "D105VOL", None) is None
    assert value(And((office, fast)), "D106VOL", None) is False
    assert value(Or((office, fast)), "D105VOL", None) is True
    assert value(Or((office, fast)), "D106VOL", None) is None
    assert value(Not(fast), "D105VOL", None) is None
    assert value(Not(office), None, 510.0) is True
    assert value(IsNull(Attribute("e", "flowrate")), None, None) is True
    assert value(fast, "D105VOL", math.nan) is True  # In SQL NaN is the greatest number.
    assert value(Compared(Attribute("e", "hvc:airflow"), ">", Constant(500.0)), "D105VOL", 510.0) is True
    assert condition_text(And((Not(fast), Path("?e a ?c")))) == "(NOT (e.flowrate > 500.0) AND PATH { ?e a ?c })"


def test_a_qualified_attribute_is_the_one_whose_property_lies_below_the_term() -> None:
    text = context(rate="hvc:airflow", volume="hvc:volume", k=SOURCE)
    known = turtle("hvc:airflow rdfs:subPropertyOf hvc:flow . hvc:volume owl:sameAs hvc:amount .")

    def meant(term: str) -> set[str]:
        return set(attributes_for(node(term).value, ["rate", "volume", "k", "other"], text, known))

    assert meant("hvc:airflow") == meant("hvc:flow") == {"rate"}
    assert meant("hvc:amount") == {"volume"}
    assert meant("evt:hasSource") == {"k"}
    assert meant("hvc:other") == set()


# -- the closure --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "follows"),
    [
        ("ee:a owl:sameAs ee:b .", "ee:b owl:sameAs ee:a ."),
        ("ee:a owl:sameAs ee:b . ee:b owl:sameAs ee:c .", "ee:a owl:sameAs ee:c ."),
        ("ee:a owl:sameAs ee:b . ee:a ee:p ee:c .", "ee:b ee:p ee:c ."),
        ("ee:p owl:sameAs ee:q . ee:a ee:p ee:c .", "ee:a ee:q ee:c ."),
        ("ee:c owl:sameAs ee:d . ee:a ee:p ee:c .", "ee:a ee:p ee:d ."),
        ("ee:p rdfs:domain ee:C . ee:a ee:p 5 .", "ee:a a ee:C ."),
        ("ee:p rdfs:range ee:C . ee:a ee:p ee:b .", "ee:b a ee:C ."),
        ("ee:p a owl:FunctionalProperty . ee:a ee:p ee:b , ee:c .", "ee:b owl:sameAs ee:c ."),
        ("ee:p a owl:InverseFunctionalProperty . ee:a ee:p ee:c . ee:b ee:p ee:c .", "ee:a owl:sameAs ee:b ."),
        ("ee:p a owl:SymmetricProperty . ee:a ee:p ee:b .", "ee:b ee:p ee:a ."),
        ("ee:p a owl:TransitiveProperty . ee:a ee:p ee:b . ee:b ee:p ee:c .", "ee:a ee:p ee:c ."),
        ("ee:p rdfs:subPropertyOf ee:q . ee:a ee:p 5 .", "ee:a ee:q 5 ."),
        ("ee:p owl:equivalentProperty ee:q . ee:a ee:p 5 .", "ee:a ee:q 5 ."),
        ("ee:p owl:equivalentProperty ee:q . ee:a ee:q 5 .", "ee:a ee:p 5 ."),
        ("ee:p owl:inverseOf ee:q . ee:a ee:p ee:b .", "ee:b ee:q ee:a ."),
        ("ee:p owl:inverseOf ee:q . ee:a ee:q ee:b .", "ee:b ee:p ee:a ."),
        ("ee:A rdfs:subClassOf ee:B . ee:a a ee:A .", "ee:a a ee:B ."),
        ("ee:A owl:equivalentClass ee:B . ee:a a ee:A .", "ee:a a ee:B ."),
        ("ee:A owl:equivalentClass ee:B . ee:a a ee:B .", "ee:a a ee:A ."),
        ("ee:A rdfs:subClassOf ee:B . ee:B rdfs:subClassOf ee:C .", "ee:A rdfs:subClassOf ee:C ."),
        ("ee:p rdfs:subPropertyOf ee:q . ee:q rdfs:subPropertyOf ee:r .", "ee:p rdfs:subPropertyOf ee:r ."),
        ("ee:A owl:equivalentClass ee:B .", "ee:A rdfs:subClassOf ee:B . ee:B rdfs:subClassOf ee:A ."),
        ("ee:A rdfs:subClassOf ee:B . ee:B rdfs:subClassOf ee:A .", "ee:A owl:equivalentClass ee:B ."),
        ("ee:p owl:equivalentProperty ee:q .", "ee:p rdfs:subPropertyOf ee:q . ee:q rdfs:subPropertyOf ee:p ."),
        ("ee:p rdfs:subPropertyOf ee:q . ee:q rdfs:subPropertyOf ee:p .", "ee:q owl:equivalentProperty ee:p ."),
        ("ee:p rdfs:domain ee:A . ee:A rdfs:subClassOf ee:B .", "ee:p rdfs:domain ee:B ."),
        ("ee:q rdfs:domain ee:A . ee:p rdfs:subPropertyOf ee:q .", "ee:p rdfs:domain ee:A ."),
        ("ee:p rdfs:range ee:A . ee:A rdfs:subClassOf ee:B .", "ee:p rdfs:range ee:B ."),
        ("ee:q rdfs:range ee:A . ee:p rdfs:subPropertyOf ee:q .", "ee:p rdfs:range ee:A ."),
        # By way of a literal that is a subject for a while.
        ("ee:p a owl:SymmetricProperty . ee:q owl:inverseOf ee:p . ee:a ee:q 5 .", "ee:a ee:p 5 ."),
    ],
)
def test_each_rule_of_the_closure(stated: str, follows: str) -> None:
    assert turtle(follows) - turtle(stated) <= closure(turtle(stated)) - turtle(stated)
    assert not turtle(follows) <= turtle(stated)


def test_the_closure_says_nothing_that_rdf_cannot() -> None:
    for s, p, _ in closure(turtle("ee:p a owl:SymmetricProperty ; rdfs:range ee:C . ee:a ee:p 5 .")):
        assert not isinstance(s, ox.Literal)
        assert isinstance(p, ox.NamedNode)


def facts(triples: Triples) -> Triples:
    """Without what is said of words, and without the commonplace that each thing is a thing."""
    return frozenset(
        t for t in triples if not t[1].value.startswith((RDFS, OWL)) and not str(t[2]).startswith(f"<{OWL}")
    )


@given(ontologies())
def test_the_second_opinion_gives_the_facts_that_the_rules_give(ontology: Ontology) -> None:
    assert facts(ontology.closed) == facts(ontology.reasoned)


def test_the_second_opinion_is_wrong_of_inverse_functional_properties_which_ontologies_leave_out_therefore() -> None:
    # It merges what is a subject and an object of such a property with its neighbour. Once it does not (this fails
    # then), ontologies() may have such properties; test_closure.py of knowledge says that ours is right.
    stated = turtle("ee:p a owl:InverseFunctionalProperty . ee:a ee:p ee:b . ee:b ee:p ee:c .")
    merged = facts(turtle("ee:a ee:p ee:a . ee:b ee:p ee:b ."))
    assert not merged & facts(closure(stated))
    assert merged & facts(reasoned(stated))


# -- the strategies -----------------------------------------------------------------------------------


def test_paths_are_true_about_as_often_as_false_and_each_part_of_sparql_is_both() -> None:
    seen, telling, total = Counter[tuple[str, bool]](), 0, 0
    for seed in range(120):
        world = world_of(seed)
        for pattern in world.patterns:
            values = answers(world, pattern.text)
            total, telling = total + 1, telling + (len(set(values)) > 1)
            seen.update((feature, value) for value in values for feature in ("any", *pattern.features))
    true, false = seen["any", True], seen["any", False]
    assert min(true, false) * 3 >= true + false
    assert all(seen[feature, value] >= 5 for feature in RARE for value in (True, False)), seen
    # A path that is true of some events and false of others tells most.
    assert telling * 3 >= total


def answers(world: World, path: str) -> list[bool]:
    return [holds(path, PREFIXES, world.bound(i), world.ontology.reasoned) for i in range(len(world.events))]


@given(worlds())
@settings(max_examples=settings.default.max_examples // 4)
def test_worlds_are_such_as_the_twin_can_judge(world: World) -> None:
    assert 5 <= len(world.ontology.stated) <= 40
    assert len(set(world.ontology.lines) ^ set(world.reloaded.lines)) <= 6
    for pattern in world.patterns:
        for i in range(len(world.events)):
            holding = holds(pattern.text, PREFIXES, world.bound(i), world.ontology.reasoned)
            if pattern.variables:
                found = solutions(pattern.text, PREFIXES, world.bound(i), world.ontology.reasoned, pattern.variables)
                assert bool(found) is holding
            event(f"path is {holding}")
            for feature in pattern.features:
                event(f"{feature} is {holding}")
    for i in range(len(world.events)):
        event(f"condition is {truth(world.condition, PREFIXES, world.bound(i), world.ontology.reasoned)}")


def test_a_path_that_asks_for_no_free_type_says_the_same_over_both_closures() -> None:
    # The reasoner says of each thing that it is an owl:Thing, which is a type too.
    same, total = 0, 0
    for seed in range(60):
        world = world_of(seed, rare=())
        for pattern in world.patterns:
            if "rdf:type ?" not in pattern.text:
                theirs = [
                    holds(pattern.text, PREFIXES, world.bound(i), world.ontology.closed)
                    for i in range(len(world.events))
                ]
                same, total = same + (theirs == answers(world, pattern.text)), total + 1
    assert same == total


def test_a_path_about_two_events_holds_where_each_part_holds_of_its_event() -> None:
    for seed in range(40):
        world, choice = world_of(seed, at_most=3), Choice(seed)
        parts = {alias: path_of(choice, world.context_text, world.ontology, alias, rare=()) for alias in ("e1", "e2")}
        for i in range(len(world.events)):
            bound = {"e1": world.bound(i, "e1"), "e2": world.bound(0, "e2")}
            each = [holds(parts[alias].text, PREFIXES, bound[alias], world.ontology.reasoned) for alias in parts]
            both = holds(joined(*parts.values()).text, PREFIXES, bound["e1"] | bound["e2"], world.ontology.reasoned)
            # What says nothing of absence holds on where more is known.
            assert both or not all(each)


def test_a_world_can_be_made_smaller() -> None:
    world = next(w for w in map(world_of, range(100)) if any("NOT EXISTS" in p.text for p in w.patterns))
    small = smallest(world, lambda w: any("NOT EXISTS" in p.text for p in w.patterns))
    assert [len(part) for part in (small.patterns, small.patterns[0].parts, small.events, small.ontology.lines)] == [
        1,
        1,
        1,
        0,
    ]


def test_the_stream_of_the_worlds_is_one_of_ours() -> None:
    assert parse(f"CREATE STREAM {DECLARATION};")
