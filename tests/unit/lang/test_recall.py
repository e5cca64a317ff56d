"""History: what RECALL becomes in the tree, and what is said where it is written wrongly."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import parse_expression, parse_statement, print_statement
from presage.lang import recall_syntax as r
from presage.lang import syntax as s

MINUTE = 60_000_000


def item(text: str) -> s.FromItem:
    query = parse_statement(f"SELECT 1 FROM {text}")
    assert isinstance(query, s.Query)
    return query.items[0]


def recall(text: str) -> r.RecallClause | r.SimilarClause:
    (clause,) = item(f"E e {text}").recalls
    return clause


def refusal(text: str) -> PresageError:
    with pytest.raises(PresageError) as raised:
        parse_statement(text)
    assert not raised.value.others
    return raised.value


def test_a_recall_keeps_its_span_its_select_and_its_name() -> None:
    clause = recall("FINAL RECALL LAST 5 min ( SELECT h.x FROM T h WHERE h.k = e.k ) AS r")
    assert isinstance(clause, r.RecallClause)
    assert (clause.last, clause.final, clause.alias, clause.pace) == (5 * MINUTE, True, "r", r.Pace())
    assert clause.select.sources == (r.HistorySource("T", alias="h"),)
    assert clause.select.where is not None


def test_the_event_id_stands_between_the_item_and_its_recalls() -> None:
    found = item("E EVENT ID (a, b) RECALL ( SELECT 1 ) r RECALL ( SELECT r.x ) q")
    assert found.event_id == (s.Name("a"), s.Name("b"))
    assert [clause.alias for clause in found.recalls] == ["r", "q"]


def test_words_of_pace_come_in_any_order_before_or_behind_the_name() -> None:
    before = recall("RECALL (SELECT 1) DROP AFTER 1 min PAUSE EVERY 3 CHUNKS REPORT EVERY 2 min r")
    behind = recall("RECALL (SELECT 1) AS r REPORT EVERY 2 min DROP AFTER 1 min PAUSE EVERY 3 CHUNKS")
    both = recall("RECALL (SELECT 1) PAUSE EVERY 3 CHUNKS r REPORT EVERY 2 min DROP /* a */ AFTER 1 min")
    assert before == behind == both
    assert behind.pace == r.Pace(2 * MINUTE, 3, MINUTE)


def test_report_pause_and_drop_are_names_without_their_second_word() -> None:
    for word in ("report", "pause", "drop", "before", "after", "similar", "last", "event"):
        assert recall(f"RECALL (SELECT 1) {word}").alias == word


def test_one_window_behind_WHERE_is_that_of_every_named_source_without_one() -> None:
    clause = recall("RECALL (SELECT 1 FROM A a, B b WINDOW 1 min, (SELECT 1 FROM C) c WHERE x WINDOW 5 min) r")
    assert isinstance(clause, r.RecallClause)
    assert [source.window for source in clause.select.sources] == [5 * MINUTE, MINUTE, None]
    inner = clause.select.sources[2].select
    assert inner is not None
    assert inner.sources[0].window is None


def test_a_context_recalls_behind_its_sources_or_without_any() -> None:
    clause = recall(
        "RECALL SIMILAR 2 (CONTEXT SELECT r.x, q.y FROM A a WINDOW 1 min RECALL LAST 2 min (SELECT 1 AS x) AS r "
        "RECALL (SELECT r.x AS y) q WHERE a.z LIMIT 3, CONTEXT SELECT r.* RECALL (SELECT 1 AS x) r BEFORE 1 min) s"
    )
    assert isinstance(clause, r.SimilarClause)
    recalls = [[(one.alias, one.last) for one in context.recalls] for context in clause.contexts]
    assert recalls == [[("r", 2 * MINUTE), ("q", None)], [("r", None)]]
    assert (clause.contexts[0].limit, clause.before) == (3, MINUTE)


def test_joins_say_whether_they_are_outer() -> None:
    clause = recall("RECALL (SELECT 1 FROM A LEFT JOIN B ON x INNER JOIN C c ON y LEFT OUTER JOIN D ON z, F) r")
    assert isinstance(clause, r.RecallClause)
    assert [(source.outer, source.on is not None) for source in clause.select.sources] == [
        (False, False),
        (True, True),
        (False, True),
        (True, True),
        (False, False),
    ]


def test_nulls_are_placed_only_where_it_is_said() -> None:
    clause = recall("RECALL (SELECT 1 FROM A ORDER BY a, b DESC, c ASC NULLS FIRST, d NULLS LAST LIMIT 0) r")
    assert isinstance(clause, r.RecallClause)
    assert [(term.descending, term.nulls_first) for term in clause.select.order_by] == [
        (False, None),
        (True, None),
        (False, True),
        (False, False),
    ]
    assert clause.select.limit == 0


def test_a_list_in_a_context_ends_before_the_next_part() -> None:
    clause = recall("""RECALL SIMILAR 4 ( CONTEXT SELECT e.a, e.b, CONTEXT SELECT x FROM A, B, -- and
        WITH w AS SELECT x FROM C ORDER BY x, y, BEFORE 1 min AFTER 2 min, BANDWIDTH (load = 2, `a b` = .5) ) AS s""")
    assert isinstance(clause, r.SimilarClause)
    assert [(len(part.select), len(part.sources)) for part in clause.contexts] == [(2, 0), (1, 2)]
    assert [(part.name, len(part.select.order_by)) for part in clause.returned] == [("w", 2)]
    assert (clause.count, clause.before, clause.after) == (4, MINUTE, 2 * MINUTE)
    assert clause.bandwidths == (r.Bandwidth("load", 2.0), r.Bandwidth("a b", 0.5))


def test_BEFORE_and_AFTER_stand_inside_or_behind_the_parentheses() -> None:
    inside = recall("RECALL SIMILAR 1 (CONTEXT SELECT a FROM A BEFORE 1 min, AFTER 2 min) s")
    behind = recall("RECALL SIMILAR 1 (CONTEXT SELECT a FROM A) BEFORE 1 min AS s AFTER 2 min")
    assert inside == behind


def test_selects_in_terms_are_read_within_a_recall() -> None:
    clause = recall("RECALL (SELECT (SELECT 1) FROM A WHERE x NOT IN (SELECT y FROM B) AND EXISTS (SELECT 2)) r")
    assert isinstance(clause, r.RecallClause)
    assert isinstance(clause.select.select[0].expr, r.ScalarSelect)
    assert isinstance(clause.select.where, s.AllOf)
    member, exists = clause.select.where.operands
    assert isinstance(member, r.InSelect)
    assert member.negated
    assert isinstance(exists, r.Exists)


def test_OVER_makes_a_window_function_of_a_call_and_is_a_name_elsewhere() -> None:
    clause = recall(
        "RECALL (SELECT lag(x, 2) over (PARTITION BY a, b ORDER BY c DESC), count(*) OVER () AS n FROM A over) r"
    )
    assert isinstance(clause, r.RecallClause)
    first, second = (item.expr for item in clause.select.select)
    assert isinstance(first, r.Over)
    assert isinstance(second, r.Over)
    assert (first.call.name, len(first.call.args), len(first.partition), first.order[0].descending) == (
        "lag",
        2,
        2,
        True,
    )
    assert (second.partition, second.order, clause.select.sources[0].alias) == ((), (), "over")


def test_OVER_outside_of_a_recall_is_refused_at_its_place() -> None:
    found = refusal("SELECT x, rank() OVER (ORDER BY x) FROM T")
    assert (found.code, found.message.split(":")[0]) == ("UNSUPPORTED", "OVER is not supported in queries")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM T WHERE a IN (SELECT b FROM U)",
        "SELECT x FROM T WHERE NOT EXISTS (SELECT b FROM U)",
        "SELECT x FROM T JOIN V ON a > (SELECT b FROM U#time(3 sec))",
        "SELECT x FROM (SELECT b FROM U) u",
        "SELECT x FROM T e EVENT ID ((SELECT b FROM U)) RECALL (SELECT (SELECT 1)) r",
        "SELECT x FROM T e RECALL (SELECT 1) r WHERE x > (SELECT b FROM U) AND",
        "CREATE RELATION R (a INT) VALUES ((SELECT b FROM U))",
    ],
)
def test_a_subquery_outside_of_a_recall_is_refused_at_its_place(text: str) -> None:
    found = refusal(text)
    assert (found.code, found.message) == ("UNSUPPORTED", "a subquery is not supported in queries")
    assert found.span is not None
    start = text.index("SELECT b")
    assert tuple(found.span) == (start, start + len("SELECT"))


def test_a_subquery_in_a_term_by_itself_is_refused() -> None:
    with pytest.raises(PresageError, match="a subquery is not supported"):
        parse_expression("1 + (SELECT 2)")


@pytest.mark.parametrize(
    ("behind", "what"),
    [
        ("r ORDER BY x", "ORDER BY"),
        ("r LIMIT 5", "LIMIT"),
        ("LEFT JOIN B ON x", "LEFT JOIN"),
        ("r LEFT JOIN B ON x", "an outer join"),
    ],
)
def test_forms_of_history_are_refused_behind_a_recall(behind: str, what: str) -> None:
    found = refusal(f"SELECT x FROM A RECALL (SELECT 1 FROM T LEFT JOIN U ON y ORDER BY y LIMIT 3) {behind}")
    assert (found.code, found.message) == ("UNSUPPORTED", f"{what} is not supported in queries")


def test_a_mistake_behind_a_recall_is_not_blamed_on_its_select() -> None:
    assert refusal("SELECT x FROM A RECALL (SELECT 1 FROM T ORDER BY x LIMIT 3) r WHERE )").code != "UNSUPPORTED"
    assert refusal("SELECT x FROM A RECALL (SELECT (SELECT 1) FROM T ORDER BY x LIMIT 3 3) r").code == "SYNTAX"


@pytest.mark.parametrize(
    ("text", "code", "fix"),
    [
        ("RECALL (SELECT 1) WHERE x", "SYNTAX", "AS r"),
        ("RECALL SIMILAR 2 (CONTEXT SELECT a)", "SYNTAX", "AS s"),
        ("RECALL SIMILAR 0 (CONTEXT SELECT a) s", "BAD_VALUE", "1 or more"),
        ("RECALL SIMILAR -2 (CONTEXT SELECT a) s", "BAD_VALUE", "1 or more"),
        ("RECALL SIMILAR 1.5 (CONTEXT SELECT a) s", "BAD_VALUE", "1 or more"),
        ("RECALL SIMILAR 2 () s", "SYNTAX", "CONTEXT SELECT"),
        ("RECALL SIMILAR 2 (WITH w AS SELECT 1) s", "SYNTAX", "CONTEXT SELECT"),
        ("RECALL SIMILAR 2 (SELECT 1) s", "SYNTAX", "CONTEXT SELECT"),
        ("RECALL SIMILAR 2 (CONTEXT SELECT 1 CONTEXT SELECT 2) s", "SYNTAX", "comma missing"),
        ("RECALL SIMILAR 2 (CONTEXT SELECT 1, BEFORE 1 min) s BEFORE 2 min", "SYNTAX", "keep one"),
        ("RECALL SIMILAR 2 (CONTEXT SELECT 1, BANDWIDTH (a = 0)) s", "BAD_VALUE", "how far apart"),
        ("RECALL (SELECT 1) r AFTER 2 min", "SYNTAX", "SIMILAR"),
        ("RECALL (SELECT 1 LIMIT -5) r", "BAD_VALUE", "or more"),
        ("RECALL (SELECT 1) r PAUSE EVERY 0 CHUNKS", "BAD_VALUE", "1 or more"),
        ("RECALL (SELECT 1) REPORT EVERY 1 sec r REPORT EVERY 1 sec", "SYNTAX", "keep one"),
        ("RECALL LAST (SELECT 1) r", "SYNTAX", "LAST 4 weeks"),
        ("RECALL LAST 4 (SELECT 1) r", "SYNTAX", "add the unit"),
        ("RECALL LAST 0 sec (SELECT 1) r", "BAD_VALUE", "longer"),
        ("RECALL (SELECT 1 FROM (SELECT 2)) r", "SYNTAX", "AS h"),
        ("RECALL (SELECT 1 WHERE x WINDOW 1 min) r", "SYNTAX", "in FROM"),
        ("RECALL (SELECT 1 FROM A RIGHT JOIN B ON x) r", "UNSUPPORTED", "LEFT JOIN"),
        ("RECALL (SELECT 1 FROM A GROUP BY x WHERE y) r", "SYNTAX", "the order is"),
        ("RECALL SIMILAR 1 (CONTEXT SELECT r.x FROM A WHERE y RECALL (SELECT 1) r) s", "SYNTAX", "before WHERE"),
        ("RECALL SIMILAR 1 (CONTEXT SELECT r.x FROM A RECALL (SELECT 1)) s", "SYNTAX", "AS r"),
    ],
)
def test_mistakes_are_named_with_a_fix(text: str, code: str, fix: str) -> None:
    found = refusal(f"SELECT 1 FROM E e {text}")
    assert found.code == code
    assert fix in str(found)
    assert found.span is not None


def test_commands_name_the_recall_and_its_statement() -> None:
    assert parse_statement("Cancel recall 'a' of s") == r.RecallCommand("cancel", "a", "s")
    assert parse_statement("CONTINUE RECALL 'a'") == r.RecallCommand("continue", "a")
    assert "put it in quotes: '5'" in str(refusal("ACCELERATE RECALL 5"))


@pytest.mark.parametrize(("opening", "closing"), [("(SELECT ", ")"), ("x FROM (SELECT ", ") AS h")])
def test_selects_nest_up_to_the_limit_of_depth_and_are_printed(opening: str, closing: str) -> None:
    good, bad = (f"SELECT 1 FROM A RECALL (SELECT {opening * n}1{closing * n}) r" for n in (22, 60))
    tree = parse_statement(good)
    assert parse_statement(print_statement(tree)) == tree
    assert refusal(bad).code == "QUERY_TOO_DEEP"


def test_words_of_history_before_a_select_may_name_a_stream_called_predicted() -> None:
    assert [item(f"predicted {text}").predicted for text in ("RECALL (SELECT 1) r", "EVENT ID (a)")] == [False, False]
    assert item("PREDICTED event AS id").predicted
