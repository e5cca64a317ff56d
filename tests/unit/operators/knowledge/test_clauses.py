"""The paper's clause form: its seven queries as printed, what each clause means, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from presage.demo import read, vocabulary
from presage.errors import PresageError
from presage.lang import parse_statement
from presage.workspace import Workspace
from property.knowledge_run import knowing, rows_of

NINE = datetime(2012, 5, 7, 9, tzinfo=UTC)
PREFIXES = """PREFIX bd:<http://cei.usc.edu/Building.owl#>
PREFIX ee:<http://cei.usc.edu/Equipment.owl#>
PREFIX hvc:<http://cei.usc.edu/HVAC.owl#>
PREFIX org:<http://cei.usc.edu/Organization.owl#>
PREFIX evt:<http://cei.usc.edu/Event.owl#>
PREFIX rdf:<http://www.w3.org/1999/02/22-rdf-syntax-ns#>
"""
# An office of the EE department, one of another, a meeting room with two sensors, of which one measures no air.
PLACES = """
bd:r1 a bd:PrivateOffice ; bd:belongsTo org:EEDepartment .
bd:r2 a bd:Office ; bd:belongsTo org:CSDepartment .
bd:m1 a bd:MeetingRoom ; bd:belongsTo org:EEDepartment .
ee:a1 a ee:SupplyAirflowSensor ; bd:hasLocation bd:r1 .
ee:a2 a ee:ReturnAirflowSensor ; bd:hasLocation bd:r2 .
ee:a3 a ee:AirflowSensor ; bd:hasLocation bd:m1 .
ee:t3 a ee:TemperatureSensor ; bd:hasLocation bd:m1 .
"""
DECLARED = """
CREATE SCHEMA AirflowEvent (at TIMESTAMP) EVENT TIME at;
CREATE STREAM AirflowReport (sensorID STRING, flowrate DOUBLE) INHERITS AirflowEvent CONTEXT 'airflow.jsonld';
CREATE STREAM AirVolume (device STRING, airvolume DOUBLE) INHERITS AirflowEvent CONTEXT 'airvolume.jsonld';
"""
OFFICE = """PATH {?e evt:hasSource ?src .
?src rdf:type ee:AirflowSensor .
?src bd:hasLocation ?loc .
?loc rdf:type bd:Office .
?loc bd:belongsTo org:EEDepartment}"""
ONE = "FROM (?e, AirflowReport)\n"
TWO = "FROM (?e1, AirflowReport), (?e2, AirflowReport)\n"
PAPER = {
    1: f"SELECT ?e.sensorID, ?e.flowrate\n{ONE}FILTER (?e.flowrate > 500)",
    2: f"SELECT AVG(?e.flowrate) > 500 AS avgrate\n{ONE}WINDOW (?e, sliding, 5min)",
    3: f"""SELECT ?e1.sensorID
{TWO}FILTER (?e1.flowrate > 500)
JOIN (?e2.sensorID = ?e1.sensorID)
JOIN (?e2.flowrate-?e1.flowrate > 50)
SEQ (?e1, ?e2)
WINDOW (?e1, ?e2, 5min)""",
    4: f"SELECT ?e.sensorID\n{ONE}FILTER (?e.hvc:airflow > 500)\n{OFFICE}",
    5: f"""SELECT ?e.sensorID
{ONE}{OFFICE[:-1]} .
?e hvc:airflow ?rate .
hvc:GreenOfficeAirflow hvc:hasValue ?gaf .
FILTER (?rate > ?gaf)}}""",
    6: f"SELECT AVG(?e.flowrate) > 500 AS avgrate\n{ONE}WINDOW (?e, sliding, 5min)\n{OFFICE}",
    7: f"""SELECT ?e1.sensorID
{TWO}FILTER (?e1.flowrate > 500)
JOIN (?e2.sensorID = ?e1.sensorID) JOIN (?e2.flowrate-
?e1.flowrate > 50)

