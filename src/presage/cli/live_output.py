"""Rows of deployed queries, printed as they arrive, until the user interrupts or the sources end."""

from __future__ import annotations

import hashlib
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.cli.failures import warn
from presage.cli.output import Printer
from presage.cli.script import Outcome
from presage.errors import QueryWarning, error
from presage.live.missed_events import MISSED
from presage.live.results import schema_of

if TYPE_CHECKING:
    from presage.engine import Engine
    from presage.live.deployment import Deployment, Row

LOOK_SECONDS = 0.2
# Grace period after the end for files that are already there: a source reads a file only when it has stopped changing.
PATIENCE_SECONDS = 5.0


class Follower:
    """One deployed query, whose rows are buffered here until they are printed."""

    def __init__(self, outcome: Outcome, deployment: Deployment) -> None:
        self._outcome = outcome
        self._deployment = deployment
        self._schema = schema_of(deployment.columns)
        self._rows: deque[Row] = deque()
        self._printed = 0
        self._subscription = deployment.subscribe(self._rows.append)

    def print_new(self, printer: Printer, alone: bool) -> None:
        """Print new rows; `alone`: nothing else is printed in between."""
        count = len(self._rows)
        if count:
            table = pa.Table.from_pylist([self._rows.popleft() for _ in range(count)], schema=self._schema)
            printer.table(self._outcome, table, more=alone and self._printed > 0)
            self._printed += count

    def check(self) -> None:
        """Raise the error that stopped the query."""
        if self._subscription.error is not None:
            raise self._subscription.error
        if self._deployment.status.last_error is not None:
            self.drain()

    def drain(self) -> None:
        """Wait for the rows of all events that have arrived."""
        self._deployment.drain()


def missed_by(deployment: Deployment) -> list[QueryWarning]:
    """The warnings that only deploying brings; those about the text are shown when it is checked."""
    return [each for each in deployment.warnings if each.code == MISSED]


def follow(
    engine: Engine, outcomes: list[Outcome], printer: Printer, seconds: float | None, as_json: bool = False
) -> None:
    """Deploy the queries, let the sources run, print; `seconds`: for how long, without end if None."""
    deployed = [engine.deploy(outcome.text, name=_name(outcome.text)) for outcome in outcomes]
    for deployment in deployed:
        warn(missed_by(deployment), as_json)
    followers = [Follower(outcome, deployment) for outcome, deployment in zip(outcomes, deployed, strict=True)]
    engine.start_sources()
    until = None if seconds is None else time.monotonic() + seconds
    told: set[tuple[str, str]] = set()
    try:
        while not _is_over(engine, until):
            _tell(engine, told, ("waiting", "failed"))
            for follower in followers:
                follower.print_new(printer, len(followers) == 1)
                follower.check()
            time.sleep(LOOK_SECONDS)
        for follower in followers:
            follower.drain()
    except KeyboardInterrupt:
        pass  # the user ends it
    finally:
        for follower in followers:
            follower.print_new(printer, len(followers) == 1)
        _tell(engine, told, ("waiting",))
    for status in engine.sources.values():
        if status.state == "failed":
            raise error("SOURCE_FAILED", kind=status.source, stream=status.stream, why=status.why)
        if status.left:
            _say(status.stream, status.source, f"{status.left} found and not taken in when the time was over")


def _name(text: str) -> str:
    """The name of a query that is followed: a home that is run again has the statement already, and goes on with it."""
    return f"run {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _is_over(engine: Engine, until: float | None) -> bool:
    going = [status for status in engine.sources.values() if not status.has_ended]
    if not going:
        return True
    now = time.monotonic()
    if until is None or now < until:
        return False
    return now >= until + PATIENCE_SECONDS or all(status.left == 0 for status in going)


def _tell(engine: Engine, told: set[tuple[str, str]], states: tuple[str, ...]) -> None:
    """Report on stderr why sources are in one of these states, and their warnings, each once."""
    for stream, status in engine.sources.items():
        news = [str(status)] if status.state in states and status.why else []
        for text in [*news, *status.notes]:
            if (stream, text) not in told:
                told.add((stream, text))
                _say(stream, status.source, text)


def _say(stream: str, source: str, text: str) -> None:
    sys.stderr.write(f"{stream}, source {source}: {text}\n")
    sys.stderr.flush()
