"""What binding a pattern costs, in calls of functions and not in seconds: it grows as the text does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from presage.workspace import Workspace

STREAM = "CREATE STREAM T (k STRING, v INT, at TIMESTAMP) EVENT TIME at;\n"


def alternatives(count: int) -> str:
    return f"SELECT * FROM PATTERN [ EVERY ({' OR '.join(f'a{i}=T(v = {i})' for i in range(count))}) ]"


def chain(count: int) -> str:
    steps = [f"a{i}=T(v > a{i - 1}.v AND k = a0.k)" for i in range(1, count)]
    return f"SELECT a0.k FROM PATTERN [ EVERY a0=T -> {' -> '.join(steps)} ]"


def work(text: str) -> int:
    """How many functions are called, those of Python and those that it calls in C."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    workspace = Workspace([], ".")
    sys.setprofile(counted)
    try:
        workspace.check(STREAM + text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", [alternatives, chain])
def test_twice_as_many_terms_are_twice_the_work(text: Callable[[int], str]) -> None:
    work(text(10))  # what is made once
    assert work(text(120)) < 2.4 * work(text(60))
