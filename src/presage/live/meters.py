"""Meters of the live job: durations, costs and failures of statements in this process.

Reading them waits for no batch. What must survive the process is in the journal.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from presage.live.statement import FAILED, FINISHED, RUNNING, STOPPED, Statement
from presage.live.tasks import Outcomes
from presage.logging import DEBUG, INFO, WARNING, enabled, tell

# Upper bounds in seconds: from a commit on a quick disk to a batch that catches up.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

# So many different families are noted at most, until what they took is given to their statements.
MOST_TOGETHER = 64


@dataclass
class Histogram:
    """How many observations lie at or below each bound, how many there are, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    sum: float = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    def read(self) -> dict[str, float]:
        """By bound, as Prometheus counts them: each holds those below it, too."""
        reached = list(accumulate(self.counts))
        buckets = {f"{bound:g}": count for bound, count in zip(BOUNDS, reached, strict=False)}
        return {**buckets, "+Inf": reached[-1], "sum": self.sum}


@dataclass
class StatementCost:
    """What a statement has cost since this process had it: seconds of its last batch and of all, and failures."""

    last: float = 0.0
    total: float = 0.0
    failures: int = 0
    batch: int = 0  # the last one that it was in

    def add(self, seconds: float, batch: int) -> None:
        self.last = seconds if batch != self.batch else self.last + seconds  # further shards of it
        self.total += seconds
        self.batch = batch


class Meters:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batch, self._commit = Histogram(), Histogram()
        self._worked: dict[str, StatementCost] = {}
        self._together: dict[
            tuple[str, ...], StatementCost
        ] = {}  # by the numbers of those that stepped as one, for each
        self._batches = 0

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Around the publishing of a record."""
        started = time.perf_counter()
        yield
        with self._lock:
            self._commit.observe(time.perf_counter() - started)

    def batch(self, seconds: float, outcomes: Outcomes) -> None:
        """A batch has been published."""
        with self._lock:
            self._batch.observe(seconds)
            self._batches += 1
            for outcome in outcomes.alone:
                self._work_of(outcome.number).add(outcome.seconds, self._batches)
            for family in outcomes.together:
                numbers = family.task.members.numbers
                self._together.setdefault(numbers, StatementCost()).add(family.seconds, self._batches)
            if len(self._together) > MOST_TOGETHER:
                self._share_out()
        if enabled(DEBUG):
            told = "a batch of {statements} statements took {seconds} s: {events} events, {rows} rows"
            each = [*outcomes.alone, *(outcome for family in outcomes.together for outcome in family.each())]
            figures: dict[str, Any] = {
                "seconds": round(seconds, 6),
                "events": max((o.rows_in for o in each), default=0),
                "rows": sum(o.rows_out for o in each),
                "statements": len({o.number for o in each}),
            }
            tell(DEBUG, "BATCH", told, **figures)

    def _work_of(self, number: str) -> StatementCost:
        found = self._worked.get(number)
        if found is None:
            found = self._worked[number] = StatementCost()
        return found

    def _share_out(self) -> None:
        """What families took is noted once for all of them, and given to each statement when somebody asks."""
        for numbers, family in self._together.items():
            for number in numbers:
                worked = self._work_of(number)
                worked.total += family.total
                if family.batch > worked.batch:
                    worked.last, worked.batch = family.last, family.batch
        self._together.clear()

    def changed(self, before: Mapping[str, Statement | None], after: Mapping[str, Statement]) -> None:
        """Statements have changed: what is worth knowing of it is counted and told."""
        for number, old in before.items():
            new = after[number]
            if old is None:
                tell(
                    INFO, "STATEMENT_DEPLOYED", "statement '{statement}' is deployed", statement=new.name, number=number
                )
                continue
            if new.status == old.status and new.to_skip <= old.to_skip:
                continue
            told: dict[str, Any] = {"statement": new.name, "number": number, "rows": new.rows_out, "why": new.error}
            if new.status != old.status:
                self._count(number, new)
                level, code, what = _CHANGES[new.status]
                tell(level, code, f"statement '{{statement}}' {what}", **told)
            else:
                self._count(number, new)
                tell(WARNING, "STATEMENT_REBUILT", "the state of '{statement}' is computed again: {why}", **told)

    def _count(self, number: str, statement: Statement) -> None:
        if statement.status == FAILED or (statement.status == RUNNING and statement.to_skip):
            with self._lock:
                self._worked.setdefault(number, StatementCost()).failures += 1

    def worked(self) -> dict[str, StatementCost]:
        """By statement."""
        with self._lock:
            self._share_out()
            return {number: StatementCost(w.last, w.total, w.failures) for number, w in self._worked.items()}

    def batches(self) -> dict[str, float]:
        with self._lock:
            return self._batch.read()

    def commits(self) -> dict[str, float]:
        with self._lock:
            return self._commit.read()


_CHANGES = {
    FAILED: (WARNING, "STATEMENT_FAILED", "has failed: {why}"),
    STOPPED: (INFO, "STATEMENT_STOPPED", "is stopped"),
    FINISHED: (INFO, "STATEMENT_FINISHED", "is finished"),
    RUNNING: (INFO, "STATEMENT_RESUMED", "is resumed"),
}
