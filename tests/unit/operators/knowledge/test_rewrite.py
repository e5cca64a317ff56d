"""Words of the domain wherever a condition may stand: rows worked out by hand, and errors as a user reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from presage.demo import read, vocabulary
from presage.errors import PresageError
from presage.lang import parse_statement
from presage.workspace import Workspace
from property.knowledge_run import knowing, rows_of

NINE = datetime(2012, 5, 7, 9, tzinfo=UTC)
PREFIXES = """PREFIX bd: <http://cei.usc.edu/Building.owl#> PREFIX ee: <http://cei.usc.edu/Equipment.owl#>
PREFIX hvc: <http://cei.usc.edu/HVAC.owl#> PREFIX evt: <http://cei.usc.edu/Event.owl#>
PREFIX org: <http://cei.usc.edu/Organization.owl#>
"""
# Offices r1 (private) and r2, a meeting room m1; a2 hangs between r2 and m1; t1 is no airflow sensor.
PLACES = """
bd:r1 a bd:PrivateOffice ; bd:belongsTo org:EE ; bd:capacity 2 .
bd:r2 a bd:Office ; bd:belongsTo org:CS ; bd:capacity 4 .
bd:m1 a bd:MeetingRoom ; bd:belongsTo org:EE ; bd:capacity 6 .
ee:D105VOLUME a ee:SupplyAirflowSensor ; bd:hasLocation bd:r1 .
ee:a2 a ee:AirflowSensor ; bd:hasLocation bd:r2 , bd:m1 .
ee:a3 a ee:AirflowSensor ; bd:hasLocation bd:m1 .
ee:t1 a ee:TemperatureSensor ; bd:hasLocation bd:r1 .
"""
DECLARED = """
CREATE SCHEMA AirflowEvent (at TIMESTAMP) EVENT TIME at;
CREATE STREAM AirflowReport (sensorID STRING, flowrate DOUBLE) INHERITS AirflowEvent CONTEXT 'airflow.jsonld';
CREATE STREAM AirVolume (device STRING, airvolume DOUBLE) INHERITS AirflowEvent CONTEXT 'airvolume.jsonld';
CREATE STREAM Bell (n INT, at TIMESTAMP) EVENT TIME at;
"""
OFFICE = "?{0} evt:hasSource ?src . ?src bd:hasLocation ?loc . ?loc a bd:Office"
ROOM = "PATH {{ ?{0} evt:hasSource ?src . ?src bd:hasLocation ?loc }}"


def at(second: int) -> datetime:
    return NINE + timedelta(seconds=second)


def air(*rows: tuple[int, str | None, float | None]) -> list[dict[str, Any]]:
    return [{"sensorID": name, "flowrate": flow, "at": at(second)} for second, name, flow in rows]


def volume(*rows: tuple[int, str, float]) -> list[dict[str, Any]]:
    return [{"device": name, "airvolume": flow, "at": at(second)} for second, name, flow in rows]


# `a3` stands for ee:a3 by @vocab; the context knows D105VOL by name; in AirVolume a plain `a3` is no IRI.
EVENTS = {
    "AirflowReport": air(
        (0, "D105VOL", 510.0),
        (10, "a2", 520.0),
        (20, "a3", 530.0),
        (30, "t1", 540.0),
        (40, "nobody", 550.0),
        (50, None, 560.0),
        (60, "ee:D105VOLUME", None),
        (70, "a2", float("nan")),
    ),
    "AirVolume": volume((5, "ee:D105VOLUME", 700.0), (15, "a3", 100.0), (25, "ee:a3", 535.0)),
    "Bell": [{"n": 1, "at": at(45)}],
}


@pytest.fixture(scope="module")
def campus(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return made(tmp_path_factory.mktemp("campus"))


def made(folder: Path, more: str = "", known: str = PLACES, **files: str) -> Workspace:
    contexts = {"airflow_jsonld": read("airflow.jsonld"), "airvolume_jsonld": read("airvolume.jsonld")}
    return knowing(folder, vocabulary() + known, DECLARED + more, **contexts, **files)


def rows(workspace: Workspace, text: str, events: dict[str, Any] = EVENTS) -> list[tuple[Any, ...]]:
    """The rows, without their times, in order of time: the same whether rules simplify, whether it stands."""
    seen = []
    for workspace.optimizing, live in ((False, False), (False, True), (True, True), (True, False)):
        found = sorted(rows_of(workspace, PREFIXES + text, events, live), key=lambda row: row["at"])
        seen.append([tuple(value for name, value in row.items() if name != "at") for row in found])
    assert all(repr(one) == repr(seen[0]) for one in seen[1:])
    return seen[-1]


def firsts(workspace: Workspace, text: str, events: dict[str, Any] = EVENTS) -> list[Any]:
    return [row[0] for row in rows(workspace, text, events)]


def local(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """IRIs by what stands behind their #."""
    return [tuple(v.rpartition("#")[2] if isinstance(v, str) else v for v in row) for row in found]


# -- conditions --------------------------------------------------------------------------------------


def test_a_path_holds_of_events_that_lead_there(campus: Workspace) -> None:
    text = f"SELECT e.sensorID FROM AirflowReport AS e WHERE PATH {{ {OFFICE.format('e')} }}"
    assert firsts(campus, text) == ["D105VOL", "a2", "t1", "ee:D105VOLUME", "a2"]


def test_not_holds_of_all_others_of_those_without_a_source_too(campus: Workspace) -> None:
    text = f"SELECT e.sensorID FROM AirflowReport AS e WHERE NOT PATH {{ {OFFICE.format('e')} }}"
    assert firsts(campus, text) == ["a3", "nobody", None]


