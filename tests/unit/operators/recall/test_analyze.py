"""RECALL as written: what it means to the binder, and what each mistake is told."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.recall.nodes import Recall
from presage.plan.query import BoundQuery
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM Overload (sid STRING, bw DOUBLE, tags MAP<STRING, LONG>, at TIMESTAMP) EVENT TIME at KEY (sid);
CREATE STREAM Traffic (sid STRING, bw DOUBLE, n LONG, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Seen (who STRING, place STRING, at TIMESTAMP) EVENT TIME at PROBABILISTIC (place) KEY (who);
CREATE STREAM Gps (car STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) PREDICTED (x);
CREATE RELATION Room (sid STRING, room STRING) VALUES ('a', 'x');
"""
MEAN = "RECALL ( SELECT avg(h.bw) AS mean FROM Traffic h ) AS r"


def bound(text: str) -> BoundQuery:
    space = Workspace([], ".")
    space.check(DECLARED)
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return space.bind(statement)


def recall_of(text: str) -> Recall:
    (node,) = [node for node in bound(text).plan.walk() if isinstance(node, Recall)]
    return node


def query_with(select: str) -> str:
    return f"SELECT e.sid, r.* FROM Overload e RECALL ( {select} ) AS r"


# The statement with its mistake between ⟦ and ⟧, the code, a part of the message, a part of the fix.
MISTAKES = [
    (query_with("SELECT h.bw FROM ⟦Trafic⟧ h"), "UNKNOWN_STREAM", "'Trafic'", "did you mean 'Traffic'?"),
    (query_with("SELECT ⟦h.bandwidth⟧ FROM Traffic h"), "UNKNOWN_ATTRIBUTE", "'bandwidth'", "known"),
    (query_with("SELECT ⟦x.bw⟧ FROM Traffic h"), "UNKNOWN_ALIAS", "'x'", ""),
    (
        query_with("SELECT h.bw FROM Traffic h JOIN ⟦Room h⟧ ON h.sid = h.sid"),
        "DUPLICATE_NAME",
        "'h'",
        "an alias with AS",
    ),
    (query_with("SELECT E.bw FROM ⟦Traffic E⟧"), "DIFFERS_IN_CASE", "'E'", "an alias with AS"),
    (f"SELECT e.sid FROM Overload e {MEAN} ⟦{MEAN}⟧", "DUPLICATE_NAME", "'r'", "another name with AS"),
    (f"SELECT e.sid FROM Overload e ⟦{MEAN.replace('AS r', 'AS e')}⟧", "DUPLICATE_NAME", "'e'", "another name with AS"),
    (query_with("SELECT h.bw, ⟦h.bw⟧ FROM Traffic h"), "DUPLICATE_NAME", "'bw'", "another name with AS"),
    (query_with("SELECT ⟦h.bw⟧, count(*) AS n FROM Traffic h"), "UNSUPPORTED", "'h.bw'", "add it to GROUP BY"),
    (query_with("SELECT h.sid FROM Traffic h GROUP BY h.sid HAVING ⟦h.bw⟧ > 1"), "UNSUPPORTED", "'h.bw'", "max(bw)"),
    (query_with("SELECT h.sid FROM Traffic h GROUP BY h.sid ORDER BY ⟦h.bw⟧"), "UNSUPPORTED", "'h.bw'", "GROUP BY"),
    (query_with("SELECT ⟦*⟧ FROM Traffic h GROUP BY h.sid"), "UNSUPPORTED", "beside groups", "name the columns"),
    (query_with("SELECT ⟦x.*⟧ FROM Traffic h"), "UNKNOWN_ALIAS", "'x'", ""),
    (query_with("SELECT h.bw FROM Traffic h WHERE ⟦avg(h.bw)⟧ > 1"), "AGGREGATE_NOT_ALLOWED", "avg", "HAVING"),
    (query_with("SELECT h.bw FROM Traffic h HAVING ⟦h.bw > 1⟧"), "UNSUPPORTED", "HAVING", "in WHERE"),
    (f"⟦SELECT e.sid FROM Overload e {MEAN} GROUP BY e.sid⟧", "UNSUPPORTED", "GROUP BY", "FINAL RECALL"),
    (f"⟦SELECT DISTINCT e.sid FROM Overload e {MEAN}⟧", "UNSUPPORTED", "DISTINCT", "FINAL RECALL"),
    (f"SELECT e.sid FROM Overload e {MEAN} WHERE ⟦count(*)⟧ > 1", "AGGREGATE_NOT_ALLOWED", "count", ""),
    (query_with("SELECT h.bw FROM ⟦Traffic h WINDOW 5 min⟧"), "UNSUPPORTED", "WINDOW", "RECALL LAST d"),
    (query_with("SELECT h.who FROM ⟦Seen⟧ h"), "UNSUPPORTED", "the probabilistic stream 'Seen'", "INSERT INTO"),
    (query_with("SELECT h.car FROM ⟦Gps⟧ h"), "UNSUPPORTED", "the predicted stream 'Gps'", "INSERT INTO"),
    (
        query_with("SELECT h.n FROM Traffic h WHERE h.bw > ⟦(SELECT max(g.bw) AS a, min(g.bw) AS b FROM Traffic g)⟧"),
        "WRONG_ARGUMENTS",
        "one column",
        "",
    ),
    (
        query_with("SELECT h.n FROM Traffic h WHERE h.bw > ⟦(SELECT g.bw FROM Traffic g)⟧"),
        "UNSUPPORTED",
        "several rows",
        "LIMIT 1",
    ),
    (
        query_with("SELECT h.n FROM Traffic h WHERE h.bw > ⟦(SELECT max(g.bw) AS m FROM Traffic g GROUP BY g.sid)⟧"),
        "UNSUPPORTED",
        "several rows",
        "without GROUP BY",
    ),
    (query_with("SELECT h.n FROM Traffic h WHERE ⟦h.bw IN (SELECT g.sid FROM Traffic g)⟧"), "TYPE_MISMATCH", "IN", ""),
    (
        query_with("SELECT h.n FROM Traffic h JOIN Room x ON ⟦x.sid IN (SELECT g.sid FROM Traffic g)⟧"),
        "UNSUPPORTED",
        "in ON",
        "in WHERE",
    ),
    (
        query_with("SELECT count(*) AS n FROM Traffic h HAVING ⟦h.sid⟧ IN (SELECT g.sid FROM Traffic g)"),
        "UNSUPPORTED",
        "'h.sid'",
        "GROUP BY",
    ),
    (
        query_with("SELECT h.n FROM Traffic h WHERE ⟦rank() OVER (ORDER BY h.n)⟧ = 1"),
        "UNSUPPORTED",
        "WHERE",
        "its column",
    ),
    (
        query_with("SELECT h.n, count(*) AS c, ⟦rank() OVER (ORDER BY h.n)⟧ AS k FROM Traffic h GROUP BY h.n"),
        "UNSUPPORTED",
        "beside groups",
        "from the groups",
    ),
    (
        query_with("SELECT ⟦rank() OVER (PARTITION BY h.n)⟧ AS k FROM Traffic h"),
        "SYNTAX",
        "without an order",
        "ORDER BY",
    ),
    (query_with("SELECT ⟦median(h.n)⟧ OVER () AS k FROM Traffic h"), "UNSUPPORTED", "median", ""),
    (query_with("SELECT ⟦lag()⟧ OVER (ORDER BY h.n) AS k FROM Traffic h"), "WRONG_ARGUMENTS", "1 to 3", ""),
    (query_with("SELECT lag(h.n, ⟦h.n⟧) OVER (ORDER BY h.n) AS k FROM Traffic h"), "BAD_VALUE", "lag", ""),
    (query_with("SELECT ⟦lag(h.n, 1, 'x')⟧ OVER (ORDER BY h.n) AS k FROM Traffic h"), "TYPE_MISMATCH", "lag", ""),
    (
        query_with("SELECT DISTINCT h.sid FROM Traffic h ORDER BY ⟦h.bw⟧"),
        "UNSUPPORTED",
        "with DISTINCT",
        "add it to SELECT",
    ),
    (
        query_with("SELECT h.sid FROM Traffic h ORDER BY ⟦1⟧"),
        "UNSUPPORTED",
        "ORDER BY a constant",
        "the name of a column",
    ),
    (query_with("SELECT count(*) AS n FROM Traffic h GROUP BY ⟦1⟧"), "UNSUPPORTED", "GROUP BY a constant", "the name"),
    (f"SELECT x.room FROM ⟦Room x {MEAN}⟧", "NOT_A_STREAM", "'Room'", "name a stream"),
    (f"SELECT g.car FROM ⟦PREDICTED Gps g {MEAN}⟧", "UNSUPPORTED", "beside PREDICTED", "INSERT INTO"),
    (query_with("SELECT ⟦last(x.room)⟧ AS l FROM Room x"), "UNSUPPORTED", "last", "min or max"),
    (
        query_with("SELECT h.n FROM Traffic h WHERE h.sid = (SELECT max(⟦h.sid⟧) AS m FROM Room x)"),
        "UNKNOWN_ALIAS",
        "'h'",
        "",
    ),
    (query_with("SELECT ⟦h.bw AS _a0⟧ FROM Traffic h"), "BAD_VALUE", "'_a0'", "another name with AS"),
    ("SELECT e.sid, r.mean FROM Overload e EVENT ID (⟦e.id⟧) " + MEAN, "UNKNOWN_ATTRIBUTE", "'id'", "mean 'sid'?"),
    ("SELECT e.sid FROM Overload e EVENT ID (⟦r.mean⟧) " + MEAN, "UNKNOWN_ALIAS", "'r'", ""),
    ("SELECT e.sid FROM Overload e EVENT ID (⟦e.tags⟧) " + MEAN, "TYPE_MISMATCH", "EVENT ID", ""),
    (
        f"SELECT e.sid FROM Traffic#lastevent t JOIN ⟦Overload e {MEAN}⟧ ON t.sid = e.sid ANALYSIS PRESENT",
        "UNSUPPORTED",
        "on a join before the RECALL",
        "behind the RECALL",
    ),
    (
        f"SELECT e.sid FROM Traffic t JOIN ⟦Room x⟧ ON x.sid = t.sid ANALYSIS EVENT JOIN Overload e {MEAN} ON TRUE",
        "UNSUPPORTED",
        "on a join before the RECALL",
        "leave ANALYSIS out",
    ),
    (
        f"SELECT e.sid FROM Overload e {MEAN} JOIN Traffic⟦#length_batch(3)⟧ t ON t.sid = e.sid ANALYSIS PRESENT",
        "UNSUPPORTED",
        "a batch is not there before it closes",
        "use #time",
    ),
    (f"SELECT e.sid FROM Overload e {MEAN} JOIN ⟦Room r⟧ ON TRUE ANALYSIS PRESENT", "DUPLICATE_NAME", "'r'", "AS"),
    (f"SELECT e.sid FROM Overload e {MEAN} JOIN ⟦Room E⟧ ON TRUE ANALYSIS PRESENT", "DIFFERS_IN_CASE", "'E'", "AS"),
    (
        f"SELECT e.sid FROM Overload e {MEAN} JOIN Room x ON ⟦x.floor⟧ = 1 ANALYSIS PRESENT",
        "UNKNOWN_ATTRIBUTE",
        "'floor'",
        "known",
    ),
    (f"SELECT e.sid FROM Overload e {MEAN} JOIN Room x ON ⟦y.sid⟧ = x.sid ANALYSIS EVENT", "UNKNOWN_ALIAS", "'y'", ""),
    (
        f"SELECT e.sid FROM Overload e {MEAN} JOIN Room x ON x.sid = ⟦p.sid⟧ ANALYSIS PRESENT JOIN Traffic p ON TRUE "
        "ANALYSIS PRESENT",
        "UNKNOWN_ALIAS",
        "'p'",
        "",
    ),
    (
        f"SELECT e.sid FROM Overload e {MEAN} JOIN ⟦Seen s⟧ ON s.who = e.sid ANALYSIS PRESENT",
        "UNSUPPORTED",
        "probabilistic",
        "",
    ),
]


