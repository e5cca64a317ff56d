"""The replay of a bounded query through the live runner: the log in batches, in the order of arrival.

It is `Engine.query(mode="stream", batches=n)`. The rows are exactly those of the batch driver.
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
from presage.live.program import compile_program
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
    """Validate the arguments of `Engine.query`."""
    if mode not in ("batch", "stream"):
        raise error("BAD_VALUE", what="mode", found=f"'{mode}'", expected="'batch' or 'stream'")
    if batches is not None and (mode == "batch" or batches < 1):
        raise error("BAD_VALUE", what="batches", found=batches, expected="at least 1, with mode='stream'")


class Replay:
    """The steps of one query over all arrivals up to now, in so many batches, or in batches of the usual size. Call
    `step` with 1, 2, … `batches` in turn."""

    def __init__(
        self,
        bound: BoundQuery,
        plan: Node,
        log: Log,
        catalog: Catalog,
        tables: Mapping[str, pa.Table],
        fallback: Callable[[Mapping[str, pa.Table]], Fallback],
        batches: int | None,
        histories: Callable[[Any], Any] | None,
    ) -> None:
        program, position = compile_program(bound, plan, 1), log.position
        self._program, self._archive = program, log.archive
        self.batches = batches or max(1, -(-position // ROWS_PER_BATCH))
        relations = {name: tables[name] for name in program.relations}
        evaluator = Evaluator(relations, fallback(relations) if program.catalyst else None)
        compiled = CompiledStatement(program, evaluator, relations, histories=histories)
        self._states: dict[str, bytes] = {}
        self._runner = Runner(lambda task: compiled, self._read_states)
        arrivals = {name: _arrivals(log.archive, name, position) for name in program.streams}
        delays = {stream: catalog.types[stream].max_delay for stream in program.streams}
        self._positions = _positions(arrivals, delays, position, self.batches)
        self._last = self._last_time(position)
        self._made: list[pa.Table] = []

    def step(self, number: int) -> None:
        program, end = self._program, number == len(self._positions) - 1
        input_range = InputRange(self._positions[number - 1], self._positions[number])
        if input_range.end.watermark == NOTHING_KNOWN:
            return
        # Events outside of the query advance the watermark of their stream, but not past the end of the query.
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
        """The rows of all steps, in the order of emission."""
        schema = schema_of(self._program.columns)
        return pa.concat_tables([schema.empty_table(), *(t.select(schema.names).cast(schema) for t in self._made)])

    def _read_states(self, task: Task) -> dict[str, State]:
        # Serialized, as in a restart of a job.
        return {place: State.from_bytes(data) for place, data in self._states.items()}

    def _last_time(self, position: int) -> int:
        """The time of the query's last event."""
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


def _positions(
    arrivals: Mapping[str, tuple[np.ndarray, np.ndarray]], delays: Mapping[str, int], position: int, batches: int
) -> list[InputPosition]:
    """The ends of the batches: equal shares of the arrivals, each with the watermark at that time."""
    positions = [InputPosition()]
    for number in range(1, batches):
        cut = position * number // batches
        watermarks = []
        for stream, (numbers, greatest) in arrivals.items():
            seen = int(np.searchsorted(numbers, cut, side="right"))
            watermarks.append(int(greatest[seen - 1]) - delays[stream] if seen else NOTHING_KNOWN)
        positions.append(InputPosition(cut, max(min(watermarks, default=NOTHING_KNOWN), positions[-1].watermark)))
    return [*positions, InputPosition(position, END_OF_TIME)]
