"""The handle of a deployed statement: status, rows, subscriptions, stop and resume."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from presage.errors import QueryWarning, error
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.results import schema_of, unpack
from presage.live.statement import FAILED, RUNNING, Statement
from presage.logging import WARNING, tell
from presage.model.time import format_duration, format_timestamp, to_micros
from presage.plan.nodes import Field

if TYPE_CHECKING:
    from presage.columnar.reasons import Reasons
    from presage.live.deployments import DeploymentRegistry
    from presage.live.match_trace import MatchTrace
    from presage.live.why_not_conditions import ConditionReport
    from presage.operators.knowledge.lookup import Selected
    from presage.plan.picture import Picture

Shown = tuple[tuple[str, ...], list[tuple[Any, ...]]]
# Rows that are converted to dictionaries at once, so that the first rows reach a subscriber early.
ROWS_AT_ONCE = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Status:
    """A statement at one moment. `lag`: events that have arrived and that it has not read yet, in all its streams.

    `partial_matches`: open partial matches of its patterns. `unknown_entities`: values that name no entity of the
    knowledge bases where a PATH needs one. `recalls_ready`, `recalls_suspended`: events whose search of history
    continues, or waits for a command. `rows_kept`: rows that its retention has not removed. `particle_restarts`: steps
    at which no particle of PARTICLES explained the readings, so that all were drawn again. `readings_ignored`: readings
    that its inference skipped, because no state emits them.
    """

    state: str  # running, catching up, waiting (for a statement that has failed), stopped, finished, failed
    rows_in: int
    rows_out: int
    lag: int
    watermark: datetime | None
    state_size: int
    partial_matches: int
    last_error: str | None
    position: int
    unknown_entities: int = 0
    recalls_ready: int = 0
    recalls_suspended: int = 0
    rows_kept: int = 0
    particle_restarts: int = 0
    readings_ignored: int = 0

    def __getitem__(self, name: str) -> Any:
        """A field by its name: a status is a mapping, too."""
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> list[str]:
        return [f.name for f in fields(self)]


class Row(dict[str, Any]):
    """A row for a subscriber. Its `id` is the same at every delivery."""

    def __init__(self, values: dict[str, Any], identity: str) -> None:
        super().__init__(values)
        self.id = identity


class Subscriber(Protocol):
    """The handle of a subscription. `delivered`: how many rows of the statement are delivered; `goes_on`: whether it
    takes the rows that follow."""

    error: Exception | None

    @property
    def delivered(self) -> int: ...
    @property
    def goes_on(self) -> bool: ...
    def cancel(self) -> None: ...
    def is_me(self) -> bool: ...
    def wait(self, rows: int, until: float | None, strict: bool = True) -> None: ...


class Deployment:
    """A deployed statement. Its state is in the home: all handles of a name are equivalent."""

    def __init__(self, deployments: DeploymentRegistry, number: str) -> None:
        self._deployments = deployments
        self._number = number

    @property
    def name(self) -> str:
        return self._statement.name

    @property
    def text(self) -> str:
        return self._statement.text

    @property
    def warnings(self) -> tuple[QueryWarning, ...]:
        """Warnings of `deploy`: ambiguous parts of the text, and events that arrived before. None for a statement that
        was deployed before the home was opened."""
        return self._deployments.warnings.get(self._number, ())

    @property
    def columns(self) -> tuple[Field, ...]:
        return self._deployments.columns(self._number)

    @property
    def status(self) -> Status:
        statement, job = self._statement, self._deployments.job
        position = job.position_of(statement)
        behind = statement.status == RUNNING and statement.own_position is not None
        begun = position.watermark != NOTHING_KNOWN
        waits = statement.status == RUNNING and job.waits(statement)
        copied = ("rows_in", "rows_out", "partial_matches", "unknown_entities", "recalls_ready", "recalls_suspended")
        return Status(
            state="waiting" if waits else "catching up" if behind else statement.status,
            lag=job.lag(statement),
            watermark=_EPOCH + timedelta(microseconds=position.watermark) if begun else None,
            state_size=job.state_size(statement),
            last_error=statement.error or self._deployments.trouble() or self._slow() or None,
            position=position.offset,
            rows_kept=statement.rows_out - statement.removed,
            **{name: getattr(statement, name) for name in (*copied, "particle_restarts", "readings_ignored")},
        )

    def _slow(self) -> str:
        """The statement that delays the running batch, if its step takes long."""
        job = self._deployments.job
        if job.slow_step is None:
            return ""
        number, seconds = job.slow_step
        which = f"statement '{job.statements[number].name}'" if number else "several statements together"
        return f"a batch is running: {which} for {seconds:.0f} s so far"

    @property
    def retention(self) -> str | None:
        """How long its rows are kept; None: for ever."""
        micros = self._statement.retention
        return None if micros is None else format_duration(micros)

    @property
    def rows_out(self) -> int:
        """How many rows it has made; cheaper than the whole status."""
        return self._statement.rows_out

    def why(self, limit: int = 20) -> list[ConditionReport]:
        """The newest events of its streams, and for each the conditions that it fulfils or fails."""
        return self._deployments.inspector.why_not_conditions(self._number, limit)

    def why_event(self, number: int) -> list[Reasons]:
        """Why an event made no row in its patterns and sequences; `number`: the event's sequence number."""
        return self._deployments.inspector.why_not_patterns(self._number, number)

    def trace(self) -> MatchTrace:
        """The trace of the events of its matches; `follow` brings it up to date."""
        return self._deployments.inspector.trace(self._number)

    def follow(self, trace: MatchTrace) -> None:
        self._deployments.inspector.follow(self._number, trace)

    def selects(self, limit: int = 200) -> list[Selected]:
        """The entities that its PATHs select, independent of events."""
        return self._deployments.inspector.selected(self._number, limit)

    def explain(self) -> str:
        """EXPLAIN of the statement, and how it runs."""
        return self._deployments.inspector.explain(self._number)

    def picture(self) -> Picture:
        """Its automata and patterns, drawn."""
        return self._deployments.inspector.picture(self._number)

    def table(self) -> pa.Table:
        """All rows so far that are kept, in order, as Arrow."""
        columns = self.columns
        return pa.concat_tables([schema_of(columns).empty_table(), *(rows for _, _, rows in self.after(0, 0))])

    def results(self) -> Any:
        """All rows so far that are kept, in order: `.to_pandas()`, `.to_arrow()`, `.df`, or a loop over dicts."""
        return self._deployments.result(self.columns, self.table(), self._deployments.not_seen(self._number))

    def subscribe(
        self, callback: Callable[[Row], object], after: int = 0, *, name: str | None = None, on_error: str = "retry"
    ) -> Subscriber:
        """Call back with each row, in order, from a thread of its own; at least once, each row with its `id`.

        `after`: how many of the statement's first rows to skip; `status.rows_out` for new rows only.
        `name`: makes the subscription durable: its position is stored in the home under this name, and after a restart
        a function subscribed under it continues there. A row at which the function raises is retried with growing
        pauses; with `on_error` 'skip' it is skipped.
        """
        if not isinstance(after, int) or after < 0:
            raise error("BAD_VALUE", what="after", found=after, expected="a number of rows, 0 or more")
        if not callable(callback):
            raise error("BAD_VALUE", what="what is subscribed", found=repr(callback), expected="a function of one row")
        subscription: Subscriber
        if name is None:
            subscription = Subscription(self, callback, after)
        elif self._deployments.subscribe is None:
            raise error("UNSUPPORTED", what="subscribe(name=…)", where="without an engine", fix="leave out the name")
        else:
            call = lambda values, identity: callback(Row(values, identity))  # noqa: E731
            subscription = self._deployments.subscribe(name, self.name, int(self._number), call, after, on_error)
        self._subscriptions.append(subscription)
        return subscription

    @property
    def _subscriptions(self) -> list[Subscriber]:
        # In the registry: a statement may have many handles.
        return self._deployments.subscriptions.setdefault(self._number, [])

    def drain(self, timeout: float | None = None) -> None:
        """Wait until all events that have arrived are read and their rows are delivered to subscribers.

        Raises STATEMENT_FAILED if the statement has failed, and a TIMEOUT after `timeout` seconds.
        """
        if any(subscription.is_me() for subscription in self._subscriptions):
            fix = "return from the function first: the rest follows"
            raise error("UNSUPPORTED", what="drain()", where="inside a subscriber's own function", fix=fix)
        self._deployments.drain(self._number, timeout)
        until = None if timeout is None else time.monotonic() + timeout
        for subscription in self._subscriptions:
            subscription.wait(self._statement.rows_out, until)
        if self._statement.status == FAILED:
            raise error("STATEMENT_FAILED", name=self.name, why=self._statement.error)

    def stop(self, patience: float = 5.0) -> None:
        """End the statement. It first reads all events that have arrived, unless a step takes too long; its rows stay.

        Its subscribers have `patience` seconds to take the last rows.
        """
        self._deployments.stop(self._number)
        until = time.monotonic() + patience
        for subscription in self._subscriptions:
            if not subscription.is_me():
                subscription.wait(self._statement.rows_out, until, strict=False)
            subscription.cancel()

    def resume(self) -> None:
        """Let a failed statement continue from its position."""
        self._deployments.resume(self._number)

    def __repr__(self) -> str:
        return f"Deployment({self.name!r}, {self.status.state})"

    @property
    def _statement(self) -> Statement:
        return self._deployments.job.statements[self._number]

    def after(self, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]:
        """(record, number of the first row, rows), batch by batch, from a row on. `record`: the last record that is
        known to hold none of them; 0 if none is."""
        archive, number = self._deployments.archive, int(self._number)
        yield from unpack(archive, number, self.columns, record, row, lambda: self.first_row)

    @property
    def first_row(self) -> int:
        """The number of its first row that retention has not removed."""
        return self._statement.removed


