"""The replay of a bounded query through the live runner: the log in batches, in the order of arrival.

The rows are those of the batch driver, to the last bit: `Engine.query(mode="stream", batches=n)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator, Fallback
from presage.columnar.processing_order import sorted_table
from presage.errors import error
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import END_OF_TIME, InputPosition, InputRange
from presage.live.job import ROWS_PER_BATCH
from presage.live.program import Program, compile_program
from presage.live.results import schema_of
from presage.live.runner import CompiledStatement, Runner
from presage.live.tasks import Task
from presage.model.catalog import Catalog
from presage.model.operator_state import State
from presage.plan.nodes import SEQ, TIME, Node
from presage.plan.query import BoundQuery
from presage.storage import Archive, Log
from presage.storage.event_reader import read_events


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
    foreign: Callable[[Mapping[str, pa.Table]], Fallback],
    batches: int | None,
    histories: Callable[[Any], Any] | None,
) -> Replay:
    """The replay of all that has arrived by now, in so many batches, or in batches of the usual size."""
    program, position = compile_program(bound, plan, 1), log.position
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
        foreign: Callable[[], Fallback],
        histories: Callable[[Any], Any] | None = None,
    ) -> None:
        self._program = program
        self.batches = batches
        self._archive = archive
        evaluator = Evaluator(relations, foreign() if program.native else None)
        self._kept = CompiledStatement(program, evaluator, relations, histories=histories)
        self._states: dict[str, bytes] = {}
        self._runner = Runner(lambda task: self._kept, self._read_states)
        arrivals = {name: _arrivals(archive, name, position) for name in program.streams}
        self._places = _places(arrivals, delays, position, batches)
        self._last = self._last_time(position)
        self._made: list[pa.Table] = []

    def step(self, number: int) -> None:
        program, end = self._program, number == len(self._places) - 1
        input_range = InputRange(self._places[number - 1], self._places[number])
        if input_range.end.watermark == NOTHING_KNOWN:
            return
        # Events that the query does not speak of move the watermark of their stream, but not past the end of the query.
        last = program.upper if program.upper is not None else self._last
        inner_last = max(last, self._last)
        watermark = last if end else min(input_range.end.watermark, last)
        inner = inner_last if end else min(input_range.end.watermark, inner_last)
        files = tuple(tuple(input_range.files(scan, self._archive)) for scan in program.scans)
        ahead = None
        if program.foresees and not end:
            ahead = tuple(tuple(input_range.ahead(scan, self._archive)) for scan in program.scans)
        task = Task(
            "0", program, 0, files, input_range.start.watermark, watermark, inner, end, must_run=True, ahead=ahead
        )
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
        whole = InputRange(InputPosition(), InputPosition(position, END_OF_TIME))
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
) -> list[InputPosition]:
    """Where each batch ends: equal shares of the arrivals, and how far time was known there."""
    places = [InputPosition()]
    for number in range(1, batches):
        cut = position * number // batches
        marks = []
        for stream, (numbers, greatest) in arrivals.items():
            seen = int(np.searchsorted(numbers, cut, side="right"))
            marks.append(int(greatest[seen - 1]) - delays[stream] if seen else NOTHING_KNOWN)
        places.append(InputPosition(cut, max(min(marks, default=NOTHING_KNOWN), places[-1].watermark)))
    return [*places, InputPosition(position, END_OF_TIME)]