@pytest.mark.parametrize(("text", "code", "message", "fix"), MISTAKES, ids=[text for text, *_ in MISTAKES])
def test_a_mistake_is_told_with_its_place_and_a_fix(text: str, code: str, message: str, fix: str) -> None:
    space = Workspace([], ".")
    with pytest.raises(PresageError) as raised:
        space.check(f"{DECLARED}{text.replace('⟦', '').replace('⟧', '')};")
    found = raised.value
    assert found.code == code
    assert message in found.message
    assert fix in found.fix
    assert found.source is not None
    assert found.span is not None
    assert found.span.start == len(DECLARED) + text.index("⟦")


SAID = ["event_id", "covered_from", "covered_to", "revision", "change", "extrapolated"]


@pytest.mark.parametrize(
    ("shown", "columns"),
    [
        ("e.sid, r.mean", ["sid", "mean", "at", *SAID]),
        ("e.at, r.*", ["at", "mean", *SAID]),
        ("e.sid AS change, r.mean AS Revision", ["change", "Revision", "at", *SAID[:3], SAID[5]]),
    ],
)
def test_columns_of_the_user_come_first_and_hide_those_of_the_row(shown: str, columns: list[str]) -> None:
    assert [c.name for c in bound(f"SELECT {shown} FROM Overload e {MEAN}").columns] == columns


