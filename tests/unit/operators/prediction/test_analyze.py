"""Queries over predicted streams as written: what they mean to the binder, and what each mistake is told."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.prediction.kernel.query import PredictionTables
from presage.operators.prediction.kernel.spec import AtLeast, Comparator, JoinTerm, Mode, ValueTerm
from presage.operators.prediction.nodes import PredictedMatch
from presage.plan.query import BoundQuery
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM Gps (car STRING, fleet STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x, y) WITH (threshold = 25, period = '30 sec');
CREATE STREAM Temp (id LONG, temp INT, at TIMESTAMP) EVENT TIME at KEY (id) PREDICTED (temp);
CREATE STREAM Rough (id LONG, temp DOUBLE, at TIMESTAMP) EVENT TIME at KEY (id)
  PREDICTED (temp) WITH (errors = 'normal');
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE RELATION Fleet (name STRING, town STRING) VALUES ('f', 't');
CREATE STREAM Small (car STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) PREDICTED (x) WITH (buffer = 9);
CREATE RELATION Rated (id LONG, probability DOUBLE, valid_from STRING) VALUES (1, 0.5, 'x');
"""
PAIR = "FROM PREDICTED Gps a JOIN PREDICTED Gps b"
NEAR = "ABS(a.x - b.x) <= 5"


def bound(text: str) -> BoundQuery:
    space = Workspace([], ".")
    space.check(DECLARED)
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return space.bind(statement)


def tables(text: str) -> PredictionTables:
    (node,) = [node for node in bound(text).plan.walk() if isinstance(node, PredictedMatch)]
    return node.tables


def refused(text: str) -> PresageError:
    space = Workspace([], ".")
    with pytest.raises(PresageError) as raised:
        space.check(f"{DECLARED}{text};")
    return raised.value


