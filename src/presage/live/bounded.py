"""A bounded query through the live driver: the log is replayed in batches as it arrived, and its end is the end.

The rows are those of the batch driver, to the last bit: `Engine.query(mode="stream", batches=n)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator, Foreign
from presage.columnar.holding import NOTHING_KNOWN
from presage.columnar.sorting import sorted_table
from presage.errors import error
from presage.live.job import ROWS_PER_BATCH
from presage.live.program import Program, make_program
from presage.live.results import schema_of
from presage.live.runner import Kept, Runner
from presage.live.spans import END_OF_TIME, Place, Span
from presage.live.tasks import Task
from presage.log import Archive, Log
from presage.log.reading import read_events
from presage.model.catalog import Catalog
from presage.model.state import State
from presage.plan.nodes import SEQ, TIME, Node
from presage.plan.query import BoundQuery


def check_mode(mode: str, batches: int | None) -> None:
    """How a bounded query is asked for: at once, or through Structured Streaming in so many batches."""
    if mode not in ("batch", "stream"):
        raise error("BAD_VALUE", what="mode", found=f"'{mode}'", expected="'batch' or 'stream'")
    if batches is not None and (mode == "batch" or batches < 1):
        raise error("BAD_VALUE", what="batches", found=batches, expected="at least 1, with mode='stream'")


def replay_of(
    bound: BoundQuery,
    plan: Node,
    log: Log,
    catalog: Catalog,
    tables: Mapping[str, pa.Table],
    foreign: Callable[[Mapping[str, pa.Table]], Foreign],
    batches: int | None,
    histories: Callable[[Any], Any] | None,
) -> Replay:
    """The replay of all that has arrived by now, in so many batches, or in batches of the usual size."""
    program, position = make_program(bound, plan, 1), log.position
    delays = {stream: catalog.types[stream].max_delay for stream in program.streams}
    relations = {name: tables[name] for name in program.relations}
    count, asked = batches or max(1, -(-position // ROWS_PER_BATCH)), foreign(relations)
    return Replay(program, log.archive, position, count, delays, relations, lambda: asked, histories)


class Replay:
    """The steps of one query over what had arrived up to a position. Call `step` with 1, 2, … `batches` in turn."""

    def __init__(
        self,
        program: Program,
        archive: Archive,
        position: int,
        batches: int,
        delays: Mapping[str, int],
        relations: Mapping[str, pa.Table],
        foreign: Callable[[], Foreign],
        histories: Callable[[Any], Any] | None = None,
    ) -> None:
        self._program = program
        self.batches = batches
        self._archive = archive
        evaluator = Evaluator(relations, foreign() if program.native else None)
        self._kept = Kept(program, evaluator, relations, histories=histories)
        self._states: dict[str, bytes] = {}
        self._runner = Runner(lambda task: self._kept, self._read_states)
        arrivals = {name: _arrivals(archive, name, position) for name in program.streams}
        self._places = _places(arrivals, delays, position, batches)
        self._last = self._last_time(position)
        self._made: list[pa.Table] = []

    def step(self, number: int) -> None:
        program, end = self._program, number == len(self._places) - 1
        span = Span(self._places[number - 1], self._places[number])
        if span.end.clock == NOTHING_KNOWN:
            return
        # Events that the query does not speak of move the clock of their stream, but not past the end of the query.
        last = program.upper if program.upper is not None else self._last
        inner_last = max(last, self._last)
        clock = last if end else min(span.end.clock, last)
        inner = inner_last if end else min(span.end.clock, inner_last)
        files = tuple(tuple(span.files(scan, self._archive)) for scan in program.scans)
        ahead = None
        if program.foresees and not end:
            ahead = tuple(tuple(span.ahead(scan, self._archive)) for scan in program.scans)
        task = Task("0", program, 0, files, span.start.clock, clock, inner, end, must_run=True, ahead=ahead)
        (outcome,) = self._runner.run([task]).alone
        if outcome.failure is not None:
            raise outcome.failure
        self._states |= {place: state.to_bytes() for place, state in outcome.states.items()}
        if outcome.rows is not None:
            self._made.append(sorted_table(outcome.rows, (TIME, SEQ, *program.plan.order)))

    def rows(self) -> pa.Table:
        """What all steps made, in the order of making."""
        schema = schema_of(self._program.columns)
        return pa.concat_tables([schema.empty_table(), *(t.select(schema.names).cast(schema) for t in self._made)])

    def _read_states(self, task: Task) -> dict[str, State]:
        # Through bytes, as between two lives of a job.
        return {place: State.from_bytes(data) for place, data in self._states.items()}

    def _last_time(self, position: int) -> int:
        """The time of the last event that the query speaks of."""
        whole = Span(Place(), Place(position, END_OF_TIME))
        last = NOTHING_KNOWN
        for scan in {scan.extent: scan for scan in self._program.scans}.values():
            for files in whole.files(scan, self._archive):
                times = read_events(files, ())[TIME].to_numpy()
                last = max(last, int(times.max())) if len(times) else last
        return last


def _arrivals(archive: Archive, stream: str, position: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequence numbers of a stream's events, rising, and the greatest time up to each."""
    table = read_events(archive.snapshot(stream, position), ())
    order = np.argsort(table[SEQ].to_numpy())
    return table[SEQ].to_numpy()[order], np.maximum.accumulate(table[TIME].to_numpy()[order])


def _places(
    arrivals: Mapping[str, tuple[np.ndarray, np.ndarray]], delays: Mapping[str, int], position: int, batches: int
) -> list[Place]:
    """Where each batch ends: equal shares of the arrivals, and how far time was known there."""
    places = [Place()]
    for number in range(1, batches):
        cut = position * number // batches
        marks = []
        for stream, (numbers, greatest) in arrivals.items():
            seen = int(np.searchsorted(numbers, cut, side="right"))
            marks.append(int(greatest[seen - 1]) - delays[stream] if seen else NOTHING_KNOWN)
        places.append(Place(cut, max(min(marks, default=NOTHING_KNOWN), places[-1].clock)))
    return [*places, Place(position, END_OF_TIME)]
