"""What a user sees of a sink: its state, how far it is, what it has delivered."""

from __future__ import annotations

from dataclasses import dataclass

RUNNING, WAITING, FAILED, FINISHED, STOPPED = "running", "waiting", "failed", "finished", "stopped"


@dataclass(frozen=True)
class SinkStatus:
    """A sink at one moment. `why`: what it waits for, or why it has failed. `rows`: delivered since it was declared;
    `skipped`: those that its target refused and that it left out. `position`: the id of the next row. `left`: rows of
    the statement that are made and not delivered. `retries` and `last_error`: since the engine was opened."""

    name: str
    sink: str
    statement: str
    state: str  # running, waiting, failed, finished (its statement has ended), stopped
    why: str
    position: str
    rows: int
    skipped: int
    left: int
    retries: int = 0
    last_error: str | None = None

    def __str__(self) -> str:
        return f"{self.state}: {self.why}" if self.why else self.state

    def described(self) -> list[tuple[str, str]]:
        """Properties and values, for DESCRIBE."""
        figures = [("rows", self.rows), ("skipped", self.skipped), ("left", self.left), ("retries", self.retries)]
        shown = [(name, str(figure)) for name, figure in figures]
        return [("state", str(self)), ("position", self.position), *shown, ("last error", self.last_error or "")]


COLUMNS = ("name", "sink", "statement", "state", "rows", "skipped", "left", "position", "retries", "last_error")


def show_row(status: SinkStatus) -> tuple[object, ...]:
    """A row of SHOW SINKS."""
    known = (status.name, status.sink, status.statement, str(status), status.rows, status.skipped, status.left)
    return (*known, status.position, status.retries, status.last_error or "")
