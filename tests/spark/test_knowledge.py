"""Queries that know, through the engine: the seven of the paper over a small campus; relations that Spark must join."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from presage import Engine, PresageError
from presage.cli.app import app
from presage.demo import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAMPUS = Path(__file__).parents[2] / "examples" / "campus"
NAMES = """
@prefix bd: <http://cei.usc.edu/Building.owl#> . @prefix ee: <http://cei.usc.edu/Equipment.owl#> .
@prefix hvc: <http://cei.usc.edu/HVAC.owl#> . @prefix org: <http://cei.usc.edu/Organization.owl#> .
@prefix evt: <http://cei.usc.edu/Event.owl#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
# An office of EE with a thermometer in it, too, an office of CS, a meeting room of EE.
WORLD = (
    NAMES
    + """
ee:SupplyAirflowSensor rdfs:subClassOf ee:AirflowSensor . bd:PrivateOffice rdfs:subClassOf bd:Office .
evt:reportedBy owl:equivalentProperty evt:hasSource . hvc:airvolume rdfs:subPropertyOf hvc:airflow .
hvc:GreenOfficeAirflow hvc:hasValue 520 .
ee:D105VOLUME a ee:SupplyAirflowSensor ; bd:hasLocation bd:r1 . ee:t1 a ee:TemperatureSensor ; bd:hasLocation bd:r1 .
ee:a2 a ee:AirflowSensor ; bd:hasLocation bd:r2 . ee:m1 a ee:AirflowSensor ; bd:hasLocation bd:m1 .
bd:r1 a bd:PrivateOffice ; bd:belongsTo org:EEDepartment . bd:r2 a bd:Office ; bd:belongsTo org:CSDepartment .
bd:m1 a bd:MeetingRoom ; bd:belongsTo org:EEDepartment .
"""
)
DECLARED = """
CREATE KNOWLEDGE campus FROM 'world.ttl' REASONING OWL_RL;
CREATE SCHEMA AirflowEvent (at TIMESTAMP) EVENT TIME at;
CREATE STREAM AirflowReport (sensorID STRING, flowrate DOUBLE) INHERITS AirflowEvent CONTEXT 'airflow.jsonld';
CREATE STREAM AirVolume (device STRING, airvolume DOUBLE) INHERITS AirflowEvent CONTEXT 'airvolume.jsonld';
"""
PREFIXES = """
PREFIX bd:<http://cei.usc.edu/Building.owl#>
PREFIX ee:<http://cei.usc.edu/Equipment.owl#>
PREFIX hvc:<http://cei.usc.edu/HVAC.owl#>
PREFIX org:<http://cei.usc.edu/Organization.owl#>
PREFIX evt:<http://cei.usc.edu/Event.owl#>
PREFIX rdf:<http://www.w3.org/1999/02/22-rdf-syntax-ns#>
"""
OFFICES = """?e evt:hasSource ?src .
?src rdf:type ee:AirflowSensor .
?src bd:hasLocation ?loc .
?loc rdf:type bd:Office .
?loc bd:belongsTo org:EEDepartment"""
RISING = """FILTER (?e1.flowrate > 500)
JOIN (?e2.sensorID = ?e1.sensorID)
JOIN (?e2.flowrate-?e1.flowrate > 50)
SEQ (?e1, ?e2)
WINDOW (?e1, ?e2, 5min)
"""
ONE, TWO = "(?e, AirflowReport)", "(?e1, AirflowReport), (?e2, AirflowReport)"
MEETING = " . ".join(
    f"?e{n} evt:hasSource ?src{n} . ?src{n} rdf:type ee:AirflowSensor . "
    f"?src{n} bd:hasLocation ?loc{n} . ?loc{n} rdf:type bd:MeetingRoom"
    for n in (1, 2)
)
# What is selected, from what, and what follows FROM and WITHIN.
QUERIES = [
    ("?e.sensorID, ?e.flowrate", ONE, "FILTER (?e.flowrate > 500)"),
    ("AVG(?e.flowrate) > 500 AS avgrate", ONE, "WINDOW (?e, sliding, 5min)"),
    ("?e1.sensorID", TWO, RISING),
    ("?e.sensorID", ONE, f"FILTER (?e.hvc:airflow > 500)\nPATH {{{OFFICES}}}"),
    (
        "?e.sensorID",
        ONE,
        f"PATH {{{OFFICES} .\n?e hvc:airflow ?rate .\nhvc:GreenOfficeAirflow hvc:hasValue ?gaf .\n"
        "FILTER (?rate > ?gaf)}",
    ),
    ("AVG(?e.flowrate) > 500 AS avgrate", ONE, f"WINDOW (?e, sliding, 5min)\nPATH {{{OFFICES}}}"),
    ("?e1.sensorID", TWO, f"{RISING}PATH {{{MEETING}}}"),
]
DEVICE = "D105VOL"  # the context knows it as ee:D105VOLUME
EVENTS = [
    (0, DEVICE, 510.0),
    (1, "m1", 560.0),
    (2, "a2", 520.0),
    (3, DEVICE, 530.0),
    (4, "m1", 620.0),
    (5, "t1", 460.0),
    (6, "nobody", 520.0),
    (12, DEVICE, 400.0),
]
# By minute. Of five minutes the event of the minute that began them is none.
ROWS: list[list[tuple[Any, ...]]] = [
    [
        (0, DEVICE, 510.0),
        (1, "m1", 560.0),
        (2, "a2", 520.0),
        (3, DEVICE, 530.0),
        (4, "m1", 620.0),
        (6, "nobody", 520.0),
    ],
    [(0, 510.0), (1, 535.0), (2, 530.0), (3, 530.0), (4, 548.0), (5, 538.0), (6, 530.0)],
    [(4, "m1")],
    [(0, DEVICE), (3, DEVICE)],
    [(3, DEVICE)],
    [(0, 510.0), (3, 520.0)],
    [(4, "m1")],
]


