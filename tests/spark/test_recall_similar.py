"""RECALL SIMILAR: the past events with the contexts most like an event's, as the slow twin finds them in plain rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from presage import Engine
from reference.similar_contexts import Context, most_similar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Event = Mapping[str, Any]

START = datetime(2024, 1, 1, tzinfo=UTC)
WINDOW = timedelta(minutes=5)
DECLARED = """
CREATE STREAM Failure (id LONG, server STRING, heat DOUBLE, at TIMESTAMP) EVENT TIME at KEY (server);
CREATE STREAM Login (user STRING, server STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Running (proc STRING, load DOUBLE, pid LONG, at TIMESTAMP) EVENT TIME at;
CREATE RELATION Place (server STRING, hall STRING, floor INT)
    VALUES ('a', 'Süd', 1), ('b', 'Süd', 2), ('c', 'Nord', 7), ('ü', 'Nord', 2), ('c', 'Ost', 8);
"""


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


# Failures 3 and 4 are of one time; 2 has no logins before it, 6 no context at all in these streams.
FAILURES: list[Event] = [
    {"id": i, "server": server, "heat": heat, "at": at(minute)}
    for i, (server, heat, minute) in enumerate(
        [
            ("a", 20.0, 10),
            ("b", 21.5, 20),
            ("c", 80.0, 30),
            ("a", 20.5, 40),
            ("ü", None, 40),
            ("a", 20.0, 50),
            ("x", 30.0, 70),
            ("c", 79.0, 90),
        ]
    )
]
LOGINS: list[Event] = [
    {"user": user, "server": server, "at": at(minute)}
    for user, server, minute in [
        # One at the very end of a window, one at its beginning and so outside.
        ("ann", "a", 10),
        ("böb", "a", 8),
        ("ann", "b", 15),
        ("ann", "c", 16),
        ("cem", "b", 19),
        ("böb", "a", 38),
        ("ann", "ü", 39),
        ("ann", "a", 47),
        ("böb", "a", 48),
        ("ann", "a", 49),
        ("cem", "c", 88),
        (None, "c", 89),
    ]
]
RUNNING: list[Event] = [
    {"proc": proc, "load": load, "pid": pid, "at": at(minute)}
    for proc, load, pid, minute in [
        ("db", 0.5, 7, 9),
        ("web", 0.25, 8, 9),
        ("db", 0.75, 7, 19),
        ("scan", 3.5, 9, 29),
        ("db", 0.5, 7, 39),
        ("web", 0.5, 8, 49),
        ("db", 0.5, 7, 49),
        ("scan", 3.25, 9, 88),
        ("db", 9.5, 7, 89),
    ]
]
PLACES = [("a", "Süd", 1), ("b", "Süd", 2), ("c", "Nord", 7), ("ü", "Nord", 2), ("c", "Ost", 8)]


def before(rows: list[Event], event: Event) -> list[Event]:
    return [row for row in rows if event["at"] - WINDOW < row["at"] <= event["at"]]


def users(event: Event) -> Context:
    return [("user", row["user"]) for row in before(LOGINS, event)]


def loads(event: Event) -> Context:
    return [("load", row["load"]) for row in before(RUNNING, event)]


def processes(event: Event) -> Context:
    return [("proc", row["proc"]) for row in before(RUNNING, event)]


def halls(event: Event) -> Context:
    found = [(hall, floor) for server, hall, floor in PLACES if server == event["server"]]
    return [term for hall, floor in found for term in (("hall", hall), ("floor", float(floor)))]


def heavy(event: Event) -> Context:
    near = [row["proc"] for row in before(RUNNING, event) if row["load"] > 3 and row["at"] > event["at"] - WINDOW * 0.4]
    return [term for user in users(event) for proc in near or [None] for term in (user, ("proc", proc))]


def own_users(event: Event) -> Context:
    mine = [row["user"] for row in before(LOGINS, event) if row["server"] == event["server"]]
    return [("user", user) for user in set(mine)] + [("n", float(len(mine)))]


def failed_before(event: Event) -> list[Event]:
    """What happened and had arrived before: all failures came in one load, in the order of their times."""
    return [row for row in FAILURES if row["at"] < event["at"]]


def earlier(event: Event) -> Context:
    near = event["at"] - timedelta(minutes=35)
    mine = [row for row in failed_before(event) if row["at"] >= near and row["server"] == event["server"]]
    return [("failed", float(len(mine))), ("hottest", max((row["heat"] for row in mine), default=None))]


def others(event: Event) -> Context:
    servers = {row["server"] for row in failed_before(event)}
    pairs = [(server, row["user"]) for server in servers for row in before(LOGINS, event) if row["server"] != server]
    return [term for server, user in pairs for term in (("server", server), ("user", user))]


class Case(NamedTuple):
    inside: str
    context: Callable[[Event], Context]
    last: timedelta | None = None
    bandwidths: Mapping[str, float] = {}
    k: int = 3
    before: str = ""


LOGIN = "CONTEXT SELECT u.user FROM Login u WINDOW 5 min"
CASES = {
    "texts, ties and empty contexts": Case(LOGIN, users),
    "two contexts, one of them of numbers with an estimated bandwidth": Case(
        f"{LOGIN}, CONTEXT SELECT p.proc, p.load FROM Running p WINDOW 5 min",
        lambda e: [*users(e), *processes(e), *loads(e)],
    ),
    "a chosen bandwidth": Case(
        "CONTEXT SELECT load FROM Running WINDOW 5 min BANDWIDTH (load = 0.5)", loads, bandwidths={"load": 0.5}, k=9
    ),
    "the event's own attributes, and a relation": Case(
        "CONTEXT SELECT e.heat, e.server = 'a' AS first, e.at, "
        "CONTEXT SELECT p.hall, p.floor FROM Place p WHERE p.server = e.server",
        lambda e: [
            ("heat", e["heat"]),
            ("first", str(e["server"] == "a").lower()),
            ("at", e["at"].strftime("%Y-%m-%dT%H:%M:%SZ")),
            *halls(e),
        ],
    ),
    "groups and a condition on the event": Case(
        "CONTEXT SELECT DISTINCT u.user FROM Login u WINDOW 5 min WHERE u.server = e.server, "
        "CONTEXT SELECT count(*) AS n FROM Login u WINDOW 5 min WHERE u.server = e.server",
        own_users,
    ),
    "a join in which nothing may be found": Case(
        "CONTEXT SELECT u.user, p.proc FROM Login u WINDOW 5 min LEFT JOIN Running p WINDOW 2 min ON p.load > 3", heavy
    ),
    "what each event recalls": Case(
        "CONTEXT SELECT r.failed, r.hottest, e.server",
        lambda e: [*earlier(e), ("server", e["server"])],
        before="RECALL LAST 35 min ( SELECT count(*) AS failed, max(f.heat) AS hottest FROM Failure f "
        "WHERE f.server = e.server ) AS r",
    ),
    "rows of a RECALL inside of the context, joined with those of a window": Case(
        "CONTEXT SELECT r.server, u.user FROM Login u WINDOW 5 min "
        "RECALL ( SELECT DISTINCT f.server FROM Failure f ) AS r WHERE u.server <> r.server",
        others,
    ),
    "only the last half an hour": Case(LOGIN, users, last=timedelta(minutes=30)),
}


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(spark, tmp_path_factory.mktemp("similar") / "home") as made:
        made.execute(DECLARED)
        made.load("Login", list(LOGINS))
        made.load("Running", list(RUNNING))
        made.load("Failure", list(FAILURES))
        yield made


def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
    return engine.query(query).to_arrow().to_pylist()  # type: ignore[no-any-return]


def shown(context: Context) -> list[dict[str, str]]:
    """A context as a row has it: by attribute, and then by value."""
    held = [(name, value) for name, value in context if value is not None]
    ordered = sorted(held, key=lambda term: (term[0], term[1] if isinstance(term[1], float) else 0.0, str(term[1])))
    texts = [(name, f"{value:.15g}" if isinstance(value, float) else value) for name, value in ordered]
    return [{"attribute": name, "value": text} for name, text in texts]


def expected(case: Case, asked: list[Event]) -> list[dict[str, Any]]:
    contexts = [case.context(event) for event in FAILURES]
    place = [FAILURES.index(event) for event in asked]
    first = [
        min((i for i, f in enumerate(FAILURES) if case.last is None or f["at"] >= e["at"] - case.last), default=0)
        for e in asked
    ]
    begin = [min(one) for one in zip(first, place, strict=True)]
    found = most_similar(contexts, [contexts[p] for p in place], place, begin, case.k, case.bandwidths)
    made = []
    for number, event in enumerate(asked):
        mine = [answer for answer in found if answer.new == number]
        for answer in mine:
            made.append(
                {
                    "id": event["id"],
                    "rank": answer.rank,
                    "similarity": answer.similarity,
                    "past": FAILURES[answer.past]["id"],
                    "context": shown(contexts[answer.past]),
                }
            )
        if not mine:
            made.append({"id": event["id"], "rank": None, "similarity": None, "past": None, "context": None})
    return made


def check(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert [(r["id"], r["rank"], r["past"]) for r in found] == [(r["id"], r["rank"], r["past"]) for r in wanted]
    assert [r["context"] for r in found] == [r["context"] for r in wanted]
    for one, other in zip(found, wanted, strict=True):
        alike = one["similarity"], other["similarity"]
        assert alike == (None, None) or math.isclose(*alike, abs_tol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_most_similar_past_events_are_those_of_the_twin(engine: Engine, name: str) -> None:
    case = CASES[name]
    back = f"LAST {int(case.last.total_seconds() // 60)} min " if case.last else ""
    found = rows(
        engine,
        f"""SELECT e.id, s.rank, s.similarity, s.id AS past, s.context FROM Failure e
                             {case.before} RECALL {back}SIMILAR {case.k} ( {case.inside} ) AS s""",
    )
    wanted = expected(case, FAILURES)
    assert any((row["similarity"] or 0) > 0 for row in wanted)
    check(found, wanted)
    assert {row["revision"] for row in found} == {1}
    assert not any(row["extrapolated"] for row in found)


def test_within_says_which_events_ask_and_not_which_are_past(engine: Engine) -> None:
    case = CASES["texts, ties and empty contexts"]
    found = rows(
        engine,
        f"""SELECT e.id, s.rank, s.similarity, s.id AS past, s.context FROM Failure e
        RECALL SIMILAR 3 ( {LOGIN} ) AS s WITHIN [2024-01-01T00:45:00Z, 2024-01-01T01:20:00Z)""",
    )
    check(found, expected(case, FAILURES[5:7]))


def test_conditions_on_the_event_say_which_are_past_and_others_which_rows_are_shown(engine: Engine) -> None:
    found = rows(
        engine,
        f"""SELECT e.id, s.* FROM Failure e RECALL SIMILAR 3 ( {LOGIN} ) AS s
                             WHERE e.server IN ('a', 'c') AND s.similarity > 0.1""",
    )
    # 0 and 3 have ann and böb, 5 has ann twice, 2 and 7 neither; 4 would be like them, too.
    assert [(row["e.id"], row["rank"], row["s.id"]) for row in found] == [(3, 1, 0), (5, 1, 3), (5, 2, 0)]
    assert found[0]["server"] == "a"
    assert found[0]["heat"] == 20.0
    assert found[0]["event_id"] == "a/2024-01-01T00:40:00Z"
    assert found[0]["change"] == "insert"


def test_other_selects_and_the_events_around_are_shown_and_not_compared(engine: Engine) -> None:
    found = rows(
        engine,
        f"""SELECT e.id, s.id AS past, s.rank, s.busy, s.around, r.n FROM Failure e
        RECALL SIMILAR 2 ( {LOGIN}, WITH busy AS SELECT p.proc, p.pid FROM Running p WINDOW 5 min ORDER BY p.proc DESC
                           BEFORE 10 min AFTER 20 min ) AS s
        RECALL ( SELECT count(*) AS n FROM Failure h ) AS r WHERE e.id IN (0, 5)""",
    )
    assert [(row["id"], row["past"], row["n"]) for row in found] == [(0, None, 0), (5, 0, 5)]
    assert found[0]["busy"] is None
    assert found[0]["around"] is None
    assert found[1]["busy"] == [{"proc": "web", "pid": 8}, {"proc": "db", "pid": 7}]
    told = [(one["at"], one["stream"], json.loads(one["event"])) for one in found[1]["around"]]
    # Of all streams that FROM reads; failure 2 comes 20 minutes after failure 0.
    assert [(when, stream, event["id"]) for when, stream, event in told] == [
        (at(10), "Failure", 0),
        (at(20), "Failure", 1),
        (at(30), "Failure", 2),
    ]
    assert told[1][2] == {"id": 1, "server": "b", "heat": 21.5, "at": "2024-01-01T00:20:00Z"}


def test_events_that_came_after_the_event_are_not_around_a_past_one(engine: Engine) -> None:
    found = rows(
        engine,
        """SELECT e.id, s.around FROM Failure e RECALL SIMILAR 1 (
        CONTEXT SELECT e.server BEFORE 1 min AFTER 1 hour ) AS s WITHIN [2024-01-01T00:50:00Z, 2024-01-01T00:51:00Z)""",
    )
    assert [json.loads(one["event"])["id"] for one in found[0]["around"]] == [3, 4]


def test_a_past_match_of_a_pattern_is_a_struct_for_each_tag(engine: Engine) -> None:
    found = rows(
        engine,
        """SELECT b.id, s.rank, s.a, s.b, s.context 
        FROM PATTERN [every a=Failure -> b=Failure(server = a.server)]
        RECALL SIMILAR 1 ( CONTEXT SELECT a.server AS server, u.user FROM Login u WINDOW 5 min ) AS s""",
    )
    assert [(row["id"], row["a"] and row["a"]["id"], row["b"] and row["b"]["id"]) for row in found] == [
        (3, None, None),
        (5, 0, 3),
        (7, None, None),
    ]
    assert found[1]["context"] == shown([("server", "a"), ("user", "böb"), ("server", "a"), ("user", "ann")])


def test_the_example_of_the_paper(spark: SparkSession, tmp_path: Any) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute("""CREATE STREAM Failure (event STRING, at TIMESTAMP) EVENT TIME at;
            CREATE STREAM Login (user STRING, at TIMESTAMP) EVENT TIME at;
            CREATE STREAM Running (proc STRING, at TIMESTAMP) EVENT TIME at;""")
        logged = [("u1", 10), ("u2", 20), ("u3", 20), ("u2", 30)]
        running = [("p1", 10), ("p2", 20), ("p3", 20), ("p1", 30), ("p3", 30)]
        engine.load("Login", [{"user": user, "at": at(minute)} for user, minute in logged])
        engine.load("Running", [{"proc": proc, "at": at(minute)} for proc, minute in running])
        engine.load("Failure", [{"event": f"e{i}", "at": at(10 * i)} for i in (1, 2, 3)])
        found = rows(
            engine,
            """SELECT e.event, s.rank, s.event AS past, s.similarity FROM Failure e
            RECALL SIMILAR 5 ( CONTEXT SELECT u.user FROM Login u WINDOW 5 min,
                               CONTEXT SELECT p.proc FROM Running p WINDOW 5 min ) AS s""",
        )
    assert [(row["event"], row["rank"], row["past"]) for row in found] == [
        ("e1", None, None),
        ("e2", None, None),
        ("e3", 1, "e2"),
        ("e3", 2, "e1"),
    ]
    # The paper's own weights, log(E / C), give 0.287 and 0.203.
    assert [row["similarity"] for row in found[2:]] == pytest.approx([0.494, 0.349], abs=0.001)
