"""The batch planner: which statement reads which range of the log in the next batch.

Statements in step share one offset, and one watermark per stream; the others have a position of their own and read
slices until they have caught up. A batch holds a bounded number of events: a large backlog is cut by event time, at a
time that all streams have reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from presage.execution.stage import EventCommand
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.batch import Batch, EventCommands, StatementInput
from presage.live.derived import is_derived_table
from presage.live.history_reader import HistoryReader
from presage.live.input_range import END_OF_TIME, InputPosition, InputRange, Snapshots, cut_within
from presage.live.planner_cache import PlannerCache, StartOffsets, find_shared_groups
from presage.live.producers import Producers
from presage.live.program import InputSignature, Program
from presage.live.shared_execution import LEAST_MEMBERS
from presage.live.statement import RUNNING, Statement
from presage.live.tasks import Files, Outcomes, Part, SharedTask
from presage.model.time import wall_clock
from presage.plan.nodes import Scan
from presage.storage import FileSet, Log

# The first batch of a backlog is small, so that its rows come early; each batch after it is twice as large.
FIRST_ROWS = 65_536
# About how many rows pass the filters of all statements in one batch: a shared step holds them at once.
MOST_TAKEN = 8_000_000


class BatchPlanner:
    def __init__(
        self, log: Log, programs: Mapping[str, Program], rows_per_batch: int, least_members: int = LEAST_MEMBERS
    ) -> None:
        self._log = log
        self._least_members = least_members
        self._programs = programs
        self._producers = Producers(programs, self.output_watermark)
        self.rows_per_batch = rows_per_batch
        self._pace = FIRST_ROWS
        self._pass_rate = 1.0  # an upper estimate of the selectivity of a filter, from the last batch
        self._cache: PlannerCache | None = None
        self._start_offsets = StartOffsets(log)
        self._equal: dict[InputSignature, InputSignature] = {}  # one object for all statements of a signature

    # -- positions -------------------------------------------------------------------------------------

    def position_of(self, statement: Statement) -> InputPosition:
        """How far a statement has read."""
        if statement.own_position is not None:
            return statement.own_position
        program = self._programs.get(statement.number)
        return self._in_step(program.streams if program is not None else frozenset())

    def output_watermark(self, statement: Statement) -> int:
        """The watermark of the rows of a statement: it has emitted all rows up to this time."""
        own = statement.output_watermark
        return self.position_of(statement).watermark if own is None else own

    def lag(self, statement: Statement) -> int:
        """How many events have arrived that a running statement has not read yet."""
        point, position = self._log.point, self.position_of(statement)
        if statement.own_position is None and self._log.live.job.get("arrivals") == point.arrivals:
            return 0
        if point.position > position.offset:
            return point.position - position.offset
        # It has read up to the last offset, but not up to the watermark: events ahead of its own are left.
        program = self._programs[statement.number]
        watermarks = [point.watermarks.get(s) for s in program.streams]
        watermark = min((NOTHING_KNOWN if w is None else w for w in watermarks), default=NOTHING_KNOWN)
        left = InputRange(position, InputPosition(point.position, max(watermark, position.watermark)))
        return sum(files.rows for scan in program.scans for files in left.files(scan, self._log.archive))

    def _in_step(self, streams: frozenset[str]) -> InputPosition:
        """The position of statements in step that read these streams."""
        watermarks = self._job_watermarks
        least = min((watermarks.get(s, NOTHING_KNOWN) for s in streams), default=NOTHING_KNOWN)
        return InputPosition(self._log.live.job.get("position", 0), least)

    @property
    def _job_watermarks(self) -> Mapping[str, int]:
        """By stream: the watermark that the job has reached."""
        watermarks: Mapping[str, int] = self._log.live.job.get("marks", {})
        return watermarks

    # -- the next batch --------------------------------------------------------------------------------

    def plan(
        self, deployed: Sequence[Statement], history: HistoryReader | None = None, commands: EventCommands = ()
    ) -> Batch | None:
        """The next batch for the deployed statements; None if there is nothing to do. The same list object means that
        only counters of them have changed."""
        cache = self._cached(deployed)
        if not cache.running:
            return None
        batch = self._new_batch(cache, history, commands)
        news = self._has_news(batch)
        limit = self._next_limit(len(cache.running))
        if news:
            self._cut(batch, cache, limit)
            self._plan_shared(batch, cache)
        turns = False
        for statement in cache.others:
            if statement.own_position is not None:
                self._plan_catch_up(batch, cache, statement, limit)
            else:
                self._plan_in_step(batch, cache, statement, news)
            turns |= self._plan_history_turn(batch, statement)
        return batch if news or cache.behind or turns else None

    def _cached(self, deployed: Sequence[Statement]) -> PlannerCache:
        cache = self._cache
        if cache is None or cache.given is not deployed or self._start_offsets.are_passed(self._in_step):
            cache = self._cache = self._new_cache(deployed)
        return cache

    def _new_cache(self, given: Sequence[Statement]) -> PlannerCache:
        deployed = [s for s in given if s.number in self._programs]
        running = self._producers.before_readers([s for s in deployed if s.status == RUNNING])
        self._equal = {}
        self._start_offsets.forget()
        signatures = {s.number: self._signature_of(s) for s in deployed}
        # Many statements have one signature.
        streams = frozenset[str]().union(*(signature.streams for signature in self._equal))
        alike = {id(signatures[s.number]): s for s in running if s.own_position is None}
        if self._cache is None or len(running) > len(self._cache.running):
            self._pass_rate = 1.0  # unknown for the new statements
        shared = find_shared_groups(given, running, signatures, self._programs, self._least_members)
        together = {number for members, _ in shared for number in members.numbers}
        return PlannerCache(
            given=given,
            deployed=deployed,
            running=running,
            signatures=signatures,
            streams=sorted(streams),
            alike=list(alike.values()),
            behind=sum(s.own_position is not None for s in running),
            reads_derived=any(map(is_derived_table, streams)),
            shared=shared,
            others=[s for s in running if s.number not in together] if together else running,
        )

    def _new_batch(self, cache: PlannerCache, history: HistoryReader | None, commands: EventCommands) -> Batch:
        """An empty batch up to the end of the log."""
        point, before = self._log.point, self._job_watermarks
        watermarks = {}
        for stream in cache.streams:
            if not is_derived_table(stream):
                latest = point.watermarks.get(stream)
                watermarks[stream] = max(NOTHING_KNOWN if latest is None else latest, before.get(stream, NOTHING_KNOWN))
        archive = Snapshots(self._log.archive)
        batch = Batch(archive, point.position, watermarks, dict(watermarks), point.arrivals, history, commands)
        if cache.reads_derived:
            self._producers.set_watermarks(batch, cache.deployed, before)
        return batch

    def _has_news(self, batch: Batch) -> bool:
        """Whether events have arrived, or a watermark has advanced."""
        before = self._job_watermarks
        return self._log.live.job.get("arrivals") != batch.arrivals or any(
            before.get(stream) != watermark for stream, watermark in batch.watermarks.items()
        )

    def _next_limit(self, statements: int) -> int:
        """How many events the batch may hold. Resets the pace, which `_cut` raises if a backlog is left."""
        fitting = max(1, int(MOST_TAKEN / (statements * self._pass_rate)))
        limit = min(self.rows_per_batch, self._pace, fitting)
        self._pace = FIRST_ROWS
        return limit

    def learn(self, outcomes: Outcomes) -> None:
        """Estimate the selectivity of filters from a published batch; it bounds the size of the next."""
        alone, together = outcomes
        statements = len(alone) + sum(len(shared.task.members.numbers) for shared in together)
        read = [*(outcome.rows_in for outcome in alone), *(rows for shared in together for rows in shared.rows_in)]
        events = max(read, default=0)
        if events:
            taken = sum(shared.taken for shared in together) + sum(outcome.rows_in for outcome in alone)
            self._pass_rate = min(1.0, 2 * (taken + 1) / (events * statements))

    def _cut(self, batch: Batch, cache: PlannerCache, limit: int) -> None:
        """Limit the statements in step to the first part of a large backlog."""
        ranges = {s.number: self._range(s, batch) for s in cache.alike}
        cut = cut_within(self._file_sets(ranges, batch), limit)
        if cut is not None and any(input_range.end.watermark > cut for input_range in ranges.values()):
            batch.arrivals = None
            self._pace = 2 * limit
            before = self._job_watermarks
            batch.watermarks = {
                stream: max(min(watermark, cut), before.get(stream, NOTHING_KNOWN))
                for stream, watermark in batch.watermarks.items()
                if not is_derived_table(stream)
            }
            batch.in_step.clear()
            self._producers.set_watermarks(batch, cache.deployed, before)

    def _plan_shared(self, batch: Batch, cache: PlannerCache) -> None:
        """Plan shared execution: one part for all statements that read the same."""
        for members, groups in cache.shared:
            parts = []
            for start, stop, statement in groups:
                read = self._input_in_step(batch, statement, cache.signatures[statement.number])
                if read.files is not None and read.advances:
                    parts.append(Part(start, stop, read.task(members.numbers[start], members.programs[start])))
            if parts:
                # All parts read the same stream up to the same position.
                batch.shared[SharedTask(members, tuple(parts))] = read.input_range

    def _plan_catch_up(self, batch: Batch, cache: PlannerCache, statement: Statement, limit: int) -> None:
        """Plan the next slice of a statement that is behind."""
        input_range = self._range(statement, batch)
        sets = self._file_sets({statement.number: input_range}, batch)
        cut = cut_within(sets, max(1, limit // cache.behind))
        if cut is not None:
            input_range = InputRange(input_range.start, InputPosition(input_range.end.offset, cut))
            self._pace = 2 * limit
        self._add(batch, statement, self._input(batch, self._programs[statement.number], input_range))
        # Readers of its rows come later in the batch, and may advance as far.
        if cache.reads_derived:
            self._producers.set_watermarks(batch, cache.deployed, self._job_watermarks)

    def _plan_in_step(self, batch: Batch, cache: PlannerCache, statement: Statement, news: bool) -> None:
        program, before = self._programs[statement.number], self._job_watermarks
        fed = program.reads_others and self._producers.feed(batch, statement)
        # The last condition: a producer that was behind may have advanced the stream earlier in this loop.
        if news or fed or any(before.get(s) != batch.watermarks[s] for s in program.streams):
            read = self._input_in_step(batch, statement, cache.signatures[statement.number])
            if fed or read.end or read.advances:
                self._add(batch, statement, read)

    def _plan_history_turn(self, batch: Batch, statement: Statement) -> bool:
        """Plan a statement without new input whose open events have history left to search; whether it was planned."""
        program = self._programs[statement.number]
        if not program.reads_history or statement.number in batch.ranges:
            return False
        if not self._has_history_turn(statement, batch):
            return False
        position = self.position_of(statement)
        nothing_new = InputRange(position, position)
        files = tuple(batch.files_of(scan, nothing_new) for scan in program.scans)
        self._add(batch, statement, StatementInput(nothing_new, files, position.watermark, False, must_run=True))
        return True

    # -- open events -----------------------------------------------------------------------------------

    def _has_history_turn(self, statement: Statement, batch: Batch) -> bool:
        """Whether a step could advance its open events now."""
        reading = batch.history is not None and batch.history.is_busy(statement.number)
        return (statement.recalls_ready > 0 and not reading) or self._must_read(statement, batch.commands)

    def _reads_on(self, statement: Statement, commands: EventCommands = ()) -> bool:
        """Whether it has events that are ready, commanded or overdue, or has not searched the past events yet."""
        ready = statement.recalls_ready > 0 and self._programs[statement.number].reads_history
        return ready or self._must_read(statement, commands)

    def _must_read(self, statement: Statement, commands: EventCommands) -> bool:
        program = self._programs[statement.number]
        if not program.reads_history:
            return False
        begun = self.position_of(statement).watermark != NOTHING_KNOWN
        return bool(commands) or self.overdue(statement) or (program.looks_back and not statement.states and begun)

    def overdue(self, statement: Statement) -> bool:
        """Whether one of its open events has been suspended for too long."""
        due = statement.events_due
        return due is not None and wall_clock() > due

    def awaits_history(self, statement: Statement, deployed: list[Statement]) -> bool:
        """Whether rows follow without new events: from its own open events, or from those of its producers."""
        if self._reads_on(statement):
            return True
        read = sorted(filter(is_derived_table, self._programs[statement.number].streams))
        if not read:
            return False
        producers = self._producers.by_table(deployed)
        running = [producer for table in read for producer in producers.get(table, ()) if producer.status == RUNNING]
        if any(self.awaits_history(producer, deployed) for producer in running):
            return True
        streams = {name for s in deployed for name in self._programs[s.number].streams if not is_derived_table(name)}
        before = self._job_watermarks
        reached = {name: before.get(name, NOTHING_KNOWN) for name in streams}
        batch = Batch(Snapshots(self._log.archive), 0, dict(reached), reached, None)
        self._producers.set_watermarks(batch, deployed, before)
        return any(batch.watermarks[s] != before.get(s, NOTHING_KNOWN) for s in read)

    # -- the input of a statement ----------------------------------------------------------------------

    def _signature_of(self, statement: Statement) -> InputSignature:
        signature = self._programs[statement.number].signature
        if statement.own_position is None:
            signature = self._start_offsets.settled(signature, self._in_step(signature.streams))
        return self._equal.setdefault(signature, signature)

    def _range(self, statement: Statement, batch: Batch) -> InputRange:
        signature = id(self._signature_of(statement))
        input_range = batch.in_step.get(signature) if statement.own_position is None else None
        if input_range is None:
            streams = self._programs[statement.number].streams
            watermark = min((batch.watermarks[s] for s in streams), default=NOTHING_KNOWN)
            start = self.position_of(statement)
            input_range = InputRange(start, InputPosition(batch.position, max(watermark, start.watermark)))
            if statement.own_position is None:
                batch.in_step[signature] = input_range
        return input_range

    def _file_sets(self, ranges: Mapping[str, InputRange], batch: Batch) -> list[tuple[FileSet, InputRange]]:
        """The distinct file sets of several ranges, each with its range."""
        scans: dict[tuple[object, ...], tuple[Scan, InputRange]] = {}
        for number, input_range in ranges.items():
            for scan in self._programs[number].scans:
                # Only the lowest of several start offsets counts: its scan covers the others.
                key = scan.stream, scan.time, scan.until, scan.made, input_range
                lowest = scans.get(key)
                if lowest is None or (scan.after or 0) < (lowest[0].after or 0):
                    scans[key] = scan, input_range
        sets = {(id(files), read): files for scan, read in scans.values() for files in batch.files_of(scan, read)}
        return [(files, input_range) for (_, input_range), files in sets.items()]

    def _input_in_step(self, batch: Batch, statement: Statement, signature: InputSignature) -> StatementInput:
        input_range = batch.in_step.get(id(signature)) or self._range(statement, batch)
        read = batch.inputs.get(id(signature))
        if read is None or read.input_range is not input_range:
            read = batch.inputs[id(signature)] = self._input(batch, self._programs[statement.number], input_range)
        return read

    def _input(self, batch: Batch, program: Program, input_range: InputRange) -> StatementInput:
        watermark, end = input_range.end.watermark, False
        if program.upper is not None and program.ends is not None:
            # Where the bound is included, events of exactly that time may still arrive at this watermark.
            watermark, end = min(watermark, program.upper), watermark >= program.ends
        if watermark == NOTHING_KNOWN:
            return StatementInput(input_range, None, watermark, end, False)
        files = tuple(batch.files_of(scan, input_range) for scan in program.scans)
        must_run = end or (watermark > input_range.start.watermark and (program.timers or program.lags))
        ahead = self._ahead(batch, program, input_range) if program.foresees and not end else None
        if ahead is not None and not must_run:
            since = input_range.start.offset
            must_run = any(input_range.ahead(scan, batch.archive, since) for scan in program.scans)
        return StatementInput(input_range, files, watermark, end, must_run, ahead)

    def _ahead(self, batch: Batch, program: Program, input_range: InputRange) -> Files | None:
        """The files ahead of the watermark, for a statement that predicts; None while it reads a backlog, or if they
        hold more than a batch may: then it emits no predictions."""
        if input_range.end.watermark < min(batch.known_watermarks[s] for s in program.streams):
            return None
        ahead = tuple(tuple(input_range.ahead(scan, batch.archive)) for scan in program.scans)
        beyond = InputRange(input_range.end, InputPosition(input_range.end.offset, END_OF_TIME))
        several = {id(files): files for of_scan in ahead for files in of_scan}
        too_many = cut_within([(files, beyond) for files in several.values()], self.rows_per_batch) is not None
        return None if too_many else ahead

    def _add(self, batch: Batch, statement: Statement, read: StatementInput) -> None:
        program = self._programs[statement.number]
        batch.ranges[statement.number] = read.input_range
        if read.files is None:
            return
        commands: tuple[EventCommand, ...] = ()
        if program.reads_history:
            commands = tuple(command for name, command in batch.commands if name in (None, statement.name))
            read = read._replace(must_run=read.must_run or self._reads_on(statement, batch.commands))
        batch.tasks += [read.task(statement.number, program, shard, commands) for shard in range(program.shards)]
