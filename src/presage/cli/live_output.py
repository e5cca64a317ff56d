"""Queries that stand in, their rows printed as they come, until the user has seen enough or the sources have ended."""

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
# When the time is over, sources may bring for so long what they have found by then: a file that has just come is not
# read before it has been the same for a while.
PATIENCE_SECONDS = 5.0


class Follower:
    """One standing query: its rows, from the first one on, wait here until they are printed."""

    def __init__(self, outcome: Outcome, deployment: Deployment) -> None:
        self._outcome = outcome
        self._deployment = deployment
        self._schema = schema_of(deployment.columns)
        self._rows: deque[Row] = deque()
        self._printed = 0
        self._subscription = deployment.subscribe(self._rows.append)

    def print_new(self, printer: Printer, alone: bool) -> None:
        """Print what has come; `alone`: nothing else is printed in between."""
        count = len(self._rows)
        if count:
            table = pa.Table.from_pylist([self._rows.popleft() for _ in range(count)], schema=self._schema)
            printer.table(self._outcome, table, more=alone and self._printed > 0)
            self._printed += count

    def check(self) -> None:
        """Raise what keeps further rows from coming."""
        if self._subscription.error is not None:
            raise self._subscription.error
        if self._deployment.status.last_error is not None:
            self.drain()

    def drain(self) -> None:
        """Wait for the rows of all that has arrived."""
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
        pass  # the way to end what has no end
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
    """Say on stderr why sources are in one of these states, and what else they noticed, each thing once."""
    for stream, status in engine.sources.items():
        news = [str(status)] if status.state in states and status.why else []
        for text in [*news, *status.notes]:
            if (stream, text) not in told:
                told.add((stream, text))
                _say(stream, status.source, text)


def _say(stream: str, source: str, text: str) -> None:
    sys.stderr.write(f"{stream}, source {source}: {text}\n")
    sys.stderr.flush()
