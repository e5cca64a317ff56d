"""The errors of one binding, collected so that the user sees all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from presage.errors import PresageError, raise_all

T = TypeVar("T")


class Problems:
    def __init__(self) -> None:
        self.errors: list[PresageError] = []

    def attempt(self, work: Callable[[], T]) -> T | None:
        """The result of the work; None if it fails, with its errors collected."""
        try:
            return work()
        except PresageError as problem:
            self.errors.append(problem)
            self.errors.extend(problem.others)
            problem.others = ()
            return None

    def raise_any(self) -> None:
        raise_all(self.errors)