def test_and_or_not_mix_with_plain_conditions(campus: Workspace) -> None:
    text = """SELECT e.sensorID FROM AirflowReport AS e
        WHERE (PATH { ?e evt:hasSource ee:a3 } OR PATH { ?e evt:hasSource/bd:hasLocation bd:r2 })
          AND NOT (e.flowrate > 525 AND PATH { ?e evt:hasSource ?s . ?s a ee:AirflowSensor })"""
    # NaN is greater than any number, as in Spark; nothing is known of a3 that would save it.
    assert firsts(campus, text) == ["a2"]


def test_a_path_never_is_null(campus: Workspace) -> None:
    assert rows(campus, "SELECT e.sensorID FROM AirflowReport AS e WHERE PATH { ?e evt:hasSource ee:a3 } IS NULL") == []


def test_a_measured_value_is_compared_with_what_is_known_of_its_place(campus: Workspace) -> None:
    text = """SELECT e.sensorID, e.flowrate FROM AirflowReport AS e
        WHERE PATH { ?e evt:hasSource/bd:hasLocation ?loc . ?loc bd:capacity ?seats . ?e hvc:airflow ?rate .
                     FILTER (?rate > 100 * ?seats) }"""
    assert rows(campus, text) == [("D105VOL", 510.0), ("a2", 520.0), ("t1", 540.0)]


@pytest.mark.parametrize("name", ["x", "s", "p", "o"])
def test_a_variable_may_have_any_name(name: str, tmp_path: Path) -> None:
    known = made(tmp_path, known="ee:a8 bd:weight 3 . bd:wing bd:contains ee:a9 .")
    events = {"AirflowReport": air((0, "a8", 1.0), (1, "a9", 1.0), (2, "a7", 1.0))}
    text = f"SELECT e.sensorID FROM AirflowReport AS e WHERE PATH {{ ?e evt:hasSource ?{name} }}"
    assert firsts(known, text, events) == ["a8", "a9"]


def test_two_parts_of_a_path_speak_of_two_events_of_a_pattern(campus: Workspace) -> None:
    text = """SELECT a.sensorID AS a, b.sensorID AS b FROM PATTERN [ EVERY a=AirflowReport -> b=AirflowReport ]
        WHERE PATH { ?a evt:hasSource/bd:hasLocation ?x . ?x a bd:Office .
                     ?b evt:hasSource/bd:hasLocation ?y . ?y a bd:MeetingRoom }"""
    assert rows(campus, text) == [("D105VOL", "a2"), ("a2", "a3"), ("ee:D105VOLUME", "a2")]


def test_a_part_that_speaks_of_no_event_must_hold_too(campus: Workspace) -> None:
    text = "SELECT e.sensorID FROM AirflowReport AS e WHERE PATH {{ ?e evt:hasSource ee:a3 . bd:r1 a bd:{} }}"
    assert firsts(campus, text.format("Office")) == ["a3"]
    assert firsts(campus, text.format("MeetingRoom")) == []


# -- where they may stand --------------------------------------------------------------------------------


def test_in_the_filters_of_a_pattern(campus: Workspace) -> None:
    text = f"""SELECT a.sensorID AS a, b.device AS b
        FROM PATTERN [ EVERY a=AirflowReport(PATH {{ {OFFICE.format("a")} }})
                       -> b=AirVolume(NOT PATH {{ {OFFICE.format("b")} }} AND b.hvc:airflow > a.hvc:airflow) ]"""
    assert rows(campus, text) == [("D105VOL", "ee:a3"), ("a2", "ee:a3")]


def test_in_define_and_measures(campus: Workspace) -> None:
    text = f"""SELECT * FROM AirflowReport MATCH_RECOGNIZE (
        MEASURES A.hvc:airflow AS one, LAST(B.hvc:airflow) AS last, PATH {{ ?A evt:hasSource ee:a2 }} AS two
        PATTERN (A B+) DEFINE A AS PATH {{ {OFFICE.format("A")} }},
        B AS NOT PATH {{ {OFFICE.format("B")} }} OR B.hvc:airflow = 520)"""
    assert rows(campus, text) == [(510.0, 530.0, False), (540.0, 560.0, False)]


def test_in_group_by_and_having(campus: Workspace) -> None:
    text = """SELECT e.sensorID, count(*) AS n, max(e.hvc:airflow) AS most FROM AirflowReport AS e
        GROUP BY e.evt:hasSource HAVING count(*) > 1 OR PATH { ?e evt:hasSource/bd:hasLocation bd:r1 }"""
    assert repr(rows(campus, text)) == repr(
        [
            ("D105VOL", 1, 510.0),
            ("t1", 1, 540.0),
            ("ee:D105VOLUME", 1, None),
            ("a2", 2, float("nan")),
        ]
    )


def test_a_path_is_a_value_as_any_condition_is(campus: Workspace) -> None:
    text = f"""SELECT PATH {{ {OFFICE.format("e")} }} AS office, count(*) AS n FROM AirflowReport AS e
        GROUP BY PATH {{ {OFFICE.format("e")} }}"""
    assert rows(campus, text) == [
        (True, 1),
        (True, 2),
        (False, 1),
        (True, 3),
        (False, 2),
        (False, 3),
        (True, 4),
        (True, 5),
    ]


def test_in_windows_filters_of_streams_and_joins(campus: Workspace) -> None:
    unique = "SELECT e.sensorID, count(*) AS n FROM AirflowReport(PATH {{ {} }})#unique(e.evt:hasSource) AS e"
    found = rows(campus, unique.format(OFFICE.format("e")))
    assert found == [("D105VOL", 1), ("a2", 2), ("t1", 3), ("ee:D105VOLUME", 4), ("a2", 4)]
    join = """SELECT a.sensorID AS a, b.device AS b FROM AirflowReport#lastevent AS a JOIN AirVolume#lastevent AS b
        ON PATH { ?a evt:hasSource/bd:hasLocation/a bd:Office . ?b evt:hasSource/bd:hasLocation/a bd:Office }
           OR a.hvc:airflow < b.hvc:airflow"""
    # D105VOL and a2 are in offices as ee:D105VOLUME is; then a3, 530, meets 535.
    assert rows(campus, join) == [("D105VOL", "ee:D105VOLUME"), ("a2", "ee:D105VOLUME"), ("a3", "ee:a3")]


