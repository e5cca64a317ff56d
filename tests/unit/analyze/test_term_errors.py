"""Terms and conditions that are refused: with which code, where, in which words, with which fix."""

from __future__ import annotations

import pytest

from unit.declared import refusals

# What is written, the code, the column of the caret, the message, the fix.
REFUSED = [
    (
        "SELECT camera FROM Motoin",
        "UNKNOWN_STREAM",
        20,
        "there is no stream, schema or relation named 'Motoin'",
        "did you mean 'Motion'?",
    ),
    (
        "SELECT camera FROM motion",
        "UNKNOWN_STREAM",
        20,
        "there is no stream, schema or relation named 'motion'",
        "did you mean 'Motion'?",
    ),
    (
        "SELECT camera FROM Xyzzy",
        "UNKNOWN_STREAM",
        20,
        "there is no stream, schema or relation named 'Xyzzy'",
        "known: CameraEvent, Motion, Fault, Place",
    ),
    (
        "SELECT camrea FROM Motion",
        "UNKNOWN_ATTRIBUTE",
        8,
        "stream 'Motion' has no attribute 'camrea'",
        "did you mean 'camera'?",
    ),
    (
        "SELECT m.camrea FROM Motion AS m",
        "UNKNOWN_ATTRIBUTE",
        8,
        "stream 'Motion' has no attribute 'camrea'",
        "did you mean 'camera'?",
    ),
    (
        "SELECT Motion.x FROM Motion AS m",
        "UNKNOWN_ALIAS",
        8,
        "nothing in FROM is named 'Motion'",
        "use its alias: m.x",
    ),
    (
        "SELECT f.spot.roon FROM Fault AS f",
        "UNKNOWN_ATTRIBUTE",
        8,
        "STRUCT<room STRING, floor INT> has no attribute 'roon'",
        "did you mean 'room'?",
    ),
    (
        "SELECT k.x FROM Motion AS m",
        "UNKNOWN_ALIAS",
        8,
        "nothing in FROM is named 'k'",
        "known: at, camera, m, n, x, y",
    ),
    (
        "SELECT rouned(x) FROM Motion",
        "UNKNOWN_FUNCTION",
        8,
        "there is no function named 'rouned'",
        "did you mean 'round'?",
    ),
    (
        "SELECT reflect('a', 'b') FROM Motion",
        "FUNCTION_NOT_ALLOWED",
        8,
        "the function 'reflect' is not allowed: it can call any Java code",
        "use a function of docs/language/functions.md",
    ),
    (
        "SELECT camera FROM Motion#length(1) AS a, Fault#length(1) AS b",
        "AMBIGUOUS_NAME",
        8,
        "'camera' could be a.camera or b.camera",
        "write a.camera or b.camera",
    ),
    (
        "SELECT a.x FROM Motion AS a, Motion AS A",
        "DIFFERS_IN_CASE",
        30,
        "'A' and 'a' of FROM differ only in case: Spark takes them for one column",
        "give one of them an alias with AS",
    ),
    (
        "SELECT a.x FROM Motion AS a, Fault AS a",
        "DUPLICATE_NAME",
        30,
        "the name 'a' is used twice in FROM",
        "give one of them an alias with AS",
    ),
    (
        "SELECT x, y AS x FROM Motion",
        "DUPLICATE_NAME",
        11,
        "the name 'x' is used twice in SELECT",
        "give one of them another name with AS",
    ),
    (
        "SELECT DISTINCT x AS X1, y AS x1 FROM Motion",
        "DIFFERS_IN_CASE",
        26,
        "'x1' and 'X1' of SELECT differ only in case: Spark takes them for one column",
        "give one of them another name with AS",
    ),
    ("SELECT x FROM Motion WHERE x", "TYPE_MISMATCH", 28, "WHERE needs a condition, found DOUBLE", ""),
    ("SELECT x FROM Motion WHERE n + camera > 1", "TYPE_MISMATCH", 32, "'+' needs a number, found STRING", ""),
    (
        "SELECT x FROM Motion WHERE camera > x",
        "NOT_COMPARABLE",
        28,
        "STRING and DOUBLE cannot be compared",
        "CAST one side to DOUBLE",
    ),
    (
        "SELECT x FROM Motion WHERE avg(x) > 3",
        "AGGREGATE_NOT_ALLOWED",
        28,
        "the aggregate avg(…) is not allowed in a condition of FROM or WHERE",
        "use HAVING for a condition on an aggregate",
    ),
    (
        "SELECT avg(sum(x)) FROM Motion",
        "AGGREGATE_NOT_ALLOWED",
        12,
        "the aggregate sum(…) is not allowed in another aggregate",
        "compute the inner one in a statement of its own with INSERT INTO",
    ),
    (
        "SELECT x FROM Motion GROUP BY count(*)",
        "AGGREGATE_NOT_ALLOWED",
        31,
        "the aggregate count(…) is not allowed in GROUP BY",
        "compute it in a statement of its own with INSERT INTO",
    ),
    ("SELECT count(x, y) FROM Motion", "WRONG_ARGUMENTS", 8, "count takes one argument, found 2", ""),
    ("SELECT count_if(*) FROM Motion", "WRONG_ARGUMENTS", 17, "count_if takes an expression, found *", ""),
    ("SELECT count_if(camera) FROM Motion", "TYPE_MISMATCH", 8, "count_if needs a condition, found STRING", ""),
    ("SELECT corr(x) FROM Motion", "WRONG_ARGUMENTS", 8, "corr takes 2 arguments, found 1", "write corr(x, y)"),
    (
        "SELECT corr(1, camera) FROM Motion",
        "TYPE_MISMATCH",
        16,
        "argument 2 of corr needs a number, found STRING",
        "",
    ),
    (
        "SELECT percentile(1.0) FROM Motion",
        "WRONG_ARGUMENTS",
        8,
        "percentile takes 2 arguments, found 1",
        "write percentile(x, 0.95)",
    ),
    (
        "SELECT percentile(1.0, 95) FROM Motion",
        "BAD_VALUE",
        24,
        "argument 2 of percentile is 95; it must be a constant from 0 to 1",
        "write percentile(x, 0.95)",
    ),
    ("SELECT sum(camera) FROM Motion", "TYPE_MISMATCH", 8, "sum needs a number, found STRING", ""),
    (
        "SELECT min(tags) FROM Fault",
        "TYPE_MISMATCH",
        8,
        "min needs a number, text, time or truth value, found ARRAY<STRING>",
        "",
    ),
    ("SELECT sum(*) FROM Motion", "WRONG_ARGUMENTS", 12, "sum takes an expression, found *", ""),
    (
        "SELECT median(DISTINCT x) FROM Motion",
        "WRONG_ARGUMENTS",
        8,
        "median takes no DISTINCT, found DISTINCT",
        "DISTINCT goes with an expression in count, sum, avg, min and max",
    ),
    (
        "SELECT upper(DISTINCT camera) FROM Motion",
        "WRONG_ARGUMENTS",
        8,
        "upper takes no DISTINCT, found DISTINCT",
        "DISTINCT belongs to the aggregates count, sum and avg",
    ),
    (
        "SELECT log FROM Fault GROUP BY codes",
        "TYPE_MISMATCH",
        32,
        "GROUP BY needs values that can be compared, found MAP<STRING, LONG>",
        "group by the value at a key: m['key']",
    ),
    (
        "SELECT log FROM Fault WHERE codes = codes",
        "NOT_COMPARABLE",
        29,
        "MAP<STRING, LONG> and MAP<STRING, LONG> cannot be compared",
        "compare the values at a key: m['key']",
    ),
    ("SELECT tags[camera] FROM Fault", "TYPE_MISMATCH", 13, "an array's index needs INT, found STRING", ""),
    ("SELECT codes[1] FROM Fault", "TYPE_MISMATCH", 14, "the map's key needs STRING, found INT", ""),
    ("SELECT log[0] FROM Fault", "TYPE_MISMATCH", 8, "the access [ ] needs an ARRAY or a MAP, found STRING", ""),
    ("SELECT log.room FROM Fault", "TYPE_MISMATCH", 8, "the access '.room' needs a STRUCT, found STRING", ""),
    (
        "SELECT tags.middleOf() FROM Fault",
        "UNKNOWN_FUNCTION",
        8,
        "there is no function named 'middleOf'",
        "known: firstOf, lastOf",
    ),
    ("SELECT tags.firstOf(1) FROM Fault", "WRONG_ARGUMENTS", 8, "firstOf takes no argument, found 1", ""),
    ("SELECT log.firstOf() FROM Fault", "TYPE_MISMATCH", 8, "firstOf() needs an ARRAY, found STRING", ""),
    (
        "SELECT camera FROM Place",
        "NOT_A_STREAM",
        20,
        "'Place' is a relation, not a stream",
        "join it with a stream; DESCRIBE Place shows its rows",
    ),
    (
        "SELECT p.floor FROM Place#length(3) AS p, Motion AS m",
        "NOT_A_STREAM",
        26,
        "'Place' is a relation, not a stream",
        "a relation is static: leave the window out",
    ),
    (
        "SELECT p.floor FROM Place(floor > 1) AS p, Motion AS m",
        "UNSUPPORTED",
        27,
        "a filter in parentheses is not supported on a relation",
        "write the condition in ON or WHERE",
    ),
    (
        "SELECT Place(camera) FROM Motion",
        "WRONG_ARGUMENTS",
        8,
        "the relation 'Place' takes 2 terms (camera, floor), found 1",
        "",
    ),
    (
        "SELECT Place(camera, log) FROM Fault",
        "TYPE_MISMATCH",
        22,
        "'floor' of the relation 'Place' needs INT, found STRING",
        "",
    ),
    (
        "SELECT x FROM Motion WHERE Place(n, _)",
        "TYPE_MISMATCH",
        34,
        "'camera' of the relation 'Place' needs STRING, found INT",
        "",
    ),
    ("SELECT -camera FROM Motion", "TYPE_MISMATCH", 8, "unary '-' needs a number, found STRING", ""),
    (
        "SELECT x || camera FROM Motion",
        "TYPE_MISMATCH",
        8,
        "'||' needs STRING, found DOUBLE",
        "write CAST(… AS STRING)",
    ),
    (
        "SELECT at + at FROM Motion",
        "TYPE_MISMATCH",
        8,
        "'+' with a time needs TIMESTAMP ± duration or TIMESTAMP − TIMESTAMP, found TIMESTAMP + TIMESTAMP",
        "",
    ),
    (
        "SELECT at - 5 FROM Motion",
        "TYPE_MISMATCH",
        8,
        "'-' with a time needs TIMESTAMP ± duration or TIMESTAMP − TIMESTAMP, found TIMESTAMP - INT",
        "",
    ),
    (
        "SELECT 5 sec * 2 FROM Motion",
        "TYPE_MISMATCH",
        8,
        "'*' with a time needs TIMESTAMP ± duration or TIMESTAMP − TIMESTAMP, found a duration * INT",
        "",
    ),
    (
        "SELECT x FROM Motion WHERE at > 'yesterday'",
        "BAD_TIMESTAMP",
        33,
        "'yesterday' is not a timestamp",
        "write ISO 8601, for example 2012-05-07T09:00:00Z",
    ),
    ("SELECT x FROM Motion WHERE x LIKE 'a'", "TYPE_MISMATCH", 28, "LIKE needs STRING, found DOUBLE", ""),
    (
        "SELECT x FROM Motion WHERE x IN (1, 'a')",
        "NOT_COMPARABLE",
        37,
        "DOUBLE and STRING cannot be compared",
        "CAST one side to DOUBLE",
    ),
    (
        "SELECT x FROM Motion WHERE x BETWEEN 1 AND 'a'",
        "NOT_COMPARABLE",
        28,
        "DOUBLE and STRING cannot be compared",
        "CAST one side to DOUBLE",
    ),
    (
        "SELECT CASE WHEN x > 1 THEN 1 ELSE 'a' END FROM Motion",
        "TYPE_MISMATCH",
        36,
        "CASE needs INT, found STRING",
        "give all branches one type",
    ),
    ("SELECT CASE WHEN x THEN 1 END FROM Motion", "TYPE_MISMATCH", 18, "WHEN needs a condition, found DOUBLE", ""),
    (
        "SELECT CASE camera WHEN 1 THEN 1 END FROM Motion",
        "NOT_COMPARABLE",
        25,
        "STRING and INT cannot be compared",
        "CAST one side to INT",
    ),
    (
        "SELECT CAST(tags AS INT) FROM Fault",
        "TYPE_MISMATCH",
        8,
        "CAST to INT needs a type that converts to it, found ARRAY<STRING>",
        "",
    ),
    (
        "SELECT CAST(at AS INT) FROM Motion",
        "TYPE_MISMATCH",
        8,
        "CAST to INT needs a type that converts to it, found TIMESTAMP",
        "",
    ),
    (
        "SELECT 99999999999999999999 FROM Motion",
        "BAD_VALUE",
        8,
        "the number is 99999999999999999999; it must be at most 9223372036854775807",
        "write it with a decimal point to make it a DOUBLE",
    ),
    ("SELECT z.* FROM Motion", "UNKNOWN_ALIAS", 8, "nothing in FROM is named 'z'", "known: Motion"),
    (
        "SELECT x FROM Motion WITHIN [2024-03-01, 2024-02-01)",
        "BAD_VALUE",
        22,
        "the range of WITHIN is empty (2024-03-01T00:00:00Z to 2024-02-01T00:00:00Z); "
        "it must be a range that begins before it ends",
        "exchange the bounds",
    ),
    (
        "SELECT x FROM Motion WITHIN [2024-03-01, 2024-03-01)",
        "BAD_VALUE",
        22,
        "the range of WITHIN is empty (2024-03-01T00:00:00Z to 2024-03-01T00:00:00Z); "
        "it must be a range that begins before it ends",
        "write [ and ] for that time",
    ),
    (
        "SELECT TENTATIVE x FROM Motion",
        "UNSUPPORTED",
        1,
        "SELECT TENTATIVE is not supported on this query: its rows never change",
        "leave SELECT TENTATIVE out",
    ),
    (
        "SELECT x FROM Motion WITH PROBABILITY > 0.5",
        "UNSUPPORTED",
        22,
        "WITH PROBABILITY is not supported on this query: it asks neither for a SEQUENCE […] nor for PREDICTED streams",
        "leave WITH PROBABILITY out",
    ),
    (
        "SELECT x FROM Motion APPROXIMATE (ERROR 0.1)",
        "UNSUPPORTED",
        22,
        "APPROXIMATE is not supported on this query: its answer is exact",
        "leave APPROXIMATE out",
    ),
    (
        "SELECT a.x FROM Motion AS a JOIN Fault AS b ON a.camera = b.camera ANALYSIS EVENT",
        "UNSUPPORTED",
        34,
        "ANALYSIS is not supported on this query: its rows are never revised",
        "leave ANALYSIS out",
    ),
    ("SELECT NOT x FROM Motion", "TYPE_MISMATCH", 12, "NOT needs a condition, found DOUBLE", ""),
    ("SELECT x FROM Motion WHERE x AND TRUE", "TYPE_MISMATCH", 28, "AND needs a condition, found DOUBLE", ""),
    ("SELECT x FROM Motion(x)", "TYPE_MISMATCH", 22, "the filter of 'Motion' needs a condition, found DOUBLE", ""),
    (
        "SELECT x FROM Motion(count(*) > 1)",
        "AGGREGATE_NOT_ALLOWED",
        22,
        "the aggregate count(…) is not allowed in the filter of a stream",
        "use HAVING for a condition on an aggregate",
    ),
    (
        "SELECT a.x FROM Motion AS a JOIN Fault AS b ON a.x",
        "TYPE_MISMATCH",
        48,
        "ON needs a condition, found DOUBLE",
        "",
    ),
    ("SELECT x FROM Motion HAVING x", "TYPE_MISMATCH", 29, "HAVING needs a condition, found DOUBLE", ""),
    (
        "SELECT x AS _t FROM Motion",
        "BAD_VALUE",
        8,
        "the name of a column is '_t'; it must be none of Presage's own names",
        "give it another name with AS",
    ),
    (
        "SELECT regexp_extract(camera, '(', 1) AS s FROM Motion",
        "BAD_VALUE",
        8,
        "argument 2 of regexp_extract is '('; it must be a regular expression (a '(' is not closed)",
        "",
    ),
    (
        "SELECT x FROM Motion AS m WHERE m",
        "TYPE_MISMATCH",
        33,
        "WHERE needs a condition, found STRUCT<camera STRING, at TIMESTAMP, x DOUBLE, y DOUBLE, n INT>",
        "",
    ),
    (
        "SELECT count(m.*) AS n, first(*) AS f FROM Motion AS m, Fault AS f",
        "WRONG_ARGUMENTS",
        31,
        "first takes an expression, found *",
        "",
    ),
]


