"""What EXPLAIN says of MATCH_RECOGNIZE and PATTERN; the whole pages are under golden/patterns/explain."""

from __future__ import annotations

import pytest

from presage.lang import parse
from presage.lang import syntax as s
from unit.declared import workspace

RESET = "CREATE STREAM Reset (reason STRING) INHERITS CameraEvent;"


def sections(text: str) -> dict[str, str]:
    made = workspace(RESET)
    (query,) = parse(text).statements
    assert isinstance(query, s.Query)
    parts = made.explain(made.bind(query)).split("== ")[1:]
    return {part.split(" ==\n")[0]: part.split(" ==\n")[1].strip() for part in parts}


def match(pattern: str, define: str = "", before: str = "", measures: str = "count(*) AS n") -> str:
    clauses = f"{before} MEASURES {measures} PATTERN ({pattern}" + (f" DEFINE {define}" if define else "")
    return f"SELECT * FROM Motion MATCH_RECOGNIZE ({clauses})"


def pattern(text: str) -> str:
    return f"SELECT 1 AS one FROM PATTERN [ {text} ]"


# -- conditions -------------------------------------------------------------------------------------------

EVALUATED = {
    "B AS x > 3": "native, on the row alone: B",
    "B AS x > PREV(x)": "native, on the row and its neighbours: B",
    "B AS x > NEXT(x)": "native, on the row and its neighbours: B",
    "B AS x > avg(A.x)": "compiled, over the match so far: B",
    "B AS x > A.x": "compiled, over the match so far: B",
    "B AS camera = upper(concat(A.camera, B.camera))": "computed by the evaluator, over the match so far: B",
}


@pytest.mark.parametrize("define", EVALUATED)
def test_each_variable_stands_where_its_condition_is_evaluated(define: str) -> None:
    shown = sections(match("A B)", define))["Physical plan"].splitlines()
    lines = [line.strip() for line in shown]
    assert "any row: A" in lines
    assert EVALUATED[define] in lines


def test_a_condition_of_several_parts_stands_in_several_lines() -> None:
    shown = sections(match("A B)", "B AS y > 0 AND x > PREV(x) AND x > avg(A.x)"))["Physical plan"]
    assert shown.count("B (in part)") == 3


def test_the_size_of_the_automaton_is_told() -> None:
    assert "automaton: 3 positions, 5 edges" in sections(match("A B{1,2})"))["Physical plan"]


SEARCHES = {
    match("A B)", "B AS x > PREV(x)"): "failures are memoised, so it is linear in the rows",
    match("A B)", "B AS x > A.x"): "step budget of 10,000,000 for one match, because B depends on the match so far",
    match("A B)", "B AS x > A.x, A AS x > max(B.x)"): (
        "step budget of 10,000,000 for one match, because A, B depend on the match so far"
    ),
    match("A B) WITHIN 1 hour", "B AS x > NEXT(x)"): (
        "step budget of 10,000,000 for one match, because NEXT or $ looks past what WITHIN or GAP cuts off"
    ),
}


@pytest.mark.parametrize("text", SEARCHES)
def test_how_the_search_is_bounded(text: str) -> None:
    assert f"search: {SEARCHES[text]}" in sections(text)["Physical plan"]


def test_skipping_to_the_current_row_searches_each_start_anew() -> None:
    text = "SELECT * FROM Motion MATCH_RECOGNIZE (MEASURES 1 AS n AFTER MATCH SKIP TO CURRENT ROW PATTERN (A+ B))"
    assert "search: failures are memoised, for each start row anew" in sections(text)["Physical plan"]


# -- keys -------------------------------------------------------------------------------------------------

PARALLEL = {
    match("A B)"): "match: one partition, because there is no PARTITION BY",
    match("A B)", before="PARTITION BY camera, n"): "match: parallel, partitioned by [Motion.camera, Motion.n]",
    pattern("EVERY a=Motion -> b=Fault(camera = a.camera)"): "pattern: parallel, partitioned by [Motion.camera]",
    pattern("EVERY a=Motion -> b=Fault"): (
        "pattern: one partition, because nothing ties all events of the pattern to the first one"
    ),
    pattern("EVERY (a=Motion -> b=Fault(camera = a.camera))"): (
        "pattern: one partition, because only EVERY a=… -> … falls apart into keys"
    ),
    pattern("EVERY a=Motion -[3]> b=Fault(camera = a.camera)"): (
        "pattern: one partition, because -[n]> counts the open matches of all keys"
    ),
}


