"""Meters of the live job: durations, costs and failures of statements, since the start of this process.

Reading them does not wait for a batch.
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

# Upper bounds in seconds: from a commit on a fast disk to a batch that catches up.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

# The most groups of shared execution with costs that are not yet added to their statements.
MOST_TOGETHER = 64


@dataclass
class Histogram:
    """Observations by bucket, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    sum: float = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    def read(self) -> dict[str, float]:
        """Cumulative counts by bound, as in Prometheus."""
        reached = list(accumulate(self.counts))
        buckets = {f"{bound:g}": count for bound, count in zip(BOUNDS, reached, strict=False)}
        return {**buckets, "+Inf": reached[-1], "sum": self.sum}


@dataclass
class StatementCost:
    """Seconds of a statement's last batch and of all batches, and its failures."""

    last: float = 0.0
    total: float = 0.0
    failures: int = 0
    batch: int = 0  # its last one

    def add(self, seconds: float, batch: int) -> None:
        self.last = seconds if batch != self.batch else self.last + seconds  # another shard
        self.total += seconds
        self.batch = batch


class Meters:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batch, self._commit = Histogram(), Histogram()
        self._worked: dict[str, StatementCost] = {}
        self._together: dict[tuple[str, ...], StatementCost] = {}  # by members of a shared step: the cost of each
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
            for shared in outcomes.together:
                numbers = shared.task.members.numbers
                self._together.setdefault(numbers, StatementCost()).add(shared.seconds, self._batches)
            if len(self._together) > MOST_TOGETHER:
                self._distribute()
        if enabled(DEBUG):
            text = "a batch of {statements} statements took {seconds} s: {events} events, {rows} rows"
            each = [*outcomes.alone, *(outcome for shared in outcomes.together for outcome in shared.each())]
            events, rows = max((o.rows_in for o in each), default=0), sum(o.rows_out for o in each)
            statements = len({o.number for o in each})
            tell(DEBUG, "BATCH", text, seconds=round(seconds, 6), events=events, rows=rows, statements=statements)

    def _work_of(self, number: str) -> StatementCost:
        return self._worked.setdefault(number, StatementCost())

    def _distribute(self) -> None:
        """Add the costs of shared steps, which are recorded once for each group, to the statements."""
        for numbers, shared in self._together.items():
            for number in numbers:
                worked = self._work_of(number)
                worked.total += shared.total
                if shared.batch > worked.batch:
                    worked.last, worked.batch = shared.last, shared.batch
        self._together.clear()

    def changed(self, before: Mapping[str, Statement | None], after: Mapping[str, Statement]) -> None:
        """Count failures of changed statements, and log the changes."""
        for number, old in before.items():
            new = after[number]
            fields: dict[str, Any] = {"statement": new.name, "number": number}
            if old is None:
                tell(INFO, "STATEMENT_DEPLOYED", "statement '{statement}' is deployed", **fields)
                continue
            if new.status == old.status and new.to_skip <= old.to_skip:
                continue
            if new.status == FAILED or (new.status == RUNNING and new.to_skip):
                with self._lock:
                    self._work_of(number).failures += 1
            level, code, text = _CHANGES[new.status] if new.status != old.status else _REBUILT
            tell(level, code, text, **fields, rows=new.rows_out, why=new.error)

    def worked(self) -> dict[str, StatementCost]:
        """By statement."""
        with self._lock:
            self._distribute()
            return {number: StatementCost(w.last, w.total, w.failures) for number, w in self._worked.items()}

    def batches(self) -> dict[str, float]:
        with self._lock:
            return self._batch.read()

    def commits(self) -> dict[str, float]:
        with self._lock:
            return self._commit.read()


_CHANGES = {
    FAILED: (WARNING, "STATEMENT_FAILED", "statement '{statement}' has failed: {why}"),
    STOPPED: (INFO, "STATEMENT_STOPPED", "statement '{statement}' is stopped"),
    FINISHED: (INFO, "STATEMENT_FINISHED", "statement '{statement}' is finished"),
    RUNNING: (INFO, "STATEMENT_RESUMED", "statement '{statement}' is resumed"),
}
_REBUILT = WARNING, "STATEMENT_REBUILT", "the state of '{statement}' is computed again: {why}"