FORM = "compare an attribute with a constant"
EACH = "a query for each"
# The statement with its mistake between ⟦ and ⟧, the code, a part of the message, a part of the fix.
MISTAKES = [
    ("SELECT t.sym FROM PREDICTED ⟦Tick⟧ t", "NOT_PREDICTED", "'Tick' are not functions", "leave PREDICTED"),
    ("SELECT t.id FROM PREDICTED ⟦Event⟧ t", "NOT_PREDICTED", "'Event'", "declare it with PREDICTED"),
    ("SELECT t.id FROM PREDICTED ⟦Tempp⟧ t", "UNKNOWN_STREAM", "'Tempp'", "did you mean 'Temp'?"),
    ("SELECT f.name FROM PREDICTED ⟦Fleet⟧ f", "NOT_A_STREAM", "a relation", "name a stream"),
    ("SELECT ⟦t.tmp⟧ FROM PREDICTED Temp t", "UNKNOWN_ATTRIBUTE", "'tmp'", "did you mean 'temp'?"),
    ("SELECT ⟦t.temp_value⟧ FROM PREDICTED Temp t", "UNKNOWN_ATTRIBUTE", "'temp_value'", "known: id, temp"),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.tmp⟧ > 5", "UNKNOWN_ATTRIBUTE", "'tmp'", "'temp'"),
    ("SELECT ⟦border⟧ FROM PREDICTED Temp t", "UNKNOWN_ATTRIBUTE", "predicted stream 'Temp' has", "temp, valid_from"),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp > 5 OR t.temp < 2⟧", "UNSUPPORTED", "or another", EACH),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp IN (1, 2)⟧", "UNSUPPORTED", "or another", EACH),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp > 5 OR t.id = 2⟧", "UNSUPPORTED", "or another", EACH),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦NOT (t.temp > 5 AND t.temp < 7)⟧", "UNSUPPORTED", "or another", EACH),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp NOT BETWEEN 5 AND 7⟧", "UNSUPPORTED", "or another", EACH),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp > t.id⟧", "UNSUPPORTED", "this form", FORM),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp = NULL⟧", "UNSUPPORTED", "this form", FORM),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦2 * t.temp > 5⟧", "UNSUPPORTED", "this form", FORM),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦t.temp > 1e308 * 10 - 1e308 * 10⟧", "BAD_VALUE", "is NaN", "the number"),
    (
        "SELECT t.id FROM PREDICTED Temp t WHERE t.id = 1 AND ⟦MAY (t.temp > 5 AND t.temp <> 7)⟧",
        "UNSUPPORTED",
        "beside another condition on its attribute",
        "a MAY for each",
    ),
    (f"SELECT a.car {PAIR} ON ⟦MAY ({NEAR} AND a.x > 7)⟧", "UNSUPPORTED", "a distance", "a MAY for each"),
    (
        "SELECT t.id FROM PREDICTED Temp t WHERE ⟦MAY (t.temp > 7 AND t.temp <= 7)⟧",
        "BAD_VALUE",
        "no value can fulfil",
        "a MAY for each",
    ),
    (
        f"SELECT a.car, ⟦probability⟧ {PAIR} ON {NEAR} AND ABS(a.x - b.y) > 2",
        "UNSUPPORTED",
        "one attribute is compared with several",
        "each with one other",
    ),
    (
        f"SELECT a.car {PAIR} ON {NEAR} AND ABS(a.y - b.x) < 2 ⟦WITH PROBABILITY > 0.5⟧",
        "UNSUPPORTED",
        "one attribute is compared with several",
        "leave it out",
    ),
    ("SELECT t.id FROM PREDICTED Temp t WHERE MAY (⟦t.id > 5⟧)", "UNSUPPORTED", "in MAY", FORM),
    ("SELECT t.id FROM PREDICTED Temp t WHERE ⟦MUST (t.temp > 5, t.temp < 7)⟧", "WRONG_ARGUMENTS", "MUST", ""),
    ("SELECT t.id FROM PREDICTED Temp t WHERE NOT ⟦MAY (t.temp > 5)⟧", "UNSUPPORTED", "MAY (…)", "MUST (x <= 5)"),
    ("SELECT t.id FROM PREDICTED Temp t WHERE MAY (⟦MUST (t.temp > 5)⟧)", "UNSUPPORTED", "MUST (…)", "of its own"),
    ("SELECT ⟦may (t.temp > 5)⟧ AS m FROM PREDICTED Temp t", "UNSUPPORTED", "MAY (…)", "a condition of its own"),
    (f"SELECT a.car {PAIR} ON ⟦a.x - b.x <= 5⟧", "UNSUPPORTED", "this form", "ABS(a.x - b.x)"),
    (f"SELECT a.car {PAIR} ON ⟦a.x = b.x⟧", "UNSUPPORTED", "this form", "ABS(a.x - b.x)"),
    (f"SELECT a.car {PAIR} ON ⟦ABS(a.x + b.x) <= 5⟧", "UNSUPPORTED", "this form", "ABS(a.x - b.x)"),
    (f"SELECT a.car {PAIR} ON ⟦ABS(a.x - a.y) <= 5⟧", "UNSUPPORTED", "this form", "the distance of two"),
    (f"SELECT a.car {PAIR} ON ⟦ABS(a.x - 7) <= 5⟧", "UNSUPPORTED", "this form", "the distance of two"),
    (f"SELECT a.car {PAIR} ON ⟦ABS(a.x - b.x) <= b.y⟧", "UNSUPPORTED", "this form", FORM),
    (f"SELECT a.car {PAIR} ON ⟦{NEAR} OR ABS(a.y - b.y) <= 5⟧", "UNSUPPORTED", "or another", EACH),
    ("SELECT ⟦boundary⟧ FROM PREDICTED Temp t", "UNSUPPORTED", "unless two items are joined", "leave it out"),
    (f"SELECT a.car {PAIR} WINDOW ⟦-⟧1 sec ON {NEAR}", "SYNTAX", "a duration such as 5 sec", "WINDOW 3 sec"),
    ("SELECT t.id FROM ⟦PREDICTED Temp t WINDOW 1 sec⟧", "UNSUPPORTED", "WINDOW", "leave it out"),
    (
        f"SELECT a.car FROM ⟦PREDICTED Gps a WINDOW 1 sec⟧ JOIN PREDICTED Gps b ON {NEAR}",
        "UNSUPPORTED",
        "on the first item of a join",
        "behind 'b'",
    ),
    (
        f"SELECT a.car {PAIR} ON {NEAR} JOIN ⟦PREDICTED Temp c⟧ ON c.id = 1",
        "UNSUPPORTED",
        "'c' without a join",
        "ABS(c.x - other.x)",
    ),
    (
        "SELECT a.car FROM PREDICTED Gps a JOIN ⟦PREDICTED Gps b⟧ ON a.car = b.car",
        "UNSUPPORTED",
        "'b' without a join",
        "say how near",
    ),
    (
        "SELECT a.car FROM PREDICTED Gps a JOIN ⟦PREDICTED Gps A⟧ ON ABS(a.x - A.x) < 1",
        "DIFFERS_IN_CASE",
        "'A'",
        "an alias with AS",
    ),
    ("SELECT a.car FROM PREDICTED Gps a, ⟦Tick#time(1 sec) t⟧", "UNSUPPORTED", "'Tick'", "INSERT the rows"),
    ("SELECT a.car FROM ⟦Gps b⟧, PREDICTED Gps a", "UNSUPPORTED", "'Gps'", "write PREDICTED before it"),
    (
        "SELECT ⟦valid_from⟧ FROM PREDICTED Temp t JOIN Rated r ON r.id = t.id",
        "AMBIGUOUS_NAME",
        "'valid_from' could be r.valid_from or the validity of a row",
        "write r.valid_from",
    ),
    (
        "SELECT TENTATIVE t.id, count(*) AS n FROM PREDICTED Temp t GROUP BY ⟦t.id⟧",
        "UNSUPPORTED",
        "GROUP BY with TENTATIVE",
        "leave TENTATIVE out",
    ),
    (
        "SELECT TENTATIVE ⟦count(*)⟧ AS n FROM PREDICTED Temp t",
        "UNSUPPORTED",
        "an aggregate with TENTATIVE",
        "leave TENTATIVE out",
    ),
    ("⟦SELECT TENTATIVE t.id FROM PREDICTED Temp t VALIDATE EVERY 1 sec⟧", "UNSUPPORTED", "VALIDATE EVERY", "leave"),
    ("⟦SELECT TENTATIVE DISTINCT t.id FROM PREDICTED Temp t⟧", "UNSUPPORTED", "DISTINCT", "leave TENTATIVE"),
    ("⟦INSERT INTO Hot SELECT TENTATIVE t.id FROM PREDICTED Temp t⟧", "UNSUPPORTED", "INSERT INTO", "leave TENTATIVE"),
    ("SELECT TENTATIVE t.id FROM PREDICTED Temp t ⟦OUTPUT LAST EVERY 1 sec⟧", "UNSUPPORTED", "OUTPUT", "leave"),
    ("⟦SELECT t.id FROM PREDICTED Temp t VALIDATE EVERY 0 sec⟧", "UNSUPPORTED", "EVERY 0 sec", "a longer time"),
    ("⟦SELECT sym FROM Tick VALIDATE EVERY 1 sec⟧", "UNSUPPORTED", "no PREDICTED stream", "leave VALIDATE EVERY out"),
    ("⟦SELECT TENTATIVE sym FROM Tick⟧", "UNSUPPORTED", "its rows never change", "leave SELECT TENTATIVE out"),
    (
        f"SELECT a.car {PAIR} ON {NEAR} JOIN PREDICTED Gps c ON ABS(c.x - a.x) < 1 ⟦WITH PROBABILITY > 0.5⟧",
        "UNSUPPORTED",
        "of a join of more than two items",
        "WHERE probability >= 0.5",
    ),
    (
        f"SELECT a.car, ⟦probability⟧ {PAIR} ON {NEAR} JOIN PREDICTED Gps c WINDOW 1 sec ON ABS(c.x - a.x) < 1",
        "UNSUPPORTED",
        "of more than two items with a WINDOW",
        "leave it out",
    ),
    (
        f"SELECT a.car, ⟦probability⟧ {PAIR} ON {NEAR} JOIN PREDICTED Small c ON ABS(c.x - a.x) < 1",
        "UNSUPPORTED",
        "of more than two items with a buffer",
        "INTO a stream",
    ),
    (
        f"SELECT a.car, ⟦probability⟧ {PAIR} ON {NEAR} JOIN PREDICTED Gps c ON ABS(c.x - a.x) > 1",
        "UNSUPPORTED",
        "unless distances have upper bounds",
        "INTO a stream",
    ),
    (
        f"SELECT a.car, ⟦probability⟧ {PAIR} ON {NEAR} "
        "JOIN PREDICTED Gps c ON ABS(c.x - a.x) < 1 AND ABS(c.x - b.x) < 1",
        "UNSUPPORTED",
        "are compared with one of them",
        "INTO a stream",
    ),
    (
        "SELECT a.id FROM PREDICTED Temp a JOIN ⟦PREDICTED Rough b⟧ ON ABS(a.temp - b.temp) < 1",
        "UNSUPPORTED",
        "of streams whose errors differ",
        "the same errors",
    ),
    ("SELECT t.id FROM PREDICTED Temp⟦#time(5 sec)⟧ t", "UNSUPPORTED", "a window of events", "WINDOW d"),
    ("SELECT t.id FROM Temp⟦#time(5 sec)⟧ t", "UNSUPPORTED", "over the predicted stream 'Temp'", "PREDICTED Temp"),
    (
        "SELECT * FROM SEQUENCE [ ⟦Temp⟧(i, _, _, _) ]",
        "UNSUPPORTED",
        "over the predicted stream 'Temp'",
        "INTO a stream",
    ),
    ("SELECT * FROM PATTERN [ ⟦a=Temp⟧ ]", "UNSUPPORTED", "PATTERN […]", "ask FROM PREDICTED Temp"),
    ("SELECT t.temp_value FROM ⟦Temp⟧ t JOIN Tick#keepall k ON t.id = 1", "UNSUPPORTED", "a join", "PREDICTED Temp"),
]


