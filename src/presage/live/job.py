"""The live job: as the log grows, every deployed statement reads what is new, batch by batch.

A batch reads a range of the log, steps the statements, writes their new states to new files, and publishes states, rows
and position in one record of the journal. The record makes the batch atomic: before it nothing has happened, after it
all has. A statement that is not in step with the others (it begins with history, or its state was lost) catches up in
slices and joins them at a position.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, replace
from functools import partial
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator, Fallback
from presage.errors import PresageError
from presage.execution.stage import EventCommand, OpenEvent
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live import results
from presage.live.batch import Batch, EventCommands
from presage.live.batch_lock import PATIENCE, BatchLock
from presage.live.batch_planner import BatchPlanner
from presage.live.commit_draft import BatchCounts, CommitDraft, DraftBuilder
from presage.live.derived import archived_schema, derived_table
from presage.live.gc_pause import gc_paused
from presage.live.history_reader import HistoryReader
from presage.live.input_range import InputPosition
from presage.live.meters import Meters
from presage.live.program import Program
from presage.live.runner import STATE_BYTES, CompiledStatement, Runner
from presage.live.shared_execution import LEAST_MEMBERS
from presage.live.state_store import SHARED_KEY, KnownStates, StateStore
from presage.live.statement import FAILED, RUNNING, STOPPED, Statement
from presage.live.statement_update import NO_STATE
from presage.live.step_thread import SECONDS_PER_BATCH, BatchInterruptedError, StepOverdueError, StepThread, too_slow
from presage.live.task_dispatch import TaskDispatcher, Workers
from presage.live.tasks import Outcomes, Task
from presage.logging import WARNING, tell
from presage.model.catalog import EventType, Moment
from presage.model.time import wall_clock
from presage.operators.running import open_events
from presage.storage import Log
from presage.storage.home import DERIVED, RESULTS

# The most events of one batch, by the files' statistics: bounds memory and the latency of the first rows in a backlog.
ROWS_PER_BATCH = 500_000
# A larger batch runs in Spark's workers, if its statements or their keys are independent.
ROWS_ON_DRIVER = 1_000_000
# A stopped statement first reads all arrivals, unless a batch takes longer than this.
FINISH_SECONDS = 3.0

Statements = Mapping[str, Statement]  # by number


class Job:
    """All deployed statements of a home. Thread-safe: changes happen between batches."""

    def __init__(
        self,
        log: Log,
        relations: Callable[[], Mapping[str, pa.Table]],
        event_type: Callable[[str], EventType],
        fallback: Callable[[], Fallback] | None = None,
        histories: Callable[[Any], Any] | None = None,
        workers: Workers | None = None,
        rows_per_batch: int = ROWS_PER_BATCH,
        rows_on_driver: int = ROWS_ON_DRIVER,
        parallelism: int = 1,
        least_members: int = LEAST_MEMBERS,
        refreshed: Callable[[], int] = lambda: 0,
        seconds_per_batch: float = SECONDS_PER_BATCH,
        state_bytes: int = STATE_BYTES,
        states: KnownStates | None = None,  # read before, by a standby
    ) -> None:
        self._log = log
        self._relations, self._event_type, self._fallback, self._histories = relations, event_type, fallback, histories
        self._refreshed = refreshed  # wall time of the last change of a knowledge base
        self._step_thread = StepThread()
        self._lock = BatchLock(self._step_thread.interrupt, seconds_per_batch)
        self._closed = self._interrupted = False
        self._seconds, self._state_bytes, self._least_members = seconds_per_batch, state_bytes, least_members
        self.changed = threading.Condition()
        self.meters = Meters()
        self._unsettled = False  # the last record may not be applied
        self._identity, self._changes = uuid.uuid4().hex, 0  # version of the knowledge bases
        self.programs: dict[str, Program] = {}
        self._planned: list[Statement] | None = None  # the deployed statements in the planner's cache; None: changed
        self._compiled: dict[str, CompiledStatement] = {}
        self.statements = {n: Statement.from_json(c) for n, c in log.live.statements.items()}
        self._reached = log.live.job.get("arrivals", 0)  # the record up to whose arrivals the statements have read
        self.planner = BatchPlanner(log, self.programs, rows_per_batch, least_members)
        self._store = StateStore(log.home, self.statements, self._shared_states, states or {})
        self._store.sweep()
        deployed = self.statements, self.programs
        self._drafts = DraftBuilder(*deployed, self.planner, self._store, event_type, self.can_repeat)
        chains, is_shared = self._store.chains, self._has_shared_state
        self._dispatcher = TaskDispatcher(log.home, workers, rows_on_driver, parallelism, relations, chains, is_shared)
        self._runner = self._new_runner()

    # -- statements ----------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        """The current end of the log."""
        point = self._log.point
        return Moment(point.position, {n: w for n, w in point.watermarks.items() if not n.startswith("#")})

    def between_batches(self) -> AbstractContextManager[None]:
        """Excludes batches: reads and changes are atomic. A batch that takes long is interrupted without effect, and
        restarted afterwards."""
        return self._lock.between_batches()

    def leave(self) -> None:
        """Run no more batches; a running batch that takes long is interrupted without effect."""
        self._closed = True
        with self.between_batches():
            pass

    @property
    def slow_step(self) -> tuple[str, float] | None:
        """The statement whose step takes long (empty: several together), and its seconds so far."""
        deadline = self._step_thread.deadline
        seconds = 0.0 if deadline is None else time.monotonic() - deadline.since
        return None if deadline is None or seconds < PATIENCE else (deadline.number, seconds)

    def reached(self, statement: Statement) -> Moment:
        """Up to where a statement has emitted its rows, as a moment of its streams."""
        offset, watermark = astuple(self.position_of(statement))
        if self.programs[statement.number].lags:
            # Rows of events that it has read may still wait for history.
            watermark, reopened = self.planner.output_watermark(statement), statement.events_reopened
            offset = offset if reopened is None else min(offset, reopened - 1)
        return Moment(offset, known=None if watermark == NOTHING_KNOWN else watermark)

    @property
    def next_number(self) -> str:
        """The number that the next statement will have."""
        return str(self._log.live.job.get("next", 1))

    def find(self, name: str) -> Statement | None:
        """The latest statement of that name."""
        named = [s for s in self.statements.values() if s.name == name]
        return max(named, key=lambda s: int(s.number), default=None)

    def restore(self, number: str, program: Program) -> None:
        """Set the program of a statement from the journal."""
        with self._lock:
            self.programs[number] = program
            self._planned = None

    def deploy(
        self,
        draft: Statement,
        now: Moment,
        program: Program,
        catalog: dict[str, Any],
        replaces: Statement | None = None,
    ) -> Statement:
        """Deploy a statement; the draft says what it is."""
        with self._lock:
            number = self.next_number
            together = any(s.own_position is None for s in self.statements.values() if s.status == RUNNING)
            # A batch may have run since `now` was taken: in step only if it skips nothing.
            reached = self._log.live.job.get("position", 0) if together else now.position
            begins = max(now.position, reached)
            in_step = all(scan.after is not None and scan.after >= begins for scan in program.scans)
            statement = replace(
                draft,
                number=number,
                own_position=None if in_step else InputPosition(),
                fingerprint=program.fingerprint,
                shards=program.shards,
                started=wall_clock(),
                streams=sorted(program.streams),
            )
            job: dict[str, Any] = {"next": int(number) + 1}
            if not together:  # no statement needs earlier events: the job starts here
                known = {name: time for name, time in now.watermarks.items() if time is not None}
                job |= {"position": now.position, "marks": known, "arrivals": -1}
            changes = {number: statement.to_json()}
            if replaces is not None:
                changes |= self._stopping(replaces)
            creates = {RESULTS: results.SCHEMA}
            if program.insert_into is not None:
                creates[DERIVED + program.insert_into] = archived_schema(self._event_type(program.insert_into))
            self.programs[number] = program
            entry = {**catalog, "extra": {**catalog["extra"], "number": number}}
            self._record("deploy", {"job": job, "statements": changes}, creates=creates, catalog=entry)
            if replaces is not None:
                self._forget(replaces.number)
            self._notify()
            return self.statements[number]

    def stop(self, number: str, catalog: dict[str, Any]) -> None:
        """End a statement; the rows that it made stay."""
        with self._lock:
            statement = self.statements[number]
            if not statement.deployed:
                return
            changes = self._stopping(statement)
            # A batch must follow: readers of its rows no longer wait for it.
            self._record("stop", {"job": {"arrivals": -1}, "statements": changes}, catalog=catalog)
            self._forget(number)
            self._notify()

    def finish(self, number: str) -> None:
        """Let a statement that is about to end read what has arrived by now, up to the watermark."""
        with self._lock:
            arrivals = self._log.point.arrivals
            while self.statements[number].own_position is None and not self.caught_up(number, arrivals):
                if not self.advance(until=time.monotonic() + FINISH_SECONDS):
                    break
                if self._interrupted:
                    text = "statement '{statement}' stopped before it had read all arrivals: a step takes too long"
                    tell(WARNING, "STOPPED_EARLY", text, statement=self.statements[number].name)
                    return
            if self.programs[number].lags and self.statements[number].recalls_suspended:
                # No command can resume them, and rows of later events wait for them.
                name, waiting = self.statements[number].name, self.open_events(number)
                cancel = tuple((name, EventCommand("cancel", each.event)) for each in waiting)
                self.command_events(cancel, time.monotonic() + FINISH_SECONDS)
            if self.programs[number].lags:
                self.advance(until=time.monotonic() + FINISH_SECONDS)  # for the readers of its rows

    def command_events(self, commands: EventCommands, until: float | None = None) -> None:
        """Run a batch with commands on open events, each for the statement of a name or for all."""
        with self._lock:
            self.advance(until=until, commands=commands)

    def open_events(self, number: str) -> list[OpenEvent]:
        """The events of a statement whose search of history is not complete."""
        with self._lock:
            program, statement = self.programs.get(number), self.statements[number]
            if program is None or not (program.reads_history and statement.deployed and statement.states):
                return []
            states = self._store.of(Task(number, program, 0, (), 0, 0, 0, False, False))
            return [event for state in states.values() for event in open_events(state)]

    def catch_up(self, number: str) -> None:
        """Let a statement read all arrivals."""
        with self._lock:
            arrivals = self._log.point.arrivals
            while not self.caught_up(number, arrivals) and self.advance():
                pass

    def change_programs(self, programs: Mapping[str, Program], fails: Mapping[str, str]) -> None:
        """After a change of knowledge: statements continue with new programs, or fail with a reason."""
        with self._lock:
            for number, program in programs.items():
                self.programs[number] = program
                self._compiled.pop(number, None)
            self._runner.forget()
            self._store.check_again()
            self._changes += 1
            self._planned = None
            if fails:
                self.fail(fails)

    def resume(self, number: str) -> None:
        """Let a failed statement retry from where it stopped."""
        with self.between_batches():
            if self.statements[number].status == FAILED:
                self.change({number: {"status": RUNNING, "error": ""}}, "resume")

    def retain(self, number: str, retention: int) -> None:
        """Set the retention of a statement's rows."""
        self.change({number: {"retention": retention}}, "retention")

    def remove_rows(self, removed: Mapping[str, int]) -> None:
        """Hide the first rows of statements from readers, so many of each."""
        with self._lock:
            # A concurrent caller may have removed more rows; never decrease.
            known = {number: max(count, self.statements[number].removed) for number, count in removed.items()}
            self.change({number: {"removed": count} for number, count in known.items()}, "retention")

    def change(self, values: Mapping[str, dict[str, Any]], kind: str) -> None:
        """Publish new values of statements in a record of that kind."""
        with self._lock:
            changes = {number: self.statements[number].change(**several)[1] for number, several in values.items()}
            self._record(kind, {"statements": changes})
            self._planned = None
            for number in values:
                self._store.forget(number)  # it may have lost its states

    def _stopping(self, statement: Statement) -> dict[str, dict[str, Any]]:
        values = {"status": STOPPED, "own_position": self.position_of(statement), **NO_STATE, "changed": wall_clock()}
        return {statement.number: statement.change(**values)[1]}

    # -- positions -----------------------------------------------------------------------------------

    def position_of(self, statement: Statement) -> InputPosition:
        """How far a statement has read."""
        return self.planner.position_of(statement)

    def lag(self, statement: Statement) -> int:
        """How many events have arrived that a statement has not read yet."""
        return self.planner.lag(statement) if statement.deployed else 0

    def waits(self, statement: Statement) -> bool:
        """Whether a producer of its input has failed."""
        streams = self.programs[statement.number].streams
        failed = [s for s in self.statements.values() if s.status == FAILED]
        tables = {derived_table(self.programs[s.number].insert_into or "") for s in failed}
        return not tables.isdisjoint(streams)

    def caught_up(self, number: str, arrivals: int) -> bool:
        """Whether a statement has read all arrivals up to a record, or has ended."""
        # In this order: the statement must not be older than the record that the job has reached.
        reached, statement = self._reached, self.statements[number]
        in_step = statement.own_position is None and reached >= arrivals
        return statement.status != RUNNING or (in_step and not self.planner.awaits_history(statement, self._deployed()))

    @property
    def overdue(self) -> bool:
        """Whether a suspended event is past its deadline."""
        return any(self.planner.overdue(s) for s in self.statements.values() if s.status == RUNNING)

    def in_use(self) -> dict[str, Sequence[tuple[int, int | None]]]:
        """By stream: (offset, watermark) of each statement that reads it, failed ones included."""
        positions: dict[str, list[tuple[int, int | None]]] = {}
        for statement in self._deployed():
            position = self.position_of(statement)
            for stream in self.programs[statement.number].streams:
                positions.setdefault(stream, []).append((position.offset, position.watermark))
        return dict(positions)

    @property
    def idle(self) -> bool:
        """Whether a batch would have nothing to do now."""
        with self._lock:
            return self._plan() is None

    def _deployed(self) -> list[Statement]:
        return [s for s in self.statements.values() if s.deployed]

    def _plan(self, history: HistoryReader | None = None, commands: EventCommands = ()) -> Batch | None:
        self._planned = self._deployed() if self._planned is None else self._planned
        return self.planner.plan(self._planned, history, commands)

    # -- batches -------------------------------------------------------------------------------------

    def advance(
        self, history: HistoryReader | None = None, until: float | None = None, commands: EventCommands = ()
    ) -> bool:
        """Run one batch; False if there was nothing to do. `history` reads history in the background; without it, the
        batch does. `until`: a monotonic time; a batch that takes longer has no effect."""
        with self._lock.for_batch(), gc_paused(len(self.programs)):
            self._interrupted = False
            if self._unsettled:
                self._log.settle()
                self._unsettled = False
            advanced = not self._closed
            while advanced:
                try:
                    advanced = self._run_batch(history, until, commands)
                    break
                except StepOverdueError as late:
                    self._give_up_step(late.number)
                except BatchInterruptedError:
                    self._start_over()
                    self._interrupted = True
                    self._lock.was_interrupted()
                    break
        if advanced:
            self._notify()
        return advanced

    def _run_batch(self, history: HistoryReader | None, until: float | None, commands: EventCommands) -> bool:
        # A separate function: the objects of a batch are freed before the garbage collector is enabled again.
        batch = self._plan(history, commands)
        if batch is None:
            return False
        started = time.perf_counter()
        runner, version = self._runner, f"{self._identity}/{self._changes}"
        run = partial(self._dispatcher.run, batch, runner, version)
        try:
            outcomes = self._step_thread.run(run, runner.deadline, until)
        except PresageError as failure:
            if failure.code == "ENGINE_CLOSED":
                raise BatchInterruptedError from failure
            self._start_over()  # the batch is retried
            raise
        self._publish(batch, outcomes)
        self._lock.was_published()
        if self._runner.one_by_one:
            self._runner = self._new_runner()
        self.planner.learn(outcomes)
        self.meters.batch(time.perf_counter() - started, outcomes)
        return True

    def _give_up_step(self, number: str) -> None:
        """Fail a statement that takes too long for one batch. After a shared step that took too long, the statements
        step one by one in the next batch."""
        self._start_over(one_by_one=not number)
        if number:
            self.fail({number: too_slow(self.statements[number].name, self._seconds).render()})

    def fail(self, fails: Mapping[str, str]) -> None:
        """Fail statements at their positions, each with its reason; the others continue."""
        with self._lock:
            at = {n: self.position_of(self.statements[n]) for n in fails}
            self.change({n: {"status": FAILED, "error": fails[n], "own_position": at[n]} for n in fails}, "refresh")

    def _new_runner(self, one_by_one: bool = False) -> Runner:
        limits = self._least_members, self._seconds, self._state_bytes
        return Runner(self._compile, self._store.of, self._store.together, *limits, one_by_one)

    def _start_over(self, one_by_one: bool = False) -> None:
        """Replace the objects that an abandoned step may still use."""
        self._runner = self._new_runner(one_by_one)
        self._compiled.clear()
        self._store.clear()

    # -- commits -------------------------------------------------------------------------------------

    def _publish(self, batch: Batch, outcomes: Outcomes) -> None:
        draft = self._drafts.draft(batch, outcomes)
        self._record("batch", draft.live, draft, tables=draft.tables, watermarks=draft.watermarks, states=draft.states)
        self._store.published(draft.done, outcomes.together)
        for number in draft.others:
            statement = self.statements[number]
            if statement.status != RUNNING or not (statement.states or statement.shared):
                self._forget(number)

    def _shared_states(self) -> dict[str, dict[str, Any]]:
        """The chains of shared states, by name and place."""
        published: dict[str, dict[str, Any]] = self._log.live.job.get(SHARED_KEY, {})
        return published

    def _has_shared_state(self, number: str) -> bool:
        return bool(self.statements[number].shared)

    def state_size(self, statement: Statement) -> int:
        return self._store.size(statement)

    def can_repeat(self, statement: Statement) -> bool:
        """Whether a replay gives the same rows: the log still holds its input, knowledge has not changed, and its rows
        do not depend on the time of reading."""
        archive, program = self._log.archive, self.programs[statement.number]
        streams = [archive.describe(stream) for stream in program.streams if archive.holds(stream)]
        unchanged = not program.uses_knowledge or self._refreshed() <= statement.started
        return unchanged and program.repeats and all(info.retained == info.rows for info in streams)

    def _compile(self, task: Task) -> CompiledStatement:
        if task.number not in self._compiled:
            program, tables = self.programs[task.number], self._relations()
            relations = {name: tables[name] for name in program.relations}
            evaluator = Evaluator(relations, self._fallback() if program.catalyst and self._fallback else None)
            entities = {watched.known: tables[watched.known] for watched in program.watched}
            compiled = CompiledStatement(program, evaluator, relations, entities, histories=self._histories)
            self._compiled[task.number] = compiled
        return self._compiled[task.number]

    def _record(self, kind: str, live: dict[str, Any], draft: CommitDraft | None = None, **more: Any) -> None:
        """Publish a change of statements, and apply it. `draft`: that of a batch."""
        before = {n: self.statements.get(n) for n in (live["statements"] if draft is None else draft.others)}
        try:
            with self.meters.committing():
                self._log.publish(kind, live, **more)
        except BaseException:
            # The record may be published although applying it failed: the journal decides.
            self._unsettled = True
            self._store.clear()
            self._apply(self._as_recorded(self._log.live.statements))
            raise
        after = self._as_recorded(live["statements"]) if draft is None else draft.after
        planned_like = all(old is not None and old.planned_like(after[n]) for n, old in before.items())
        self._apply(after, None if draft is None else draft.counts, planned_like)
        self.meters.changed(before, self.statements)

    def _as_recorded(self, numbers: Iterable[str]) -> Statements:
        recorded = self._log.live.statements
        return {number: Statement.from_json(recorded[number]) for number in numbers}

    def _apply(self, statements: Statements, counts: BatchCounts | None = None, planned_like: bool = False) -> None:
        """`planned_like`: the planner's cache is still valid."""
        self.statements.update(statements)
        if counts is not None:
            counts.apply(self.statements)
        if not planned_like:
            self._planned = None
            self._store.look_again()
        self._reached = self._log.live.job.get("arrivals", 0)

    def _forget(self, number: str) -> None:
        self._store.forget(number)
        if self.statements[number].status != RUNNING:
            self._compiled.pop(number, None)

    def _notify(self) -> None:
        with self.changed:
            self.changed.notify_all()
