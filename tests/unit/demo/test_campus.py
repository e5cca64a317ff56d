"""The campus: the same arguments give the same world, its words are consistent, its events link to its sensors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store, parse
from rdflib.term import BNode, URIRef
from reasonable import PyReasoner

from presage.demo import airflow_events, iri_of, make_campus, make_ontology, read, vocabulary, write_campus
from presage.demo.campus_events import CONTEXTS, GENERATORS, MINUTE, START, write_example
from presage.demo.campus_ontology import AIRFLOW, AIRVOLUME, EE, METER, PREFIXES, STREAMS

EXAMPLES = Path(__file__).parents[3] / "examples" / "campus"
NAMESPACES = PREFIXES | {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
CONTEXT_OF = dict(zip(STREAMS, CONTEXTS, strict=True))
EE_OFFICE = "?loc rdf:type bd:Office ; bd:belongsTo org:EEDepartment"


def term(of: object) -> NamedNode | BlankNode | Literal:
    if isinstance(of, URIRef):
        return NamedNode(str(of))
    if isinstance(of, BNode):
        return BlankNode(str(of))
    datatype = getattr(of, "datatype", None)
    return Literal(str(of), datatype=NamedNode(str(datatype))) if datatype else Literal(str(of))


def close(folder: Path, *texts: str) -> Store:
    reasoner = PyReasoner()
    for number, text in enumerate(texts):
        path = folder / f"{number}.ttl"
        path.write_text(text)
        reasoner.load_file(str(path))
    store = Store()
    store.bulk_extend(Quad(term(s), term(p), term(o)) for s, p, o in reasoner.reason())  # type: ignore[arg-type]
    return store


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return close(tmp_path_factory.mktemp("small"), vocabulary(), make_ontology(buildings=2, sensors=20))


def ask(store: Store, pattern: str) -> bool:
    return bool(store.query(f"ASK {{ {pattern} }}", prefixes=NAMESPACES))


def event_quads(stream: str, event: dict[str, object]) -> Iterator[Quad]:
    """What a JSON-LD processor makes of an event, by the stream's context."""
    node = {**json.loads(read(CONTEXT_OF[stream])), "@id": "urn:event", "@type": stream, **event}
    return parse(json.dumps(node, default=lambda at: at.isoformat()), format=RdfFormat.JSON_LD)


def linked(stream: str, event: dict[str, object]) -> set[tuple[str, str]]:
    return {(quad.predicate.value.split("#")[-1], quad.object.value) for quad in event_quads(stream, event)}  # type: ignore[union-attr]


# -- the world -----------------------------------------------------------------------------------------


def test_the_same_arguments_give_the_same_text_and_another_seed_another() -> None:
    assert make_ontology(3, 60, seed=5) == make_ontology(3, 60, seed=5)
    assert make_ontology(3, 60, seed=5) != make_ontology(3, 60, seed=6)


@pytest.mark.parametrize(("buildings", "sensors"), [(1, 1), (2, 20), (5, 15), (7, 1000)])
def test_a_campus_has_the_sizes_that_were_asked_for(buildings: int, sensors: int) -> None:
    campus = make_campus(buildings, sensors)
    assert len(campus.floors) == buildings
    assert len(campus.sensors) == sensors
    assert len({sensor.name for sensor in campus.sensors}) == sensors
    assert len({room.name for room in campus.rooms}) == len(campus.rooms)
    places = {room.name for room in campus.rooms} | set(campus.floors)
    assert {sensor.place for sensor in campus.sensors} <= places
    store = Store()
    store.load(make_ontology(buildings, sensors), format=RdfFormat.TURTLE)
    assert {sensor.name for sensor in campus.sensors} <= {
        quad.subject.value.split("#")[-1]  # type: ignore[union-attr]
        for quad in store.quads_for_pattern(None, NamedNode(PREFIXES["bd"] + "hasLocation"), None)
    }


def test_a_campus_without_buildings_is_refused() -> None:
    with pytest.raises(ValueError, match="buildings"):
        make_campus(0, 10)


