"""Regular expressions judged without Java."""

from __future__ import annotations

import pytest

from presage.analyze.regex import count_groups, find_problem, find_replacement_problem

GOOD = [
    "", "a+b", r"\d{2,3}", r"(?i)abc", r"(?<year>\d+)-\k<year>", r"\p{L}+", r"\p{IsGreek}", r"[\p{Lu}&&[^A]]", r"a*+",
    "(?>a|b)", r"\Qa(b\E", r"^\z", r"\x{1F600}", "(?:a)", "[^]a]",
]  # fmt: skip
BAD = ["(", ")", "a**", "*a", "[a", "(?<n>a", r"a{2,1}", "\\", "(?P<n>a)", "x" * 3000]


@pytest.mark.parametrize("pattern", GOOD)
def test_what_java_reads_passes(pattern: str) -> None:
    assert find_problem(pattern) is None


@pytest.mark.parametrize("pattern", BAD)
def test_what_java_cannot_read_is_found(pattern: str) -> None:
    assert find_problem(pattern)


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