def test_repeated_tags_and_subsets_have_words_too(campus: Workspace) -> None:
    text = "SELECT a[0].hvc:airflow AS x, a[1].hvc:airflow AS y FROM PATTERN [ [2] a=AirflowReport -> b=AirVolume ]"
    assert rows(campus, text) == [(510.0, 520.0)]
    text = """SELECT m.x AS x, m.y AS y FROM AirflowReport MATCH_RECOGNIZE (
        MEASURES A.firstOf().hvc:airflow AS x, avg(U.hvc:airflow) AS y PATTERN (A{2} B) SUBSET U = (A, B)
        DEFINE B AS PATH { ?B evt:hasSource ee:a3 }) AS m"""
    assert rows(campus, text) == [(510.0, 520.0)]


# -- streams that spell differently ------------------------------------------------------------------


@pytest.mark.parametrize("type_name", ["AirflowEvent", "Event"])
def test_one_query_over_streams_that_spell_differently(type_name: str, campus: Workspace) -> None:
    text = f"""SELECT e.hvc:airflow AS flow, e.evt:hasSource AS source FROM {type_name} AS e
        WHERE e.hvc:airflow < 600 AND PATH {{ {OFFICE.format("e")} }} OR e.hvc:airflow >= 600"""
    assert repr(rows(campus, text)) == repr(
        [
            (510.0, "D105VOL"),
            (700.0, "ee:D105VOLUME"),
            (520.0, "a2"),
            (540.0, "t1"),
            (float("nan"), "a2"),
        ]
    )


def test_streams_without_a_context_match_nothing_and_are_not_lost(campus: Workspace) -> None:
    text = f"SELECT e.hvc:airflow AS flow FROM Event AS e WHERE NOT PATH {{ {OFFICE.format('e')} }}"
    assert firsts(campus, text) == [100.0, 530.0, 535.0, 550.0, None, 560.0]


def test_two_types_meet_in_a_match_over_their_schema(campus: Workspace) -> None:
    text = f"""SELECT * FROM AirflowEvent MATCH_RECOGNIZE (MEASURES A.hvc:airflow AS x, B.hvc:airflow AS y
        PATTERN (A B) DEFINE A AS PATH {{ {OFFICE.format("A")} }}, B AS NOT PATH {{ {OFFICE.format("B")} }})"""
    assert rows(campus, text) == [(520.0, 100.0), (540.0, 550.0)]


SCHEMA_PATTERNS = [
    "EVERY a=AirflowEvent(PATH { ?a evt:hasSource ee:a3 }) -> b=AirflowEvent(PATH { ?b evt:hasSource ee:a3 })",
    "EVERY a=AirflowEvent(a.evt:hasSource LIKE '%a3') -> b=AirflowEvent(b.hvc:airflow = 535)",
]


@pytest.mark.parametrize("pattern", SCHEMA_PATTERNS)
def test_filters_of_a_pattern_over_a_schema(pattern: str, campus: Workspace) -> None:
    text = f"SELECT a.hvc:airflow AS x, b.hvc:airflow AS y FROM PATTERN [ {pattern} ]"
    assert rows(campus, text)[-1] == (530.0, 535.0)


def test_a_context_of_a_schema_is_that_of_its_streams(tmp_path: Path) -> None:
    known = made(
        tmp_path,
        "CREATE SCHEMA Told (sensorID STRING, at TIMESTAMP) EVENT TIME at CONTEXT 'airflow.jsonld';"
        "CREATE STREAM Child (y INT) INHERITS Told;",
    )
    events = {"Child": [{"sensorID": "a3", "y": 7, "at": at(0)}, {"sensorID": "a9", "y": 8, "at": at(1)}]}
    assert firsts(known, "SELECT c.y FROM Child AS c WHERE PATH { ?c evt:hasSource ?s }", events) == [7]
    assert firsts(known, "SELECT c.evt:hasSource AS s FROM Told AS c", events) == ["a3", "a9"]


# -- variables that are selected ---------------------------------------------------------------------


def test_a_row_for_every_solution(campus: Workspace) -> None:
    text = f"SELECT e.sensorID, {ROOM.format('e')}.loc AS room FROM AirflowReport AS e WHERE e.flowrate < 550"
    found = rows(campus, text)
    assert sorted(local(found)) == [("D105VOL", "r1"), ("a2", "m1"), ("a2", "r2"), ("a3", "m1"), ("t1", "r1")]
    assert all(room.startswith("http://cei.usc.edu/Building.owl#") for _, room in found)


@pytest.mark.parametrize("reasoning", [True, False])
def test_a_value_has_every_name_of_its_entity_where_that_is_reasoned(tmp_path: Path, reasoning: bool) -> None:
    known = PLACES + "ee:a2 <http://www.w3.org/2002/07/owl#sameAs> ee:alpha ."
    world = made(tmp_path, known=known)
    if not reasoning:
        world = Workspace([tmp_path], tmp_path)
        world.check(f"CREATE KNOWLEDGE world FROM 'world.ttl';\n{DECLARED}")
    named = "PATH { ?e evt:hasSource ee:alpha }"
    filtered = "PATH { ?e evt:hasSource ?s . FILTER (?s = ee:alpha) }"
    both = "PATH { ?e evt:hasSource ?s . OPTIONAL { ?e hvc:airflow ?f } FILTER (?s = ee:alpha) }"  # asked of the store
    shown = "SELECT PATH { ?e evt:hasSource ?s }.s AS s FROM AirflowReport AS e WHERE e.flowrate = 520"
    for condition in (named, filtered, both):
        assert firsts(world, WHERE + condition) == (["a2", "a2"] if reasoning else []), condition
    assert local(rows(world, shown)) == ([("a2",), ("alpha",)] if reasoning else [("a2",)])


