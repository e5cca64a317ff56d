"""The class of a sequence, on the paper's examples and around them: what it is, what decides it, and the safe plan."""

from __future__ import annotations

import pytest

from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.sequence.classify import EXTENDED, REGULAR, SAFE, UNSAFE, Verdict
from presage.operators.sequence.explain import show_plan
from presage.operators.sequence.nodes import SequenceMatch
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM At (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (location);
CREATE STREAM Was (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person)
  PROBABILISTIC MARKOV (location);
CREATE STREAM Carries (person STRING, object STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person, object)
  PROBABILISTIC (location);
CREATE STREAM R (x STRING, v INT, at TIMESTAMP) EVENT TIME at KEY (x) PROBABILISTIC (v);
CREATE STREAM S (x STRING, v INT, at TIMESTAMP) EVENT TIME at KEY (x) PROBABILISTIC (v);
CREATE STREAM T (x STRING, y STRING, v INT, at TIMESTAMP) EVENT TIME at KEY (x, y) PROBABILISTIC (v);
CREATE STREAM Bell (n INT, at TIMESTAMP) EVENT TIME at;
CREATE RELATION CRoom (location STRING) VALUES ('c1');
CREATE RELATION Hall (location STRING) VALUES ('h1');
CREATE RELATION Office (person STRING, location STRING) VALUES ('Joe', '220');
CREATE RELATION Person (person STRING) VALUES ('Joe');
CREATE RELATION Laptop (object STRING) VALUES ('l1');
CREATE RELATION LectureRoom (location STRING) VALUES ('r1');
CREATE RELATION Likes (x STRING, y STRING) VALUES ('a', 'b');
"""


def node_of(text: str) -> SequenceMatch:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    query = parse_statement(text)
    assert isinstance(query, s.Query)
    (node,) = [n for n in workspace.bind(query).plan.walk() if isinstance(n, SequenceMatch)]
    return node


def verdict_of(text: str) -> Verdict:
    return node_of(text).verdict


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT * FROM SEQUENCE [ R('a', 1) ; R('a', 2) ]", REGULAR),  # q_f
        ("SELECT * FROM SEQUENCE [ R('a', 1) ; R('a', y) ] WHERE y = 2", REGULAR),  # q_s
        ("SELECT * FROM SEQUENCE [ At('Joe', '220') ; At('Joe', l) WHERE CRoom(l) ; At('Joe', '220') ]", REGULAR),
        (
            "SELECT * FROM SEQUENCE [ At(p, l1) ; At(p, l2)+{p | Hall(l2)} ; At(p, l3) ] "
            "WHERE Person(p) AND Office(p, l1) AND CRoom(l3)",
            EXTENDED,
        ),  # any coffee
        (
            "SELECT p FROM SEQUENCE [ At(p, l1) ; At(p, l2)+{p | Hall(l2)} ; At(p, l3) ] "
            "WHERE Person(p) AND Office(p, l1) AND CRoom(l3)",
            REGULAR,
        ),  # with p as a constant
        ("SELECT * FROM SEQUENCE [ At('Joe', 'a') ; At('Joe', l)+{ | Hall(l)} ; At('Joe', 'c') ]", REGULAR),
        ("SELECT * FROM SEQUENCE [ At(x, 'a') ; At(x, l2)+{x | Hall(l2)} ; At(x, 'c') ] WHERE Person(x)", EXTENDED),
        (
            "SELECT * FROM SEQUENCE [ Carries(x, y, z) ; Carries(x, y, _)+{x, y} ; At(x, u) ] "
            "WHERE Person(x) AND Laptop(y) AND LectureRoom(u)",
            SAFE,
        ),  # talk
        ("SELECT * FROM SEQUENCE [ R(x, _) ; S(x, _) ; T('a', y, _) ]", SAFE),  # Fig. 6
        ("SELECT * FROM SEQUENCE [ R(x, _) ; S(y, _) ] WHERE Likes(x, y)", UNSAFE),  # h1
        ("SELECT * FROM SEQUENCE [ R('r', _) ; S(x, _)+{x} ]", UNSAFE),  # h2
        ("SELECT * FROM SEQUENCE [ R('r', _) ; S(x, _) ; T(x, 'k', _) ]", UNSAFE),  # h3
        ("SELECT * FROM SEQUENCE [ R(x, _) ; S('s', _) ; T(x, 'k', _) ]", UNSAFE),  # h4
        # Safe by the letter of the definition, but the third subgoal reads the chains of the first two.
        ("SELECT * FROM SEQUENCE [ At(p, l1) ; At(p, l2) ; At(q, l3) ]", UNSAFE),
        # No event unifies with both sides, yet at one step they exclude each other.
        ("SELECT * FROM SEQUENCE [ At(p, 'a') ; S(p, _) ; At(q, 'b') ]", UNSAFE),
        ("SELECT * FROM SEQUENCE [ T(x, y, _) ; T(y, x, _) ]", UNSAFE),  # another part of the key
        ("SELECT * FROM SEQUENCE [ T(x, _, _) ; T(x, _, _) ]", EXTENDED),
        ("SELECT * FROM SEQUENCE [ At(p, l) ; At(p, l) ]", UNSAFE),  # l is shared, and not in the key
        ("SELECT l FROM SEQUENCE [ At(p, l) ; At(p, l) ]", EXTENDED),
        ("SELECT x, y FROM SEQUENCE [ R(x, _) ; S(y, _) ] WHERE Likes(x, y)", REGULAR),
        # What an unfolding compares with a value that is selected, it compares with a constant.
        ("SELECT x FROM SEQUENCE [ R(x, _) ; At(p, l)+{ | Likes(x, l)} ]", REGULAR),
        ("SELECT * FROM SEQUENCE [ R(x, _) ; At(p, l)+{ | Likes(x, l)} ]", UNSAFE),
        ("SELECT * FROM SEQUENCE [ At(p, _) ]", REGULAR),
        ("SELECT * FROM SEQUENCE [ Bell(n) ; At('Joe', _) ]", REGULAR),
    ],
)
def test_the_class_of_a_sequence(text: str, kind: str) -> None:
    assert verdict_of(text).kind == kind


def test_the_safe_plan_of_the_papers_figure() -> None:
    node = node_of("SELECT * FROM SEQUENCE [ R(x, _) ; S(x, _) ; T('a', y, _) ]")
    assert node.verdict.plan is not None
    assert show_plan(node.verdict.plan, node) == "seq(π₋x(reg⟨x⟩(R(x, _) ; S(x, _))), T('a', y, _))"


def test_the_safe_plan_of_the_talk() -> None:
    node = node_of("SELECT * FROM SEQUENCE [ Carries(x, y, z) ; Carries(x, y, _)+{x, y} ; At(x, u) ] WHERE Person(x)")
    assert node.verdict.plan is not None
    shown = show_plan(node.verdict.plan, node)
    assert shown == "π₋x(seq(π₋y(reg⟨x, y⟩(Carries(x, y, z) ; Carries(x, y, _)+{x, y})), At(x, u)))"


@pytest.mark.parametrize(
    ("text", "variable", "goal", "words"),
    [
        ("SELECT * FROM SEQUENCE [ R(x, _) ; S(y, _) ] WHERE Likes(x, y)", "x", None, "no single subgoal has together"),
        ("SELECT * FROM SEQUENCE [ R('r', _) ; S(x, _) ; T(x, 'k', _) ]", "x", 0, "not with R('r', _)"),
        ("SELECT * FROM SEQUENCE [ At(p, l) ; At(p, l) ]", "l", 0, "l is not in the key of At(p, l)"),
        ("SELECT * FROM SEQUENCE [ At(p, l1) ; At(p, l2) ; At(q, l3) ]", None, 2, "may read the same key of At"),
        # That p leaves off before the end would do no harm.
        (
            "SELECT * FROM SEQUENCE [ At(p, 'a') ; At(p, 'b') ; S(x, _) ; S(y, _) ]",
            None,
            3,
            "S(x, _) and S(y, _) may read the same key of S",
        ),
        ("SELECT * FROM SEQUENCE [ At(p, 'a') ; At(p, 'b') ; S(x, _) ; At(p, 'c') ]", "p", 2, "not with S(x, _)"),
    ],
)
def test_what_decides_is_named(text: str, variable: str | None, goal: int | None, words: str) -> None:
    verdict = verdict_of(text)
    assert words in verdict.reason
    assert (verdict.variable, verdict.goal) == (variable, goal)


def test_several_markov_chains_at_once_are_computed_together_though_the_class_is_regular() -> None:
    node = node_of("SELECT * FROM SEQUENCE [ Was(p, 'a') ; Was(q, 'b') ]")
    assert (node.verdict.kind, node.tables.method) == (REGULAR, "joint")
    assert [f.name for f in node.made][-3:] == [
        "sequence.method",
        "sequence.probability_low",
        "sequence.probability_high",
    ]
    one = node_of("SELECT p FROM SEQUENCE [ Was(p, 'a') ; Was(p, 'b') ]")
    assert one.tables.method == "regular"
