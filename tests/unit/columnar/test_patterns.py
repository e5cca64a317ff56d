"""Regular expressions and LIKE on columns: the fine points of Java, and hostile patterns that end at once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from presage.columnar.evaluate import Evaluator, supports
from presage.errors import PresageError
from presage.functions.columnar.patterns import MOST_CHARACTERS
from presage.model import types as t
from presage.plan import expr as e

X = e.ColumnRef(t.STRING, "x")
LIST = t.ArrayOf(t.STRING)


def value(name: str, kind: t.DataType, text: str | None, *more: Any) -> Any:
    constants = [e.Constant(t.INT if isinstance(m, int) else t.STRING, m) for m in more]
    call = e.FunctionCall(kind, name, (X, *constants))
    assert supports(call)
    return Evaluator().column(call, pa.table({"x": pa.array([text], pa.string())}))[0].as_py()


@pytest.mark.parametrize(
    ("pattern", "text", "replaced"),
    [
        ("b*", "abc", "-a--c-"),  # an empty match beside one that is not
        ("a$", "ba\n", "b-\n"),  # $ before the last line end
        (".", "a\r\x85b", "-\r\x85-"),
        (r"\s", "a\x0bb", "a-b"),
        ("(?i)é", "É", "É"),  # letters of ASCII alone
        ("[a-z&&[^b]]", "abc", "-b-"),
        (r"\bx", "x yx x", "- yx -"),
        ("^a", "aaa", "-aa"),
        (r"\d+", None, None),
    ],
)
def test_what_matches_is_what_java_matches(pattern: str, text: str | None, replaced: str | None) -> None:
    assert value("regexp_replace", t.STRING, text, pattern, "-") == replaced


def test_hostile_patterns_end() -> None:
    assert value("regexp_extract", t.STRING, "a" * 60, "(.*a){25}b", 0) == ""
    assert value("regexp_count", t.INT, "a" * 50_000, "(a+)+b") == 0
    assert value("regexp_like", t.BOOLEAN, "a" * 50_000, "(a|aa)+$") is True


def test_texts_that_hold_the_marks_are_read_all_the_same() -> None:
    every_mark = "".join(map(chr, range(0xFDD0, 0xFDF0)))
    assert value("regexp_extract_all", LIST, f"a1{every_mark}b2", "([a-z])([0-9])", 2) == ["1", "2"]


def test_a_long_text_is_null_where_every_place_may_match() -> None:
    assert value("regexp_count", t.INT, "a" * MOST_CHARACTERS, "b+") == 0
    assert value("regexp_count", t.INT, "a" * (MOST_CHARACTERS + 1), "b*") is None


def test_a_refused_pattern_is_an_error_with_the_reason() -> None:
    with pytest.raises(PresageError, match="looks back") as caught:
        value("regexp_like", t.BOOLEAN, "aa", r"(a)\1")
    assert caught.value.code == "BAD_VALUE"


def test_like_with_many_wildcards_ends() -> None:
    patterns = e.ColumnRef(t.STRING, "p")
    table = pa.table(
        {"x": ["a" * 400, "a" * 400 + "b", None, "x%y", "x\ny"], "p": ["%a" * 30 + "%b"] * 3 + ["x\\%y", "x_y"]}
    )
    assert Evaluator().column(e.Like(t.BOOLEAN, X, patterns), table).to_pylist() == [False, True, None, True, True]
