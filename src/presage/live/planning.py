"""Where the log and the statements are in, the next batch out: which statement takes in which span.

Statements that are in step share one position, and one clock per stream; the others have a place of their own and get
slices until they have caught up. However much has piled up, a batch holds a bounded number of events: time is cut, at
any moment that all streams have reached, and positions need not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from presage.columnar.holding import NOTHING_KNOWN
from presage.live.derived import derived_table, is_made
from presage.live.families import LEAST_MEMBERS
from presage.live.program import Asks, Program
from presage.live.reading import Reader
from presage.live.rooms import Said, wall_clock
from presage.live.roster import Beginnings, Roster, families_of
from presage.live.spans import END_OF_TIME, Place, Snapshots, Span, cut_within
from presage.live.statement import RUNNING, Statement
from presage.live.tasks import FamilyTask, Files, Outcomes, Part, Task
from presage.log import FileSet, Log
from presage.plan.nodes import Extent, Scan


class Intake(NamedTuple):
    """What a statement takes in. `files` are those of its scans; without any, the batch has no work for it. `ahead`:
    those beyond its clock, if it looks there."""

    span: Span
    files: Files | None
    clock: int
    end: bool
    must_run: bool
    ahead: Files | None = None


@dataclass
class Batch:
    """Work of one batch: spans by statement, tasks, and where the job will be."""

    archive: Snapshots
    position: int
    marks: dict[str, int]  # of each stream: how far its time is known, or as much of that as the batch takes in
    known: dict[str, int]  # of each stream of the log: all of it
    arrivals: int | None  # the record whose arrivals it takes in; None where it stops short of that
    spans: dict[str, Span] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    families: dict[FamilyTask, Span] = field(default_factory=dict)  # work of many statements as one, and their span
    files: dict[tuple[Extent, Span], tuple[FileSet, ...]] = field(default_factory=dict)  # what scans take in
    # Of statements that are in step, by the identity of what they ask.
    in_step: dict[int, Span] = field(default_factory=dict)
    intakes: dict[int, Intake] = field(default_factory=dict)

    @property
    def statements(self) -> int:
        return len(self.tasks) + sum(len(family.members.numbers) for family in self.families)

    @cached_property
    def events(self) -> int:
        """How many events the statement that takes in the most does, at most."""
        tasks = [*self.tasks, *(part.task for family in self.families for part in family.parts)]
        alike = {(id(task.files), id(task.ahead)): task for task in tasks}
        return max((task.events for task in alike.values()), default=0)

    def part(self, family: FamilyTask) -> None:
        """The statements of a family go on each for itself."""
        self.spans |= dict.fromkeys(family.members.numbers, self.families.pop(family))

    def files_of(self, scan: Scan, span: Span) -> tuple[FileSet, ...]:
        """Looked up once for all statements that ask the same."""
        key = scan.extent, span
        found = self.files.get(key)
        if found is None:
            found = self.files[key] = tuple(span.files(scan, self.archive))
        return found


# The first batch of a backlog is small, so that its first rows come early; each that follows is twice as large.
FIRST_ROWS = 65_536
# Rows that the filters of all statements let pass in one batch, about: those of a family are held at once.
MOST_TAKEN = 8_000_000


class Planner:
    def __init__(
        self, log: Log, programs: Mapping[str, Program], rows_per_batch: int, least_members: int = LEAST_MEMBERS
    ) -> None:
        self._log = log
        self._least_members = least_members
        self._programs = programs
        self.rows_per_batch = rows_per_batch
        self._pace = FIRST_ROWS
        self._passing = 1.0  # the share of events that a statement takes, as far as the last batch tells, and some more
        self.reader: Reader | None = None  # where history is read beside the batches
        self.said: tuple[tuple[str | None, Said], ...] = ()  # of recalls, each with the name of a statement or for all
        self._roster: Roster | None = None
        self._beginnings = Beginnings(log)
        self._equal: dict[Asks, Asks] = {}  # what statements ask, one object for all that ask the same

    def place(self, statement: Statement) -> Place:
        """How far a statement is."""
        if statement.place is not None:
            return statement.place
        program = self._programs.get(statement.number)
        return self._in_step(program.streams if program is not None else frozenset())

    def lag(self, statement: Statement) -> int:
        """How many events have arrived that a running statement has not looked at yet."""
        point, place = self._log.point, self.place(statement)
        if statement.place is None and self._log.live.job.get("arrivals") == point.arrivals:
            return 0
        if point.position > place.position:
            return point.position - place.position
        # It has looked at all that arrived, and stopped at a time before the last: what lies beyond is still to come.
        program = self._programs[statement.number]
        known = [point.watermarks.get(s) for s in program.streams]
        clock = min((NOTHING_KNOWN if w is None else w for w in known), default=NOTHING_KNOWN)
        span = Span(place, Place(point.position, max(clock, place.clock)))
        sets = [files for scan in program.scans for files in span.files(scan, self._log.archive)]
        return sum(files.rows for files in sets)

    def _in_step(self, streams: frozenset[str]) -> Place:
        """How far those are that are in step and read these streams."""
        job = self._log.live.job
        marks = job.get("marks", {})
        return Place(job.get("position", 0), min((marks.get(s, NOTHING_KNOWN) for s in streams), default=NOTHING_KNOWN))

    def plan(self, standing: Sequence[Statement]) -> Batch | None:
        """The next batch for the statements that stand; None if there is nothing to do. The very same list again means
        that no more of them has changed than what is counted."""
        programs = self._programs
        roster = self._roster
        if roster is None or roster.given is not standing or self._beginnings.are_passed(self._in_step):
            roster = self._roster = self._enrol(standing)
        standing, asked = roster.standing, roster.asked
        if not roster.running:
            return None
        point, job = self._log.point, self._log.live.job
        old = job.get("marks", {})
        marks = {}
        for stream in roster.streams:
            if not is_made(stream):
                known = point.watermarks.get(stream)
                marks[stream] = max(NOTHING_KNOWN if known is None else known, old.get(stream, NOTHING_KNOWN))
        batch = Batch(Snapshots(self._log.archive), point.position, marks, dict(marks), point.arrivals)
        if roster.makes:
            self._mark_made(batch, standing)
        news = job.get("arrivals") != point.arrivals or any(old.get(s) != mark for s, mark in batch.marks.items())
        behind = roster.behind
        limit = min(self.rows_per_batch, self._pace, self._fitting(len(roster.running)))
        self._pace = FIRST_ROWS
        if news:
            self._cut(batch, standing, roster.alike, limit)
            self._plan_families(batch, roster)
        turns = False
        said: dict[int, Intake] = {}  # by the identity of what is asked
        for statement in roster.others:
            program = programs[statement.number]
            if news and statement.place is None and program.plain:
                asks = asked[statement.number]
                intake = said.get(id(asks))
                if intake is None:
                    intake = said[id(asks)] = self._in_step_intake(batch, statement, asks)
                if intake.end or intake.span.start != intake.span.end:
                    batch.spans[statement.number] = intake.span
                    if intake.files is not None:
                        batch.tasks.append(_task(statement.number, program, intake))
                continue
            said.clear()
            if statement.place is not None:
                if self._plan_apart(batch, statement, max(1, limit // behind)):
                    self._pace = 2 * limit
                # Those that read its rows come after it and may go as far as it does.
                if roster.makes:
                    self._mark_made(batch, standing)
            else:
                fed = program.reads_others and self._is_fed(batch, statement)
                if news or fed or any(old.get(s) != batch.marks[s] for s in program.streams):
                    # The last: one that was behind, before it in this loop, has made rows for it.
                    self._add_in_step(batch, statement, asked[statement.number], fed)
            if program.recalls and statement.number not in batch.spans and self._has_turn(statement):
                self._add_turn(batch, statement)
                turns = True
        return batch if news or behind or turns else None

    def _fitting(self, statements: int) -> int:
        """How many events so many statements can take in at once."""
        return max(1, int(MOST_TAKEN / (statements * self._passing)))

    def learn(self, outcomes: Outcomes) -> None:
        """A batch has been published: what came of it tells how large the next may be."""
        alone, together = outcomes
        statements = len(alone) + sum(len(family.task.members.numbers) for family in together)
        took_in = [*(outcome.rows_in for outcome in alone), *(rows for family in together for rows in family.rows_in)]
        events = max(took_in, default=0)
        if events:
            taken = sum(family.taken for family in together) + sum(outcome.rows_in for outcome in alone)
            self._passing = min(1.0, 2 * (taken + 1) / (events * statements))

    def _plan_families(self, batch: Batch, roster: Roster) -> None:
        """A thousand times over: what statements of one form do is said once for all that ask the same."""
        for members, groups in roster.families:
            parts = []
            for start, stop, statement in groups:
                intake = self._in_step_intake(batch, statement, roster.asked[statement.number])
                if intake.files is not None and intake.span.start != intake.span.end:
                    parts.append(Part(start, stop, _task(members.numbers[start], members.programs[start], intake)))
            if parts:
                # They read the same stream: one goes as far as the other.
                batch.families[FamilyTask(members, tuple(parts))] = intake.span

    def _enrol(self, given: Sequence[Statement]) -> Roster:
        standing = [s for s in given if s.number in self._programs]
        running = self._makers_first([s for s in standing if s.status == RUNNING])
        self._equal = {}
        self._beginnings.forget()
        asked = {s.number: self._asks(s) for s in standing}
        # Statements that ask the same are many: their streams are one object, which is looked at once.
        streams = frozenset[str]().union(*(asks.streams for asks in self._equal))
        alike = {id(asked[s.number]): s for s in running if s.place is None}
        if self._roster is None or len(running) > len(self._roster.running):
            self._passing = 1.0  # what the new ones let pass nobody knows
        behind = sum(s.place is not None for s in running)
        makes = any(map(is_made, streams))
        families = families_of(given, running, asked, self._programs, self._least_members)
        together = {number for members, _ in families for number in members.numbers}
        others = [s for s in running if s.number not in together] if together else running
        equal = list(alike.values())
        return Roster(given, standing, running, asked, sorted(streams), equal, behind, makes, families, others)

    def _add_turn(self, batch: Batch, statement: Statement) -> None:
        """Nothing new, but history that is still to be read."""
        place = self.place(statement)
        program, span = self._programs[statement.number], Span(place, place)
        files = tuple(batch.files_of(scan, span) for scan in program.scans)
        self._add(batch, statement, Intake(span, files, place.clock, False, must_run=True))

    def _is_fed(self, batch: Batch, statement: Statement) -> bool:
        """Whether one in this batch makes rows for it that may have the very time that it has reached."""
        program = self._programs[statement.number]
        makers = (self._programs[n] for n in batch.spans)
        return any(m.lags and m.into is not None and derived_table(m.into.name) in program.streams for m in makers)

    def recalling(self, statement: Statement) -> bool:
        """Whether it has events that wait for more of history, or that somebody has spoken of or should have, or has
        yet to look at what was there before it."""
        ready = statement.recalls_ready > 0 and self._programs[statement.number].recalls
        return ready or self._has_other_turn(statement)

    def _has_turn(self, statement: Statement) -> bool:
        """Whether a step could do something about that now."""
        reading = self.reader is not None and self.reader.is_busy(statement.number)
        return (statement.recalls_ready > 0 and not reading) or self._has_other_turn(statement)

    def _has_other_turn(self, statement: Statement) -> bool:
        program = self._programs[statement.number]
        if not program.recalls:
            return False
        unseen = program.looks_back and not statement.states and self.place(statement).clock != NOTHING_KNOWN
        return bool(self.said) or self.overdue(statement) or unseen

    def overdue(self, statement: Statement) -> bool:
        """Whether one of its events has waited too long for somebody to ask for more."""
        due = statement.recalls_due
        return due is not None and wall_clock() > due

    def awaits_recalls(self, statement: Statement, standing: list[Statement]) -> bool:
        """Whether it has rows to come without anything new: of its own events, or of those whose rows it reads."""
        if self.recalling(statement):
            return True
        read = sorted(filter(is_made, self._programs[statement.number].streams))
        if not read:
            return False
        makers = self._makers(standing)
        running = [maker for table in read for maker in makers.get(table, ()) if maker.status == RUNNING]
        if any(self.awaits_recalls(maker, standing) for maker in running):
            return True
        streams = {name for s in standing for name in self._programs[s.number].streams if not is_made(name)}
        marks = self._log.live.job.get("marks", {})
        known = {name: marks.get(name, NOTHING_KNOWN) for name in streams}
        batch = Batch(Snapshots(self._log.archive), 0, dict(known), known, None)
        self._mark_made(batch, standing)
        return any(batch.marks[s] != marks.get(s, NOTHING_KNOWN) for s in read)

    def made_to(self, statement: Statement) -> int:
        """Up to when one whose rows come later than their time has made all of them."""
        return self.place(statement).clock if statement.made_to is None else statement.made_to

    def _cut(self, batch: Batch, standing: list[Statement], alike: Iterable[Statement], limit: int) -> None:
        """Where much has piled up for the statements that are in step, let them go only to the first part of it.
        `alike`: one for all that ask the same."""
        spans = {s.number: self._span(s, batch) for s in alike}
        cut = cut_within(self._sets(spans, batch), limit)
        if cut is not None and any(span.end.clock > cut for span in spans.values()):
            batch.arrivals = None
            self._pace = 2 * limit
            old = self._log.live.job.get("marks", {})
            batch.marks = {
                s: max(min(mark, cut), old.get(s, NOTHING_KNOWN)) for s, mark in batch.marks.items() if not is_made(s)
            }
            batch.in_step.clear()
            self._mark_made(batch, standing)

    def _asks(self, statement: Statement) -> Asks:
        asks = self._programs[statement.number].asks
        if statement.place is None:
            asks = self._beginnings.settled(asks, self._in_step(asks.streams))
        return self._equal.setdefault(asks, asks)

    def _plan_apart(self, batch: Batch, statement: Statement, limit: int) -> bool:
        """The next slice of a statement that is behind; whether more will follow."""
        span = self._span(statement, batch)
        cut = cut_within(self._sets({statement.number: span}, batch), limit)
        span = span if cut is None else Span(span.start, Place(span.end.position, cut))
        self._add(batch, statement, self._intake(batch, self._programs[statement.number], span))
        return cut is not None

    def _span(self, statement: Statement, batch: Batch) -> Span:
        asks = id(self._asks(statement))
        found = batch.in_step.get(asks) if statement.place is None else None
        if found is None:
            streams = self._programs[statement.number].streams
            clock = min((batch.marks[s] for s in streams), default=NOTHING_KNOWN)
            start = self.place(statement)
            found = Span(start, Place(batch.position, max(clock, start.clock)))
            if statement.place is None:
                batch.in_step[asks] = found
        return found

    # -- statements that read each other ---------------------------------------------------------------

    def _makers(self, statements: Iterable[Statement]) -> dict[str, list[Statement]]:
        """By table of a derived stream: the statements that fill it with rows in the order of time."""
        found: dict[str, list[Statement]] = {}
        for statement in statements:
            program = self._programs[statement.number]
            if program.into is not None and not program.retimed:
                found.setdefault(derived_table(program.into.name), []).append(statement)
        return found

    def _makers_first(self, running: list[Statement]) -> list[Statement]:
        """Statements in an order in which each comes after those whose rows it reads."""
        if not any(self._programs[s.number].reads_others for s in running):
            return running
        makers = self._makers(running)
        ordered: dict[str, Statement] = {}

        def visit(statement: Statement) -> None:
            for table in sorted(filter(is_made, self._programs[statement.number].streams)):
                for maker in makers.get(table, ()):
                    visit(maker)
            ordered.setdefault(statement.number, statement)

        for statement in running:
            visit(statement)
        return list(ordered.values())

    def _mark_made(self, batch: Batch, standing: list[Statement]) -> None:
        """How far the time of derived streams is known: as far as all have come who fill them.

        A stream that nobody fills any more goes on with the slowest stream of the log.
        """
        makers = self._makers(standing)
        old = self._log.live.job.get("marks", {})
        slowest = min((mark for s, mark in batch.marks.items() if not is_made(s)), default=NOTHING_KNOWN)
        known: dict[str, int] = {}

        def mark(stream: str) -> int:
            if not is_made(stream):
                return batch.marks[stream]
            if stream not in known:
                ends = [end(maker) for maker in makers.get(stream, ())]
                known[stream] = max(min(ends, default=slowest), old.get(stream, NOTHING_KNOWN))
            return known[stream]

        def end(maker: Statement) -> int:
            program, clock = self._programs[maker.number], goes_to(maker)
            if not program.lags or (program.ends is not None and clock >= program.ends):
                return clock
            # Before it ends, what it makes in this batch nobody can know.
            return self.made_to(maker)

        def goes_to(maker: Statement) -> int:
            if maker.number in batch.spans:
                return batch.spans[maker.number].end.clock
            if maker.place is not None:
                return maker.place.clock
            return min((mark(s) for s in self._programs[maker.number].streams), default=NOTHING_KNOWN)

        for stream in sorted({s for st in standing for s in self._programs[st.number].streams if is_made(s)}):
            batch.marks[stream] = mark(stream)
            batch.in_step.clear()

    def _sets(self, spans: Mapping[str, Span], batch: Batch) -> list[tuple[FileSet, Span]]:
        """The distinct file sets of several spans, each with its span."""
        asked: dict[tuple[object, ...], tuple[Scan, Span]] = {}
        for number, span in spans.items():
            for scan in self._programs[number].scans:
                # Of statements that began at different positions one has what the others have: an event counts once.
                key = scan.stream, scan.time, scan.until, scan.made, span
                known = asked.get(key)
                if known is None or (scan.after or 0) < (known[0].after or 0):
                    asked[key] = scan, span
        found = {(id(f), span): f for scan, span in asked.values() for f in batch.files_of(scan, span)}
        return [(files, span) for (_, span), files in found.items()]

    def _add_in_step(self, batch: Batch, statement: Statement, asks: Asks, fed: bool) -> None:
        intake = self._in_step_intake(batch, statement, asks)
        if fed or intake.end or intake.span.start != intake.span.end:
            self._add(batch, statement, intake)

    def _in_step_intake(self, batch: Batch, statement: Statement, asks: Asks) -> Intake:
        span = batch.in_step.get(id(asks)) or self._span(statement, batch)
        intake = batch.intakes.get(id(asks))
        if intake is None or intake.span is not span:
            intake = batch.intakes[id(asks)] = self._intake(batch, self._programs[statement.number], span)
        return intake

    def _intake(self, batch: Batch, program: Program, span: Span) -> Intake:
        clock, end = span.end.clock, False
        if program.upper is not None and program.ends is not None:
            # Where the bound is included, events of that very time may still come when the clock has reached it.
            clock, end = min(clock, program.upper), clock >= program.ends
        if clock == NOTHING_KNOWN:
            return Intake(span, None, clock, end, False)
        files = tuple(batch.files_of(scan, span) for scan in program.scans)
        must_run = end or (clock > span.start.clock and (program.timers or program.lags))
        ahead = self._ahead(batch, program, span) if program.foresees and not end else None
        if ahead is not None and not must_run:
            since = span.start.position
            must_run = any(span.ahead(scan, batch.archive, since) for scan in program.scans)
        return Intake(span, files, clock, end, must_run, ahead)

    def _ahead(self, batch: Batch, program: Program, span: Span) -> Files | None:
        """What lies beyond the clock of a statement that foretells; None where that is still to be taken in, slice by
        slice, or is more than a batch may hold: until it is less, only what is settled is told."""
        if span.end.clock < min(batch.known[s] for s in program.streams):
            return None
        found = tuple(tuple(span.ahead(scan, batch.archive)) for scan in program.scans)
        beyond = Span(span.end, Place(span.end.position, END_OF_TIME))
        several = {id(files): files for of_scan in found for files in of_scan}
        more = cut_within([(files, beyond) for files in several.values()], self.rows_per_batch) is not None
        return None if more else found

    def _add(self, batch: Batch, statement: Statement, intake: Intake) -> None:
        program, span = self._programs[statement.number], intake.span
        batch.spans[statement.number] = span
        if intake.files is None:
            return
        start, clock, inner, files = span.start.clock, intake.clock, span.end.clock, intake.files
        must_run, said = intake.must_run, tuple[Said, ...]()
        if program.recalls:
            said = tuple(command for name, command in self.said if name in (None, statement.name))
            must_run = must_run or self.recalling(statement)
        for shard in range(program.shards):
            batch.tasks.append(
                Task(
                    statement.number, program, shard, files, start, clock, inner, intake.end, must_run, said,
                    intake.ahead,
                )
            )  # fmt: skip


def _task(number: str, program: Program, intake: Intake) -> Task:
    """That of a statement without shards and recalls."""
    span, files, clock, end, must_run, ahead = intake
    assert files is not None
    return Task(number, program, 0, files, span.start.clock, clock, span.end.clock, end, must_run, (), ahead)