def moment(minute: int) -> str:
    return f"2012-05-07T09:{minute:02}:00Z"


def air(*rows: tuple[int, str | None, float]) -> list[dict[str, Any]]:
    return [{"sensorID": sensor, "flowrate": rate, "at": moment(minute)} for minute, sensor, rate in rows]


def paper(number: int, within: str = "") -> str:
    selected, sources, rest = QUERIES[number]
    return f"{PREFIXES}SELECT {selected}\nFROM {sources}\n{within}\nWHERE {rest}"


def rows(result: Any) -> list[tuple[Any, ...]]:
    """With the minute in front."""
    found = result.to_arrow().to_pylist()
    return [(row["at"].minute, *(value for name, value in row.items() if name != "at")) for row in found]


def write_files(folder: Path, world: str = WORLD) -> None:
    (folder / "world.ttl").write_text(world)
    for name in ("airflow.jsonld", "airvolume.jsonld"):
        (folder / name).write_text(read(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("campus")
    write_files(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        yield made


@pytest.fixture(scope="module")
def engine(spark: SparkSession, folder: Path) -> Iterator[Engine]:
    """A campus that nobody changes: it holds what the seven queries are asked of, and the other system's events."""
    with Engine(spark, folder / "home", roots=[folder]) as made:
        made.execute(DECLARED)
        made.load("AirflowReport", air(*EVENTS))
        volumes = [("ee:D105VOLUME", 700.0, 2), ("D105VOL", 710.0, 3), ("ee:a2", 480.0, 4), ("ee:m1", 720.0, 5)]
        made.load("AirVolume", [{"device": d, "airvolume": v, "at": moment(m)} for d, v, m in volumes])
        yield made


def test_the_seven_queries_have_their_rows(engine: Engine) -> None:
    assert [rows(engine.query(paper(number))) for number in range(7)] == ROWS


def test_the_queries_as_a_stream_in_two_cuts(engine: Engine) -> None:
    """One that filters, one with a window, one with a sequence: those without knowledge are other tests' work."""
    for number in (4, 5, 6):
        assert rows(engine.query(paper(number), mode="stream", batches=2)) == ROWS[number]


def test_the_seven_queries_standing_from_now_and_from_the_past(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    with Engine(spark, tmp_path / "home", roots=[folder]) as engine:
        engine.execute(DECLARED)
        now = [engine.deploy(paper(number), name=f"now{number}") for number in range(7)]
        engine.load("AirflowReport", air(*EVENTS[:4]))
        since = "WITHIN [2012-05-07T09:00, )"
        past = [engine.deploy(paper(number, since), name=f"past{number}") for number in range(7)]
        engine.load("AirflowReport", air(*EVENTS[4:]))
        for live in (*now, *past):
            live.drain(timeout=60)
            assert live.status.last_error is None
        assert [rows(live.results()) for live in now] == ROWS
        assert [rows(live.results()) for live in past] == ROWS
        assert [live.status.unknown_entities for live in now] == [0, 0, 0, 1, 1, 1, 1]


def test_one_question_for_two_streams_that_spell_it_differently(engine: Engine) -> None:
    found = rows(
        engine.query(
            PREFIXES + "SELECT e.hvc:airflow AS airflow FROM AirflowEvent AS e WHERE e.hvc:airflow > 500 "
            "AND PATH { ?e evt:hasSource/bd:hasLocation ?loc . ?loc rdf:type bd:Office }"
        )
    )
    # `D105VOL` is a word of the other context, `ee:a2` flows too little.
    assert sorted(found) == [(0, 510.0), (2, 520.0), (2, 700.0), (3, 530.0)]


def test_a_question_that_only_the_store_can_answer(engine: Engine) -> None:
    """What an OPTIONAL binds is asked for each distinct sensor."""
    found = rows(
        engine.query(
            PREFIXES + "SELECT e.sensorID FROM AirflowReport AS e WHERE PATH { ?e evt:hasSource ?src . "
            "OPTIONAL { ?src bd:hasLocation ?loc . ?loc bd:belongsTo org:CSDepartment } FILTER (!bound(?loc)) }"
        )
    )
    assert found == [(0, DEVICE), (1, "m1"), (3, DEVICE), (4, "m1"), (5, "t1"), (12, DEVICE)]


def test_variables_are_selected_and_grouped(engine: Engine) -> None:
    room = "PATH { ?e evt:hasSource/bd:hasLocation ?loc }.loc AS room"
    text = f"SELECT {room}, count(*) AS n, max(e.flowrate) AS most FROM AirflowReport AS e GROUP BY room"
    r1, r2, m1 = (f"http://cei.usc.edu/Building.owl#{name}" for name in ("r1", "r2", "m1"))
    assert rows(engine.query(PREFIXES + text)) == [
        (0, r1, 1, 510.0),
        (1, m1, 1, 560.0),
        (2, r2, 1, 520.0),
        (3, r1, 2, 530.0),
        (4, m1, 2, 620.0),
        (5, r1, 3, 530.0),
        (12, r1, 4, 530.0),
    ]


def test_large_relations_and_measured_limits_are_joined(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,200 sensors in rooms with limits of their own; every third room is an office; 100 sensors are unknown."""
    kinds = ("Office", "Hall", "Laboratory")
    world = NAMES + "\n".join(
        f"ee:s{n} bd:hasLocation bd:r{n} . bd:r{n} a bd:{kinds[n % 3]} ; hvc:limit {n % 7} ." for n in range(1200)
    )
    write_files(tmp_path, world)
    total = 30_000
    # Some measure nothing: NaN is over no limit.
    events = [(n % 1300, n * 5.0 % 11 if n % 97 else float("nan")) for n in range(total)]
    monkeypatch.chdir(tmp_path)
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(DECLARED.replace(" REASONING OWL_RL", ""))
        names, rates = [f"s{s}" for s, _ in events], [rate for _, rate in events]
        engine.load("AirflowReport", air(*zip([0] * total, names, rates, strict=True)))
        office = "PATH { ?e evt:hasSource/bd:hasLocation ?loc . ?loc rdf:type bd:Office }"
        over = (
            "PATH { ?e evt:hasSource/bd:hasLocation ?loc ; hvc:airflow ?rate . ?loc hvc:limit ?lim . "
            "FILTER (?rate > ?lim) }"
        )

        def count(condition: str) -> tuple[int, int]:
            text = f"SELECT e.flowrate AS rate, {over} AS over FROM AirflowReport AS e WHERE {condition}"
            (found,) = engine.query(PREFIXES + text).df.selectExpr("count(*)", "count_if(over)").collect()
            return found[0], found[1]

        def by_hand(condition: Any) -> tuple[int, int]:
            kept = [known_over(s, rate) for s, rate in events if condition(s, rate)]
            return len(kept), sum(kept)

        def known_over(s: int, rate: float) -> bool:
            return s < 1200 and rate > s % 7

        def known_office(s: int) -> bool:
            return s < 1200 and s % 3 == 0

        assert count(over) == by_hand(known_over)
        assert count(f"NOT {office} AND e.flowrate < 3") == by_hand(lambda s, rate: not known_office(s) and rate < 3)
        assert count(f"{office} OR NOT {over}") == by_hand(lambda s, rate: known_office(s) or not known_over(s, rate))


def test_a_standing_statement_goes_on_with_what_is_known_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    text = f"{PREFIXES}SELECT ?e.sensorID FROM {ONE} WHERE PATH {{{OFFICES}}}"
    monkeypatch.chdir(tmp_path)
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(DECLARED)
        live = engine.deploy(text, name="offices")
        engine.load("AirflowReport", air((0, DEVICE, 1.0), (1, "m1", 1.0), (2, "new", 1.0)))
        (tmp_path / "world.ttl").write_text(
            WORLD.replace("bd:m1 a bd:MeetingRoom", "bd:m1 a bd:Office")
            + "ee:new a ee:AirflowSensor ; bd:hasLocation bd:r1 ."
        )
        engine.execute("REFRESH KNOWLEDGE campus")
        engine.load("AirflowReport", air((3, DEVICE, 1.0), (4, "m1", 1.0), (5, "new", 1.0), (6, "nobody", 1.0)))
        live.drain(timeout=60)
        expected = [(0, DEVICE), (3, DEVICE), (4, "m1"), (5, "new")]
        assert rows(live.results()) == expected
        assert live.status.unknown_entities == 2
        # A query is read in the light of now.
        assert rows(engine.query(text)) == [(0, DEVICE), (1, "m1"), (2, "new"), *expected[1:]]
        (tmp_path / "world.ttl").write_text("no facts")
        with pytest.raises(PresageError, match="cannot be read as Turtle"):
            engine.execute("REFRESH KNOWLEDGE campus")
    for name in ("world.ttl", "airflow.jsonld", "airvolume.jsonld"):
        (tmp_path / name).unlink()
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as engine:
        engine.load("AirflowReport", air((7, "m1", 1.0), (8, "nobody", 1.0)))
        live = engine.deployments["offices"]
        live.drain(timeout=60)
        assert rows(live.results()) == [*expected, (7, "m1")]
        assert live.status.unknown_entities == 3
        with pytest.raises(PresageError, match="'offices'"):
            engine.execute("DROP KNOWLEDGE campus")
        live.stop()
        engine.execute("DROP KNOWLEDGE campus")
        with pytest.raises(PresageError, match="a PATH needs a knowledge base"):
            engine.query(text)


@pytest.mark.usefixtures("spark")
def test_the_campus_of_the_examples_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CAMPUS)
    checked = CliRunner().invoke(app, ["check", "queries.epl"])
    assert checked.exit_code == 0, checked.output
    # The declarations and a few queries: those whose limits are in the ontology, and a pattern over two streams.
    parts = (CAMPUS / "queries.epl").read_text().split(";\n")
    chosen = [part for part in parts if "CREATE " in part or "?gaf" in part or "FROM PATTERN" in part]
    names = ("AirflowReport", "AirVolume", "OccupancyReport")
    events = [option for name in names for option in ("--events", f"{name}={name.lower()}.jsonl")]
    done = CliRunner().invoke(app, ["run", "-", "--format", "json", *events], input=";\n".join(chosen) + ";")
    assert done.exit_code == 0, done.output
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row for row in made if "counter" in row]
    reports = map(json.loads, (CAMPUS / "airflowreport.jsonl").read_text().splitlines())
    # Offices of EE are RTH105, where D105VOL hangs, and RTH107.
    over = [
        r["sensorID"] for r in reports if r["flowrate"] > 500 and r["sensorID"] in (DEVICE, "RTH107-AF1", "RTH107-RF1")
    ]
    assert [row["sensorID"] for row in made if set(row) == {"sensorID", "at"}] == over
