"""The console's views of single things, without Spark: maps, why events made no row, what is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from presage import Engine
from presage.console.app import make_app

CONTEXT = """{ "@context": { "@vocab": "http://example.org/c#", "c": "http://example.org/c#",
  "sensor": { "@id": "c:hasSource", "@type": "@vocab" }, "rate": { "@id": "c:airflow" } } }"""
KNOWN = """
@prefix c: <http://example.org/c#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
c:PrivateOffice rdfs:subClassOf c:Office .
c:R105 a c:PrivateOffice . c:R106 a c:Lab .
c:AF105 c:hasLocation c:R105 . c:AF106 c:hasLocation c:R106 .
"""
STATEMENTS = """
CREATE KNOWLEDGE place FROM 'known.ttl' REASONING OWL_RL;
CREATE STREAM Air (sensor STRING, rate DOUBLE, at TIMESTAMP) EVENT TIME at CONTEXT 'air.jsonld'
  WITH (max_delay = '5 sec');
CREATE STREAM Cart (cart STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (cart)
  PREDICTED (x, y) WITH (threshold = 5, period = '1 min');
"""
OFFICES = """
PREFIX c: <http://example.org/c#>
SELECT e.sensor, e.rate FROM Air AS e WITHIN [2024-03-01T09:00, 2024-03-01T10:00)
WHERE e.rate > 500 AND PATH { ?e c:hasSource/c:hasLocation ?room . ?room a c:Office }
"""
PAIRS = "SELECT a.sensor FROM PATTERN [ EVERY a=Air(rate > 500) -> b=Air(sensor = a.sensor AND rate < 100) ]"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "air.jsonld").write_text(CONTEXT)
    (tmp_path / "known.ttl").write_text(KNOWN)
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute(STATEMENTS)
        yield made


@pytest.fixture
def client(engine: Engine) -> TestClient:
    headers = {"Authorization": "Bearer t"}
    return TestClient(make_app(engine, "t"), base_url="http://127.0.0.1:8765", headers=headers)


def air(sensor: str, rate: float, clock: str) -> dict[str, Any]:
    return {"sensor": sensor, "rate": rate, "at": f"2024-03-01T{clock}Z"}


# -- why events made no row -------------------------------------------------------------------------


def verdicts(client: TestClient, name: str, stream: int = 0) -> dict[str, str]:
    told = client.get(f"/api/statements/{name}/why").json()["streams"][stream]
    place = told["columns"].index("sensor")
    return {f"{event['values'][place]} {event['at'][11:19]}": event["verdict"] for event in told["events"]}


def test_an_event_without_a_row_is_told_what_it_lacks(engine: Engine, client: TestClient) -> None:
    engine.deploy(OFFICES, "offices")
    engine.load("Air", [air("AF105", 600.0, "08:59:00"), air("AF105", 600.0, "09:00:00")])
    engine.load("Air", [air("AF105", 400.0, "09:00:01"), air("AF106", 600.0, "09:00:02")])
    engine.load("Air", [air("AF107", 600.0, "09:00:03"), air("AF105", 700.0, "09:00:20")])
    engine.deployments["offices"].drain()
    assert verdicts(client, "offices") == {
        "AF105 08:59:00": "is outside of the statement's time range",
        "AF105 09:00:00": "passes",
        "AF105 09:00:01": "fails a condition",
        "AF106 09:00:02": "fails a condition",
        "AF107 09:00:03": "refers to an unknown entity",
        "AF105 09:00:20": "waits for the watermark",
    }
    (told,) = client.get("/api/statements/offices/why?limit=2").json()["streams"]
    assert told["stream"] == "Air"
    assert [condition.partition(" ")[0] for condition in told["conditions"]] == ["e.rate", "PATH"]
    assert "type Office" in told["conditions"][1]
    newest, unknown = told["events"]
    assert (newest["holds"], newest["unknown"]) == ([True, True], {})
    assert (unknown["holds"], unknown["unknown"]) == ([True, False], {"sensor": "AF107"})


def test_the_verdict_is_passes_exactly_where_a_row_was_made(engine: Engine, client: TestClient) -> None:
    deployment = engine.deploy(OFFICES, "offices")
    sensors, rates = ("AF105", "AF106", "AF107", "D1"), (499.0, 500.0, 500.1, 900.0)
    events = [air(s, r, f"09:{i:02}:{j:02}") for i, s in enumerate(sensors) for j, r in enumerate(rates)]
    engine.load("Air", events)
    engine.advance("Air", "2024-03-01T09:30:00Z")
    deployment.drain()
    made = {f"{row['sensor']} {row['at']:%H:%M:%S}" for row in deployment.table().to_pylist()}
    passing = {event for event, verdict in verdicts(client, "offices").items() if verdict == "passes"}
    assert passing == made != set()


def test_what_came_before_a_statement_is_not_its_own_and_filters_of_a_pattern_are_told_apart(
    engine: Engine, client: TestClient
) -> None:
    engine.load("Air", [air("AF105", 900.0, "09:00:00")])
    engine.deploy(PAIRS, "pairs")
    engine.load("Air", [air("AF105", 800.0, "09:01:00"), air("AF105", 50.0, "09:02:00")])
    engine.advance("Air", "2024-03-01T09:30:00Z")
    engine.deployments["pairs"].drain()
    first, then = client.get("/api/statements/pairs/why").json()["streams"]
    assert (first["of"].partition("=")[0], then["of"].partition("=")[0]) == ("a", "b")
    assert [event["verdict"] for event in first["events"]] == [
        "fails a condition",
        "passes",
        "came before the statement was deployed",
    ]
    # Of the second only what it says of itself: the sensor is a matter of both.
    assert [event["verdict"] for event in then["events"]][:2] == ["passes", "fails a condition"]


def test_what_one_event_met_is_told_with_both_values(engine: Engine, client: TestClient) -> None:
    engine.deploy(PAIRS, "pairs")
    engine.load("Air", [air("AF105", 800.0, "09:01:00"), air("AF106", 50.0, "09:02:00")])
    engine.advance("Air", "2024-03-01T09:30:00Z")
    engine.deployments["pairs"].drain()
    number = client.get("/api/statements/pairs/why").json()["streams"][0]["events"][0]["number"]
    found = client.get(f"/api/statements/pairs/why/{number}").json()
    assert (found["stream"], found["at"], found["values"]["sensor"]) == ("Air", "2024-03-01T09:02:00Z", "AF106")
    (told,) = found["told"]
    other = told["chances"][-1]
    assert other["so_far"] == [
        {"name": "a", "at": "2024-03-01T09:01:00Z", "values": {"sensor": "AF105", "rate": 800.0}}
    ]
    assert [(a["text"], a["holds"], a["values"]) for a in other["answers"]] == [
        ("rate < 100", True, [["rate", 50.0]]),
        ("sensor = a.sensor", False, [["sensor", "AF106"], ["a.sensor", "AF105"]]),
    ]
    assert client.get("/api/statements/pairs/why/999999").status_code == 404


# -- what is known ----------------------------------------------------------------------------------


def test_what_a_path_selects_is_told_without_events(engine: Engine, client: TestClient) -> None:
    engine.deploy(OFFICES, "offices")
    (selected,) = client.get("/api/statements/offices/selects").json()
    assert list(selected["attributes"].values()) == ["sensor"]
    assert selected["total"] == 1
    assert [value.rpartition("#")[2] for value in selected["rows"][0]] == ["AF105", "R105"]


def test_what_a_typed_query_selects_is_told_before_it_stands(engine: Engine, client: TestClient) -> None:
    (selected,) = client.post("/api/selects", json={"text": f"EXPLAIN {OFFICES}"}).json()
    engine.deploy(OFFICES, "offices")
    assert selected == client.get("/api/statements/offices/selects").json()[0]
    assert client.post("/api/selects", json={"text": "SELECT sensor FROM Air"}).json() == []
    wrong = client.post("/api/selects", json={"text": "SELECT\n  nothing FROM Air"})
    assert wrong.status_code == 422
    assert [(e["code"], e["line"]) for e in wrong.json()["errors"]] == [("UNKNOWN_ATTRIBUTE", 2)]


def test_a_thing_is_found_and_told_of_with_what_follows(client: TestClient) -> None:
    assert client.get("/api/knowledge").json()[0]["name"] == "place"
    found = client.get("/api/knowledge/things?text=r10").json()
    assert [iri.rpartition("#")[2] for iri in found] == ["R105", "R106"]
    about = client.get("/api/knowledge/thing", params={"iri": found[0]}).json()
    types = {value.rpartition("#")[2] for name, value, _ in about["facts"] if name.endswith("#type")}
    assert {"PrivateOffice", "Office"} <= types
    assert ["http://example.org/c#AF105", "http://example.org/c#hasLocation"] in about["named_by"]


@pytest.mark.parametrize("iri", ["http://example.org/c#Nobody", "x> ?p ?o } #", ""])
def test_only_things_of_the_graph_are_asked_for(client: TestClient, iri: str) -> None:
    refused = client.get("/api/knowledge/thing", params={"iri": iri})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (404, "UNKNOWN_OBJECT")


# -- maps -------------------------------------------------------------------------------------------


def update(cart: str, second: int, x: float, rate: float, **more: Any) -> dict[str, Any]:
    at = f"2024-03-01T09:00:{second:02}Z"
    return {"cart": cart, "x_value": x, "x_rate": rate, "y_value": 0.0, "y_rate": 0.0, "at": at, **more}


def test_a_map_has_the_newest_update_of_each_object(engine: Engine, client: TestClient) -> None:
    engine.load(
        "Cart", [update("a", 0, 0.0, 2.0), update("b", 1, 50.0, 0.0, x_threshold=9.0), update("a", 10, 20.0, 1.0)]
    )
    (described,) = client.get("/api/maps").json()
    assert described == {"name": "Cart", "attributes": ["x", "y"], "period": 60.0}
    found = client.get("/api/maps/Cart").json()
    assert found["now"] == "2024-03-01T09:00:10Z"
    a, b = found["objects"]
    assert (a["key"], a["at"], a["values"], a["rates"]) == ("a", "2024-03-01T09:00:10Z", [20.0, 0.0], [1.0, 0.0])
    assert (a["thresholds"], b["thresholds"]) == ([5.0, 5.0], [9.0, 5.0])


def test_a_stream_without_places_is_no_map(client: TestClient) -> None:
    assert client.get("/api/maps/Air").status_code == 404
    assert client.get("/api/maps/Nothing").status_code == 404


def test_an_alert_that_is_not_there_is_not_found(engine: Engine, client: TestClient) -> None:
    engine.deploy(OFFICES, "offices")
    assert client.get("/api/alerts").json() == []
    assert client.get("/api/statements/offices/alert?event=x").status_code == 404