@pytest.mark.parametrize("text", PARALLEL)
def test_by_what_the_work_is_spread_or_why_not(text: str) -> None:
    assert sections(text)["Parallelism"] == PARALLEL[text]


def test_matches_that_end_others_are_not_spread() -> None:
    text = "SELECT 1 AS one FROM PATTERN @DiscardPartialsOnMatch [ EVERY a=Motion -> b=Fault(camera = a.camera) ]"
    assert sections(text)["Parallelism"] == "pattern: one partition, because a match ends others"


# -- state ------------------------------------------------------------------------------------------------

LIMIT = "pattern: more than 1,000,000 partial matches in one partition are an error"
STATE = {
    match("A B+)"): "match: the rows of the open match, however long",
    match("A B{1,3})"): "match: the rows of the open match, at most 4",
    match("A B+) WITHIN 5 min"): "match: the rows of the open match, of the last 5 min",
    match("A B) GAP 10 sec"): "match: the rows of the open match, at most 2; none after 10 sec without a row",
    match("A B)", "B AS x > PREV(x, 3)", "PARTITION BY camera"): (
        "match: the rows of the open match for each value of [Motion.camera], at most 2\n"
        "match: the last 3 rows for each value of [Motion.camera], for PREV"
    ),
    match("^ A B)", measures="MATCH_NUMBER() AS m"): (
        "match: the rows of the open match, at most 2\nmatch: a counter, for MATCH_NUMBER and ^"
    ),
    match("A B) INTERVAL 1 min"): (
        "match: the rows of the open match, of the last 1 min\n"
        "match: matches that INTERVAL holds back, 1 min from their first row"
    ),
    match("A B)", before="ORDER BY at, x"): (
        "match: the rows of the open match, at most 2\nmatch: rows that wait until ORDER BY knows their place"
    ),
    pattern("a=Motion -> b=Fault"): f"pattern: one open match at a time\n{LIMIT}",
    pattern("EVERY (a=Motion -> b=Fault)"): f"pattern: one open match at a time\n{LIMIT}",
    pattern("EVERY a=Motion -> b=Fault"): (
        f"pattern: each match of EVERY a=Motion that waits for b=Fault, grows for ever\n{LIMIT}"
    ),
    pattern("EVERY a=Motion -[3]> b=Fault"): (
        f"pattern: each match of EVERY a=Motion that waits for b=Fault, at most 3 of them\n{LIMIT}"
    ),
    pattern("EVERY a=Motion -> timer:interval(1 month)"): (
        f"pattern: each match of EVERY a=Motion that waits for timer:interval(1 month), at most 1 month\n{LIMIT}"
    ),
    pattern("EVERY-DISTINCT(a.x, 1 hour) a=Motion"): (
        f"pattern: the keys of EVERY-DISTINCT(a.x, 1 hour), each for 1 hour\n{LIMIT}"
    ),
    pattern("EVERY a=Motion -> b=Fault(camera = a.camera) WHERE timer:within(5 sec)"): (
        "pattern: each match of EVERY a=Motion that waits for b=Fault(camera = a.camera) WHERE timer:within(5 sec), "
        "at most 5 sec\n"
        f"pattern: nothing for a value of [Motion.camera] without an open match\n{LIMIT}"
    ),
}


@pytest.mark.parametrize("text", STATE)
def test_what_is_remembered(text: str) -> None:
    assert sections(text)["State"] == STATE[text]


def test_matching_in_each_batch_of_a_window_keeps_no_more_than_the_batch() -> None:
    text = "SELECT * FROM Motion#time_batch(1 min) MATCH_RECOGNIZE (MEASURES 1 AS n PATTERN (A B+))"
    shown = sections(text)
    assert "match: the rows of the open batch" in shown["State"]
    assert shown["Warnings"] == "none"


# -- warnings ---------------------------------------------------------------------------------------------