SEQ (?e1, ?e2)
WINDOW (?e1, ?e2, 5min)
PATH {{?e1 evt:hasSource ?src1 .
?src1 rdf:type ee:AirflowSensor .
?src1 bd:hasLocation ?loc1 .
?loc1 rdf:type bd:MeetingRoom .
?e2 evt:hasSource ?src2 .
?src2 rdf:type ee:AirflowSensor .
?src2 bd:hasLocation ?loc2 .
?loc2 rdf:type bd:MeetingRoom }}""",
}


def air(*rows: tuple[int, str, float]) -> list[dict[str, Any]]:
    """Events by minute."""
    return [{"sensorID": name, "flowrate": flow, "at": NINE + timedelta(minutes=m)} for m, name, flow in rows]


def volume(*rows: tuple[int, str, float]) -> list[dict[str, Any]]:
    return [{"device": name, "airvolume": flow, "at": NINE + timedelta(minutes=m)} for m, name, flow in rows]


EVENTS: dict[str, Sequence[dict[str, Any]]] = {
    "AirflowReport": air(
        (0, "a1", 510.0),
        (1, "a3", 520.0),
        (2, "a2", 600.0),
        (3, "a3", 580.0),
        (4, "a1", 450.0),
        (5, "t3", 700.0),
        (6, "a3", 640.0),
        (7, "a1", 560.0),
        (8, "t3", 800.0),
        (9, "x", 300.0),
    ),
    "AirVolume": volume((2, "ee:a1", 610.0), (6, "ee:a3", 90.0)),
}
# By hand. 2: the window is (t - 5 min, t]; its mean at 4 is 532, at 9 550. 3: a3 0→3 +60, 3→6 +60; 1→6 is five
# minutes apart, not within them; t3 5→8. 6: of a1 alone 510; 480; 505 of the last two.
ROWS: dict[int, list[Any]] = {
    1: [
        ("a1", 510.0),
        ("a3", 520.0),
        ("a2", 600.0),
        ("a3", 580.0),
        ("t3", 700.0),
        ("a3", 640.0),
        ("a1", 560.0),
        ("t3", 800.0),
    ],
    2: [510.0, 515.0, 1630 / 3, 552.5, 532.0, 570.0, 594.0, 586.0, 630.0, 600.0],
    3: ["a3", "a3", "t3"],
    4: ["a1", "a1"],
    5: ["a1", "a1"],
    6: [510.0, 505.0],
    7: ["a3", "a3"],
}


@pytest.fixture(scope="module")
def campus(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    contexts = {"airflow_jsonld": read("airflow.jsonld"), "airvolume_jsonld": read("airvolume.jsonld")}
    made: Workspace = knowing(tmp_path_factory.mktemp("campus"), vocabulary() + PLACES, DECLARED, **contexts)
    return made


def rows(workspace: Workspace, text: str) -> list[Any]:
    """The rows, without their times; a value alone if there is one column."""
    seen = []
    for workspace.optimizing, live in ((False, False), (False, True), (True, True), (True, False)):
        found = sorted(rows_of(workspace, PREFIXES + text, EVENTS, live), key=lambda row: row["at"])
        plain = [tuple(value for name, value in row.items() if name != "at") for row in found]
        seen.append([row[0] if len(row) == 1 else row for row in plain])
    assert all(one == seen[0] for one in seen[1:])
    return seen[-1]


@pytest.mark.parametrize("number", PAPER)
@pytest.mark.parametrize("where", [False, True])
def test_the_papers_queries(number: int, where: bool, campus: Workspace) -> None:
    text = PAPER[number]
    if where:
        text = text.replace("AirflowReport)\n", "AirflowReport)\nWHERE ", 1)
    wanted = ROWS[number]
    assert rows(campus, text) == (pytest.approx(wanted) if isinstance(wanted[0], float) else wanted)


def test_a_filter_in_other_words_is_the_same(campus: Workspace) -> None:
    assert rows(campus, PAPER[1].replace("FILTER (?e.flowrate", "FILTER (?e.hvc:airflow")) == ROWS[1]


def test_clauses_may_stand_in_any_order(campus: Workspace) -> None:
    head, *clauses = PAPER[3].split("\n")[1:]
    turned = "\n".join(["SELECT ?e1.sensorID", head, *reversed(clauses)])
    assert rows(campus, turned) == ROWS[3]


def test_the_paper_and_the_general_form_mean_the_same(campus: Workspace) -> None:
    general = f"SELECT e.sensorID FROM AirflowReport AS e WHERE e.hvc:airflow > 500 AND {OFFICE}"
    assert rows(campus, general) == ROWS[4]
    pattern = """SELECT a.sensorID FROM PATTERN [ EVERY a=AirflowReport(flowrate > 500) -> (EVERY b=AirflowReport(
        sensorID = a.sensorID AND flowrate - a.flowrate > 50)) WHERE timer:within(5 min) ]"""
    assert rows(campus, pattern) == ROWS[3]
    window = "SELECT avg(e.flowrate) AS mean FROM AirflowReport#time(5 min) AS e HAVING avg(e.flowrate) > 500"
    assert rows(campus, window) == pytest.approx(ROWS[2])


def test_an_average_above_is_a_truth_value_elsewhere(campus: Workspace) -> None:
    found = rows(campus, "SELECT avg(e.flowrate) > 550 AS high FROM AirflowReport#time(5 min) AS e")
    assert found == [False, False, False, True, False, True, True, True, True, True]


def test_paths_join_by_and_or_by_or_where_it_is_written(campus: Workspace) -> None:
    one, two = "PATH { ?e evt:hasSource ee:a1 }", "PATH { ?e hvc:airflow ?r . FILTER (?r > 550) }"
    assert rows(campus, f"SELECT ?e.flowrate {ONE} {one} {two}") == [560.0]
    assert rows(campus, f"SELECT ?e.flowrate {ONE} {one} AND {two}") == [560.0]
    assert rows(campus, f"SELECT ?e.flowrate {ONE} {one} OR {two}") == [
        510.0,
        600.0,
        580.0,
        450.0,
        700.0,
        640.0,
        560.0,
        800.0,
    ]
    assert rows(campus, f"SELECT ?e.flowrate {ONE} WHERE NOT {one} AND ?e.flowrate < 530") == [520.0, 300.0]


def test_windows_by_number_and_in_batches(campus: Workspace) -> None:
    assert rows(campus, f"SELECT COUNT(*) AS n {ONE} WINDOW (?e, batch, 4)") == [4, 4]
    assert rows(campus, f"SELECT MAX(?e.flowrate) < 600 AS m {ONE} WINDOW (?e, sliding, 2)") == [510.0, 520.0, 580.0]
    assert rows(campus, f"SELECT 700 < MAX(?e.flowrate) AS m {ONE} WINDOW (?e, batch, 5 min)") == [800.0]


def test_a_join_without_an_order(campus: Workspace) -> None:
    text = """SELECT ?a.sensorID, ?b.device FROM (?a, AirflowReport), (?b, AirVolume)
        JOIN (?a.flowrate > ?b.airvolume) WINDOW (?a, ?b, 2 min)
        PATH { ?a evt:hasSource ?s . ?s a ee:AirflowSensor . ?b evt:hasSource ?t . ?t bd:hasLocation bd:m1 }"""
    assert rows(campus, text) == [("a3", "ee:a3"), ("a1", "ee:a3")]


def test_a_sequence_of_three_over_two_streams(campus: Workspace) -> None:
    text = """SELECT ?a.flowrate AS a, ?b.airvolume AS b, ?c.flowrate AS c
        FROM (?a, AirflowReport), (?b, AirVolume), (?c, AirflowReport) SEQ (?a, ?b, ?c) WINDOW (?a, ?c, 3 min)
        PATH { ?b evt:hasSource ?s . ?s a ee:AirflowSensor . ?c evt:hasSource ?t . ?t a ee:AirflowSensor }"""
    # ee:a1 reports at 2, ee:a3 at 6; at equal times the streams follow each other as they are declared.
    found = rows(campus, text)
    assert (520.0, 610.0, 580.0) in found
    assert (700.0, 90.0, 560.0) in found
    assert all(b in (610.0, 90.0) and c != 800.0 for _, b, c in found)


def test_either_event_of_a_sequence_may_fulfil_an_or(campus: Workspace) -> None:
    text = f"""SELECT ?e1.flowrate AS a, ?e2.flowrate AS b {TWO} SEQ (?e1, ?e2) WINDOW (?e1, ?e2, 90 sec)
        PATH {{ ?e1 evt:hasSource ee:a2 }} OR PATH {{ ?e2 evt:hasSource ee:a2 }}"""
    assert rows(campus, text) == [(520.0, 600.0), (600.0, 580.0)]


def test_a_variable_of_a_path_can_be_selected(campus: Workspace) -> None:
    text = f"SELECT ?e.sensorID, PATH {{ ?e evt:hasSource/bd:hasLocation ?l }}.l AS l {ONE} FILTER (?e.flowrate > 600)"
    m1 = "http://cei.usc.edu/Building.owl#m1"
    assert rows(campus, text) == [("t3", m1), ("a3", m1), ("t3", m1)]


@pytest.mark.parametrize(("kind", "wanted"), [("Office", ["a2"]), ("Kitchen", [])])
def test_a_part_of_a_path_that_speaks_of_no_event(kind: str, wanted: list[str], campus: Workspace) -> None:
    text = f"""SELECT ?e1.sensorID {TWO} SEQ (?e1, ?e2) WINDOW (?e1, ?e2, 90 sec)
        PATH {{ ?e1 evt:hasSource ee:a2 . bd:r1 a bd:{kind} . ?e2 evt:hasSource ee:a3 }}"""
    assert rows(campus, text) == wanted


def test_a_sequence_over_streams_that_spell_differently(campus: Workspace) -> None:
    text = """SELECT ?e1.hvc:airflow AS a, ?e2.hvc:airflow AS b FROM (?e1, AirflowEvent), (?e2, AirflowEvent)
        JOIN (?e2.hvc:airflow - ?e1.hvc:airflow > 80) SEQ (?e1, ?e2) WINDOW (?e1, ?e2, 150 sec)
        PATH { ?e2 evt:hasSource/bd:hasLocation bd:r1 }"""
    assert rows(campus, text) == [(510.0, 610.0), (520.0, 610.0), (90.0, 560.0)]


def test_the_form_is_printed_as_it_was_read() -> None:
    from presage.lang.printer import print_statement

    for text in PAPER.values():
        once = parse_statement(PREFIXES + text)
        assert parse_statement(print_statement(once)) == once


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (f"SELECT ?x.sensorID {ONE}", "UNKNOWN_ALIAS", "'x'"),
        (f"SELECT ?e.sensorID {ONE} FILTER (?x.flowrate > 5)", "UNKNOWN_ALIAS", "'x'"),
        (f"SELECT ?e.sensorID {ONE} WINDOW (?x, sliding, 5 min)", "UNKNOWN_ALIAS", "add (?x, …) to FROM"),
        (f"SELECT ?e.sensorID {ONE} WINDOW (?e, tumbling, 5 min)", "BAD_VALUE", "sliding or batch"),
        (f"SELECT ?e.sensorID {ONE} WINDOW (?e, sliding, 0)", "BAD_VALUE", "at least 1"),
        (f"SELECT ?e.sensorID {ONE} SEQ (?e, ?e)", "UNSUPPORTED", "twice"),
        (f"SELECT ?e.sensorID {ONE} SEQ (?e)", "SYNTAX", "two events"),
        (f"SELECT ?e1.sensorID {TWO} SEQ (?e1, ?e2) SEQ (?e2, ?e1)", "SYNTAX", "a second SEQ"),
        (f"SELECT ?e1.sensorID {TWO} SEQ (?e1, ?e2) WINDOW (?e1, ?e2, 5)", "UNSUPPORTED", "5 min"),
        (f"SELECT ?e1.sensorID {TWO} SEQ (?e1, ?e3)", "UNKNOWN_ALIAS", "?e3"),
        (
            f"SELECT ?e1.sensorID {TWO} SEQ (?e1, ?e2) PATH {{ ?e1 evt:hasSource ?s . ?e2 evt:hasSource ?s }}",
            "PATH_LINKS_EVENTS",
            "?e1 and ?e2",
        ),
        ("SELECT ?e.sensorID FROM (?e, AirflwReport)", "UNKNOWN_STREAM", "did you mean 'AirflowReport'?"),
        ("SELECT ?e.sensorID FROM (?e, AirflowReport), (?e, AirVolume)", "DUPLICATE_NAME", "'e'"),
    ],
)
def test_what_is_refused(text: str, code: str, said: str, campus: Workspace) -> None:
    with pytest.raises(PresageError) as caught:
        campus.check(PREFIXES + text)
    assert caught.value.code == code
    assert said in str(caught.value)
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?e.sensorID FROM (e, AirflowReport)",
        "SELECT e.sensorID FROM AirflowReport AS e WHERE PATH ?e evt:hasSource ?s",
    ],
)
def test_errors_speak_of_what_users_write(text: str, campus: Workspace) -> None:
    with pytest.raises(PresageError) as caught:
        campus.check(PREFIXES + text)
    assert "EVENT_" not in str(caught.value)