def test_what_is_asked_of_the_event_alone_is_asked_before_history_is_read() -> None:
    node = recall_of(f"SELECT e.sid FROM Overload e {MEAN} WHERE e.bw > 5 AND e.bw > r.mean")
    assert node.condition is not None
    assert node.condition.columns() == {"e.bw", "r.mean"}
    assert "e.bw > 5" in node.input.label()


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ("SELECT avg(h.bw) AS m, count(*) AS n FROM Traffic h", ""),
        ("SELECT h.bw FROM Traffic h JOIN Room x ON x.sid = h.sid ORDER BY h.bw", ""),
        ("SELECT DISTINCT h.bw FROM Traffic h", ""),
        ("SELECT h.bw FROM Traffic h LIMIT 3", "LIMIT"),
        ("SELECT median(h.bw) AS m FROM Traffic h", "median"),
        ("SELECT h.bw, rank() OVER (ORDER BY h.bw) AS m FROM Traffic h", "rank OVER"),
        ("SELECT count(DISTINCT h.bw) AS m FROM Traffic h", "DISTINCT"),
        ("SELECT h.bw FROM Traffic h JOIN Traffic g ON g.sid = h.sid", "joins streams"),
        ("SELECT h.bw FROM Room x JOIN Traffic h ON h.sid = x.sid", "follows a relation"),
        ("SELECT h.bw FROM Traffic h WHERE EXISTS (SELECT x.sid FROM Room x)", "a select inside"),
        ("SELECT count(*) AS n FROM Room x", "no stream"),
    ],
)
def test_answers_over_parts_are_put_together_where_that_gives_the_whole(select: str, why: str) -> None:
    said = recall_of(query_with(select)).recalls[0].select.whole()
    assert (why in said) if why else (said == "")