def test_two_variables_of_one_path_belong_together(campus: Workspace) -> None:
    path = "PATH { ?e evt:hasSource ?src . ?src bd:hasLocation ?loc . ?loc bd:capacity ?n }"
    text = f"SELECT {path}.src AS s, {path}.loc AS l, {path}.n AS n FROM AirflowReport AS e WHERE e.flowrate = 520"
    assert sorted(local(rows(campus, text))) == [("a2", "m1", "6"), ("a2", "r2", "4")]


def test_blanks_make_no_other_path(campus: Workspace) -> None:
    one = "PATH { ?e evt:hasSource/bd:hasLocation ?l . ?l bd:capacity ?n }"
    other = "PATH {?e evt:hasSource/bd:hasLocation ?l.\n  ?l bd:capacity ?n}"
    text = f"SELECT {one}.l AS l, {other}.n AS n FROM AirflowReport AS e WHERE e.flowrate = 520"
    assert sorted(local(rows(campus, text))) == [("m1", "6"), ("r2", "4")]


def test_solutions_are_grouped_filtered_and_joined_as_any_value_is(campus: Workspace) -> None:
    group = (
        f"SELECT {ROOM.format('e')}.loc AS room, count(*) AS n FROM AirflowReport AS e GROUP BY {ROOM.format('e')}.loc"
    )
    assert sorted(local(rows(campus, group))[-2:]) == [("m1", 3), ("r2", 2)]
    chosen = f"SELECT e.sensorID FROM AirflowReport AS e WHERE {ROOM.format('e')}.loc LIKE '%m1' AND e.flowrate > 0"
    assert firsts(campus, chosen) == ["a2", "a3", "a2"]
    join = f"""SELECT a.sensorID AS a, b.device AS b FROM AirflowReport#lastevent AS a JOIN AirVolume#lastevent AS b
        ON {ROOM.format("a")}.loc = {ROOM.format("b")}.loc"""
    assert rows(campus, join) == [("D105VOL", "ee:D105VOLUME"), ("a3", "ee:a3"), ("a2", "ee:a3")]


def test_all_columns_are_those_of_the_stream(campus: Workspace) -> None:
    text = f"SELECT * FROM AirflowReport AS e WHERE {ROOM.format('e')}.loc LIKE '%r1' AND e.flowrate = 510"
    assert rows(campus, text) == [("D105VOL", 510.0)]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT e.sensorID FROM AirflowReport({ROOM.format('e')}.loc LIKE '%r1') AS e",
        f"SELECT a.sensorID FROM PATTERN [ EVERY a=AirflowReport({ROOM.format('a')}.loc LIKE '%r1') ]",
        f"""SELECT * FROM AirflowReport MATCH_RECOGNIZE (MEASURES {ROOM.format("A")}.loc AS room
            PATTERN (A) DEFINE A AS A.flowrate > 0)""",
    ],
)
def test_where_a_variable_cannot_be_selected_the_error_says_so(text: str, campus: Workspace) -> None:
    with pytest.raises(PresageError) as caught:
        campus.check(PREFIXES + text)
    assert "~" not in str(caught.value)


def test_what_is_optional_is_null_where_it_is_not(campus: Workspace) -> None:
    path = "PATH { ?e evt:hasSource ?s . OPTIONAL { ?s bd:hasLocation ?l . ?l a bd:MeetingRoom } }"
    text = f"SELECT e.sensorID, {path}.l AS l FROM AirflowReport AS e WHERE e.flowrate < 535"
    assert local(rows(campus, text)) == [("D105VOL", None), ("a2", "m1"), ("a3", "m1")]


# -- what is asked of the store ------------------------------------------------------------------------

FLOORED = "?e hvc:airflow ?rate . FILTER (FLOOR(?rate / 100) = 5)"
ROUNDED = f"PATH {{ {OFFICE.format('e')} . {FLOORED} }}"
LOW = "?e evt:hasSource ?s ; hvc:airflow ?r OPTIONAL { ?s bd:belongsTo ?l } FILTER (FLOOR(?r) < 9 || bound(?l))"
UNPLACED = f"PATH {{ {LOW} }}"


def asked_of(known: Workspace, condition: str) -> list[str]:
    """What the rules made of a condition, of all that Spark cannot compute."""
    query = parse_statement(f"{PREFIXES} SELECT e.sensorID FROM AirflowReport AS e WHERE {condition}")
    return [note.after for note in known.bind(query).notes if note.after.startswith("asked_")]  # type: ignore[arg-type]


def test_a_function_of_a_measured_value_is_computed_apart_from_what_is_known(campus: Workspace) -> None:
    assert rows(campus, f"SELECT e.sensorID FROM AirflowReport AS e WHERE {ROUNDED}") == [
        ("D105VOL",),
        ("a2",),
        ("t1",),
    ]
    (made_of_it,) = asked_of(campus, ROUNDED)
    assert made_of_it.endswith("computed once for each new value of flowrate")


