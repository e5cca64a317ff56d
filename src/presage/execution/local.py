"""Local execution of bounded queries: over files of the archive, in threads of this process, without a Spark session.

It is one step of the interpreter that runs deployed statements, and the last one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.execution.stage import Operator, Stage
from presage.execution.steps import OperatorStates, Rows, StepContext, run, run_root
from presage.plan.nodes import SEQ, TIME, Extent, Node, Scan, apart
from presage.storage import FileSet
from presage.storage.event_reader import read_events

Files = Mapping[Extent, FileSet]

NO_EVENTS = -(2**62)


def final_watermarks(
    files: Files, upper: int | None, timed: Collection[Extent], last_event: Callable[[FileSet], int | None]
) -> tuple[int, int]:
    """The final watermark of a plan over these files, and that of the statements behind derived streams. `upper`: that
    of the plan, if not the time of its last event; `timed`: the scans whose last event counts for it."""
    times = {extent: time for extent, each in files.items() if (time := last_event(each)) is not None}
    own = max((time for extent, time in times.items() if extent in timed), default=NO_EVENTS)
    watermark = own if upper is None else upper
    return watermark, max((watermark, *times.values()))


@dataclass(frozen=True)
class LocalRun:
    """A plan that runs in this process. `upper` and `timed`: see `final_watermarks`; `exact`: rows depend on where
    exactly the final watermark is. `histories` opens the history that a node reads; `check` raises once the engine is
    closed."""

    plan: Node
    files: Files
    relations: Mapping[str, pa.Table]
    operators: Mapping[type[Node], Callable[..., Rows]]
    histories: Callable[[Node], Any]
    upper: int | None
    exact: bool
    timed: Collection[Extent]
    check: Callable[[], None]

    def rows(self) -> pa.Table:
        """TIME, SEQ, order and columns of the plan's rows, not sorted."""
        plan = apart(self.plan)
        return run_root(plan, self._context(plan)).table

    def derived_rows(self) -> pa.Table:
        """As `rows`, of a plan that is a part of another: a stamp at its root is that of a derived stream."""
        plan = apart(self.plan)
        return run(plan, self._context(plan)).table

    def _context(self, plan: Node) -> StepContext:
        self.check()
        watermark, inner = final_watermarks(self.files, self.upper, self.timed, self._last_event)
        wanted: dict[Extent, dict[str, None]] = {}
        for scan in (node for node in plan.walk() if isinstance(node, Scan)):
            wanted[scan.extent] = wanted.get(scan.extent, {}) | dict.fromkeys(scan.attributes)
        events: dict[Extent, pa.Table] = {}

        def read(scan: Scan) -> pa.Table:
            extent = scan.extent
            if extent not in events:
                events[extent] = read_events(self.files[extent], list(wanted[extent])).combine_chunks()
            return _scanned(scan, events[extent])

        return StepContext(
            read=read,
            evaluator=Evaluator(self.relations),
            relations=self.relations,
            operators=self.operators,
            places={id(node): number for number, node in enumerate(plan.walk())},
            states=OperatorStates(),
            watermark=watermark,
            inner_watermark=inner,
            upper=self.upper,
            end=True,
            histories=self.histories,
            threads=os.cpu_count() or 1,
        )

    def _last_event(self, files: FileSet) -> int | None:
        if files.exact or files.max_time is None or not self.exact:
            return files.max_time
        times = read_events(files, ())[TIME].to_numpy()
        return int(times.max()) if len(times) else None


@dataclass(frozen=True)
class HistoryAccess:
    """How a node reads history. `local` runs plans over its files in this process; `on_spark` opens what reads it there
    (see `SparkOperators.histories`), and is told why. `rows_per_chunk`: how many rows are read at once; None: the node
    decides. `deployed`: other events wait while it reads. `bounded`: more rows than `placement.MOST_ROWS` are read on
    Spark."""

    local: LocalRun
    on_spark: Callable[[str], Any]
    rows_per_chunk: int | None = None
    deployed: bool = False
    bounded: bool = True


def derived_run(
    plan: Node,
    files: Files,
    relations: Mapping[str, pa.Table],
    operators: Mapping[type[Node], Callable[..., Rows]],
    histories: Callable[[Node], Any],
    check: Callable[[], None] = lambda: None,
) -> LocalRun:
    """A run over all of the files, up to the last event in any."""
    return LocalRun(plan, files, relations, operators, histories, None, False, files.keys(), check)


def _scanned(scan: Scan, events: pa.Table) -> pa.Table:
    """The events under the names of a scan."""
    named = {field.name: events[name] for field, name in zip(scan.fields, scan.attributes, strict=True)}
    return pa.table({TIME: events[TIME], SEQ: events[SEQ], **named})


def stage_of(node: Node, operator: Operator) -> Stage | None:
    """The stage of a node of the operator; None if it has none."""
    compile_node = operator.stages.get(type(node))
    stage = None if compile_node is None else compile_node(node)
    return stage if isinstance(stage, Stage) else None