@pytest.mark.parametrize(("text", "code", "message", "fix"), MISTAKES, ids=[text for text, *_ in MISTAKES])
def test_a_mistake_is_told_with_its_place_and_a_fix(text: str, code: str, message: str, fix: str) -> None:
    found = refused(text.replace("⟦", "").replace("⟧", ""))
    assert found.code == code
    assert message in found.message
    assert fix in found.fix
    assert found.source is not None
    assert found.span is not None
    assert found.span.start == len(DECLARED) + text.index("⟦")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT t.id FROM PREDICTED Temp t", ["id", "valid_from", "valid_to", "at"]),
        ("SELECT valid_to, t.id FROM PREDICTED Temp t", ["valid_to", "id", "valid_from", "at"]),
        ("SELECT valid_to AS until FROM PREDICTED Temp t", ["until", "valid_from", "at"]),
        ("SELECT * FROM PREDICTED Temp", ["id", "temp", "valid_from", "valid_to", "at"]),
        (f"SELECT * {PAIR} ON {NEAR}", ["a", "b", "valid_from", "valid_to", "at"]),
        (
            "SELECT t.id FROM PREDICTED Temp t WHERE MAY (t.temp > 5)",
            ["id", "valid_from", "valid_to", "probability", "at"],
        ),
        (
            "SELECT t.id FROM PREDICTED Temp t WHERE t.temp > 5 WITH PROBABILITY > 0.5",
            ["id", "valid_from", "valid_to", "probability", "at"],
        ),
        ("SELECT probability AS p FROM PREDICTED Temp t WHERE t.temp > 5", ["p", "valid_from", "valid_to", "at"]),
        (
            "SELECT r.probability AS p, r.valid_from AS f FROM PREDICTED Temp t JOIN Rated r ON r.id = t.id",
            ["p", "f", "valid_from", "valid_to", "at"],
        ),
        ("SELECT TENTATIVE t.id FROM PREDICTED Temp t", ["id", "valid_from", "valid_to", "change", "at"]),
        ("SELECT t.id, count(*) AS n FROM PREDICTED Temp t GROUP BY t.id", ["id", "n", "at"]),
        (f"SELECT a.car {PAIR} ON MAY ({NEAR}) AND ABS(a.x - b.y) < 1", ["car", "valid_from", "valid_to", "at"]),
        (
            f"SELECT a.car {PAIR} ON MAY ({NEAR}) AND ABS(a.x - b.y) <> 1",
            ["car", "valid_from", "valid_to", "probability", "at"],
        ),
        (
            f"SELECT a.car {PAIR} ON MAY ({NEAR}) JOIN PREDICTED Gps c ON ABS(c.x - a.x) < 1",
            ["car", "valid_from", "valid_to", "probability", "at"],
        ),
        (
            f"SELECT a.car {PAIR} ON MAY ({NEAR}) JOIN PREDICTED Gps c WINDOW 1 sec ON ABS(c.x - a.x) < 1",
            ["car", "valid_from", "valid_to", "at"],
        ),
    ],
)
def test_a_row_says_when_it_holds_and_where_asked_how_likely_it_is(text: str, columns: list[str]) -> None:
    assert [column.name for column in bound(text).columns] == columns