FOR_EVER = "a match of this pattern may go on for ever, and its rows are kept; add WITHIN, for example WITHIN 1 hour"
WARNINGS = {
    match("A B)"): "none",
    match("A B+)"): FOR_EVER,
    match("A (B | A B)* B) GAP 1 sec"): FOR_EVER,
    match("A B+) WITHIN 5 min"): "none",
    pattern("a=Motion -> b=Fault"): "none",
    pattern("EVERY (a=Motion -> b=Fault)"): "none",
    pattern("EVERY a=Motion -> b=Fault"): (
        "each match of EVERY a=Motion is kept until b=Fault comes, for ever if it does not; "
        "write b=Fault WHERE timer:within(1 hour)"
    ),
    pattern("EVERY a=Motion -> (b=Fault OR Reset)"): (
        "each match of EVERY a=Motion is kept until b=Fault OR Reset comes, for ever if it does not; "
        "write (b=Fault OR Reset) WHERE timer:within(1 hour)"
    ),
    pattern("EVERY a=Motion -> (b=Fault OR timer:interval(1 min))"): "none",
    pattern("EVERY a=Motion -> (timer:interval(1 min) AND NOT Reset)"): "none",
    pattern("EVERY a=Motion -> (b=Fault AND timer:interval(1 min))"): (
        "each match of EVERY a=Motion is kept until b=Fault AND timer:interval(1 min) comes, for ever if it does not; "
        "write (b=Fault AND timer:interval(1 min)) WHERE timer:within(1 hour)"
    ),
    pattern("(EVERY a=Motion -> b=Fault) WHERE timer:within(1 min)"): "none",
    pattern("EVERY a=Motion -[2]> b=Fault"): "none",
    pattern("EVERY a=Motion AND b=Fault"): (
        "AND keeps every match of EVERY a=Motion; write (EVERY a=Motion AND b=Fault) WHERE timer:within(1 hour)"
    ),
    pattern("EVERY-DISTINCT(a.x) a=Motion"): (
        "EVERY-DISTINCT(a.x) remembers every key; say for how long: EVERY-DISTINCT(a.x, 1 hour)"
    ),
    pattern("EVERY-DISTINCT(a.x) (a=Motion -> b=Fault)"): (
        "EVERY-DISTINCT(a.x) remembers every key; say for how long: EVERY-DISTINCT(a.x, 1 hour)"
    ),
    pattern("EVERY-DISTINCT(a.x, 1 hour) a=Motion"): "none",
    pattern("a=Motion UNTIL b=Fault"): (
        "the events of a are kept until b=Fault comes; "
        "give the repeat an upper bound, [:100], or a guard, WHERE timer:within(1 hour)"
    ),
    pattern("[:5] a=Motion UNTIL b=Fault"): "none",
    pattern("a=Motion UNTIL timer:interval(1 min)"): "none",
    pattern("Motion UNTIL b=Fault"): "none",
    pattern("EVERY (EVERY a=Motion)"): (
        "EVERY starts EVERY a=Motion again with each match, while the earlier ones go on; leave one EVERY out"
    ),
}


@pytest.mark.parametrize("text", WARNINGS)
def test_state_without_a_bound_is_warned_of_with_the_fix(text: str) -> None:
    assert sections(text)["Warnings"] == WARNINGS[text]


# -- terms ------------------------------------------------------------------------------------------------


def test_the_terms_of_a_pattern_are_a_tree() -> None:
    text = pattern(
        "EVERY a=Motion(x > 3) -> ([2] b=Fault(camera = a.camera) AND NOT Reset) WHERE timer:withinmax(1 min, 3)"
    )
    shown = sections(text)["Physical plan"].splitlines()
    first = next(i for i, line in enumerate(shown) if line.strip().startswith("kernel  pattern"))
    tree = [line[len(shown[first]) - len(shown[first].lstrip()) + 8 :] for line in shown[first + 1 : first + 10]]
    assert tree == [
        "followed by",
        "  every",
        "    a=Motion(x > 3): native, on the event alone",
        "  within 1 min, at most 3 matches",
        "    and",
        "      repeat [2]",
        "        b=Fault(camera = a.camera): compiled, over the events so far",
        "      not",
        "        Reset: any event",
    ]


def test_titles_of_terms_leave_out_what_they_are_made_of() -> None:
    shown = sections(pattern("EVERY-DISTINCT(a.x) (a=Motion WHILE (a.x > 1)) -> [1:a.n] b=Fault UNTIL Reset"))
    lines = [line.strip() for line in shown["Physical plan"].splitlines()]
    assert {"EVERY-DISTINCT(a.x)", "WHILE (a.x > 1)", "repeat [1:…] until"} <= set(lines)
