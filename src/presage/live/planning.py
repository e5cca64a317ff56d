"""Where the log and the statements are in, the next batch out: which statement takes in which span.

Statements that are in step share one position, and one clock per stream; the others have a place of their own and get
slices until they have caught up. However much has piled up, a batch holds a bounded number of events: time is cut, at
any moment that all streams have reached, and positions need not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from presage.columnar.holding import NOTHING_KNOWN
from presage.live.program import Program
from presage.live.spans import Place, Span, cut_within
from presage.live.statement import Statement
from presage.live.tasks import Task
from presage.log import Archive, FileSet, Log
from presage.plan.nodes import Extent, Scan


@dataclass
class Batch:
    """Work of one batch: spans by statement, tasks, and where the job will be."""

    position: int
    marks: dict[str, int]  # of each stream: how far its time is known
    arrivals: int | None  # the record whose arrivals it takes in; None where it stops short of that
    spans: dict[str, Span] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    files: dict[tuple[Extent, Span], tuple[FileSet, ...]] = field(default_factory=dict)  # what scans take in

    def files_of(self, scan: Scan, span: Span, archive: Archive) -> tuple[FileSet, ...]:
        """Looked up once for all statements that ask the same."""
        key = scan.extent, span
        if key not in self.files:
            self.files[key] = tuple(span.files(scan, archive))
        return self.files[key]


class Planner:
    def __init__(self, log: Log, programs: Mapping[str, Program], rows_per_batch: int) -> None:
        self._log = log
        self._programs = programs
        self.rows_per_batch = rows_per_batch

    def place(self, statement: Statement) -> Place:
        """How far a statement is."""
        if statement.place is not None:
            return statement.place
        job, program = self._log.live.job, self._programs.get(statement.number)
        marks = job.get("marks", {})
        streams = program.streams if program is not None else ()
        return Place(job.get("position", 0), min((marks.get(s, NOTHING_KNOWN) for s in streams), default=NOTHING_KNOWN))

    def plan(self, running: Iterable[Statement]) -> Batch | None:
        """The next batch; None if there is nothing to do."""
        running = [s for s in running if s.number in self._programs]
        if not running:
            return None
        point, job = self._log.point, self._log.live.job
        old = job.get("marks", {})
        marks = {}
        for stream in sorted({stream for s in running for stream in self._programs[s.number].streams}):
            known = point.watermarks.get(stream)
            marks[stream] = max(NOTHING_KNOWN if known is None else known, old.get(stream, NOTHING_KNOWN))
        batch = Batch(point.position, marks, point.arrivals)
        news = job.get("arrivals") != point.arrivals or any(old.get(s) != mark for s, mark in marks.items())
        if news:
            self._plan_together(batch, [s for s in running if s.place is None])
        behind = [s for s in running if s.place is not None]
        for statement in behind:
            self._plan_apart(batch, statement, max(1, self.rows_per_batch // len(behind)))
        return batch if news or behind else None

    def _plan_together(self, batch: Batch, together: list[Statement]) -> None:
        """One span for all statements that are in step; where much has piled up, the first part of it."""
        spans = {s.number: self._span(s, batch) for s in together}
        cut = cut_within(self._sets(spans, batch), self.rows_per_batch)
        if cut is not None and any(span.end.clock > cut for span in spans.values()):
            batch.arrivals = None
            old = self._log.live.job.get("marks", {})
            batch.marks = {s: max(min(mark, cut), old.get(s, NOTHING_KNOWN)) for s, mark in batch.marks.items()}
            spans = {s.number: self._span(s, batch) for s in together}
        for statement in together:
            self._add(batch, statement, spans[statement.number])

    def _plan_apart(self, batch: Batch, statement: Statement, limit: int) -> None:
        """The next slice of a statement that is behind."""
        span = self._span(statement, batch)
        cut = cut_within(self._sets({statement.number: span}, batch), limit)
        self._add(batch, statement, span if cut is None else Span(span.start, Place(span.end.position, cut)))

    def _span(self, statement: Statement, batch: Batch) -> Span:
        streams = self._programs[statement.number].streams
        clock = min((batch.marks[s] for s in streams), default=NOTHING_KNOWN)
        start = self.place(statement)
        return Span(start, Place(batch.position, max(clock, start.clock)))

    def _sets(self, spans: Mapping[str, Span], batch: Batch) -> list[tuple[FileSet, Span]]:
        """The distinct file sets of several spans, each with its span."""
        asked = {(scan.extent, span): scan for number, span in spans.items() for scan in self._programs[number].scans}
        found = [(batch.files_of(scan, span, self._log.archive), span) for (_, span), scan in asked.items()]
        return [(files, span) for several, span in found for files in several]

    def _add(self, batch: Batch, statement: Statement, span: Span) -> None:
        program = self._programs[statement.number]
        clock, end = span.end.clock, False
        if program.upper is not None and clock >= program.upper:
            clock, end = program.upper, True
        if span.start == span.end and statement.place is None and not end:
            return
        batch.spans[statement.number] = span
        if clock == NOTHING_KNOWN:
            return
        files = tuple(batch.files_of(scan, span, self._log.archive) for scan in program.scans)
        must_run = end or (program.timers and clock > span.start.clock)
        for shard in range(program.shards):
            batch.tasks.append(Task(statement.number, program, shard, files, clock, span.end.clock, end, must_run))