def test_a_function_of_a_measured_value_is_computed_without_the_store(
    campus: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from presage.operators.knowledge.graph import Graph

    monkeypatch.setattr(Graph, "select_with", lambda *_: pytest.fail("the store was asked"))
    found = rows_of(campus, f"{PREFIXES} SELECT e.sensorID FROM AirflowReport AS e WHERE {ROUNDED}", EVENTS)
    assert [row["sensorID"] for row in found] == ["D105VOL", "a2", "t1"]


def test_a_function_of_a_measured_value_beside_exists_is_asked_of_the_store(campus: Workspace) -> None:
    path = "PATH { ?e hvc:airflow ?r . FILTER (FLOOR(?r) < 0 || EXISTS { ?x bd:capacity 6 }) }"
    assert "computed" not in asked_of(campus, path)[0]
    wanted = [("D105VOL",), ("a2",), ("a3",), ("t1",), ("nobody",), (None,), ("a2",)]  # NaN is a value, too
    assert rows(campus, f"SELECT e.sensorID FROM AirflowReport AS e WHERE {path}") == wanted


def test_a_store_that_was_asked_much_is_filled_anew_and_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from presage.operators.knowledge import graph

    filled = []
    fill = graph._filled
    monkeypatch.setattr(graph, "_filled", lambda numbered: filled.append(1) or fill(numbered))
    monkeypatch.setattr(graph, "MIN_REMOVED", 0)
    known = made(tmp_path)
    triples = len(known.library.graph(known.catalog.knowledge.values()))
    events = air(*[(i, ("a2", "nobody", None)[i % 3], i / 7) for i in range(2 * triples)])
    text = f"{PREFIXES} SELECT e.sensorID FROM AirflowReport AS e WHERE {UNPLACED}"
    for cut in (slice(0, triples), slice(triples, None)):
        found = rows_of(known, text, {"AirflowReport": events[cut]})
        assert len(found) == sum(e["sensorID"] == "a2" and e["flowrate"] < 9 for e in events[cut])
    assert len(filled) > 1


def test_no_event_is_asked_of_nothing(campus: Workspace) -> None:
    for condition in (ROUNDED, UNPLACED):
        assert rows(campus, f"SELECT e.sensorID FROM AirflowReport AS e WHERE {condition}", {}) == []


def test_variables_of_other_names_ask_the_same_table(campus: Workspace) -> None:
    def tables(condition: str) -> set[str]:
        before = set(campus.library.tables)
        query = parse_statement(f"{PREFIXES} SELECT e.sensorID FROM AirflowReport AS e WHERE {condition}")
        campus.bind(query)  # type: ignore[arg-type]
        return set(campus.library.tables) - before

    path = 'PATH {{ ?e evt:hasSource ?{0} . ?{0} bd:hasLocation ?{1} . ?{1} bd:capacity ?{2} FILTER (?{1} != "{3}") }}'
    assert len(tables(path.format("a", "b", "c", "?b"))) == 1
    assert tables(path.format("c", "a", "b", "?b")) == set()
    assert len(tables(path.format("a", "b", "c", "?c"))) == 1  # a text is a text
    assert len(tables(path.format("a", "b", "a", "?b"))) == 1  # one variable is not two


# -- what a plan hangs on ------------------------------------------------------------------------------


def fingerprint(known: Workspace, text: str) -> str:
    from presage.lang import parse_statement
    from presage.live.program import compile_program

    bound = known.bind(parse_statement(PREFIXES + text), live=True)  # type: ignore[arg-type]
    return compile_program(bound, known.optimize(bound).plan, 1).fingerprint


DEPLOYED = {
    "entity": "PATH { ?e evt:hasSource ee:a9 }",
    "table": "PATH { ?e evt:hasSource ?s . ?s bd:hasLocation bd:r1 }",
    "limit": "PATH { ?e hvc:airflow ?r . hvc:GreenOfficeAirflow hvc:hasValue ?g . FILTER (?r > ?g) }",
    "class": "PATH { ?e a evt:Report }",
    "known": "PATH { ?e evt:hasSource ?s . bd:r9 a bd:Office }",
    "asked": "PATH { ?e evt:hasSource ?s . OPTIONAL { ?s bd:hasLocation ?l } FILTER (!bound(?l)) }",
}


@pytest.mark.parametrize("condition", DEPLOYED.values(), ids=DEPLOYED)
def test_the_plan_of_a_deployed_statement_stays_when_facts_change(condition: str, tmp_path: Path) -> None:
    text = f"SELECT e.sensorID FROM AirflowReport AS e WHERE {condition}"
    known = made(tmp_path)
    before = fingerprint(known, text)
    news = "ee:a9 bd:hasLocation bd:r9 . bd:r9 a bd:Office . evt:AirflowEvent rdfs:subClassOf evt:Report ."
    assert fingerprint(made(tmp_path, known=PLACES + news), text) == before


# -- errors --------------------------------------------------------------------------------------------


def refused(known: Workspace, text: str) -> PresageError:
    with pytest.raises(PresageError) as caught:
        known.check(text, "q.epl")
    assert not caught.value.others
    return caught.value


def pointed(problem: PresageError) -> tuple[int, str]:
    """The line of the text that an error shows, from 1, and what its caret is under."""
    assert problem.span is not None
    assert problem.source is not None
    text = problem.source.text
    return text.count("\n", 0, problem.span.start) + 1, text[problem.span.start : problem.span.end]


WHERE = "SELECT e.sensorID FROM AirflowReport AS e\nWHERE "
BAD_PATHS = [
    ("PATH { ?e evt:hasSource ?s . ?s bd:hasLocation }", 5, "}", "BAD_PATH"),
    ("PATH {\n  ?e evt:hasSource ?s .\n  ?s bd:hasLocation .. }", 7, ".", "BAD_PATH"),
    ("PATH { ?e evt:hasSource ?s .\n SERVICE <http://x.y/> { ?s ?p ?o } }", 6, "SERVICE", "BAD_PATH"),
    ("PATH { ?e evt:hasSource ?s .\n\n GRAPH <http://x.y/> { ?s ?p ?o } }", 7, "GRAPH", "BAD_PATH"),
    ("PATH { SELECT ?e FROM <http://x> WHERE { ?e evt:hasSource ?s } }", 5, "FROM", "BAD_PATH"),
    ("PATH { FROM <http://x> ?e evt:hasSource ?s }", 5, "FROM", "BAD_PATH"),
    ("PATH { ?e evt:hasSource ?s . FILTER (nofunction(?s)) }", 5, "nofunction", "BAD_PATH"),
    ("PATH { ?e <hasSource> ?s }", 5, "<hasSource>", "BAD_PATH"),
    ("PATH { ?e evt:hasSource ?s . { ?s bd:hasLocation ?x }", 5, "{", "UNCLOSED"),
    ("PATH { ?e evt:hasSource ?s } }", 5, "}", "UNOPENED"),
    ('PATH { ?e evt:hasSource "a }', 5, '"', "UNCLOSED"),
    ("PATH { ?E evt:hasSource ?s }", 5, "PATH { ?E evt:hasSource ?s }", "PATH_WITHOUT_EVENT"),
    ("e.hvcc:airflow > 5", 5, "e.hvcc:airflow", "UNKNOWN_PREFIX"),
    ("e.hvc:airflw > 5", 5, "e.hvc:airflw", "UNKNOWN_TERM"),
    ("f.hvc:airflow > 5", 5, "f.hvc:airflow", "UNKNOWN_ALIAS"),
    ("PATH { ?e evt:hasSource ?src }.scr = 'x'", 5, "PATH { ?e evt:hasSource ?src }.scr", "UNKNOWN_ATTRIBUTE"),
]


@pytest.mark.parametrize(("condition", "line", "under", "code"), BAD_PATHS)
def test_a_bad_condition_is_shown_where_it_is(
    condition: str, line: int, under: str, code: str, campus: Workspace
) -> None:
    problem = refused(campus, PREFIXES + WHERE + condition)
    assert problem.code == code
    assert pointed(problem)[0] == line
    # The end of a pattern is shown by its last character or by what closes it.
    assert pointed(problem)[1] == under or under == "}"


@pytest.mark.parametrize("condition", [c for c, _, _, code in BAD_PATHS if code == "BAD_PATH"][1:5])
def test_an_error_inside_of_a_path_says_what_would_fix_it(condition: str, campus: Workspace) -> None:
    assert "fix:" in str(refused(campus, PREFIXES + WHERE + condition))


def test_an_unknown_prefix_in_a_path_is_told_as_it_is_elsewhere(campus: Workspace) -> None:
    problem = refused(campus, PREFIXES + WHERE + "PATH { ?e evt:hasSource ?s .\n ?s bdd:hasLocation ?l }")
    assert problem.code == "UNKNOWN_PREFIX"
    assert "did you mean 'bd'?" in str(problem)


RECALLED = "SELECT e.sensorID, r.n FROM AirflowReport e RECALL LAST 1 min ( SELECT count(*) AS n FROM AirflowReport h "


@pytest.mark.parametrize(
    "condition",
    [
        "PATH { ?e evt:hasSource ?s . ?h bd:hasLocation ?r }",
        "PATH { ?e evt:hasSource/bd:hasLocation ?r . ?h evt:hasSource/bd:hasLocation ?r }",
        "PATH { ?h evt:hasSource/bd:hasLocation bd:r1 }",
        "h.hvc:airflow > 500",
    ],
)
def test_a_row_of_history_has_no_meaning_yet(condition: str, campus: Workspace) -> None:
    problem = refused(campus, PREFIXES + RECALLED + f"WHERE h.sensorID = e.sensorID AND {condition} ) AS r")
    assert (problem.code, problem.span is not None) == ("UNSUPPORTED", True)
    assert "the row of history" in str(problem)
    assert "?h" in str(problem) or "h.hvc:airflow" in str(problem)


def test_rows_of_relations_and_of_a_recall_have_no_meaning_either(tmp_path: Path) -> None:
    world = made(tmp_path, "CREATE RELATION Room (name STRING) VALUES ('r1');")
    from_relation = "SELECT e.sensorID FROM AirflowReport AS e, Room AS k WHERE PATH { ?e evt:hasSource ?s . ?k a ?c }"
    assert "the row of a relation ?k" in str(refused(world, PREFIXES + from_relation))
    from_recall = RECALLED + ") AS r WHERE PATH { ?e evt:hasSource ?s . ?r a ?c }"
    assert "the row of a RECALL ?r" in str(refused(world, PREFIXES + from_recall))
    from_nothing = "SELECT e.sensorID FROM AirflowReport AS e, Rom AS k WHERE PATH { ?e evt:hasSource ?s . ?k a ?c }"
    assert refused(world, PREFIXES + from_nothing).code == "UNKNOWN_STREAM"


@pytest.mark.parametrize(
    "condition",
    [
        "?e hvc:airflow ?rate . FILTER (?rate > ?limt)",
        "?e hvc:airflow ?limit . FILTER (?limt > 500)",
        "?e evt:hasSource ?limit . FILTER (1 < ?limt || ?limit = ee:a2)",
        "?e hvc:airflow ?limit . FILTER (BOUND(?limit) && ?limt > 3)",
        "?e hvc:airflow ?limit . BIND (?limt + 1 AS ?more) FILTER (?limit < ?more)",
    ],
)
def test_a_misspelt_variable_of_a_filter_is_named(condition: str, campus: Workspace) -> None:
    problem = refused(campus, PREFIXES + WHERE + f"PATH {{ {condition} }}")
    assert problem.code == "UNKNOWN_ATTRIBUTE"
    assert "'?limt'" in str(problem)
    assert ("'?limit'" in str(problem.fix)) == ("?limit" in condition)


def test_a_variable_of_a_filter_may_be_unbound_where_that_is_asked(campus: Workspace) -> None:
    assert len(firsts(campus, WHERE + "PATH { ?e evt:hasSource ee:a2 . FILTER (!BOUND(?nothing)) }")) == 2


def test_a_path_that_begins_at_no_event_is_refused(campus: Workspace) -> None:
    assert refused(campus, PREFIXES + WHERE + "PATH { ?f evt:hasSource ?s }").code == "PATH_WITHOUT_EVENT"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            "SELECT a.sensorID FROM AirflowReport#lastevent AS a JOIN AirVolume#lastevent AS b\n"
            "ON PATH { ?a evt:hasSource/bd:hasLocation ?l . ?b evt:hasSource/bd:hasLocation ?l }",
            "PATH_LINKS_EVENTS",
            "?a and ?b",
        ),
        (
            "SELECT a.sensorID FROM PATTERN [ EVERY a=AirflowReport -> b=AirVolume ]\n"
            "WHERE PATH { ?a evt:hasSource ?x . ?b evt:hasSource ?y . FILTER (?x = ?y) }",
            "PATH_LINKS_EVENTS",
            "?a and ?b",
        ),
        ("SELECT b.n FROM Bell AS b\nWHERE PATH { ?b evt:hasSource ?s }", "NO_CONTEXT", "stream 'Bell'"),
        ("SELECT b.n FROM Bell AS b\nWHERE b.hvc:airflow > 5", "NO_CONTEXT", "stream 'Bell'"),
        ("SELECT e.at FROM AirflowEvent AS e\nWHERE e.hvc:airflw > 5", "UNKNOWN_TERM", "schema 'AirflowEvent'"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, code: str, said: str, campus: Workspace) -> None:
    problem = refused(campus, PREFIXES + text)
    assert (problem.code, pointed(problem)[0]) == (code, 5)
    assert said in str(problem)