LE, GT, EQ = Comparator.LE, Comparator.GT, Comparator.EQ


@pytest.mark.parametrize(
    ("condition", "terms"),
    [
        ("a.x <= 5", [ValueTerm(0, LE, 5)]),
        ("5 >= a.x", [ValueTerm(0, LE, 5)]),
        ("NOT (a.x > 5)", [ValueTerm(0, LE, 5)]),
        ("NOT NOT (a.x <= 5)", [ValueTerm(0, LE, 5)]),
        ("NOT (a.x > 5 OR a.y < 2)", [ValueTerm(0, LE, 5), ValueTerm(1, Comparator.GE, 2)]),
        ("a.y BETWEEN 2 AND 2 + 3", [ValueTerm(1, Comparator.GE, 2), ValueTerm(1, LE, 5)]),
        ("MAY (a.x > 5 AND a.y = 1)", [ValueTerm(0, GT, 5, Mode.MAY), ValueTerm(1, EQ, 1, Mode.MAY)]),
        ("MAY (a.x BETWEEN 5 AND 5)", [ValueTerm(0, Comparator.GE, 5, Mode.MAY), ValueTerm(0, LE, 5, Mode.MAY)]),
        ("must (a.x > 5 AND a.x <= 7)", [ValueTerm(0, GT, 5, Mode.MUST), ValueTerm(0, LE, 7, Mode.MUST)]),
    ],
)
def test_conditions_on_one_item_become_terms(condition: str, terms: list[ValueTerm]) -> None:
    (side,) = tables(f"SELECT a.car FROM PREDICTED Gps a WHERE {condition}").sides
    assert list(side.terms) == terms
    (side,) = tables(f"SELECT a.car FROM PREDICTED Gps({condition}) a").sides
    assert list(side.terms) == terms


