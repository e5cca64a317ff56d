"""The handle of a deployed statement: its status, rows, subscriptions, and its end."""

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
# Rows that are made into dictionaries together: the first of many reach a subscriber early.
ROWS_AT_ONCE = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Status:
    """A statement at one moment. `lag`: events that have arrived and that it has not taken in yet, in any stream.

    `partial_matches`: matches of its patterns that have begun and may still go on. `unknown_entities`: values that
    should have named an entity, for a PATH, and named none that is known. `recalls_ready`, `recalls_suspended`: events
    that wait for more of history, or for somebody who asks for it. `rows_kept`: the rows that its retention has left.
    `particle_restarts`: steps at which no particle of PARTICLES could give the readings, so that they started anew.
    `readings_ignored`: readings that its inference could not use, because no state can give them.
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
        """A field by its name, for those who print or send them all."""
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> list[str]:
        return [f.name for f in fields(self)]


class Row(dict[str, Any]):
    """A row for a subscriber. `id` is the same whenever the row is delivered again."""

    def __init__(self, values: dict[str, Any], identity: str) -> None:
        super().__init__(values)
        self.id = identity


class Subscriber(Protocol):
    """What a user holds of a subscription. `delivered`: rows of the statement that are done with; `goes_on`: whether
    it takes those that follow."""

    error: Exception | None

    @property
    def delivered(self) -> int: ...
    @property
    def goes_on(self) -> bool: ...
    def cancel(self) -> None: ...
    def is_me(self) -> bool: ...
    def wait(self, rows: int, until: float | None, strict: bool = True) -> None: ...


class Deployment:
    """A deployed statement. It lives in the home: all handles of a name are equal."""

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
        """What `deploy` found worth telling: parts of the text that may mean something else, events that it missed. Of
        a statement that was deployed before the home was opened there are none."""
        return self._deployments.warnings.get(self._number, ())

    @property
    def columns(self) -> tuple[Field, ...]:
        return self._deployments.columns(self._number)

    @property
    def status(self) -> Status:
        statement, job = self._statement, self._deployments.job
        place = job.position_of(statement)
        behind = statement.status == RUNNING and statement.own_position is not None
        known = place.watermark != NOTHING_KNOWN
        waits = statement.status == RUNNING and job.waits(statement)
        return Status(
            "waiting" if waits else "catching up" if behind else statement.status,
            statement.rows_in,
            statement.rows_out,
            job.lag(statement),
            _EPOCH + timedelta(microseconds=place.watermark) if known else None,
            job.state_size(statement),
            statement.partial_matches,
            statement.error or self._deployments.trouble() or self._slow() or None,
            place.offset,
            statement.unknown_entities,
            statement.recalls_ready,
            statement.recalls_suspended,
            statement.rows_out - statement.removed,
            statement.particle_restarts,
            statement.readings_ignored,
        )

    def _slow(self) -> str:
        """What holds up the batch that runs now, if it takes more than a moment."""
        slow = self._deployments.job.slow_step
        if slow is None:
            return ""
        number, seconds = slow
        whose = (
            f"statement '{self._deployments.job.statements[number].name}'" if number else "several statements together"
        )
        return f"a batch is running: {whose} for {seconds:.0f} s so far"

    @property
    def retention(self) -> str | None:
        """How long its rows are kept; None: for ever."""
        micros = self._statement.retention
        return None if micros is None else format_duration(micros)

    @property
    def rows_out(self) -> int:
        """How many rows it has made; as in the status, without looking at anything else."""
        return self._statement.rows_out

    def why(self, limit: int = 20) -> list[ConditionReport]:
        """The newest events of its streams, and for each which of its conditions it fulfils and which it does not."""
        return self._deployments.inspector.why_not_conditions(self._number, limit)

    def why_event(self, number: int) -> list[Reasons]:
        """What an event met in its patterns and sequences, and what kept it from making a row there; by the number of
        the event's arrival."""
        return self._deployments.inspector.why_not_patterns(self._number, number)

    def trace(self) -> MatchTrace:
        """The events of its matches; `follow` brings it up to date."""
        return self._deployments.inspector.trace(self._number)

    def follow(self, trace: MatchTrace) -> None:
        self._deployments.inspector.follow(self._number, trace)

    def selects(self, limit: int = 200) -> list[Selected]:
        """Which things its PATHs select, whatever events come."""
        return self._deployments.inspector.selected(self._number, limit)

    def explain(self) -> str:
        """What EXPLAIN says of the statement, and how it runs."""
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
        found = self._deployments.result(self.columns, self.table())
        found.remarks = self._deployments.not_seen(self._number)
        return found

    def subscribe(
        self, callback: Callable[[Row], object], after: int = 0, *, name: str | None = None, on_error: str = "retry"
    ) -> Subscriber:
        """Call back with each row, in order, from a thread of its own; at least once, each row with its `id`.

        `after`: how many of the statement's first rows to leave out; `status.rows_out` for those that are to come.
        `name`: what the function has taken is kept in the home under this name, and after a restart the function that
        is subscribed by it goes on there. Then a row at which it raises comes again, with growing pauses; `on_error`
        'skip' leaves such rows out.
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
        # Kept beside the statement: this object may be one of many.
        return self._deployments.subscriptions.setdefault(self._number, [])

    def drain(self, timeout: float | None = None) -> None:
        """Wait until all that has arrived so far is taken in and its rows are with the subscribers.

        Raises what stopped the statement, if something did, and a TIMEOUT after `timeout` seconds.
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
        """End the statement. It takes in what has arrived, unless a step takes too long; what it made stays.

        Its subscribers have `patience` seconds to take the last rows.
        """
        self._deployments.stop(self._number)
        until = time.monotonic() + patience
        for subscription in self._subscriptions:
            if not subscription.is_me():
                subscription.wait(self._statement.rows_out, until, strict=False)
            subscription.cancel()

    def resume(self) -> None:
        """Let a statement that failed go on from where it was."""
        self._deployments.resume(self._number)

    def __repr__(self) -> str:
        return f"Deployment({self.name!r}, {self.status.state})"

    @property
    def _statement(self) -> Statement:
        return self._deployments.job.statements[self._number]

    def after(self, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]:
        """(record, number of the first row, rows), batch by batch: from a row on, of records behind one that is known
        to hold none of them; 0 if none is."""
        archive, number = self._deployments.archive, int(self._number)
        yield from unpack(archive, number, self.columns, record, row, lambda: self.first_row)

    @property
    def first_row(self) -> int:
        """The number of its first row that is kept: so many are gone, past its retention."""
        return self._statement.removed