def test_a_column_that_is_shown_comes_before_an_attribute_in_ORDER_BY() -> None:
    (recall,) = recall_of(query_with("SELECT h.sid, count(*) AS n FROM Traffic h GROUP BY h.sid ORDER BY n")).recalls
    assert [term.expr for term in recall.select.sort] == [recall.select.outputs[1].expr]


def test_names_of_the_select_come_before_those_of_the_event() -> None:
    (recall,) = recall_of("SELECT e.sid FROM Overload e RECALL ( SELECT bw, e.bw AS own FROM Traffic ) AS r").recalls
    assert [sorted(output.expr.columns()) for output in recall.select.outputs] == [["Traffic.bw"], ["e.bw"]]
    assert recall.select.parameters == {"e.bw"}


def test_a_derived_stream_must_not_recall_itself() -> None:
    space = Workspace([], ".")
    space.check(f"{DECLARED}INSERT INTO Mean SELECT e.sid, e.bw FROM Overload e;")
    most = "FINAL RECALL ( SELECT max(h.bw) AS m FROM Mean h ) AS r"
    again = f"INSERT INTO Mean SELECT e.sid, r.m AS bw FROM Overload e {most};"
    with pytest.raises(PresageError) as raised:
        space.check(again)
    assert raised.value.code == "CYCLE"


