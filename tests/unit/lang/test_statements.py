"""Statements: what each form of the language becomes in the tree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from presage.errors import PresageError
from presage.lang import parse, parse_statement
from presage.lang import syntax as s
from presage.lang.parser import parse_leniently
from presage.lang.printer import print_statement
from presage.model.types import INT, LONG, STRING, ArrayOf, MapOf, StructOf
from unit.lang.texts import ALL


def query(text: str) -> s.Query:
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return statement


@pytest.mark.parametrize("text", ALL)
def test_every_form_of_the_description_is_read(text: str) -> None:
    assert isinstance(parse_statement(text), s.Statement)


def test_all_forms_together_make_one_script() -> None:
    assert len(parse("\n;\n".join(ALL)).statements) == len(ALL)


def test_clauses_of_a_declaration_come_in_any_order() -> None:
    one = parse_statement("CREATE STREAM S (a INT, at TIMESTAMP) EVENT TIME at KEY (a) INHERITS T WITH (x = 1)")
    two = parse_statement("CREATE STREAM S (a INT, at TIMESTAMP) WITH (x = 1) INHERITS T KEY (a) EVENT TIME at")
    assert one == two


def test_prefixes_before_a_standing_statement_are_those_of_its_query() -> None:
    one, two = "PREFIX c: <http://e.org/c#>", "PREFIX d: <http://e.org/d#>"
    front = parse_statement(f"{one} CREATE STATEMENT s AS {two} SELECT a FROM T")
    assert front == parse_statement(f"CREATE STATEMENT s AS {one} {two} SELECT a FROM T")
    with pytest.raises(PresageError, match="found 'STREAM' where OR or STATEMENT was expected"):
        parse_statement(f"{one} CREATE STREAM S (a INT)")


def test_types_nest_and_two_levels_close_without_a_blank() -> None:
    created = parse_statement("CREATE SCHEMA S (a ARRAY<STRUCT<x INT, where MAP<STRING,ARRAY<LONG>>>>)")
    assert isinstance(created, s.CreateType)
    inner = StructOf((("x", INT), ("where", MapOf(STRING, ArrayOf(LONG)))))
    assert created.columns == (s.Column("a", ArrayOf(inner)),)


def test_options_keep_the_type_of_their_value() -> None:
    created = parse_statement("CREATE STREAM S WITH (a = 'x', b = -2, c = 1.5, d = false, e = 90 sec, f.g = 1)")
    assert isinstance(created, s.CreateType)
    assert {option.name: option.value for option in created.options} == {
        "a": "x",
        "b": -2,
        "c": 1.5,
        "d": False,
        "e": "1 min 30 sec",
        "f.g": 1,
    }


def test_filters_joined_by_commas_must_all_hold() -> None:
    assert query("SELECT x FROM R(a, b OR c)").items[0].condition == s.AllOf(
        (s.Name("a"), s.AnyOf((s.Name("b"), s.Name("c"))))
    )
    assert query("SELECT x FROM R()").items[0].condition is None


@pytest.mark.parametrize("clause", ["WHERE x", "WITHIN [now, )", "OUTPUT EVERY 1 sec", "GROUP BY x", "HAVING x", ""])
def test_an_alias_without_AS_does_not_swallow_the_next_clause(clause: str) -> None:
    assert query(f"SELECT x FROM R {clause}").items[0].alias is None
    assert query(f"SELECT x FROM R r {clause}").items[0].alias == "r"
    assert query(f"SELECT x FROM R AS time {clause}").items[0].alias == "time"


def test_windows_chain_and_their_namespace_says_nothing() -> None:
    windows = query("SELECT x FROM R#std:groupwin(sym)#win:length(10)#keepall").items[0].windows
    assert [(window.name, len(window.args)) for window in windows] == [("groupwin", 1), ("length", 1), ("keepall", 0)]


def test_JOIN_keeps_its_condition_and_analysis() -> None:
    first, second, third = query("SELECT x FROM A, B b JOIN C ON b.k = C.k ANALYSIS PRESENT").items
    assert (first.on, second.on, second.analysis) == (None, None, None)
    assert isinstance(third.on, s.Binary)
    assert third.analysis == "present"


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("[now, )", s.Bound(None, True), None),
        ("(, now]", None, s.Bound(None, True)),
        ("(1970-01-01T00:00:01, '1970-01-01 00:00:02Z')", s.Bound(1_000_000, False), s.Bound(2_000_000, False)),
        ("[1970-01-01T02:00+02:00, 1970-01-01T00:00:00.5]", s.Bound(0, True), s.Bound(500_000, True)),
        ("[now - 5 sec, now+1min)", s.Bound(None, True, -5_000_000), s.Bound(None, False, 60_000_000)),
    ],
)
def test_bounds_of_WITHIN(text: str, low: s.Bound | None, high: s.Bound | None) -> None:
    assert query(f"SELECT x FROM R WITHIN {text} WHERE y").within == s.WithinClause(low, high)


@pytest.mark.parametrize(
    "bound", ["2012-13-01", "2012-05-07T25:00", "'yesterday'", "2012-05-07T09:00+99:00", "0001-01-01T00:00+14:00"]
)
def test_a_wrong_timestamp_is_refused_as_such(bound: str) -> None:
    with pytest.raises(PresageError) as raised:
        parse(f"SELECT x FROM R WITHIN [{bound}, )")
    assert raised.value.code == "BAD_TIMESTAMP"


def test_spans_point_into_the_whole_text() -> None:
    text = "SHOW STREAMS;\n  SELECT a.b + f( c ) AS d FROM  Tick(x)#time(5 min) t ;"
    script = parse(text)
    show, select = script.statements
    assert isinstance(select, s.Query)
    item = select.items[0]
    expr = select.select[0].expr
    assert isinstance(expr, s.Binary)

    def said(span: s.Span) -> str:
        return text[span.start : span.end]

    assert said(show.span) == "SHOW STREAMS"
    assert said(select.span) == "SELECT a.b + f( c ) AS d FROM  Tick(x)#time(5 min) t"
    assert said(select.select[0].span) == "a.b + f( c ) AS d"
    assert (said(expr.span), said(expr.left.span), said(expr.right.span)) == ("a.b + f( c )", "a.b", "f( c )")
    assert (said(item.span), said(item.name_span)) == ("Tick(x)#time(5 min) t", "Tick")
    assert said(item.windows[0].span) == "#time(5 min)"


def test_every_broken_statement_is_reported_and_the_others_are_read() -> None:
    script, errors = parse_leniently("SELCT 1; SHOW STREAMS; SELECT (1 FROM a; DESCRIBE T; SELECT 'x FROM a")
    assert [type(statement) for statement in script.statements] == [s.Show, s.Describe]
    assert [found.code for found in errors] == ["SYNTAX", "UNCLOSED", "UNCLOSED"]
    with pytest.raises(PresageError) as raised:
        parse("SELCT 1; SHOW; SHOW STREAMS", "my.epl")
    assert len(raised.value.others) == 1
    assert (raised.value.source.name if raised.value.source else "") == "my.epl"


@pytest.mark.parametrize("text", ["", " ;; -- nothing\n; /* ; */"])
def test_a_text_without_statements_is_an_empty_script(text: str) -> None:
    assert parse(text).statements == ()
    with pytest.raises(PresageError, match="a statement was expected"):
        parse_statement(text)


def test_parse_statement_wants_one_statement() -> None:
    with pytest.raises(PresageError, match="a second statement"):
        parse_statement("SHOW STREAMS; SHOW MODELS")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM A LEFT OUTER JOIN B ON x",
        "SELECT x FROM A RIGHT JOIN B ON x",
        "SELECT x FROM A LIMIT 5",
        "SELECT x FROM A UNION SELECT y FROM B",
    ],
)
def test_forms_of_later_versions_are_named_and_not_called_wrong(text: str) -> None:
    with pytest.raises(PresageError) as raised:
        parse(text)
    assert [found.code for found in (raised.value, *raised.value.others)] == ["UNSUPPORTED"]
    assert raised.value.span is not None


def test_a_name_that_is_a_word_of_a_later_form_is_a_name() -> None:
    assert query("SELECT pattern[0], sequence.path FROM predicted AS recalls").items[0].name == "predicted"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM {}if (a INT, at TIMESTAMP) EVENT TIME at",
        "CREATE SCHEMA {}exists (a INT)",
        "CREATE RELATION {}cascade (a INT) FROM 'a.csv' WITH (nulls = 'NA')",
        "CREATE MODEL {}m FROM 'm.json'",
        "CREATE KNOWLEDGE {}k FROM 'k.ttl'",
        "CREATE SINK {}s FROM q WITH (sink = 'callback')",
        "CREATE STATEMENT {}s AS\nSELECT a\nFROM T",
    ],
)
def test_IF_NOT_EXISTS_stands_before_the_name_of_everything_that_is_created(text: str) -> None:
    plain, absent = (parse(text.format(words)).statements[0] for words in ("", "if NOT /* yet */ exists "))
    assert print_statement(absent) == text.format("IF NOT EXISTS ")
    assert print_statement(plain) == text.format("")
    assert plain == replace(absent, if_not_exists=False)  # type: ignore[call-arg]


def test_IF_NOT_EXISTS_and_OR_REPLACE_exclude_each_other() -> None:
    with pytest.raises(PresageError, match="found IF NOT EXISTS"):
        parse("CREATE OR REPLACE STATEMENT IF NOT EXISTS s AS SELECT a FROM T")


def test_CASCADE_is_a_name_where_a_name_is_wanted() -> None:
    first, second = parse("DROP STREAM Tick CASCADE; DROP STREAM cascade").statements
    assert (first, second) == (s.Drop("stream", "Tick", True), s.Drop("stream", "cascade"))


def test_PREDICTED_is_a_word_only_before_another_name() -> None:
    for text in ("predicted", "predicted AS p", "predicted WHERE x", "`predicted` p", "predicted#time(1 sec) p"):
        (item,) = query(f"SELECT x FROM {text}").items
        assert (item.name, item.predicted) == ("predicted", False), text
    for text in ("PREDICTED T", "predicted T AS p", "PREDICTED `T`", "PREDICTED/* a */ T WINDOW 1 sec"):
        (item,) = query(f"SELECT x FROM {text}").items
        assert (item.name, item.predicted) == ("T", True), text