def test_the_names_of_buildings_are_all_different() -> None:
    assert len(make_campus(2000, 1).floors) == 2000


def test_the_papers_example_holds_after_closure(known: Store) -> None:
    assert ask(known, "ee:D105VOLUME rdf:type ee:AirflowSensor ; bd:hasLocation bd:RTH105")
    assert ask(known, "bd:RTH105 rdf:type bd:Office ; bd:belongsTo org:EEDepartment ; bd:isPartOf bd:RTH")
    assert ask(known, "hvc:GreenOfficeAirflow hvc:hasValue 5.0E2")
    # By the facility's own name, too: the two are the same sensor.
    assert ask(known, "ee:RTH105-AF1 rdf:type ee:AirflowSensor ; bd:hasLocation bd:RTH105")


def test_every_kind_of_inference_is_needed_somewhere(known: Store) -> None:
    assert ask(known, "bd:RTH bd:hasPart bd:RTH105")  # inverse and transitive
    assert ask(known, "org:EEDepartment org:partOf org:USC ; rdf:type org:Organization")
    assert ask(known, "bd:RTH105 ee:isFedBy/ee:isFedBy/rdf:type hvc:AirHandler")
    assert ask(known, "bd:RTH105 hvc:hasComfort/hvc:maxTemperature 2.45E1")  # the value of its class
    assert ask(known, "hvc:OfficeComfort rdf:type hvc:Comfort")  # domain
    assert ask(known, "bd:RTH105 rdf:type <https://brickschema.org/schema/Brick#Enclosed_Office>")


def test_nothing_contradicts_itself(known: Store) -> None:
    assert not ask(known, "?x rdf:type owl:Nothing")
    assert not ask(known, "?x bd:isPartOf ?x")
    assert not ask(known, "?x rdf:type bd:Place, ee:Equipment")
    assert not ask(known, "?x rdf:type bd:Place, org:Organization")


def test_terms_of_the_queries_are_those_of_the_vocabulary(known: Store) -> None:
    used = set(re.findall(r"(?<![\w:<])((?:bd|ee|hvc|org|evt):\w+)", read("queries.epl")))
    assert len(used) > 20
    assert [name for name in sorted(used) if not (ask(known, f"{name} ?p ?o") or ask(known, f"?s ?p {name}"))] == []


def test_closure_has_about_twenty_triples_per_sensor(tmp_path: Path) -> None:
    # 170 buildings and 50,000 sensors, a twentieth of it: a million triples in full.
    store = close(tmp_path, vocabulary(), make_ontology(buildings=8, sensors=2500))
    assert 45_000 < len(store) < 60_000


# -- contexts --------------------------------------------------------------------------------------------


def test_contexts_map_names_of_sensors_to_entities(known: Store) -> None:
    campus = make_campus(2, 20)
    for sensor in campus.sensors:
        event = GENERATORS[sensor.stream](1, [sensor.value]).to_pylist()[0]
        told = linked(sensor.stream, event)
        assert {iri for name, iri in told if name in ("hasSource", "reportedBy")} == {EE + sensor.name}
        assert iri_of(sensor.value) == EE + sensor.name
        assert ask(known, f"<{EE}{sensor.name}> bd:hasLocation ?place")


def test_contexts_map_every_attribute_and_the_stream() -> None:
    for stream, generate in GENERATORS.items():
        event = generate(1, ["ee:X1"]).to_pylist()[0]
        told = linked(stream, event)
        assert len(told) == len(event) + 1, stream
        assert ("type", PREFIXES["evt"] + stream) in told


def test_two_spellings_of_an_airflow_are_one_term(known: Store) -> None:
    report = linked(AIRFLOW, {"sensorID": "D105VOL", "flowrate": 510.0})
    volume = linked(AIRVOLUME, {"device": "ee:D105VOLUME", "airvolume": 510.0})
    assert {name for name, _ in report} == {"type", "hasSource", "airflow"}
    assert {name for name, _ in volume} == {"type", "reportedBy", "airvolume"}
    assert ask(known, "hvc:airvolume owl:equivalentProperty hvc:airflow")
    assert ask(known, "evt:reportedBy rdfs:subPropertyOf evt:hasSource")