@pytest.mark.parametrize(("text", "code", "column", "message", "fix"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_wrong_term_is_refused_with_its_place_and_a_fix(
    text: str, code: str, column: int, message: str, fix: str
) -> None:
    (found,) = refusals(text)
    assert (found.code, found.line, found.column, found.message, found.fix) == (code, 1, column, message, fix)


def test_all_errors_of_a_query_are_reported_in_the_order_of_the_text() -> None:
    text = "SELECT camera + 1 AS a, nope\nFROM Motion\nWHERE x\nGROUP BY gone\nHAVING lost"
    found = [(e.code, e.line, e.column) for e in refusals(text)]
    assert found == [
        ("TYPE_MISMATCH", 1, 8),
        ("UNKNOWN_ATTRIBUTE", 1, 25),
        ("TYPE_MISMATCH", 3, 7),
        ("UNKNOWN_ATTRIBUTE", 4, 10),
        ("UNKNOWN_ATTRIBUTE", 5, 8),
    ]


def test_errors_of_several_items_of_FROM_come_together() -> None:
    found = refusals("SELECT 1 AS one FROM Motoin AS a, Fualt AS b WITHIN [2024-03-02, 2024-03-01)")
    assert [e.code for e in found] == ["UNKNOWN_STREAM", "UNKNOWN_STREAM", "BAD_VALUE"]


def test_an_error_shows_its_line_with_a_caret() -> None:
    (found,) = refusals("SELECT camera,\n  prise FROM Motion")
    assert str(found) == (
        "error[UNKNOWN_ATTRIBUTE]: stream 'Motion' has no attribute 'prise'\n"
        "  --> query.epl:2:3\n"
        "   2 |   prise FROM Motion\n"
        "     |   ^^^^^\n"
        "  fix: known: Motion, at, camera, n, x, y"
    )
