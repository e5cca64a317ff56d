"""Forms that EPL has and the language does not: each is refused by its name, with a fix that keeps its meaning."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.functions.epl_functions import FUNCTIONS
from presage.lang import parse
from presage.lang.unsupported_syntax import FORMS
from presage.operators.windows.window_defs import EPL_WINDOWS
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM A (id INT, k STRING, v INT, w LONG, x DOUBLE, s STRING, arr ARRAY<INT>, ts TIMESTAMP) EVENT TIME ts;
CREATE STREAM B (id INT, k STRING, v INT, x DOUBLE, ts TIMESTAMP) EVENT TIME ts;
"""
# By the words of the message that name the form.
REFUSED = {
    "the old spelling of a window": "select v from A.win:time(3 sec)",
    "a number with a suffix": "select v from A where w > 5L",
    "#sort": "select v from A#sort(3, v desc)",
    "#rank": "select v from A#rank(k, 3, v asc)",
    "RETAIN-UNION": "select v from A#unique(k)#time(3 sec) retain-union",
    "RETAIN-INTERSECTION": "select v from A#length(2)#unique(k) retain-intersection",
    "an annotation": "@name('foo') select v from A",
    "SELECT ISTREAM": "select istream v from A#length(2)",
    "SELECT RSTREAM": "select rstream * from A#length(2)",
    "SELECT IRSTREAM": "select irstream * from A#length(2)",
    "INSERT RSTREAM INTO": "insert rstream into D1 select v from A#length(2)",
    "INSERT IRSTREAM INTO": "insert irstream into D1 select v from A#length(2)",
    "INSERT ISTREAM INTO": "insert istream into D1 select v from A#length(2)",
    "INSERT INTO with a list of columns": "insert into D2(p, q) select v, k from A",
    "ON …": "on A as a merge W as w where a.k = w.k when matched then update set v = a.v",
    "INTO TABLE": "into table T select count(*) as n from A group by k",
    "GROUPING SETS": "select k, sum(v) as s from A#length(5) group by grouping sets((k), (v))",
    "FOR GROUPED_DELIVERY": "select k, v from A#length_batch(5) for grouped_delivery(k)",
    "OUTPUT EVERY n EVENTS": "select v from A output last every 3 events",
    "OUTPUT SNAPSHOT EVERY": "select k, sum(v) as s from A#time(10 sec) group by k output snapshot every 3 sec",
    "OUTPUT AT": "select v from A output at (*/5, *, *, *, *)",
    "OUTPUT WHEN": "select v from A output when count_insert > 3",
    "OUTPUT AFTER": "select v from A output after 3 sec all every 2 sec",
    "OUTPUT without EVERY": "select k, avg(x) as m from A group by k output all",
    "UNIDIRECTIONAL": "select a.v from A as a unidirectional, B#keepall as b where a.k = b.k",
    "an outer join": "select a.v from A#length(3) as a left outer join B#length(3) as b on a.k = b.k",
    "sql:": "select * from A as a, sql:db ['select x from t'] as h",
    "method:": "select * from A as a, method:Lookup.find(a.k) as h",
    "a subquery": "select v from A where k in (select k from B#keepall)",
    "a comparison with ANY, SOME or ALL": "select v from A where v > all (select v from B#keepall)",
    "CREATE WINDOW": "create window W#keepall as A",
    "CREATE TABLE": "create table T (k string primary key, n count(*))",
    "CREATE INDEX": "create unique index I on W(k)",
    "CREATE CONTEXT": "create context P partition by k from A",
    "CONTEXT": "context P select v from A",
    "CREATE VARIABLE": "create constant variable int var2 = 5",
    "CREATE … SCHEMA": "create map schema S2 as (p string, q int)",
    "CREATE EXPRESSION": "create expression twice { x => x.v * 2 }",
    "EXPRESSION": "expression twice { x => x.v * 2 } select twice(a) as z from A as a",
    "CREATE INLINED_CLASS": 'create inlined_class """ public class X {} """',
    "CREATE DATAFLOW": "create dataflow F EventBusSource -> s<A> {}",
    "UPDATE": "update istream A set v = 1",
    "DELETE": "delete from W where k = 'a'",
    "IMPORT": "import java.util.*",
    "MODULE": "module a.b; select v from A",
    "the parameter filter:": "select count(*, filter: v > 0) as z from A#length(5)",
    "the parameter group_by:": "select sum(v, group_by: k) as z from A#length(5)",
    "countever": "select countever(*) as z from A#length(2)",
    "an order in parentheses": "select sorted(v desc) as z from A#length(5)",
    "CAST with a comma": "select cast(coalesce(v, abs(id)), long) as z from A",
    "LIKE with ESCAPE": "select v from A where s like 'f!%' escape '!'",
    "REGEXP": "select v from A where s not regexp 'f.*'",
    "IS with a value": "select v from A where v is not 1",
    "a bitwise operator": "select v & 3 as z from A",
    "an array in braces": "select {1, 2, 3} as z from A",
    "NEW { … }": "select new {p = v} as z from A",
    "a number in hexadecimal": "select v + 0x1F as z from A",
    "a lambda expression": "select arr.aggregate(0, (r, x) => r + x) as z from A",
    "timer:at": "select * from pattern [every timer:at(*/5, *, *, *, *)]",
    "timer:schedule": "select a.v from pattern [a=A -> timer:schedule(iso: 'R5/2012-10-01T05:52:00Z/PT2S')]",
    "ORDER BY": "select k, v from A#length_batch(5) order by v desc",
    "LIMIT": "select k, v from A#length_batch(5) limit 2 offset 1",
    "UNION": "select v from A union select v from B",
    "NATURAL JOIN": "select a.v from A#length(1) as a natural join B#length(1) as b",
    "CROSS JOIN": "select a.v from A#length(1) as a cross join B#length(1) as b",
}