# -- events ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS)
def test_a_batch_is_a_piece_of_the_whole(stream: str) -> None:
    sensors = [f"S{number}" for number in range(37)]
    whole = GENERATORS[stream](500, sensors, seed=3, unknown=0.1)
    parts = [GENERATORS[stream](100, sensors, seed=3, unknown=0.1, offset=start) for start in range(0, 500, 100)]
    assert pa.concat_tables(parts).equals(whole)
    assert not whole.equals(GENERATORS[stream](500, sensors, seed=4, unknown=0.1))


def test_each_sensor_reports_once_in_each_turn() -> None:
    sensors = [f"S{number}" for number in range(37)]
    said = airflow_events(74, sensors)["sensorID"].to_pylist()
    assert sorted(said[:37]) == sorted(said[37:]) == sorted(sensors)
    assert said[:3] != sensors[:3]


def test_unknown_sensors_are_new_each_time() -> None:
    sensors = [f"S{number}" for number in range(100)]
    said = airflow_events(100_000, sensors, unknown=0.01)["sensorID"].to_pylist()
    strange = [name for name in said if name not in set(sensors)]
    assert 900 < len(strange) < 1100
    assert len(set(strange)) == len(strange)


def test_airflow_follows_the_day() -> None:
    sensors = [f"S{number}" for number in range(1000)]
    shares = [
        float(np.mean(airflow_events(10_000, sensors, START.replace(hour=hour))["flowrate"].to_numpy() > 500))
        for hour in (3, 9, 13)
    ]
    assert shares[0] < 0.001
    assert 0.05 < shares[1] < 0.15
    assert 0.15 < shares[2] < 0.3


def test_no_sensors_is_an_error() -> None:
    with pytest.raises(ValueError, match="AirflowReport"):
        airflow_events(1, [])


# -- files -----------------------------------------------------------------------------------------------


def test_the_files_in_examples_are_those_that_are_written(tmp_path: Path) -> None:
    written = write_example(tmp_path)
    by_hand = {"expected.csv", "campus.test.epl"}
    assert {path.name for path in written} == {path.name for path in EXAMPLES.iterdir()} - by_hand
    for path in written:
        assert (EXAMPLES / path.name).read_text() == path.read_text(), path.name


def test_the_example_has_matches_of_query_5_and_sensors_that_nobody_knows(tmp_path: Path) -> None:
    known = close(tmp_path, (EXAMPLES / "vocabulary.ttl").read_text(), (EXAMPLES / "campus.ttl").read_text())
    events = [json.loads(line) for line in (EXAMPLES / "airflowreport.jsonl").read_text().splitlines()]
    sources = {event["sensorID"] for event in events}
    in_office = {
        name
        for name in sources
        if ask(known, f"<{iri_of(name)}> rdf:type ee:AirflowSensor ; bd:hasLocation ?loc . {EE_OFFICE}")
    }
    matches = [event for event in events if event["sensorID"] in in_office and event["flowrate"] > 500]
    assert {event["sensorID"] for event in matches} >= {"D105VOL"}
    assert 10 < len(matches) < len(events) / 2
    assert any(not ask(known, f"<{iri_of(name)}> ?p ?o") for name in sources)


def test_sensors_of_a_written_campus_report_once_a_minute(tmp_path: Path) -> None:
    write_campus(tmp_path, buildings=2, sensors=20, minutes=3)
    meters = make_campus(2, 20).values(METER)
    lines = (tmp_path / "meterreport.jsonl").read_text().splitlines()
    assert len(lines) == 3 * len(meters)
    assert json.loads(lines[-1])["at"] < "2012-05-07T09:03"
    assert json.loads(lines[len(meters)])["at"] == "2012-05-07T09:01:00.000Z"
    assert MINUTE == 60_000_000
