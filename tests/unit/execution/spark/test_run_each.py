"""Micro-batches of a bounded query, over streaming queries that end when they like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from presage.errors import PresageError
from presage.execution.spark import streaming


class Query:
    """Has run the first `until` micro-batches, and then ended."""

    isActive = False  # noqa: N815 (Spark's name)

    def __init__(self, work: Callable[[int], None], until: int) -> None:
        for number in range(1, until + 1):
            work(number)

    def stop(self) -> None:
        """It has."""

    def exception(self) -> Exception:
        return OSError("Python worker failed to connect back.\nat …")


def running(monkeypatch: pytest.MonkeyPatch, *lengths: int) -> list[int]:
    """Let queries end after so many batches each; the list of those that were begun."""
    begun: list[int] = []

    def start(spark: Any, count: int, step: Callable[[int], None], checkpoint: str) -> Query:
        begun.append(lengths[len(begun)])
        return Query(step, begun[-1])

    monkeypatch.setattr(streaming, "start_numbers", start)
    return begun


def test_a_query_that_ends_early_is_begun_again_and_no_batch_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, done = running(monkeypatch, 0, 2, 4), list[int]()
    streaming.run_each(object(), 4, done.append)  # type: ignore[arg-type]
    assert (begun, done) == ([0, 2, 4], [1, 2, 3, 4])


def test_one_that_never_comes_to_its_end_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, 0, 1, 1)
    with pytest.raises(PresageError, match=r"3 times \(Python worker failed to connect back\.\)"):
        streaming.run_each(object(), 4, lambda number: None)  # type: ignore[arg-type]


def test_a_failure_of_the_work_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = running(monkeypatch, 4, 4)

    def work(number: int) -> None:
        if number == 2:
            raise ValueError("two")

    with pytest.raises(ValueError, match="two"):
        streaming.run_each(object(), 4, work)  # type: ignore[arg-type]
    assert begun == [4]