def refusal(text: str) -> PresageError:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    with pytest.raises(PresageError) as found:
        workspace.check(text)
    return found.value


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_of_EPL_is_refused_by_its_name(name: str) -> None:
    found = refusal(REFUSED[name])
    assert found.code == "UNSUPPORTED"
    assert name in found.message
    assert found.span is not None


@pytest.mark.parametrize("name", EPL_WINDOWS)
def test_a_window_of_EPL_is_not_taken_for_another_that_is_spelt_alike(name: str) -> None:
    for text in (f"select v from A#{name}(3)", f"select v from A#length(5)#{name}(v)"):
        found = refusal(text)
        assert (found.code, found.fix) == ("UNSUPPORTED", EPL_WINDOWS[name])
        assert found.message.startswith(f"#{name} is not supported")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_EPL_is_not_taken_for_another_that_is_spelt_alike(name: str) -> None:
    found = refusal(f"select {name}(v) as z from A#length(5)")
    assert (found.code, found.fix) == ("UNSUPPORTED", FUNCTIONS[name])
    assert found.message.startswith(f"{name}(…) is not supported")


@pytest.mark.parametrize("method", ["s.length()", "arr.max()", "ts.plus(1 hour)", "arr.sumOf()", "s.toUpperCase()"])
def test_a_method_of_EPL_is_refused_as_one(method: str) -> None:
    found = refusal(f"select {method} as z from A")
    assert (found.code, "takes the value as its argument" in found.fix) == ("UNSUPPORTED", True)
    assert f"the method {method.split('.')[1].split('(')[0]}()" in found.message


@pytest.mark.parametrize(("call", "fix"), [("max(v, x)", "greatest(a, b)"), ("sum(v, v > 0)", "CASE WHEN c")])
def test_more_arguments_of_an_aggregate_are_told_another_way(call: str, fix: str) -> None:
    assert fix in refusal(f"select {call} as z from A#length(5)").fix


def test_every_form_is_tried() -> None:
    tried = {refusal(text).message for text in REFUSED.values()}
    untried = {form.what for form in FORMS if not any(form.what in message for message in tried)}
    assert untried <= {"IF NOT EXISTS"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT istream, rstream AS irstream FROM A AS retain",
        "SELECT unidirectional, escape, regexp FROM A AS new WHERE any = 1",
        "SELECT x FROM A AS on_ WHERE filter = 5",
        "SELECT x FROM module AS import OUTPUT LAST EVERY 1 min",
        "SELECT update, expression FROM A(desc > 1)",
    ],
)
def test_words_of_those_forms_are_names(text: str) -> None:
    assert parse(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT unidirectional, x FROM A WHERE x > AND y", "SYNTAX"),
        ("SELECT istream, regexp FROM A WHERE (x = 1 OR y) z", "SYNTAX"),
        ("SELECT m FROM A MATCH_RECOGNIZE (ORDER BY ts DESC, v ASC PATTERN ({- P -} Q | R) DEFINE P AS > 1)", "SYNTAX"),
    ],
)
def test_another_mistake_is_not_taken_for_one_of_them(text: str, code: str) -> None:
    with pytest.raises(PresageError) as found:
        parse(text)
    assert found.value.code == code


def test_what_stands_for_an_outer_join_does_not_lose_rows_in_silence() -> None:
    found = refusal(REFUSED["an outer join"])
    assert "leaves out events without a partner" in found.fix