def test_what_a_derived_stream_recalls_cannot_be_dropped() -> None:
    space = Workspace([], ".")
    space.check(f"{DECLARED}INSERT INTO Mean SELECT e.sid, r.mean FROM Overload e FINAL {MEAN};")
    with pytest.raises(PresageError) as raised:
        space.check("DROP STREAM Traffic;")
    assert raised.value.code == "IN_USE"


def test_an_event_is_named_by_the_key_of_its_stream_also_beside_a_relation() -> None:
    node = recall_of(f"SELECT e.sid FROM Overload e {MEAN} JOIN Room x ON x.sid = e.sid")
    assert [sorted(term.columns()) for term in node.event_id] == [["e.sid"], ["_t"]]
    unnamed = recall_of("SELECT h.sid FROM Traffic h RECALL ( SELECT count(*) AS n FROM Overload ) AS r")
    assert [sorted(term.columns()) for term in unnamed.event_id] == [["_t"]]


def test_a_condition_of_a_later_join_that_speaks_of_what_is_recalled_is_asked_of_every_revision() -> None:
    node = recall_of(f"SELECT e.sid FROM Overload e {MEAN} JOIN Room x ON x.sid = e.sid AND e.bw > r.mean")
    assert node.condition is not None
    assert node.condition.columns() == {"e.bw", "r.mean"}
    assert "x.sid = e.sid" in node.input.label()
    assert node.present == ()


def test_an_event_without_a_window_meets_later_streams_at_its_own_moment_alone() -> None:
    node = recall_of(f"SELECT e.sid FROM Overload e {MEAN} JOIN Traffic#lastevent t ON t.sid = e.sid ANALYSIS EVENT")
    assert "Window of its own moment" in [each.label() for each in node.input.walk()]
    windowed = recall_of(f"SELECT e.sid FROM Overload#time(1 min) e {MEAN} JOIN Traffic#lastevent t ON t.sid = e.sid")
    assert "Window of its own moment" not in [each.label() for each in windowed.input.walk()]
    before = recall_of(f"SELECT e.sid FROM Traffic#lastevent t JOIN Overload e {MEAN} ON t.sid = e.sid")
    assert "Window of its own moment" not in [each.label() for each in before.input.walk()]


def test_items_of_the_present_stand_beside_the_node_and_their_conditions_with_it() -> None:
    node = recall_of(f"""SELECT x.room FROM Overload e {MEAN} JOIN Room x ON x.sid = e.sid ANALYSIS PRESENT
        JOIN Traffic#time(1 min) p ON p.sid = x.room ANALYSIS PRESENT WHERE p.n > 1 AND e.bw > 2""")
    assert [each.label() for each in node.present] == [
        "Relation Room as x [sid, room]",
        "Retained: the events of the last 1 min",
    ]
    assert [sorted(on.columns()) for on in node.on] == [["e.sid", "x.sid"], ["p.sid", "x.room"]]
    assert node.condition is not None
    assert node.condition.columns() == {"p.n"}
    assert "e.bw > 2" in node.input.label()


def test_columns_of_the_event_and_of_history_with_one_name_are_told_apart_under_a_star() -> None:
    node = recall_of("SELECT e.*, s.* FROM Overload e RECALL SIMILAR 2 ( CONTEXT SELECT e.sid ) AS s")
    names = [output.name for output in node.outputs]
    assert {"e.sid", "s.sid", "rank", "similarity", "context"} <= set(names)
    assert len(names) == len(set(names))