def test_two_attributes_that_mean_one_term_are_named(tmp_path: Path) -> None:
    context = '{"@context": {"hvc": "http://cei.usc.edu/HVAC.owl#", "a": "hvc:airflow", "b": "hvc:airvolume"}}'
    both = "CREATE STREAM Two (a DOUBLE, b DOUBLE, x DOUBLE) INHERITS AirflowEvent CONTEXT 'two.jsonld';"
    known = made(tmp_path, both, two_jsonld=context)
    for name in ("Two", "AirflowEvent", "Event"):
        problem = refused(known, PREFIXES + f"SELECT e.hvc:airflow AS f FROM {name} AS e")
        assert problem.code == "AMBIGUOUS_NAME"
        assert "a or b" in str(problem)


def test_types_that_do_not_meet_are_named(tmp_path: Path) -> None:
    context = '{"@context": {"hvc": "http://cei.usc.edu/HVAC.owl#", "a": "hvc:airflow"}}'
    known = made(
        tmp_path, "CREATE STREAM Odd (a STRING) INHERITS AirflowEvent CONTEXT 'odd.jsonld';", odd_jsonld=context
    )
    problem = refused(known, PREFIXES + "SELECT e.hvc:airflow AS f FROM AirflowEvent AS e")
    assert problem.code == "TYPE_MISMATCH"
    assert "hvc:airflow" in str(problem)
    assert firsts(known, "SELECT o.hvc:airflow AS f FROM Odd AS o", {"Odd": [{"a": "x", "at": at(0)}]}) == ["x"]