class Subscription:
    """Calls a function with the rows of a statement. An exception of the function ends it, and is its `error`."""

    def __init__(self, deployment: Deployment, callback: Callable[[Row], object], after: int) -> None:
        self._deployment = deployment
        self._callback = callback
        self.delivered = after
        self.error: Exception | None = None
        self._record = 0
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._deliver, name=f"presage-{deployment.name}", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop the deliveries."""
        self._cancelled.set()
        changed = self._deployment._deployments.job.changed
        with changed:
            changed.notify_all()
        if not self.is_me():
            self._thread.join(timeout=1)

    @property
    def goes_on(self) -> bool:
        return self._thread.is_alive() and not self._cancelled.is_set()

    def is_me(self) -> bool:
        """Whether the caller is the subscriber's own function."""
        return threading.current_thread() is self._thread

    def wait(self, rows: int, until: float | None, strict: bool = True) -> None:
        """Wait until so many rows of the statement are delivered, or the subscription has ended."""
        changed = self._deployment._deployments.job.changed
        with changed:
            while self.delivered < rows and self.error is None and self._thread.is_alive():
                if until is not None and time.monotonic() >= until:
                    if not strict:
                        return
                    raise error("TIMEOUT", what=f"the subscribers of '{self._deployment.name}'", fix="wait longer")
                changed.wait(0.2)

    def _deliver(self) -> None:
        changed = self._deployment._deployments.job.changed
        try:
            while not self._cancelled.is_set():
                self.delivered = max(self.delivered, self._deployment.first_row)
                with changed:
                    if self._deployment._statement.rows_out <= self.delivered:
                        changed.wait(1.0)
                        continue
                self._deliver_all()
        except Exception as failure:
            # An exception of a user's function is logged, and does not stop the statement.
            self.error = failure
            if getattr(failure, "code", None) != "ENGINE_CLOSED":
                text = "a subscriber of '{statement}' failed and receives no more rows"
                tell(WARNING, "SUBSCRIBER_FAILED", text, failure=failure, statement=self._deployment.name)
        finally:
            with changed:
                changed.notify_all()

    def _deliver_all(self) -> None:
        changed, name = self._deployment._deployments.job.changed, self._deployment.name
        for record, first, rows in self._deployment.after(self._record, self.delivered):
            self.delivered = max(self.delivered, first)  # retention has removed the rows before it
            for batch in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
                for i, values in enumerate(batch.to_pylist(), self.delivered):
                    if self._cancelled.is_set():
                        return
                    self._callback(Row(values, f"{name}/{self._deployment._number}/{i}"))
                    self.delivered = i + 1
            self._record = record
            with changed:
                changed.notify_all()


def show_statements(deployments: Mapping[str, Deployment]) -> Shown:
    """SHOW STATEMENTS."""
    counters = ("state_size", "partial_matches", "unknown_entities", "recalls_ready", "recalls_suspended")
    further = ("particle_restarts", "readings_ignored", "rows_kept", "retention", "last_error", "text")
    names = ("name", "state", "rows_in", "rows_out", "lag", "watermark", *counters, *further)
    rows = []
    for name, deployment in deployments.items():
        status = deployment.status
        values = {**status, "name": name, "text": deployment.text, "retention": deployment.retention or ""}
        values["watermark"] = "" if status.watermark is None else format_timestamp(to_micros(status.watermark))
        values["last_error"] = status.last_error or ""
        rows.append(tuple(values[column] for column in names))
    return names, rows


def describe_statement(deployment: Deployment) -> Shown:
    """DESCRIBE the name of a statement."""
    names, (row,) = show_statements({deployment.name: deployment})
    columns = [(f"column {c.name}", str(c.type)) for c in deployment.columns]
    shown = [(name.replace("_", " "), str(value)) for name, value in zip(names[1:], row[1:], strict=True)]
    return ("property", "value"), [("kind", "statement"), *columns, *shown]