@pytest.mark.parametrize(
    ("condition", "term"),
    [
        ("ABS(a.x - b.y) <= 5", JoinTerm(0, 1, LE, 5)),
        ("ABS(b.y - a.x) <= 5", JoinTerm(0, 1, LE, 5)),
        ("5 >= ABS(a.x - b.y)", JoinTerm(0, 1, LE, 5)),
        ("NOT (abs(a.x - b.y) <= 5)", JoinTerm(0, 1, GT, 5)),
        ("MUST (ABS(a.x - b.x) = 0)", JoinTerm(0, 0, EQ, 0, Mode.MUST)),
    ],
)
def test_a_distance_joins_two_items(condition: str, term: JoinTerm) -> None:
    (pair,) = tables(f"SELECT a.car {PAIR} WINDOW 3 sec ON {condition}").pairs
    assert (pair.left, pair.right) == (0, 1)
    assert pair.spec.terms == (term,)
    assert pair.spec.window == 3_000_000


def test_a_whole_number_that_is_predicted_is_compared_like_any_other() -> None:
    (side,) = tables("SELECT t.id FROM PREDICTED Temp t WHERE t.temp > 5").sides
    assert side.terms == (ValueTerm(0, GT, 5),)


def test_what_names_no_predicted_attribute_is_asked_of_rows_or_of_the_result() -> None:
    text = (
        f"SELECT a.car, b.car {PAIR} ON {NEAR} AND a.fleet = 'f' JOIN Fleet f ON f.name = a.fleet WHERE a.car < b.car"
    )
    left, right = tables(text).sides
    assert left.eligible is not None
    assert right.eligible is None
    assert len(left.identity) == 1, "the fleet, which the query names, is part of the identity of objects"
    assert right.identity == ()