def test_numbers_of_two_widths_meet(tmp_path: Path) -> None:
    context = '{"@context": {"hvc": "http://cei.usc.edu/HVAC.owl#", "a": "hvc:airflow"}}'
    known = made(tmp_path, "CREATE STREAM Odd (a INT) INHERITS AirflowEvent CONTEXT 'odd.jsonld';", odd_jsonld=context)
    events = {"Odd": [{"a": 7, "at": at(0)}], "AirflowReport": air((1, "a3", 0.5))}
    assert firsts(known, "SELECT e.hvc:airflow AS f FROM AirflowEvent AS e WHERE e.hvc:airflow > 0", events) == [
        7.0,
        0.5,
    ]


def test_a_path_needs_a_knowledge_base_and_a_term_needs_none(tmp_path: Path) -> None:
    made(tmp_path)
    alone = Workspace([tmp_path], tmp_path)
    alone.check(DECLARED)
    assert refused(alone, PREFIXES + WHERE + "PATH { ?e evt:hasSource ?s }").code == "NO_KNOWLEDGE"
    alone.check(PREFIXES + WHERE + "e.hvc:airflow > 5")


@pytest.mark.parametrize(
    ("statement", "file", "content", "code", "said"),
    [
        ("CREATE KNOWLEDGE n FROM 'n.ttl'", "n.ttl", "hello world", "KNOWLEDGE_NOT_RDF", "line 1, column 1"),
        ("CREATE KNOWLEDGE n FROM 'n.nt'", "n.nt", "<http://a> <http://b> 'c' .", "KNOWLEDGE_NOT_RDF", "line 1"),
        ("CREATE KNOWLEDGE n FROM 'n.jsonld'", "n.jsonld", "{", "KNOWLEDGE_NOT_RDF", "JSON-LD"),
        ("CREATE KNOWLEDGE n FROM 'n.jsonld'", "n.jsonld", '{"@context": "http://x/"}', "KNOWLEDGE_NOT_RDF", "network"),
        ("CREATE KNOWLEDGE n FROM 'no.ttl'", "n.ttl", "", "FILE_NOT_FOUND", "no.ttl"),
        ("CREATE KNOWLEDGE n FROM '../n.ttl'", "n.ttl", "", "PATH_OUTSIDE_ROOTS", "../n.ttl"),
        ("CREATE KNOWLEDGE n FROM 'n.ttl' REASONING RDFS", "n.ttl", "", "BAD_VALUE", "OWL_RL"),
        ("CREATE KNOWLEDGE world FROM 'n.ttl'", "n.ttl", "", "ALREADY_DECLARED", "world"),
        (
            "CREATE KNOWLEDGE n FROM 'n.ttl'",
            "n.ttl",
            "<http://x/a> a <http://x/Cat>, <http://x/Dog> ."
            " <http://x/Cat> <http://www.w3.org/2002/07/owl#disjointWith> <http://x/Dog> .",
            "KNOWLEDGE_INCONSISTENT",
            "<http://x/Dog>",
        ),
        (
            "CREATE STREAM N (a INT, at TIMESTAMP) EVENT TIME at CONTEXT 'n.jsonld'",
            "n.jsonld",
            '{"@context": "http://schema.org/"}',
            "BAD_CONTEXT",
            "network",
        ),
        (
            "CREATE STREAM N (a INT, at TIMESTAMP) EVENT TIME at CONTEXT 'n.jsonld'",
            "n.jsonld",
            '{"@context": {"a": "http://x/a", "a": "http://x/b"}}',
            "BAD_CONTEXT",
            "'a' occurs twice",
        ),
        (
            "CREATE STREAM N (a INT, at TIMESTAMP) EVENT TIME at CONTEXT 'n.jsonld'",
            "n.jsonld",
            '{"@context": {"a": "nope:x"}}',
            "BAD_CONTEXT",
            "prefix 'nope'",
        ),
        (
            "CREATE STREAM N (a INT, at TIMESTAMP) EVENT TIME at CONTEXT 'n.jsonld'",
            "n.jsonld",
            "no",
            "BAD_CONTEXT",
            "JSON",
        ),
        (
            "CREATE STREAM N (a INT, at TIMESTAMP) EVENT TIME at CONTEXT '/etc/hostname'",
            "n.jsonld",
            "",
            "PATH_OUTSIDE_ROOTS",
            "/etc/hostname",
        ),
        ("REFRESH KNOWLEDGE wrld", "n.ttl", "", "UNKNOWN_OBJECT", "did you mean 'world'?"),
        ("DROP KNOWLEDGE wrld", "n.ttl", "", "UNKNOWN_OBJECT", "did you mean 'world'?"),
    ],
)
def test_a_bad_declaration_is_one_error_with_its_place(
    statement: str, file: str, content: str, code: str, said: str, tmp_path: Path
) -> None:
    known = made(tmp_path)
    (tmp_path / file).write_text(content)
    problem = refused(known, statement)
    assert problem.code == code
    assert said in str(problem)
    assert pointed(problem)[0] == 1
    assert "fix:" in str(problem)


