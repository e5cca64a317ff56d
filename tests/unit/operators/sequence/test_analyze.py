"""Sequence queries as written: what they mean to the binder, and what each mistake is told."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.sequence.nodes import SequenceMatch
from presage.plan.query import BoundQuery
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (place);
CREATE STREAM Bell (n INT, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Pair (k INT, a STRING, b DOUBLE, at TIMESTAMP) EVENT TIME at KEY (k) PROBABILISTIC (a, b);
CREATE STREAM Tagged (tags ARRAY<STRING>, at TIMESTAMP) EVENT TIME at;
CREATE RELATION Hall (place STRING) VALUES ('h');
"""


def bound(text: str) -> BoundQuery:
    space = Workspace([], ".")
    space.check(DECLARED)
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return space.bind(statement)


def refused(text: str) -> PresageError:
    space = Workspace([], ".")
    with pytest.raises(PresageError) as raised:
        space.check(f"{DECLARED}{text};")
    return raised.value


MANY = " ; ".join(f"At(p, l{i})" for i in range(17))
# The statement with its mistake between ⟦ and ⟧, the code, a part of the message, a part of the fix.
MISTAKES = [
    ("SELECT p FROM SEQUENCE [ ⟦Att⟧(p, l) ]", "UNKNOWN_STREAM", "'Att'", "'At'"),
    ("SELECT p FROM SEQUENCE [ ⟦Hall⟧(p) ]", "NOT_A_STREAM", "a relation", "asked in a condition"),
    ("SELECT p FROM SEQUENCE [ ⟦At(p)⟧ ]", "BAD_VALUE", "2: At(person, place)", "write _"),
    ("SELECT p FROM SEQUENCE [ At(p, ⟦3⟧) ]", "NOT_COMPARABLE", "STRING and INT", "CAST"),
    ("SELECT p FROM SEQUENCE [ At(p, l) ; Bell(⟦p⟧) ]", "TYPE_MISMATCH", "needs STRING, found INT", "two variables"),
    ("SELECT p FROM SEQUENCE [ Pair(p, l, ⟦p⟧) ]", "TYPE_MISMATCH", "'p' needs INT, found DOUBLE", "two variables"),
    ("SELECT p FROM SEQUENCE [ At(p, ⟦`l@0`⟧) ]", "BAD_VALUE", "a name without @ and #", "another name"),
    ("SELECT ⟦x⟧ FROM SEQUENCE [ Tagged(x) ]", "TYPE_MISMATCH", "a plain type, found ARRAY<STRING>", "plain types"),
    ("SELECT ⟦q⟧ FROM SEQUENCE [ At(p, l) ]", "UNKNOWN_ATTRIBUTE", "the sequence has no attribute 'q'", "known: l, p"),
    ("SELECT ⟦P⟧ FROM SEQUENCE [ At(p, l) ]", "UNKNOWN_ATTRIBUTE", "'P'", "did you mean 'p'?"),
    ("SELECT ⟦_⟧ FROM SEQUENCE [ At(p, _) ]", "UNKNOWN_ATTRIBUTE", "'_'", "known: p"),
    ("SELECT p FROM SEQUENCE [ At(p, l) ] WHERE ⟦q⟧ = 'x'", "UNKNOWN_ATTRIBUTE", "the sequence", "known: l, p"),
    ("SELECT ⟦l⟧ FROM SEQUENCE [ At(p, l)+{p} ]", "UNKNOWN_ATTRIBUTE", "'l'", "share it: write +{l}"),
    ("SELECT p FROM SEQUENCE [ At(p, l)+{p} ] WHERE Hall(⟦l⟧)", "UNKNOWN_ATTRIBUTE", "'l'", "ask inside the braces"),
    ("SELECT p FROM SEQUENCE [ At(p, l)+{⟦q⟧} ]", "UNKNOWN_ATTRIBUTE", "At(p, l)+{q}", "a variable of the subgoal"),
    ("SELECT p FROM SEQUENCE [ At(p, l) ] WHERE ⟦Halls(l)⟧", "UNKNOWN_FUNCTION", "'Halls'", "did you mean 'Hall'?"),
    ("SELECT ⟦upper(p)⟧ FROM SEQUENCE [ At(p, l) ]", "UNSUPPORTED", "a term", "INSERT the rows INTO"),
    ("SELECT p, ⟦p⟧ FROM SEQUENCE [ At(p, l) ]", "DUPLICATE_NAME", "'p' is used twice", "AS"),
    ("SELECT p, ⟦P⟧ FROM SEQUENCE [ At(p, P) ]", "DUPLICATE_NAME", "'P' is used twice", "AS"),
    ("SELECT ⟦p AS at⟧ FROM SEQUENCE [ At(p, l) ]", "DUPLICATE_NAME", "'at'", "every row has a column 'at'"),
    ("SELECT ⟦p AS Probability⟧ FROM SEQUENCE [ At(p, l) ]", "DUPLICATE_NAME", "'Probability'", "every row has"),
    ("SELECT ⟦probability⟧ FROM SEQUENCE [ At(probability, l) ]", "DUPLICATE_NAME", "'probability'", "another name"),
    ("SELECT ⟦p AS _seq⟧ FROM SEQUENCE [ At(p, l) ]", "BAD_VALUE", "Presage's own names", "another name"),
    ("SELECT p, ⟦method⟧ FROM SEQUENCE [ At(p, l) ]", "UNKNOWN_ATTRIBUTE", "'method'", "the probability is exact"),
    ("SELECT ⟦at AS t⟧ FROM SEQUENCE [ At(p, l) ]", "UNSUPPORTED", "another name", "leave AS out"),
    (f"SELECT p FROM SEQUENCE [ {MANY.replace('At(p, l16)', '⟦At(p, l16)⟧')} ]", "LIMIT", "of 16", "divide"),
    ("⟦SELECT DISTINCT p⟧ FROM SEQUENCE [ At(p, l) ]", "UNSUPPORTED", "DISTINCT", "leave it out"),
    ("SELECT p FROM SEQUENCE [ At(p, l) ] GROUP BY ⟦p⟧", "UNSUPPORTED", "GROUP BY", "group that"),
    ("SELECT p FROM SEQUENCE [ At(p, l) ] JOIN ⟦Bell⟧ ON p = n", "UNSUPPORTED", "a join", "join that"),
    ("SELECT p FROM SEQUENCE [ At(p, l) ; At(p, m) WHERE ⟦l⟧ <> m ]", "UNKNOWN_ATTRIBUTE", "'l'", "behind the"),
    ("SELECT person FROM At ⟦WITH PROBABILITY > 0.5⟧", "UNSUPPORTED", "it asks neither for a SEQUENCE", "leave"),
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
        ("SELECT * FROM SEQUENCE [ At(p, l) ]", ["at", "probability"]),
        ("SELECT *, p FROM SEQUENCE [ At(p, l) ]", ["p", "at", "probability"]),
        ("SELECT p, p AS q FROM SEQUENCE [ At(p, l) ]", ["p", "q", "at", "probability"]),
        ("SELECT p AS a, P AS b FROM SEQUENCE [ At(p, P) ]", ["a", "b", "at", "probability"]),
        ("SELECT probability AS how, p FROM SEQUENCE [ At(p, l) ]", ["how", "p", "at"]),
        ("SELECT at AS x FROM SEQUENCE [ At(at, probability) ]", ["x", "at", "probability"]),
        (
            "SELECT method, x FROM SEQUENCE [ At(x, l) ; At(y, l) ]",
            ["method", "x", "at", "probability", "probability_low", "probability_high"],
        ),
    ],
)
def test_an_answer_has_the_selected_variables_its_time_and_how_likely_it_is(text: str, columns: list[str]) -> None:
    query = bound(text)
    assert [column.name for column in query.columns] == columns
    (sequence,) = [node for node in query.plan.walk() if isinstance(node, SequenceMatch)]
    names = [column.name.lower() for column in sequence.columns]
    assert len(set(names)) == len(names), "Spark does not tell names apart that differ only in case"