def test_an_attribute_that_only_a_filter_names_tells_no_objects_apart() -> None:
    asked = tables(f"SELECT a.car, b.car FROM PREDICTED Gps(fleet <> 'f') a JOIN PREDICTED Gps b ON {NEAR}")
    assert [side.identity for side in asked.sides] == [(), ()]
    assert [side.eligible is not None for side in asked.sides] == [True, False]


def test_the_validity_of_a_row_may_be_asked_for_in_WHERE() -> None:
    asked = tables("SELECT t.id FROM PREDICTED Temp t WHERE valid_to - valid_from > 5 AND probability > 0.5")
    assert asked.probability
    assert asked.sides[0].terms == ()


def test_what_is_shown_of_a_moment_does_not_tell_objects_apart() -> None:
    (side,) = tables("SELECT a.car, a.y FROM PREDICTED Gps a").sides
    assert (side.shown, side.identity) == ((1,), ())


def test_WITH_PROBABILITY_bounds_the_only_pair() -> None:
    asked = tables(f"SELECT a.car {PAIR} ON {NEAR} WITH PROBABILITY >= 0.5")
    assert asked.at_least == AtLeast(0.5, False)
    assert asked.pairs[0].spec.at_least == AtLeast(0.5, False)


def test_WITH_PROBABILITY_asks_as_MAY_what_says_neither_MAY_nor_MUST() -> None:
    asked = tables(f"SELECT a.car {PAIR} ON {NEAR} WHERE a.x > 1 AND MUST (b.x > 2) WITH PROBABILITY >= 0.5")
    assert [term.mode for term in asked.pairs[0].spec.terms] == [Mode.MAY]
    assert [[term.mode for term in side.terms] for side in asked.sides] == [[Mode.MAY], [Mode.MUST]]
    plain = tables(f"SELECT a.car, probability {PAIR} ON {NEAR}")
    assert plain.pairs[0].spec.terms[0].mode == Mode.PLAIN


def test_pairs_of_three_items_hang_together() -> None:
    text = f"SELECT a.car {PAIR} WINDOW 1 sec ON {NEAR} JOIN PREDICTED Temp c WINDOW 2 sec ON ABS(b.y - c.temp) < 1"
    asked = tables(text)
    assert [(pair.left, pair.right, pair.spec.window) for pair in asked.pairs] == [(0, 1, 1_000_000), (1, 2, 2_000_000)]
    assert [side.stream for side in asked.sides] == [0, 0, 1]


def test_objects_that_never_meet_are_dealt_with_apart() -> None:
    def spread(text: str) -> tuple[str, ...]:
        return next(n for n in bound(text).plan.walk() if isinstance(n, PredictedMatch)).spread_by()

    assert len(spread("SELECT a.car FROM PREDICTED Gps a")) == 1
    assert spread(f"SELECT a.car {PAIR} ON {NEAR}") == ()
