"""The runner of a sink: a thread that reads rows of a statement, delivers them, and waits."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from presage.errors import PresageError
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
from presage.storage.failures import corrupt

LOOK_SECONDS = 0.5  # an idle sink polls this often, in case it missed a notification
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LONGEST_ASKED = 300.0  # the longest pause that a server may ask for
JOIN_SECONDS = 30.0
MOST_SHOWN = 500  # characters of a failure
FINAL = ("HOME_CORRUPT", "HOME_OVERTAKEN", "ENV_NOT_ALLOWED", "HOST_NOT_ALLOWED")
ALL = 1 << 62  # more rows than any statement makes


class SinkRunner:
    """One sink. Its position is in the home: a sink that is created again continues from there."""

    def __init__(
        self,
        sink: Sink,
        make: Callable[[], Target],
        statements: Statements,
        file: PositionFile,
        reach: Callable[[str], None] = lambda point: None,
    ) -> None:
        self.sink = sink
        self._reach = reach  # crash points: see `storage.failpoints`
        self._make = make
        self._statements = statements
        self._file = file
        self._reader = Reader(statements)
        self._target: Target | None = None
        self._position: SinkPosition | None = None  # once it is that of this opening of the home
        self._is_sure = False  # whether it is known if the announced batch of an earlier run was delivered
        self._narrow = 0  # rows before this one are delivered one by one: one of them is refused
        self._since: float | None = None  # when rows began to wait
        self._failures = 0  # consecutive
        self._state, self._why = STOPPED, ""
        self._retries, self._last_error = 0, ""
        self._stopped = threading.Event()
        self._hurry, self._now = threading.Event(), threading.Event()
        self._is_idle = True  # new rows of statements end its pause
        # Weak reference: the thread stops when an unclosed engine is garbage-collected.
        arguments = (weakref.ref(self), self._stopped, statements.changed)
        self._thread = threading.Thread(target=_run, args=arguments, name=f"presage-sink-{sink.name}", daemon=True)

    def start(self) -> None:
        self._state = RUNNING
        self._thread.start()

    @property
    def has_begun(self) -> bool:
        return self._thread.ident is not None

    def stop(self) -> None:
        """Finish the current batch, and stop."""
        self._stopped.set()
        with self._statements.changed:
            self._statements.changed.notify_all()
        if self._thread.is_alive() and not self.is_me():
            self._thread.join(JOIN_SECONDS)
        if self._target is not None and not self._thread.is_alive():
            self._target.close()
        self._set_state(STOPPED)

    def is_me(self) -> bool:
        return threading.current_thread() is self._thread

    def hurry(self, retry: bool = False) -> None:
        """Deliver the current rows without waiting for a full batch; `retry`: also retry a failed batch at once."""
        self._hurry.set()
        if retry:
            self._now.set()
        with self._statements.changed:
            self._statements.changed.notify_all()

    def reached(self, number: int) -> int:
        """How many rows of a statement are delivered or skipped."""
        position = self.position()
        return position.row if position.number == number else 0 if position.number < number else ALL

    def taken(self, number: int) -> int:
        """Like `reached`; 0 if the position is unreadable: once it is repaired, all rows may be needed."""
        try:
            return self.reached(number)
        except PresageError:
            return 0

    @property
    def failure(self) -> str:
        """Why nothing is delivered now; empty if all is well."""
        return self._why if self._state in (WAITING, FAILED) else ""

    @property
    def state(self) -> str:
        return self._state

    def position(self) -> SinkPosition:
        # Not stored: any thread may ask, and only that of the sink knows whether it is still true.
        return self._position or self._file.read()

    def status(self) -> SinkStatus:
        try:
            position = self.position()
            statement = self._statements.statement(position.number)
            left = max(0, statement.rows - max(position.row, statement.removed))
        except PresageError as problem:
            position, left = SinkPosition(*self.sink.begin), 0
            self._state, self._why = FAILED, problem.message
        row = f"{self.sink.statement}/{position.number}/{position.row}"
        values = self._state, self._why, row, position.delivered, position.skipped, left, self._retries
        last_error = self._last_error or None
        return SinkStatus(self.sink.name, self.sink.kind, self.sink.statement, *values, last_error=last_error)

    # -- one round ---------------------------------------------------------------------------------------

    def round(self) -> float | None:
        """One step; the seconds until the next one, None if it was the last."""
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
            text = "; ".join(filter(None, (problem.message, problem.fix)))
            if self._target is None or self._position is None or problem.code in FINAL:
                self._set_state(FAILED, f"{problem.code}: {text}")  # do not retry
                return None
            return self._wait_out(text)
        except OSError as failure:
            return self._wait_out(str(failure))
        except Exception as failure:
            # A bug of ours: retried when the engine is opened again.
            tell(ERROR, "SINK_FAILED", "the sink '{sink}' has failed", failure=failure, sink=self.sink.name)
            self._set_state(FAILED, f"{type(failure).__name__}: {failure}")
            return None

    def _wait_out(self, why: str, asked: float | None = None) -> float:
        self._reader.release()
        self._failures += 1
        self._retries += 1
        self._is_idle = False
        self._set_state(WAITING, why)
        self._last_error = self._why
        if asked is not None:
            return min(max(asked, FIRST_PAUSE), LONGEST_ASKED)
        return float(min(FIRST_PAUSE * 2 ** min(self._failures - 1, 10), LONGEST_PAUSE))

    def _step(self) -> float:
        target = self._target = self._target or self._make()
        if self._position is None:
            self._position = self._file.take()
        position = self._position
        # If the target raises an error, ask again later: delivering on a guess could duplicate rows.
        end = None if self._is_sure else position.end
        if end is not None and target.was_delivered(position.number, position.row, end, position.by):
            position = self._store(self._after(position, end, position.record))
        self._is_sure = True
        statement = self._statements.statement(position.number)
        if position.row < statement.removed:  # retention removed rows before they were delivered
            position = self._store(replace(position, row=statement.removed, end=None))
        if position.row >= statement.rows:
            return self._finish_statement(position, statement)
        if target.why:
            self._set_state(WAITING, target.why, usual=True)
            return LOOK_SECONDS
        if position.end is None:
            waits = self._waits(target, statement.rows - position.row, statement.ended)
            if waits > 0:
                self._set_state(RUNNING)
                return min(waits, LOOK_SECONDS)
            most = 1 if position.row < self._narrow else target.most
            end = min(position.row + most, statement.rows)
            position = replace(position, end=end, by=self._file.generation)
        self._deliver(target, position)
        return 0.0

    def _deliver(self, target: Target, position: SinkPosition) -> None:
        """Prepare, announce and deliver one batch, and store the new position. One that was announced before is neither
        prepared nor announced again: a process that was paused may still be delivering it."""
        assert position.end is not None
        batch, record = self._reader.read(self.sink.statement, position, position.end)
        if position != self._position:
            target.prepare(batch)
            self._reach(failpoints.SINK_PREPARED)
            self._store(position)
            self._reach(failpoints.SINK_NOTED)
        try:
            done = target.deliver(batch)
            self._reach(failpoints.SINK_DELIVERED)
        except NotTaken as refusal:
            position = self._after(position, position.row + refusal.done, position.record) if refusal.done else position
            if not refusal.poison or self.sink.options.get("on_error", "retry") != "skip":
                self._store(position)
                raise
            self._narrow = batch.end
            if batch.end - position.row > 1:
                self._store(replace(position, end=None))
                return
            self._file.skip(batch.ids()[-1], target.masked(refusal.why))
            text = "the sink '{sink}' skipped {row}: {why}"
            tell(WARNING, "SINK_SKIPPED", text, sink=self.sink.name, row=batch.ids()[-1], why=refusal.why)
            self._store(replace(position, row=batch.end, record=record, end=None, skipped=position.skipped + 1))
            return
        whole = done == batch.rows.num_rows
        self._store(self._after(position, position.row + done, record if whole else position.record))
        self._since = None
        self._set_state(RUNNING)

    def _after(self, position: SinkPosition, row: int, record: int) -> SinkPosition:
        delivered = position.delivered + row - position.row
        return replace(position, row=row, record=record, end=None, delivered=delivered)

    def _store(self, position: SinkPosition) -> SinkPosition:
        if position != self._position:
            self._file.write(position)
        self._position = position
        return position

    def _waits(self, target: Target, count: int, ended: bool) -> float:
        """Seconds until the current rows are delivered without a full batch."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if count >= target.most or ended or self._hurry.is_set():
            return 0.0
        return target.every - (now - self._since)

    def _finish_statement(self, position: SinkPosition, statement: FollowedStatement) -> float:
        """After all rows of a statement: continue with the next one of its name, once there is one."""
        self._hurry.clear()
        self._since = None
        self._reader.release()
        successor = self._statements.successor(position.number) if statement.ended else None
        if successor is not None:
            self._narrow = 0
            self._store(replace(position, number=successor, row=0, end=None))
            return 0.0
        self._set_state(FINISHED if statement.ended else RUNNING)
        return LOOK_SECONDS

    def _set_state(self, state: str, why: str = "", usual: bool = False) -> None:
        why = self._target.masked(why) if self._target is not None else why
        why = " ".join(why.split())[:MOST_SHOWN]
        changed = (state, why) != (self._state, self._why)
        self._state, self._why = state, why
        if changed and why and not usual:
            text = "the sink '{sink}' is {state}: {why}"
            tell(WARNING, "SINK_STATE", text, sink=self.sink.name, state=state, why=why)


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
            # After a failure, `hurry(retry=True)` ends the pause, but new rows do not.
            while pause and not stopped.is_set() and (left := until - time.monotonic()) > 0:
                if now.is_set():
                    now.clear()
                    break
                changed.wait(left)
                if idle:
                    break


