"""The live job: the log grows, and every standing statement takes in what is new, batch by batch.

A batch reads a span of the log, steps the statements, writes their new states under names that were never used, and
publishes states, rows and position in one record of the journal. That record is the whole of exactly-once: before it
nothing has happened, after it all has. A statement that is not where the others are (it begins with history, or its
state was lost) catches up in slices beside them and joins them at a position.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, replace
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator, Foreign
from presage.columnar.holding import NOTHING_KNOWN
from presage.live import results
from presage.live.after_batch import NOTHING_KEPT, wall_clock
from presage.live.batch_lock import PATIENCE, BatchLock
from presage.live.collecting import collector_waits
from presage.live.counting import Counted
from presage.live.dealing import Dealer, Workers
from presage.live.derived import archived_schema, derived_table
from presage.live.drafting import Draft, Drafting
from presage.live.families import LEAST_MEMBERS
from presage.live.meters import Meters
from presage.live.planning import Batch, Planner
from presage.live.program import Program
from presage.live.reading import Reader
from presage.live.rooms import OpenRecall, Said, recalls_of
from presage.live.runner import STATE_BYTES, Kept, Runner
from presage.live.spans import Place
from presage.live.statement import FAILED, RUNNING, STOPPED, Statement
from presage.live.stepping import SECONDS_PER_BATCH, BatchInterruptedError, StepOverdueError, Stepper, too_slow
from presage.live.store import StateStore
from presage.live.tasks import Outcomes, Task
from presage.log import Log, crash
from presage.log.home import DERIVED, RESULTS
from presage.logging import WARNING, tell
from presage.model.catalog import EventType, Moment

# Events that one batch takes in at most, as far as the files' statistics tell: the first rows come early, and memory
# stays bounded, however long the job was away.
ROWS_PER_BATCH = 500_000
# A batch of more events is shared out to Spark's workers, if its statements or their keys can be dealt with apart.
ROWS_ON_DRIVER = 1_000_000
# A statement that is stopped takes in what has arrived, unless a batch takes longer than this.
FINISH_SECONDS = 3.0

Known = Mapping[str, Statement]  # by number


class Job:
    """All standing statements of a home. Thread-safe: changes happen between batches."""

    def __init__(
        self,
        log: Log,
        relations: Callable[[], Mapping[str, pa.Table]],
        event_type: Callable[[str], EventType],
        foreign: Callable[[], Foreign] | None = None,
        histories: Callable[[Any], Any] | None = None,
        workers: Workers | None = None,
        rows_per_batch: int = ROWS_PER_BATCH,
        rows_on_driver: int = ROWS_ON_DRIVER,
        parallelism: int = 1,
        least_members: int = LEAST_MEMBERS,
        refreshed: Callable[[], int] = lambda: 0,
        seconds_per_batch: float = SECONDS_PER_BATCH,
        state_bytes: int = STATE_BYTES,
    ) -> None:
        self._log = log
        self._relations, self._event_type = relations, event_type
        self._foreign, self._histories = foreign, histories
        self._refreshed = refreshed  # when knowledge was read again, by the wall clock
        self._stepper = Stepper()
        self._lock = BatchLock(self._stepper.interrupt, seconds_per_batch)
        self._closed = self._interrupted = False
        self._seconds, self._state_bytes, self._least_members = seconds_per_batch, state_bytes, least_members
        self.changed = threading.Condition()
        self.meters = Meters()
        self.reader: Reader | None = None  # where statements go on by themselves
        self._unsettled = False  # the last record may not be carried out
        self._identity, self._changes = uuid.uuid4().hex, 0  # of what is known
        self.programs: dict[str, Program] = {}
        self._enrolled: list[Statement] | None = None  # those that stand; None: to be looked at again
        self._kept: dict[str, Kept] = {}
        self.statements = {n: Statement.from_json(c) for n, c in log.live.statements.items()}
        self._reached = log.live.job.get("arrivals", 0)  # the record whose arrivals the statements have taken in
        self.planner = Planner(log, self.programs, rows_per_batch, least_members)
        self._store = StateStore(log.home, self.statements, self._families)
        self._store.sweep()
        self._drafting = Drafting(
            self.statements, self.programs, self.planner, self._store, event_type, self.can_repeat
        )  # fmt: skip
        self._dealer = Dealer(
            log.home, workers, rows_on_driver, parallelism, relations, self._store.chains,
            lambda number: bool(self.statements[number].shared),
        )  # fmt: skip
        self._runner = self._new_runner()

    # -- statements ----------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        """Now, in the log."""
        point = self._log.point
        return Moment(point.position, {n: w for n, w in point.watermarks.items() if not n.startswith("#")})

    def between_batches(self) -> AbstractContextManager[None]:
        """No batch runs while this is held: what is looked at and what is changed belong together. A batch that takes
        long is interrupted: nothing of it has happened, and it begins again afterwards."""
        return self._lock.between_batches()

    def leave(self) -> None:
        """No batch follows; the one that runs has a moment to end, then nothing of it has happened."""
        self._closed = True
        with self.between_batches():
            pass

    @property
    def slow_step(self) -> tuple[str, float] | None:
        """The statement whose step takes more than a moment (empty: several together), and for how long."""
        watch = self._stepper.watch
        seconds = 0.0 if watch is None else time.monotonic() - watch.since
        return None if watch is None or seconds < PATIENCE else (watch.number, seconds)

    def reached(self, statement: Statement) -> Moment:
        """Up to where a statement has made its rows, as a moment of its streams."""
        position, clock = astuple(self.place(statement))
        if self.programs[statement.number].lags:
            # It may have taken in events whose rows still wait for answers.
            clock, reopened = self.planner.made_to(statement), statement.recalls_reopened
            position = position if reopened is None else min(position, reopened - 1)
        return Moment(position, known=None if clock == NOTHING_KNOWN else clock)

    @property
    def next_number(self) -> str:
        """The number that the next statement will have."""
        return str(self._log.live.job.get("next", 1))

    def find(self, name: str) -> Statement | None:
        """The latest statement of that name."""
        found = [s for s in self.statements.values() if s.name == name]
        return max(found, key=lambda s: int(s.number), default=None)

    def restore(self, number: str, program: Program) -> None:
        """Give a statement that the journal knows its program again."""
        with self._lock:
            self.programs[number] = program
            self._enrolled = None

    def deploy(
        self,
        draft: Statement,
        now: Moment,
        program: Program,
        catalog: dict[str, Any],
        replaces: Statement | None = None,
    ) -> Statement:
        """Let a statement stand from now on; the draft says what it is."""
        with self._lock:
            number = self.next_number
            together = any(s.place is None for s in self.statements.values() if s.status == RUNNING)
            # Not past what it begins with: a batch may have run since `now` was looked at.
            reached = self._log.live.job.get("position", 0) if together else now.position
            begins = max(now.position, reached)
            in_step = all(scan.after is not None and scan.after >= begins for scan in program.scans)
            statement = replace(
                draft, number=number, place=None if in_step else Place(), fingerprint=program.fingerprint,
                shards=program.shards, started=wall_clock(), streams=sorted(program.streams),
            )  # fmt: skip
            job: dict[str, Any] = {"next": int(number) + 1}
            if not together:  # nobody waits for what lies between: the job begins here
                job |= {"position": now.position, "marks": _known(now.watermarks), "arrivals": -1}
            changes = {number: statement.to_json()}
            if replaces is not None:
                changes |= self._stopping(replaces)
            creates = {RESULTS: results.SCHEMA}
            if program.insert_into is not None:
                creates[DERIVED + program.insert_into] = archived_schema(self._event_type(program.insert_into))
            self.programs[number] = program
            self._record(
                "deploy", {"job": job, "statements": changes},
                creates=creates, catalog={**catalog, "extra": {**catalog["extra"], "number": number}},
            )  # fmt: skip
            if replaces is not None:
                self._forget(replaces.number)
            self._tell()
            return self.statements[number]

    def stop(self, number: str, catalog: dict[str, Any]) -> None:
        """End a statement; the rows that it made stay."""
        with self._lock:
            statement = self.statements[number]
            if not statement.stands:
                return
            changes = self._stopping(statement)
            # A batch must follow: who reads its rows need not wait for it any more.
            self._record("stop", {"job": {"arrivals": -1}, "statements": changes}, catalog=catalog)
            self._forget(number)
            self._tell()

    def finish(self, number: str) -> None:
        """Let a statement that is about to end take in what had arrived by now, as far as time is known."""
        with self._lock:
            arrivals = self._log.point.arrivals
            while self.statements[number].place is None and not self.caught_up(number, arrivals):
                if not self.advance(until=time.monotonic() + FINISH_SECONDS):
                    break
                if self._interrupted:
                    told = "statement '{statement}' ends before all that has arrived: a step takes too long"
                    tell(WARNING, "STOPPED_EARLY", told, statement=self.statements[number].name)
                    return
            if self.programs[number].lags and self.statements[number].recalls_suspended:
                # Nobody will ask for more, and rows after these events wait for them.
                said = [(self.statements[number].name, said) for said in self._cancelling(number)]
                self.tell_recalls(said, time.monotonic() + FINISH_SECONDS)
            if self.programs[number].lags:
                self.advance(until=time.monotonic() + FINISH_SECONDS)  # those who read its rows have them

    def tell_recalls(self, said: Sequence[tuple[str | None, Said]], until: float | None = None) -> None:
        """Let statements, each by its name or all of them, hear what is said of their events."""
        with self._lock:
            self.planner.said = tuple(said)
            try:
                self.advance(until=until)
            finally:
                self.planner.said = ()

    def open_recalls(self, number: str) -> list[OpenRecall]:
        """The events of a statement that wait for more of history."""
        with self._lock:
            program, statement = self.programs.get(number), self.statements[number]
            if program is None or not (program.recalls and statement.stands and statement.states):
                return []
            states = self._store.of(Task(number, program, 0, (), 0, 0, 0, False, False))
            return [found for state in states.values() for found in recalls_of(state)]

    def _cancelling(self, number: str) -> list[Said]:
        return [Said("cancel", found.task.event) for found in self.open_recalls(number)]

    def catch_up(self, number: str) -> None:
        """Let a statement take in all that had arrived by now."""
        with self._lock:
            arrivals = self._log.point.arrivals
            while not self.caught_up(number, arrivals) and self.advance():
                pass

    def know_anew(self, programs: Mapping[str, Program], fails: Mapping[str, str]) -> None:
        """What is known has changed: statements go on with it, or fail, with the reason, where they cannot."""
        with self._lock:
            for number, program in programs.items():
                self.programs[number] = program
                self._kept.pop(number, None)
            self._runner.forget()
            self._store.check_again()
            self._changes += 1
            self._enrolled = None
            if fails:
                self.set_aside(fails)

    def resume(self, number: str) -> None:
        """Let a statement that failed try again from where it stopped."""
        with self.between_batches():
            statement = self.statements[number]
            if statement.status == FAILED:
                changes = {number: statement.change(status=RUNNING, error="")[1]}
                self._record("resume", {"statements": changes})

    def retain(self, number: str, retention: int) -> None:
        """Keep the rows of a statement for so long, from now on."""
        self._change({number: {"retention": retention}})

    def let_go(self, removed: Mapping[str, int]) -> None:
        """Readers see no more of these statements' first rows, so many of each."""
        with self._lock:
            # Never fewer than before: who asks may have looked before another let more of them go.
            known = {number: max(count, self.statements[number].removed) for number, count in removed.items()}
            self._change({number: {"removed": count} for number, count in known.items()})

    def _change(self, values: Mapping[str, dict[str, Any]]) -> None:
        with self._lock:
            changes = {number: self.statements[number].change(**several)[1] for number, several in values.items()}
            self._record("retention", {"statements": changes})
            self._enrolled = None

    def _stopping(self, statement: Statement) -> dict[str, dict[str, Any]]:
        values = {"status": STOPPED, "place": self.place(statement), **NOTHING_KEPT, "changed": wall_clock()}
        return {statement.number: statement.change(**values)[1]}

    # -- where things are ----------------------------------------------------------------------------

    def place(self, statement: Statement) -> Place:
        """How far a statement is."""
        return self.planner.place(statement)

    def lag(self, statement: Statement) -> int:
        """How many events have arrived that a running statement has not looked at yet."""
        return self.planner.lag(statement) if statement.stands else 0

    def waits(self, statement: Statement) -> bool:
        """Whether a statement whose rows it reads, or would, has failed."""
        streams = self.programs[statement.number].streams
        failed = [s for s in self.statements.values() if s.status == FAILED]
        makers = {derived_table(self.programs[s.number].insert_into or ""): s for s in failed}
        return any(stream in makers for stream in streams)

    def caught_up(self, number: str, arrivals: int) -> bool:
        """Whether a statement has taken in all that had arrived by a record, or never will."""
        # In this order: who sees how far the job is must see the statements of that moment, too.
        reached, statement = self._reached, self.statements[number]
        there = statement.place is None and reached >= arrivals
        return statement.status != RUNNING or (there and not self.planner.awaits_recalls(statement, self._standing()))

    @property
    def overdue(self) -> bool:
        """Whether a recall that somebody should have asked for has to be given up."""
        return any(self.planner.overdue(s) for s in self.statements.values() if s.status == RUNNING)

    def in_use(self) -> dict[str, Sequence[tuple[int, int | None]]]:
        """By stream: (position, clock) of each statement that has still to read it, or will once it is resumed."""
        found: dict[str, list[tuple[int, int | None]]] = {}
        for statement in self._standing():
            place, program = self.place(statement), self.programs[statement.number]
            for stream in program.streams:
                found.setdefault(stream, []).append((place.position, place.clock))
        return dict(found)

    @property
    def idle(self) -> bool:
        """Whether there is nothing that a batch could do now."""
        with self._lock:
            return self._plan() is None

    def _standing(self) -> list[Statement]:
        return [s for s in self.statements.values() if s.stands]

    def _plan(self) -> Batch | None:
        if self._enrolled is None:
            self._enrolled = self._standing()
        return self.planner.plan(self._enrolled)

    # -- batches -------------------------------------------------------------------------------------

    def advance(self, wait: bool = True, until: float | None = None) -> bool:
        """Run one batch; False if nothing was left to do. Without `wait`, history is left to the reader. `until`: by
        the monotonic clock; nothing has happened of a batch that takes longer."""
        with self._lock.for_batch(), collector_waits(len(self.programs)):
            self._interrupted = False
            if self._unsettled:
                self._log.settle()
                self._unsettled = False
            advanced = not self._closed
            while advanced:
                self._runner.reader = self.planner.reader = None if wait else self.reader
                try:
                    advanced = self._do_batch(until)
                    break
                except StepOverdueError as late:
                    self._give_up_step(late.number)
                except BatchInterruptedError:
                    self._start_over()
                    self._interrupted = True
                    self._lock.was_interrupted()
                    break
        if advanced:
            self._tell()
        return advanced

    def _do_batch(self, until: float | None) -> bool:
        # By itself: what a batch is made of is gone before the collector looks again.
        batch = self._plan()
        if batch is None:
            return False
        started = time.perf_counter()
        runner, known = self._runner, f"{self._identity}/{self._changes}"
        outcomes = self._stepper.run(lambda: self._dealer.run(batch, runner, known), runner.watch, until)
        self._publish(batch, outcomes)
        self._lock.was_published()
        self._runner.apart = False
        self.planner.learn(outcomes)
        self.meters.batch(time.perf_counter() - started, outcomes)
        return True

    def _give_up_step(self, number: str) -> None:
        """A statement that takes too long for one batch is set aside. Where several took too long together, each steps
        by itself next."""
        self._start_over()
        if not number:
            self._runner.apart = True
            return
        failure = too_slow(self.statements[number].name, self._seconds)
        self.set_aside({number: failure.render()})

    def set_aside(self, fails: Mapping[str, str]) -> None:
        """Statements fail where they are, each with its reason; the others go on."""
        with self._lock:
            failing = [(self.statements[n], {"status": FAILED, "error": why}) for n, why in fails.items()]
            changes = {st.number: st.change(place=self.place(st), **values)[1] for st, values in failing}
            self._record("refresh", {"statements": changes})

    def _new_runner(self) -> Runner:
        least, seconds, size = self._least_members, self._seconds, self._state_bytes
        return Runner(self._keep, self._store.of, self._store.together, least, seconds, size)

    def _start_over(self) -> None:
        """A step was left behind, and may still use what was its own: nothing of that is used again."""
        self._runner = self._new_runner()
        self._kept.clear()
        self._store.clear()

    # -- what a batch made ---------------------------------------------------------------------------

    def _publish(self, batch: Batch, outcomes: Outcomes) -> None:
        draft = self._drafting.draft(batch, outcomes)
        self._log.reach(crash.STATES_WRITTEN)
        self._record("batch", draft.live, draft, tables=draft.tables, watermarks=draft.watermarks)
        self._store.published(draft.done, outcomes.together)
        for number in draft.others:
            statement = self.statements[number]
            if statement.status != RUNNING or not (statement.states or statement.shared):
                self._forget(number)

    def _families(self) -> dict[str, dict[str, Any]]:
        """Where the states lie that several statements have in common: by family and place."""
        known: dict[str, dict[str, Any]] = self._log.live.job.get("families", {})
        return known

    def state_size(self, statement: Statement) -> int:
        """Bytes of its own, and its share of those that it has in common with others."""
        return self._store.size(statement)

    def can_repeat(self, statement: Statement) -> bool:
        """Whether it can make its rows again: the log holds all that it read, what it knew is what is known, and they
        do not depend on when it looked."""
        archive, program = self._log.archive, self.programs[statement.number]
        figures = [archive.describe(stream) for stream in program.streams if archive.holds(stream)]
        known = not program.knows or self._refreshed() <= statement.started
        return known and program.repeats and all(info.retained == info.rows for info in figures)

    def _keep(self, task: Task) -> Kept:
        if task.number not in self._kept:
            program, tables = self.programs[task.number], self._relations()
            relations = {name: tables[name] for name in program.relations}
            foreign = self._foreign() if program.native and self._foreign else None
            entities = {watched.known: tables[watched.known] for watched in program.watched}
            evaluator = Evaluator(relations, foreign)
            self._kept[task.number] = Kept(program, evaluator, relations, entities, histories=self._histories)
        return self._kept[task.number]

    def _record(self, kind: str, live: dict[str, Any], draft: Draft | None = None, **more: Any) -> None:
        """Publish a change of statements, and know them as the journal does from then on. `draft`: that of a batch."""
        before = {n: self.statements.get(n) for n in (live["statements"] if draft is None else draft.others)}
        try:
            with self.meters.committing():
                self._log.publish(kind, live, **more)
        except BaseException:
            # It may have happened although carrying it out failed: the journal knows.
            self._unsettled = True
            self._store.clear()
            self._take_in(self._as_recorded(self._log.live.statements))
            raise
        known = self._as_recorded(live["statements"]) if draft is None else draft.after
        alike = all(old is not None and old.stands_like(known[n]) for n, old in before.items())
        self._take_in(known, None if draft is None else draft.counted, alike)
        self.meters.changed(before, self.statements)

    def _as_recorded(self, numbers: Iterable[str]) -> Known:
        known = self._log.live.statements
        return {number: Statement.from_json(known[number]) for number in numbers}

    def _take_in(self, statements: Known, counted: Counted | None = None, alike: bool = False) -> None:
        """`alike`: what planning knows of them still holds."""
        self.statements.update(statements)
        if counted is not None:
            counted.take_in(self.statements)
        if not alike:
            self._enrolled = None
            self._store.look_again()
        self._reached = self._log.live.job.get("arrivals", 0)

    def _forget(self, number: str) -> None:
        self._store.forget(number)
        if self.statements[number].status != RUNNING:
            self._kept.pop(number, None)

    def _tell(self) -> None:
        with self.changed:
            self.changed.notify_all()


def _known(watermarks: Mapping[str, int | None]) -> dict[str, int]:
    return {name: time for name, time in watermarks.items() if time is not None}
