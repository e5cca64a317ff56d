"""Queries that stand in, their rows printed as they come, until the user has seen enough or the sources have ended."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.cli.carrying import Outcome
from presage.cli.printing import Printer
from presage.errors import error
from presage.live.results import schema_of

if TYPE_CHECKING:
    from presage.engine import Engine
    from presage.live.deployment import Deployment, Row

LOOK_SECONDS = 0.2
ENDED = ("finished", "failed")


class Follower:
    """One standing query: its rows wait here until they are printed."""

    def __init__(self, outcome: Outcome, deployment: Deployment) -> None:
        self._outcome = outcome
        self._deployment = deployment
        self._schema = schema_of(deployment.columns)
        self._rows: deque[Row] = deque()
        self._printed = 0
        deployment.subscribe(self._rows.append, after=deployment.status.rows_out)

    def print_new(self, printer: Printer, alone: bool) -> None:
        count = len(self._rows)
        if count:
            table = pa.Table.from_pylist([self._rows.popleft() for _ in range(count)], schema=self._schema)
            printer.table(self._outcome, table, more=alone and self._printed > 0)
            self._printed += count

    def drain(self) -> None:
        self._deployment.drain()


def follow(engine: Engine, outcomes: list[Outcome], printer: Printer, seconds: float | None) -> None:
    """Deploy the queries, let the sources run, print; `seconds`: for how long, without end if None."""
    # Named after their text, so that a home that is run again goes on with the statements that it has.
    followers = [Follower(o, engine.deploy(o.text, name=" ".join(o.text.split())[:100])) for o in outcomes]
    engine.start_sources()
    until = None if seconds is None else time.monotonic() + seconds
    told: dict[str, str] = {}
    over = threading.Event()
    try:
        while not over.wait(LOOK_SECONDS):
            _tell(engine, told)
            ended = all(status.state in ENDED for status in engine.sources.values())
            if ended or (until is not None and time.monotonic() >= until):
                over.set()
                for follower in followers:
                    follower.drain()
            for follower in followers:
                follower.print_new(printer, len(followers) == 1)
    except KeyboardInterrupt:
        return  # the way to end what has no end
    for status in engine.sources.values():
        if status.state == "failed":
            raise error("SOURCE_FAILED", kind=status.source, stream=status.stream, why=status.why)


def _tell(engine: Engine, told: dict[str, str]) -> None:
    """Say on stderr what sources wait for, each thing once."""
    for stream, status in engine.sources.items():
        news = [str(status)] if status.state == "waiting" else []
        for text in [*news, *status.notes]:
            if told.get(f"{stream} {text}") is None:
                told[f"{stream} {text}"] = text
                sys.stderr.write(f"{stream}, source {status.source}: {text}\n")
                sys.stderr.flush()
