"""A sink in, its rows delivered: reads, hands over, waits, in a thread of its own."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from presage.errors import PresageError, error
from presage.logging import ERROR, WARNING, tell
from presage.model.catalog import Sink
from presage.sinks.position import PositionFile, SinkPosition
from presage.sinks.sink import (
    FAILED,
    FINISHED,
    RUNNING,
    STOPPED,
    WAITING,
    Batch,
    FollowedStatement,
    NotTaken,
    SinkStatus,
    Statements,
    Target,
)
from presage.storage import failpoints

LOOK_SECONDS = 0.5  # a sink that has nothing to do looks so often, should it have missed being told
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LONGEST_ASKED = 300.0  # a server may ask for a longer pause than ours, up to this one
JOIN_SECONDS = 30.0
MOST_SHOWN = 500  # characters of a failure
FINAL = ("HOME_CORRUPT", "ENV_NOT_ALLOWED", "HOST_NOT_ALLOWED")
ALL = 1 << 62  # more rows than any statement makes


class SinkRunner:
    """One sink. Its place is in the home: one that is made again goes on from there."""

    def __init__(
        self,
        sink: Sink,
        make: Callable[[], Target],
        statements: Statements,
        file: PositionFile,
        reach: Callable[[str], None] = lambda point: None,
    ) -> None:
        self.sink = sink
        self._reach = reach  # says how far a batch is: see `storage.failpoints`
        self._make = make
        self._statements = statements
        self._file = file
        self._reader = Reader(statements)
        self._target: Target | None = None
        self._place: SinkPosition | None = None
        self._is_sure = False  # whether rows that an earlier life was about to deliver have gone is known
        self._narrow = 0  # rows before this one go one by one: one of them is refused
        self._since: float | None = None  # when rows began to wait
        self._failures = 0  # one after the other
        self._state, self._why = STOPPED, ""
        self._retries, self._last_error = 0, ""
        self._stopped = threading.Event()
        self._hurry, self._now = threading.Event(), threading.Event()
        self._is_idle = True  # what ends its pause is a change of the statements, and not the clock alone
        # The thread knows it weakly: an engine that nobody closed and nobody holds takes it along.
        arguments = (weakref.ref(self), self._stopped, statements.changed)
        self._thread = threading.Thread(target=_run, args=arguments, name=f"presage-sink-{sink.name}", daemon=True)

    def start(self) -> None:
        self._state = RUNNING
        self._thread.start()

    @property
    def has_begun(self) -> bool:
        return self._thread.ident is not None

    def stop(self) -> None:
        """Wait for the rows that are on their way; none will follow."""
        self._stopped.set()
        with self._statements.changed:
            self._statements.changed.notify_all()
        if self._thread.is_alive() and not self.is_me():
            self._thread.join(JOIN_SECONDS)
        if self._target is not None and not self._thread.is_alive():
            self._target.close()
        self._say(STOPPED)

    def is_me(self) -> bool:
        return threading.current_thread() is self._thread

    def hurry(self, retry: bool = False) -> None:
        """Deliver what there is without waiting for more; `retry`: try at once, too, what waits because it failed."""
        self._hurry.set()
        if retry:
            self._now.set()
        with self._statements.changed:
            self._statements.changed.notify_all()

    def reached(self, number: int) -> int:
        """How many rows of a statement are delivered, or left out."""
        place = self.place()
        return place.row if place.number == number else 0 if place.number < number else ALL

    def taken(self, number: int) -> int:
        """As `reached`; none where its place cannot be read: once it is mended it may want all of them."""
        try:
            return self.reached(number)
        except PresageError:
            return 0

    @property
    def failure(self) -> str:
        """Why nothing is delivered now, if something went wrong."""
        return self._why if self._state in (WAITING, FAILED) else ""

    @property
    def state(self) -> str:
        return self._state

    def place(self) -> SinkPosition:
        self._place = self._place or self._file.read()
        return self._place

    def status(self) -> SinkStatus:
        try:
            place = self.place()
            statement = self._statements.statement(place.number)
            left = max(0, statement.rows - max(place.row, statement.removed))
        except PresageError as problem:
            place, left = SinkPosition(*self.sink.begin), 0
            self._state, self._why = FAILED, problem.message
        position = f"{self.sink.statement}/{place.number}/{place.row}"
        said = self._state, self._why, position, place.delivered, place.skipped, left, self._retries
        return SinkStatus(
            self.sink.name, self.sink.kind, self.sink.statement, *said, last_error=self._last_error or None
        )

    # -- one round ---------------------------------------------------------------------------------------

    def round(self) -> float | None:
        """One step; how many seconds to wait before the next, None if there is none."""
        try:
            self._is_idle = True
            pause = self._step()
            self._failures = 0
            return pause
        except NotTaken as refusal:
            return self._wait_out(refusal.why, refusal.pause)
        except PresageError as problem:
            if problem.code == "ENGINE_CLOSED":
                return None
            told = "; ".join(filter(None, (problem.message, problem.fix)))
            if self._target is None or self._place is None or problem.code in FINAL:
                self._say(FAILED, f"{problem.code}: {told}")  # waiting will not help
                return None
            return self._wait_out(told)
        except OSError as failure:
            return self._wait_out(str(failure))
        except Exception as failure:
            # Our own mistake. The place stays; an engine that is opened again tries again.
            tell(ERROR, "SINK_FAILED", "the sink '{sink}' has failed", failure=failure, sink=self.sink.name)
            self._say(FAILED, f"{type(failure).__name__}: {failure}")
            return None

    def _wait_out(self, why: str, asked: float | None = None) -> float:
        self._reader.let_go()
        self._failures += 1
        self._retries += 1
        self._is_idle = False
        self._say(WAITING, why)
        self._last_error = self._why
        if asked is not None:
            return min(max(asked, FIRST_PAUSE), LONGEST_ASKED)
        return float(min(FIRST_PAUSE * 2 ** min(self._failures - 1, 10), LONGEST_PAUSE))

    def _step(self) -> float:
        target = self._target = self._target or self._make()
        place = self.place()
        # A target that cannot tell now is asked until it can: to deliver them on a guess could be once too often.
        if not self._is_sure and place.end is not None and target.was_delivered(place.number, place.row, place.end):
            place = self._keep(self._after(place, place.end, place.record))
        self._is_sure = True
        statement = self._statements.statement(place.number)
        if place.row < statement.removed:  # they went before anybody asked for them
            place = self._keep(replace(place, row=statement.removed, end=None))
        if place.row >= statement.rows:
            return self._go_over(place, statement)
        if target.why:
            self._say(WAITING, target.why, usual=True)
            return LOOK_SECONDS
        if place.end is None:
            waits = self._waits(target, statement.rows - place.row, statement.ended)
            if waits > 0:
                self._say(RUNNING)
                return min(waits, LOOK_SECONDS)
            most = 1 if place.row < self._narrow else target.most
            place = replace(place, end=min(place.row + most, statement.rows))
        self._deliver(target, place)
        return 0.0

    def _deliver(self, target: Target, place: SinkPosition) -> None:
        """One batch: made ready, noted, handed over, noted."""
        assert place.end is not None
        batch, record = self._reader.read(self.sink.statement, place, place.end)
        target.prepare(batch)
        self._reach(failpoints.SINK_PREPARED)
        self._keep(place)
        self._reach(failpoints.SINK_NOTED)
        try:
            done = target.deliver(batch)
            self._reach(failpoints.SINK_DELIVERED)
        except NotTaken as refusal:
            place = self._after(place, place.row + refusal.done, place.record) if refusal.done else place
            if not refusal.poison or self.sink.options.get("on_error", "retry") != "skip":
                self._keep(place)
                raise
            self._narrow = batch.end
            if batch.end - place.row > 1:
                self._keep(replace(place, end=None))
                return
            self._file.skip(batch.ids()[-1], target.masked(refusal.why))
            told = "the sink '{sink}' leaves out {row}: {why}"
            tell(WARNING, "SINK_SKIPPED", told, sink=self.sink.name, row=batch.ids()[-1], why=refusal.why)
            skipped = replace(place, row=batch.end, record=record, end=None, skipped=place.skipped + 1)
            self._keep(skipped)
            return
        whole = done == batch.rows.num_rows
        self._keep(self._after(place, place.row + done, record if whole else place.record))
        self._since = None
        self._say(RUNNING)

    def _after(self, place: SinkPosition, row: int, record: int) -> SinkPosition:
        delivered = place.delivered + row - place.row
        return replace(place, row=row, record=record, end=None, delivered=delivered)

    def _keep(self, place: SinkPosition) -> SinkPosition:
        if place != self._place or place.end is not None:
            self._file.write(place)
        self._place = place
        return place

    def _waits(self, target: Target, count: int, ended: bool) -> float:
        """Seconds until rows that are there must go, though there are few of them."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if count >= target.most or ended or self._hurry.is_set():
            return 0.0
        return target.every - (now - self._since)

    def _go_over(self, place: SinkPosition, statement: FollowedStatement) -> float:
        """All rows of a statement are delivered: on to the next one of its name, once there is one."""
        self._hurry.clear()
        self._since = None
        self._reader.let_go()
        successor = self._statements.successor(place.number) if statement.ended else None
        if successor is not None:
            self._narrow = 0
            self._keep(replace(place, number=successor, row=0, end=None))
            return 0.0
        self._say(FINISHED if statement.ended else RUNNING)
        return LOOK_SECONDS

    def _say(self, state: str, why: str = "", usual: bool = False) -> None:
        why = self._target.masked(why) if self._target is not None else why
        why = " ".join(why.split())[:MOST_SHOWN]
        changed = (state, why) != (self._state, self._why)
        self._state, self._why = state, why
        if changed and why and not usual:
            told = "the sink '{sink}' is {state}: {why}"
            tell(WARNING, "SINK_STATE", told, sink=self.sink.name, state=state, why=why)


