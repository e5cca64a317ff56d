"""Regular expressions of Java, read and judged without Java."""

from __future__ import annotations

import pytest

from presage.plan.regex import count_groups, find_problem, find_replacement_problem

GOOD = [
    "",
    "a+b",
    r"\d{2,3}",
    r"(?i)abc",
    r"(?<year>\d+)",
    r"\p{L}+",
    r"[\p{Lu}&&[^A]]",
    r"\Qa(b\E",
    r"^\z",
    r"\x{1F600}",
    "(?:a)",
    "a$",
    "a$|b",
    r"[0-9]*$",
    r"\h",
    r"\p{Alpha}",
    "[a[bc]]",
    "(a|b)*c",
    "(?s:.)",
    "(.*a){25}b",
]
BAD = [
    "(",
    ")",
    "a**",
    "*a",
    "[a",
    "(?<n>a",
    r"a{2,1}",
    "\\",
    "(?P<n>a)",
    "x" * 3000,
    "{",
    "[]a]",
    "(?<n>a)(?<n>b)",
    r"\y",
]
# What Java has and RE2 cannot say, or says otherwise, and the reason that the user reads.
REFUSED = {
    r"(a)\1": "looks back",
    r"(?<n>a)\k<n>": "looks back",
    "(?=a)": "looks ahead",
    "(?<!a)b": "looks behind",
    "(?>a|b)": "gives nothing back",
    "a*+": "gives nothing back",
    "(a*)*": "may be empty",
    "(a$|b)c": "inside a group",
    "a$b": "not at the end",
    "(?m)^a": "(?m)",
    r"\r$": "carriage return",
    "x{1001}": "more than 1000 times",
    "((a{100}){100}){100}": "too large",
    r"\p{IsGreek}": "is no known class",
    r"\R": "no meaning",
    "(?u)a": "not known",
}


@pytest.mark.parametrize("pattern", GOOD)
def test_what_java_and_re2_read_alike_passes(pattern: str) -> None:
    assert find_problem(pattern) is None


@pytest.mark.parametrize("pattern", BAD)
def test_what_java_cannot_read_is_found(pattern: str) -> None:
    assert find_problem(pattern)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_re2_cannot_say_is_refused_with_the_reason(pattern: str) -> None:
    assert REFUSED[pattern] in (find_problem(pattern) or "")


def test_groups_are_counted() -> None:
    assert [count_groups(p) for p in ("a", "(a)(?:b)", r"\((a)", r"(?<x>a)(b)", r"\Q(\E")] == [0, 1, 1, 2, 0]


@pytest.mark.parametrize(
    ("replacement", "good"),
    [
        ("<$1>", True),
        ("$0", True),
        (r"\$5", True),
        (r"\\", True),
        ("$2", False),
        ("$", False),
        ("a\\", False),
        ("${x}", False),
    ],
)
def test_a_replacement_names_groups_that_are_there(replacement: str, good: bool) -> None:
    assert (find_replacement_problem(replacement, "(a)") is None) is good