def test_what_a_derived_stream_must_know_cannot_be_dropped(tmp_path: Path) -> None:
    known = made(tmp_path)
    known.check(PREFIXES + "INSERT INTO Cool SELECT e.sensorID FROM AirflowReport AS e WHERE e.hvc:airflow < 100")
    assert "'Cool'" in str(refused(known, "DROP KNOWLEDGE world"))


def test_an_empty_ontology_knows_nothing(tmp_path: Path) -> None:
    known = made(tmp_path)
    (tmp_path / "world.ttl").write_text("")
    known.catalog = known.declare(known.parse("REFRESH KNOWLEDGE world").statements[0])
    assert firsts(known, f"SELECT e.sensorID FROM AirflowReport AS e WHERE PATH {{ {OFFICE.format('e')} }}") == []
    assert firsts(known, "SELECT e.flowrate FROM AirflowReport AS e WHERE e.hvc:airflow < 520") == [510.0]


@pytest.mark.parametrize("knot", ["{" * 300 + "?e evt:hasSource ?s" + "}" * 300, "FILTER (" + "(" * 2000])
def test_a_path_that_is_nested_too_deeply_is_refused(knot: str, campus: Workspace) -> None:
    assert refused(campus, PREFIXES + WHERE + f"PATH {{ {knot} }}").code in ("QUERY_TOO_DEEP", "UNCLOSED")


def test_names_and_values_of_any_script(tmp_path: Path) -> None:
    context = """{"@context": {"@base": "http://ü.example/Gerät", "evt": "http://cei.usc.edu/Event.owl#",
        "device": {"@id": "evt:hasSource", "@type": "@id"}, "name": "http://x/name"}}"""
    known = made(
        tmp_path,
        "CREATE STREAM Foreign (device STRING, name STRING, at TIMESTAMP) EVENT TIME at CONTEXT 'f.jsonld';",
        "<http://ü.example/Gerät#日本> bd:hasLocation <http://ü.example/räum> ;"
        ' <http://x/name> "Gerät \\"1\\" \U0001f600" .',
        f_jsonld=context,
    )
    values = [
        ("#日本", 'Gerät "1" \U0001f600'),
        ("http://ü.example/Gerät#日本", "x"),
        ("日本", None),
        ("#日 本", ""),
        ('#<>"{}|^`\\', "\n\t"),
        ("", "x"),
    ]
    events = {"Foreign": [{"device": d, "name": n, "at": at(i)} for i, (d, n) in enumerate(values)]}
    text = "SELECT e.device FROM Foreign AS e WHERE PATH {{ ?e evt:hasSource ?s . ?s {} }}"
    assert firsts(known, text.format("bd:hasLocation <http://ü.example/räum>"), events) == [values[0][0], values[1][0]]
    assert firsts(known, text.format("<http://x/name> ?n . ?e <http://x/name> ?n"), events) == [values[0][0]]
    breaks = "SELECT e.device FROM Foreign AS e WHERE PATH { ?e <http://x/name> ?n . FILTER (CONTAINS(?n, '\\n')) }"
    assert firsts(known, breaks, events) == [values[4][0]]


def test_a_query_over_a_derived_stream_knows_what_that_knows(campus: Workspace) -> None:
    path = "PATH { ?e evt:hasSource/bd:hasLocation ?l . ?l a bd:Office }"
    campus.check(PREFIXES + f"INSERT INTO InOffices SELECT e.sensorID, e.at FROM AirflowReport AS e WHERE {path}")
    outer, other = (parse_statement(f"SELECT * FROM {name}") for name in ("InOffices", "AirflowReport"))
    assert campus.bind(outer).knows  # type: ignore[arg-type]
    assert not campus.bind(other).knows  # type: ignore[arg-type]