def _run(running: weakref.ref[SinkRunner], stopped: threading.Event, changed: threading.Condition) -> None:
    pause: float | None = 0.0
    while pause is not None and not stopped.is_set():
        alive = running()
        if alive is None:
            return
        pause, idle, now = alive.round(), alive._is_idle, alive._now
        del alive
        until = time.monotonic() + (pause or 0.0)
        with changed:
            # After a failure a change of the statements is no reason to try again at once; being hurried is.
            while pause and not stopped.is_set() and (left := until - time.monotonic()) > 0:
                if now.is_set():
                    now.clear()
                    break
                changed.wait(left)
                if idle:
                    break


class Reader:
    """Holds what is left of one piece of the results, until it is told to let go."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.let_go()

    def let_go(self) -> None:
        """Keep nothing in memory: whoever waits for a server holds no rows."""
        self._pieces: Iterator[tuple[int, int, pa.Table]] = iter(())
        self._at: tuple[int, int] | None = None  # statement and row that the pieces go on with
        self._piece: tuple[int, pa.Table] | None = None  # record, and rows from that row on

    def read(self, name: str, place: SinkPosition, end: int) -> tuple[Batch, int]:
        """Rows up to `end`, and the record that holds the last of them."""
        if self._at != (place.number, place.row):
            self._begin(place)
        rows, record = self._take(end - place.row)
        if rows.num_rows < end - place.row:
            # What was listed then ends here: more has been published since.
            self._begin(place)
            rows, record = self._take(end - place.row)
        if rows.num_rows < end - place.row:
            self.let_go()
            what, why = f"row {place.row + rows.num_rows} of statement '{name}'", "it is not in the results"
            fix = "restore the results folder from a copy of the home"
            raise error("HOME_CORRUPT", what=what, path="results", why=why, fix=fix)
        self._at = (place.number, end)
        return Batch(name, place.number, place.row, rows), record

    def _begin(self, place: SinkPosition) -> None:
        self.let_go()
        self._pieces = self._statements.rows(place.number, place.record, place.row)
        self._at = (place.number, place.row)

    def _take(self, count: int) -> tuple[pa.Table, int]:
        parts: list[pa.Table] = []
        record, missing = 0, count
        while missing:
            if self._piece is None:
                found = next(self._pieces, None)
                if found is None:
                    break
                self._piece = (found[0], found[2])
            record, rows = self._piece
            parts.append(rows.slice(0, missing))
            missing -= parts[-1].num_rows
            self._piece = (record, rows.slice(parts[-1].num_rows)) if parts[-1].num_rows < rows.num_rows else None
        return (pa.concat_tables(parts) if parts else pa.table({})), record