class Subscription:
    """Hands the rows of a statement to a function. An exception of the function ends it; `error` keeps it."""

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
        """Stop delivering. Rows that come later are not called back."""
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
        """Whether it is the subscriber's own function that asks."""
        return threading.current_thread() is self._thread

    def wait(self, rows: int, until: float | None, strict: bool = True) -> None:
        """Wait until so many rows of the statement are delivered, or none will be any more."""
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
            # Whatever a user's function raises must not go unseen, and must not stop the statement.
            self.error = failure
            if getattr(failure, "code", None) != "ENGINE_CLOSED":
                name = self._deployment.name
                told = "a subscriber of '{statement}' failed and gets no more rows"
                tell(WARNING, "SUBSCRIBER_FAILED", told, failure=failure, statement=name)
        finally:
            with changed:
                changed.notify_all()

    def _deliver_all(self) -> None:
        changed, name = self._deployment._deployments.job.changed, self._deployment.name
        for record, first, rows in self._deployment.after(self._record, self.delivered):
            self.delivered = max(self.delivered, first)  # those before it are gone
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
    names = (
        "name",
        "state",
        "rows_in",
        "rows_out",
        "lag",
        "watermark",
        "state_size",
        "partial_matches",
        "unknown_entities",
        "recalls_ready",
        "recalls_suspended",
        "particle_restarts",
        "readings_ignored",
        "rows_kept",
        "retention",
        "last_error",
        "text",
    )
    rows = []
    for name, deployment in deployments.items():
        status = deployment.status
        known = "" if status.watermark is None else format_timestamp(to_micros(status.watermark))
        figures = (status.rows_in, status.rows_out, status.lag, known, status.state_size, status.partial_matches)
        further = (status.unknown_entities, status.recalls_ready, status.recalls_suspended)
        inferred = (status.particle_restarts, status.readings_ignored)
        kept = (status.rows_kept, deployment.retention or "")
        rows.append(
            (name, status.state, *figures, *further, *inferred, *kept, status.last_error or "", deployment.text)
        )
    return names, rows


def describe_statement(deployment: Deployment) -> Shown:
    """DESCRIBE the name of a statement."""
    names, (row,) = show_statements({deployment.name: deployment})
    columns = [(f"column {c.name}", str(c.type)) for c in deployment.columns]
    shown = [(name.replace("_", " "), str(value)) for name, value in zip(names[1:], row[1:], strict=True)]
    return ("property", "value"), [("kind", "statement"), *columns, *shown]
