"""The workspace: derived streams, DROP, several errors in one run, and what time 'now' is."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import parse, print_statement
from presage.model import types as t
from presage.workspace import Workspace
from unit.declared import NOW, refusals, workspace

# What is written, the code, the column of the caret, the message, the fix.
REFUSED = [
    (
        "INSERT INTO Place SELECT x FROM Motion",
        "NOT_A_STREAM",
        1,
        "'Place' is a relation, not a stream",
        "choose another name",
    ),
    (
        "INSERT INTO CameraEvent SELECT camera FROM Motion",
        "NOT_A_STREAM",
        1,
        "'CameraEvent' is a schema, not a stream",
        "INSERT INTO makes a stream: choose another name",
    ),
    (
        "INSERT INTO Motion SELECT camera, log FROM Fault",
        "UNKNOWN_ATTRIBUTE",
        1,
        "stream 'Motion' has no attribute 'log'",
        "known: at, camera, n, x, y",
    ),
    (
        "INSERT INTO Motion SELECT camera, log AS x FROM Fault",
        "TYPE_MISMATCH",
        1,
        "'x' of stream 'Motion' needs DOUBLE, found STRING",
        "",
    ),
    (
        "INSERT INTO Motion SELECT x FROM Motion",
        "CYCLE",
        1,
        "the derived stream 'Motion' depends on itself: Motion <- Motion",
        "break the cycle",
    ),
    (
        "INSERT INTO Loud SELECT log AS at FROM Fault",
        "TYPE_MISMATCH",
        1,
        "the column 'at' of INSERT INTO Loud, its event time, needs TIMESTAMP, found STRING",
        "give the column another name with AS",
    ),
    (
        "INSERT INTO Motion SELECT camera FROM CameraEvent",
        "CYCLE",
        1,
        "the derived stream 'Motion' depends on itself: Motion <- CameraEvent",
        "break the cycle",
    ),
    (
        "INSERT INTO Loud SELECT 1 AS n FROM Event",
        "CYCLE",
        1,
        "the derived stream 'Loud' depends on itself: Loud <- Event <- Loud",
        "break the cycle",
    ),
    ("DROP STREAM Motoin", "UNKNOWN_OBJECT", 1, "there is no stream named 'Motoin'", "did you mean 'Motion'?"),
    (
        "DROP SCHEMA CameraEvent",
        "IN_USE",
        1,
        "'CameraEvent' is used by 'Motion', 'Fault'",
        "drop 'Motion', 'Fault' first",
    ),
    ("DROP SCHEMA Event", "UNKNOWN_OBJECT", 1, "there is no schema named 'Event'", "did you mean 'CameraEvent'?"),
    ("DROP RELATION Motion", "UNKNOWN_OBJECT", 1, "there is no relation named 'Motion'", "known: Place"),
    ("DROP STREAM CameraEvent", "UNKNOWN_OBJECT", 1, "there is no stream named 'CameraEvent'", "known: Fault, Motion"),
    ("DROP MODEL m", "UNKNOWN_OBJECT", 1, "there is no model named 'm'", ""),
    (
        "DESCRIBE Motoin",
        "UNKNOWN_STREAM",
        1,
        "there is no stream, schema or relation named 'Motoin'",
        "did you mean 'Motion'?",
    ),
]


@pytest.mark.parametrize(("text", "code", "column", "message", "fix"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_does_not_fit_the_catalog_is_refused_with_its_place_and_a_fix(
    text: str, code: str, column: int, message: str, fix: str
) -> None:
    (found,) = refusals(text)
    assert (found.code, found.line, found.column, found.message, found.fix) == (code, 1, column, message, fix)


# -- derived streams ----------------------------------------------------------------------------------------


def test_INSERT_INTO_makes_a_stream_with_the_selected_columns_and_the_time() -> None:
    loud = workspace("INSERT INTO Loud SELECT upper(log) AS log, tags FROM Fault;").catalog.types["Loud"]
    assert (loud.kind, loud.event_time) == ("derived", "at")
    assert [(a.name, a.type) for a in loud.attributes] == [
        ("log", t.STRING),
        ("tags", t.ArrayOf(t.STRING)),
        ("at", t.TIMESTAMP),
    ]


def test_a_second_producer_must_fit_and_the_same_one_counts_once() -> None:
    made = workspace("INSERT INTO Loud SELECT log FROM Fault; INSERT INTO Loud SELECT  log  FROM Fault;")
    assert len(made.catalog.types["Loud"].producers) == 1
    made.check("INSERT INTO Loud SELECT camera AS log FROM Motion")
    assert len(made.catalog.types["Loud"].producers) == 2
    with pytest.raises(PresageError, match="'log' of stream 'Loud' needs STRING, found DOUBLE"):
        made.check("INSERT INTO Loud SELECT x AS log FROM Motion")


def test_a_narrower_number_and_a_missing_attribute_fit_a_declared_stream() -> None:
    assert refusals("INSERT INTO Motion SELECT camera, 1 AS x FROM Fault") == []


CIRCLES = {
    "over two streams": (
        "INSERT INTO A SELECT x FROM Motion; INSERT INTO B SELECT x FROM A;",
        "INSERT INTO A SELECT x FROM B",
    ),
    "over a declared stream": ("INSERT INTO A SELECT x FROM Motion;", "INSERT INTO Motion SELECT x FROM A"),
    "through a type that another stream inherits": (
        "CREATE SCHEMA S (k INT, at TIMESTAMP) EVENT TIME at; CREATE STREAM E INHERITS S; CREATE STREAM F INHERITS S2;"
        "INSERT INTO G SELECT k FROM F; INSERT INTO E SELECT k FROM G;",
        "INSERT INTO F SELECT k FROM S",
    ),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_a_stream_may_not_feed_itself(name: str) -> None:
    before, last = CIRCLES[name]
    more = "CREATE SCHEMA S2 (k INT, at TIMESTAMP) EVENT TIME at;" + before
    (found,) = refusals(last, more)
    assert found.code == "CYCLE"
    assert found.message.split(": ")[1].startswith(last.split()[2])


def test_a_diamond_of_derived_streams_is_no_circle() -> None:
    more = "INSERT INTO A SELECT x FROM Motion; INSERT INTO B SELECT x FROM A; INSERT INTO C SELECT x FROM A;"
    assert refusals("INSERT INTO D SELECT b.x AS x FROM B#length(1) AS b, C#length(1) AS c", more) == []


def chain(length: int, source: str) -> str:
    links = [f"INSERT INTO A{i + 1} SELECT a.x AS x FROM {source.format(f'A{i}')};" for i in range(length)]
    return "INSERT INTO A0 SELECT x FROM Motion;" + "".join(links)


def test_a_chain_of_derived_streams_may_be_long_and_not_endless() -> None:
    made = workspace(chain(31, "{0} AS a"))
    made.check("EXPLAIN SELECT x FROM A31")
    (query,) = parse("SELECT x FROM A31").statements
    assert "Scan Motion" in made.explain(made.bind(query))
    (found,) = refusals("SELECT a.x FROM A32 AS a", chain(31, "{0} AS a") + "INSERT INTO A32 SELECT x FROM A31;")
    assert (found.code, found.column) == ("LIMIT", 17)
    assert found.message == (
        "the query down to the derived stream 'A0' exceeds the limit of 32 (streams derived from each other)"
    )


def test_a_query_that_reads_a_stream_again_and_again_is_stopped() -> None:
    found, *_ = refusals(chain(9, "{0}#length(1) AS a, {0}#length(1) AS b"))
    assert found.code == "LIMIT"
    assert "256 (statements of derived streams in one query)" in found.message


# -- dropping -----------------------------------------------------------------------------------------------

IN_USE = {
    "DROP STREAM Fault": "INSERT INTO Loud SELECT log FROM Fault;",
    "DROP RELATION Place": "INSERT INTO Near SELECT x FROM Motion WHERE Place(camera, 1);",
    "DROP STREAM Loud": "INSERT INTO Loud SELECT log FROM Fault; INSERT INTO Louder SELECT log FROM Loud;",
    "DROP SCHEMA CameraEvent": "",
}


@pytest.mark.parametrize("text", IN_USE)
def test_what_something_else_needs_cannot_be_dropped(text: str) -> None:
    (found,) = refusals(text, IN_USE[text])
    assert found.code == "IN_USE"


def test_what_nothing_needs_can_be_dropped_and_declared_again() -> None:
    assert refusals("DROP RELATION Place; CREATE RELATION Place (a INT) VALUES (1); DROP STREAM Motion;") == []


# -- runs ---------------------------------------------------------------------------------------------------


def test_a_run_reports_the_errors_of_all_statements_and_goes_on_after_each() -> None:
    broken = ["SELECT x FROM Nope", "SELECT FROM Motion", "CREATE STREAM T (a INT)", "SELECT prise FROM Motion"]
    text = ";\n".join([*broken, "SELECT x FROM Motion"])
    assert [(e.code, e.line) for e in refusals(text)] == [
        ("UNKNOWN_STREAM", 1),
        ("SYNTAX", 2),
        ("NO_EVENT_TIME", 3),
        ("UNKNOWN_ATTRIBUTE", 4),
    ]


def test_EXPLAIN_is_checked_like_its_query() -> None:
    assert [e.code for e in refusals("EXPLAIN SELECT prise FROM Motion")] == ["UNKNOWN_ATTRIBUTE"]


# -- now ----------------------------------------------------------------------------------------------------


def test_now_of_a_standing_statement_is_settled_once() -> None:
    made = workspace()
    (statement,) = parse("INSERT INTO Late SELECT x FROM Motion WITHIN [now - 5 min, now)").statements
    settled = made.settle(statement)
    assert print_statement(settled).split("\n")[-1].endswith("WITHIN [2024-03-01T08:55:00Z, 2024-03-01T09:00:00Z)")
    made.now = lambda: NOW + 10**12
    assert made.settle(settled) == settled


def test_now_in_a_query_is_the_time_of_the_workspace() -> None:
    made = workspace()
    (query,) = parse("SELECT x FROM Motion WITHIN (now - 1 min, now + 1 min]").statements
    bound = made.bind(query)
    (scan,) = bound.scans()
    assert (scan.time.low, scan.time.high) == (NOW - 60_000_000 + 1, NOW + 60_000_000 + 1)
    assert bound.upper == NOW + 60_000_000


def test_a_statement_that_the_text_creates_can_be_dropped_in_it() -> None:
    empty = Workspace([], ".")
    create = "CREATE STREAM Tick (x INT, at TIMESTAMP) EVENT TIME at; CREATE STATEMENT s AS SELECT x FROM Tick;"
    empty.check(f"{create} DROP STATEMENT s;")
    with pytest.raises(PresageError, match="no statement named 's'"):
        empty.check("DROP STATEMENT s;")