class Reader:
    """Reads the rows of a statement, and caches the rest of one piece of the results."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.release()

    def release(self) -> None:
        """Free the cache: a sink that waits for a server holds no rows in memory."""
        self._pieces: Iterator[tuple[int, int, pa.Table]] = iter(())
        self._at: tuple[int, int] | None = None  # statement and row at which the cache begins
        self._piece: tuple[int, pa.Table] | None = None  # record, and its rows from that row on

    def read(self, name: str, position: SinkPosition, end: int) -> tuple[Batch, int]:
        """Rows up to `end`, and the record that holds the last of them."""
        if self._at != (position.number, position.row):
            self._begin(position)
        rows, record = self._take(end - position.row)
        if rows.num_rows < end - position.row:
            # More rows have been published since the files were listed.
            self._begin(position)
            rows, record = self._take(end - position.row)
        if rows.num_rows < end - position.row:
            self.release()
            what, fix = f"row {position.row + rows.num_rows} of statement '{name}'", "restore the results folder"
            raise corrupt(what, "results", "it is not in the results", f"{fix} from a copy of the home")
        self._at = (position.number, end)
        return Batch(name, position.number, position.row, rows, position.by), record

    def _begin(self, position: SinkPosition) -> None:
        self.release()
        self._pieces = self._statements.rows(position.number, position.record, position.row)
        self._at = (position.number, position.row)

    def _take(self, count: int) -> tuple[pa.Table, int]:
        parts: list[pa.Table] = []
        record, missing = 0, count
        while missing:
            if self._piece is None:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._piece = (piece[0], piece[2])
            record, rows = self._piece
            parts.append(rows.slice(0, missing))
            missing -= parts[-1].num_rows
            self._piece = (record, rows.slice(parts[-1].num_rows)) if parts[-1].num_rows < rows.num_rows else None
        return (pa.concat_tables(parts) if parts else pa.table({})), record
